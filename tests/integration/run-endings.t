#!/usr/bin/perl
# Every way to end, on this host's own cgroups, without the right to make one, and where none is to be seen.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
require "$FindBin::Bin/endings.pl";
our ($top, $EXEC);

my @rows = endings();
my $place = "$top/place";
endings_place($place);

# All rows for a caller, in an environment that the words in front make.
sub all_rows {
	my ($where, $who, @in) = @_;
	my $holders = holders(run($who, [@in, $EXEC, '--probe', '--json'])->{out});
	note("$where: " . join ', ', map { "$_ by $holders->{$_}" } sort keys %$holders);
	judge_ending($where, $_, $holders, run($who, [@in, ending_words($_, $place, $EXEC, 1)])) for @rows;
	return $holders;
}

my ($root, $user) = $> ? (undef, callers()) : callers();
all_rows('user', $user);
if ($root) {
	all_rows('root', $root);
	my @hidden = ('unshare', '-m', '--propagation', 'private', 'sh', '-ec', 'mount -t tmpfs t /sys/fs/cgroup; exec "$@"', 'sh');
	SKIP: {
		skip 'no mount can be made here', 1 if run($root, [@hidden, 'true'])->{code};
		my $by = all_rows('root without cgroups', $root, @hidden);
		is_deeply($by, {cpu => 'rlimit', memory => 'watchdog', processes => 'nobody'}, 'root without cgroups: (they are not seen)');
	}
}
done_testing();
