#!/usr/bin/perl
# What sbx-exec says to a person: the status line of a long run, and the summary.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

# All that a command writes to a terminal that is its standard error, with its standard output in a file.
sub on_terminal {
	my ($who, $command) = @_;
	return run($who, ['script', '-qec', $command, '/dev/null'])->{out};
}

for my $who (callers()) {
	my $name = $who->{name};
	my $capture = '--progress --capture --report fd:3 -- sh -c "sleep 3.5; echo hi" 3>/dev/null';
	my $seen = on_terminal($who, "$EXEC $capture");
	like($seen, qr/\r\e\[Krunning for 3 s, \d+ MiB, 2 processes\r\e\[K\z/, "$name: a status line, which is gone at the end");
	is(on_terminal($who, "$EXEC $capture 2>&1 | cat"), '', "$name: none in a pipe");
	unlike(on_terminal($who, "$EXEC --progress -- sleep 3.5"), qr{running|\e}, "$name: none where the command's own output goes there");

	my $got = run($who, [$EXEC, '--summary', '--timeout', '300ms', '--', 'sleep', 9]);
	like($got->{err}, qr/^sbx-exec: timeout, exit code 124; \d\.\d\d s; .* MiB; limits reached: wall\n\z/, "$name: a summary");
	$got = run($who, [$EXEC, '--summary', '--', 'no-such-command']);
	like($got->{err}, qr/^sbx-exec: not-found, exit code 127\n\z/m, "$name: of what never ran, too");

	# A denied name that the host makes meanwhile: a violation, which --strict makes the exit code.
	put($who, "$who->{home}/shown/other", '');
	my $policy = put($who, "$who->{home}/late.json", '{"sbx": 1, "extends": ["default"], "filesystem": {"write": ["./"], "deny": ["~/shown/late"]}}');
	for my $row ([0], [125, '--strict']) {
		my ($code, @strict) = @$row;
		my $run = start($who, [@strict, '-p', $policy, '--', 'sh', '-c', 'echo up; read x; exit 0']);
		is(line($run), 'up', "$name: (it runs)");
		put($who, "$who->{home}/shown/late", '');
		close $run->{in};
		is(finish($run), $code, "$name: a violation makes the exit code $code (@strict)");
		unlink "$who->{home}/shown/late";
	}
}
done_testing();
