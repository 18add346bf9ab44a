#!/usr/bin/perl
# What is on disk reads right whoever is killed, whatever comes together, and at whatever moment it is copied.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/job-lib.pl" }
our ($top, $JOB);

my $many = $ENV{CI} ? 200 : 40;

# Does something in so many processes at once, each with its number; what each gives is a line of text.
sub at_once {
	my ($n, $do) = @_;
	my (@pids, @outs);
	for my $i (0 .. $n - 1) {
		pipe my $r, my $w or die;
		my $pid = fork // die;
		if (!$pid) {
			close $r;
			print $w $do->($i);
			close $w;
			POSIX::_exit(0);
		}
		close $w;
		push @pids, $pid;
		push @outs, $r;
	}
	my @got = map { local $/; scalar readline($_) // '' } @outs;
	waitpid $_, 0 for @pids;
	return @got;
}

for my $who (callers()) {
	my $name = $who->{name};
	my $state = state_of($who);
	my ($got, $id);

	# Many at once.
	my @ids = at_once($many, sub { begin($who, '--', 'sh', '-c', "echo number $_[0]; sleep 1; exit " . $_[0] % 100) });
	my %unique = map { $_ => 1 } @ids;
	is(scalar(grep { /^[0-9a-f]{8}$/ } keys %unique), $many, "$name: $many jobs start at once") or diag(grep { !/^[0-9a-f]{8}$/ } @ids);
	my @codes = at_once($many, sub { job($who, ['wait', $ids[$_[0]]])->{code} });
	is("@codes", join(' ', map { $_ % 100 } 0 .. $many - 1), "$name: ... each is waited for");
	my @texts = at_once($many, sub { job($who, ['read', $ids[$_[0]]])->{out} });
	is(join('', @texts), join('', map { "number $_\n" } 0 .. $many - 1), "$name: ... and read");
	is(scalar(keys %{listed($who)}), $many, "$name: ... no state is lost");
	@codes = at_once(8, sub { job($who, ['rm', '--ended'])->{code} });
	is(join(' ', keys %{listed($who)}), '', "$name: removed by several at once (@codes)");
	is("@codes", '0 ' x 7 . '0', "$name: ... which is no error");
	is_deeply([glob "$state/* $state/.[a-z]*"], [], "$name: ... and nothing is left");

	# One job by many.
	$id = begin($who, '--', 'sh', '-c', 'while :; do echo line; done');
	becomes(sub { job($who, ['read', $id, '--lines', 1])->{out} });
	my @got = at_once(12, sub {
		my ($i) = @_;
		return job($who, ['read', $id, '--lines', 1])->{out} if $i % 3 == 0;
		select undef, undef, undef, rand 0.5;
		return $i % 3 == 1 ? job($who, ['stop', $id])->{code} : job($who, ['wait', $id])->{code};
	});
	is(join(' ', map { s/\n//r } @got), join(' ', ('line', 0, 143) x 4), "$name: read, stopped and waited for by many at once");

	# A stop and the natural end: one outcome, the same for all who ask.
	my %seen;
	my $odd = 0;
	for my $round (1 .. 20) {
		my $one = begin($who, '--', 'sh', '-c', 'sleep 0.2; exit 7');
		select undef, undef, undef, 0.1 + rand 0.15;
		$odd++ if job($who, ['stop', $one])->{code};
		my @codes = at_once(3, sub { job($who, ['wait', $one])->{code} });
		my $of = listed($who)->{$one};
		my $ended = "$of->{outcome} $of->{exit_code}";
		$seen{$ended}++;
		$odd++ if "@codes" ne "$of->{exit_code} $of->{exit_code} $of->{exit_code}";
		$odd++ if $ended ne 'completed 7' && $ended ne 'cancelled 143';
		$odd++ if $ended ne do { my $report = decoded($who, 'report', $one); "$report->{outcome} $report->{exit_code}" };
	}
	is($odd, 0, "$name: a stop at the end: one outcome (" . join(', ', map { "$seen{$_} $_" } sort keys %seen) . ')');
	job($who, ['rm', '--ended']);

	# The caller is killed, at any moment: a job runs, or there is none that ever will.
	my $mark = 1000000 + $who->{uid};
	for my $round (1 .. 12) {
		my $pid = fork // die;
		if (!$pid) {
			open STDOUT, '>', '/dev/null';
			open STDERR, '>', '/dev/null';
			%ENV = environment($who);
			become($who);
			chdir "$who->{home}/project";
			exec $JOB, 'start', '--', 'sh', '-c', "sleep 1; echo lived; : $mark" or POSIX::_exit(99);
		}
		select undef, undef, undef, rand 0.06;
		kill 'KILL', $pid;
		waitpid $pid, 0;
	}
	ok(becomes(sub { !grep { $_->{state} ne 'ended' && $_->{state} ne 'lost' } values %{listed($who)} }), "$name: the caller is killed: jobs end by themselves");
	my @ended = values %{listed($who)};
	is(scalar(grep { $_->{state} ne 'ended' || $_->{exit_code} || job($who, ['read', $_->{id}])->{out} ne "lived\n" }
		grep { $_->{started_ms} } @ended), 0, "$name: ... and those that had begun, of " . @ended . ', ran to their end');
	job($who, ['rm', '--ended']);

	# The supervisor is killed.
	$id = begin($who, '--memory', '1G', '--', 'sh', '-c', "setsid sleep $mark & echo begun; sleep $mark");
	becomes(sub { job($who, ['read', $id])->{out} eq "begun\n" });
	kill 'KILL', supervisor($who, $id);
	ok(becomes(sub { listed($who)->{$id}{state} eq 'lost' }), "$name: the supervisor is killed: list says lost");
	is_deeply([left("\0$mark\0")], [], "$name: ... nothing of it is alive");
	my @groups = leaves(1);
	note "$name: it leaves cgroups: @groups";
	for (1 .. 50) { # the kernel takes its time to let go of what was killed
		my $next = begin($who, '--', 'true');
		job($who, ['wait', $next]);
		job($who, ['rm', $next]);
		@groups = grep { -d } @groups or last;
	}
	is_deeply(\@groups, [], "$name: ... the next job removes its cgroups");
	$got = job($who, ['wait', $id]);
	like("$got->{code} $got->{err}", qr/^125 .*is lost: its supervisor has gone/, "$name: ... wait says so");
	like(job($who, ['report', $id])->{err}, qr/is lost/, "$name: ... and report");
	is(job($who, ['read', $id])->{out}, "begun\n", "$name: ... what it wrote is there");
	is(job($who, ['stop', $id])->{code}, 0, "$name: ... there is nothing to stop");
	is(job($who, ['rm', $id])->{code}, 0, "$name: ... and it can be removed");

	# A pid is not enough: another process has it now.
	$id = begin($who, '--', 'true');
	job($who, ['wait', $id]);
	my $other = fork // die;
	if (!$other) {
		become($who);
		sleep 1000;
		POSIX::_exit(0);
	}
	my $meta = slurp("$state/$id/meta.json") =~ s/("pid":\s*)\d+/$1$other/r;
	put($who, "$state/$id/meta.json", $meta, 0600);
	unlink "$state/$id/report.json";
	is(listed($who)->{$id}{state}, 'lost', "$name: a process of the supervisor's pid does not make a job alive");
	is(job($who, ['stop', $id])->{code}, 0, "$name: ... stop leaves it alone");
	is(kill(0, $other), 1, "$name: ... it lives");
	kill 'KILL', $other;
	waitpid $other, 0;

	# Damaged ones are said to be, and nothing else is affected.
	my $good = begin($who, '--', 'echo', 'good');
	job($who, ['wait', $good]);
	put($who, "$state/$id/meta.json", '{"sbx": 1, "created', 0600);
	mkdir "$state/0000000$_", 0700 and !$> and chown $who->{uid}, $who->{gid}, "$state/0000000$_" for 1, 2;
	chmod 0755, "$state/00000002";
	put($who, "$state/00000003", 'a file');
	put($who, "$state/README", 'a file');
	my $list = listed($who);
	is($list->{$good}{state}, 'ended', "$name: beside damaged jobs a good one is listed");
	is($list->{$_}{state}, 'damaged', "$name: $_ is damaged: $list->{$_}{error}") for $id, map { "0000000$_" } 1 .. 3;
	is(join(' ', sort keys %$list), join(' ', sort $good, $id, map { "0000000$_" } 1 .. 3), "$name: ... and other names are nothing");
	my $text = job($who, ['list'])->{out};
	like($text, qr/\A(?:[0-9a-f]{8}  damaged .*\n){4}$good  ended .*\n\z/, "$name: ... as text, too, before it");
	is(job($who, ['read', $good])->{out}, "good\n", "$name: ... and read");
	for my $command ('read', 'wait', 'stop', 'report') {
		$got = job($who, [$command, $id]);
		like("$got->{code} $got->{err}", qr/^125 .*damaged/, "$name: $command of a damaged one is an error");
	}
	is(job($who, ['rm', $id])->{code}, 0, "$name: ... it can be removed by its id");
	unlink "$state/00000003";
	rmdir "$state/0000000$_" for 1, 2;

	# Copied at any moment.
	job($who, ['rm', '--ended']);
	my $copies = "$who->{home}/copies";
	mkdir $copies, 0700;
	chown $who->{uid}, $who->{gid}, $copies if !$>;
	my $copier = sub { # ($n): a copy, as the caller, which may see files come and go
		run($who, ['sh', '-c', 'mkdir -m 700 "$0" && cp -a "$1"/. "$0"; chmod 700 "$0"', "$copies/$_[0]", $state]);
	};
	my $n = 0;
	for my $round (1 .. 5) {
		my $starter = fork // die;
		if (!$starter) {
			job($who, ['start', '--log-limit', '64K', '--', 'sh', '-c', 'seq 1 40000; sleep 0.1; seq 40001 80000; exit 5']);
			POSIX::_exit(0);
		}
		for (1 .. 10) {
			select undef, undef, undef, rand 0.04;
			$copier->($n++);
		}
		waitpid $starter, 0;
	}
	my ($wrong, %states) = (0);
	for my $copy (map { "$copies/$_" } 0 .. $n - 1) {
		my %how = (env => {SBX_STATE => $copy});
		my $list = job($who, ['list', '--json'], %how);
		$wrong++, diag("list: $list->{code} $list->{err}"), next if $list->{code} || $list->{signal};
		for my $of (@{JSON::PP->new->utf8->decode($list->{out})}) {
			$states{$of->{state}}++;
			# The supervisor has no lock on a copy: what has not ended is lost.
			$wrong++, diag("state $of->{state}") if $of->{state} !~ /^(ended|lost|damaged)$/;
			$wrong++, diag("ended $of->{outcome} $of->{exit_code}") if $of->{state} eq 'ended' && "$of->{outcome} $of->{exit_code}" ne 'completed 5';
			$wrong++, diag("damaged: $of->{error}") if $of->{state} eq 'damaged' && $of->{error} !~ /^job $of->{id}: its (meta|report).json is damaged|^job $of->{id}: its lock/;
			my $read = job($who, ['read', $of->{id}, '--lines', 100000], %how);
			next if $of->{state} eq 'damaged' && $read->{code} == 125 && $read->{err} =~ /^sbx-job: job $of->{id}/;
			$wrong++, diag("read: $read->{code} $read->{err}"), next if $read->{code} || $read->{signal};
			# Each piece of text is of the stream, in its place.
			my $all = join '', map { "$_\n" } 1 .. 80000;
			my $at = 0;
			for my $part (split /\n?(\[\d+ bytes, of lines \d+ to \d+, are not kept\])\n/, $read->{out}) {
				my ($lost) = $part =~ /^\[(\d+) bytes/;
				my $end = $at + length $part;
				if (defined $lost) {
					$at += $lost;
				} elsif (substr($all, $at, length $part) eq $part || substr($all, $at, 1 + length $part) eq "$part\n") {
					$at += length $part;
					$at++ if substr($all, $at, 1) eq "\n" && substr($all, $at - 1, 1) ne "\n" && $read->{out} =~ /\Q$part\E\n\[/;
				} else {
					$wrong++, diag('text out of place at ' . $at);
				}
			}
		}
	}
	is($wrong, 0, "$name: $n copies read right (" . join(', ', map { "$states{$_} $_" } sort keys %states) . ')');
	becomes(sub { !grep { $_->{state} =~ /running|starting/ } values %{listed($who)} });
	job($who, ['rm', '--ended']);
	is_deeply([left("\0$mark\0")], [], "$name: nothing is left running");
}

# Two users at once do not meet.
SKIP: {
	skip 'needs root', 1 if $>;
	my ($root, $user) = callers();
	my @ids = (begin($root, '--', 'true'), begin($user, '--', 'true'));
	is(join(' ', (keys %{listed($root)})[0], (keys %{listed($user)})[0]), "@ids", 'each user has jobs of its own');
	my $got = job($user, ['list'], env => {SBX_STATE => state_of($root)});
	is($got->{code}, 125, "... and none of another's: " . $got->{err} =~ s/\n.*//sr);
}
# A full disk.
SKIP: {
	skip 'needs root', 1 if $>;
	my ($root) = callers();
	my $place = "$root->{home}/small";
	mkdir $place, 0755;
	my $got = run($root, ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs -o size=600k,mode=755 none "$1" || exit 9; export SBX_STATE=$1/jobs; '
		. 'id=$("$0" start -- yes) && "$0" wait $id; echo wait $?; "$0" list; "$0" read $id --from 100 --lines 2; '
		. 'head -c 1M /dev/zero >$1/rest; "$0" start -- true; echo start $?; "$0" list; rm $1/rest; "$0" rm --ended; "$0" list; echo end', $JOB, $place]);
	my $line = '[0-9a-f]{8}  ended     125 .*  yes  \(lost\)\n';
	like($got->{out}, qr/\Await 125\n${line}y\ny\nstart 125\n${line}end\n\z/, 'a full disk: it is said how the run ended, and what does not fit is refused')
		or diag("$got->{out}$got->{err}");
	rmdir $place;
}
done_testing();
