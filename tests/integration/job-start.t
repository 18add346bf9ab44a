#!/usr/bin/perl
# sbx-job: a command is started in the background, and what becomes of it.
use strict;
use warnings;
use Fcntl;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/job-lib.pl" }
our ($top, $JOB);

for my $who (callers()) {
	my $name = $who->{name};
	my $dir = "$who->{home}/project";
	my ($got, $id);

	$got = job($who, ['list']);
	is("$got->{code} $got->{out}$got->{err}", '0 ', "$name: there are no jobs at first");
	ok(!-e state_of($who), "$name: ... nor a place for them");

	# From start to end.
	$id = begin($who, '--env', 'KEY=private', '--', 'sh', '-c', 'echo out; echo err >&2; cat; sleep 4; echo "$KEY"; exit 3');
	like($id, qr/^[0-9a-f]{8}$/, "$name: start prints an id, and returns");
	is(listed($who)->{$id}{state}, 'running', "$name: the command runs by then");
	$got = job($who, ['wait', '--timeout', '100ms', $id]);
	is($got->{code}, 124, "$name: wait gives up at its timeout");
	$got = job($who, ['report', $id]);
	is($got->{code}, 2, "$name: there is no report yet");
	$got = job($who, ['rm', $id]);
	is($got->{code}, 2, "$name: a job that runs is not removed");
	like($got->{err}, qr/is running/, "$name: ... and says why");
	is(job($who, ['wait', $id])->{code}, 3, "$name: wait exits as the command did");
	is(job($who, ['wait', $id])->{code}, 3, "$name: ... once more, too");
	is(job($who, ['read', $id])->{out}, "out\nerr\nprivate\n", "$name: the log has both streams in order; stdin was empty");
	is(decoded($who, 'report', $id)->{exit_code}, 3, "$name: the report is sbx-exec's");
	my $of = listed($who)->{$id};
	is("$of->{state} $of->{outcome} $of->{exit_code} $of->{cwd}", "ended completed 3 $dir", "$name: list says how it ended");
	is("@{$of->{policies}} @{$of->{flags}} $of->{command}[0]", 'default --env KEY sh', "$name: ... and what was asked");
	unlike(slurp(state_of($who) . "/$id/meta.json"), qr/=private|": *"private/, "$name: values of variables are not kept");
	is((stat state_of($who) . "/$id")[2] & 07777, 0700, "$name: its directory is private");
	is((stat state_of($who))[2] & 07777, 0700, "$name: ... and so is that of all");

	# Ids.
	for (['read'], ['wait'], ['stop'], ['rm'], ['report']) {
		$got = job($who, [@$_, '00000000']);
		is($got->{code}, 2, "$name: @$_ of an unknown id");
		like($got->{err}, qr/there is no job 00000000\n.*there is \Q$id/, "$name: ... lists what there is");
	}
	is(job($who, ['read', substr $id, 0, 6])->{code}, 2, "$name: the beginning of an id is none");
	is(job($who, ['read', "../jobs/$id"])->{code}, 2, "$name: ... nor is a path");

	# rm.
	is(job($who, ['rm', '--ended', '--older', '1d'])->{code}, 0, "$name: rm of older ones");
	ok(listed($who)->{$id}, "$name: ... leaves the newer");
	my @started = ($id, map { begin($who, '--', 'true') } 1 .. 5);
	is(join(' ', job($who, ['list'])->{out} =~ /^([0-9a-f]{8}) /mg), "@started", "$name: list has the last one at the end");
	is(join(' ', map { $_->{id} } @{decoded($who, 'list', '--json')}), "@started", "$name: ... as JSON, too");
	job($who, ['wait', $_]) for @started;
	is(job($who, ['rm', '--ended'])->{code}, 0, "$name: rm of all that have ended");
	is(join(' ', keys %{listed($who)}), '', "$name: ... removes it");

	# stop.
	$id = begin($who, '--', 'sh', '-c', 'trap "echo asked; exit 9" TERM; echo ready; while :; do sleep 0.05; done');
	becomes(sub { job($who, ['read', $id])->{out} =~ /ready/ });
	is(job($who, ['stop', $id])->{code}, 0, "$name: stop");
	like(job($who, ['read', $id])->{out}, qr/asked/, "$name: ... asks the command first");
	is(decoded($who, 'report', $id)->{outcome}, 'cancelled', "$name: ... and is the cause of its end");
	is(job($who, ['wait', $id])->{code}, 143, "$name: ... which wait tells");
	is(job($who, ['stop', $id])->{code}, 0, "$name: stopping twice is no error");
	$id = begin($who, '--', 'sh', '-c', 'trap "" TERM; while :; do sleep 0.05; done');
	is(job($who, ['stop', '--grace', '0', $id])->{code}, 0, "$name: stop without grace");
	is(decoded($who, 'report', $id)->{outcome}, 'cancelled', "$name: ... ends what would not");
	my @ids = map { begin($who, '--', 'sleep', '1000') } 1 .. 3;
	is(job($who, ['stop', '--all'])->{code}, 0, "$name: stop of all");
	is(join(' ', map { listed($who)->{$_}{outcome} } @ids), 'cancelled cancelled cancelled', "$name: ... ends all");
	is(job($who, ['rm', @ids])->{code}, 0, "$name: rm of several");
	$id = begin($who, '--', 'sleep', '1000');
	$got = job($who, ['stop', '00000000', $id]);
	is(join(' ', $got->{code}, scalar(() = $got->{err} =~ /no job 00000000/g), listed($who)->{$id}{state}), '2 1 ended',
		"$name: one that cannot be stopped is said once, and keeps none from it");

	# A grace that the command needs.
	$id = begin($who, '--', 'perl', '-e', '$| = 1; $SIG{TERM} = sub { sleep 2; print "done\n"; exit 0 }; print "ready\n"; sleep 1000');
	becomes(sub { job($who, ['read', $id])->{out} =~ /ready/ });
	is(job($who, ['stop', '--grace', '20s', $id])->{code}, 0, "$name: stop with a long grace");
	like(job($who, ['read', $id])->{out}, qr/done/, "$name: ... lets the command finish");

	# What does not start.
	job($who, ['rm', '--ended']);
	my $path = put($who, "$dir/busy", slurp('/bin/true'), 0755);
	sysopen my $busy, $path, O_WRONLY or die;
	for (
		[127, 'is not found', '--', 'no-such-command'],
		[126, 'cannot be executed', '--', '/etc/passwd'],
		[126, 'Text file busy', '-p', 'workspace', '--', './busy'],
		[125, 'nowhere does not exist', '--read', '/nowhere', '--', 'true'],
		[125, 'no-such-policy', '-p', 'no-such-policy', '--', 'true'],
		[125, 'bwrap', '--bwrap', '/bin/false', '--', 'true'],
		[2, 'no command'],
		[2, 'unknown option', '--no-such-option', '--', 'true'],
		[2, 'unknown option', '--report', 'x', '--', 'true'],
		[2, '64K at least', '--log-limit', '1K', '--', 'true'],
		[2, '--stdin nowhere', '--stdin', 'nowhere', '--', 'true'],
		[2, 'not a regular file', '--stdin', '.', '--', 'true'],
	) {
		my ($code, $message, @words) = @$_;
		$got = job($who, ['start', @words]);
		is("$got->{code} $got->{out}", "$code ", "$name: start @words ends with $code");
		like($got->{err}, qr/\Q$message/, "$name: ... and says why");
	}
	close $busy;
	is_deeply([glob state_of($who) . '/* ' . state_of($who) . '/.[a-z]*'], [], "$name: nothing is left of them");

	# How it ended is said in the report's words.
	$id = begin($who, '--timeout', '3s', '--', 'sleep', '1000');
	is(job($who, ['wait', $id])->{code} . decoded($who, 'report', $id)->{outcome}, '124timeout', "$name: the wall limit holds");

	# Standard input and scripts.
	put($who, "$dir/in", "a\nb\n");
	$id = begin($who, '--stdin', 'in', '--', 'wc', '-l');
	job($who, ['wait', $id]);
	is(job($who, ['read', $id])->{out}, "2\n", "$name: --stdin");
	my $script = qq{#!/usr/bin/env perl\n} . q{print "@ARGV\n"; open F, ">>", $0 or print "no\n"; unlink $0 or print "no\n"};
	$id = job($who, ['start', '--script', '-', '--', 'one', 'two words'], stdin => $script)->{out} =~ s/\n//r;
	is(job($who, ['wait', $id])->{code}, 0, "$name: a script runs");
	is(job($who, ['read', $id])->{out}, "one two words\nno\nno\n", "$name: ... with arguments, and cannot be written");
	put($who, "$dir/script", 'echo "shell $1"; exit 4');
	$id = begin($who, '-p', 'strict', '--chdir', '/', '--script', 'script', 'arg');
	is(job($who, ['wait', $id])->{code}, 4, "$name: a script without an interpreter");
	is(job($who, ['read', $id])->{out}, "shell arg\n", "$name: ... is the shell's");
	for (['no interpreter', "#!perl\n"], ['not UTF-8', "\xff\n"], ['not UTF-8', "a\0b\n"], ['longer than', 'x' x 1100000]) {
		put($who, "$dir/script", $_->[1]);
		$got = job($who, ['start', '--script', 'script']);
		like("$got->{code} $got->{err}", qr/^2 .*\Q$_->[0]/, "$name: a script is refused: $_->[0]");
	}

	# Nothing of the caller's: terminal, session, pipes (run() would have waited for those), other descriptors.
	$got = run($who, ['bash', '-c', 'exec 7<&0 8>&1; "$0" start -- sleep 1000', $JOB]);
	$id = $got->{out} =~ s/\n//r;
	my $pid = supervisor($who, $id);
	is(session($pid) == session($$), '', "$name: the supervisor has a session of its own");
	is((split ' ', slurp("/proc/$pid/stat") =~ s/.*\) //sr)[4], 0, "$name: ... without a terminal");
	my @open = map { readlink } glob "/proc/$pid/fd/[012]";
	is("@open", '/dev/null /dev/null /dev/null', "$name: its streams are empty");
	my @inherited = grep { (readlink "/proc/$pid/fd/$_") =~ /^pipe/ } 7, 8;
	is_deeply(\@inherited, [], "$name: it has no descriptor of its caller's");
	job($who, ['stop', '--grace', '0', $id]);

	is(job($who, [@$_, '--help'])->{code}, 0, "$name: @$_ --help") for ['start'], ['list'], ['read'], ['wait'], ['stop'], ['rm'], ['report'], [];
	like(job($who, ['--version'])->{out}, qr/^sbx-job \d/, "$name: --version");
	like(job($who, ['lits'])->{err}, qr/did you mean list/, "$name: a misspelled command");

	# Where jobs are.
	$got = job($who, ['start', '--', 'true'], env => {XDG_STATE_HOME => "$who->{home}/elsewhere"});
	ok(-d "$who->{home}/elsewhere/sbx/jobs/" . $got->{out} =~ s/\n//r, "$name: XDG_STATE_HOME");
	$got = job($who, ['start', '--', 'true'], env => {SBX_STATE => "$who->{home}/own", XDG_STATE_HOME => '/nowhere'});
	ok(-d "$who->{home}/own/" . $got->{out} =~ s/\n//r, "$name: SBX_STATE");
	chmod 0755, "$who->{home}/own";
	$got = job($who, ['start', '--', 'true'], env => {SBX_STATE => "$who->{home}/own"});
	like("$got->{code} $got->{err}", qr/^125 .*not yours alone/, "$name: one that others can read is refused");
}
is_deeply([left("\0" . '1000' . "\0")], [], 'nothing runs any more');
done_testing();
