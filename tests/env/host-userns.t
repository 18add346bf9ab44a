#!/usr/bin/perl
# Hosts that give no user namespaces, or few: the settings of a user namespace with all ids, so that the host keeps its own.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($EXEC, $place, $root);

sub quota { return join "\n", map { "echo $_ >/proc/sys/user/max_user_namespaces" } @_ }
sub nested { return (('unshare', '-U', '-r') x $_[0]) }

for my $row (
	['user.max_user_namespaces=0', quota(0)],
	['user.max_user_namespaces=0, then 15000', quota(0, 15000)],
	map({ ["user.max_${_}_namespaces=0", "echo 0 >/proc/sys/user/max_${_}_namespaces"] } qw(mnt pid net)),
) {
	my ($name, $script) = @$row;
	attempt($name, 'root', userns($script));
	attempt($name, 'user', userns($script), as_user());
}
attempt('33 user namespaces deep', 'root', nested(33));
attempt('32 user namespaces deep', 'root', nested(32));
attempt('31 user namespaces deep', 'root', nested(31));
attempt('30 user namespaces deep', 'root', nested(30));
attempt('a user namespace that maps no id', 'user', as_user(), 'unshare', '-U');
attempt('a user namespace that maps the caller alone', 'root', as_user(), 'unshare', '-U', '-r');
attempt('a user namespace that maps the caller alone', 'user', as_user(), 'unshare', '-U', '-c');

# Inside another sandbox.
my $nesting = put($root, "$place/nesting.json", '{"sbx": 1, "extends": ["default"], "process": {"nested_userns": true}}', 0644);
my @bwrap = ('bwrap', '--bind', '/', '/', '--dev', '/dev', '--unshare-user', '--unshare-pid');
attempt('inside bwrap', 'user', as_user(), @bwrap, '--proc', '/proc');
attempt('inside bwrap --disable-userns', 'user', as_user(), @bwrap, '--proc', '/proc', '--disable-userns');
attempt('inside sbx-exec', 'user', as_user(), $EXEC, '--');
attempt('inside sbx-exec with nested_userns', 'user', as_user(), $EXEC, '-p', $nesting, '--');
done_testing();
