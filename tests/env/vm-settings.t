#!/usr/bin/perl
# Settings of a whole kernel (Debian's), which no namespace has for itself.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/vm-lib.pl" }

# A row's settings hold for its run alone.
sub set {
	my ($name, $value) = @_;
	return ('sh', '-c', "old=\$(cat /proc/sys/$name); echo $value >/proc/sys/$name || exit 99; \"\$@\"; code=\$?; echo \$old >/proc/sys/$name; exit \$code", 'sh');
}
booted(append => 'cgroup=v2', rows => [
	['kernel.unprivileged_userns_clone=0', 'root', set('kernel/unprivileged_userns_clone', 0)],
	['kernel.unprivileged_userns_clone=0', 'user', set('kernel/unprivileged_userns_clone', 0), guest_user()],
	['kernel.unprivileged_userns_clone=0, then 1', 'user', set('kernel/unprivileged_userns_clone', 0), set('kernel/unprivileged_userns_clone', 1), guest_user()],
	['user.max_user_namespaces=0 of the whole kernel', 'root', set('user/max_user_namespaces', 0)],
	['user.max_user_namespaces=0 of the whole kernel', 'user', set('user/max_user_namespaces', 0), guest_user()],
	['kernel.yama.ptrace_scope=2', 'root', set('kernel/yama/ptrace_scope', 2)],
	['kernel.yama.ptrace_scope=2', 'user', set('kernel/yama/ptrace_scope', 2), guest_user()],
	['/proc with hidepid=invisible since the start', 'user', 'sh', '-c', 'mount -o remount,hidepid=invisible /proc; "$@"; code=$?; mount -o remount,hidepid=off /proc; exit $code', 'sh', guest_user()],
]);
booted(append => 'cgroup=v2', rows => [
	['kernel.yama.ptrace_scope=3', 'root', 'sh', '-c', 'echo 3 >/proc/sys/kernel/yama/ptrace_scope; exec "$@"', 'sh'],
	['kernel.yama.ptrace_scope=3', 'user', guest_user()],
]);
done_testing();
