#!/usr/bin/perl
# The Debian package: lintian has nothing to say, it works once installed in a bare root, and purged it leaves nothing.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $root);

needed(qw(dpkg-buildpackage dh dh_apparmor lintian));
my $rootfs = fetched('rootfs');
my $tree = abs_path("$FindBin::Bin/../..");
my $got = run($root, ['make', '-s', '-C', $tree, "BUILD=$ENV{SBX_BUILD}", 'deb'], limit => 600);
is($got->{code}, 0, 'make deb') or diag($got->{out}, $got->{err});
my ($changes) = glob "$ENV{SBX_BUILD}/deb/sbx_*.changes";
my ($package) = glob "$ENV{SBX_BUILD}/deb/sbx_*.deb";
$package or plan(skip_all => 'there is no package');
$got = run($root, ['lintian', '--allow-root', '--fail-on', 'error,warning', $changes], limit => 300);
is("$got->{code} $got->{out}", '0 ', 'lintian') or diag($got->{err});

# The rest is done in a copy of the root, entered.
my $dir = "$top/system";
system('cp', '-a', '--reflink=auto', $rootfs, $dir) == 0 or die 'cp';
copy($package, "$dir/sbx.deb") or die;
chmod 0644, "$dir/sbx.deb";
sub entered {
	my ($script, @as) = @_;
	my @in = mounts("mount --bind $dir $dir\ncd $dir\nfor i in proc sys dev; do mount --rbind /\$i \$i; done\n"
		. "mount -t tmpfs tmp tmp\npivot_root . mnt\ncd /\numount -l /mnt");
	return run($root, [@in, 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root', 'DEBIAN_FRONTEND=noninteractive', @as,
		'sh', '-c', $script], cwd => '/', limit => 120);
}
# Names, types, modes and sizes; but what dpkg keeps of its own work.
sub listed {
	return entered(q{find / -xdev ! -type d ! -path '/var/lib/dpkg/*' ! -path /var/log/dpkg.log -printf '%p %M %U %G %s %l\n' }
		. q{-o -type d -printf '%p %M %U %G\n' | sort})->{out};
}

my $before = listed();
like($before, qr{^/usr/bin/bwrap }m, 'a bare root with bwrap');
$got = entered('dpkg -i /sbx.deb && dpkg --verify sbx');
is($got->{code}, 0, 'dpkg -i') or diag($got->{out}, $got->{err});
my $during = listed();
like($during, qr{^/usr/share/man/man$_ }m, "there is man$_") for '1/sbx-exec.1.gz', '5/sbx-policy.5.gz';
like($during, qr{^/usr/share/doc/sbx/$_ }m, "there is $_") for qw(copyright policies/strict.json);
for my $who (['root'], ['user', 'setpriv', '--reuid=1000', '--regid=1000', '--clear-groups']) {
	my ($name, @as) = @$who;
	my ($id) = $name eq 'root' ? 0 : 1000;
	$got = entered('sbx-exec -- sh -c "id -u; cat /etc/shadow; echo >/etc/planted"; ls /etc/planted', @as);
	is($got->{out}, "$id\n", "$name: sbx-exec runs a command") or diag($got->{err});
	is($got->{err} =~ s/.*: //gr, "Permission denied\nRead-only file system\nNo such file or directory\n", "$name: that has what the policy gives");
	is(entered('sbx-plan --check && sbx-job --version', @as)->{code}, 0, "$name: sbx-plan, sbx-job");
}
my ($version) = entered('dpkg-query -W -f "\${Version}" sbx')->{out};
is(entered('sbx-exec --version')->{out}, "sbx-exec $version\n", 'the package has the version of the programs');

$got = entered('dpkg --purge sbx');
is("$got->{code} $got->{err}", '0 ', 'dpkg --purge') or diag($got->{out});
my %was = map { $_ => 1 } split /\n/, $before;
my %is = map { $_ => 1 } split /\n/, listed();
is_deeply([grep { !$was{$_} } sort keys %is], [], 'nothing is left');
is_deeply([grep { !$is{$_} } sort keys %was], [], 'and nothing else has gone');
done_testing();
