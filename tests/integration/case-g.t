# Cases of where it runs: containers, limits on namespaces, users without a name, devices, sandboxes in sandboxes.
use strict;
use warnings;
use FindBin;
use Socket;
use Test::More;
BEGIN { require "$FindBin::Bin/case-lib.pl" }
our ($top, $PLAN, $EXEC);

# As in a container whose engine hides parts of /proc: no new procfs can be mounted.
sub masked {
	return mounted('/proc/cmdline', '--bind', '/dev/null');
}

case g01 => "where /proc is masked the host's is shown, and its secrets are not", sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $>;
	my $masked = masked();
	my $host = fork // die;
	if (!$host) {
		become($who);
		$ENV{HOST_SECRET} = 'SECRET';
		exec 'sleep', '60' or POSIX::_exit(1);
	}
	# Until it is the sleep that it becomes.
	select undef, undef, undef, 0.01 while (readlink("/proc/$host/exe") // '') !~ /sleep|coreutils/;
	like(slurp("/proc/$host/environ"), qr{SECRET}, "$who->{name}: (a process of the host holds a secret)");
	my ($got, $report) = reported($who, ['--', 'sh', '-c',
		"exec 2>&1; ls -d /proc/self; cd /proc/$host; cat environ maps mem root/etc/passwd; ls fd root cwd; kill -0 $host"]);
	unlike($got->{out}, qr{SECRET|root:|bin/sleep|^0$}, "$who->{name}: nothing of a process of the host")
		or diag($got->{out});
	like($got->{out}, qr{^/proc/self$}m, "$who->{name}: /proc is there");
	is(kill('KILL', $host), 1, "$who->{name}: the process of the host lives");
	waitpid $host, 0;
	like("@{$report->{notes}}", qr{/proc}, "$who->{name}: the report says which /proc it is");
	refuses($who, $dir, 'a fresh /proc', qr{/proc}, [qw(--proc fresh)]);
};

case g02 => 'root without CAP_SYS_ADMIN runs as an ordinary user would', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $> || $who->{uid};
	tree($who, $dir, 'p/');
	my @without = ('setpriv', '--bounding-set=-sys_admin,-net_admin', '--inh-caps=-sys_admin,-net_admin');
	isnt(run($who, [@without, qw(unshare -m true)])->{code}, 0, "$who->{name}: (it may make no namespace by right)");
	my $got = run($who, [@without, $EXEC, policy($who, {write => ["$dir/p"]}), '--', 'sh', '-c',
		"id -u; touch $dir/p/n /n; tail -n +3 /proc/net/dev | cut -d: -f1"]);
	is($got->{out} =~ s/ //gr, "0\nlo\n", "$who->{name}: it runs, without a network") or diag($got->{err}, $got->{out});
	ok(-e "$dir/p/n", "$who->{name}: the writable folder is");
	like($got->{err}, qr{'/n': Read-only}, "$who->{name}: nothing else");
};

case g03 => 'a limit of no user namespaces is an error that names it', sub {
	my ($who, $dir) = @_;
	my $bwrap = put($who, "$who->{home}/bwrap", slurp(which('bwrap')), 0755);
	my @none = ('unshare', '-Ur', 'sh', '-ec', 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"', 'sh');
	plan skip_all => 'no user namespace for the test' if run($who, ['unshare', '-Ur', 'true'])->{code};
	my $file = "$dir/report.json";
	my $got = run($who, [@none, $EXEC, '--report', $file, '--bwrap', $bwrap, '--', 'touch', "$dir/RAN"]);
	is($got->{code}, 125, "$who->{name}: it does not run");
	unlike($got->{err}, qr{^bwrap:}m, "$who->{name}: bwrap's message is not passed on bare");
	like($got->{err}, qr{\Asbx-exec: [^\n]*\nsbx-exec: hint: [^\n]*user\.max_user_namespaces[^\n]*\n\z},
		"$who->{name}: the hint names the sysctl");
	my $report = JSON::PP->new->decode(slurp($file) // '{}');
	like($report->{outcome} // '', qr{^(refused|setup-failed)$}, "$who->{name}: the report says so");
	is(JSON::PP->new->canonical->encode($report->{enforcement} // {1, 1}), '{}', "$who->{name}: and claims nothing");
};

case g04 => 'a host that lets bwrap do less is found out before the command, and nothing runs with less', sub {
	my ($who, $dir) = @_;
	my @strace = (qw(strace -f -qq -o /dev/null));
	plan skip_all => 'strace cannot be used here' if !which('strace') || run($who, [@strace, 'true'])->{code};
	for (['no loopback interface', 'sendto:error=EPERM', 'network'], ['no new root', 'pivot_root:error=EINVAL', ''],
		['no mounts', 'mount:error=EPERM', ''], ['no namespaces', 'clone,clone3,unshare:error=EPERM', 'namespace'],
		['no system call for namespaces', 'clone,clone3,unshare:error=ENOSYS', '']) {
		my ($name, $inject, $word) = @$_;
		my ($calls) = $inject =~ /^([^:]*)/;
		my $got = run($who, [@strace, '-e', "trace=$calls", '-e', "inject=$inject", $EXEC, '--', 'sh', '-c',
			'echo RAN']);
		is("$got->{code} $got->{out}", '125 ', "$who->{name}: $name: nothing runs") or diag($got->{err});
		like($got->{err}, qr{^sbx-exec: [^\n]*\nsbx-exec: hint: [^\n]*$word}m,
			"$who->{name}: $name: a message and a hint") or diag($got->{err});
		unlike($got->{err}, qr{^bwrap: }m, "$who->{name}: $name: bwrap is not heard bare");
	}
};

case g05 => 'files keep their owners where the caller has them, and others\' belong to nobody', sub {
	my ($who, $dir) = @_;
	put($who, "$dir/f", 'f');
	my @options = policy($who, {write => [$dir]});
	is(inside($who, \@options, "id -u; id -g; stat -c '%u %g' $dir/f; touch $dir/new"),
		"$who->{uid}\n$who->{gid}\n$who->{uid} $who->{gid}\n",
		"$who->{name}: its own are its own");
	is((stat "$dir/new")[4], $who->{uid}, "$who->{name}: so is a new one, on the host");
	is(inside($who, \@options, 'stat -c %u /etc/passwd'), ($who->{uid} ? 65534 : 0) . "\n", "$who->{name}: root's");
	my $got = run($who, [$EXEC, @options, '--', 'chown', '1:1', "$dir/f"]);
	is("$got->{code} " . (stat "$dir/f")[4], "1 $who->{uid}", "$who->{name}: a file cannot be given away");
};

case g06 => 'a user without a name and without a home can run bash, git and Python', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $>;
	my $nobody = {name => 'nameless', uid => 12345, gid => 12345, home => $dir};
	tree($nobody, $dir, 'work/');
	my $python = -x '/usr/bin/python3' ? '/usr/bin/python3 -c "print(1)"' : 'echo 1';
	my $script = "exec 2>&1; id -u; cd; f=\$(mktemp) && echo \$HOME; git --version >/dev/null && $python";
	my $with = sub { run($nobody, ['env', '-u', 'HOME', @_, '--', 'bash', '-c', $script],
		cwd => "$dir/work") };
	my $homeless = put($nobody, "$dir/homeless.json", '{"sbx": 1, "filesystem": {"root": "read"}}');
	for (['HOME=/no/such/home', '/no/such/home'], ["HOME=$dir", $dir], ['HOME=', '/', '-p', $homeless],
		['X=', '/', '-p', $homeless]) {
		my ($home, $seen, @options) = @$_;
		my $got = $with->($home, $EXEC, @options);
		is($got->{code}, 0, "$who->{name}: $home: it runs") or diag($got->{err});
		like($got->{out}, qr{^12345\n.*?^\Q$seen\E\n1\n\z}ms, "$who->{name}: $home: HOME is $seen");
	}
	my $got = $with->('X=', $EXEC);
	is("$got->{code} $got->{out}", '125 ', "$who->{name}: no HOME: a policy that hides names in the home does not run");
	like($got->{err}, qr{\Asbx-exec: [^\n]*~/[^\n]*\nsbx-exec: hint: [^\n]*HOME[^\n]*\n\z},
		"$who->{name}: no HOME: it says why");
};

case g07 => 'variables reach the command through a setuid bwrap, and the caller\'s do not reach bwrap', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $>;
	my $bwrap = put(trusted(), "$dir/bwrap", slurp(which('bwrap')));
	chmod 04755, $bwrap;
	my $got = run($who, [$EXEC, '--bwrap', $bwrap, qw(--inherit LD_LIBRARY_PATH --env TMPDIR=/y -- sh -c),
		'echo "[$LD_LIBRARY_PATH][$TMPDIR]$LD_PRELOAD"'],
		env => {LD_LIBRARY_PATH => '/x', TMPDIR => '/z', LD_PRELOAD => '/nonexistent/preload.so'});
	if ($got->{code} == 125) {
		like($got->{err}, qr{\Asbx-exec: [^\n]*setuid[^\n]*\nsbx-exec: hint: }, "$who->{name}: it is refused by name");
	} else {
		is($got->{out}, "[/x][/y]\n", "$who->{name}: both are there") or diag($got->{err});
	}
};

case g08 => 'abstract sockets of the host are out of reach without its network', sub {
	my ($who, $dir) = @_;
	socket my $server, AF_UNIX, SOCK_STREAM, 0 or die;
	my $name = "\0/tmp/.X11-unix/sbx-case-$$-$who->{name}";
	bind $server, pack('Sa*', AF_UNIX, $name) or die;
	listen $server, 5 or die;
	my @connect = ('perl', '-MSocket', '-e',
		'socket S, AF_UNIX, SOCK_STREAM, 0 or die; print connect(S, pack "Sa*", AF_UNIX, "\0@ARGV") ? "connected" : $!',
		substr $name, 1);
	is(run($who, [$EXEC, '--', @connect])->{out}, 'Connection refused', "$who->{name}: network none");
	is(run($who, [$EXEC, qw(--net host --), @connect])->{out}, 'connected',
		"$who->{name}: (the host's network reaches it)");
	local our $TODO = 'the host\'s network is taken without a word yet';
	like(notes($who, qw(--net host)), qr{abstract}, "$who->{name}: a note says so");
};

case g09 => 'a sandbox in the sandbox is refused by default, and uncovers nothing where it is allowed', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, 's = SECRET', 'd/s = SECRET', 'rw/');
	my %rules = (deny => ["$dir/s", "$dir/d"], write => ["$dir/rw"]);
	my $bwrap = which('bwrap');
	my $inner = "$bwrap --unshare-user --unshare-pid --dev-bind / / --tmpfs /run sh -c 'echo in; umount $dir/s $dir/d; "
		. "cat $dir/s $dir/d/s; mount -o remount,bind,rw /; touch $dir/x' 2>&1";
	my $got = inside($who, [policy($who, \%rules)], "$inner; true");
	like($got, qr{\Abwrap: .*namespace}, "$who->{name}: not allowed: the inner one cannot be made");
	my @nested = policy($who, \%rules, process => {nested_userns => JSON::PP::true});
	$got = inside($who, \@nested, "$inner; true");
	unlike($got, qr{SECRET}, "$who->{name}: allowed: what is denied stays so");
	ok(!-e "$dir/x", "$who->{name}: allowed: what is read-only stays so");
	# The kernel lets uid 0 without capabilities map nobody.
	like($got, $who->{uid} ? qr{\Ain\n} : qr{\Abwrap: setting up uid map},
		"$who->{name}: allowed: (the inner one runs, but not root's)");
	$got = inside($who, \@nested, "unshare -Urm sh -c 'umount $dir/s; umount -l $dir/d; cat $dir/s $dir/d/s; "
		. "mount -t tmpfs x $dir/rw && echo mounted' 2>&1; true");
	unlike($got, qr{SECRET}, "$who->{name}: allowed: covers are not taken off in a namespace of its own");
	return if !$who->{uid};
	like($got, qr{^mounted$}m, "$who->{name}: allowed: (in which it can mount)");
	my $own = put($who, "$who->{home}/bwrap", slurp($bwrap), 0755); # inside, nobody knows that root owns the system's
	$got = inside($who, \@nested,
		"$EXEC --bwrap $own --deny $dir/rw -- sh -c 'echo in; cat $dir/s; ls $dir/rw' 2>&1; true");
	like($got, qr{\Ain\ncat: \Q$dir/s\E: Permission denied\nls: [^\n]*\Q$dir/rw\E'?: Permission denied\n\z},
		"$who->{name}: allowed: sbx-exec in sbx-exec");
};

case g10 => 'a device rule gives a device that works, no other rule does', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $> || system "mknod $dir/full c 1 7 && chmod 0666 $dir/full";
	plan skip_all => 'the file system has no devices' if !open my $works, '<', "$dir/full";
	promises($who, [policy($who, {devices => ["$dir/full"]})],
		[read => "$dir/full", 'ok', 'it can be read'],
		[write => "$dir/full", 'ok', 'and written to'],
		[read => '/dev/fuse', 'ENOENT', 'no other device of the host is there']);
	refuses($who, $dir, "a $_ rule", qr{/filesystem/$_/0.*\Q$dir/full\E.*"devices"}s, [policy($who,
		{$_ => ["$dir/full"]})])
		for qw(read write);
	promises($who, [policy($who, {write => [$dir]})], [read => "$dir/full", 'EACCES', 'a writable folder gives none']);
	for my $device ('/dev/fuse', '/dev/kmsg') {
		next if !-c $device;
		promises($who, [policy($who, {devices => [$device]})], [stat => $device, 'ok', "$device: it is there"]);
		refuses($who, $dir, "a write rule for $device", qr{/filesystem/write/0.*/dev\b.*devices}s, [policy($who,
			{write => [$device]})]);
	}
};

run_cases();
