#!/usr/bin/perl
# What becomes of the command's output: captured, into files, limited; every byte is accounted for.
use strict;
use warnings;
use Fcntl ();
use FindBin;
use MIME::Base64 qw(decode_base64);
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

my $huge = $ENV{CI} ? 1 << 28 : 1 << 30;
my $half = 1 << 19; # of what is captured without a limit

# The bytes that a stream of a report has.
sub bytes {
	my ($stream) = @_;
	return undef if !$stream;
	return decode_base64($stream->{base64}) if defined $stream->{base64};
	utf8::encode(my $text = $stream->{text});
	return $text;
}

# Whether head and tail are these, and the counts are exact.
sub exactly {
	my ($stream, $total, $head, $tail, $promise) = @_;
	my $bytes = bytes($stream) // '';
	is("$stream->{bytes} " . ($stream->{omitted} + length $bytes), "$total $total", "$promise: the counts");
	ok(substr($bytes, 0, $stream->{head_bytes}) eq $head, "$promise: the head");
	ok(substr($bytes, $stream->{head_bytes}) eq $tail, "$promise: the tail");
	is(!!$stream->{truncated}, $stream->{omitted} > 0, "$promise: truncated or not");
}

for my $who (callers()) {
	my $name = $who->{name};
	my $dir = "$who->{home}/project";
	my $limit = sub {
		my ($bytes, $then) = @_;
		put($who, "$dir/limit.json",
			qq({"sbx": 1, "extends": ["default"], "limits": {"output": {"bytes": $bytes, "then": "$then"}}}));
		return ('-p', './limit.json');
	};
	my $captured = sub { reported($who, ['--capture', @_]) };
	# By a shell, whose $0 is sbx-exec.
	my $shell = sub {
		my ($script, %how) = @_;
		my $got = run($who, ['timeout', '100', 'bash', '-c', $script, $EXEC], cwd => $dir, %how);
		my $report = slurp("$dir/r.json");
		unlink "$dir/r.json";
		return ($got, $report ? JSON::PP->new->utf8->decode($report) : {});
	};

	# Captured.
	my ($got, $report) = $captured->('--', 'sh', '-c', 'echo out; echo err >&2; exit 3');
	is("$got->{code} $got->{out}$got->{err}", '3 ', "$name: what is captured does not reach the caller");
	is($report->{stdout}{text}, "out\n", "$name: standard output is in the report");
	is($report->{stderr}{text}, "err\n", "$name: and standard error");
	for (
		['nothing', ''],
		['no newline', 'abc'],
		['NUL', "a\0b\n"],
		['bytes that are no UTF-8', "\xff\xfe\n\x80"],
		['half a character at the end', "abc\xc3"],
		['what JSON and terminals take for their own', "\"\\\e[2J\r\x7f\x01\xc2\x9b\n"],
		['text', "gr\xc3\xbc\xc3\x9fe \xf0\x9f\x98\x80\n"],
	) {
		my ($what, $text) = @$_;
		($got, $report) = $captured->('--', 'perl', '-e', 'print pack "H*", $ARGV[0]', unpack 'H*', $text);
		exactly($report->{stdout}, length $text, $text, '', "$name: $what");
		is(defined $report->{stdout}{text}, $what !~ /NUL|UTF-8|half/, "$name: $what is text or base64");
	}
	($got, $report) = $captured->('--', 'sh', '-c', 'for i in 1 2 3; do echo o$i; echo e$i >&2; done 2>&1');
	is($report->{stdout}{text}, "o1\ne1\no2\ne2\no3\ne3\n", "$name: 2>&1 inside keeps the order");
	($got, $report) = $captured->('--', 'sh', '-c', "echo start; head -c $huge /dev/zero; echo end");
	exactly($report->{stdout}, $huge + 10, "start\n" . "\0" x ($half - 6), "\0" x ($half - 4) . "end\n", "$name: $huge bytes");
	($got, $report) = $captured->('--', 'perl', '-CO', '-e', 'print "a", "\x{e4}" x 1e6, "\x{20ac}" x 1e6');
	exactly($report->{stdout}, 5e6 + 1, 'a' . "\xc3\xa4" x (($half - 1) >> 1), "\xe2\x82\xac" x int($half / 3),
		"$name: no character is cut");
	($got, $report) = $captured->('--', 'sh', '-c', 'exec >&-; sleep 0.1; echo err >&2; exec 2>&-; exit 4');
	is("$got->{code} $report->{stdout}{bytes} $report->{stderr}{bytes}", '4 0 4', "$name: streams that are closed early");
	($got, $report) = $captured->('--', 'sh', '-c', 'sleep 1000 & setsid sleep 1000 & echo done');
	is("$got->{code} $report->{stdout}{text}", "0 done\n", "$name: nobody waits for who else holds the pipe");
	($got, $report) = $captured->($limit->(11, 'drop'), '--', 'sh', '-c', 'echo 0123456789abcdef; exit 5');
	exactly($report->{stdout}, 17, '01234', "abcdef\n" =~ s/^.//r, "$name: a limit is what is captured");
	is($got->{code}, 5, "$name: and the command goes on");
	($got, $report) = $captured->($limit->(10, 'kill'), '--', 'yes');
	is("$got->{code} $report->{outcome} $report->{phase}", '137 output run', "$name: or is ended");
	ok($report->{stdout}{bytes} > 10 && length bytes($report->{stdout}) == 10, "$name: and no more than the limit is kept");
	($got, $report) = $captured->($limit->(10, 'kill'), '--', 'sh', '-c', 'echo 123456789; echo 123456789 >&2');
	is("$got->{code} $report->{outcome}", '0 completed', "$name: as much as the limit on both is no more");
	($got, $report) = $captured->($limit->(10, 'kill'), '--', 'sh', '-c', 'echo 1234567890 >&2');
	is("$got->{code} $report->{outcome}", '137 output', "$name: one byte more is, also when the command has ended");
	($got, $report) = $shell->(q{"$0" --capture --report r.json -- echo captured > file; cat file});
	is("$got->{out} $report->{stdout}{text}", " captured\n", "$name: nor does the caller's file get what is captured");
	($got, $report) = $shell->(q{"$0" --capture --report r.json -- echo captured >&-});
	is("$got->{code} $report->{stdout}{text}", "0 captured\n", "$name: a caller's closed output does not matter");
	($got, $report) = $captured->('--timeout', '500ms', '--', 'sh', '-c', 'echo before; sleep 1000');
	is("$got->{code} $report->{stdout}{text}", "124 before\n", "$name: what came before the wall limit is there");
	# What bwrap says of a command that the kernel does not execute: here since it is open for writing.
	open my $busy, '>>', put($who, "$dir/busy", slurp('/bin/true'), 0755) or die;
	for (['above'], ["in the report's stderr", '--capture'], ['in the file stderr', '--output-dir', $who->{home}]) {
		my ($where, @options) = @$_;
		($got, $report) = reported($who, [@options, '--', './busy']);
		is("$got->{code} $report->{error}{hint}", "126 bwrap's own message is $where", "$name: @options bwrap's own message");
		my $said = !@options ? $got->{err} : @options > 1 ? slurp("$who->{home}/stderr") : $report->{stderr}{text};
		like($said, qr{^bwrap: .*busy: Text file busy}m, "$name: is there");
	}
	unlink "$who->{home}/stdout", "$who->{home}/stderr";

	# What it says when no command was started is for the caller; the files of an earlier run stay. The first run shows
	# that this bwrap works.
	my $broken = "$who->{home}/broken";
	put($who, "$who->{home}/bin/bwrap", <<"END", 0755);
#!/bin/sh
[ ! -e $broken ] || { echo 'bwrap: broken' >&2; exit 1; }
exec bwrap "\$@"
END
	my @same = ('--bwrap', "$who->{home}/bin/bwrap", '--capture', '--output-dir', $who->{home}, '--', 'echo', 'first');
	for my $round ('0 completed', '125 setup-failed') {
		($got, $report) = reported($who, \@same);
		is("$got->{code} " . ($report->{outcome} // ''), $round, "$name: a run with a bwrap of its own: $round");
		put($who, $broken, '');
	}
	like($got->{err}, qr/^bwrap: broken\n.*bwrap's own message is above\n/s, "$name: a failed set-up speaks to the caller");
	is($report->{stdout}, undef, "$name: and not in the name of the command");
	is(slurp("$who->{home}/stdout"), "first\n", "$name: the files are those of the run before");
	unlink "$who->{home}/stdout", "$who->{home}/stderr";

	# Into files.
	mkdir "$dir/out" and !$> and chown $who->{uid}, $who->{gid}, "$dir/out";
	put($who, "$dir/out/stdout", "old\n");
	($got, $report) = $shell->(q{"$0" --output-dir out --report r.json -- sh -c 'cat out/stdout; echo err >&2; exit 3'});
	is("$got->{code} $got->{out}$got->{err}", '3 ', "$name: what goes to files does not reach the caller");
	is(slurp("$dir/out/stdout") . slurp("$dir/out/stderr"), "old\nerr\n", "$name: the files appear at the end");
	is_deeply([sort map { s{.*/}{}r } glob("$dir/out/{,.}[!.]*")], ['stderr', 'stdout'], "$name: and nothing else");
	is_deeply($report->{stdout}, {bytes => 4, omitted => 0, truncated => JSON::PP::false}, "$name: the report has the counts");
	($got, $report) = $shell->(qq{"\$0" --output-dir out --report r.json -- head -c $huge /dev/zero});
	is("$report->{stdout}{bytes} " . (-s "$dir/out/stdout"), "$huge $huge", "$name: files take $huge bytes");
	($got, $report) = $shell->(q{"$0" --output-dir ./out/ --capture --report r.json -- seq 300000});
	my $numbers = join '', map { "$_\n" } 1 .. 300000;
	ok(slurp("$dir/out/stdout") eq $numbers, "$name: with a capture the file is whole");
	exactly($report->{stdout}, length $numbers, substr($numbers, 0, $half), substr($numbers, -$half), "$name: and the capture bounded");
	$limit->(100, 'drop');
	($got, $report) = $shell->(q{"$0" -p ./limit.json --output-dir out --report r.json -- sh -c 'seq 1000; exit 6'});
	is("$got->{code} $report->{stdout}{bytes} $report->{stdout}{omitted}", '6 3893 3793', "$name: a limit leaves the first bytes");
	is(slurp("$dir/out/stdout"), substr($numbers, 0, 100), "$name: of the file");
	symlink 'out', "$dir/link";
	mkdir "$dir/taken" and mkdir "$dir/taken/stdout";
	my $before = listing($dir);
	for (
		[2, 'is a link', '--output-dir', 'link'],
		[2, 'No such file', '--output-dir', 'nowhere'],
		[2, 'no regular file', '--output-dir', 'taken'],
		[2, 'the argument is empty', '--output-dir', ''],
		[2, 'there is no report', '--capture'],
		[2, '--probe', '--probe', '--output-dir', 'out'],
		[125, 'the command could write there', '-p', 'workspace', '--output-dir', 'out'],
		[125, 'the command could write there', '--bind', "$dir/out:/mnt", '--output-dir', 'out'],
	) {
		my ($code, $message, @options) = @$_;
		$got = run($who, [$EXEC, @options, ($message eq '--probe' ? () : ('--', 'echo', 'ran'))], cwd => $dir);
		is("$got->{code} $got->{out}", "$code ", "$name: @options is refused");
		like($got->{err}, qr/\Q$message/, "$name: and says why");
	}
	is(listing($dir), $before, "$name: nothing is left behind");

	# Limited on its way to the caller.
	$limit->(12, 'drop');
	($got, $report) = $shell->(q{"$0" -p ./limit.json --report r.json -- sh -c 'seq 100; seq 7 >&2; exit 7'});
	is("$got->{code} $got->{out}$got->{err}", "7 1\n2\n3\n4\n5\n6\n1\n2\n3\n4\n5\n6\n", "$name: the first bytes get there");
	is("$report->{stdout}{bytes} $report->{stdout}{omitted} $report->{stderr}{bytes} $report->{stderr}{omitted}",
		'292 280 14 2', "$name: the rest is counted");
	is("$report->{enforcement}{output}{by} $report->{enforcement}{output}{requested}", 'supervisor 12, drop',
		"$name: and the limit is said");
	$limit->(1 << 40, 'drop');
	($got, $report) = $shell->(q{"$0" -p ./limit.json --report r.json -- sh -c 'for i in 1 2 3; do echo o$i; echo e$i >&2; done' 2>&1});
	is($got->{out}, "o1\ne1\no2\ne2\no3\ne3\n", "$name: where both go to one pipe they keep their order");
	is($report->{stdout}{bytes} . ($report->{stderr} // ' null'), '18 null', "$name: and are one stream");
	($got, $report) = $shell->(qq{"\$0" -p ./limit.json --report r.json -- head -c $huge /dev/zero | wc -c});
	is("$got->{out}$report->{stdout}{omitted}", "$huge\n0", "$name: $huge bytes get through");
	($got, $report) = $shell->(q{"$0" -p ./limit.json --report r.json -- yes | head -n 2});
	is("$got->{out}$report->{outcome} $report->{signal}", "y\ny\ncompleted 13", "$name: a reader that ends is told to the command");
	($got, $report) = $shell->(q{"$0" -p ./limit.json --report r.json -- sh -c 'trap "" PIPE; sleep 0.2; while echo; do :; done; exit 8' | true});
	is("$report->{exit_code} $report->{outcome}", '8 completed', "$name: which may be ready for it");
	($got, $report) = $shell->(q{"$0" -p ./limit.json --report r.json -- seq 100000 | (sleep 1; md5sum); seq 100000 | md5sum});
	my ($here, $there) = split /\n/, $got->{out};
	is($here, $there, "$name: a slow reader gets all of it, also what it reads after the command's end");
	($got, $report) = $shell->(q{"$0" -p ./limit.json --report r.json -- echo lost > /dev/full});
	is("$got->{code} $report->{outcome}", '125 lost', "$name: what cannot be written is lost");
	like($report->{error}{message}, qr/^cannot write to standard output: No space left/, "$name: and said");
	($got, $report) = $shell->(q{"$0" -p ./limit.json --report r.json -- sh -c 'echo x || exit 9' 2>/dev/null >&-});
	is("$got->{code} $report->{outcome}", '9 completed', "$name: what was closed stays so");
	$limit->(10, 'kill');
	($got, $report) = $shell->(q{"$0" -p ./limit.json --report r.json -- yes > file; cat file});
	is("$got->{out}$report->{outcome} $report->{exit_code}", "y\ny\ny\ny\ny\noutput 137", "$name: then kill: the first bytes, and the end");
	($got, $report) = $shell->(q{"$0" -p ./limit.json --report r.json -- sh -c 'trap "" TERM; while :; do echo; done'});
	is("$report->{outcome} $report->{exit_code}", 'output 137', "$name: also of what ignores TERM");

	# Output and end that are seen together, since sbx-exec was stopped: the limit was exceeded first.
	my $run = start($who, ['-p', './limit.json', '--', 'sh', '-c', 'echo 1; read x; echo 1234567890']);
	line($run);
	kill 'STOP', $run->{pid};
	syswrite $run->{in}, "go\n";
	select undef, undef, undef, 0.5;
	kill 'CONT', $run->{pid};
	is(finish($run), 137, "$name: a limit that is exceeded at the very end");

	$limit->(1 << 40, 'drop');
	$run = start($who, ['-p', './limit.json', '--', 'sh', '-c', 'trap "" PIPE; echo; read x; sleep 0.5; echo || exit 8']);
	line($run);
	close $run->{out};
	syswrite $run->{in}, "go\n";
	is(finish($run), 8, "$name: a reader that has gone is told to the first who writes");

	# A reader that does not read keeps nothing from happening. Its pipe is full before the start, or after it.
	for my $filled (0, 1) {
		my $fill = sub {
			return if !$filled;
			my $flags = fcntl STDOUT, Fcntl::F_GETFL(), 0;
			fcntl STDOUT, Fcntl::F_SETFL(), $flags | Fcntl::O_NONBLOCK();
			1 while POSIX::write(1, 'x' x 4096, 4096);
			fcntl STDOUT, Fcntl::F_SETFL(), $flags + 0;
		};
		$run = start($who, ['-p', './limit.json', '--timeout', '1s', '--', 'yes'], before => $fill);
		is(finish($run), 124, "$name: the wall limit holds, filled $filled");
		$run = start($who, ['-p', './limit.json', '--timeout', '1s', '--', 'sh', '-c', "head -c 70000 /dev/zero"], before => $fill);
		is(finish($run), 124, "$name: and after the command's end, filled $filled");
		$run = start($who, ['-p', './limit.json', '--', 'sh', '-c', 'echo >&2; head -c 70000 /dev/zero'], before => $fill);
		select undef, undef, undef, 0.05 until -s $run->{errors} || !kill 0, $run->{pid};
		select undef, undef, undef, 0.3;
		kill 'TERM', $run->{pid};
		is(finish($run), 143, "$name: TERM ends it, filled $filled");
	}
	# A terminal takes less than poll lets hope.
	sysopen my $master, '/dev/ptmx', Fcntl::O_RDWR() | Fcntl::O_NOCTTY() or die "/dev/ptmx: $!";
	my $number = pack 'i', 0;
	ioctl $master, 0x40045431, $number or die "TIOCSPTLCK: $!";
	ioctl $master, 0x80045430, $number or die "TIOCGPTN: $!";
	sysopen my $slave, '/dev/pts/' . unpack('i', $number), Fcntl::O_RDWR() | Fcntl::O_NOCTTY() or die "its other end: $!";
	$run = start($who, ['-p', './limit.json', '--timeout', '1s', '--', 'yes'], before => sub { POSIX::dup2(fileno $slave, 1) });
	is(finish($run), 124, "$name: the wall limit holds at a terminal that is not read");
	unlink glob "$top/errors.*";
}

# A full disk: neither the output nor the report is taken for written.
SKIP: {
	skip 'mounting a small file system needs root', 6 if $>;
	my ($root) = callers();
	my $small = "$root->{home}/small";
	mkdir $small or die;
	my $got = run($root, ['unshare', '-m', 'bash', '-c', <<'END', $EXEC, $small]);
mount -t tmpfs -o size=64k tmpfs "$1" || exit 90
"$0" --output-dir "$1" --report fd:3 -- head -c 100000 /dev/zero 3>&1
echo "code $?, $(stat -c %s "$1/stdout")"
rm "$1"/*; echo old > "$1/report"
head -c 1M /dev/zero > "$1/rest" 2>/dev/null
"$0" --report "$1/report" -- sh -c 'exit 5'
echo "code $?, $(cat "$1/report"), $(ls -A "$1" | wc -l)"
END
	like($got->{out}, qr/"outcome":\s+"lost"/, 'root: output that a full disk does not take is lost');
	like($got->{out}, qr/"message":\s+"cannot write to the file of standard output: No space left/, 'root: and said');
	like($got->{out}, qr/"bytes":\s+(?!65536,)\d+,\s+"omitted":\s+[1-9]/, 'root: and counted');
	like($got->{out}, qr/^code 125, 65536$/m, 'root: what fitted is there');
	like($got->{err}, qr/^sbx-exec: cannot write the report: No space left/m, 'root: a report that does not fit is said');
	like($got->{out}, qr/^code 5, old, 2$/m, 'root: costs no exit code, and leaves the old one');
}
done_testing();
