#!/usr/bin/perl
# Each limit holds, ends or hinders what runs into it and nothing else, is named in the report, and is gone with its run.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

my $USE = "$top/bin/use";
put({uid => 0, gid => 0}, $USE, slurp("$ENV{SBX_BUILD}/tests/hostile/use") // die, 0755);
my $json = JSON::PP->new->canonical;
my $MIB = 1 << 20;
my ($mark, %by);

# The options of a run under the policy default with these limits; other keys after them. The mark is in the environment of
# all that it runs.
my $policies = 0;
sub with_limits {
	my ($who, $limits, %other) = @_;
	my $policy = {sbx => 1, extends => ['default'], limits => $limits, %other};
	return ('-p', put($who, "$who->{home}/limits." . $policies++ . '.json', $json->encode($policy)), '--env', "MARK=$mark");
}

# Runs a shell command under limits: the exit code with the outcome and the limits that were run into, {out}, and the report.
sub limited {
	my ($who, $limits, $script, %other) = @_;
	my ($got, $report) = reported($who, [with_limits($who, $limits, %other), '--', 'sh', '-c', $script]);
	return (verdict($got->{code}, $report), $got, $report);
}

sub verdict {
	my ($code, $report) = @_;
	my @hits = grep { ($report->{enforcement}{$_}{hits} // 0) > 0 } sort keys %{$report->{enforcement}};
	return join ' ', $code, $report->{outcome} // '-', @hits;
}

# The processes of this caller's runs, but for bwrap's own.
sub marked {
	return grep { (slurp("/proc/$_/environ") // '') =~ /\bMARK=\Q$mark\E\0/ } map { m{(\d+)} } glob '/proc/[0-9]*';
}

sub processes {
	my ($who) = @_;
	my $held = $by{processes} eq 'cgroup' ? ' processes' : '';
	my ($seen, $got, $report) = limited($who, {processes => 20}, "$USE threads 10000");
	is($seen, "11 completed$held", "$who->{name}: processes: no 10,000 threads");
	($seen) = limited($who, {processes => 20}, "$USE processes 15; (exit 0) || exit 3; (exit 4)");
	is($seen, '4 completed', "$who->{name}: processes: up to the limit they are to be had");

	my $run = start($who, [with_limits($who, {processes => 20}), '--report', "$who->{home}/bomb.json", '--', $USE, 'bomb', 0]);
	my $most = 0;
	for (1 .. 40) {
		my $n = marked();
		$most = $n if $n > $most;
		select undef, undef, undef, 0.02;
	}
	kill 'TERM', $run->{pid};
	is(finish($run), 143, "$who->{name}: processes: a fork bomb can be ended");
	cmp_ok($most, '<=', 20, "$who->{name}: processes: and never was more than the limit");
	cmp_ok($most, '>', 10, "$who->{name}: processes: nor much less");
	$report = $json->decode(slurp("$who->{home}/bomb.json"));
	is(verdict(143, $report), "143 cancelled$held", "$who->{name}: processes: the report says that it was run into");
}

sub memory {
	my ($who) = @_;
	my $limit = {memory => '40M'};
	for (['alone', "exec $USE memory 1000", '137 memory memory'],
		['in a child', "$USE memory 1000; exit 4", '4 completed memory'],
		['of children together', "for i in 1 2 3 4 5 6; do $USE memory 10 keep & done; sleep 1; exit 4", '4 completed memory']) {
		my ($name, $script, $cgroup) = @$_;
		my ($seen, $got, $report) = limited($who, $limit, $script);
		my $oom = $report->{out_of_memory} // {};
		is($seen, $by{memory} eq 'watchdog' ? '137 memory memory' : $cgroup, "$who->{name}: memory: $name");
		is("$oom->{source} $oom->{limit_bytes}", 'own ' . 40 * $MIB, "$who->{name}: memory: $name: the report says whose limit");
		cmp_ok($oom->{kills}, '>', 0, "$who->{name}: memory: $name: and that it killed");
		is($oom->{retryable}, JSON::PP::false, "$who->{name}: memory: $name: and that it will again");
		cmp_ok($oom->{peak_bytes}, '>', 20 * $MIB, "$who->{name}: memory: $name: and how much there was");
		unlike($got->{out}, qr/1000 MiB/, "$who->{name}: memory: $name: not all was to be had");
	}
	my ($seen) = limited($who, $limit, "$USE threads 10000 keep");
	like($seen, qr/^(137 memory|11 completed) memory$/, "$who->{name}: memory: no 10,000 threads");
	# What several have counts once.
	for (['vfork 90', '128M'], ['fork 70', '256M'], ['fork 40', '128M'], ['mapped 48', '64M', filesystem => {tmpfs => [{at => '/tmp', size => '60M'}]}]) {
		my ($use, $memory, @other) = @$_;
		my ($seen, $got, $report) = limited($who, {memory => $memory}, "$USE $use; exit 5", @other);
		is($seen, '5 completed', "$who->{name}: memory: $use is to be had in $memory");
		my $peak = $report->{out_of_memory}{peak_bytes};
		cmp_ok($peak, '<=', $memory =~ s/M//r * $MIB, "$who->{name}: memory: $use: nor was it more") if defined $peak;
	}
	# What is in files that nobody has mapped counts.
	my ($mem, $got) = limited($who, {memory => '64M'}, "exec $USE memfd 400");
	is($mem, '137 memory memory', "$who->{name}: memory: no 400 MiB in a memfd");
	unlike($got->{out}, qr/400 MiB/, "$who->{name}: memory: memfd: not all was to be had");
	($seen) = limited($who, {memory => '40M'}, "head -c 60M /dev/zero >/tmp/x; $USE memory 35 keep; exit 3",
		filesystem => {tmpfs => [{at => '/tmp', size => '30M'}]});
	like($seen, qr/^(137 memory|3 completed) memory tmpfs$/, "$who->{name}: memory: files in /tmp are some of it");
}

sub files {
	my ($who) = @_;
	my ($seen, $got) = limited($who, {}, 'head -c 20M /dev/zero >/tmp/x; stat -c %s /tmp/x; exit 3', filesystem => {tmpfs => [{at => '/tmp', size => '8M'}]});
	is("$seen $got->{out}", '3 completed tmpfs ' . 8 * $MIB . "\n", "$who->{name}: a full /tmp");
	($seen, $got) = limited($who, {}, 'head -c 20M /dev/zero >/scratch/x; stat -c %s /scratch/x; exit 3', scratch => {at => '/scratch', size => '8M'});
	is("$seen $got->{out}", '3 completed tmpfs ' . 8 * $MIB . "\n", "$who->{name}: a full scratch");
	my $report;
	($seen, $got, $report) = limited($who, {}, 'head -c 20M /dev/zero >/tmp/x; rm /tmp/x', filesystem => {tmpfs => [{at => '/tmp', size => '8M'}]});
	is($report->{enforcement}{tmpfs}{hits}, undef, "$who->{name}: whether /tmp was full before the end nobody knows");

	($seen, $got, $report) = limited($who, {file_size => '1M'}, 'exec head -c 20M /dev/zero >big', filesystem => {write => ['./']});
	is($seen, '153 completed', "$who->{name}: file_size: XFSZ ends what goes on");
	is(-s "$who->{home}/project/big", $MIB, "$who->{name}: file_size: the file has that size");
	is($report->{enforcement}{file_size}{by}, 'RLIMIT_FSIZE', "$who->{name}: file_size: by the kernel");
	($seen, $got, $report) = limited($who, {open_files => 16}, q{exec perl -e 'while (open my $fh, "<", "/dev/null") { push @all, $fh } print $! + 0 == 24 ? "EMFILE" : $!, " ", fileno $all[-1]'});
	is("$seen $got->{out}", '0 completed EMFILE 15', "$who->{name}: open_files: 0 to 15 are to be had");
	is($report->{enforcement}{open_files}{by}, 'RLIMIT_NOFILE', "$who->{name}: open_files: by the kernel");

	SKIP: {
		skip 'core files go elsewhere here', 3 if slurp('/proc/sys/kernel/core_pattern') !~ m{^[^|/]+$};
		my @core = ('ulimit -c unlimited; kill -SEGV $$', filesystem => {write => ['./']});
		($seen) = limited($who, {}, @core);
		is_deeply([$seen, glob("$who->{home}/project/*core*")], ['139 completed'], "$who->{name}: core: no file");
		($seen) = limited($who, {core => '64K'}, @core);
		my ($file) = glob "$who->{home}/project/*core*";
		is($seen, '139 completed', "$who->{name}: core: 64 KiB");
		ok($file && (stat $file)[12] * 512 <= 65536, "$who->{name}: core: and no more of it is in the file");
		unlink $file if $file;
	}
}

sub cpu {
	my ($who) = @_;
	my $together = $by{cpu} eq 'cgroup';
	my ($seen, $got, $report) = limited($who, {cpu => '1s'}, "for i in 1 2 3 4; do $USE cpu 60000 & done; wait; exit 6");
	is($seen, $together ? '137 cpu cpu' : '6 completed', "$who->{name}: cpu: four busy children end");
	my ($least, $most) = $together ? (900, 3000) : (3000, 12000);
	cmp_ok($report->{cpu_ms}, '>', $least, "$who->{name}: cpu: after their time");
	cmp_ok($report->{cpu_ms}, '<', $most, "$who->{name}: cpu: and not long after it");
}

# What only looks like a limit of the kernel's, or of a cgroup that the command could change.
sub lookalikes {
	my ($who) = @_;
	for my $end (137, 152) {
		my ($seen) = limited($who, {cpu => '3s'}, "$USE cpu 1200; exit $end");
		is($seen, "$end completed", "$who->{name}: an exit code $end before the limit is the command's own");
	}
	return if $who->{uid};
	my ($seen, $got, $report) = limited($who, {memory => '64M', processes => 20}, 'exit 3', process => {nested_userns => JSON::PP::true()});
	is($report->{enforcement}{memory}{by}, 'watchdog', "$who->{name}: root with user namespaces is not held by cgroups");
	ok(!$report->{enforcement}{processes}{enforced}, "$who->{name}: which nothing else can do for processes");
	like("@{$report->{notes}}", qr/could change its cgroup/, "$who->{name}: and why");
}

# What a grandchild used is counted, whatever ends it.
sub accounting {
	my ($who) = @_;
	my $work = "sh -c '$USE cpu 300; $USE memory 50 keep & read x; kill -KILL \$!; wait'; exit 7";
	for my $limits ({}, {memory => '1G', cpu => '1m', processes => 100}) {
		for my $end ('its own', 'TERM') {
			my $name = join ' ', "$who->{name}: accounting,", keys %$limits ? 'limits,' : 'no limits,', $end;
			my $file = "$who->{home}/used.json";
			my $run = start($who, [with_limits($who, $limits), '--report', $file, '--', 'sh', '-c', "trap '' TERM; $work"]);
			is(line($run), '50 MiB', "$name: (it is at work)");
			$end eq 'TERM' ? kill('TERM', $run->{pid}) : syswrite($run->{in}, "\n");
			is(finish($run), $end eq 'TERM' ? 143 : 7, "$name: the exit code");
			my $report = $json->decode(slurp($file));
			cmp_ok($report->{cpu_ms}, '>=', 290, "$name: not less processor time than was used");
			cmp_ok($report->{cpu_ms}, '<', 3000, "$name: nor far more");
			cmp_ok($report->{max_rss_bytes}, '>=', 49 * $MIB, "$name: not less memory");
			cmp_ok($report->{max_rss_bytes}, '<', 150 * $MIB, "$name: nor far more");
		}
	}
}

# Runs at once do not share limits, and one that follows has none of them.
sub together {
	my ($who) = @_;
	my ($nproc) = $by{processes} eq 'cgroup' ? ' processes' : '';
	my @kinds = (
		[{}, 'exit 11', '11 completed'],
		[{wall => '300ms'}, 'while :; do sleep 1; done', '124 timeout wall'],
		[{memory => '40M'}, "exec $USE memory 1000", '137 memory memory'],
		[{cpu => '1s'}, "exec $USE cpu 60000", '137 cpu cpu'],
		[{processes => 12}, "$USE processes 50; exit 12", "12 completed$nproc"],
		[{file_size => '64K'}, 'head -c 1M /dev/zero >/tmp/x; exit 13', '13 completed'],
		[{memory => '2M'}, 'head -c 4M /dev/zero >/tmp/x; exit 14', undef],
		[{memory => '300M', processes => 100, cpu => '1m'}, "$USE memory 60; kill -TERM \$\$", '143 completed'],
	);
	my @runs = map {
		my ($limits, $script) = @{$kinds[$_ % @kinds]};
		start($who, [with_limits($who, $limits), '--report', "$who->{home}/together.$_", '--', 'sh', '-c', $script]);
	} 0 .. 63;
	my @wrong;
	for my $i (0 .. 63) {
		my $code = finish($runs[$i]);
		my $seen = verdict($code, $json->decode(slurp("$who->{home}/together.$i") || '{}'));
		my $wanted = $kinds[$i % @kinds][2] or next;
		push @wrong, "run $i: $seen, not $wanted: $runs[$i]{err}" if $seen ne $wanted;
	}
	is_deeply(\@wrong, [], "$who->{name}: each of 64 runs at once has its own verdict");
	my ($seen, $got, $report) = limited($who, {}, "$USE memory 60; $USE processes 50; $USE threads 100; $USE cpu 1200; exit 9");
	is($seen, '9 completed', "$who->{name}: a run without limits after them has none");
	is_deeply([sort grep { !/^(core|filesystem|nested_userns|network|tmpfs|seccomp)$/ } keys %{$report->{enforcement}}], [], "$who->{name}: nor says that it has");
	is_deeply($report->{out_of_memory}{kills} // 0, 0, "$who->{name}: and no kills");
}

# The groups that a process of a run is in, by their own names.
sub leaf_names {
	my ($pid) = @_;
	return (slurp("/proc/$pid/cgroup") // '') =~ m{/(sbx-[0-9a-f]{16})$}mg;
}

sub leftovers {
	my ($who) = @_;
	my @limits = with_limits($who, {memory => '100M', processes => 100, cpu => '1m'});
	my @runs = map { start($who, [@limits, '--', 'sh', '-c', "echo; read x; exit $_"]) } 1, 2;
	line($_) for @runs;
	my %names;
	$names{$_} = [leaf_names($_)] for marked();
	is(scalar keys %names, 2, "$who->{name}: leftovers: two runs");
	my ($killed, $alive) = map { my $code = $_; [map { @{$names{$_}} } grep { (slurp("/proc/$_/cmdline") // '') =~ /exit $code\0/ } keys %names] } 1, 2;
	my $there = sub {
		my %wanted = map { $_ => 1 } @_;
		my $n = 0;
		File::Find::find({no_chdir => 1, wanted => sub { $n++ if $wanted{s{.*/}{}r} }}, '/sys/fs/cgroup') if -d '/sys/fs/cgroup';
		return $n;
	};
	cmp_ok($there->(@$alive), '>', 0, "$who->{name}: leftovers: groups of a run") if $by{memory} eq 'cgroup';
	kill 'KILL', $runs[0]{pid};
	finish($runs[0]);
	is_deeply([grep { /exit 1/ } left("echo; read x; exit 1")], [], "$who->{name}: leftovers: KILL leaves no process");
	run($who, [$EXEC, @limits, '--', 'true']);
	is($there->(@$killed), 0, "$who->{name}: leftovers: the next run removes the groups");
	is($there->(@$alive), scalar @$alive, "$who->{name}: leftovers: and not those of a run that lives");
	my $got = run($who, [$EXEC, @limits, '--', 'sh', '-c', "$USE memory 60; exit 8"]);
	is($got->{code}, 8, "$who->{name}: leftovers: nor does what it counted matter to others");
	syswrite $runs[1]{in}, "\n";
	is(finish($runs[1]), 2, "$who->{name}: leftovers: which goes on to its end");
	is($there->(@$alive), 0, "$who->{name}: leftovers: and removes them itself");
}

for my $who (callers()) {
	$mark = "limits-$$-$who->{name}";
	my $limits = $json->decode(run($who, [$EXEC, '--probe', '--json'])->{out})->{limits};
	%by = map { $_ => ($limits->{$_}{by} // 'nobody') =~ /^([[:alpha:]]+)/ } keys %$limits;
	note("$who->{name}: $_ by $by{$_}") for sort keys %by;
	processes($who);
	memory($who);
	files($who);
	cpu($who);
	accounting($who);
	lookalikes($who);
	together($who);
	leftovers($who);
	is_deeply([marked()], [], "$who->{name}: no process is left");
}
done_testing();
