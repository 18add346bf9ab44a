# Bad input: one clear message "sbx-exec: ..." with a hint, the right exit code, nothing run, nothing left behind.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $PLAN, $EXEC);

my @echo = qw(-- echo RAN);

# Runs a command line that must be refused with the code and a message like the pattern; gives what it said.
sub refused {
	my ($who, $name, $code, $pattern, $command, %how) = @_;
	my $before = listing($who->{home});
	my $got = run($who, $command, %how);
	$name = "$who->{name}: $name";
	is($got->{code}, $code, "$name: exit code $code") or diag($got->{out}, $got->{err});
	like($got->{err}, $pattern, "$name: the message says so");
	like($got->{err}, qr/\Asbx-exec: [^\n]+\nsbx-exec: hint: [^\n]+\n\z/, "$name: one message and one hint");
	is($got->{out}, '', "$name: nothing ran");
	is(listing($who->{home}), $before, "$name: nothing is left behind");
}

sub policies {
	my ($who) = @_;
	my $dir = "$who->{home}/policies";
	my $file = sub { put($who, "$dir/$_[0].json", $_[1], $_[2]) };
	my $exec = sub { [$EXEC, '-p', $_[0], @echo] };

	refused($who, 'no such policy file', 125, qr{\Q$dir\E/none\.json}, $exec->("$dir/none.json"));
	refused($who, 'no such policy name', 125, qr/nosuch/, $exec->('nosuch'));
	refused($who, 'a folder as policy', 125, qr/\Q$dir\E/, $exec->("$dir/"));
	refused($who, 'an empty policy', 125, qr/line 1, column 1\b/, $exec->($file->(empty => '')));
	refused($who, 'a syntax error', 125, qr/line 3, column 1\b/, $exec->($file->(syntax => "{\n\"sbx\": 1,\n}\n")));
	refused($who, 'an unknown key', 125, qr{/filesystem/raed}, $exec->($file->(unknown => '{"sbx": 1, "filesystem": {"raed": []}}')));
	refused($who, 'a system call that there is not', 125, qr{calls\.json: /seccomp/deny/1: "ptrase" is no system call\n.*did you mean "ptrace"\?},
		$exec->($file->(calls => '{"sbx": 1, "seccomp": {"deny": ["mount", "ptrase"]}}')));
	refused($who, 'nor one to be allowed', 125, qr{/seccomp/allow/0: "xyzzyxyzzy" is no system call\n.*syscalls\(2\)},
		$exec->($file->(calls => '{"sbx": 1, "seccomp": {"allow": ["xyzzyxyzzy"]}}')));
	refused($who, 'a filter loosened that is final', 125, qr{--seccomp none: seccomp is final: .*final\.json: /final/0},
		[$EXEC, '-p', $file->(final => '{"sbx": 1, "extends": ["default"], "final": ["seccomp"]}'), qw(--seccomp none), @echo]);
	refused($who, 'a wrong type', 125, qr{/filesystem/read/1}, $exec->($file->(type => '{"sbx": 1, "filesystem": {"read": ["/usr", 7]}}')));
	refused($who, 'rules that contradict each other', 125, qr{^(?=.*/filesystem/read/0)(?=.*/filesystem/deny/1)}s,
		$exec->($file->(contradict => '{"sbx": 1, "filesystem": {"read": ["/usr"], "deny": ["/x", "/usr"]}}')));
	refused($who, 'a grant that is not there', 125, qr{/nonexistent/grant},
		[$EXEC, qw(--read /nonexistent/grant), @echo]);
	SKIP: {
		skip 'root reads every file', 5 if !$who->{uid};
		refused($who, 'an unreadable policy', 125, qr{secret\.json.*Permission denied},
			$exec->($file->(secret => '{"sbx": 1}', 0000)));
	}
}

# Paths that cannot be: loops, names and paths that are too long.
sub paths {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	my ($name, $deep) = ('n' x 256, '/nosuch' . '/y' x 2100);
	symlink 'loop', "$project/loop" or die;
	symlink 'b/x', "$project/a" or die;
	symlink 'a', "$project/b" or die;
	for my $flag (qw(--read --write --deny --device)) {
		refused($who, "$flag of a loop", 125, qr{\Asbx-exec: command line: $flag \./loop: \S+/loop leads through more than 40 links},
			[$EXEC, $flag, './loop', @echo]);
		refused($who, "$flag below a loop", 125, qr{$flag \./a/x: \S+/a/x leads through more than 40 links},
			[$EXEC, $flag, './a/x', @echo]);
		refused($who, "$flag of a name of 256 bytes", 2, qr{$flag \./$name/x: a name of the path is longer than 255 bytes},
			[$EXEC, $flag, "./$name/x", @echo]);
		refused($who, "$flag of a path of 4,207 bytes", 2, qr{$flag /nosuch/y\S*/y: the path is longer than 4095 bytes},
			[$EXEC, $flag, $deep, @echo]);
	}
	refused($who, 'a mount from a loop', 125, qr{--bind \./loop:/m: \S+/loop leads through more than 40 links},
		[$EXEC, '--bind', './loop:/m', @echo]);
	refused($who, 'a mount at a name of 256 bytes', 2, qr{--tmpfs /m/$name: .*longer than 255 bytes}, [$EXEC, '--tmpfs', "/m/$name", @echo]);
	refused($who, 'a grant of a long path that is not there', 125, qr{--read /nosuch\S*: \S+ does not exist},
		[$EXEC, '--read', '/nosuch' . '/y' x 2000, @echo]);
	is(inside($who, ['--deny', '/nosuch' . '/y' x 2000, '--deny', "./" . 'n' x 255], 'echo ran'), "ran\n",
		"$who->{name}: what is merely long and not there can be denied");
	my $policy = put($who, "$who->{home}/policies/long.json", qq({"sbx": 1, "filesystem": {"root": "read", "write": [{"path": "/$name"}]}}));
	refused($who, 'a name of 256 bytes in a policy', 125, qr{long\.json: /filesystem/write/0/path: .*longer than 255 bytes},
		[$EXEC, '-p', $policy, @echo]);
	my @deep = (sub { for (1 .. 25) { mkdir 'd' x 200; chdir 'd' x 200 or die } });
	my $got = run($who, [$EXEC, qw(-p workspace), @echo], before => @deep);
	like("$got->{code} $got->{err}", qr{^125 sbx-exec: built-in policy workspace: /filesystem/write/0/path: the path is longer than 4095},
		"$who->{name}: a working directory that is too deep to be made writable");
	$got = run($who, [$EXEC, @echo], before => @deep);
	like("$got->{code} $got->{err}", qr{^125 sbx-exec: the working directory \S+ cannot be used in the sandbox: File name too long\n},
		"$who->{name}: a working directory that is too deep to be used");
	is(run($who, [$EXEC, qw(--chdir / -- echo ran)], before => @deep)->{out}, "ran\n", "$who->{name}: which another one heals");
	system 'rm', '-rf', "$project/" . 'd' x 200;
	unlink map { "$project/$_" } qw(loop a b);
}

# Every kind of rule at the places that are the sandbox's own or the kernel's: an error that names the rule and the place,
# or what it says.
sub places {
	my ($who) = @_;
	my $from = "$who->{home}/project";
	my %kinds = (read => '"read": ["%s"]', write => '"write": ["%s"]', deny => '"deny": ["%s"]',
		at => qq("mounts": [{"at": "%s", "from": "$from"}]), from => '"mounts": [{"at": "/mnt", "from": "%s"}]',
		tmpfs => '"tmpfs": [{"at": "%s"}]', file => '"files": [{"at": "%s", "text": "x"}]', device => '"devices": ["%s"]');
	my %lists = (at => 'mounts', from => 'mounts', file => 'files', device => 'devices');
	my %says = ('/' => qr{no rule can stand at "/"}, '/proc' => qr{/proc is always the sandbox's own},
		'/dev' => qr{/dev is always the sandbox's own}, '/tmp' => qr{/tmp is always the sandbox's own},
		'/ from' => qr{a mount from / would show the host's own /proc}, '/proc from' => qr{the host's /proc cannot be mounted},
		'/dev from' => qr{/dev is a directory below /dev: read and write rules do not show devices},
		(map { ("$_ file" => qr{cannot put anything at $_: type mismatch}, "$_ device" => qr{$_ is a directory, no device node}) } qw(/tmp /sys)),
		# What can be done is looked at.
		'/tmp at' => [stat => '/tmp/seen', 'ok'], '/tmp from' => [list => '/mnt', 'ok'], '/tmp tmpfs' => [create => '/tmp/x', 'ok'],
		'/sys read' => [create => '/sys/x', 'EROFS'], '/sys write' => [stat => '/sys/kernel', 'ok'], '/sys deny' => [list => '/sys', 'EACCES'],
		'/sys at' => [stat => '/sys/seen', 'ok'], '/sys from' => [stat => '/mnt/kernel', 'ok'], '/sys tmpfs' => [create => '/sys/x', 'ok']);
	put($who, "$from/seen", '');
	for my $place (qw(/ /proc /dev /tmp /sys)) {
		for my $kind (sort keys %kinds) {
			my $rule = sprintf $kinds{$kind}, $place;
			my $policy = put($who, "$who->{home}/policies/place.json",
				qq({"sbx": 1, "extends": ["default"], "filesystem": {$rule}, "process": {"cwd": "/"}}));
			my $says = $says{"$place $kind"} // $says{$place};
			my $list = $lists{$kind} // $kind;
			if (ref $says eq 'ARRAY') {
				promises($who, ['-p', $policy], [@$says, "$kind $place: $says->[0] $says->[1]"]);
			} else {
				refused($who, "$kind $place", 125, qr{\Asbx-exec: \S+/place\.json: /filesystem/$list/0\S*: $says}, [$EXEC, '-p', $policy, @echo]);
			}
		}
	}
}

# Rules around the working directory, and two rules at one place.
sub around {
	my ($who) = @_;
	my ($home, $project) = ($who->{home}, "$who->{home}/around/project");
	put($who, $_, 'x') for "$project/child/file", "$project/file", "$home/around/beside";
	my %here = (cwd => $project);
	my @look = ('sh', '-c', 'cd "$0" || exit; for f in ../beside file child/file; do (echo y >>$f) 2>/dev/null && echo write || { cat $f >/dev/null 2>&1 && echo read || echo none; }; done',
		$project);
	for (['the parent is denied, this is writable', [qw(--deny ./.. --write ./)], 'none write write'],
		['the parent is read, this is writable', [qw(--read ./.. --write ./)], 'read write write'],
		['the parent is writable, this is read', ['--write', "$home/around", '--read', './'], 'write read read'],
		['a child is denied', [qw(--write ./ --deny ./child)], 'read write none'],
		['this is read, a child is writable', [qw(--read ./ --write ./child)], 'read read write'],
		['this is denied, a child is writable', [qw(--deny ./ --write ./child --chdir ./child)], 'read none write']) {
		my ($name, $options, $want) = @$_;
		my $got = run($who, [$EXEC, @$options, '--', @look], %here);
		is(join(' ', split ' ', $got->{out}), $want, "$who->{name}: $name") or diag($got->{err});
	}
	my @hides = (qr{the working directory \S+/project cannot be used in the sandbox: Permission denied\nsbx-exec: hint: the rule for \S+ \(command line: --deny \./(\.\.)?\) hides it});
	refused($who, 'this is denied', 125, @hides, [$EXEC, qw(--deny ./), @echo], %here);
	refused($who, 'the parent is denied', 125, @hides, [$EXEC, qw(--deny ./..), @echo], %here);
	refused($who, 'the parent is writable, this is denied', 125, @hides, [$EXEC, '--write', "$home/around", qw(--deny ./), @echo], %here);
	for ([qw(--bind ./child:/m --bind ./:/m)], [qw(--bind ./child:/m --tmpfs /m)], [qw(--tmpfs /m:1M --tmpfs /x/../m)],
		['--write', './child', '--read', "$project/child/."]) {
		refused($who, "two rules at one place: @$_", 125, qr{\Asbx-exec: command line: $_->[2] \S+: \S+ has another rule in the same policy \(command line: $_->[0] },
			[$EXEC, @$_, @echo], %here);
	}
	SKIP: {
		skip '/bin is no link here', 5 if !-l '/bin';
		my $policy = put($who, "$home/policies/two.json", '{"sbx": 1, "extends": ["default"], "filesystem": {"tmpfs": [{"at": "/bin/x"}, {"at": "/usr/bin/x"}]}}');
		refused($who, 'two places that a link makes one', 125, qr{tmpfs/\d: /usr/bin/x: two rules stand at one place \(the other: \S+: /filesystem/tmpfs/\d\)},
			[$EXEC, '-p', $policy, @echo], %here);
	}
}

sub command_lines {
	my ($who) = @_;
	refused($who, 'an unknown option', 2, qr/--nosuch/, [$EXEC, '--nosuch', @echo]);
	refused($who, 'an option without its value', 2, qr/--read/, [$EXEC, '--read']);
	refused($who, 'no command', 2, qr/command/, [$EXEC]);
	refused($who, 'no command after --', 2, qr/command/, [$EXEC, '--']);
	refused($who, 'a value out of range', 2, qr/--timeout/, [$EXEC, qw(--timeout soon), @echo]);
	refused($who, 'a network that does not exist', 2, qr/--net/, [$EXEC, qw(--net some), @echo]);
}

sub commands {
	my ($who) = @_;
	my $home = $who->{home};
	put($who, "$home/text", "echo RAN\n", 0644);
	put($who, "$home/no-interpreter", "#!/nonexistent/interpreter\n", 0755);
	put($who, "$home/.ssh/tool", "#!/bin/sh\necho RAN\n", 0755);
	refused($who, 'a missing command', 127, qr/nosuchcommand/, [$EXEC, qw(-- nosuchcommand)]);
	refused($who, 'a missing path', 127, qr{/nosuch/command}, [$EXEC, qw(-- /nosuch/command)]);
	refused($who, 'a file that may not be executed', 126, qr{\Q$home\E/text}, [$EXEC, '--', "$home/text"]);
	refused($who, 'a folder as command', 126, qr{/usr}, [$EXEC, qw(-- /usr)]);
	refused($who, 'a script without its interpreter', 126, qr{/nonexistent/interpreter},
		[$EXEC, '--', "$home/no-interpreter"]);
	refused($who, 'a command in a hidden folder', 126, qr{\.ssh}, [$EXEC, '--', "$home/.ssh/tool"]);
	put($who, "$home/interpreter", slurp(which('sh')), 0755);
	put($who, "$home/script", "#!$home/interpreter\necho RAN\n", 0755);
	is(run($who, [$EXEC, '--', "$home/script"])->{out}, "RAN\n", "$who->{name}: (a script runs)");
	refused($who, 'a script whose interpreter is denied', 126,
		qr{/script cannot be executed: what runs it, \Q$home\E/interpreter, .*hint: the rule for \S+/interpreter \(command line: --deny ~/interpreter\) hides it}s,
		[$EXEC, '--deny', '~/interpreter', '--', "$home/script"]);
	my ($loader) = `ldd '$home/interpreter' 2>/dev/null` =~ m{^\s*(/\S+) \(}m;
	SKIP: {
		skip 'the shell has no loader', 5 if !$loader;
		refused($who, 'a program whose loader is denied', 126, qr{/interpreter cannot be executed: what runs it, .*--deny \Q$loader\E\) hides it}s,
			[$EXEC, '--deny', $loader, '--', "$home/interpreter", '-c', 'echo RAN']);
	}
	refused($who, 'a denied command', 126, qr{interpreter cannot be executed: Permission denied.*--deny ~/interpreter\) hides it}s,
		[$EXEC, '--deny', '~/interpreter', '--', "$home/interpreter", '-c', 'echo RAN']);
}

sub host {
	my ($who) = @_;
	refused($who, 'no bwrap at the path given', 125, qr{/nonexistent/bwrap},
		[$EXEC, qw(--bwrap /nonexistent/bwrap), @echo]);
	SKIP: {
		skip 'only root can hide bwrap', 5 if $>;
		# An empty file over it, in a mount namespace of the test's own.
		my $script = 'mount --bind "$1" "$2"; shift 2; exec "$@"';
		my @user = $who->{uid} ? ('setpriv', "--reuid=$who->{uid}", "--regid=$who->{gid}", '--clear-groups') : ();
		refused({%$who, uid => 0, gid => 0}, 'no bwrap installed', 125, qr/bwrap/, [qw(unshare -m --propagation private),
			'sh', '-ec', $script, 'sh', put($who, "$top/empty", ''), which('bwrap'), @user, $EXEC, @echo]);
	}
	# In a user namespace of our own, where no further one may be made. There the owner of the system's bwrap is unknown.
	my $bwrap = put($who, "$who->{home}/bwrap", slurp(which('bwrap')), 0755);
	my $script = '[ "$(readlink /proc/self/ns/user)" != "$1" ] && echo 0 >/proc/sys/user/max_user_namespaces &&
		shift && exec "$@"';
	SKIP: {
		skip 'no user namespace for the test', 5 if run($who, [qw(unshare -Ur true)])->{code};
		refused($who, 'no user namespaces', 125, qr/namespace/, ['unshare', '-Ur', 'sh', '-ec', $script, 'sh',
			readlink('/proc/self/ns/user'), $EXEC, '--bwrap', $bwrap, @echo]);
	}
}

# A path or text from outside reaches the terminal with its control bytes escaped.
sub escaped {
	my ($who) = @_;
	my $got = run($who, [$EXEC, '-p', "/no/\e]0;title\a\nsbx-exec: fake", @echo]);
	unlike($got->{err}, qr/[\e\a]/, "$who->{name}: control bytes in a message are escaped");
	unlike($got->{err}, qr/^sbx-exec: fake/m, "$who->{name}: a newline in a name begins no line");
}

for my $who (callers()) {
	subtest "$who->{name}: policies" => sub { policies($who) };
	subtest "$who->{name}: paths" => sub { paths($who) };
	subtest "$who->{name}: places" => sub { places($who) };
	subtest "$who->{name}: around the working directory" => sub { around($who) };
	subtest "$who->{name}: command lines" => sub { command_lines($who) };
	subtest "$who->{name}: commands" => sub { commands($who) };
	subtest "$who->{name}: the host" => sub { host($who) };
	subtest "$who->{name}: messages" => sub { escaped($who) };
}
done_testing();
