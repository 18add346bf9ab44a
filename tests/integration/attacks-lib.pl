# What the tests of attacks share: a host with things worth attacking, the program that attacks, and the tables of
# docs/security.md.
use strict;
use warnings;
use FindBin;
use IO::Socket::INET;
use IO::Socket::UNIX;
use IPC::SysV qw(IPC_CREAT);
use Socket qw(SOCK_DGRAM SOCK_SEQPACKET SOCK_STREAM pack_sockaddr_un);
require "$FindBin::Bin/run-lib.pl";

our ($top, $EXEC);
our $BUILD = $ENV{SBX_BUILD} || abs_path("$FindBin::Bin/../../build");
our $ATTACK;
my $word = 'SECRET-' . join '', map { ('a' .. 'z')[rand 26] } 1 .. 16; # none of our words has it by chance
my @made; # how to remove what lies outside of $top

if (!$^C) {
	$ATTACK = "$top/bin/attack";
	copy("$BUILD/tests/hostile/attack", $ATTACK) or die "$BUILD/tests/hostile/attack: $!";
	chmod 0755, $ATTACK or die;
}
END {
	my $status = $?;
	$_->() for @made;
	$? = $status;
}

# A place of the caller's with all that an attack may want, and the facts of it: {secret => PATH ...}. The sockets listen
# as long as this test runs; hostpid is a process of the caller's that holds the secret in every way.
sub host {
	my ($who) = @_;
	my ($home, $project) = ($who->{home}, "$who->{home}/project");
	my %fact = (drow => scalar(reverse $word), home => $home, project => $project, secret => "$home/.ssh/key", size => length $word,
		alias => "$home/alias", socketalias => "$project/socketalias", open => "$top/open", setuid => "$top/bin/setuid",
		runtime => "$top/run-$who->{uid}", unique => "sbx-attack-$$-$who->{uid}");
	put($who, $fact{secret}, $word, 0600);
	put($who, "$home/$_", $word, 0600) for '.netrc';
	put($who, "$home/$_", "# the caller's\n") for qw(.bashrc removable .config/sbx/policies/own.json);
	put($who, "$project/$_", "# protected\n") for qw(.envrc .gdbinit .lldbinit .vimrc .git/config .git/hooks/commit-msg
		.vscode/settings.json sub/.git/config sub/.git/hooks/commit-msg);
	put($who, "$project/.git/HEAD", "ref: refs/heads/main\n");
	put($who, "$_/placeholder", '') for $fact{alias}, $fact{socketalias}, "$home/sockets", "$fact{runtime}/sbx";
	chmod 0700, $fact{runtime}, "$fact{runtime}/sbx";
	symlink "$home/.ssh/key", "$project/link";
	mkdir $fact{open};
	chmod 01777, $fact{open};
	copy($ATTACK, $fact{setuid});
	chown 1, 1, $fact{setuid} if !$>;
	chmod 04755, $fact{setuid};
	my ($major, $minor) = (((stat $fact{secret})[0] >> 8) & 0xfff, (stat _)[0] & 0xff);
	$fact{disk} = "$major:$minor";
	$fact{handle} = `$ATTACK handle $fact{secret}` or die 'no file handles';

	my @hold;
	my $listen = sub {
		my ($path, $type) = @_;
		my $socket = IO::Socket::UNIX->new(Type => $type, Local => $path, $type == SOCK_DGRAM ? () : (Listen => 100)) or die "$path: $!";
		chmod 0777, $path if $path !~ /^\0/;
		$socket->blocking(0);
		push @hold, $socket;
		return $socket;
	};
	$listen->("$home/agent.sock", SOCK_STREAM);
	$listen->("$project/live.sock", SOCK_STREAM);
	$listen->("$home/sockets/s.sock", SOCK_STREAM);
	$listen->("$home/packets.sock", SOCK_SEQPACKET);
	$listen->("$fact{runtime}/bus", SOCK_STREAM);
	$listen->("\0$fact{unique}-stream", SOCK_STREAM);
	my @read = ($listen->("$home/log.sock", SOCK_DGRAM), $listen->("\0$fact{unique}-datagram", SOCK_DGRAM));
	for my $path (qw(docker.sock containerd/containerd.sock podman/podman.sock dbus/system_bus_socket)) {
		put($who, "$top/run-etc-$who->{uid}/" . ($path =~ s{[^/]*$}{}r) . 'placeholder', '');
		$listen->("$top/run-etc-$who->{uid}/$path", SOCK_STREAM);
	}
	my $server = IO::Socket::INET->new(Listen => 100, LocalAddr => '127.0.0.1') or die "a port: $!";
	push @hold, $server;
	$fact{port} = $server->sockport;

	my $tmp = $> ? '/tmp' : "$top/tmp-$who->{uid}";
	mkdir $tmp;
	chmod 01777, $tmp;
	put($who, $_, $word) for "$tmp/$fact{unique}", "/dev/shm/$fact{unique}";
	$fact{ipckey} = 0x5b0000 + $$ % 65536 * 16 + ($who->{uid} ? 1 : 0);
	$fact{shmid} = shmget $fact{ipckey}, 64, IPC_CREAT | 0666 // die "shared memory: $!";
	my $messages = msgget $fact{ipckey}, IPC_CREAT | 0666 // die "messages: $!";
	my $semaphores = semget $fact{ipckey}, 1, IPC_CREAT | 0666 // die "semaphores: $!";
	system($ATTACK, 'queue', "/$fact{unique}") == 0 or die 'a message queue';

	my $pid = fork // die;
	if (!$pid) {
		%ENV = environment($who, {SBX_ATTACK => $word});
		become($who);
		setpgrp;
		chdir "$home/.ssh" or die;
		open my $secret, '<', 'key' or die;
		POSIX::dup2(fileno $secret, 77);
		exec 'sleep', '600' or POSIX::_exit(99);
	}
	select undef, undef, undef, 0.01 while (slurp("/proc/$pid/comm") // '') !~ /sleep/;
	$fact{hostpid} = $pid;
	my $test = $$;
	push @made, sub {
		return if $$ != $test;
		kill 'KILL', $pid;
		waitpid $pid, 0;
		unlink "$tmp/$fact{unique}", "/dev/shm/$fact{unique}";
		shmctl $fact{shmid}, 0, 0;
		msgctl $messages, 0, 0;
		semctl $semaphores, 0, 0, 0;
		system "$BUILD/tests/hostile/attack", 'unqueue', "/$fact{unique}";
		@hold = ();
	};
	return {who => $who, fact => \%fact, word => $word, read => \@read, pid => $pid, tmp => $tmp};
}

# Words before a command: in mounts of the test's own, where the host has bind mounts, sockets in /run and a /tmp of its
# own; the caller, for good. With "bound" a fresh /proc cannot be mounted, as in most containers.
sub place {
	my ($host, $bound, $who) = @_;
	my $fact = $host->{fact};
	return () if $>;
	my $mounts = "mount --bind $fact->{home}/.ssh $fact->{alias}; mount --bind $fact->{home}/sockets $fact->{socketalias};" .
		"mount --bind $top/run-etc-$host->{who}{uid} /run; mount --bind $host->{tmp} /tmp;";
	$mounts .= 'mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys;' if $bound;
	return ('unshare', '-m', '--propagation', 'private', 'sh', '-ec', "$mounts\n" . 'exec "$@"', 'sh',
		'setpriv', '--reuid', $who->{uid}, '--regid', $who->{gid}, '--clear-groups', '--');
}

# The attacks that the program has: {name, needs, no_control, tries}.
sub attacks {
	return map { my %a; @a{qw(name needs no_control tries)} = split /\t/; \%a } split /\n/, `$ATTACK list`;
}

# Runs attacks: attempts($host, [WORD...] before the program, [NAME...], bound => 1, terminal => 1,
# by => who calls, if not whose host it is). Gives {NAME => ANSWER}
# and what was said on standard error. The caller leaves descriptors, a variable and a key lying about. Standard input,
# output and error are files; or all three a terminal of the caller's.
sub attempts {
	my ($host, $before, $names, %how) = @_;
	my ($who, $fact) = @$host{qw(who fact)};
	my $files = "$top/standard-$who->{uid}";
	put($who, "$files/in", "input\n");
	put($who, "$files/$_", '') for qw(out err);
	my ($master, $slave) = terminal();
	my $device = (stat $slave)[6];
	chown $who->{uid}, -1, $slave;
	my $by = $how{by} // $who;
	local $fact->{jobs} = "$top/jobs-$by->{uid}";
	put($by, "$fact->{jobs}/attack", $word, 0644);
	chmod 0700, $fact->{jobs};
	my @facts = map { "$_=$fact->{$_}" } sort keys %$fact;
	my ($root) = callers();
	my @redirect = $how{terminal} ? () : ('sh', '-c', 'd=$1; shift; exec "$@" <$d/in >>$d/out 2>>$d/err', 'sh', $files);
	my $got = run($> ? $who : $root, [place($host, $how{bound}, $by), keyring($who), @redirect, @$before, $ATTACK, @facts, "terminal=$device", @$names],
		cwd => "$who->{home}/project", env => {environment($who, {SBX_ATTACK => $word, SBX_STATE => $fact->{jobs}})}, before => sub {
			open my $secret, '<', $fact->{secret} or die;
			POSIX::dup2(fileno $secret, $_) for 3, 5, 77, 200, 255;
			return if !$how{terminal};
			POSIX::setsid();
			ioctl $slave, 0x540e, 0 or die "a terminal: $!"; # TIOCSCTTY
			POSIX::dup2(fileno $slave, $_) for 0 .. 2;
		});
	close $slave;
	system "rm -rf $host->{tmp}/attack[-.]*"; # of the control
	my $out = $how{terminal} ? '' : slurp("$files/out");
	1 while $how{terminal} && sysread $master, $out, 65536, length $out;
	my %answer = $out =~ /^([a-z0-9-]+): ([^\r\n]*)/mg;
	return (\%answer, slurp("$files/err") . $got->{err});
}

# A new terminal, as the caller sits before: both ends.
sub terminal {
	open my $master, '+<', '/dev/ptmx' or die "/dev/ptmx: $!";
	my ($number, $unlock) = ('', pack 'i', 0);
	ioctl $master, 0x80045430, $number = pack 'I', 0 or die "TIOCGPTN: $!";
	ioctl $master, 0x40045431, $unlock or die "TIOCSPTLCK: $!";
	sysopen my $slave, '/dev/pts/' . unpack('I', $number), POSIX::O_RDWR() | POSIX::O_NOCTTY() or die "a terminal: $!";
	return ($master, $slave);
}

# A key in a session keyring, where the kernel has them.
sub keyring {
	my ($who) = @_;
	my $program = "$BUILD/tests/hostile/keyring";
	copy($program, "$top/bin/keyring") or die "$program: $!";
	chmod 0755, "$top/bin/keyring";
	return run($who, ["$top/bin/keyring", 'add', 'true'])->{code} ? () : ("$top/bin/keyring", 'add');
}

# What an attack from inside may have changed outside, as text.
sub outside {
	my ($host) = @_;
	my ($who, $fact, $read, $pid) = @$host{qw(who fact read pid)};
	my $received = join '', map { my $text = ''; $_->recv($text, 100); $text } @$read;
	my $files = listing($who->{home}) =~ s{^.* \./project/attack-.*\n}{}mgr;
	my $settings = join '', map { slurp($_) // '-' } '/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe',
		'/proc/sys/kernel/hostname', "/proc/$pid/oom_score_adj", "/proc/$pid/limits";
	my $alive = (slurp("/proc/$pid/status") // '') =~ /^State:\s+([RSD])/m ? 'alive' : 'gone';
	my $contents = join '', map { slurp("$who->{home}/$_") // '-' } qw(.ssh/key .bashrc project/.envrc project/.git/config);
	return "received $received\n$files\n$settings\n$alive\n$contents";
}

# One attack that the test makes itself, by each caller: code->($who) gives what kept it, or dies with what it got at.
my (@rows, %kept_by);
sub attack {
	my ($name, $tries, $code) = @_;
	push @rows, [$name, $tries];
	for my $who (callers()) {
		SKIP: {
			skip "$who->{name}: $name: needs root", 1 if $> && $tries =~ /another user/;
			fresh($who);
			my $kept = eval { local $SIG{ALRM} = sub { die "it hangs\n" }; alarm 60; $code->($who) };
			alarm 0;
			chomp(my $why = $@);
			is($why, '', "$who->{name}: $name") and $kept_by{$name}{$kept}++;
		}
	}
}

# When all have been made.
sub concluded {
	my ($region) = @_;
	is(join(' | ', left($top)), '', 'no process is left');
	documented($region, ['attack', 'what is tried', 'what happens'], map { [@$_, join ', ', sort keys %{$kept_by{$_->[0]} || {}}] } @rows);
	done_testing();
}

# The caller's project and home as they were.
sub fresh {
	my ($who) = @_;
	my $home = $who->{home};
	system 'rm', '-rf', "$home/project", "$home/.ssh", "$home/out";
	put($who, "$home/project/$_", "$_\n") for qw(secret decoy dir/secret dir2/secret vault/a data/a data/key .vscode/tasks.json);
	put($who, "$home/project/secret", "SECRET\n");
	put($who, "$home/project/dir/secret", "SECRET\n");
	put($who, "$home/project/vault/key", "SECRET\n");
	put($who, "$home/.ssh/key", "SECRET\n");
	put($who, "$home/out/placeholder", '');
}

# A table of docs/security.md, between two marked lines. SBX_DOC=1 writes it; else it has to name the same attacks.
sub documented {
	my ($region, $head, @rows) = @_;
	my $file = "$FindBin::Bin/../../docs/security.md";
	my $text = slurp($file);
	my ($before, $now, $after) = $text =~ /\A(.*<!-- $region -->\n)(.*?)(<!-- end of $region -->.*)\z/s or die "$file has no place for $region";
	my $line = sub { '| ' . join(' | ', map { s/\|/\\|/gr } @_) . " |\n" };
	my $table = join '', $line->(@$head), $line->(('---') x @$head), map { $line->(@$_) } @rows;
	if ($ENV{SBX_DOC}) {
		open my $out, '>', $file or die "$file: $!";
		print $out $before, $table, $after;
		close $out or die;
		$now = $table;
	}
	my @named = $now =~ /^\| ([a-z0-9][^|]*?) \|/mg;
	shift @named if @named && $named[0] eq 'attack';
	is_deeply(\@named, [map { $_->[0] } @rows], "docs/security.md: the table of \"$region\" has these attacks (else: SBX_DOC=1 prove this test)");
}

1;
