#!/usr/bin/perl
# podman of an ordinary user, with crun.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $place, $root, $user);

needed(qw(podman crun newuidmap));
my $rootfs = fetched('rootfs');
my $dir = "$top/podman";
my ($uid, $gid, $home) = @$user{qw(uid gid home)};
mkdir $_ or die for $dir, map { "$dir/$_" } qw(run lib state tmp);
chown $uid, $gid, map { "$dir/$_" } qw(run lib state tmp);
put($root, "$dir/passwd", slurp('/etc/passwd') . "sbx-env:x:$uid:${gid}::$home:/bin/sh\n");
put($root, "$dir/group", slurp('/etc/group') . "sbx-env:x:$gid:\n");
put($root, "$dir/subid", "sbx-env:100000:65536\n");

# A user that the host does not have, with ids for its containers, in a mount namespace alone. podman takes a host that
# has version 1 and 2 of cgroups for one of version 2.
my @podman = (processes(<<"END"), as_user(), 'env', 'USER=sbx-env', "XDG_RUNTIME_DIR=$dir/run", after('cd'), 'podman',
mount --bind $dir/passwd /etc/passwd
mount --bind $dir/group /etc/group
mount --bind $dir/subid /etc/subuid
mount --bind $dir/subid /etc/subgid
umount /sys/fs/cgroup/unified 2>/dev/null || :
END
	'--root', "$dir/lib", '--runroot', "$dir/state", '--tmpdir', "$dir/tmp", '--storage-driver', 'overlay',
	'--cgroup-manager', 'cgroupfs', '--events-backend', 'none', '--runtime', 'crun');
system("tar -C '$rootfs' -cf $dir/rootfs.tar .") == 0 or die;
my $import = run($root, [@podman, 'import', "$dir/rootfs.tar", 'sbx-env']);
plan(skip_all => "podman imports no image here: $import->{err}") if $import->{code};
unlink "$dir/rootfs.tar";

my @run = (@podman, 'run', '--rm', '--network', 'none', '--cgroups', 'disabled', '--ulimit', 'nofile=1024:1024',
	'--ulimit', 'nproc=4096:4096', '-v', "$place:$place");
my @user = ('--user', '1000:1000');
my @unmask = ('--security-opt', 'unmask=ALL');
attempt('podman of a user', 'root', @run, 'sbx-env');
attempt('podman of a user', 'user', @run, @user, 'sbx-env');
attempt('podman of a user, unmask=ALL', 'root', @run, @unmask, 'sbx-env');
attempt('podman of a user, unmask=ALL', 'user', @run, @user, @unmask, 'sbx-env');
attempt('podman of a user, --userns=keep-id', 'user', @run, '--userns=keep-id', 'sbx-env');
attempt('podman of a user, --privileged', 'root', @run, '--privileged', 'sbx-env');
done_testing();
