#!/usr/bin/perl
# How a run ends, and what sbx-exec's exit code and report make of it.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

my $long = 'while :; do sleep 0.1; done';

for my $who (callers()) {
	my $name = $who->{name};
	put($who, "$who->{home}/project/plain", "#!/bin/sh\n", 0644);
	put($who, "$who->{home}/project/script", "#!/nowhere/sh\n", 0755);
	my @rows = (
		# code, outcome, phase, arguments
		[0, 'completed', 'run', 'true'],
		[1, 'completed', 'run', 'false'],
		[42, 'completed', 'run', 'sh', '-c', 'exit 42'],
		[124, 'timeout', 'run', '--timeout', '200ms', '--', 'sh', '-c', $long],
		[124, 'completed', 'run', 'sh', '-c', 'exit 124'],
		[125, 'completed', 'run', 'sh', '-c', 'exit 125'],
		[125, 'refused', 'probe', '--bwrap', '/nowhere/bwrap', '--', 'true'],
		[125, 'refused', 'policy', '-p', './nowhere.json', '--', 'true'],
		[125, 'refused', 'plan', '--read', '/nowhere', '--', 'true'],
		[126, 'not-executable', 'exec', './plain'],
		[127, 'not-found', 'exec', 'no-such-command'],
		[127, 'not-found', 'exec', '/nowhere/command'],
		[137, 'completed', 'run', 'sh', '-c', 'kill -KILL $$'],
		[143, 'completed', 'run', 'sh', '-c', 'kill -TERM $$'],
		[2, 'refused', 'policy', '--pass-fd', '33', '--', 'true'],
		[2, 'refused', 'policy'],
	);
	for my $row (@rows) {
		my ($code, $outcome, $phase, @args) = @$row;
		my ($got, $report) = reported($who, \@args);
		is("$got->{code} " . ($report->{outcome} // '-') . ' ' . ($report->{phase} // '-'), "$code $outcome $phase",
			"$name: @args");
		is($report->{exit_code}, $code, "$name: the report has the exit code");
		next if $outcome =~ /completed|timeout/;
		like($got->{err}, qr/^sbx-exec: .+\n/, "$name: and one message");
		ok(length($report->{error}{message} // ''), "$name: which the report has too");
	}
	my ($got, $report) = reported($who, ['--', 'sh', '-c', 'exit 4'], before => sub { $SIG{CHLD} = 'IGNORE' });
	is("$got->{code} $report->{outcome}", '4 completed', "$name: a caller that ignores SIGCHLD");
	($got, $report) = reported($who, ['./script']);
	ok($got->{code} == 126 || $got->{code} == 127, "$name: a script without its interpreter is told from a run");
	isnt($report->{outcome}, 'completed', "$name: in the report too");

	# What a signal to sbx-exec does. The command says when it is ready.
	@rows = (
		# signals, code, script, promise
		['TERM', 143, "echo; $long", 'TERM ends the command'],
		['TERM', 143, "trap 'exit 0' TERM; echo; $long", 'a handler does not hide the cancellation'],
		['TERM', 143, "trap '' TERM; echo; $long", 'TERM that is ignored becomes KILL'],
		['HUP', 129, "echo; $long", 'HUP ends the command'],
		['INT', 130, "echo; $long", 'INT ends the command'],
		['INT', 7, "trap 'exit 7' INT; echo; $long", 'the command may handle INT'],
		['INT INT', 130, "trap '' INT; echo; $long", 'a second INT ends what ignores the first'],
		['QUIT', 131, "ulimit -c 0; echo; $long", 'QUIT ends the command'],
		['USR1', 8, "trap 'exit 8' USR1; echo; $long", 'USR1 reaches the command'],
		['USR2', 9, "trap 'exit 9' USR2; echo; $long", 'USR2 reaches the command'],
		['WINCH', 10, "trap 'exit 10' WINCH; echo; $long", 'WINCH reaches the command'],
	);
	for my $row (@rows) {
		my ($signals, $code, $script, $promise) = @$row;
		my $run = start($who, ['--', 'sh', '-c', $script]);
		line($run);
		kill $_, $run->{pid} for split ' ', $signals;
		# Signals of one kind that come together are one: a second is sent until it was seen.
		if ($signals eq 'INT INT') {
			kill('INT', $run->{pid}), select undef, undef, undef, 0.05 while waitpid($run->{pid}, POSIX::WNOHANG()) == 0;
			is($? >> 8, $code, "$name: $promise");
			next;
		}
		is(finish($run), $code, "$name: $promise");
	}

	# TSTP stops the command and sbx-exec, CONT lets both go on.
	my $run = start($who, ['--', 'sh', '-c', 'echo; read x; echo on; exit 5']);
	line($run);
	kill 'TSTP', $run->{pid};
	waitpid $run->{pid}, POSIX::WUNTRACED();
	ok(POSIX::WIFSTOPPED(${^CHILD_ERROR_NATIVE}), "$name: TSTP stops sbx-exec");
	my ($pid) = map { m{/(\d+)/} }
		grep { (slurp($_) // '') =~ m{^[^\0]*sh\0-c\0echo; read x} } glob '/proc/[0-9]*/cmdline';
	my $stat = '';
	for (1 .. 100) { # the signal takes its time to arrive
		$stat = slurp("/proc/$pid/stat") // '';
		last if $stat =~ /\) T /;
		select undef, undef, undef, 0.1;
	}
	like($stat, qr/\) T /, "$name: and the command");
	syswrite $run->{in}, "go\n";
	kill 'CONT', $run->{pid};
	is(line($run), 'on', "$name: CONT lets the command go on");
	is(finish($run), 5, "$name: to its own end");

	# An ignored signal stays ignored (nohup).
	$run = start($who, ['--', 'sh', '-c', 'echo; read x; exit 6'], before => sub { $SIG{HUP} = 'IGNORE' });
	line($run);
	kill 'HUP', $run->{pid};
	syswrite $run->{in}, "go\n";
	is(finish($run), 6, "$name: HUP that the caller ignores ends nothing");
}
done_testing();
