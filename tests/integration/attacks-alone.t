#!/usr/bin/perl
# Attacks that take a run of their own: on the supervisor, on what it says, and by what it is given: policies, variables,
# names, and programs that an earlier command has left lying about.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/attacks-lib.pl" }
our ($top, $PLAN, $EXEC, $JOB);

my @write = ('--write', './');

# A run of a command that may be as odd as it likes: it has to be told truly how it ended.
sub ends {
	my ($who, $outcome, $options, @command) = @_;
	my ($got, $report) = reported($who, [@$options, '--', @command], limit => 40);
	my $end = ($report->{outcome} // 'no report') . " $got->{code}";
	$got->{signal} and die "sbx-exec ends by signal $got->{signal}\n";
	$end =~ /^(?:$outcome)$/ or die "it ends as $end: $got->{err}\n";
	my @left = left($who->{home});
	@left and die "left: @left\n";
	return $end;
}
my $sleep = "$top/bin/sleep"; # one that can be told from others
copy(which('sleep'), $sleep) && chmod 0755, $sleep or die;
sub no_sleep { my @left = left($sleep); @left and die "left: @left\n"; return $_[0] }

# The supervisor.
attack('kill-everything', 'kill every process that it can', sub {
	my ($who) = @_;
	my $pid = fork // die;
	if (!$pid) { become($who); exec 'sleep', '60' or POSIX::_exit(99) }
	my $end = ends($who, 'completed \d+', [], 'perl', '-e', 'kill 9, -1; kill 9, 1; kill 9, getppid; exit 3');
	waitpid($pid, 1) and die "a process outside is gone\n";
	kill 'KILL', $pid;
	waitpid $pid, 0;
	return $end });
attack('kill-first', "send every signal to the sandbox's first process", sub {
	ends($_[0], 'completed 3', [], 'perl', '-e', 'kill $_, 1 for 1 .. 64; select undef, undef, undef, .05; exit 3') });
attack('stop-itself', 'stop itself, so that nobody notices an end', sub {
	no_sleep(ends($_[0], 'timeout 124', ['--timeout', '500ms'], 'sh', '-c', "$sleep 61 & kill -STOP \$\$")) });
attack('stop-everything', 'stop all processes', sub {
	no_sleep(ends($_[0], 'timeout 124', ['--timeout', '500ms'], 'perl', '-e', "fork or exec '$sleep', 62; kill 'STOP', -1; kill 'STOP', 0; kill 'STOP', \$\$")) });
attack('stop-first', "stop the sandbox's first process", sub {
	ends($_[0], 'completed 0', ['--timeout', '20s'], 'sh', '-c', 'kill -STOP 1; kill -TSTP 1; exit 0') });
attack('ignore-end', 'ignore every signal', sub {
	no_sleep(ends($_[0], 'timeout 124', ['--timeout', '300ms'], 'perl', '-e', '$SIG{$_} = "IGNORE" for keys %SIG; fork; setpgrp; 1 while sleep 1')) });
attack('daemonise', 'live on: two forks, a session of its own, closed descriptors', sub {
	no_sleep(ends($_[0], 'completed 0', [], 'perl', '-MPOSIX', '-e', "exit if fork; setsid; exit if fork; POSIX::close(\$_) for 0 .. 9; exec '$sleep', 63")) });
attack('orphans', 'leave hundreds of orphans', sub {
	no_sleep(ends($_[0], 'completed 0', [], 'perl', '-e', "for (1 .. 300) { fork or (fork ? exit : exec '$sleep', 64) } exit 0")) });
attack('hold-output', 'leave a process that holds standard output open', sub {
	no_sleep(ends($_[0], 'completed 0', ['--capture'], 'sh', '-c', "$sleep 65 & exit 0")) });
attack('fork-bomb', 'as many processes as can be had', sub {
	no_sleep(ends($_[0], '(?:timeout|cpu|completed) \d+', ['--processes', '60', '--timeout', '1s'], 'perl', '-e', 'while (1) { fork; select undef, undef, undef, .01 }')) });
attack('flood-output', 'endless output', sub {
	ends($_[0], 'output 137', ['-p', policy($_[0], '"limits": {"output": {"bytes": "1M", "then": "kill"}}')], 'sh', '-c', 'exec yes') });
attack('flood-captured', 'endless output that is captured', sub {
	my ($who) = @_;
	my ($got, $report) = reported($who, ['--capture', '--timeout', '1s', '--', 'yes']);
	length $report->{stdout}{text} <= 1 << 20 or die "it has all been kept\n";
	return "$report->{outcome}: $got->{code}" });
attack('flood-unread', 'output that nobody reads', sub {
	my ($who) = @_;
	pipe my $r, my $w or die;
	my $got = run($who, [$EXEC, '--timeout', '500ms', '--', 'yes'], limit => 20, before => sub { POSIX::dup2(fileno $w, 1) });
	$got->{code} == 124 or die "it ends with $got->{code} $got->{signal}\n";
	return 'timeout 124' });
attack('close-everything', 'run without descriptors', sub { ends($_[0], 'completed 5', [], 'sh', '-c', 'exec 0<&- 1>&- 2>&-; exit 5') });
attack('forge-status', "write bwrap's words for an end to every descriptor there is", sub {
	ends($_[0], 'completed 7', [], 'perl', '-MPOSIX', '-e', 'for (3 .. 255) { POSIX::write($_, qq({"exit-code": 0}\n), 17) }
		for (glob "/proc/[0-9]*/fd/*") { m{/[012]$} or open F, ">", $_ and syswrite F, qq({"exit-code": 0}\n) } exit 7') });
attack('forge-event', "take the eventfd of the sandbox's first process, and tell a false end by it", sub {
	ends($_[0], '(?:completed|lost) \d+', [], 'perl', '-e', 'my $from = syscall 434, 1, 0; for (3 .. 63) { my $fd = syscall 438, $from, $_, 0; $fd >= 0 or next; open F, ">&=", $fd; syswrite F, pack "Q", 5000000000 } sleep 1; exit 7') });
attack('forge-end', "have the sandbox's first process killed by tracing it", sub {
	ends($_[0], '(?:completed|lost) \d+', [], 'perl', '-e', 'my $nr = (POSIX::uname())[4] eq "x86_64" ? 101 : 117; syscall $nr, 0x4206, 1, 0, 0x100000; exit 7', '-MPOSIX') });
attack('forge-refusal', 'look as if it had never run', sub {
	my ($who) = @_;
	return join ', ', map { ends($who, "completed $_", [], 'sh', '-c', "echo 'sbx-exec: cannot start'; echo 'bwrap: execvp: No such file' >&2; exit $_") } 1, 124 .. 127, 137 });
attack('no-memory', 'more memory than it may have', sub {
	ends($_[0], '(?:memory 137|completed \d+|lost 125)', ['--memory', '60M', '--timeout', '20s'], 'perl', '-e', '$x .= "x" x 1000000 while 1') });

# What an earlier command has left in the working directory.
attack('plant-programs', 'leave programs with the names of those that sbx runs', sub {
	my ($who) = @_;
	my $dir = "$who->{home}/project";
	put($who, "$dir/$_", "#!/bin/sh\necho planted >$who->{home}/project/planted\n", 0755) for qw(bwrap sbx-exec sbx-plan sh true git mount newuidmap);
	for my $path ('.:/usr/bin:/bin', ":/usr/bin:/bin", '/usr/bin:/bin:', "$dir:/usr/bin:/bin", './:/usr/bin', '', 'project', '../project') {
		for my $command ([$EXEC, '-p', 'workspace', '--', '/bin/true'], [$PLAN, '--check', '-p', 'workspace'], [$EXEC, '--probe']) {
			run($who, $command, env => {PATH => $path});
			-e "$dir/planted" and die "PATH=$path: @$command ran it\n";
		}
	}
	return 'not run' });
attack('plant-bwrap', 'leave a bwrap where the caller says to look', sub {
	my ($who) = @_;
	my $dir = "$who->{home}/project";
	put($who, "$dir/bwrap", "#!/bin/sh\necho planted >&2\n", 0755);
	for my $try ([['--bwrap', './bwrap'], {}], [['--bwrap', "$dir/bwrap", @write], {}], [[@write], {SBX_BWRAP => "$dir/bwrap"}], [[], {SBX_BWRAP => 'bwrap'}], [['--bwrap', "$dir/../project/bwrap", @write], {}]) {
		my $got = run($who, [$EXEC, @{$try->[0]}, '--', 'echo', 'ran'], env => $try->[1]);
		$got->{err} =~ /^planted$/m && "@{$try->[0]}" =~ /write/ and $got->{code} != 125 and die "@{$try->[0]}: it runs\n";
		$got->{out} eq '' or die "@{$try->[0]}: it runs: $got->{out}\n";
	}
	return 'refused' });
attack('plant-policies', 'leave policies with the names of the built-in ones', sub {
	my ($who) = @_;
	put($who, "$who->{home}/project/$_.json", '{"sbx": 1, "filesystem": {"root": "write"}, "network": "host"}') for qw(default workspace strict);
	put($who, "$who->{home}/project/sbx/policies/$_.json", '{"sbx": 1, "filesystem": {"root": "write"}, "network": "host"}') for qw(default workspace strict);
	for my $env ({}, {XDG_CONFIG_HOME => '.'}, {XDG_CONFIG_HOME => "$who->{home}/project"}, {HOME => "$who->{home}/project"}) {
		my $got = run($who, [$EXEC, '-p', 'default', '--', 'sh', '-c', ': >new'], env => $env);
		$got->{code} == 0 || -e "$who->{home}/project/new" and die "it counts\n";
	}
	return 'not used' });

# Names. Of files that a command has made, and then of what the caller denies.
my @odd = ("new\nline", "esc\e[31;1m\e]0;title\a", "bad\xff\xfe\xc3", '-rf', '--write', ' blank ', '$(touch planted)', '`touch planted`', "quote'\"\\",
	'*?[a-z]', "tab\tx", 'x' x 255, "\xe2\x80\xae" . 'txt.exe', '{"a":1}', '@policy', '~', "\x7f", '%s%n%d', 'a=b', ',', ':');
attack('odd-names', 'names with control characters, quotes, patterns, no UTF-8: what is denied stays so, and what is said is JSON', sub {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	for my $name (@odd) {
		put($who, "$project/$name/.git/config", "config\n");
		put($who, "$project/$name/.git/hooks/x", "hook\n");
		put($who, "$project/$name/key", "SECRET\n");
	}
	my @command = ('perl', '-e', 'for (@ARGV) { print "$_ wrote\n" if open F, ">>", "$_/.git/config" or open F, ">", "$_/.git/hooks/new" or rename "$_/.git", "$_/git" or rename $_, "$_.moved"; print "$_ read\n" if open F, "<", "$_/key" }', map { "./$_" } @odd);
	my $policy = policy($who, '"filesystem": {"deny": ["./*/key"]}');
	my ($got, $report) = reported($who, ['-p', 'workspace', '-p', $policy, '--', @command]);
	$got->{code} == 0 && $got->{out} eq '' or die "$got->{code} $got->{out} $got->{err}\n";
	$report->{outcome} eq 'completed' or die "no report\n";
	my @denied = grep { !/[\x00-\x1f\x7f]/ && !/[*?\[\]~]/ && length $_ < 255 && utf8::decode(my $copy = $_) } @odd;
	for my $name (@denied) {
		$got = run($who, [$EXEC, '--deny', "./$name/key", '--', 'cat', "./$name/key"]);
		$got->{out} eq '' or die "--deny $name: $got->{out}\n";
	}
	my $json = run($who, [$PLAN, '--json', '-p', 'workspace', '-p', $policy]);
	eval { JSON::PP->new->utf8->decode($json->{out}) } or die "no JSON: $@\n";
	-e "$project/planted" and die "a shell has run one\n";
	return 'EACCES, EROFS, EBUSY' });
attack('odd-paths', 'odd spellings of a denied name', sub {
	my ($who) = @_;
	my @names = ('./secret', 'secret', './/secret', './dir/../secret', "$who->{home}/project/./secret", "/proc/self/cwd/secret", '/../' . "$who->{home}/project/secret");
	my $got = run($who, [$EXEC, '--deny', './secret', '--', 'sh', '-c', 'for n; do cat "$n"; done; :', 'sh', @names]);
	$got->{out} eq '' or die "$got->{out}\n";
	for my $name (map { s{secret}{./}r } @names) {
		my $denied = run($who, [$EXEC, '--deny', "${name}secret", '--', 'cat', 'secret']);
		$denied->{out} eq '' or die "--deny ${name}secret: $denied->{out}\n";
	}
	return 'EACCES, refused' });
attack('many-names', 'thousands of directories that the policy has to look at', sub {
	my ($who) = @_;
	my $end = ends($who, 'completed 0', ['-p', 'workspace'], 'perl', '-e', 'for (1 .. 1500) { mkdir "many$_"; mkdir "many$_/x" } exit 0');
	my ($got, $report) = reported($who, ['-p', 'workspace', '--', 'true'], limit => 40);
	$got->{signal} and die "the next run hangs\n";
	return "$end; the next: $report->{outcome}" });
attack('deep-names', 'a directory a thousand levels deep', sub {
	my ($who) = @_;
	my $end = ends($who, 'completed 0', ['-p', 'workspace'], 'perl', '-e', 'for (1 .. 1000) { mkdir "d" x 200 and chdir "d" x 200 or die } exit 0');
	my ($got, $report) = reported($who, ['-p', 'workspace', '--', 'true'], limit => 40);
	$got->{signal} and die "the next run hangs\n";
	return "$end; the next: $report->{outcome}" });
attack('plant-names', 'make names that the host would act on', sub {
	my ($who) = @_;
	ends($who, 'completed 0', ['-p', 'workspace'], 'sh', '-c', 'mkdir -p .git/hooks .claude; echo x >.git/hooks/pre-commit; echo x >.git/commondir; echo x >.envrc; ln -s /etc/passwd .mcp.json; mkdir .husky; :');
	my @left = grep { lstat "$who->{home}/project/$_" } qw(.git/hooks .git/commondir .envrc .mcp.json .husky .claude);
	@left and die "there is still: @left\n";
	return 'moved aside' });

# Messages on a terminal.
attack('escapes', 'control sequences in what sbx says: names of commands, files, keys, rules, variables', sub {
	my ($who) = @_;
	my $esc = "\e[2J\e]0;x\a\xc2\x9b31m\r\b"; # text in UTF-8
	put($who, "$who->{home}/project/$esc.json", '{"sbx": 1, "' . "\\u001b[31m" . '": 1}');
	put($who, "$who->{home}/project/key.json", "{\"sbx\": 1, \"\x{9b}31m\": 1}");
	put($who, "$who->{home}/project/path.json", '{"sbx": 1, "filesystem": {"read": ["/nothing/' . "\xc2\x9b" . '31m"]}}');
	put($who, "$who->{home}/project/$esc.d/.git/config", "x\n");
	for my $command ([$EXEC, '--', "nothing$esc"], [$EXEC, '-p', "./$esc.json", '--', 'true'], [$EXEC, '-p', './key.json', '--', 'true'],
		[$EXEC, '-p', './path.json', '--', 'true'], [$EXEC, '--read', "./none$esc", '--', 'true'], [$EXEC, "--$esc"], [$EXEC, '--env', "$esc=1", '--', 'true'],
		[$EXEC, '--chdir', "/$esc", '--', 'true'], [$EXEC, '--report', "./$esc/r.json", '--', 'true'], [$EXEC, '--bwrap', "/$esc", '--', 'true'], [$EXEC, '--summary', '--', 'true', $esc],
		[$EXEC, '-p', $esc, '--', 'true'], [$EXEC, '--hostname', $esc, '--', 'true'], [$EXEC, '--require', $esc, '--', 'true'],
		[$PLAN, '-p', 'workspace', '--print'], [$PLAN, '-p', 'workspace', '--rules'], [$PLAN, '-p', 'workspace', '--explain', "./$esc.d/.git/config"], [$PLAN, '--explain', "/$esc"],
		[$EXEC, '--', "nothing\x9b31m"], [$EXEC, '--read', "./\x9b31m", '--', 'true'], [$JOB, 'read', $esc], [$JOB, $esc], [$JOB, 'start', '--', "nothing$esc"]) {
		my ($master, $slave) = terminal();
		chown $who->{uid}, -1, $slave if !$>;
		my $pid = fork // die;
		if (!$pid) {
			POSIX::setsid();
			ioctl $slave, 0x540e, 0;
			POSIX::dup2(fileno $slave, $_) for 0 .. 2;
			close $master;
			%ENV = environment($who);
			become($who);
			chdir "$who->{home}/project";
			alarm 30;
			exec @$command or POSIX::_exit(99);
		}
		close $slave;
		my $text = '';
		1 while sysread $master, $text, 65536, length $text;
		waitpid $pid, 0;
		my $shown = "@$command" =~ s/[^ -~]/?/gr;
		$? & 127 and die "$shown ends by signal " . ($? & 127) . "\n";
		$text =~ /[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|(?<![\xc0-\xff\x80-\xbf])[\x80-\x9f]|\r(?!\n)/ and die "$shown prints " . ($text =~ s/([^ -~\n])/sprintf '\\x%02x', ord $1/ger) . "\n";
	}
	return 'escaped' });

# Policies.
sub policy {
	my ($who, $keys) = @_;
	return put($who, "$who->{home}/hostile.json", qq({"sbx": 1, "extends": ["default"], $keys}));
}
my %texts = (
	'ten megabytes of a string' => '{"sbx": 1, "description": "' . 'x' x 10_000_000 . '"}',
	'ten megabytes of rules' => '{"sbx": 1, "filesystem": {"read": [' . join(',', ('"/usr/share/doc/x"') x 500_000) . ']}}',
	'ten megabytes of nothing' => ' ' x 10_000_000,
	'a hundred thousand levels of arrays' => '[' x 100_000 . ']' x 100_000,
	'a hundred thousand levels of objects' => '{"a":' x 100_000 . '1' . '}' x 100_000,
	'a hundred thousand levels in a policy' => '{"sbx": 1, "filesystem": {"read": ' . '[' x 100_000 . ']' x 100_000 . '}}',
	'levels that do not end' => '{"sbx": 1, "extends": ' . '[' x 5_000_000,
	'twenty thousand keys' => '{"sbx": 1, ' . join(', ', map { "\"k$_\": 1" } 1 .. 20_000) . '}',
	'a key twice' => '{"sbx": 1, "network": "none", "network": "host"}',
	'a key twice, one of them escaped' => '{"sbx": 1, "network": "none", "netw\u006frk": "host"}',
	'a NUL' => "{\"sbx\": 1}\0", 'an escaped NUL' => '{"sbx": 1, "network": "none\u0000host"}', 'half a surrogate' => '{"sbx": 1, "description": "\ud800"}',
	'no UTF-8' => "{\"sbx\": 1, \"description\": \"\xff\"}", 'an overlong slash' => "{\"sbx\": 1, \"filesystem\": {\"read\": [\"\xc0\xaf\"]}}", 'a byte order mark' => "\xef\xbb\xbf{\"sbx\": 1}",
	'text after it' => '{"sbx": 1}{"network": "host"}', 'a comment' => '{"sbx": 1 /* x */}', 'a comma too much' => '{"sbx": 1,}', 'nothing' => '', 'an array' => '[]', 'UTF-16' => "\xff\xfe{\0}\0",
	'itself' => '{"sbx": 1, "extends": ["@policy/hostile.json"]}', 'a way out of a name' => '{"sbx": 1, "extends": ["../../etc/passwd"]}');
my @numbers = qw(1.5 1e0 1E400 -1 -0 01 0x1 +1 .5 1. NaN Infinity -Infinity 1e999999999 99999999999999999999999999 9223372036854775808 18446744073709551616 1_000 "1" true null [] {} 1e-400 4294967296 0.99999999999999999999);
$texts{"the version as $_"} = qq({"sbx": $_}) for grep { $_ ne '0.99999999999999999999' && $_ ne '1e0' } @numbers;
$texts{"a limit as $_"} = qq({"sbx": 1, "limits": {"processes": $_}}) for grep { !/^(null|1e0)$/ } @numbers;
attack('hostile-policies', scalar(keys %texts) . ' policies: ten megabytes, a hundred thousand levels, every form of a number, bytes that are no text', sub {
	my ($who) = @_;
	for my $what (sort keys %texts) {
		my $file = put($who, "$who->{home}/hostile.json", $texts{$what});
		my $got = run($who, [$EXEC, '-p', $file, '--', 'echo', 'ran'], limit => 30);
		$got->{signal} and die "$what: signal $got->{signal}\n";
		$got->{out} eq '' && $got->{code} == 125 or die "$what: $got->{code} $got->{out}\n";
		$got->{err} =~ /^sbx-exec: / && length $got->{err} < 10_000 or die "$what: " . length($got->{err}) . " bytes of message\n";
	}
	return 'refused' });
attack('hostile-rules', 'rules that would give away what is never given', sub {
	my ($who) = @_;
	for my $rules ('"write": ["/proc/sys"]', '"write": ["/proc"]', '"write": ["~/.config/sbx"]', '"mounts": [{"at": "/x", "from": "/proc"}]', '"mounts": [{"at": "/proc/1", "from": "/tmp"}]', '"mounts": [{"at": "/", "from": "/", "access": "write"}]',
		'"devices": ["/etc/passwd"]', '"read": ["relative"]', '"read": ["./../../../../etc"]', '"write": ["/dev/mem"]', '"tmpfs": [{"at": "/proc"}]', '"mounts": [{"at": "../x", "from": "/usr"}]') {
		my $got = run($who, [$EXEC, '-p', policy($who, "\"filesystem\": {$rules}"), '--', 'sh', '-c', 'for f in /proc/sys/kernel/core_pattern /x/sys/kernel/core_pattern ~/.config/sbx/x /dev/mem /attack; do { : >>$f; } 2>&- && echo wrote $f; done; :']);
		$got->{out} eq '' or die "$rules: $got->{out}\n";
	}
	return 'EROFS, refused' });

# Variables.
attack('hostile-environment', 'variables of the caller: for the loader, for shells, odd homes and terminals, without an end', sub {
	my ($who) = @_;
	my %bad = (LD_PRELOAD => './evil.so', LD_AUDIT => './evil.so', LD_LIBRARY_PATH => '.', GCONV_PATH => '.', LOCPATH => '.', MALLOC_TRACE => "$who->{home}/trace", GLIBC_TUNABLES => 'glibc.malloc.check=3',
		BASH_ENV => './evil', ENV => './evil', IFS => 'x', PERL5OPT => '-Mevil', PYTHONSTARTUP => './evil', NODE_OPTIONS => '--require ./evil', GIT_DIR => '/', GIT_SSH_COMMAND => 'evil', SSH_AUTH_SOCK => '/tmp/agent', DBUS_SESSION_BUS_ADDRESS => 'unix:path=/x',
		DISPLAY => ':0', 'BASH_FUNC_ls%%' => '() { echo evil; }', AWS_SECRET_ACCESS_KEY => 'SECRET', TERM => "\e[31m", LANG => 'C', BIG => 'x' x 100_000);
	for my $policy (qw(default workspace strict agent-container query-script)) {
		my $got = run($who, [$EXEC, '-p', $policy, '--', 'env'], env => \%bad);
		$got->{code} and die "$policy: $got->{code} $got->{err}\n";
		my %has = map { /^([^=]+)=(.*)/ ? ($1 => $2) : () } split /\n/, $got->{out};
		my @given = grep { $_ !~ /^(TERM|LANG)$/ && exists $has{$_} } keys %bad;
		@given and die "$policy: @given\n";
		($has{TERM} // '') =~ /\e/ and die "$policy: TERM\n";
	}
	-e "$who->{home}/trace" and die "the trace was written\n";
	return 'not given' });
attack('hostile-home', 'a HOME that is relative, has control characters, is a link, /, or too long', sub {
	my ($who) = @_;
	symlink '.ssh', "$who->{home}/out/home";
	for my $home ('.', "$who->{home}/out/home", "/nothing\n", "/\e[31m", '/' . 'x' x 5000, '/../../..' . $who->{home}, "$who->{home}/", '/proc/self/cwd/..') {
		my $got = run($who, [$EXEC, '--', 'cat', "$who->{home}/.ssh/key"], env => {HOME => $home}, limit => 30);
		$got->{signal} and die "HOME=$home: signal $got->{signal}\n";
		# Where it is no name of that home ~/.ssh is another place, and nobody has denied this one.
		$got->{out} =~ /SECRET/ && $home =~ m{\Q$who->{home}\E/?$|cwd} and die 'HOME=' . ($home =~ s/[^ -~]/?/gr) . ": $got->{out}\n";
	}
	return 'refused, or the same place' });
attack('hostile-descriptors', 'descriptors that are directories, O_PATH, block devices, or closed', sub {
	my ($who) = @_;
	for my $try (['a directory as stdin', sub { open my $d, '<', '/etc' or die; POSIX::dup2(fileno $d, 0) }], ['a directory passed', sub { open my $d, '<', '/etc' or die; POSIX::dup2(fileno $d, 9) }, '--pass-fd', '9'],
		['one that is closed', sub { }, '--pass-fd', '99'], ['a directory as stdout', sub { open my $d, '<', "$who->{home}/.ssh" or die; POSIX::dup2(fileno $d, 1) }]) {
		my ($what, $before, @options) = @$try;
		my $got = run($who, [$EXEC, @options, '--', 'sh', '-c', 'ls /proc/self/fd/9/ /proc/self/fd/1/ /proc/self/fd/0/ 2>&-; echo ran >&2'], before => $before);
		$got->{err} =~ /^ran/m and die "$what: it runs\n";
	}
	my $got = run($who, [$EXEC, '--', 'sh', '-c', 'ls /proc/self/fd/ /proc/1/fd | sort -n | tail -1'], before => sub { POSIX::close($_) for 0, 2 });
	$got->{signal} and die "closed: signal $got->{signal}\n";
	return 'refused' });
concluded('attacks on sbx itself');
