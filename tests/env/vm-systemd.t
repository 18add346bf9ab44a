#!/usr/bin/perl
# What contrib/systemd says, in a machine that systemd runs: limits for an ordinary user, the example service, and the
# settings that it names as too hard.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/vm-lib.pl" }

my $from = "$FindBin::Bin/../../contrib/systemd";
my $service = '/etc/systemd/system/sbx-example.service';
my $setup = <<'END';
PATH=$PATH:/sbin
useradd -m -u 1000 user
loginctl enable-linger user
systemctl start user@1000.service
cat >/bin/changed <<'EOF'
mkdir -p /run/systemd/system/sbx-example.service.d
printf '[Service]\n%s\n' "$1" | tr ' ' '\n' >/run/systemd/system/sbx-example.service.d/test.conf
systemctl daemon-reload
systemctl start sbx-example
systemctl show -P Result sbx-example
journalctl -q -o cat _SYSTEMD_INVOCATION_ID="$(systemctl show -P InvocationID sbx-example)"
EOF
cat >/bin/limited <<'EOF'
{ "$@" sbx-exec -p strict --memory 100M --processes 20 --report fd:3 -- sh -c exit >/dev/null; } 3>&1 |
	sed -n 's/^			"by":	"\(cgroup .*\)",/\1/p'
EOF
END
my @user = ('/bin/setpriv', '--reuid=1000', '--regid=1000', '--clear-groups', 'env', 'HOME=/home/user', 'XDG_RUNTIME_DIR=/run/user/1000', 'sh');
sub says_out {
	my ($promise, $wanted, @words) = @_;
	return [sub { like($_[0]{out} . $_[0]{err}, $wanted, $promise) or diag(@{$_[0]}{qw(code out err)}) }, @words];
}
my @hard = map { my ($setting, $why) = @$_; says_out("the example service with $setting", $why, 'sh', '/bin/changed', $setting) } (
	['RestrictNamespaces=yes', qr/seccomp filter forbids it.*RestrictNamespaces=no/],
	['SystemCallFilter=~@mount', qr/SystemCallFilter=\@mount/],
	['SystemCallErrorNumber=', qr/^(signal|core-dump)$/m],
	['RestrictAddressFamilies= RestrictAddressFamilies=AF_UNIX', qr/a network namespace cannot be made/],
	['ProtectControlGroups=yes', qr/nothing can enforce "memory" here/],
	['ProcSubset=pid', qr/nothing can enforce "memory" here/],
);
booted(root => fetched('rootfs-systemd', qw(systemd-sysv libpam-systemd dbus dbus-user-session)), limit => 400,
	append => 'systemd.mask=serial-getty@ttyS0.service', setup => $setup,
	programs => {"$ENV{SBX_BUILD}/sbx-exec" => '/usr/bin/sbx-exec', "$from/sbx-example.service" => $service,
		"$from/sbx-example.json" => '/etc/sbx/policies/sbx-example.json', "$from/sbx.slice" => '/etc/systemd/user/sbx.slice',
		"$from/sbx-.scope.d/sbx.conf" => '/etc/systemd/user/sbx-.scope.d/sbx.conf'},
	runs => [
		says_out('the units are right', qr/^\z/, 'sh', '-c', "chmod 644 $service /etc/systemd/user/sbx.slice; systemd-analyze --man=no verify $service"),
		says_out('those of a user, too', qr/^\z/, @user, '-c', 'systemd-analyze --user --man=no verify /etc/systemd/user/sbx.slice'),
		says_out('a user outside of a delegated group', qr/^\z/, @user, '/bin/limited'),
		says_out('a user in a scope sbx-*', qr/^cgroup v2 cpu.stat\ncgroup v2 memory.max\ncgroup v2 pids.max\n\z/, @user, '/bin/limited',
			qw(systemd-run --user --scope -q --unit=sbx-1)),
		says_out('in the slice', qr/^sbx.slice\n\z/, @user, '-c', 'systemd-run --user --scope -q --unit=sbx-2 systemctl --user show -P Slice sbx-2.scope'),
		says_out('of which nothing is left', qr/^\z/, 'find', '/sys/fs/cgroup', '-name', 'sbx-*'),
		says_out('the example service', qr/^20\d\d\n\z|^\w+ \w+ +\d+ .*\n\z/, 'sh', '-c', 'systemctl start sbx-example && cat /var/lib/private/sbx-example/runs'),
		@hard]);
done_testing();
