#!/usr/bin/perl
# gVisor: a kernel in user space.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our $top;

my $runsc = fetched('gvisor', 'runsc') . '/usr/bin/runsc';
mkdir "$top/runsc" or die;
my @run = (processes('cd /'), $runsc, '--root', "$top/runsc", '--platform', 'ptrace', '--network', 'none', '--ignore-cgroups', 'do');
attempt('gVisor', 'root', @run);
done_testing();
