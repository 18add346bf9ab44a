#!/usr/bin/perl
# Whatever ends a run ends all of it. SBX_FULL=1, or CI, for many more rounds.
use strict;
use warnings;
use FindBin;
use Test::More;
use Time::HiRes qw(time sleep);
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

my ($rounds, $stride) = $ENV{SBX_FULL} || $ENV{CI} ? (600, 8) : (64, 61);

# A tree that no signal but KILL ends, with a member in a session of its own.
sub stubborn {
	my ($mark) = @_;
	return ('sh', '-c', "trap '' TERM INT HUP QUIT; setsid sleep 1000.$mark & sleep 1001.$mark & echo; wait; wait");
}

for my $who (callers()) {
	my $name = $who->{name};
	my $mark = "$$" . ($who->{uid} ? 2 : 1);

	# Strays hold the pipe of standard output: the end of the command is the end.
	my $started = time;
	my $got = run($who, [$EXEC, '--', 'sh', '-c', "sleep 1002.$mark & setsid sleep 1003.$mark & echo done; exit 3"]);
	is("$got->{code} $got->{out}", "3 done\n", "$name: background children do not change the result");
	cmp_ok(time - $started, '<', 30, "$name: and do not delay it");
	is_deeply([left(".$mark")], [], "$name: nor are they left");

	$got = run($who, [$EXEC, '--timeout', '300ms', '--', stubborn($mark)]);
	is($got->{code}, 124, "$name: what ignores TERM ends at the wall limit");
	is_deeply([left(".$mark")], [], "$name: with its whole tree");

	my $run = start($who, ['--', stubborn($mark)]);
	line($run);
	kill 'TERM', $run->{pid};
	is(finish($run), 143, "$name: and when sbx-exec is told to end");
	is_deeply([left(".$mark")], [], "$name: with its whole tree");

	# KILL of sbx-exec, after its start and at every moment of it.
	$run = start($who, ['--', stubborn($mark)]);
	line($run);
	kill 'KILL', $run->{pid};
	is(finish($run), -9, "$name: KILL of sbx-exec");
	is_deeply([left(".$mark")], [], "$name: takes the whole tree along");
	for my $i (0 .. $rounds - 1) {
		my $killed = start($who, ['--', stubborn($mark)]);
		sleep(($i % 64) / 2000);
		kill 'KILL', $killed->{pid};
		waitpid $killed->{pid}, 0;
	}
	is_deeply([left(".$mark")], [], "$name: KILL within its first 32 ms, $rounds times: nothing is left");
	unlink glob "$top/errors.*";

	# KILL at system calls of the shim, of bwrap and of the command. (As root a traced run gets no further than the hold.)
	my @limited = ($EXEC, '-p', 'strict', '--memory', '64M', '--processes', '20', '--chdir', '/', '--');
	my ($n, $left, $last) = (0, '', 0);
	for (my $at = 1 + int rand $stride; !$last; $at += $stride) {
		my $got = run($who, ["$ENV{SBX_BUILD}/tests/hostile/kill-at", $at, @limited, 'true'], cwd => '/');
		$last = $got->{code} == 2;
		$n++;
		$left .= "call $at: exit code $got->{code}, $got->{out}\n" if $got->{code} && !$last;
		last if $n > 9999;
	}
	is($left, '', "$name: KILL at one in $stride of all system calls, $n times: nothing is left");
	cmp_ok($n, '>', 1000 / $stride, "$name: which are all there are");
	# Where it can have cgroups they are left by one that is killed, and the next run, without limits, removes them.
	$run = start($who, ['--memory', '200M', '--processes', '50', '--', stubborn($mark)]);
	line($run);
	kill 'KILL', $run->{pid};
	finish($run);
	is_deeply([left(".$mark")], [], "$name: KILL of a run with limits");
	note "$name leaves cgroups: ", join ' ', sort(leaves(1));
	for (1 .. 50) { # the kernel takes its time to let go of what was killed
		run($who, [$EXEC, '--', 'true'], cwd => '/');
		last if !leaves(1);
	}
	is_deeply([leaves()], [], "$name: the next run removes the cgroups that are left");
}

# Where the outer namespaces cannot be made a guard process does the same. The limit is of a user namespace of the
# test's own.
SKIP: {
	my ($who) = callers();
	my $limit = 'echo 1 > /proc/sys/user/max_mnt_namespaces && exec "$@"';
	my @guarded = ('unshare', '-Ur', 'sh', '-c', $limit, 'sh', $EXEC);
	skip 'no user namespaces', 6 if run($who, ['unshare', '-Ur', 'true'])->{code};
	my $mark = "${$}3";
	my $got = run($who, [@guarded, '--report', 'fd:3', '--', 'sh', '-c', 'exit 7'], before => sub { POSIX::dup2(1, 3); $^F = 9 });
	is($got->{code}, 7, 'guard: a run');
	like($got->{out}, qr/guard process/, 'guard: the report says so');
	$got = run($who, [@guarded, '--', 'sh', '-c', "setsid sleep 1002.$mark & kill -KILL \$\$"]);
	is($got->{code}, 137, 'guard: the exit code');
	$got = run($who, [@guarded, '--timeout', '300ms', '--', stubborn($mark)]);
	is($got->{code}, 124, 'guard: the wall limit');
	is_deeply([left(".$mark")], [], 'guard: nothing is left');
	for my $i (0 .. $rounds - 1) {
		my $pid = fork // die;
		if (!$pid) {
			POSIX::setpgid(0, 0);
			open STDOUT, '>', '/dev/null';
			chdir $who->{home};
			exec @guarded, '--', stubborn($mark) or POSIX::_exit(99);
		}
		sleep(($i % 64) / 1000);
		kill 'KILL', $pid; # sh and sbx-exec are unshare's process
		waitpid $pid, 0;
	}
	is_deeply([left(".$mark")], [], "guard: KILL of sbx-exec, $rounds times: nothing is left");
}
done_testing();
