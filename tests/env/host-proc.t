#!/usr/bin/perl
# What /proc can be: as container engines leave it, or hardened by hand.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our $top;

# As container engines mask it. Only binds are made read-only: a plain remount would reach the host's.
my $mask = <<'END';
for f in kcore keys timer_list sched_debug; do [ ! -e /proc/$f ] || mount --bind /dev/null /proc/$f; done
for d in acpi scsi; do [ ! -d /proc/$d ] || mount -t tmpfs -o ro,size=0 tmpfs /proc/$d; done
for p in bus fs irq sys sysrq-trigger; do [ ! -e /proc/$p ] || { mount --bind /proc/$p /proc/$p; mount -o remount,bind,ro /proc/$p; }; done
END
my $unmask = 'for p in acpi scsi kcore keys timer_list sched_debug bus fs irq sys sysrq-trigger; do while umount /proc/$p 2>/dev/null; do :; done; done';
my @own = ('unshare', '-m', '-p', '-f', '--propagation', 'private', 'sh', '-ec');
my %proc = (
	'masked /proc' => [mounts($mask)],
	'masked /proc, unmasked again' => [mounts("$mask\n$unmask")],
	'one file of /proc covered, as by lxcfs' => [mounts("cat /proc/uptime >$top/uptime; mount --bind $top/uptime /proc/uptime")],
	'read-only /proc' => [mounts('mount --bind /proc /proc; mount -o remount,bind,ro /proc')],
	'read-only /proc, a new one over it' => [mounts('mount --bind /proc /proc; mount -o remount,bind,ro /proc; mount -t proc proc /proc')],
	'no /proc' => [mounts('umount -l -R /proc')],
	'no /proc, mounted again' => [mounts('umount -l -R /proc; mount -t proc proc /proc')],
	'/proc with subset=pid' => [@own, "umount -l -R /proc\nmount -t proc -o subset=pid proc /proc\n" . '"$@"', 'sh'],
	'/proc with hidepid=invisible' => [@own, "umount -l -R /proc\nmount -t proc -o hidepid=invisible proc /proc\n" . '"$@"', 'sh'],
	'/proc of another process namespace' => ['unshare', '-p', '-f', '--'],
	'/proc of this process namespace again' => ['unshare', '-p', '-f', '--mount-proc', '--'],
);
for my $name (sort keys %proc) {
	attempt($name, 'root', @{$proc{$name}});
	attempt($name, 'user', @{$proc{$name}}, as_user());
}
done_testing();
