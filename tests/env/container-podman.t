#!/usr/bin/perl
# podman as root, with crun.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $place);

needed(qw(podman crun));
my $rootfs = fetched('rootfs');
my $dir = "$top/podman";

# The engine's own files, and what it makes in the root file system, are gone with the mounts. It takes a host that has
# version 1 and 2 of cgroups for one of version 2.
my @podman = (mounts(<<"END"), 'podman', '--root', "$dir/lib", '--runroot', "$dir/state", '--cgroup-manager', 'cgroupfs',
mkdir -p $dir
mount -t tmpfs podman $dir
mkdir $dir/run $dir/lib $dir/upper $dir/work $dir/root
mount --bind $dir/run /run
mount -t overlay -o lowerdir=$rootfs,upperdir=$dir/upper,workdir=$dir/work root $dir/root
umount /sys/fs/cgroup/unified 2>/dev/null || :
END
	'--events-backend', 'none', '--runtime', 'crun', 'run', '--rm', '--network', 'none', '--cgroups', 'disabled',
	'--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=4096:4096', '-v', "$place:$place");
my @root = ('--rootfs', "$dir/root");
my @user = ('--user', '1000:1000');
my @seccomp = ('--security-opt', 'seccomp=unconfined');
my @unmask = ('--security-opt', 'unmask=ALL');
attempt('podman', 'root', @podman, @root);
attempt('podman', 'user', @podman, @user, @root);
attempt('podman, unmask=ALL', 'root', @podman, @unmask, @root);
attempt('podman, unmask=ALL', 'user', @podman, @user, @unmask, @root);
attempt('podman, seccomp=unconfined', 'root', @podman, @seccomp, @root);
attempt('podman, --cap-drop ALL', 'root', @podman, '--cap-drop', 'ALL', @root);
attempt('podman, --cap-drop ALL', 'user', @podman, @user, '--cap-drop', 'ALL', @root);
attempt('podman, --cap-drop ALL --cap-add SETFCAP', 'root', @podman, '--cap-drop', 'ALL', '--cap-add', 'SETFCAP', @root);
attempt('podman, --cap-add NET_ADMIN', 'user', @podman, @user, '--cap-add', 'NET_ADMIN', @root);
attempt('podman, --cap-add SYS_ADMIN', 'root', @podman, '--cap-add', 'SYS_ADMIN', @root);
attempt('podman, no-new-privileges', 'user', @podman, @user, '--security-opt', 'no-new-privileges', @root);
attempt('podman, --privileged', 'root', @podman, '--privileged', @root);
attempt('podman, --privileged', 'user', @podman, @user, '--privileged', @root);
attempt('podman, --read-only', 'root', @podman, '--read-only', @root);
attempt('podman, no-new-privileges', 'root', @podman, '--security-opt', 'no-new-privileges', @root);
done_testing();
