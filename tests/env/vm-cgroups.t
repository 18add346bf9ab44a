#!/usr/bin/perl
# The ways to mount cgroups, and the initial RAM file system.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/vm-lib.pl" }

# The unit test of the run's leaf, for real: what has to be had as root and as an ordinary user, and, on v2, in groups of
# many kinds. A group is made by lines of shell, and the test moves into it.
my $test = "$ENV{SBX_BUILD}/unit/test_cgroup";
my %gives = (v1 => ['v1', 'v1'], v2 => ['v2', 'v2'], hybrid => ['v1', 'v2'], none => ['none', 'none']);

sub leaf { return ('/place/test_cgroup', @_) }
sub in_group {
	my ($lines, @words) = @_;
	return ('sh', '-ec', <<"END", 'sh', @words);
delegate() { chown -R 1000:1000 "\$1"; }
cd /sys/fs/cgroup
echo '+memory +pids' >cgroup.subtree_control
below() { mkdir -p "\$1"; echo '+memory +pids' >"\$1/cgroup.subtree_control"; }
enter() { echo \$\$ >"\$1/cgroup.procs"; cd /; }
$lines
exec "\$@"
END
}

sub leaves {
	my ($cgroup) = @_;
	my @checks = (
		['a leaf for root', leaf(@{$gives{$cgroup}})],
		['none for an ordinary user', guest_user(), leaf('none', 'none')],
	);
	return @checks if $cgroup ne 'v2';
	return (
		@checks,
		['a delegated subtree', in_group('below s; mkdir s/shell; delegate s; enter s/shell', guest_user(), leaf('v2', 'v2'))],
		['which has no controllers yet', in_group('mkdir -p d/shell; delegate d; enter d/shell', guest_user(), leaf('v2', 'v2'))],
		['a limit on the shell there', in_group('below l; mkdir l/shell; echo 999 >l/shell/pids.max; delegate l; enter l/shell',
			guest_user(), leaf('none', 'v2'))],
		['a delegated group that holds the shell itself', in_group('mkdir o; delegate o; enter o', guest_user(), leaf('none', 'v2'))],
		['the same, managed', in_group('mkdir m; delegate m; enter m', guest_user(), leaf('v2', 'v2', 'manage'))],
		['and again from what was made there', in_group('enter m/sbx-init', guest_user(), leaf('v2', 'v2'))],
		['managed, with a limit', in_group('mkdir n; echo 999 >n/pids.max; delegate n; enter n', guest_user(), leaf('v2', 'v2', 'manage'))],
		['somebody else\'s group', in_group('below e; mkdir e/shell; enter e/shell', guest_user(), leaf('none', 'none', 'manage'))],
		['root in a group of a group', in_group('below r; mkdir r/shell; enter r/shell', leaf('v2', 'v2'))],
		['root in a group of the real root', in_group('mkdir g; enter g', leaf('none', 'v2'))],
		['root in a limited one', in_group('mkdir h; echo 160M >h/memory.max; echo 0 >h/memory.swap.max; enter h', leaf('none', 'v2', 'shared'))],
		['a threaded group', in_group('mkdir -p t/shell; echo threaded >t/shell/cgroup.type; delegate t; enter t',
			'sh', '-c', 'echo $$ >/sys/fs/cgroup/t/shell/cgroup.threads; exec "$@"', 'sh', leaf('none', 'none'))],
		['a cgroup namespace', in_group('mkdir c; enter c', '/bin/unshare', '-mC', 'sh', '-c',
			'umount /sys/fs/cgroup; mount -t cgroup2 c /sys/fs/cgroup; exec "$@"', 'sh', leaf('none', 'v2'))],
		['the same, managed', in_group('mkdir f; enter f', '/bin/unshare', '-mC', 'sh', '-c',
			'umount /sys/fs/cgroup; mount -t cgroup2 c /sys/fs/cgroup; exec "$@"', 'sh', leaf('v2', 'v2', 'manage'))],
		['a cgroup namespace with the mount of another', in_group('mkdir x; enter x', '/bin/unshare', '-C', leaf('none', 'none'))],
		['cgroups read-only', in_group('mkdir w; enter w', '/bin/unshare', '-m', 'sh', '-c',
			'mount -o remount,bind,ro /sys/fs/cgroup; exec "$@"', 'sh', leaf('none', 'none'))],
		['something over them', in_group('mkdir y; enter y', '/bin/unshare', '-m', 'sh', '-c',
			'mount -t tmpfs t /sys/fs/cgroup; exec "$@"', 'sh', leaf('none', 'none'))],
		['and nothing is left', 'sh', '-c', '! find /sys/fs/cgroup -name "sbx-*" ! -name sbx-init | grep .'],
	);
}

for my $cgroup (qw(v1 v2 hybrid none)) {
	booted(append => "cgroup=$cgroup", programs => {$test => '/place/test_cgroup'}, checks => [leaves($cgroup)],
		rows => [["cgroups: $cgroup", 'root'], ["cgroups: $cgroup", 'user', guest_user()]]);
}
booted(append => 'cgroup=none root=initial', rows => [['the initial RAM file system', 'root'], ['the initial RAM file system', 'user', guest_user()]]);
done_testing();
