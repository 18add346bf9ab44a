# Cases of how runs start, end and are limited: exit codes, strays, time-outs, limits, descriptors, variables, races.
use strict;
use warnings;
use FindBin;
use Test::More;
use Time::HiRes qw(time);
BEGIN { require "$FindBin::Bin/case-lib.pl" }
our ($top, $PLAN, $EXEC);

# A run with a policy: its exit code with the outcome, what it gave, and its report.
sub outcome {
	my ($who, $args, %how) = @_;
	my ($got, $report) = reported($who, $args, %how);
	return ("$got->{code} " . ($report->{outcome} // '-'), $got, $report);
}

case h02 => 'what is not found is 127, what cannot be executed 126, and each says why', sub {
	my ($who, $dir) = @_;
	put($who, "$dir/noexec", "echo hi\n", 0644);
	put($who, "$dir/badinterp", "#!/no/such\n", 0755);
	put($who, "$dir/hidden", slurp(which('true')), 0755);
	mkdir "$dir/dir";
	my ($loader) = (slurp(which('true')) =~ m{(/lib[^\0]*/ld-[^\0]+)\0}, '/nowhere');
	my @policy = policy($who, {deny => ["$dir/hidden"]});
	my @unloaded = policy($who, {deny => [{path => $loader, optional => JSON::PP::true}]});
	for (['nosuch', '127 not-found', qr{nosuch is not found}], ["$dir/nosuch", '127 not-found', qr{nosuch is not in the sandbox}],
		["$dir/noexec", '126 not-executable', qr{no execute permission}], ["$dir/badinterp", '126 not-executable', qr{/no/such, is not in the sandbox}],
		["$dir/dir", '126 not-executable', qr{is a directory}], ["$dir/hidden", '126 not-executable', qr{/filesystem/deny/0\) hides it}],
		['true', '126 not-executable', qr{\Q$loader\E, is not in the sandbox.*/filesystem/deny/0\) hides it}s, @unloaded]) {
		my ($command, $ending, $why, @with) = @$_;
		my ($seen, $got, $report) = outcome($who, [@with ? @with : @policy, '--', $command]);
		is("$seen $report->{phase}", "$ending exec", "$who->{name}: $command: $ending");
		like($got->{err}, $why, "$who->{name}: $command: it says why");
		unlike($got->{err}, qr{^bwrap: }m, "$who->{name}: $command: bwrap is not heard");
	}
	is((outcome($who, [@policy, '--', 'sh', '-c', 'exit 127']))[0], '127 completed', "$who->{name}: the command's own 127 is another");
};

case h04 => 'children in the background, in sessions of their own too, do not keep the result', sub {
	my ($who, $dir) = @_;
	for my $script ('sleep 1004 & echo done', 'setsid sleep 1004 & (setsid setsid sleep 1004 &); echo done') {
		my $started = time;
		my ($seen, $got) = outcome($who, ['--timeout', '60s', '--', 'sh', '-c', $script, "h04-$$"]);
		is("$seen $got->{out}", "0 completed done\n", "$who->{name}: the result is that of the command");
		cmp_ok(time - $started, '<', 30, "$who->{name}: it comes at once, while they hold standard output");
		is_deeply([left("sleep\0001004")], [], "$who->{name}: they are gone");
	}
};

case h05 => 'a tree that ignores signals ends at its time, and that is no lack of memory', sub {
	my ($who, $dir) = @_;
	my $script = q{trap '' TERM INT HUP; for i in 1 2 3; do setsid sh -c "trap '' TERM; sleep 1005" & done; echo part; sleep 1005; sleep 1005};
	my ($seen, $got, $report) = outcome($who, [qw(--timeout 500ms --memory 100M -- sh -c), $script]);
	is("$seen $got->{out}", "124 timeout part\n", "$who->{name}: timeout, and what was written is kept");
	is($report->{out_of_memory}, undef, "$who->{name}: nothing is said of memory");
	cmp_ok($report->{duration_ms}, '>=', 500, "$who->{name}: not before its time");
	cmp_ok($report->{duration_ms}, '<', 20000, "$who->{name}: and not long after it");
	is_deeply([left("sleep\0001005")], [], "$who->{name}: nothing is left");
};

case h07 => 'the command gets the caller\'s standard input, and none of it is taken for it', sub {
	my ($who, $dir) = @_;
	my $sh = sub { run($who, ['sh', '-c', $_[0], $EXEC], stdin => "one\ntwo\n")->{out} };
	is($sh->('"$0" -- cat'), "one\ntwo\n", "$who->{name}: cat reads it");
	is($sh->('"$0" -- true; cat'), "one\ntwo\n", "$who->{name}: what reads nothing leaves all");
	is($sh->('"$0" -- sh -c "read x; echo \$x"; cat'), "one\ntwo\n", "$who->{name}: what reads a line leaves the next");
	my $open = start($who, ['--', 'sh', '-c', 'exit 7']);
	is(finish($open), 7, "$who->{name}: a pipe that does not end keeps nothing from ending");
	for my $closed ('0<&-', '0<&- 1>&- 2>&-') {
		my $file = "$dir/fds";
		my $got = run($who, ['sh', '-c', qq{"\$0" --write $dir --report fd:3 -- sh -c 'cat >$file 2>&1; ls -l /proc/self/fd >>$file' 3>&1 $closed}, $EXEC]);
		my $said = slurp($file) // '';
		like($said, qr{\Acat: .*Bad file descriptor\n}, "$who->{name}: $closed: there is nothing to read");
		like($said, qr{ 0 -> /dev/null$}m, "$who->{name}: $closed: nothing of the run's own takes its number");
		unlike($said, qr{memfd|bwrap|policies}, "$who->{name}: $closed: nor any other") or diag($said);
		like($got->{out}, qr{"outcome":\s+"completed"}, "$who->{name}: $closed: the report comes all the same");
		unlink $file;
	}
};

case h11 => 'a limit of memory is one of what is used, not of addresses', sub {
	my ($who, $dir) = @_;
	my @options = ('--memory', '256M');
	is(inside($who, \@options, 'ulimit -v'), "unlimited\n", "$who->{name}: there is no limit of addresses");
	my @programs = (['/usr/bin/python3', '-c', 'import mmap; m = mmap.mmap(-1, 1 << 30); print(42)'], ['/usr/bin/node', '-e', 'console.log(42)']);
	for my $program (@programs) {
		SKIP: {
			skip "$program->[0] is not installed", 1 if !-x $program->[0];
			my ($seen, $got) = outcome($who, [@options, '--', @$program]);
			is("$seen $got->{out}", "0 completed 42\n", "$who->{name}: $program->[0] has what it reserves");
		}
	}
};

case h12 => 'a limit of processor time is the cause, also for what ignores its signal', sub {
	my ($who, $dir) = @_;
	for my $script ('while :; do :; done', q{trap '' XCPU; while :; do :; done}) {
		my ($seen, $got, $report) = outcome($who, [qw(--cpu 1s --memory 64M --timeout 60s -- sh -c), $script]);
		is("$seen $report->{enforcement}{cpu}{hits}", '137 cpu 1', "$who->{name}: $script");
		is($report->{out_of_memory}{kills} // 0, 0, "$who->{name}: $script: nothing of memory");
	}
};

case h13 => 'a limit of processes is one of the run, not of all that the user has', sub {
	my ($who, $dir) = @_;
	my @others = map {
		my $pid = fork // die;
		if (!$pid) {
			become($who);
			exec 'sleep', '60' or POSIX::_exit(1);
		}
		$pid;
	} 1 .. 40;
	my @options = ('--processes', 20);
	my ($seen, $got, $report) = outcome($who, [@options, '--', 'sh', '-c', 'true & wait; exit 5']);
	is($seen, '5 completed', "$who->{name}: with 40 processes elsewhere it still runs");
	my @bomb = ('perl', '-e', 'for (1 .. 100) { defined(my $p = fork) or exit 11; if (!$p) { sleep 60; exit } }');
	if ($report->{enforcement}{processes}{enforced}) {
		is((outcome($who, [@options, '--', @bomb]))[0], '11 completed', "$who->{name}: and is held at its own limit");
	} else {
		is((outcome($who, [@options, '--require', 'processes', '--', @bomb]))[0], '125 refused', "$who->{name}: what nothing holds can be required");
	}
	kill 'KILL', @others;
	waitpid $_, 0 for @others;
};

case h16 => 'odd variables: patterns of names, bytes as they are, the first of two', sub {
	my ($who, $dir) = @_;
	my $odd = put($who, "$dir/odd", slurp("$ENV{SBX_BUILD}/tests/hostile/odd-environment") // die, 0755);
	my @options = policy($who, {}, environment => {base => 'none', inherit => ['A*', 'EMPTY', 'C', 'BASH_FUNC*']});
	my $got = run($who, [$odd, $EXEC, @options, '--', '/usr/bin/env', '-0']);
	my @seen = sort grep { !/^PWD=/ } split /\0/, $got->{out};
	is_deeply(\@seen, ['A=1', 'AX=x=y', "C=\xff\xfe", 'EMPTY='], "$who->{name}: what matches and is a variable") or diag($got->{err});
};

case h18 => 'a command that stops itself ends at its time', sub {
	my ($who, $dir) = @_;
	my $run = start($who, ['--timeout', '500ms', '--', 'sh', '-c', 'kill -STOP $$; echo no']);
	local $SIG{ALRM} = sub { kill 'KILL', $run->{pid} };
	alarm 60;
	waitpid $run->{pid}, POSIX::WUNTRACED();
	alarm 0;
	ok(!POSIX::WIFSTOPPED(${^CHILD_ERROR_NATIVE}), "$who->{name}: its caller is not stopped");
	is($? >> 8, 124, "$who->{name}: it is a time-out");
};

case h19 => 'there is a place for temporary files, whatever TMPDIR says', sub {
	my ($who, $dir) = @_;
	my $temp = 'd=$(mktemp -d) && echo ${d%/*}; stat -c %a /tmp';
	for my $tmpdir ("$dir/nope", $dir) {
		is(inside($who, ['--inherit', 'TMPDIR'], $temp, env => {TMPDIR => $tmpdir}), "/tmp\n1777\n", "$who->{name}: $tmpdir");
		my ($seen, $got, $report) = outcome($who, ['--inherit', 'TMPDIR', '--', 'true'], env => {TMPDIR => $tmpdir});
		like("@{$report->{notes}}", qr{TMPDIR is \Q$tmpdir\E,.*set to /tmp}, "$who->{name}: $tmpdir: a note says so");
	}
	is(inside($who, ['--user', 4242, '--chdir', '/'], $temp), "/tmp\n1777\n", "$who->{name}: for another user too");
};

case h20 => 'a bwrap that lies where the command can write is never run', sub {
	my ($who, $dir) = @_;
	put($who, "$dir/p/$_", "#!/bin/sh\necho PLANTED\n", 0755) for 'bwrap', 'bin/bwrap';
	for my $path ('.', "$dir/p", "$dir/p/bin", '', 'bin') {
		my $got = run($who, [$EXEC, '--write', "$dir/p", '--', '/bin/echo', 'ran'], cwd => "$dir/p", env => {PATH => "$path:$ENV{PATH}"});
		unlike($got->{out}, qr{PLANTED}, "$who->{name}: PATH=$path:...: not the planted one");
		like($got->{out} || $got->{err}, qr{^(ran|sbx-exec: .*could replace)}, "$who->{name}: PATH=$path:...: it runs, or says why not");
	}
	put($who, "$dir/p/own", slurp(which('bwrap')), 0755);
	refuses($who, $dir, 'one that the caller names', qr{could replace}, ['--write', "$dir/p"], env => {SBX_BWRAP => "$dir/p/own"});
	is(run($who, [$EXEC, '--', 'echo', 'ran'], cwd => '/')->{out}, "ran\n", "$who->{name}: started in / it is the system's");
};

case h21 => 'files that come and go while sandboxes are made keep none from running', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, 'p/keep = kept', 'p/secret = SECRET');
	my @options = policy($who, {tmpfs => [{at => "$dir/p/own"}], deny => ["$dir/p/secret"]});
	my $busy = fork // die;
	if (!$busy) {
		become($who);
		for (my $i = 0; ; $i++) {
			my $name = "$dir/p/t" . $i % 7;
			open my $out, '>', $name;
			select undef, undef, undef, 0.2;
			unlink $name;
		}
	}
	my @wrong;
	for (1 .. 25) {
		my @runs = map { start($who, [@options, '--', 'sh', '-c', "cat $dir/p/keep; cat $dir/p/secret; exit 3"]) } 1, 2;
		for my $run (@runs) {
			my $line = line($run) // '-';
			my $code = finish($run);
			push @wrong, "$code $line $run->{err}" if $code != 3 || $line !~ /^kept/ || $run->{err} !~ /Permission denied/;
		}
	}
	kill 'KILL', $busy;
	waitpid $busy, 0;
	is_deeply(\@wrong, [], "$who->{name}: 50 runs, two at once");
	unlink glob "$dir/p/t*";
	is_deeply([map { s{.*/}{}r } glob "$dir/p/* $dir/p/.[!.]*"], ['keep', 'secret'], "$who->{name}: and nothing is left of them");
};

run_cases();
