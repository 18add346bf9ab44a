#!/usr/bin/perl
# A hundred runs at once under different policies: each sees its own.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

for my $who (callers()) {
	my $dir = "$who->{home}/project";
	put($who, "$dir/$_/file", "$_\n") for 0 .. 9;
	my $before = listing($dir);
	my @runs = map {
		my ($i, $shown) = ($_, $_ % 10);
		my @policy = (['-p', 'strict', '--read', './'], ['-p', 'default', '--read', './'], ['-p', 'workspace'])[$i % 3]->@*;
		my @denied = map { ('--deny', "./$_") } grep { $_ != $shown } 0 .. 9;
		start($who, [@policy, '--chdir', $dir, @denied, '--hostname', "host-$i", '--env', "I=$i", '--tmpfs', "/tmp/own-$i", '--',
			'sh', '-c', 'cat */file 2>/dev/null; uname -n; echo $I; echo /tmp/*; exit $((I % 100))']);
	} 0 .. 99;
	my @wrong;
	for my $i (0 .. 99) {
		my $out = join ' ', map { line($runs[$i]) // '-' } 1 .. 4;
		my $code = finish($runs[$i]);
		my $want = join ' ', $i % 10, "host-$i", $i, "/tmp/own-$i";
		push @wrong, "run $i: $code $out$runs[$i]{err}" if $out ne $want || $code != $i;
	}
	is_deeply(\@wrong, [], "$who->{name}: each of 100 runs has its own view, name, variables and exit code");
	is(listing($dir), $before, "$who->{name}: and nothing on the host has changed");
}
done_testing();
