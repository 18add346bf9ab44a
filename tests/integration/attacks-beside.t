#!/usr/bin/perl
# Attacks by somebody at work beside a run: a second run in the same folder, a process of the caller's that swaps names at
# the worst moment, another user of the host, and what they have left lying about before.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/attacks-lib.pl" }
our ($top, $EXEC, $JOB, $ATTACK);

my $bwrap = which('bwrap');
my $other = {name => 'other', uid => 200000 + $$ % 100000, gid => 2002, home => $top};
# A bwrap that lets somebody act once, as the caller, when all is planned and opened and nothing is mounted.
sub acting {
	my ($who, $script) = @_;
	put($who, "$who->{home}/go", '');
	put($who, "$who->{home}/tools/bwrap", <<"END", 0755);
#!/bin/sh
case "\$*" in *'-- /nothing') ;; *) if [ -e $who->{home}/go ]; then rm $who->{home}/go; (cd $who->{home}/project; $script) </dev/null >&2; fi;; esac
exec $bwrap "\$@"
END
	return ('--bwrap', "$who->{home}/tools/bwrap");
}

# Runs a command while somebody acts; no secret may be printed. What became of the run.
sub swapped {
	my ($who, $options, $act, $script) = @_;
	my ($got, $report) = reported($who, [acting($who, $act), @$options, '--', 'sh', '-c', $script]);
	-e "$who->{home}/go" and die "nobody has acted: $got->{err}\n";
	$got->{out} =~ /SECRET/ and die "the secret was read: $report->{outcome} $got->{err}\n";
	(slurp("$who->{home}/.ssh/key") // '') eq "SECRET\n" or die "the key was changed\n";
	my @made = grep { !m{/key$} } glob "$who->{home}/.ssh/*";
	@made and die "made: @made\n";
	return $report->{outcome};
}

my $look = 'find . -type f -exec cat {} + 2>/dev/null; cat ~/.ssh/key; echo x >>"$HOME/.ssh/new"; true';
my @deny = ('--write', './', '--deny');
attack('swap-file', 'exchange a denied file with another while the mounts are made', sub {
	swapped($_[0], [@deny, './secret', '--deny', './dir', '--deny', './vault'], 'mv secret t; mv decoy secret; mv t decoy', $look) });
attack('swap-directory', 'put another directory in the place of the one above a denied file', sub {
	swapped($_[0], [@deny, './*/secret', '--deny', './secret', '--deny', './vault'], 'mv dir t; mkdir dir; echo x >dir/secret', $look) });
attack('swap-denied-directory', 'exchange a denied directory', sub {
	swapped($_[0], [@deny, './vault', '--deny', './secret', '--deny', './dir'], 'mv vault t; mv data vault; mv t data', $look) });
attack('swap-readable', 'rename a denied file of a directory that is only read', sub {
	swapped($_[0], ['--deny', './secret', '--deny', './dir', '--deny', './vault'], 'mv secret t; mv decoy secret; mv t decoy', $look) });
attack('swap-home', 'rename the keys of the caller and leave an empty directory', sub {
	my $home = $_[0]{home};
	my $end = swapped($_[0], ['--deny', './secret', '--deny', './dir', '--deny', './vault'], 'mv ~/.ssh ~/.ssh2; mkdir ~/.ssh; echo SECRET >~/.ssh/key' =~ s/~/$home/gr,
		"cat $home/.ssh*/key; true");
	system 'rm', '-rf', "$home/.ssh2";
	return $end });
attack('swap-for-link', 'put a link to the keys in the place of a protected directory', sub {
	swapped($_[0], ['-p', 'workspace', '--deny', './secret', '--deny', './dir', '--deny', './vault'], 'mv .vscode t; ln -s ../.ssh .vscode', "cat .vscode/*; $look") });
attack('swap-denied-for-link', 'put a link in the place of a denied directory', sub {
	swapped($_[0], [@deny, './vault', '--deny', './secret', '--deny', './dir'], 'mv vault t; ln -s t vault', $look) });
attack('swap-denied-for-fifo', 'put a FIFO in the place of a denied file', sub {
	swapped($_[0], [@deny, './secret', '--deny', './dir', '--deny', './vault'], 'mv secret t; mkfifo secret', 'cat t; true') });
attack('swap-denied-away', 'rename a denied file and leave nothing', sub {
	swapped($_[0], [@deny, './secret', '--deny', './dir', '--deny', './vault'], 'mv secret t', $look) });
attack('swap-parent-away', 'rename the directory above a denied file and leave nothing', sub {
	swapped($_[0], [@deny, './*/secret', '--deny', './secret', '--deny', './vault'], 'mv dir t', $look) });
attack('swap-source-for-link', 'put a link to the keys in the place of a directory that is granted', sub {
	swapped($_[0], ['--deny', './', '--chdir', '/', '--bind', './data:/in:rw'], 'mv data t; ln -s ../.ssh data', 'cat /in/*; echo x >/in/new; true') });
attack('swap-source-file', 'put a link to the key in the place of a file that is granted', sub {
	swapped($_[0], ['--deny', './', '--chdir', '/', '--bind', './decoy:/in:rw'], 'mv decoy t; ln -s ../.ssh/key decoy', 'cat /in; echo x >/in; true') });
attack('swap-source-parent', 'the same with the directory above it', sub {
	swapped($_[0], ['--deny', './', '--chdir', '/', '--bind', './data/key:/in:rw'], 'mv data t; ln -s ../.ssh data', 'cat /in; true') });
attack('swap-workspace', 'put a link to the keys in the place of the writable directory itself', sub {
	swapped($_[0], ['-p', 'workspace', '--deny', './secret', '--deny', './dir', '--deny', './vault'], 'cd ..; mv project t; ln -s .ssh project; sleep 0',
		'cat key; echo x >new; true') =~ /(.*)/s;
	my ($end, $home) = ($1, $_[0]{home});
	unlink "$home/project";
	system 'mv', "$home/t", "$home/project";
	return $end });
attack('swap-placeholder', 'put a file in the place of a name that is held', sub {
	my ($who) = @_;
	my $policy = put($who, "$who->{home}/held.json", '{"sbx": 1, "extends": ["default"], "filesystem": {"write": ["./"], "deny": [{"path": "./.env", "missing": "enforce"}, "./secret", "./dir", "./vault"]}}');
	my $end = swapped($who, ['-p', $policy], 'rm -f .env; echo SECRET >.env', $look);
	unlink "$who->{home}/project/.env";
	return $end });

# A run that prints what it sees of a file until it is ended; what is done beside it; and how it ended.
sub beside {
	my ($who, $options, $do, $script) = @_;
	my $file = "$who->{home}/report.json";
	my $run = start($who, ['--report', $file, @$options, '--', 'sh', '-c', $script // 'echo up; read x; exit 0']);
	line($run) eq 'up' or die "it does not run\n";
	my $kept = $do->($run);
	close $run->{in};
	finish($run);
	my $report = JSON::PP->new->utf8->decode(slurp($file));
	return ($report, $kept);
}

# What a second run does in the same folder.
sub second {
	my ($who, $script) = @_;
	my $got = run($who, [$EXEC, '--write', './', '--', 'sh', '-ec', $script]);
	$got->{code} and die "the second run: $got->{code} $got->{err}\n";
}

my $wait = 'echo up; while sleep .02; do cat secret dir*/secret 2>/dev/null && exit 7; done';
for my $row (['second-run-replaces', 'a second run puts a file in the place of one that is denied', 'mv decoy secret'],
	['second-run-removes', 'a second run removes a denied name and makes it anew', 'rm secret; echo x >secret'],
	['second-run-renames', 'a second run renames the directory above a denied file', 'mv dir dir3']) {
	my ($name, $tries, $script) = @$row;
	attack($name, $tries, sub {
		my ($who) = @_;
		my ($report) = beside($who, [@deny, './secret', '--deny', './dir/secret', '--deny', './dir2'], sub { second($who, $script) }, $wait);
		$report->{outcome} eq 'violation' && $report->{exit_code} == 125 or die "the run ends with $report->{outcome}\n";
		return 'violation: the run is ended';
	});
}
my $held = '{"sbx": 1, "extends": ["default"], "filesystem": {"write": ["./"], "deny": [{"path": "./.env", "missing": "enforce"}]}}';
attack('second-run-placeholder', 'a second run removes the placeholder of a name that is held', sub {
	my ($who) = @_;
	my $policy = put($who, "$who->{home}/held.json", $held);
	my ($report) = beside($who, ['-p', $policy], sub { second($who, 'rm -f .env; echo x >.env') }, 'echo up; while sleep .02; do cat .env 2>/dev/null && exit 7; done');
	unlink "$who->{home}/project/.env";
	$report->{outcome} eq 'violation' or die "the run ends with $report->{outcome}\n";
	return 'violation: the run is ended' });
attack('second-run-locks-placeholder', 'a second run locks the placeholder, so that others wait for ever', sub {
	my ($who) = @_;
	my $policy = put($who, "$who->{home}/held.json", $held);
	my $kept;
	beside($who, ['-p', $policy], sub {
		my $locks = start($who, ['--write', './', '--', 'perl', '-e', 'use Fcntl ":flock"; open F, "<", ".env" or die; flock F, LOCK_SH; flock F, LOCK_EX | LOCK_NB; $| = 1; print "up\n"; <STDIN>']);
		line($locks) eq 'up' or die "it does not lock\n";
		my $got = run($who, [$EXEC, '-p', $policy, '--', 'cat', '.env'], limit => 30);
		close $locks->{in};
		finish($locks);
		$got->{signal} and die "another run hangs\n";
		$kept = $got->{code} == 125 ? 'refused' : $got->{err} =~ /denied/ ? 'EACCES' : die "$got->{out} $got->{err}\n";
	});
	unlink "$who->{home}/project/.env";
	return $kept });
attack('second-run-locks-quarantine', 'a second run takes the lock by which runs leave quarantine to each other', sub {
	my ($who) = @_;
	my ($report) = beside($who, ['-p', 'workspace'], sub {
		my $locks = start($who, ['--write', './', '--', 'perl', '-e', 'use Fcntl; open F, "<", "." or die; $l = pack "s s x4 q q i x4", F_RDLCK, 0, 0x736278, 1, 0; fcntl F, 37, $l or die $!; $| = 1; print "up\n"; <STDIN>']);
		line($locks) eq 'up' or die "it does not lock\n";
		second($who, 'echo x >.envrc');
		close $locks->{in};
		finish($locks);
	});
	-e "$who->{home}/project/.envrc" and die "the name stays\n";
	return "$report->{violations}[0]{kind}: moved aside at the end" });
attack('second-run-plants', 'a second run makes a protected name', sub {
	my ($who) = @_;
	my ($report) = beside($who, ['-p', 'workspace'], sub { second($who, 'mkdir -p .git/hooks; echo x >.git/hooks/pre-commit; echo x >.envrc; ln -s /etc .husky') });
	my @left = grep { -e "$who->{home}/project/$_" || -l "$who->{home}/project/$_" } qw(.git/hooks/pre-commit .envrc .husky);
	@left and die "there is still: @left\n";
	return 'moved aside' });
attack('second-run-floods', 'a second run makes and removes hundreds of names', sub {
	my ($who) = @_;
	my ($report) = beside($who, ['-p', 'workspace'], sub { second($who, 'i=0; while [ $i -lt 300 ]; do : >f$i; rm -f f$i; : >.git$i; i=$((i+1)); done; rm -f .git[0-9]*') });
	$report->{outcome} eq 'completed' or die "the run ends with $report->{outcome}\n";
	return 'completed' });

# A run beside another of the same user: what the program of attacks does to the first one's command.
my @on_process = ([qw(other-run-signals), "signal another run's command", qw(signal-host signal-host-group signal-host-thread signal-host-queue signal-host-directory signal-host-owner pidfd-host)],
	['other-run-traces', "trace another run's command, read its memory", qw(trace-host memory-host read-host-memory limits-host)],
	['other-run-files', "another run's files through its root, working directory and descriptors", qw(read-host-root read-host-cwd read-host-descriptor read-every-root read-every-descriptor)],
	['other-run-environment', "another run's environment", qw(read-host-environment read-every-environment)],
	['other-run-namespaces', "another run's namespaces", qw(enter-host-mounts enter-host-user enter-host-pid enter-host-net enter-host-ipc enter-host-pidfd)]);
my %host;
for my $row (@on_process) {
	my ($name, $tries, @attacks) = @$row;
	attack($name, $tries, sub {
		my ($who) = @_;
		my $host = $host{$who->{name}} //= host($who);
		put($who, $host->{fact}{secret}, $host->{word});
		put($who, "$host->{fact}{socketalias}/placeholder", '');
		my %kept;
		# The first one may read the key, and has it open; the second may not.
		my $run = start($who, ['-p', 'default', '--write', './', '--read', '~/.ssh', '--env', "OTHER=$host->{word}", '--', 'bash', '-c', 'exec 77<~/.ssh/key; cd ~/.ssh; echo up; exec sleep 60']);
		line($run) eq 'up' or die "it does not run\n";
		my $pid;
		for (1 .. 100) {
			($pid) = grep { (slurp("/proc/$_/cmdline") // '') eq "sleep\x{0}60\x{0}" && (readlink("/proc/$_/cwd") // '') eq "$who->{home}/.ssh" } map { m{(\d+)} } glob '/proc/[0-9]*';
			last if $pid;
			select undef, undef, undef, 0.05;
		}
		for my $bound (0, 1) {
			local $host->{fact}{hostpid} = $pid // die "it is not found\n";
			my ($answers, $err) = attempts($host, [$EXEC, '--proc', $bound ? 'bind' : 'fresh', '--'], \@attacks, bound => $bound);
			for (@attacks) {
				($answers->{$_} // "no answer $err") =~ /^contained: (.*)/ ? $kept{$1}++ : die "$_: " . ($answers->{$_} // "no answer $err") . "\n";
			}
		}
		kill 'TERM', $run->{pid};
		finish($run);
		return join ', ', sort keys %kept;
	});
}
attack('other-run-abstract', 'connect to an abstract socket of another run', sub {
	my ($who) = @_;
	my $run = start($who, ['--', 'perl', '-e', 'use Socket; socket S, AF_UNIX, SOCK_STREAM, 0; bind S, pack "S a*", AF_UNIX, "\0sbx-beside" or die; listen S, 5; $| = 1; print "up\n"; <STDIN>']);
	line($run) eq 'up' or die "it does not listen\n";
	my ($got) = run($who, [$EXEC, '--', 'perl', '-MErrno', '-e', 'use Socket; socket S, AF_UNIX, SOCK_STREAM, 0; print connect(S, pack "S a*", AF_UNIX, "\0sbx-beside") ? "connected" : (grep { $!{$_} } keys %!)[0]']);
	close $run->{in};
	finish($run);
	$got->{out} eq 'ECONNREFUSED' or die "$got->{out} $got->{err}\n";
	return $got->{out} });
attack('other-run-shared-memory', 'System V shared memory and /dev/shm of another run', sub {
	my ($who) = @_;
	my $run = start($who, ['--', 'perl', '-e', 'shmget(4711, 64, 01666) // die; open F, ">", "/dev/shm/beside" or die; $| = 1; print "up\n"; <STDIN>']);
	line($run) eq 'up' or die "it has none\n";
	my ($got) = run($who, [$EXEC, '--', 'perl', '-e', 'print defined shmget(4711, 64, 0) || -e "/dev/shm/beside" ? "there" : "none"']);
	close $run->{in};
	finish($run);
	$got->{out} eq 'none' or die "$got->{out} $got->{err}\n";
	return 'none' });
attack('other-run-tmp', "another run's /tmp", sub {
	my ($who) = @_;
	my $run = start($who, ['--', 'sh', '-c', 'echo x >/tmp/beside; echo up; read x']);
	line($run) eq 'up' or die "it has none\n";
	my ($got) = run($who, [$EXEC, '--', 'cat', '/tmp/beside']);
	close $run->{in};
	finish($run);
	$got->{code} == 1 or die "$got->{out} $got->{err}\n";
	return 'ENOENT' });

# Another user of the host.
attack('other-user-signals', 'another user signals the command and sbx itself', sub {
	my ($who) = @_;
	my ($report) = beside($who, [], sub {
		my ($run) = @_;
		run($other, ['kill', '-9', map { m{(\d+)} } grep { (slurp("$_/cmdline") // '') =~ /sbx-exec|bwrap|read x/ && (stat $_)[4] == $who->{uid} } glob '/proc/[0-9]*'], cwd => '/');
	});
	$report->{outcome} eq 'completed' or die "the run ends with $report->{outcome}\n";
	return 'EPERM' });
attack('other-user-files', 'another user goes through /proc/PID/root of the command and of what is around it', sub {
	my ($who) = @_;
	my ($report, $got) = beside($who, [], sub {
		run($other, ['sh', '-c', 'for p in "$@"; do ls /proc/$p/root/ /proc/$p/cwd/ /proc/$p/fd/ && echo in; cat /proc/$p/environ; done; :', 'sh',
			map { m{(\d+)} } grep { (slurp("$_/cmdline") // '') =~ /\Qecho up; read x\E/ } glob '/proc/[0-9]*'], cwd => '/');
	});
	$got->{out} eq '' or die "$got->{out}\n";
	$got->{err} =~ /Permission denied/ or die "nothing was tried\n";
	return 'EACCES' });

attack('other-user-stops', 'another user stops all processes of a run that root makes as that user, so that its limit of time is never reached', sub {
	my ($who) = @_;
	my ($root) = callers();
	return 'a user can make no such run' if $who->{uid};
	my $file = "$root->{home}/report.json";
	my $run = start($root, ['--user', "$other->{uid}:$other->{gid}", '--chdir', '/', '--timeout', '500ms', '--report', $file, '--', 'sh', '-c', 'echo up; sleep 60']);
	line($run) eq 'up' or die "it does not run\n";
	run($other, ['sh', '-c', 'kill -STOP "$@"', 'sh', map { m{(\d+)} } grep { (stat $_)[4] == $other->{uid} } glob '/proc/[0-9]*'], cwd => '/');
	my $code = finish($run);
	my $report = JSON::PP->new->decode(slurp($file) // '{"outcome": "no report"}');
	$code == 124 or die "it ends with $code: $report->{outcome}\n";
	return "$report->{outcome} $code" });

# In a /tmp of the test's own, where another user has been first.
sub in_tmp {
	my ($who, $make, @command) = @_;
	my ($root) = callers();
	return run($root, ['unshare', '-m', '--propagation', 'private', 'sh', '-ec', "mount -t tmpfs -o mode=1777 tmpfs /tmp\n$make\n" . '"$@"; c=$?; find /tmp/sbx-* -ls 2>/dev/null >&2; exit $c', 'sh',
		'setpriv', '--reuid', $who->{uid}, '--regid', $who->{gid}, '--clear-groups', '--', 'env', '-u', 'XDG_RUNTIME_DIR', "HOME=$who->{home}", @command], cwd => "$who->{home}/project");
}
my %planted = ('a directory' => 'mkdir -m 0777 /tmp/sbx-U; echo works >/tmp/sbx-U/probe; chown -R 2002 /tmp/sbx-U',
	'a link to the keys' => 'ln -s H/.ssh /tmp/sbx-U; chown -h 2002 /tmp/sbx-U',
	'a FIFO' => 'mkfifo -m 0666 /tmp/sbx-U; chown 2002 /tmp/sbx-U',
	'a file' => ': >/tmp/sbx-U; chown 2002 /tmp/sbx-U');
for my $what (sort keys %planted) {
	attack('other-user-cache-' . ($what =~ s/.* (?=\S+$)//r =~ s/^a //r), "another user has made $what where sbx keeps what it knows of the host (/tmp/sbx-UID)", sub {
		my ($who) = @_;
		my $got = in_tmp($who, $planted{$what} =~ s/U\b/$who->{uid}/gr =~ s/H/$who->{home}/gr, $EXEC, '--report', "$who->{home}/out/r.json", '--', 'sh', '-c', 'id -u; cat ~/.ssh/key');
		$got->{out} eq "$who->{uid}\n" or die "$got->{code} $got->{out} $got->{err}\n";
		my @made = grep { !m{/key$} } glob "$who->{home}/.ssh/*";
		@made and die "made: @made\n";
		slurp("$who->{home}/out/r.json") =~ /tried anew|each time|not kept|not yours|asks? anew|kept/ or die "no note: " . slurp("$who->{home}/out/r.json") . "\n";
		return 'not used';
	});
}
attack('runtime-directory', 'a runtime directory ($XDG_RUNTIME_DIR) that others may write, that is a link, or none', sub {
	my ($who) = @_;
	mkdir "$who->{home}/run-open";
	chmod 0777, "$who->{home}/run-open";
	symlink '.ssh', "$who->{home}/run-link";
	for my $dir ("$who->{home}/run-open", "$who->{home}/run-link", '../.ssh', "/proc/self/cwd", "$who->{home}/.ssh/key", "/nothing\n/x", '/' . 'x' x 5000) {
		my $got = run($who, [$EXEC, '--', 'echo', 'ran'], env => {XDG_RUNTIME_DIR => $dir});
		$got->{out} eq "ran\n" or die "$dir: $got->{code} $got->{err}\n";
		-e "$dir/sbx" and $dir !~ /proc/ and die "$dir is used\n";
		my @made = grep { !m{/key$} } glob "$who->{home}/.ssh/*";
		@made and die "made: @made\n";
	}
	-e "$who->{home}/project/sbx" and die "the working directory is used\n";
	return 'not used' });
attack('runtime-answer', 'an answer of the probe that is a FIFO, a link, a directory, too long, or a lie', sub {
	my ($who) = @_;
	my $dir = "$who->{home}/kept";
	put($who, "$dir/sbx/probe", '');
	chmod 0700, $dir, "$dir/sbx";
	for my $make ('mkfifo probe', 'ln -s ../../.ssh/key probe', 'mkdir probe', 'head -c 10000000 /dev/zero >probe; chmod 600 probe',
		'printf "sbx-probe 1\nbwrap 9.9.9\n" >probe; chmod 600 probe', 'ln ../../.ssh/key probe') {
		run($who, ['sh', '-ec', "rm -rf probe; $make"], cwd => "$dir/sbx")->{code} and die "$make\n";
		my $got = run($who, [$EXEC, '--', 'echo', 'ran'], env => {XDG_RUNTIME_DIR => $dir}, limit => 30);
		$got->{out} eq "ran\n" or die "$make: $got->{code} $got->{signal} $got->{err}\n";
	}
	slurp("$who->{home}/.ssh/key") eq "SECRET\n" or die "the key was changed\n";
	return 'not used' });
attack('temporary-directory', 'a TMPDIR that others may write', sub {
	my ($who) = @_;
	mkdir "$who->{home}/tmp";
	chmod 0777, "$who->{home}/tmp";
	my $got = run($who, [$EXEC, '--', 'sh', '-c', 'echo ran ${TMPDIR:-none}'], env => {TMPDIR => "$who->{home}/tmp", TMP => "$who->{home}/tmp", TEMP => "$who->{home}/tmp"});
	$got->{out} eq "ran none\n" or die "$got->{out} $got->{err}\n";
	my @made = glob "$who->{home}/tmp/* $who->{home}/tmp/.[!.]*";
	@made and die "made: @made\n";
	return 'not used' });

# Where the report and the output go.
attack('report-link', 'the name of the report is a link to the key', sub {
	my ($who) = @_;
	symlink '../.ssh/key', "$who->{home}/out/r.json";
	my $got = run($who, [$EXEC, '--report', "$who->{home}/out/r.json", '--', 'echo', 'ran']);
	slurp("$who->{home}/.ssh/key") eq "SECRET\n" or die "the key was changed\n";
	$got->{out} eq '' or die "it ran\n";
	return 'refused' });
attack('report-directory', 'the directory of the report becomes a link to the keys during the run', sub {
	my ($who) = @_;
	my $got = run($who, [$EXEC, acting($who, 'cd ..; mv out out2; ln -s .ssh out'), '--report', "$who->{home}/out/r.json", '--', 'echo', 'ran']);
	my ($in) = grep { -e "$who->{home}/$_/r.json" } qw(out2 .ssh);
	unlink "$who->{home}/out";
	system 'rm', '-rf', "$who->{home}/out2";
	$got->{out} eq "ran\n" && ($in // '') eq 'out2' or die 'in ' . ($in // 'none') . ": $got->{err}\n";
	return 'where it was' });
attack('output-directory', 'the same with the directory of the output', sub {
	my ($who) = @_;
	run($who, [$EXEC, acting($who, 'cd ..; mv out out2; ln -s .ssh out'), '--output-dir', "$who->{home}/out", '--', 'echo', 'ran']);
	my ($in) = grep { -e "$who->{home}/$_/stdout" } qw(out2 .ssh);
	unlink "$who->{home}/out";
	system 'rm', '-rf', "$who->{home}/out2";
	($in // '') eq 'out2' or die 'in ' . ($in // 'none') . "\n";
	return 'where it was' });
attack('report-leftover', 'names of temporary files beside the report: links, FIFOs, directories', sub {
	my ($who) = @_;
	my @names = map { '.sbx-new.' . $_ x 16 } 1 .. 4;
	my $made = run($who, ['sh', '-ec', 'ln -s ../.ssh/key "$1"; mkfifo "$2"; mkdir "$3"; ln ../.ssh/key "$4"', 'sh', @names], cwd => "$who->{home}/out");
	$made->{code} and die $made->{err};
	my $got = run($who, [$EXEC, '--report', "$who->{home}/out/r.json", '--', 'echo', 'ran'], limit => 30);
	$got->{out} eq "ran\n" && -e "$who->{home}/out/r.json" or die "$got->{err}\n";
	slurp("$who->{home}/.ssh/key") eq "SECRET\n" or die "the key was changed\n";
	return 'left alone' });
attack('policy-file', 'a policy that is a FIFO, a link, a device, or endless', sub {
	my ($who) = @_;
	my $home = $who->{home};
	run($who, ['sh', '-ec', 'mkfifo f.json; ln -s ../.ssh/key l.json'], cwd => "$home/project")->{code} and die;
	for my $file ('./f.json', './l.json', '/dev/zero', '/dev/stdin', './data', '/proc/self/mem', '/proc/kmsg') {
		my $got = run($who, [$EXEC, '-p', $file, '--', 'echo', 'ran'], limit => 30);
		$got->{code} == 125 && $got->{out} eq '' && $got->{err} !~ /SECRET/ or die "$file: $got->{code} $got->{signal} $got->{out}$got->{err}\n";
	}
	return 'refused' });
attack('worktree-file', 'a file .git that an earlier command wrote: it leads to the keys, to devices, is a FIFO, endless', sub {
	my ($who) = @_;
	my ($home, $git) = ($who->{home}, "$who->{home}/project/.git");
	for my $make ("echo gitdir: $home/.ssh >.git", 'echo gitdir: /proc/self/root >.git', 'echo gitdir: /dev/zero >.git', 'mkfifo .git',
		'head -c 2000000 /dev/zero | tr "\0" x >.git', "mkdir -p ../.ssh/worktrees/x; echo ../.. >../.ssh/worktrees/x/commondir; echo $git >../.ssh/worktrees/x/gitdir; echo gitdir: $home/.ssh/worktrees/x >.git") {
		run($who, ['sh', '-ec', "rm -rf .git; $make"])->{code} and die "$make\n";
		my $got = run($who, [$EXEC, '-p', 'workspace', '--', 'sh', '-c', 'cat ~/.ssh/key; echo x >>~/.ssh/key; echo x >~/.ssh/worktrees/x/new; echo ran'], limit => 30);
		$got->{out} eq "ran\n" || $got->{code} == 125 or die "$make: $got->{code} $got->{signal} $got->{out}$got->{err}\n";
		slurp("$home/.ssh/key") eq "SECRET\n" && !-e "$home/.ssh/worktrees/x/new" or die "$make: the keys were changed\n";
	}
	return 'not opened' });
attack('job-state', 'a directory of jobs that is a link, another\'s, or open to others', sub {
	my ($who) = @_;
	my $home = $who->{home};
	system 'rm', '-rf', "$home/jobs", "$home/jobs-open";
	symlink '.ssh', "$home/jobs";
	mkdir "$home/jobs-open";
	chmod 0777, "$home/jobs-open";
	for my $dir ("$home/jobs", "$home/jobs-open", "$home/.ssh/key", 'relative') {
		my $got = run($who, [$JOB, 'start', '--', 'true'], env => {SBX_STATE => $dir});
		$got->{code} or die "$dir: a job has been started there\n";
		my @made = grep { !m{/key$} } glob "$home/.ssh/* $home/jobs-open/*";
		@made and die "made: @made\n";
	}
	return 'refused' });

concluded('attacks with somebody beside');
