#!/usr/bin/perl
# What a job writes is read in windows, whatever it is and however much.
use strict;
use warnings;
use FindBin;
use MIME::Base64;
use Test::More;
BEGIN { require "$FindBin::Bin/job-lib.pl" }
our ($top, $JOB);

# A job that has ended.
sub done {
	my ($who, @words) = @_;
	my $id = begin($who, @words);
	job($who, ['wait', $id]);
	return $id;
}

for my $who (callers()) {
	my $name = $who->{name};
	my ($id, $got, $of);

	$id = done($who, '--', 'seq', '1000');
	$got = job($who, ['read', $id]);
	is($got->{out}, join('', map { "$_\n" } 1 .. 400), "$name: read gives the first 400 lines");
	is($got->{err}, "sbx-job: $id: lines 1 to 400 of 1000; ended, exit code 0\n", "$name: ... and says where it is");
	$got = job($who, ['read', $id, '--from', '990', '--lines', '3']);
	is($got->{out}, "990\n991\n992\n", "$name: ... or those that are asked for");
	$of = decoded($who, 'read', $id, '--json', '--from', '999', '--lines', '1');
	is(join(' ', map { $of->{$_} } qw(first last lines text state exit_code)), "999 999 1000 999\n ended 0", "$name: as JSON");
	ok($of->{truncated} && !$of->{running} && !$of->{unfinished}, "$name: ... with more to come");
	$of = decoded($who, 'read', $id, '--json', '--from', '999');
	ok(!$of->{truncated} && $of->{last} == 1000, "$name: ... or none");
	$of = decoded($who, 'read', $id, '--json', '--from', '5000');
	is("$of->{first} $of->{last} $of->{lines} '$of->{text}'", "5000 4999 1000 ''", "$name: behind the end there is nothing");

	# A log in reading while it grows.
	$id = begin($who, '--', 'sh', '-c', 'echo a; printf b; sleep 1; echo c; sleep 1; printf d');
	becomes(sub { job($who, ['read', $id])->{out} =~ /b/ });
	$of = decoded($who, 'read', $id, '--json');
	ok($of->{running} && $of->{unfinished} && !defined $of->{exit_code} && $of->{lines} == 2, "$name: the last line may be unfinished")
		if $of->{text} eq "a\nb";
	$got = job($who, ['read', $id, '--follow']);
	is($got->{out}, "a\nbc\nd", "$name: follow goes on to the end");
	like($got->{err}, qr/lines 1 to 3 of 3; ended/, "$name: ... and says so");
	is(job($who, ['read', $id, '--follow', '--from', '2'])->{out}, "bc\nd", "$name: follow from a line, of what has ended");
	$id = begin($who, '--', 'sh', '-c', 'sleep 1; seq 20');
	is(job($who, ['read', $id, '--follow', '--from', '19'])->{out}, "19\n20\n", "$name: ... of lines that do not exist yet");

	# Any bytes.
	$id = done($who, '--', 'perl', '-e', 'print map { chr } 0 .. 255');
	my $bytes = join '', map { chr } 0 .. 255;
	ok(job($who, ['read', $id])->{out} eq $bytes, "$name: binary output comes as it is");
	ok(decode_base64(decoded($who, 'read', $id, '--json')->{base64}) eq $bytes, "$name: ... in JSON as base64");
	SKIP: {
		skip 'no script(1)', 1 if !which('script');
		$got = run($who, ['script', '-qec', "$JOB read $id", '/dev/null']);
		unlike($got->{out}, qr/\e|\0|\a/, "$name: a terminal is not steered");
	}
	$id = done($who, '--', 'perl', '-e', 'print "x" x 10000000, "\nend\n"');
	is(length job($who, ['read', $id, '--lines', '1'])->{out}, 10000001, "$name: a long line comes whole");
	is(job($who, ['read', $id, '--from', '2'])->{out}, "end\n", "$name: ... and is one");
	$of = decoded($who, 'read', $id, '--json');
	is(length($of->{text}) . "$of->{truncated}$of->{last}", (4 << 20) . '11', "$name: ... in JSON its beginning");

	# The streams apart.
	$id = done($who, '--split', '--', 'sh', '-c', 'echo out; echo err >&2; echo out');
	is(job($who, ['read', $id])->{out}, "out\nout\n", "$name: --split: standard output");
	is(job($who, ['read', $id, '--stderr'])->{out}, "err\n", "$name: --split: standard error");
	is(job($who, ['read', '--stderr', done($who, '--', 'true')])->{code}, 2, "$name: ... only with --split");
	$id = done($who, '--', 'sh', '-c', 'for i in $(seq 200); do echo $i; echo $i >&2; done');
	is(job($who, ['read', $id])->{out}, join('', map { "$_\n$_\n" } 1 .. 200), "$name: else they are one, in order");

	# Bounds.
	$id = done($who, '--log-limit', '64K', '--', 'seq', '100001', '200000');
	my $size = 0;
	$size += -s $_ for glob state_of($who) . "/$id/log.*";
	ok($size <= 65536 && $size > 56000, "$name: a log is bounded ($size)");
	$got = job($who, ['read', $id, '--lines', '100000']);
	my ($head, $bytes_lost, $first, $last, $tail) = $got->{out} =~ /\A(.*)\n\[(\d+) bytes, of lines (\d+) to (\d+), are not kept\]\n(.*)\z/s;
	my $all = join '', map { "$_\n" } 100001 .. 200000;
	ok(defined $head && $all =~ /\A\Q$head/ && $all =~ /\Q$tail\E\z/ && length($head) + length($tail) + $bytes_lost == length $all,
		"$name: ... head and tail stay, and the gap is said");
	my ($next) = $tail =~ /\n(\d+)\n/;
	is(job($who, ['read', $id, '--from', $next - 100000, '--lines', '1'])->{out}, "$next\n", "$name: ... behind which lines have their numbers");
	$of = decoded($who, 'read', $id, '--json', '--from', '50000', '--lines', '2');
	ok($of->{first} > 50000 && $of->{gap}{first} <= 50000 && $of->{gap}{bytes} > 0, "$name: what is lost is said in JSON");
	is(decoded($who, 'report', $id)->{stdout}{bytes}, length $all, "$name: the report counts all");
	$id = done($who, '--output-limit', '1K', '--', 'seq', '100000');
	is(length job($who, ['read', $id])->{out}, 1024, "$name: the policy's limit of output holds");

	job($who, ['rm', '--ended']);
}

# Ten million lines: what is near the end is found without the rest.
{
	my ($who) = callers();
	my $id = done($who, '--log-limit', '1G', '--', 'seq', '10000000');
	my @pieces = sort { ($a =~ /log\.(\d+)/)[0] <=> ($b =~ /log\.(\d+)/)[0] } glob state_of($who) . "/$id/log.*";
	ok(@pieces > 10, 'a long log has many pieces');
	unlink @pieces[0 .. $#pieces - 1];
	is(job($who, ['read', $id, '--from', '9999999'])->{out}, "9999999\n10000000\n", 'lines near its end are found in the last');
	is(decoded($who, 'read', $id, '--json', '--from', '10000000')->{lines}, 10000000, '... and so is the number of all');
}
done_testing();
