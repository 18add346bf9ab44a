# The filter of system calls is in force for the command and all that comes after it, refuses what it says and nothing
# else, and is never missing unsaid: calls are tried one by one by a program inside (tests/hostile/calls.c), under every
# profile, and under bwrap without a filter to see that they do something there.
use strict;
use warnings;
use File::Copy qw(copy);
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $PLAN, $EXEC);

my $hostile = ($ENV{SBX_BUILD} || "$FindBin::Bin/../../build") . '/tests/hostile';
my ($CALLS, $REFUSE) = ("$top/bin/calls", "$top/bin/refuse");
if (!$^C) {
	for my $name (qw(calls refuse)) {
		copy("$hostile/$name", "$top/bin/$name") or die "$name: $!";
		chmod 0755, "$top/bin/$name" or die;
	}
}
my @masked = masked_proc();
my $version = 'grep -E "^Seccomp" /proc/self/status';

# What each call answers: {NAME => RESULT}.
sub answers {
	my ($who, @command) = @_;
	my $got = run($who, \@command);
	diag("@command: $got->{code} $got->{err}") if $got->{code};
	return {map { /^(.*)=(.*)$/ ? ($1 => $2) : () } split /\n/, $got->{out}};
}

# Tests that calls answer as wanted: "NAME, NAME" => RESULT pairs.
sub answer {
	my ($what, $got, %want) = @_;
	my @wrong;
	for my $names (keys %want) {
		for my $name (split /; /, $names) {
			my $answer = $got->{$name} // 'missing';
			push @wrong, "$name: $answer, not $want{$names}" if $answer !~ /^(?:$want{$names})$/;
		}
	}
	is(join("\n", sort @wrong), '', $what);
}

my $namespaces = 'clone NEWUSER; clone NEWUSER, high bits; clone NEWNS; clone NEWPID; clone NEWNET; unshare NEWUSER; '
	. 'unshare NEWTIME; unshare NEWUTS; setns; mount; umount2; pivot_root';
my $new_mounts = 'clone3; open_tree; move_mount; fsopen; fsconfig; fsmount; fspick; mount_setattr';
my $denied = 'keyctl; add_key; request_key; bpf; perf_event_open; userfaultfd; pidfd_getfd; fanotify_init; open_by_handle_at; '
	. 'kexec_load; init_module; finit_module; delete_module; quotactl; swapon; swapoff; reboot; acct; syslog; settimeofday; '
	. 'clock_settime; personality READ_IMPLIES_EXEC; ioctl TIOCSTI; ioctl TIOCSTI, high bits; ioctl TIOCLINUX';
my $missing = 'io_uring_setup; io_uring_enter; io_uring_register; memfd_secret; mbind; move_pages; a newer call';
my $families = 'socket AF_PACKET; socket AF_ALG; socket AF_VSOCK; socket AF_VSOCK, high bits';
my $plain = 'getpid; fork; unshare FILES; personality; personality ADDR_NO_RANDOMIZE; socketpair STREAM; socketpair SEQPACKET; '
	. 'memfd_create NOEXEC_SEAL';
my $sockets = 'socket AF_UNIX; socket AF_INET; socket AF_NETLINK';
my $foreign = `uname -m` eq "x86_64\n" ? 'int 0x80; x32 getpid; x32 getpid of 512' : '';
$denied .= '; iopl; modify_ldt' if $foreign;

# With what is loaded answers differ from those of a filter, or the filter's cannot be told from it.
my $open = 'clone3; keyctl; add_key; request_key; quotactl; mbind; personality READ_IMPLIES_EXEC; ioctl TIOCSTI; ioctl TIOCLINUX; '
	. 'setns; memfd_create; socketpair DGRAM';

sub profiles {
	my ($who) = @_;
	my @sbx = ($EXEC, '--read', $CALLS);
	my %default = ($plain => 0, ptrace => 0, $namespaces => 'EPERM', $new_mounts => 'ENOSYS', $denied => 'EPERM',
		$missing => 'ENOSYS', $families => 'EAFNOSUPPORT', $sockets => 0, 'memfd_create; socketpair DGRAM' => 0,
		'ioctl TIOCGWINSZ' => 'ENOTTY', $foreign ? ($foreign => 'ENOSYS') : ());
	my %strict = (%default, $sockets => 'EAFNOSUPPORT', 'memfd_create; socketpair DGRAM' => 'EPERM');
	my $policy = sub {
		my ($name, $json) = @_;
		return ('-p', put($who, "$who->{home}/policies/$name.json", qq({"sbx": 1, "extends": ["default"], $json})));
	};

	answer("$who->{name}: by default", answers($who, @sbx, $CALLS), %default);
	answer("$who->{name}: strict", answers($who, @sbx, qw(--seccomp strict), $CALLS), %strict);
	answer("$who->{name}: strict with the host's network", answers($who, @sbx, qw(--seccomp strict --net host), $CALLS),
		%strict, $sockets => '.*', 'socket AF_UNIX' => 'EAFNOSUPPORT', 'socket AF_INET; socket AF_NETLINK' => 0);
	my @bwrap = qw(bwrap --unshare-user --unshare-pid --die-with-parent --cap-drop ALL --ro-bind / / --proc /proc --dev /dev);
	for (['none', answers($who, @sbx, qw(--seccomp none), $CALLS)], ['bwrap alone', answers($who, @bwrap, $CALLS)]) {
		my ($name, $got) = @$_;
		answer("$who->{name}: $name: calls reach the kernel", $got, $plain => 0, $sockets => 0,
			$open => '(?!EPERM|ENOSYS|EAFNOSUPPORT).*', $foreign ? ('int 0x80' => '0|SIGSEGV|ENOSYS') : ());
	}
	answer("$who->{name}: nested user namespaces",
		answers($who, @sbx, $policy->('nested', '"process": {"nested_userns": true}'), $CALLS),
		'clone NEWUSER; clone NEWUSER, high bits; unshare NEWUSER; fork' => 0, clone3 => 'EINVAL', mount => 'EFAULT',
		$denied => 'EPERM', $missing => 'ENOSYS', $families => 'EAFNOSUPPORT');
	answer("$who->{name}: calls that the policy allows or denies",
		answers($who, @sbx, $policy->('lists', '"seccomp": {"allow": ["keyctl", "socket", "personality", "add_key"],
			"deny": ["ptrace", "socketpair", "add_key"]}'), $CALLS),
		'keyctl; personality READ_IMPLIES_EXEC; socket AF_UNIX' => 0, 'add_key; ptrace; request_key' => 'EPERM',
		'socketpair STREAM; socketpair DGRAM; mount' => 'EPERM', fork => 0);
	answer("$who->{name}: none, with a denial", answers($who, @sbx, '--seccomp', 'none', $policy->('denial',
			'"seccomp": {"deny": ["ptrace"]}'), $CALLS),
		ptrace => 'EPERM', clone3 => 'EINVAL', add_key => 'EFAULT', $foreign ? ($foreign => 'ENOSYS') : ());
	answer("$who->{name}: violation kill",
		answers($who, @sbx, $policy->('kill', '"seccomp": {"violation": "kill", "deny": ["ptrace"]}'), $CALLS),
		$plain => 0, ptrace => 'SIGSYS', $namespaces => 'SIGSYS', $denied => 'SIGSYS', $new_mounts => 'ENOSYS',
		$missing => 'ENOSYS', $families => 'EAFNOSUPPORT', $foreign ? ($foreign => 'SIGSYS') : ());
	my ($got, $report) = reported($who, [$policy->('kill', '"seccomp": {"violation": "kill"}'), '--', qw(perl -e), 'syscall 250; sleep 9'])
		if $foreign;
	is("$got->{code} $report->{outcome}", '159 completed', "$who->{name}: violation kill: the command's end") if $foreign;
}

sub in_force {
	my ($who) = @_;
	my $outside = $1 if slurp('/proc/self/status') =~ /^Seccomp_filters:\s*(\d+)/m;
	my $within = $outside + 1;
	my $script = "$version; sh -c '$version'; setsid sh -c '$version'; grep -E '^Seccomp' /proc/1/status";
	my $want = "Seccomp:\t2\nSeccomp_filters:\t$within\n" x 4;
	for my $policy (qw(default workspace strict query-script agent-container)) {
		my ($got, $report) = reported($who, ['-p', $policy, '--', 'sh', '-c', $script]);
		is($got->{out}, $want, "$who->{name}: $policy: the filter is on, in its children and in pid 1") or diag($got->{err});
		my $profile = $policy =~ /strict|query/ ? 'strict' : 'default';
		my $held = $report->{enforcement}{seccomp};
		is("$held->{requested} $held->{enforced} $held->{by}", "$profile 1 seccomp filter", "$who->{name}: $policy: the report says so");
	}
	my $bare = put($who, "$who->{home}/bare.json", '{"sbx": 1, "filesystem": {"read": ["/usr", "/bin", "/lib", "/lib64"]}, "process": {"cwd": "/"}, "environment": {"set": {"PATH": "/usr/bin:/bin"}}}');
	like(run($who, [$EXEC, '-p', $bare, '--', 'sh', '-c', $version])->{out}, qr/^Seccomp:\t2$/m, "$who->{name}: where no policy names one it is on");
	my ($got, $report) = reported($who, ['--seccomp', 'none', '--', 'sh', '-c', $version]);
	like($got->{out}, qr/^Seccomp_filters:\t$outside$/m, "$who->{name}: none: no filter");
	is($report->{enforcement}{seccomp}{enforced} + 0, 0, "$who->{name}: none: and none is claimed");
	is(run($who, [$EXEC, qw(--seccomp none --require seccomp -- true)])->{code}, 125, "$who->{name}: none and required: refused");
	is(run($who, [$EXEC, qw(--require seccomp -- true)])->{code}, 0, "$who->{name}: required and there");
	($got, $report) = reported($who, ['--', 'echo', 'RAN'], before => sub { exec $REFUSE, 'filters', $EXEC, '--report', "$who->{home}/report.json", '--', 'echo', 'RAN' });
	is("$got->{code} $report->{outcome} $report->{phase} [$got->{out}]", '125 setup-failed setup []', "$who->{name}: a filter that cannot be set: nothing is run");
	like($got->{err}, qr/the system call filter cannot be set: nothing was run/, "$who->{name}: which it says") or diag($got->{err});
	# One around sbx-exec that forbids filters altogether: known before.
	($got, $report) = reported($who, ['--', 'echo', 'RAN'], before => sub { exec $REFUSE, 'prctl-filter', $EXEC, '--report', "$who->{home}/report.json", '--', 'echo', 'RAN' });
	is($report->{enforcement}{seccomp}{enforced} // '', JSON::PP::false, "$who->{name}: where none can be set: the report says so");
	like(join(' ', @{$report->{notes} || []}), qr/system calls are not filtered/, "$who->{name}: and its notes");
	like(run($who, [$REFUSE, 'prctl-filter', $EXEC, qw(--require seccomp -- echo RAN)])->{err}, qr/nothing can enforce "seccomp" here/, "$who->{name}: required there: refused");
}

# Where --disable-userns does not work the filter is what keeps user namespaces off, and what rests on that holds.
sub without_disable {
	my $who = {%{(callers())[0]}};
	my $try = 'unshare -U true 2>&1 && echo made';
	my $dir = "$who->{home}/project";
	put($who, "$dir/.git/hooks/x", '');
	my $at = sub {
		my ($name, $strength, @options) = @_;
		my ($got, $report) = reported($who, ['-p', 'workspace', @options, '--', 'sh', '-c', $try], before => sub {
			exec @masked, $EXEC, '--report', "$who->{home}/report.json", '-p', 'workspace', @options, '--', 'sh', '-c', $try });
		my $held = $report->{enforcement}{nested_userns};
		is(($held->{by} // 'nothing'), $strength eq 'cover' ? 'seccomp filter' : 'nothing', "masked /proc, $name: by what nested namespaces are kept off");
		my $made = $got->{out} =~ /^made$/m ? 1 : 0;
		is($made, $strength eq 'cover' ? 0 : 1, "masked /proc, $name: whether one can be made") or diag($got->{out}, $got->{err});
		my $notes = join ' ', @{$report->{notes}};
		like($notes, $strength eq 'cover' ? qr/cannot be disabled: the system call filter alone keeps them off/
			: qr/cannot be disabled: covers below writable places can be undone/, "masked /proc, $name: the notes");
		# In one namespace: what a run has found out about this host is of use to no other.
		my $rules = run($who, [@masked, 'sh', '-c', '"$0" -- true; "$@"', $EXEC, $PLAN, '-p', 'workspace', @options, '--rules'])->{out};
		like($rules, $strength eq 'cover' ? qr{^applied +cover +read \Q$dir\E/\.git/hooks }m : qr{^applied +watched.* read \Q$dir\E/\.git/hooks }m,
			"masked /proc, $name: the strength of covers");
		is(run($who, [@masked, $EXEC, '-p', 'workspace', @options, qw(--require nested_userns -- true)])->{code},
			$strength eq 'cover' ? 0 : 125, "masked /proc, $name: required");
	};
	my $file = sub { put($who, "$who->{home}/$_[0].json", qq({"sbx": 1, "seccomp": $_[1]})) };
	$at->('by default', 'cover');
	$at->('strict', 'cover', '--seccomp', 'strict');
	$at->('no filter', 'watched', '--seccomp', 'none');
	$at->('unshare allowed', 'watched', '-p', $file->(unshare => '{"allow": ["unshare"]}'));
	$at->('a filter of denials alone', 'watched', '-p', $file->(denials => '{"profile": "none", "deny": ["ptrace"]}'));
}

sub printed {
	my ($who) = @_;
	my @print = ($PLAN, '--print-seccomp');
	my $text = run($who, \@print);
	is($text->{code}, 0, "$who->{name}: --print-seccomp") or diag($text->{err});
	like($text->{out}, qr/\Aany call of another architecture than \w+: ENOSYS\n(?:\w+: (?:EPERM|ENOSYS|EAFNOSUPPORT)(?: if .*)?\n){50,}any call from number 451 on: ENOSYS\nany other call: allow\n\z/,
		"$who->{name}: it is one line a rule");
	is(run($who, \@print)->{out}, $text->{out}, "$who->{name}: the same again");
	is_deeply(JSON::PP->new->decode(run($who, [@print, '--json'])->{out}), [split /\n/, $text->{out}], "$who->{name}: as JSON");
	is(run($who, [@print, qw(--seccomp none)])->{out}, "any call: allow\n", "$who->{name}: of none");
	my $none = run($who, [@print, qw(--seccomp none -0)]);
	is("$none->{code} $none->{out}", '125 ', "$who->{name}: none has no bytes");
	my $unknown = put($who, "$who->{home}/unknown.json", '{"sbx": 1, "extends": ["default"], "seccomp": {"allow": ["ptrase"]}}');
	like(run($who, [$PLAN, '-p', $unknown])->{err}, qr{unknown\.json: /seccomp/allow/0: "ptrase" is no system call}, "$who->{name}: sbx-plan refuses what is no call");
	my $bytes = run($who, [@print, '-0'])->{out};
	cmp_ok(length $bytes, '>', 1000, "$who->{name}: the filter's bytes");
	my $file = put($who, "$who->{home}/bytes", $bytes);
	my $got = run($who, ['bash', '-c', "exec bwrap --ro-bind / / --proc /proc --seccomp 9 -- sh -c '$version; unshare -U true' 9<$file"]);
	like($got->{out}, qr/^Seccomp:\t2$/m, "$who->{name}: bwrap takes them");
	like($got->{err}, qr/Operation not permitted/, "$who->{name}: and they refuse");
}

for my $who (callers()) {
	subtest "$who->{name}: profiles" => sub { profiles($who) };
	subtest "$who->{name}: in force" => sub { in_force($who) };
	subtest "$who->{name}: printed" => sub { printed($who) };
}
SKIP: {
	skip 'needs root: a masked /proc', 1 if $>;
	subtest 'without --disable-userns' => sub { without_disable() };
}
done_testing();
