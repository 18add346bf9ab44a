#!/usr/bin/perl
# Where a report may stand, and that the command cannot reach it.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

for my $who (callers()) {
	my $name = $who->{name};
	my $dir = "$who->{home}/project";
	put($who, "$dir/.git/hooks/x", "x\n");
	my $exec = sub { run($who, [$EXEC, @_], cwd => $dir) };

	put($who, "$dir/report", "old\n");
	my $got = $exec->('--report', 'report', '--', 'cat', 'report');
	is("$got->{code} $got->{out}", "0 old\n", "$name: during the run the old report stands");
	like(slurp("$dir/report"), qr/"outcome":\s+"completed"/, "$name: then the new one");
	is_deeply([glob "$dir/.sbx-new*"], [], "$name: nothing is left beside it");
	unlink "$dir/report";

	my $before = listing($dir);
	for (
		['the command could write there', '-p', 'workspace', '--report', 'report'],
		['the command could write there', '--write', $dir, '--report', "$dir/report"],
		['the command could write there', '--bind', "$dir:/mnt", '--report', 'report'],
		['is a link', '--report', '/proc/self/cwd/report'],
		['no regular file', '--report', '/dev/null'],
		['No such file', '--report', 'nowhere/report'],
		['the command has it too', '--report', 'fd:1'],
		['not a descriptor open', '--report', 'fd:77'],
	) {
		my ($message, @options) = @$_;
		$got = $exec->(@options, '--', 'echo', 'ran');
		like("$got->{code} $got->{out}", qr/^(2|125) $/, "$name: @options is refused");
		like($got->{err}, qr/\Q$message/, "$name: and says why");
	}
	is(listing($dir), $before, "$name: nothing is left behind");
	is($exec->('--write', $dir, '--read', "$dir/.git", '--report', '.git/report', '--', 'true')->{code}, 0,
		"$name: a place inside a writable one that cannot be written");
	unlink "$dir/.git/report";

	$got = run($who, ['bash', '-c', q{"$0" --report fd:5 -- sh -c 'echo forged >&5' 5>&1}, $EXEC], cwd => $dir);
	unlike($got->{out}, qr/forged/, "$name: the command does not have the report's descriptor");
	like($got->{out}, qr/"outcome":/, "$name: the report is written to it");
	$got = run($who, ['bash', '-c', q{"$0" --report fd:5 -- true 5>/dev/full}, $EXEC], cwd => $dir);
	like($got->{err}, qr/^sbx-exec: cannot write the report/m, "$name: a report that cannot be written is said");
	$got = run($who, ['bash', '-c', q{"$0" --report fd:5 -- sh -c 'exit 3' 5>/dev/full}, $EXEC], cwd => $dir);
	is($got->{code}, 3, "$name: ... and does not lose the command's exit code");
}
SKIP: {
	skip 'needs root', 1 if $>;
	my ($root, $user) = callers();
	my $report = "$user->{home}/report.json";
	run($root, [$EXEC, '--report', $report, '--read', '/nowhere', '--', 'true']);
	like(slurp($report) // '', qr/nowhere does not exist/, "root: what came of a plan is reported in another user's directory too");
}
done_testing();
