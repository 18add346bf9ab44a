#!/usr/bin/perl
# What bwrap can be: set-user-ID root, with capabilities of its own, not there.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }

my $real = which('bwrap') or BAIL_OUT('bwrap is not installed');
my $setuid = placed($real, 'bwrap-setuid', 04755);
my $caps = placed($real, 'bwrap-caps');
system('setcap', 'cap_sys_admin,cap_setuid,cap_setgid,cap_net_admin,cap_sys_chroot,cap_setpcap+ep', $caps) == 0 or die 'setcap';

my @rows = (
	['bwrap is set-user-ID root', 'env', "SBX_BWRAP=$setuid"],
	['bwrap is set-user-ID root, user namespaces are off', userns('echo 0 >/proc/sys/user/max_user_namespaces'), 'env', "SBX_BWRAP=$setuid"],
	['bwrap has file capabilities', 'env', "SBX_BWRAP=$caps"],
	['bwrap is not installed', mounts('for f in /usr/bin/bwrap /usr/local/bin/bwrap; do [ ! -e $f ] || mount --bind /dev/null $f; done')],
);
for my $row (@rows) {
	my ($name, @in) = @$row;
	attempt($name, 'root', @in);
	attempt($name, 'user', @in, as_user());
}
done_testing();
