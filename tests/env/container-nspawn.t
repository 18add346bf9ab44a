#!/usr/bin/perl
# systemd-nspawn.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $place);

needed('systemd-nspawn');
my $rootfs = fetched('rootfs');
my $dir = "$top/nspawn";

# What the container changes in its root is gone with the mounts.
my @nspawn = (processes(<<"END"), 'systemd-nspawn', '-q', '--pipe', '--register=no', '--keep-unit', '-D', "$dir/root", "--bind=$place");
mkdir -p $dir
mount -t tmpfs nspawn $dir
mkdir $dir/upper $dir/work $dir/root
mount -t overlay -o lowerdir=$rootfs,upperdir=$dir/upper,workdir=$dir/work root $dir/root
echo 'sbx-env:x:1000:1000::/:/bin/sh' >>$dir/root/etc/passwd
END
my @user = ('-u', 'sbx-env');
attempt('systemd-nspawn', 'root', @nspawn);
attempt('systemd-nspawn', 'user', @nspawn, @user);
attempt('systemd-nspawn, --private-users', 'root', @nspawn, '--private-users=524288:65536', '--private-users-ownership=chown');
attempt('systemd-nspawn, --system-call-filter=~@mount', 'root', @nspawn, '--system-call-filter=~@mount');
attempt('systemd-nspawn, --drop-capability=all', 'root', @nspawn, '--drop-capability=all');
attempt('systemd-nspawn, --no-new-privileges', 'user', @nspawn, @user, '--no-new-privileges=yes');
done_testing();
