#!/usr/bin/perl
# A neighbour that swaps names for links while the sandbox is made: a run starts with all of its covers and with the sources
# that were planned, or it is refused. The control: what bwrap alone makes of the same plan.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $PLAN, $EXEC);
my $BUILD = $ENV{SBX_BUILD};
my $rounds = $ENV{SBX_FULL} ? 400 : 50;

# A swapping neighbour, until it goes out of scope.
sub neighbour {
	my ($who, $a, $b, $pause) = @_;
	my $pid = fork // die;
	if (!$pid) {
		chdir "$who->{home}/project" or die;
		exec "$BUILD/tests/hostile/swap", $a, $b, $pause or POSIX::_exit(99);
	}
	return bless {pid => $pid}, 'Neighbour';
}
sub Neighbour::DESTROY {
	my ($self) = @_;
	kill 'KILL', $self->{pid};
	waitpid $self->{pid}, 0;
}

for my $who (callers()) {
	my $name = $who->{name};
	my $project = "$who->{home}/project";
	my $report = "$who->{home}/report.json";
	put($who, "$project/d/key", 'SECRET');
	put($who, "$project/s/key", 'planned');
	put($who, "$who->{home}/other/key", 'other');
	put($who, "$who->{home}/closed/key", 'SECRET');
	symlink '../other', "$project/x" or die;
	symlink '../closed', "$project/y" or die;
	# Nothing is mounted out of it, by whatever name.
	put($who, "$who->{home}/closed.json", qq({"sbx": 1, "extends": ["default"], "filesystem": {"deny": [{"path": "$who->{home}/closed", "final": true}]}}));

	# A cover. With "protect" a plan that sees the link in its place is refused.
	my @options = (qw(-p default --require protect --write ./ --deny ./d));
	my @look = ('sh', '-c', 'cat d/key x/key 2>/dev/null; echo ran');
	my $words = "$top/words";
	my $planned = run($who, [$PLAN, @options, qw(--seccomp none -0)]);
	is($planned->{code}, 0, "$name: (a plan)") or diag($planned->{err});
	open my $out, '>', $words or die;
	print $out $planned->{out};
	close $out or die;
	my ($leaked, $tries) = (0, 0);
	{
		my $swapping = neighbour($who, 'd', 'x', 2000);
		while (!$leaked && $tries++ < 1000) {
			my $got = run($who, ['sh', '-c', 'words=$1; shift; exec bwrap --args 3 -- "$@" 3<"$words"', 'sh', $words, 'sh', '-c',
				'cat d/key 2>/dev/null'], cwd => $project);
			$leaked = $got->{out} =~ /SECRET/;
		}
	}
	ok($leaked, "$name: (bwrap alone starts without its cover, here at try $tries)");

	my %ended;
	$leaked = 0;
	for my $pause (500, 2000, 10000) {
		my $swapping = neighbour($who, 'd', 'x', $pause);
		for (1 .. $rounds) {
			my $got = run($who, [$EXEC, @options, '--report', $report, '--', @look], cwd => $project);
			my $said = JSON::PP->new->utf8->decode(slurp($report));
			$leaked++ if $got->{out} =~ /SECRET/;
			$ended{"$said->{phase} $said->{outcome}"}++;
			my $ran = $got->{out} =~ /ran/;
			diag("$said->{phase} $said->{outcome}: $got->{out} $got->{err}") if $ran && $said->{phase} ne 'run';
		}
	}
	my $ends = join ', ', map { "$_: $ended{$_}" } sort keys %ended;
	is($leaked, 0, "$name: no run starts without its cover ($ends)");
	delete @ended{'run completed', 'run violation', 'plan refused', 'setup refused', 'setup setup-failed', 'exec not-executable'};
	is_deeply(\%ended, {}, "$name: each ran, was ended for the cover's sake or was refused");
	system 'rm', '-rf', "$project/d", "$project/x";

	# A source, between plan and mount.
	my ($odd, $shown) = (0, 0);
	{
		my $swapping = neighbour($who, 's', 'y', 1000);
		for (1 .. $rounds) {
			my $got = run($who, [$EXEC, '-p', "$who->{home}/closed.json", '--verify', '--bind', "$project/s:/opt:ro", '--', 'cat', '/opt/key'], cwd => $project);
			$shown++ if $got->{out} eq 'planned' && !$got->{code};
			$odd++ if $got->{out} ne 'planned' && ($got->{out} ne '' || $got->{code} != 125);
			diag("$got->{code} $got->{out} $got->{err}") if $got->{out} ne 'planned' && $got->{code} != 125;
		}
	}
	is($odd, 0, "$name: a source that is swapped is the one that was planned, or nothing runs ($shown ran)");
}
done_testing();
