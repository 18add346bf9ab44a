#!/usr/bin/perl
# AppArmor profiles around sbx-exec.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/vm-lib.pl" }
our $EXEC;

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

# The profile that is shipped. A parser before 4.0 knows all of it but the rules that a kernel of its time has no use for.
my $shipped = slurp("$FindBin::Bin/../../contrib/apparmor/sbx");
my ($head) = $shipped =~ /^(profile sbx .*\{)$/m;
cmp_ok(index(slurp($EXEC), $head), '>', 0, 'the hint has the head of the shipped profile');
my $abi = "$packages/etc/apparmor.d/abi/4.0";
$shipped =~ s/^(abi .*|\s*userns,)$//mg if !-e $abi;
$setup .= "mkdir -p /usr/bin /etc/apparmor.d/abi\ncp /place/sbx-exec /usr/bin\n"
	. (-e $abi ? "cat >/etc/apparmor.d/abi/4.0 <<'END'\n" . slurp($abi) . "END\n" : '')
	. "cat >/etc/apparmor.d/sbx <<'END'\n${shipped}END\napparmor_parser -K -r /etc/apparmor.d/sbx\n";
my $label = sub {
	my ($program, $wanted, @as) = @_;
	return [sub { is($_[0]{out}, "$wanted\n", "the shipped profile: what $program runs" . (@as ? ', as a user' : '')) or diag($_[0]{err}) },
		@as, "$program/sbx-exec", '--', 'cat', '/proc/self/attr/current'];
};
booted(append => 'cgroup=v2', setup => $setup,
	runs => [map { my @as = @$_; ($label->('/usr/bin', 'sbx (unconfined)', @as), $label->('/place', 'unconfined', @as)) } [], [guest_user()]],
	programs => {"$packages/sbin/apparmor_parser" => '/bin/apparmor_parser', "$packages/usr/bin/aa-exec" => '/bin/aa-exec'},
	rows => [map { my $p = $_; map { [$names{$p}, @$_] } ['root', 'aa-exec', '-p', $p, '--'], ['user', guest_user(), 'aa-exec', '-p', $p, '--'] } sort keys %profiles]);
done_testing();
