#!/usr/bin/perl
# Hosts whose mount tables and names are odd. Each below is lines of shell in a mount namespace of its own, with an empty
# tmpfs at $W; what starts with FUSE has a process namespace too, for its server.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $place);

mkdir "$top/w" or die;
my @rows = split /^== (.*)\n/m, do { local $/; <DATA> };
shift @rows;
while (my ($name, $script) = splice @rows, 0, 2) {
	my $start = "W=$top/w PLACE=$place\nmount -t tmpfs -o mode=755 w \$W\n$script";
	my @in = $name =~ /FUSE/ ? processes($start) : mounts($start);
	attempt($name, 'root', @in);
	attempt($name, 'user', @in, as_user());
}
done_testing();
__DATA__
== /etc/resolv.conf is a link into /run
mkdir $W/u $W/k
mount -t overlay -o lowerdir=/etc,upperdir=$W/u,workdir=$W/k o /etc
mount -t tmpfs t /run
mkdir -p /run/systemd/resolve
echo nameserver 127.0.0.53 >/run/systemd/resolve/stub-resolv.conf
ln -sf ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf
== /etc/resolv.conf is a dangling link
mkdir $W/u $W/k
mount -t overlay -o lowerdir=/etc,upperdir=$W/u,workdir=$W/k o /etc
ln -sf ../run/nosuch/stub-resolv.conf /etc/resolv.conf
== /etc/hosts, hostname and resolv.conf are mount points
for f in hosts hostname resolv.conf; do
	[ ! -e /etc/$f ] || { cp -L /etc/$f $W/$f; mount --bind $W/$f /etc/$f; }
done
== the root is an overlay
mkdir $W/u $W/k $W/m
mount -t overlay -o lowerdir=/,upperdir=$W/u,workdir=$W/k o $W/m
for d in /*/; do ! mountpoint -q $d || mount --rbind $d $W/m$d; done
cd $W/m
pivot_root . .
umount -l .
== the root is read-only
mount -o remount,bind,ro /
== a FUSE mount of another user
mknod -m 666 $W/fuse c 10 229
mount --bind $W/fuse /dev/fuse
mkdir $W/src $W/mnt
chown daemon:daemon $W/src $W/mnt
setpriv --reuid daemon --regid daemon --clear-groups bindfs --no-allow-other $W/src $W/mnt
== a FUSE mount of root
mkdir $W/src $W/mnt
bindfs $W/src $W/mnt
== a FUSE mount whose server died
mkdir $W/src $W/mnt
bindfs -f $W/src $W/mnt & server=$!
while ! mountpoint -q $W/mnt; do sleep 0.02; done
kill -9 $server
wait $server || :
== mount points with blanks, backslashes and other letters
for d in 'a b' 'a	b' 'a\b' 'é'; do mkdir "$W/$d"; mount -t tmpfs t "$W/$d"; done
== a mount point with a newline
d="$W/new
line"
mkdir "$d"
mount -t tmpfs t "$d"
== an automount whose daemon died
mkdir $W/au
perl -e 'use Fcntl; pipe $r, $w; fcntl $w, F_SETFD, 0; exec "mount", "-t", "autofs", "-o", "fd=" . fileno($w) .
	",pgrp=" . getpgrp() . ",minproto=5,maxproto=5,indirect", "au", $ARGV[0]' $W/au
== five hundred mounts
for i in $(seq 500); do mkdir $W/m$i; mount -t tmpfs t $W/m$i; done
== /tmp and /dev/shm are noexec
for d in /tmp /dev/shm; do mount --bind $d $d; mount -o remount,bind,noexec,nosuid,nodev $d; done
== /dev is nosuid and noexec
mount -o remount,bind,nosuid,noexec /dev
== /dev/shm is no mount point
umount -l -R /dev/shm
== no /sys
umount -l -R /sys
== /dev has only null
mount -t tmpfs t /dev
mknod -m 666 /dev/null c 1 3
== no /dev at all
mount -t tmpfs t /dev
== a directory bound below itself
mkdir -p $W/d/sub
mount --bind $W/d $W/d/sub
== the denied file is bound at a second place
touch $PLACE/also
mount --bind $PLACE/secret $PLACE/also
== read-only mounts below a writable one
mkdir -p $W/d/sub
mount -t tmpfs -o ro,nosuid,nodev,noexec t $W/d/sub
== links that loop or dangle
ln -s /nowhere $W/dangling
ln -s loop $W/loop
== mounts are shared
mount --make-rshared /
== mounts are slaves
mount --make-rshared /
mount --make-rslave /
== mounts cannot be bound again
mount --make-runbindable /
== the working directory was deleted
mkdir $W/gone
cd $W/gone
rmdir $W/gone
== the working directory is unreachable
mkdir $W/d
cd $W/d
mount -t tmpfs t $W/d
