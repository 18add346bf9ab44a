#!/usr/bin/perl
# The images of contrib/container: made by docker and by podman, of a Debian and of a root of busybox, with the example
# server, which is sent real requests.
use strict;
use warnings;
use FindBin;
use IO::Socket::INET;
use JSON::PP ();
use Test::More;
BEGIN { require "$FindBin::Bin/docker-lib.pl" }
our ($top, $root);

needed(qw(podman crun systemd-nspawn busybox ldd));
my $source = abs_path("$FindBin::Bin/../..");
my $rootfs = fetched('rootfs');

# The roots: python is this machine's, with what a root lacks of its libraries.
sub add_python {
	my ($dir) = @_;
	my ($python) = glob '/usr/bin/python3.[0-9]*' or plan(skip_all => '/usr/bin has no python3');
	my $lib = '/usr/lib/' . $python =~ s{.*/}{}r;
	system('mkdir', '-p', "$dir/usr/bin", "$dir/usr/lib") == 0 && system('cp', '-r', $lib, "$dir/usr/lib") == 0 or die;
	my %libraries = map { $_ => 1 } `ldd $python $lib/lib-dynload/*.so` =~ m{(/\S+) \(0x}g;
	for my $file ($python, sort keys %libraries) {
		next if -e "$dir$file";
		system('install', '-D', $file, "$dir$file") == 0 or die;
	}
	symlink $python, "$dir/usr/bin/python3";
}

system('cp', '-a', $rootfs, "$top/debian") == 0 or die;
my $busybox = "$top/busybox";
mkdir $_ or die "$_: $!" for $busybox, map { "$busybox/$_" } qw(bin etc usr usr/lib usr/lib64 tmp run proc sys dev);
symlink "usr/$_", "$busybox/$_" or die for qw(lib lib64);
chmod 01777, "$busybox/tmp";
copy(which('busybox'), "$busybox/bin/busybox") && chmod 0755, "$busybox/bin/busybox" or die;
for my $name (split ' ', `busybox --list`) { symlink 'busybox', "$busybox/bin/$name" if !-e "$busybox/bin/$name" }
put($root, "$busybox/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
add_python("$top/$_") for qw(debian busybox);

# What podman makes is gone with its namespaces and $top. It takes a host that has version 1 and 2 of cgroups for one of
# version 2.
my $pod = "$top/podman";
mkdir $_ or die for $pod, map { "$pod/$_" } qw(run lib state);
my @podman = (processes(<<"END"), 'podman', '--root', "$pod/lib", '--runroot', "$pod/state", '--storage-driver', 'overlay',
mount --bind $pod/run /run
umount /sys/fs/cgroup/unified 2>/dev/null || :
END
	'--cgroup-manager', 'cgroupfs', '--events-backend', 'none', '--runtime', 'crun');
my @docker = docker();
my %engines = (docker => \@docker, podman => \@podman);

sub done {
	my ($name, @words) = @_;
	my $got = run($root, \@words, cwd => $source, env => {DOCKER_BUILDKIT => 1}, limit => 900);
	is($got->{code}, 0, $name) or diag($got->{out}, $got->{err}), BAIL_OUT($name);
	return $got->{out};
}

my %says = (IMAGE_SAYS => 'two words', PATH => '/opt/tool:/usr/bin:/bin');
mkdir "$top/empty" or die;
for my $kind (qw(debian busybox empty)) {
	done("$kind: packed", 'tar', '-C', "$top/$kind", '-cf', "$top/$kind.tar", '.');
	for my $engine (sort keys %engines) {
		done("$kind: an image for $engine", @{$engines{$engine}}, 'import', map({ ('-c', "ENV $_=\"$says{$_}\"") } sort keys %says), "$top/$kind.tar", $kind);
	}
	unlink "$top/$kind.tar";
}

# docker compiles; podman gets that stage from it, and finds nothing left to do there.
my $file = 'contrib/container/Dockerfile';
my @build = ('build', '--network', 'host', '-f', $file, '--build-arg', 'http_proxy=http://user:password@127.0.0.1:1');
done('docker build compiles', @docker, 'build', '--network', 'host', '-f', $file, '--target', 'build', '--build-arg', 'BUILDER=debian', '-t', 'builder', '.');
done('the stage, out of docker', @docker, 'save', '-o', "$top/builder.tar", 'builder');
done('the stage, into podman', @podman, 'load', '-q', '-i', "$top/builder.tar");
unlink "$top/builder.tar";
for my $engine (sort keys %engines) {
	for my $kind (qw(debian busybox empty)) {
		done("$engine build: $kind, with sbx", @{$engines{$engine}}, @build, '--build-arg', "BASE=$kind", '--build-arg', 'BUILDER=builder',
			'--build-arg', 'BUILD=seven', '-t', "$kind-sbx", '.');
		done("$engine build: $kind, with the server", @{$engines{$engine}}, 'build', '-f', 'contrib/container/server/Dockerfile',
			'--build-arg', "IMAGE=$kind-sbx", '-t', "$kind-server", '.') if $kind ne 'empty';
	}
}

# What the images say, and that the script makes the same of local files.
done('tree', 'contrib/container/tree', "$top/tree", '--build', 'seven', '--base', 'busybox', map { ('--env', "$_=$says{$_}") } sort keys %says);
my $listed = 'cd $0 && find opt/sbx etc/sbx -type f | sort | xargs ls -ln | while read -r mode _ uid gid _ _ _ _ name; do echo $mode $uid $gid $name; done; cat etc/sbx/*.json';
my $tree = done('tree: listed', 'sh', '-c', $listed, "$top/tree");
is_deeply(JSON::PP::decode_json(slurp("$top/tree/etc/sbx/image-env.json")), \%says, 'tree: the variables');
is_deeply(JSON::PP::decode_json(slurp("$top/tree/etc/sbx/image.json")), {build => 'seven', base => 'busybox'}, 'tree: the names');
my %odd = (ODD => "a \"b\\c\"\n\t\x01 \$x %s");
done('tree: odd values', 'contrib/container/tree', "$top/odd", '--env', "ODD=$odd{ODD}");
is_deeply(JSON::PP::decode_json(slurp("$top/odd/etc/sbx/image-env.json")), \%odd, 'tree: any value is kept');
is(run($root, ['contrib/container/tree', "$top/none", '--env'], cwd => $source)->{code}, 2, 'tree: what it does not know is an error');
for my $engine (sort keys %engines) {
	my @run = (@{$engines{$engine}}, 'run', '--rm', '--network', 'none', '--security-opt', 'seccomp=unconfined', $engine eq 'podman' ? ('--cgroups', 'disabled') : ());
	like(done("$engine: in an image of nothing else", @run, '--tmpfs', '/tmp', 'empty-sbx', map({ "/opt/sbx/bin/$_" } 'sbx-exec', 'sbx-plan'), '--version'), qr/^sbx-plan [\d.]+$/,
		"$engine: a command runs there");
	is(done("$engine: listed", @run, 'busybox-sbx', 'sh', '-c', $listed, '/'), $tree, "$engine: the image has what the script makes, and no proxy");
}

# The server. A request is sent, and what comes back is {status, body}; of one that is given up at once: its socket.
my ($token, $key) = ("token-$$", "key-$$");
put($root, "$top/secrets/token", "$token\n");
my $port;
sub ask {
	my ($command, $with) = (@_, $token);
	my $body = JSON::PP->new->utf8->encode({command => $command});
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or die "connect: $!";
	print $socket "POST /run HTTP/1.0\r\nAuthorization: Bearer $with\r\nContent-Length: " . length($body) . "\r\n\r\n$body";
	$socket->flush;
	return $socket;
}
sub answer {
	my ($socket) = @_;
	my $text = do { local $/; <$socket> } // '';
	my ($status, $body) = $text =~ m{^HTTP/1\.0 (\d+) .*?\r\n\r\n(.*)}s or return {status => 0, body => $text};
	return {status => $status, body => JSON::PP::decode_json($body)};
}
sub shell { return answer(ask(['sh', '-c', @_])) }
sub output { my ($got) = @_; return $got->{status} == 200 ? "$got->{body}{stdout}{text}$got->{body}{stderr}{text}" : "status $got->{status}" }

# The host's numbers of the processes below one, and whether it comes to what is wanted within a time that only a hang takes.
sub below {
	my ($top_pid) = @_;
	my (%children, @found);
	for my $stat (glob '/proc/[0-9]*/stat') {
		my ($pid, $parent) = (slurp($stat) // '') =~ /^(\d+) \(.*\) . (\d+) /s or next;
		push @{$children{$parent}}, $pid;
	}
	my @open = ($top_pid);
	while (defined(my $pid = shift @open)) { push @found, @{$children{$pid} // []}; push @open, @{$children{$pid} // []} }
	return @found;
}
sub comes { my ($what) = @_; for (1 .. 600) { return 1 if $what->(); select undef, undef, undef, 0.05 } return 0 }

# The server's container: the number that the host has for its first process, which is found by a variable of its own.
sub started {
	my ($name, @words) = @_;
	my $engine = fork // die;
	if (!$engine) {
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', "$top/$name.log" or die;
		open STDERR, '>&', \*STDOUT;
		exec @words or POSIX::_exit(99);
	}
	comes(sub { ($port) = (slurp("$top/$name.log") // '') =~ /^listening on 127\.0\.0\.1:(\d+)$/m; $port || waitpid($engine, POSIX::WNOHANG()) });
	ok($port, "$name: the server listens") or diag(slurp("$top/$name.log")), BAIL_OUT($name);
	my ($first) = grep { (slurp("/proc/$_/environ") // '') =~ /(^|\0)API_KEY=$key\0/ && slurp("/proc/$_/status") =~ /^NSpid:.*\t1$/m }
		map { m{(\d+)} } glob '/proc/[0-9]*';
	return ($engine, $first);
}

# What a command tries: whatever it gets at is printed.
my $attempts = <<'END';
import glob, os, socket, sys
token, key, port = sys.argv[1:]
def has(path, what=b""):
    try:
        with open(path, "rb") as file: return what in file.read(1 << 20)
    except OSError: return False
for root in ["", *glob.glob("/proc/*/root"), *glob.glob("/proc/*/cwd"), *glob.glob("/proc/*/task/*/root")]:
    for path in ["/run/secrets/token", "/var/run/secrets/token", "/state/log"]:
        if has(root + path): print("read", root + path)
for path in [*glob.glob("/proc/*/environ"), *glob.glob("/proc/*/task/*/environ")]:
    if has(path, b"API_KEY"): print("read", path)
for top in ["/run", "/state", "/tmp", "/dev/shm", "/etc", "/opt", "/root", "/home"]:
    for at, _, names in os.walk(top):
        for name in names:
            if has(os.path.join(at, name), token.encode()): print("found", at, name)
if key in str(os.environ): print("the variable")
for path in ["/new", "/etc/sbx/new", "/etc/sbx/image-env.json", "/opt/server/server.py", "/opt/sbx/bin/sbx-exec", "/state/new", "/run/secrets/new"]:
    try: open(path, "ab"); print("wrote", path)
    except OSError: pass
try: socket.create_connection(("127.0.0.1", int(port)), 1); print("connected")
except OSError: pass
END

# As a cluster's pod is restricted, but for the filter; and as the engine has it.
my @restricted = ('--user', '1000:1000', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--read-only', '--tmpfs', '/tmp');
my @servers = (
	['docker', 'debian', 1000, @restricted, '--security-opt', 'seccomp=/usr/share/containers/seccomp.json'],
	['docker', 'busybox', 0, '--user', '0', '--cap-drop', 'ALL', map({ ('--cap-add', $_) } qw(SETFCAP SETUID SETGID KILL DAC_OVERRIDE)), '--security-opt', 'seccomp=unconfined'],
	['podman', 'debian', 0, '--user', '0', '--cgroups', 'disabled'],
	['podman', 'busybox', 1000, @restricted, '--cgroups', 'disabled'],
	['systemd-nspawn', 'debian', 0],
);
# The same without an engine that builds.
done('tree: into a root', 'contrib/container/tree', "$top/debian", map { ('--env', "$_=$says{$_}") } sort keys %says);
put($root, "$top/debian/$_->[1]", slurp("$source/contrib/container/server/$_->[0]")) for ['server.py', 'opt/server/server.py'], ['policy.json', 'etc/sbx/policies/server.json'];
my @nspawn = (processes(''), 'systemd-nspawn', '-q', '--pipe', '--register=no', '--keep-unit', '-D', "$top/debian", "--setenv=API_KEY=$key", "--setenv=PATH=$says{PATH}",
	"--bind-ro=$top/secrets:/run/secrets", '--tmpfs=/state:mode=1777', 'python3', '/opt/server/server.py');
my @engine_pids;
END { kill 'KILL', @engine_pids }
for my $server (@servers) {
	my ($engine, $kind, $uid, @options) = @$server;
	my $name = "$engine, $kind, " . ($uid ? 'a user' : 'root');
	my @run = $engine eq 'systemd-nspawn' ? (@nspawn, '127.0.0.1:0') : (@{$engines{$engine}}, 'run', '--rm', '--network', 'host', '-e', "API_KEY=$key",
		'-v', "$top/secrets:/run/secrets:ro", '--tmpfs', '/state:mode=1777', @options, "$kind-server", '127.0.0.1:0');
	my ($engine_pid, $first) = started("$engine-$kind", @run);
	push @engine_pids, $engine_pid;
	my $files = sub { my $at = "/proc/$first/root"; return scalar `find $at/ $at/tmp $at/run $at/state $at/dev/shm -xdev | sort` };
	my $cgroups = sub { return scalar `find /sys/fs/cgroup -type d -path '*/sbx-env.$$/*' | sort` };
	my $sleeping = sub { return scalar grep { (slurp("/proc/$_/cmdline") // '') =~ /^sleep\0004711$$\0/ } below($first) };
	my $log = sub { return slurp("/proc/$first/root/state/log") // '' };

	is(output(shell('id -u; pwd')), ($uid || 65534) . "\n/tmp\n", "$name: who a command is, and where");
	my ($files_before, $cgroups_before, @idle) = ($files->(), $cgroups->(), below($first));
	is(scalar @idle, 1, "$name: an idle server is one process below the first");

	my (@open, @wrong);
	my $check = sub {
		my ($n, $socket) = @{shift @open};
		my $said = output(answer($socket));
		push @wrong, "$n: $said" if $said ne "/dev/shm:\n$n\n\n/tmp:\n$n\n";
	};
	for my $n (1 .. 200) {
		push @open, [$n, ask(['sh', '-c', 'echo >/tmp/$0; echo >/dev/shm/$0; kill -9 -1 2>/dev/null; sleep 0.1; ls -A /dev/shm /tmp', "$n"])];
		$check->() if @open == 8;
	}
	$check->() while @open;
	is("@wrong", '', "$name: 200 requests, none of which sees or stops another");

	my %env = output(shell('env')) =~ /^(\w+)=(.*)$/mg;
	is_deeply({map { $_ => $env{$_} } keys %says}, \%says, "$name: a command has the image's variables");
	is(join(' ', grep { !exists $says{$_} && !/^(HOME|PWD|OLDPWD|SHLVL|_|LC_CTYPE|LANG|USER|LOGNAME|SHELL)$/ } sort keys %env), '',
		"$name: and none of the server's but what the policy default takes over");
	is(output(answer(ask(['python3', '-c', $attempts, $token, $key, $port]))), '', "$name: neither secrets nor the server can be reached");
	is(answer(ask(['true'], 'wrong'))->{status}, 401, "$name: no command without the token");
	is(answer(ask($_))->{status}, 400, "$name: a request that is none") for {}, [], ["a\0b"], [1];
	is(shell('yes')->{body}{outcome}, 'output', "$name: output is bounded");
	is(answer(ask(['python3', '-c', 'x = b"x" * (400 << 20); input()']))->{body}{outcome}, 'memory', "$name: memory is bounded");
	is(shell('sleep 60')->{body}{outcome}, 'timeout', "$name: time is bounded") if $server == $servers[0];

	# Clients that go away while their commands ignore that they should end, in the background too.
	my @gone = map { ask(['sh', '-c', 'trap "" TERM HUP; echo >/tmp/left; setsid sleep $0 & sleep $0 & sleep $0', "4711$$"]) } 1 .. 8;
	ok(comes(sub { $sleeping->() == 24 }), "$name: eight commands run");
	is(shell('true')->{status}, 503, "$name: and no ninth");
	close $_ for @gone;
	ok(comes(sub { (() = $log->() =~ /: the client has gone$/mg) == 8 }), "$name: their clients have gone");
	is_deeply([below($first)], \@idle, "$name: and nothing runs");

	my $left = ask(['sh', '-c', 'setsid sleep $0 & sleep $0', "4711$$"]);
	ok(comes(sub { $sleeping->() == 2 }), "$name: a command runs");
	kill 'KILL', grep { (slurp("/proc/$_/cmdline") // '') =~ m{^/opt/sbx/bin/sbx-exec\0} } below($first);
	is(answer($left)->{status}, 500, "$name: its sbx-exec is killed");
	ok(comes(sub { "@{[below($first)]}" eq "@idle" }), "$name: and nothing runs");

	is(output(shell('echo fine')), "fine\n", "$name: the next request is served");
	is($files->(), $files_before, "$name: no file is left");
	is($cgroups->(), $cgroups_before, "$name: no control group is left");
	kill 'TERM', $first;
	waitpid $engine_pid, 0;
	is($?, 0, "$name: the server ends when it is told to") or diag(slurp("$top/$engine-$kind.log"));
	pop @engine_pids;
}
done_testing();
