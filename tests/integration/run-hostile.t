#!/usr/bin/perl
# What a command, or a neighbour of it, tries against the run itself.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);
my $BUILD = $ENV{SBX_BUILD};
my $rounds = $ENV{SBX_FULL} ? 400 : 120;

for my $who (callers()) {
	my $name = $who->{name};
	my $project = "$who->{home}/project";
	my $steps = "$who->{home}/steps";
	for my $program (qw(init-fds swap)) {
		put($who, "$who->{home}/$program", slurp("$BUILD/tests/hostile/$program"), 0755);
	}

	# The command looks at pid 1's descriptors as its first step; one processor makes the window widest.
	my ($seen, $odd) = (0, 0);
	for (1 .. $rounds) {
		my $got = run($who, ['taskset', '-c', '0', $EXEC, '--proc', 'fresh', '--', "$who->{home}/init-fds"]);
		$seen++ if $got->{code} == 77;
		$odd++ if $got->{code} != 0 && $got->{code} != 77;
	}
	is($seen, 0, "$name: $rounds runs: pid 1 has nothing open that a command could use");
	is($odd, 0, "$name: $rounds runs: none looks refused");

	# A neighbour swaps a protected name for a link while bwrap mounts.
	put($who, "$who->{home}/.ssh/key", 'SECRET');
	mkdir "$project/.vscode";
	symlink '../.ssh', "$project/x";
	mkdir "$who->{home}/other";
	chown $who->{uid}, $who->{uid}, "$project/.vscode", "$who->{home}/other" if !$>;
	my $neighbour = fork // die;
	if (!$neighbour) {
		chdir $project;
		exec "$who->{home}/swap", '.vscode', 'x', '3000';
	}
	my ($leaked, $ran, $refused) = (0, 0, 0);
	for (1 .. $rounds / 3) {
		my $got = run($who, [$EXEC, '-p', 'workspace', '--', 'sh', '-c', 'cat ~/.ssh/key; echo ran'], cwd => $project);
		$leaked++ if $got->{out} =~ /SECRET/;
		$got->{code} == 125 ? $refused++ : $got->{out} =~ /ran/ ? $ran++ : diag("$got->{code} $got->{err}");
	}
	kill 'KILL', $neighbour;
	waitpid $neighbour, 0;
	is($leaked, 0, "$name: no secret shows while a neighbour swaps names ($ran ran, $refused refused)");
	is($ran + $refused, $rounds / 3, "$name: each run ran or was refused");

	my $got = run($who, [$EXEC, '--', 'chmod', '666', '/dev/null']);
	like($got->{err}, qr/Read-only file system|not permitted/, "$name: the mode of a device node cannot be changed");
	is(run($who, [$EXEC, '--', 'sh', '-c', 'echo x >/dev/null && head -c1 /dev/zero | wc -c'])->{out}, "1\n", "$name: device nodes work");

	# The bwrap that the sandbox's pid 1 runs is the host's file.
	my $own = "$who->{home}/bin/bwrap";
	put($who, $own, slurp(which('bwrap')), 0755);
	$got = run($who, [$EXEC, '--bwrap', $own, '--', 'chmod', '777', '/proc/1/exe']);
	like($got->{err}, qr/Read-only file system/, "$name: the host's bwrap cannot be changed through /proc/1/exe");
	is(sprintf('%o', (stat $own)[2] & 07777), '755', "$name: and is not");

	# An early INT ends the run as INT does, not as a command that could not be executed.
	my %codes;
	for my $i (1 .. 40) {
		my $pid = fork // die;
		if (!$pid) {
			open STDERR, '>', '/dev/null';
			%ENV = environment($who);
			become($who);
			chdir $project;
			exec $EXEC, '--', 'sh', '-c', 'sleep .05; exit 7' or POSIX::_exit(99);
		}
		select undef, undef, undef, ($i % 20) * 0.002;
		kill 'INT', $pid;
		waitpid $pid, 0;
		$codes{$? & 127 ? 'signal ' . ($? & 127) : $? >> 8}++;
	}
	delete @codes{7, 130, 'signal 2'};
	is_deeply(\%codes, {}, "$name: INT at any moment: 130, or the command's own code");

	# --report fd:N onto a file that the command can write.
	$got = run($who, ['sh', '-c', '"$0" -p workspace --report fd:3 -- true 3>r.json', $EXEC], cwd => $project);
	is($got->{code}, 125, "$name: a report onto a file that the command could write is refused");
	like($got->{err}, qr/the command could write there/, "$name: and says why");

	# Links that an earlier command left in place of protected names keep nobody from running.
	unlink "$project/x";
	rmdir "$project/.vscode";
	for my $target ('.envrc', '/dev/null', '/dev/shm', '/tmp', '/proc/self/environ', '/etc/passwd', "$who->{home}/.ssh/key") {
		unlink "$project/.envrc";
		symlink $target, "$project/.envrc";
		$got = run($who, [$EXEC, '-p', 'workspace', '--report', "$who->{home}/r.json", '--', 'sh', '-c', 'echo ran; cat ~/.ssh/key'], cwd => $project);
		is($got->{out}, "ran\n", "$name: .envrc -> $target: runs, and nothing is raised");
		like(slurp("$who->{home}/r.json"), qr/not enforced: on the way of \Q$project\E\/.envrc is a link/, "$name: .envrc -> $target: noted");
	}
	unlink "$project/.envrc";
}
SKIP: {
	my ($who) = callers();
	my $keys = "$BUILD/tests/hostile/keyring";
	skip 'no kernel keyrings here', 4 if run($who, [$keys, 'add', 'true'])->{code};
	put($who, "$who->{home}/keyring", slurp($keys), 0755);
	my $got = run($who, [$keys, 'add', "$who->{home}/keyring", 'find']);
	is($got->{code}, 0, 'the key is there outside');
	$got = run($who, [$keys, 'add', $EXEC, '--', "$who->{home}/keyring", 'find']);
	is($got->{code}, 1, "the caller's session keyring is out of reach inside");

	# A user whose quota of keys is used up, as an earlier command may have done it. It is nobody else's: other tests have
	# keys too, and what is given back counts for a while.
	skip 'needs root', 2 if $>;
	my $uid = 100000 + $$ % 100000;
	my @full = ('setpriv', "--reuid=$uid", "--regid=$uid", '--clear-groups', $keys, 'add', $keys, 'fill');
	$got = run($who, [@full, $EXEC, '--', "$who->{home}/keyring", 'find'], cwd => '/');
	is($got->{code}, 125, 'nor does it get in when no other can be made');
	like($got->{err}, qr/^sbx-exec: .*cannot leave the caller's session keyring.*: Disk quota exceeded/, 'and that is said');
}
done_testing();
