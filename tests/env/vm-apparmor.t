#!/usr/bin/perl
# AppArmor profiles around sbx-exec.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/vm-lib.pl" }

my $packages = fetched('apparmor', 'apparmor');
my $all = "network,\nfile,\nmount,\numount,\npivot_root,\nsignal,\nptrace,\ncapability,\n";
my %profiles = (
	# As docker's and podman's own (docker-default, containers-default).
	docker => "network,\ncapability,\nfile,\numount,\nsignal,\nptrace,\ndeny mount,\ndeny /proc/sysrq-trigger rwklx,\n",
	uidmap => "$all deny /proc/*/uid_map w,\ndeny /proc/*/gid_map w,\n",
	netadmin => "$all deny capability net_admin,\n",
	sysadmin => "$all deny capability sys_admin,\n",
	pivot => $all =~ s/pivot_root,/deny pivot_root,/r,
	open => $all,
	# What the hint says, but userns, which this parser does not know.
	named => "network,\nfile,\nmount,\numount,\npivot_root,\nsignal,\nptrace,\ncapability sys_admin,\ncapability sys_ptrace,\ncapability sys_resource,\ncapability net_admin,\ncapability setfcap,\n",
);
my $setup = "cat >/run/profiles <<'END'\n" . join('', map { "profile $_ flags=(attach_disconnected,mediate_deleted) {\n$profiles{$_}}\n" } sort keys %profiles)
	. "END\napparmor_parser -K -r /run/profiles\n";
my %names = (docker => 'AppArmor: no mounts, as by docker', uidmap => 'AppArmor: no map of uids', netadmin => 'AppArmor: no cap_net_admin',
	sysadmin => 'AppArmor: no cap_sys_admin', pivot => 'AppArmor: no pivot_root', open => 'AppArmor: a profile that allows all', named => 'AppArmor: the rules that the hint names');
booted(append => 'cgroup=v2', setup => $setup,
	programs => {"$packages/sbin/apparmor_parser" => '/bin/apparmor_parser', "$packages/usr/bin/aa-exec" => '/bin/aa-exec'},
	rows => [map { my $p = $_; map { [$names{$p}, @$_] } ['root', 'aa-exec', '-p', $p, '--'], ['user', guest_user(), 'aa-exec', '-p', $p, '--'] } sort keys %profiles]);
done_testing();
