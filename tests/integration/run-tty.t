#!/usr/bin/perl
# The command's terminal, through a scripted one: what a person types and sees, in a shell and in the sandbox.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use Fcntl qw(O_RDWR O_NOCTTY O_NONBLOCK);
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

my ($TIOCSPTLCK, $TIOCGPTN, $TIOCSWINSZ) = (0x40045431, 0x80045430, 0x5414);
$SIG{PIPE} = 'IGNORE';

# Starts a command on a terminal of its own, as a login does. {slave} stays open here.
sub terminal {
	my ($who, $command, %how) = @_;
	my $number = pack 'i', 0;
	sysopen my $master, '/dev/ptmx', O_RDWR | O_NOCTTY | O_NONBLOCK or die "/dev/ptmx: $!";
	ioctl $master, $TIOCSPTLCK, $number or die;
	ioctl $master, $TIOCGPTN, $number or die;
	my $path = '/dev/pts/' . unpack 'i', $number;
	sysopen my $slave, $path, O_RDWR | O_NOCTTY or die "$path: $!";
	chown $who->{uid}, -1, $path if !$>;
	if ($how{settings}) {
		my $termios = POSIX::Termios->new;
		$termios->getattr(fileno $slave);
		$how{settings}->($termios);
		$termios->setattr(fileno $slave, POSIX::TCSANOW());
	}
	my $pid = fork // die;
	if (!$pid) {
		POSIX::setsid();
		sysopen my $tty, $path, O_RDWR or die;
		POSIX::dup2(fileno $tty, $_) for 0 .. 2;
		POSIX::close($_) for 3 .. 20;
		$SIG{$_} = 'DEFAULT' for qw(INT QUIT HUP PIPE);
		%ENV = (environment($who), TERM => 'dumb', PS1 => 'outer> ', HISTFILE => '', %{$how{env} || {}});
		become($who);
		chdir "$who->{home}/project" or die;
		exec @$command or POSIX::_exit(99);
	}
	my $t = {pid => $pid, master => $master, slave => $slave, path => $path, rdev => (stat $slave)[6], new => '', seen => ''};
	$t->{settings} = settings($t);
	return $t;
}

# Reads what has come, waiting for some at most so long; false when nothing came.
sub take {
	my ($t, $seconds) = @_;
	my $bits = '';
	vec($bits, fileno $t->{master}, 1) = 1;
	return 0 if !select $bits, undef, undef, $seconds;
	my $n = sysread $t->{master}, my $data, 65536;
	return 0 if !$n;
	$t->{new} .= $data;
	$t->{seen} .= $data;
	return 1;
}

# Whether this comes, in half a minute or so many seconds; what comes with it is then behind us.
sub comes {
	my ($t, $what, $seconds) = @_;
	for (my $end = time + ($seconds || 30); time < $end; take($t, 0.5)) {
		next if $t->{new} !~ $what;
		$t->{match} = substr $t->{new}, $-[0], $+[0] - $-[0];
		$t->{new} = substr $t->{new}, $+[0];
		return 1;
	}
	diag("$what did not come, but: $t->{new}") if !$seconds;
	return 0;
}

sub type {
	my ($t, $keys) = @_;
	syswrite $t->{master}, $keys;
}

# A line for a shell, its answer, which its echo must not look like, and the next prompt.
sub answers {
	my ($t, $line, $what) = @_;
	type($t, "$line\n");
	return comes($t, $what) && comes($t, qr/(?:outer|inner)> /);
}

sub settings {
	my ($t) = @_;
	my $termios = POSIX::Termios->new;
	$termios->getattr(fileno $t->{slave}) or die;
	return join ' ', map({ $termios->$_ } qw(getiflag getoflag getcflag getlflag)), map { $termios->getcc($_) } 0 .. 10;
}

# Until its end: the exit code, or -signal.
sub end {
	my ($t) = @_;
	my $end = time + 30;
	while (waitpid($t->{pid}, POSIX::WNOHANG()) == 0) {
		take($t, 0.02);
		next if time < $end;
		kill 'KILL', $t->{pid};
		diag("no end, but: $t->{new}");
	}
	my $status = $?;
	1 while take($t, 0.05);
	return $status & 127 ? -($status & 127) : $status >> 8;
}

# Waits until a file says something, and gives that.
sub appears {
	my ($path) = @_;
	for (1 .. 300) {
		my $text = slurp($path);
		return $text if defined $text && $text =~ /\n/;
		select undef, undef, undef, 0.1;
	}
	return '';
}

# A shell's sandboxed command, its end by these keys or by itself, its exit code, and the settings after it.
sub ends {
	my ($t, $name, $line, $keys, $code) = @_;
	type($t, "$line; echo rc=\$?\n");
	if (defined $keys) {
		comes($t, qr/ready\r\n/);
		type($t, $keys);
	}
	ok(comes($t, qr/rc=$code\r\n/), "$name: exit code $code");
	comes($t, qr/outer> /);
	is(settings($t), $t->{settings}, "$name: the terminal is as it was");
}

# Which device each descriptor that the command can reach is.
my $DEVICES = q{perl -e 'opendir D, "/proc"; for my $p ("self", grep /^\d/, readdir D) {
	for (glob "/proc/$p/fd/*") { my @s = stat or next; print "fd=$s[6]\n" } }
	for (glob("/dev/* /dev/pts/*")) { my @s = stat or next; print "dev=$s[6]\n" if -c _ } print "end\n"'};

for my $who (callers()) {
	my $name = $who->{name};
	my $shell = ['bash', '--norc', '--noprofile', '--noediting', '-i'];
	my $dir = "$who->{home}/project";
	my $t = terminal($who, $shell);
	ok(comes($t, qr/outer> /), "$name: a shell on a terminal");

	# A shell inside. (dash forgets an interrupt that comes while it starts something: perl waits here.)
	my $wait = q{perl -e '$| = 1; print "ready\n"; sleep 1000'};
	type($t, "$EXEC --env 'PS1=in''ner> ' --inherit TERM -- bash --norc --noprofile --noediting -i\n");
	ok(comes($t, qr/inner> /), "$name: a shell inside");
	unlike($t->{seen}, qr/job control|cannot set terminal/, "$name: has job control");
	ok(answers($t, 'tty', qr{/dev/\S+\r\n}), "$name: and a terminal with a name");
	type($t, "$wait\n");
	comes($t, qr/\nready\r\n/);
	ok(answers($t, "\x03", qr/\^C/) && answers($t, 'echo rc=$?', qr/rc=130\r\n/), "$name: Ctrl-C ends a job inside, and not the shell");
	type($t, "cat\n");
	type($t, "one\n");
	comes($t, qr/one\r\none\r\n/);
	type($t, "\x1a");
	ok(comes($t, qr/Stopped/) && comes($t, qr/inner> /), "$name: Ctrl-Z stops a job inside");
	isnt(settings($t), $t->{settings}, "$name: (the caller's terminal is raw meanwhile)");
	type($t, "fg\n");
	comes($t, qr/\ncat\r\n/);
	type($t, "two\n");
	ok(comes($t, qr/two\r\ntwo\r\n/), "$name: which fg continues where it was");
	ok(answers($t, "\x04", qr/inner> /), "$name: until Ctrl-D");
	ok(answers($t, 'grep -E "Sig(Blk|Ign):.*[1-9a-f]" /proc/self/status; echo none', qr/\nnone\r\n/), "$name: no signal");
	unlike($t->{seen}, qr/^Sig(?:Blk|Ign):/m, "$name: is blocked or ignored");
	my $window = pack 'S4', 33, 101, 0, 0;
	ioctl $t->{slave}, $TIOCSWINSZ, $window or die;
	for (1 .. 50) {
		type($t, "stty size\n");
		comes($t, qr/\d+ \d+\r\n/);
		my $size = $t->{match};
		comes($t, qr/inner> /);
		last if $size =~ /33 101/;
	}
	like($t->{seen}, qr/^33 101\r\n/m, "$name: the window's size is passed on");
	# The caller's terminal is out of reach.
	put($who, "$dir/devices.sh", "$DEVICES\ntest -t 0 || test -t 1 || echo ready\ntest -t 0 || { read x; echo \"<\$x>\"; }\n");
	answers($t, 'sh devices.sh', qr/\nend\r\n/);
	my @seen = $t->{seen} =~ /^(?:fd|dev)=(\d+)\r$/gm;
	ok(scalar(grep { $_ != $t->{rdev} } @seen) > 6, "$name: devices are seen");
	is(scalar(grep { $_ == $t->{rdev} } @seen), 0, "$name: the caller's terminal is none of them");
	ok(answers($t, "ls $t->{path}", qr/No such file/), "$name: nor its name");
	put($who, "$dir/push.pl", 'for (split //, "echo INJECTED\n") { my $c = $_; ioctl STDIN, 0x5412, $c } my $two = "\x02"; ioctl STDIN, 0x541c, $two; print "tried\n"');
	type($t, "perl push.pl\n");
	comes($t, qr/\ntried\r\n/);
	select undef, undef, undef, 0.2;
	type($t, "exit 3\n");
	comes($t, qr/outer> /);
	ok(answers($t, 'echo rc=$?', qr/rc=3\r\n/), "$name: its exit code");
	unlike($t->{seen} =~ s/.*outer> //sr, qr/INJECTED/, "$name: nothing is typed for the caller's shell");
	is(settings($t), $t->{settings}, "$name: the terminal is as it was");

	# Stopped and continued by the caller's shell.
	put($who, "$dir/stray.sh", "setsid sh -c 'while :; do echo; sleep 0.02; done >> ticks' &\ncat\necho ended\n");
	type($t, "$EXEC -p workspace -- sh stray.sh\n");
	appears("$dir/ticks");
	type($t, "here\n");
	comes($t, qr/here\r\nhere\r\n/);
	type($t, "\x1a");
	ok(comes($t, qr/Stopped/) && comes($t, qr/outer> /), "$name: Ctrl-Z stops sbx-exec as a job");
	is(settings($t), $t->{settings}, "$name: with the terminal as it was");
	my $size = -1;
	for (1 .. 50) {
		last if $size == -s "$dir/ticks";
		$size = -s _;
		select undef, undef, undef, 0.2;
	}
	is(-s "$dir/ticks", $size, "$name: nothing inside goes on meanwhile");
	type($t, "fg\n");
	comes($t, qr/\n[^\n]*stray.sh\r\n/);
	type($t, "again\n");
	ok(comes($t, qr/again\r\nagain\r\n/), "$name: fg continues it");
	for (1 .. 300) {
		last if -s "$dir/ticks" > $size;
		select undef, undef, undef, 0.1;
	}
	cmp_ok(-s "$dir/ticks", '>', $size, "$name: and all that is inside");
	type($t, "\x04");
	ok(comes($t, qr/ended\r\n/) && comes($t, qr/outer> /), "$name: Ctrl-D is the end of its input");
	type($t, "$EXEC -- sh -c 'kill -STOP 0; echo went on'\n");
	ok(comes($t, qr/Stopped/) && comes($t, qr/outer> /) && answers($t, 'fg', qr/\nwent on\r\n/), "$name: a command that stops itself");
	type($t, "$EXEC -- sh -c 'echo begun; read x; echo got \$x' &\n");
	comes($t, qr/begun\r\n/);
	ok(answers($t, 'echo typed', qr/\ntyped\r\n/), "$name: in the background nothing typed is taken");
	type($t, "fg\n");
	comes($t, qr/got \$x'\r\n/);
	type($t, "mine\n");
	ok(comes($t, qr/got mine\r\n/), "$name: in the foreground it is");
	comes($t, qr/outer> /);

	# Ends.
	my $sh = sub { "$EXEC $_[0] -- sh -c '$_[1]'" };
	ends($t, "$name: Ctrl-C", "$EXEC -- $wait", "\x03", 130);
	ends($t, "$name: Ctrl-\\", "$EXEC -- $wait", "\x1c", 131);
	ends($t, "$name: Ctrl-C trapped", $sh->('', 'trap "echo trapped; exit 9" INT; echo ready; while :; do sleep 0.1; done'), "\x03", 9);
	like($t->{seen}, qr/trapped\r\n/, "$name: by the command");
	ends($t, "$name: the wall limit", $sh->('--timeout 1s --summary', 'stty raw -echo; sleep 1000'), undef, 124);
	like($t->{seen}, qr/^sbx-exec: timeout[^\r\n]*\r\n/m, "$name: and is so for our own messages");
	ends($t, "$name: killed", $sh->('', 'stty raw; kill -KILL $$'), undef, 137);
	ends($t, "$name: what cannot be executed", "$EXEC -- /etc/passwd", undef, 126);
	ends($t, "$name: a bwrap that does not work", "$EXEC --bwrap /bin/false -- true", undef, 125);
	type($t, $sh->('', 'echo up; exec sleep 1000') . "; echo rc=\$?\n");
	comes($t, qr/up\r\n/);
	my $children = slurp("/proc/$t->{pid}/task/$t->{pid}/children");
	kill 'TERM', $children;
	ok(comes($t, qr/rc=143\r\n/) && comes($t, qr/outer> /), "$name: TERM");
	is(settings($t), $t->{settings}, "$name: TERM: the terminal is as it was");

	# Signals to its own group.
	my %number = (HUP => 1, INT => 2, KILL => 9, TERM => 15, USR1 => 10);
	for my $signal (sort keys %number) {
		ends($t, "$name: kill -$signal 0", "rm -f report; $EXEC --report report -- sh -c 'kill -$signal 0; sleep 1000'", undef, 128 + $number{$signal});
		like(slurp("$dir/report"), qr/"outcome":\s*"completed"/, "$name: kill -$signal 0: is how the command ended");
	}

	# Not all are terminals.
	ok(answers($t, $sh->('', 'test -t 0 && test -t 1 && test ! -t 2 && echo apart >&2') . ' 2>err; cat err', qr/\napart\r\n/m), "$name: errors in a file");
	ok(answers($t, 'echo piped | ' . $sh->('', 'test ! -t 0 && test -t 1 && cat'), qr/\npiped\r\n/), "$name: input from a pipe");
	for (['| cat', 'output into a pipe'], ['--tty=never', 'no terminal']) {
		my ($how, $what) = @$_;
		my $from = length $t->{seen};
		type($t, $how =~ /^-/ ? "$EXEC $how -- sh devices.sh\n" : "$EXEC -- sh devices.sh $how\n");
		ok(comes($t, qr/ready\r\n/), "$name: $what: pipes inside");
		type($t, "typed\n");
		ok(comes($t, qr/<typed>\r\n/), "$name: $what: is read all the same");
		comes($t, qr/outer> /);
		my @devices = substr($t->{seen}, $from) =~ /^(?:fd|dev)=(\d+)\r$/gm;
		is("@{[scalar @devices > 6]} @{[grep { $_ == $t->{rdev} } @devices]}", '1 ', "$name: $what: without reaching the caller's terminal");
	}
	type($t, "sleep 1000 | $EXEC -- $wait\n");
	comes($t, qr/ready\r\n/);
	ok(answers($t, "\x03", qr/\^C/), "$name: Ctrl-C ends all of a pipe");
	type($t, "exit\n");
	end($t);

	# Programs.
	$t = terminal($who, [$EXEC, '--', 'python3', '-q']);
	ok(comes($t, qr/>>> /), "$name: python's prompt");
	type($t, "6 * 7\n");
	ok(comes($t, qr/\n42\r\n/) && comes($t, qr/>>> /), "$name: which answers");
	for (1 .. 10) { # it forgets one that comes as it begins to wait
		type($t, "\x03");
		last if comes($t, qr/KeyboardInterrupt/, 3);
	}
	ok(comes($t, qr/>>> /), "$name: and knows Ctrl-C");
	type($t, "\x04");
	is(end($t), 0, "$name: and Ctrl-D");
	SKIP: {
		skip 'there is no vim', 1 if !which('vim');
		$t = terminal($who, [$EXEC, '-p', 'workspace', '--inherit', 'TERM', '--', 'vim', '-u', 'NONE', '-n', 'written'], env => {TERM => 'xterm'});
		comes($t, qr/All|~/);
		type($t, "ihello\e:wq\r");
		is(end($t) . (slurp("$dir/written") // ''), "0hello\n", "$name: vim");
	}
	SKIP: {
		skip 'there is no less', 2 if !which('less');
		for my $line ("$EXEC -- less numbers", "cat numbers | $EXEC -- less") {
			put($who, "$dir/numbers", join '', map { "$_\n" } 1 .. 1000);
			$t = terminal($who, ['sh', '-c', $line], env => {TERM => 'xterm', LESS => ''});
			comes($t, qr/20\r\n/);
			type($t, 'G');
			my $last = comes($t, qr/1000\r\n/);
			type($t, 'q');
			is("$last " . end($t), '1 0', "$name: $line");
		}
	}
	SKIP: {
		skip 'there is no less', 1 if !which('less');
		# Behind us in a pipe, it has all the keys.
		$t = terminal($who, ['sh', '-c', "$EXEC -- sh -c 'cat numbers; while echo; do sleep 0.1; done' 2>&1 | less"], env => {TERM => 'xterm', LESS => ''});
		comes($t, qr/20\r\n/);
		for (1 .. 50) {
			type($t, 'j');
			select undef, undef, undef, 0.01;
		}
		my $moved = comes($t, qr/(?<!\d)73\r?\n/);
		type($t, 'q');
		end($t);
		ok($moved, "$name: less behind it");
	}
	SKIP: {
		skip 'there is no top', 1 if !which('top');
		$t = terminal($who, [$EXEC, '--inherit', 'TERM', '--', 'top'], env => {TERM => 'xterm'});
		comes($t, qr/PID/);
		type($t, 'q');
		is(end($t), 0, "$name: top");
	}

	# Bytes.
	my $data = join '', map { pack 'N', ($_ * 2654435761) % 4294967296 } 1 .. 262144;
	put($who, "$dir/data", $data);
	$t = terminal($who, [$EXEC, '--', 'cat', 'data'], settings => sub { $_[0]->setoflag(0) });
	is(end($t) . ' ' . sha256_hex($t->{seen}), '0 ' . sha256_hex($data), "$name: a MiB comes through as it is");
	put($who, "$dir/data", "line\n" x 200000);
	$t = terminal($who, [$EXEC, '--', 'cat', 'data']);
	is(end($t) . ' ' . sha256_hex($t->{seen}), '0 ' . sha256_hex("line\r\n" x 200000), "$name: lines as on any terminal");
	$t = terminal($who, [$EXEC, '--', 'sh', '-c', 'echo up; exec yes']);
	comes($t, qr/up\r\n/);
	select undef, undef, undef, 1;
	my ($peak) = slurp("/proc/$t->{pid}/status") =~ /^VmHWM:\s+(\d+)/m;
	cmp_ok($peak, '<', 20000, "$name: a flood that nobody reads is held up");
	kill 'TERM', $t->{pid};
	is(end($t), 143, "$name: and can be ended");
	$t = terminal($who, [$EXEC, '--timeout', '2s', '--', 'sh', '-c', 'stty raw -echo; echo up; exec sleep 1000']);
	comes($t, qr/up\n/);
	type($t, 'x' x 4096) for 1 .. 100;
	is(end($t), 124, "$name: typing that nobody reads holds up no limit");

	# The caller's terminal is gone.
	$t = terminal($who, [$EXEC, '-p', 'workspace', '--', 'sh', '-c', 'trap "echo hup > hup; exit" HUP; echo up; while :; do sleep 0.1; done']);
	comes($t, qr/up\r\n/);
	close $t->{master};
	is(appears("$dir/hup"), "hup\n", "$name: the command is told when the terminal is gone");
	waitpid $t->{pid}, 0;
	is($? >> 8, 129, "$name: and the run has ended");
	is(join("\n", left("$who->{home}/project")), '', "$name: with nothing left");

	# Asked for.
	my $got = run($who, [$EXEC, '--tty', '--', 'sh', '-c', 'test -t 1 && test -t 2 || test -t 1 && echo yes; cat'], stdin => "in\n");
	is("$got->{code} $got->{out}", "0 yes\r\nin\r\n", "$name: --tty without a terminal: output is one, input stays");
	($got, my $report) = reported($who, ['--tty', '--capture', '--', 'sh', '-c', 'tty >/dev/null; test -t 1 && echo yes']);
	is($report->{stdout}{text}, "yes\r\n", "$name: --tty with --capture");
	is(run($who, [$EXEC, '--tty=perhaps', '--', 'true'])->{code}, 2, "$name: --tty=perhaps is refused");
}

SKIP: {
	skip 'becoming another user needs root', 1 if $>;
	my ($root, $user) = callers();
	my $t = terminal($root, [$EXEC, '--user', "$user->{uid}:$user->{gid}", '--', 'sh', '-c', 'id -u > /dev/tty; echo anew > /dev/stdout']);
	end($t);
	is($t->{seen}, "$user->{uid}\r\nanew\r\n", "root: another user's command can open its terminal");
}

# Without ptrace the command cannot be put into the foreground.
{
	my ($who) = reverse callers();
	my $refuse = put($who, "$who->{home}/refuse", slurp("$ENV{SBX_BUILD}/tests/hostile/refuse") // die, 0755);
	my $t = terminal($who, [$refuse, 'ptrace', $EXEC, '--report', 'report', '--', 'sh', '-c', 'test -t 0 || echo pipes']);
	end($t);
	like($t->{seen}, qr/^pipes\r\n/m, "$who->{name}: without ptrace there is no terminal");
	like(slurp("$who->{home}/project/report"), qr/cannot have a terminal \(ptrace\)/, "$who->{name}: which the report says");
	is(run($who, [$refuse, 'ptrace', $EXEC, '--tty', '--', 'true'])->{code}, 125, "$who->{name}: --tty is then an error");
}

done_testing();
