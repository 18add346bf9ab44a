#!/usr/bin/perl
# Callers with less than their uid says, or more.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $EXEC, $root);

sub without { return ('setpriv', "--bounding-set=$_[0]", "--inh-caps=$_[0]") }
attempt('without cap_setfcap', 'root', without('-setfcap'));
attempt('without cap_sys_admin', 'root', without('-sys_admin'));
attempt('without cap_setuid and cap_setgid', 'root', without('-setuid,-setgid'));
attempt('without cap_net_admin', 'root', without('-net_admin'));
attempt('without any capability', 'root', without('-all'));
attempt('without any capability but cap_setfcap', 'root', without('-all,+setfcap'));

# Root that may not look at what another user's process has open cannot let that start; and it does end.
my $got = run($root, [without('-all,+setfcap,+setuid,+setgid,+kill'), $EXEC, '--chdir', '/', '--user', '65534', '--', 'true'], limit => 60);
is($got->{code}, 125, 'another user, without cap_dac_override: nothing runs') or diag($got->{err});

my ($setpriv, @user) = as_user();
attempt('with an ambient capability', 'user', $setpriv, '--inh-caps=+net_admin', '--ambient-caps=+net_admin', @user);
attempt('with no_new_privs', 'root', 'setpriv', '--nnp');
attempt('with no_new_privs', 'user', 'setpriv', '--nnp', as_user());

# Another root: by chroot, which the kernel takes as a reason to give no user namespace, and by pivot_root.
my $plain = "mkdir -p $top/plain; for d in /*/; do mkdir -p $top/plain\$d; mount --rbind \$d $top/plain\$d; done\n";
my $other = "mkdir -p $top/other; mount --rbind / $top/other; cd $top/other\n";
for my $row (
	['chroot to a plain directory', "$plain exec chroot $top/plain \"\$@\""],
	['chroot to a mount point', "$other exec chroot . \"\$@\""],
	['another root, entered by pivot_root', "$other pivot_root . .; umount -l ."],
) {
	my ($name, $script) = @$row;
	attempt($name, 'root', mounts($script));
	attempt($name, 'user', mounts($script), as_user());
}
done_testing();
