#!/usr/bin/perl
# What sbx-exec makes of a host that allows less.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

# A namespace of the test's own; then the command.
my @masked = ('unshare', '-m', '--propagation', 'private', 'sh', '-c',
	'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"', 'sh');
my @no_userns = ('unshare', '-Ur', 'sh', '-c', 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', 'sh');
my ($who) = callers();

SKIP: {
	skip 'needs root', 11 if $>;
	my @report = ('--report', "$top/report.json");
	my $got = run($who, [@masked, $EXEC, @report, '--', 'sh', '-c', 'test -e /proc/self && echo there; : > /proc/sys/kernel/core_pattern']);
	my $report = JSON::PP->new->decode(slurp("$top/report.json"));
	is($got->{out}, "there\n", 'masked /proc: the bound one is there');
	like($got->{err}, qr/Read-only file system/, 'masked /proc: and read-only');
	like("@{$report->{notes}}", qr{a fresh /proc cannot be mounted}, 'masked /proc: the report says so');
	unlike("@{$report->{notes}}", qr{no mount namespace}, 'masked /proc: the mount namespace around bwrap is made all the same');
	like(run($who, [@masked, $EXEC, '--', 'chmod', '666', '/dev/null'])->{err}, qr/Read-only file system/,
		'masked /proc: device nodes cannot be changed');
	ok(!$report->{enforcement}{nested_userns}{enforced}, 'masked /proc: user namespaces that cannot be disabled are not claimed to be');
	$got = run($who, [@masked, $EXEC, '--proc', 'fresh', '--', 'true']);
	is($got->{code}, 125, 'masked /proc: a fresh one is refused');
	like($got->{err}, qr/^sbx-exec: no \/proc can be had.*\nsbx-exec: hint: .*--proc bind/, 'masked /proc: with a remedy');
	is(run($who, [@masked, $EXEC, '--proc', 'bind', '--', 'true'])->{code}, 0, 'masked /proc: --proc bind');
	is(run($who, [@masked, $EXEC, '--proc', 'none', '--', 'true'])->{code}, 0, 'masked /proc: --proc none');
	is(run($who, [$EXEC, '--proc', 'fresh', '--', 'sh', '-c', ': > /proc/sys/kernel/core_pattern'])->{code}, 2,
		'fresh /proc: its machine-wide part is read-only');
}
SKIP: {
	skip 'needs root', 2 if $>;
	# As most systems mount it, unlike the one that this was written on.
	my @strict_dev = ('unshare', '-m', '--propagation', 'private', 'sh', '-c',
		'mount -o remount,bind,nosuid,noexec /dev && exec "$@"', 'sh');
	my $got = run($who, [@strict_dev, $EXEC, '--report', "$top/report.json", '--', 'chmod', '666', '/dev/null']);
	unlike(slurp("$top/report.json"), qr/no namespaces/, 'nosuid and noexec on /dev: the namespaces around bwrap are made');
	like($got->{err}, qr/Read-only file system/, 'nosuid and noexec on /dev: its nodes cannot be changed');
}
SKIP: {
	skip 'no user namespaces', 2 if run($who, ['unshare', '-Ur', 'true'])->{code};
	my $got = run($who, [@no_userns, $EXEC, '--', 'touch', "$who->{home}/ran"]);
	is("$got->{code} $got->{out}", '125 ', 'no user namespaces: no run');
	like($got->{err}, qr/^sbx-exec: bwrap cannot make a sandbox here.*\nsbx-exec: hint: user namespaces are turned off/,
		'no user namespaces: one message with the reason');
	ok(!-e "$who->{home}/ran", 'no user namespaces: nothing ran');
}
SKIP: {
	skip 'needs root', 2 if $>;
	my $got = run($who, ['unshare', '-pf', $EXEC, '--', 'true']);
	is($got->{code}, 125, 'a /proc of another process namespace: refused');
	like($got->{err}, qr/another process namespace\nsbx-exec: hint: .*mount -t proc/, 'a /proc of another process namespace: with the remedy');
}
for my $caller (callers()) {
	my $name = $caller->{name};
	my $refuse = "$caller->{home}/refuse";
	put($caller, $refuse, slurp("$ENV{SBX_BUILD}/tests/hostile/refuse"), 0755);
	my $report = "$caller->{home}/report.json";
	my $got = run($caller, [$refuse, 'sethostname', $EXEC, '--report', $report, '--', 'echo', 'ran']);
	is($got->{out}, "ran\n", "$name: without sethostname: runs");
	like(slurp($report), qr/host name cannot be set/, "$name: without sethostname: the report says so");
	is(run($caller, [$refuse, 'sethostname', $EXEC, '--hostname', 'own', '--', 'true'])->{code}, 125,
		"$name: without sethostname: a policy that names one is refused");
	is(run($caller, [$refuse, 'openat2', $EXEC, '--', 'echo', 'ran'])->{out}, "ran\n", "$name: without openat2: runs");
	$got = run($caller, [$refuse, 'ptrace', $EXEC, '--report', $report, '--', 'echo', 'ran']);
	if ($caller->{uid}) {
		is($got->{out}, "ran\n", "$name: without ptrace: runs");
		like(slurp($report), qr/start cannot be watched/, "$name: without ptrace: the report says what that means");
	} else {
		is($got->{code}, 125, "$name: without ptrace: refused");
		like($got->{err}, qr/cannot be watched.*\nsbx-exec: hint: .*ptrace_scope/, "$name: without ptrace: says why");
	}
}
done_testing();
