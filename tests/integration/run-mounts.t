#!/usr/bin/perl
# A file system that the host mounts after the start does not appear inside, though the host's mounts are shared.
use strict;
use warnings;
use FindBin;
use Test::More;

# In a mount namespace of the test's own.
BEGIN {
	plan skip_all => 'needs root' if $>;
	if (!$^C && !$ENV{SBX_OWN_MOUNTS}) {
		$ENV{SBX_OWN_MOUNTS} = 1;
		exec 'unshare', '-m', '--propagation', 'shared', $^X, $0 or plan skip_all => 'needs unshare';
	}
}
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

for my $who (callers()) {
	my $name = $who->{name};
	my $place = "$who->{home}/project/place";
	put($who, "$place/below", "the host's\n");
	for my $options (['-p', 'default'], ['-p', 'workspace']) {
		my $run = start($who, [@$options, '--read', $who->{home}, '--', 'sh', '-c', 'cat place/below; read x; cat place/below; ls place/new']);
		is(line($run), "the host's", "$name @$options: the directory shows");
		is(system('mount', '-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', $place), 0, "$name @$options: the host mounts over it");
		put($who, "$place/$_", "mounted later\n") for 'below', 'new';
		syswrite $run->{in}, "go\n";
		is(line($run), "the host's", "$name @$options: inside it is what it was");
		is(line($run), undef, "$name @$options: and nothing more");
		isnt(finish($run), 0, "$name @$options: to the end");
		is(system('umount', $place), 0, "$name @$options: the host takes it away");
	}
}
done_testing();
