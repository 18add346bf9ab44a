#!/usr/bin/perl
# The ways to mount cgroups, and the initial RAM file system.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/vm-lib.pl" }

for my $cgroup (qw(v1 v2 hybrid none)) {
	booted(append => "cgroup=$cgroup", rows => [["cgroups: $cgroup", 'root'], ["cgroups: $cgroup", 'user', guest_user()]]);
}
booted(append => 'cgroup=none root=initial', rows => [['the initial RAM file system', 'root'], ['the initial RAM file system', 'user', guest_user()]]);
done_testing();
