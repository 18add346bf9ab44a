#!/usr/bin/perl
# What sbx-exec makes of a host that allows less.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC, $PLAN);

# A namespace of the test's own; then the command.
my @masked = masked_proc();
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
	is($report->{enforcement}{nested_userns}{by}, 'seccomp filter', 'masked /proc: what keeps user namespaces off that cannot be disabled');
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
# The cache of the answer.

# What a run says of its sandbox: how many processes it sees, its notes, how it ended.
sub view {
	my ($who, @before) = @_;
	my $report = "$who->{home}/view.json";
	my $got = run($who, [@before, $EXEC, '--report', $report, '--', 'sh', '-c', 'set -- /proc/[0-9]*; echo $(($# < 5))']);
	my $notes = JSON::PP->new->utf8->decode(slurp($report))->{notes};
	return "$got->{code} $got->{out}$got->{err}" . join '', map { "$_\n" } grep { !/cannot be kept/ } @$notes;
}

# A place for the answer of its own, and the file.
sub cache_of {
	my ($who, $name) = @_;
	my $runtime = "$who->{home}/$name";
	mkdir $runtime, 0700 or die "$runtime: $!";
	chown $who->{uid}, $who->{gid}, $runtime if !$>;
	return ($runtime, "$runtime/sbx/probe");
}

# What the mode of a file is, in octal, whether or not it is there.
sub mode { my @stat = lstat $_[0]; return @stat ? sprintf '%o', $stat[2] : 'none' }

for my $caller (callers()) {
	my $name = $caller->{name};
	my ($runtime, $file) = cache_of($caller, 'kept');
	my $env = {XDG_RUNTIME_DIR => $runtime};

	# How often bwrap is started: this one counts.
	my $real = which('bwrap');
	my $log = "$caller->{home}/starts";
	my $counts = put($caller, "$caller->{home}/bin/bwrap",
		"#!/bin/sh\necho >>$log\ntest ! -e $caller->{home}/broken || exit 1\nexec $real \"\$@\"\n", 0755);
	my $starts = sub {
		my $got = run($caller, [$EXEC, '--bwrap', $counts, '--', 'echo', 'ran'], env => $env);
		my $n = length(slurp($log) // '');
		unlink $log;
		return "$got->{out}$got->{err}$got->{code}: $n";
	};
	is($starts->(), "ran\n0: 3", "$name: the first start tries bwrap, asks its release, and runs it");
	is($starts->(), "ran\n0: 1", "$name: the next only runs it");
	is(mode($file) . ' ' . mode("$runtime/sbx"), '100600 40700', "$name: what was found out lies in a private directory");
	my $kept = slurp($file);
	utime 1, 1, $counts or die;
	is($starts->(), "ran\n0: 3", "$name: another bwrap is tried anew");
	isnt(slurp($file), $kept, "$name: and takes the place of the other");
	put($caller, "$caller->{home}/broken", '');
	like($starts->(), qr/125: 1$/, "$name: a set-up that fails, for whatever reason");
	is(mode($file), 'none', "$name: and what was known is forgotten");
	unlink "$caller->{home}/broken";
	is($starts->(), "ran\n0: 3", "$name: so that the next start tries anew");

	# What is planted there changes nothing. The environment of view() is that of all tests.
	my $usual = view($caller);
	$file = "$top/run-$caller->{uid}/sbx/probe";
	my $dir = "$top/run-$caller->{uid}/sbx";
	my $good = slurp($file);
	like($good, qr/^fresh-proc works$/m, "$name: (there is an answer)");
	my $wrong = $good =~ s/^(fresh-proc|outer-pid|bind-fd|hostname) works$/$1 proc-masked/mgr;
	my $elsewhere = put($caller, "$caller->{home}/elsewhere", $good, 0600);
	for (
		['cut short', sub { put($caller, $file, substr($good, 0, -20), 0600) }],
		['empty', sub { put($caller, $file, '', 0600) }],
		['nonsense', sub { put($caller, $file, "\0\xff" x 100_000, 0600) }],
		['with more at its end', sub { put($caller, $file, "$good\n", 0600) }],
		['of another boot', sub { put($caller, $file, $good =~ s/(boot_id ).{8}/${1}00000000/r, 0600) }],
		['of another release of sbx', sub { put($caller, $file, $good =~ s/sbx \d/sbx 9/r, 0600) }],
		['that others can read', sub { put($caller, $file, $wrong, 0644) }],
		['that says less works than does', sub { put($caller, $file, $wrong, 0600) }],
		['that says a guard is needed', sub { put($caller, $file, $good =~ s/^(outer-\w+) works$/$1 apparmor/mgr, 0600) }],
		['that says nothing works', sub { put($caller, $file, $good =~ s/ works$/ unknown/mgr, 0600) }],
		['that is a link', sub { unlink $file; symlink $elsewhere, $file or die }],
		['that is a FIFO', sub { unlink $file; POSIX::mkfifo($file, 0600) or die; chown $caller->{uid}, $caller->{gid}, $file if !$> }],
	) {
		my ($what, $plant) = @$_;
		$plant->();
		is(view($caller), $usual, "$name: an answer $what changes nothing");
		is(slurp($file), $good, "$name: and is replaced");
		is(mode($file), '100600', "$name: by a file");
	}
	is(slurp($elsewhere), $good, "$name: what the link led to is as it was");
	unlink $file;
	mkdir $file or die;
	is(view($caller), $usual, "$name: nor does a directory in its place");
	rmdir $file or die;
	for my $mode (0755, 0770, 0500, 01700) {
		put($caller, $file, $wrong, 0600);
		chmod $mode, $dir or die;
		is(view($caller), $usual, sprintf "$name: nor what lies in a directory of mode %o", $mode);
		like(slurp("$caller->{home}/view.json"), qr/cannot be kept[^"]*\Q$dir\E is not yours alone/, "$name: of which the report tells");
	}
	chmod 0700, $dir or die;
	rename $dir, "$dir.real" or die;
	symlink "$dir.real", $dir or die;
	put($caller, "$dir.real/probe", $wrong, 0600);
	is(view($caller), $usual, "$name: nor what lies behind a link");
	unlink $dir and rename "$dir.real", $dir or die;
	is(slurp($file), $wrong, "$name: which is left alone");
	is(view($caller), $usual, "$name: (all is as before)");
	is(slurp($file), $good, "$name: (and kept again)");

	# The command cannot change it.
	my $seen = inside($caller, ['--bind', "$top/run-$caller->{uid}:/run"], 'cat /run/sbx/probe; echo x >/run/sbx/probe; echo $?');
	unlike($seen, qr/works|^0/m, "$name: the command cannot reach it where its directory is mounted");
	is(run($caller, [$EXEC, '--bind', "$dir:/answers", '--', 'true'])->{code}, 125, "$name: and it cannot be granted");
	is(slurp($file), $good, "$name: it is as it was");
}
SKIP: {
	skip 'needs root', 15 if $>;
	my ($root, $user) = callers();
	# One user's answer for another: the place in /tmp, in a /tmp of the test's own.
	my $plant = 'mount -t tmpfs -o mode=1777 tmpfs /tmp && mkdir -m 700 $0 && echo x >$0/probe && chmod 600 $0/probe && chown -R $1 $0 &&
		uid=$2 && shift 2 && setpriv --reuid=$uid --regid=$uid --clear-groups env -u XDG_RUNTIME_DIR "$@"; echo "$? $(stat -c %u $0 $0/probe)"';
	for ([$root, 2002], [$user, 2002], [$user, 0], [$user, 2001]) {
		my ($victim, $owner) = @$_;
		my ($uid, $report) = ($victim->{uid}, "$victim->{home}/other.json");
		my $got = run({%$victim, uid => 0, gid => 0}, ['unshare', '-m', '--propagation', 'private', 'sh', '-c', $plant, "/tmp/sbx-$uid",
			$owner, $uid, $EXEC, '--report', $report, '--', 'echo', 'ran']);
		is("$got->{out}$got->{err}", "ran\n0 $owner\n$owner\n", "$victim->{name}: /tmp/sbx-$uid of uid $owner: the run goes on, and it stays");
		is(slurp($report) =~ /cannot be kept[^"]*sbx-$uid is not yours alone/ ? 'kept not' : 'kept', $owner == $uid ? 'kept' : 'kept not',
			"$victim->{name}: /tmp/sbx-$uid of uid $owner: what is kept");
	}
	my ($runtime) = cache_of($user, 'foreign');
	my $got = run($root, ['unshare', '-m', '--propagation', 'private', 'sh', '-c', 'mount -t tmpfs -o mode=1777 tmpfs /tmp &&
		"$@" && ls /tmp', 'sh', $EXEC, '--', 'true'], env => {XDG_RUNTIME_DIR => $runtime});
	is("$got->{code} $got->{out}", "0 sbx-0\n", "another user's XDG_RUNTIME_DIR is not used");
	is_deeply([glob "$runtime/*"], [], "and nothing is made there");

	# Where what is around is read-only.
	for my $caller ($root, $user) {
		my $dir = "$top/run-$caller->{uid}";
		my $read_only = 'mount --bind $0 $0 && mount -o remount,bind,ro $0 && exec setpriv --reuid=$1 --regid=$1 --clear-groups "$@"';
		$got = run({%$caller, uid => 0, gid => 0}, ['unshare', '-m', '--propagation', 'private', 'sh', '-ec', $read_only =~ s/"\$@"/\$2 \$3 \$4 \$5 \$6/r,
			$dir, $caller->{uid}, $EXEC, '--report', "$caller->{home}/ro.json", '--', 'pwd'], env => {XDG_RUNTIME_DIR => $dir});
		is($got->{code}, 0, "$caller->{name}: a read-only directory: it runs");
		like(slurp("$caller->{home}/ro.json"), qr/cannot be kept[^"]*Read-only file system/, "$caller->{name}: a read-only directory: the report says so");
	}

	# Masked, fresh is impossible: an answer that claims it is not believed.
	my @steps = (
		'exec 2>&1; probe=$XDG_RUNTIME_DIR/sbx/probe; once() { "$0" -- sh -c "test -d /proc/1 && : >/proc/version"; echo "$?"; }',
		'once; grep -c works $probe; once', # 13 of 16
		'sed -i "s/ proc-masked/ works/" $probe; grep -c works $probe; once; grep -c works $probe',
		'"$1" --print | grep -c "^--ro-bind /proc /proc"; rm $probe; "$1" --print | grep -c "^--proc /proc"; "$1" --json | grep -c "not known: the plan"');
	$got = run($root, [@masked, 'sh', '-c', (join "\n", @steps), $EXEC, $PLAN]);
	my @lines = grep { !/Read-only file system/ } split /\n/, $got->{out};
	is("@lines", '2 13 2 16 2 13 1 1 1', 'masked /proc: kept, and not believed when it claims a fresh one; sbx-plan takes it');
}

# --probe
for my $caller (callers()) {
	my $name = $caller->{name};
	my $file = "$top/run-$caller->{uid}/sbx/probe";
	run($caller, [$EXEC, '--', 'true']);
	my $good = slurp($file);
	put($caller, $file, 'nonsense', 0600);
	my $got = run($caller, [$EXEC, '--probe']);
	my $answer = JSON::PP->new->utf8->decode($got->{out});
	is($got->{code}, 0, "$name: --probe: commands can be isolated");
	ok($answer->{isolates} && !$answer->{error}, "$name: --probe: and the answer says so");
	is($answer->{proc}, 'fresh', "$name: --probe: with a fresh /proc");
	is($answer->{bwrap}{path}, which('bwrap'), "$name: --probe: by this bwrap");
	my ($version) = `bwrap --version` =~ /([\d.]+)/;
	is($answer->{bwrap}{version}, $version, "$name: --probe: of this release");
	my @missing = grep { !$answer->{features}{$_}{works} } sort keys %{$answer->{features}};
	is_deeply(\@missing, [], "$name: --probe: everything works here");
	is(slurp($file), $good, "$name: --probe: what it finds out is kept");
	is($answer->{limits}{wall}{by}, 'supervisor', "$name: --probe: who keeps the limits");
	SKIP: {
		skip 'no script(1)', 2 if !which('script');
		$got = run($caller, ['script', '-qec', "$EXEC --probe", '/dev/null']);
		like($got->{out}, qr/^fresh-proc +yes\r?$/m, "$name: --probe on a terminal is for people");
		like(run($caller, ['script', '-qec', "$EXEC --probe --json", '/dev/null'])->{out}, qr/^\{/, "$name: and with --json it is JSON");
	}
	$got = run($caller, [$EXEC, '--probe', '--bwrap', '/nonexistent/bwrap']);
	is($got->{code}, 125, "$name: --probe without bwrap");
	$answer = JSON::PP->new->utf8->decode($got->{out});
	ok(!$answer->{isolates} && $answer->{error}{message} =~ /nonexistent/ && !$answer->{bwrap}, "$name: --probe without bwrap: says why");

	SKIP: {
		skip 'no user namespaces', 4 if run($caller, ['unshare', '-Ur', 'true'])->{code};
		$got = run($caller, [@no_userns, $EXEC, '--probe']);
		is($got->{code}, 125, "$name: --probe without user namespaces");
		$answer = JSON::PP->new->utf8->decode($got->{out});
		is($answer->{features}{user}{cause}, 'userns-off', "$name: --probe without user namespaces: the cause");
		like($answer->{features}{user}{remedy}, qr/^sysctl -w user.max_user_namespaces=/, "$name: --probe without user namespaces: the remedy");
		like($answer->{features}{user}{said}, qr/^bwrap: /, "$name: --probe without user namespaces: bwrap's own words");
	}

	# Causes.
	$got = run($caller, ['unshare', '-U', $EXEC, '--', 'true']);
	like($got->{err}, qr/hint: this user has no number/, "$name: an unmapped uid") if $got->{code} == 125;
	$got = run($caller, ['sh', '-c', 'ulimit -n 12; exec "$@"', 'sh', $EXEC, '--', 'true']);
	like($got->{err}, qr/hint: too few files .*ulimit -n/, "$name: too few descriptors");
}
SKIP: {
	skip 'needs root', 3 if $>;
	my $answer = JSON::PP->new->utf8->decode(run($who, [@masked, $EXEC, '--probe'])->{out});
	is($answer->{proc}, 'bind', 'masked /proc: --probe says which a run has');
	is(join(' ', sort map { "$_:$answer->{features}{$_}{cause}" } grep { !$answer->{features}{$_}{works} } keys %{$answer->{features}}),
		'disable-userns:proc-masked fresh-proc:proc-masked outer-pid:proc-masked', 'masked /proc: --probe says what does not work, and why');
	like(run($who, ['unshare', '-m', '--propagation', 'private', 'sh', '-c', 'mount -o remount,bind,ro /proc; exec "$@"', 'sh', $EXEC, '--', 'true'])->{err},
		qr{hint: /proc is read-only: mount -o remount}, 'a read-only /proc');
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
	$got = run($caller, [$refuse, 'namespaces=kill', $EXEC, '--', 'echo', 'ran']);
	is("$got->{code} $got->{out}", '125 ', "$name: where a filter kills what makes a user namespace: refused");
	like($got->{err}, qr/\n\Qsbx-exec: hint: a seccomp filter kills\E/, "$name: where a filter kills what makes a user namespace: says so");
	run($caller, [$EXEC, '--', 'true']);
	my $good = slurp("$top/run-$caller->{uid}/sbx/probe");
	put($caller, "$top/run-$caller->{uid}/sbx/probe", $good =~ s/ works$/ unknown/mgr, 0600);
	is(run($caller, [$refuse, 'openat2', $EXEC, '--', 'echo', 'ran'])->{out}, "ran\n", "$name: under a filter of its own: runs");
	is(slurp("$top/run-$caller->{uid}/sbx/probe"), $good =~ s/ works$/ unknown/mgr, "$name: under a filter of its own: nothing is kept");
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
