#!/usr/bin/perl
# What every built-in policy takes away beside files: privileges, namespaces of the host, what is shared by number or name
# (IPC), what is not read-only of /sys and /proc, live sockets. One sandbox a policy and caller.
use strict;
use warnings;
use FindBin;
use IO::Socket::UNIX;
use POSIX ();
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $PLAN, $EXEC);

my %calls = (x86_64 => {mq_open => 240, mq_unlink => 241, unshare => 272}, aarch64 => {mq_open => 180, mq_unlink => 181, unshare => 97});
my $calls = $calls{(POSIX::uname())[4]} or plan skip_all => 'the numbers of system calls are not known here';
my $key = 0x5b780000 + $$ % 65536;
my $queue = "sbx-test.$$";

# What the host has by number and by name, open to everybody.
my $shm = shmget($key, 4096, 01666) // die "shmget: $!";
my $mq = syscall($calls->{mq_open}, $queue, 0102, 0666, 0);
die "mq_open: $!" if $mq < 0;
POSIX::close($mq);
END { shmctl($shm, 0, 0) if defined $shm; syscall($calls->{mq_unlink}, $queue) if $queue }

my $program = <<'END';
use Errno; use Fcntl; use Socket;
my ($key, $queue, $mq_open, $unshare, @sockets) = @ARGV;
sub name { return (grep { $!{$_} } sort keys %!)[0] }
sub say_it { print "$_[0] = $_[1]\n" }
open my $status, '<', '/proc/self/status';
/^(Cap\w+|NoNewPrivs|Groups):\s*(.*?)\s*$/ and say_it($1, $2) while <$status>;
say_it("ns $_", readlink "/proc/self/ns/$_") for qw(cgroup ipc mnt net pid user uts);
open my $groups, '<', '/proc/self/cgroup';
say_it('cgroups', join ' ', grep { !/:\/$/ } map { s/\n//r } <$groups>);
say_it('user namespace', syscall($unshare, 0x10000000) < 0 ? 'no' : 'made');
say_it('shared memory', defined shmget($key, 4096, 0) ? 'there' : name());
say_it('message queue', syscall($mq_open, $queue, 0, 0, 0) < 0 ? name() : 'there');
for (qw(/dev /dev/mqueue /dev/shm /dev/pts /sys)) {
	my $ok = opendir my $dir, $_;
	say_it("list $_", $ok ? join ' ', sort grep { !/^\.\.?$/ } readdir $dir : name());
}
for (qw(/sys/x /sys/kernel/x /sys/fs/cgroup/x /dev/x /dev/pts/x /proc/x)) {
	say_it("make $_", sysopen(my $file, $_, O_WRONLY | O_CREAT | O_EXCL) ? 'made' : name());
}
for (qw(/proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sysrq-trigger /proc/irq/default_smp_affinity
	/sys/power/state /sys/kernel/mm/transparent_hugepage/enabled /dev/mem /dev/kmsg /dev/sda /dev/vda /dev/kvm)) {
	say_it("write $_", sysopen(my $file, $_, O_WRONLY) ? 'open' : name());
}
open my $mounts, '<', '/proc/self/mountinfo';
say_it('writable mounts', join ' ', sort map { $_->[4] } grep { $_->[5] !~ /\bro\b/ } map { [split ' '] } <$mounts>);
for (@sockets) {
	my $s;
	say_it("connect $_", socket($s, AF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un($_)) ? 'yes' : name());
}
say_it('end', 1);
END

for my $who (callers()) {
	my $home = $who->{home};
	my @sockets;
	my @keep = map {
		my $path = $_;
		my $server = IO::Socket::UNIX->new(Local => $path, Listen => 1) or die "$path: $!";
		chmod 0777, $path;
		push @sockets, $path;
		$server;
	} "$home/agent.sock", "$home/project/dev.sock", "$top/docker-$who->{uid}.sock";
	my $control = 'use Socket; my $s; my ($key, $queue, $mq_open, $path) = @ARGV; print defined shmget($key, 4096, 0) ? 1 : 0,
		syscall($mq_open, $queue, 0, 0, 0) < 0 ? 0 : 1, socket($s, AF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un($path)) ? 1 : 0';
	is(run($who, ['perl', '-e', $control, $key, $queue, $calls->{mq_open}, $sockets[0]])->{out}, '111',
		"$who->{name}: (on the host shared memory, queue and socket can be used)");
	for my $policy (qw(default workspace strict query-script agent-container)) {
		my $name = "$who->{name}: $policy";
		my $got = run($who, [$EXEC, '-p', $policy, ($policy =~ /strict|query/ ? () : ('--chdir', '/')), '--', '/usr/bin/perl', '-e', $program, $key, $queue,
			@$calls{qw(mq_open unshare)}, @sockets]);
		my %is = map { /^(.*?) = (.*)$/ ? ($1, $2) : () } split /\n/, $got->{out};
		is($is{end}, 1, "$name: looks around") or diag($got->{err});
		is($is{$_}, '0' x 16, "$name: $_ is empty") for qw(CapInh CapPrm CapEff CapBnd CapAmb);
		is($is{NoNewPrivs}, 1, "$name: no new privileges");
		isnt($is{"ns $_"}, readlink "/proc/self/ns/$_", "$name: a $_ namespace of its own") for qw(cgroup ipc mnt net pid user uts);
		is($is{cgroups}, '', "$name: no cgroup of the host's is named");
		is($is{'user namespace'}, 'no', "$name: no user namespace can be made");
		isnt($is{'shared memory'}, 'there', "$name: the host's shared memory is not there");
		isnt($is{'message queue'}, 'there', "$name: nor is its message queue");
		is($is{"list /dev/$_"}, '', "$name: /dev/$_ is empty") for qw(mqueue shm);
		is($is{'list /dev/pts'}, 'ptmx', "$name: no terminal of the host's is there");
		like($is{'list /dev'}, qr/^(?:console )?core fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero$/, "$name: /dev is minimal");
		isnt($is{"make $_"}, 'made', "$name: $_ cannot be made") for map { /^make (.*)/ ? $1 : () } sort keys %is;
		isnt($is{"write $_"}, 'open', "$name: $_ cannot be written to") for map { /^write (.*)/ ? $1 : () } sort keys %is;
		unlike($is{'writable mounts'}, qr{(?:^| )/(?:sys|proc/|dev/(?!shm|mqueue|pts|console)|\S*cgroup)}, "$name: no mount of /sys, and no part of /proc, is writable");
		isnt($is{"connect $_"}, 'yes', "$name: $_ does not answer") for @sockets;
		if ($policy =~ /strict|query/) {
			is($is{'list /sys'}, 'ENOENT', "$name: there is no /sys");
			like(run($who, [$PLAN, '-p', $policy, '--sockets'])->{out}, qr/^no socket or FIFO/, "$name: no socket or FIFO is left");
		} else {
			isnt($is{'list /sys'}, 'ENOENT', "$name: there is a /sys");
		}
	}

	# What runtimes ask of /sys they do without.
	my %programs = (nproc => ['nproc', 'nproc'], 'the C library' => ['getconf', 'getconf _NPROCESSORS_ONLN'],
		Python => ['python3', '/usr/bin/python3 -c "import os; print(os.cpu_count())"'],
		'Node.js' => ['node', 'node -e "console.log(require(\"os\").cpus().length)"'],
		Java => ['java', 'java -Xmx64m -XshowSettings:system -version 2>&1 | sed -n "s/.*Effective CPU Count: *//p; s/^openjdk.*/1/p" | head -n 1']);
	for my $program (sort keys %programs) {
		my ($needs, $script) = @{$programs{$program}};
		SKIP: {
			skip "$needs is not installed", 1 if !-x "/usr/bin/$needs";
			like(inside($who, ['-p', 'strict'], $script), qr/^[1-9][0-9]*$/, "$who->{name}: $program counts processors without /sys");
		}
	}
	unlink @sockets;
}
done_testing();
