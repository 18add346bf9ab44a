#!/usr/bin/perl
# Any system call of sbx-exec's, or of its shim's, fails, or any allocation of memory: the run ends well, or says truthfully that it did not; never is the
# command less confined, never is anything left. A sample; SBX_FULL=1 for every call with every error, and with SBX_DOC=1
# the table of docs/reliability.md.
use strict;
use warnings;
use Errno ();
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

my @errors = qw(ENOMEM EINTR EIO EMFILE EACCES ENOSPC);
# One fault in so many, those of all errors in one row: of the shim, which makes few calls, more, of allocations fewer.
# SBX_FAULT_STRIDE says it otherwise.
my $stride = $ENV{SBX_FAULT_STRIDE} || ($ENV{SBX_FULL} ? 1 : 7993);
my %steps = (supervisor => $stride, shim => 1 + int($stride / 8), memory => $stride == 1 ? scalar @errors : 20 * $stride + 1);
my $fault_at = "$ENV{SBX_BUILD}/tests/hostile/fault-at";
my $no_memory = "$ENV{SBX_BUILD}/tests/preload/no-memory.so";

# What differs in how sbx-exec is run, each from a state of its own: {name, options, env}.
sub ways {
	my ($who) = @_;
	return (
		{name => 'plain', options => [], env => {}},
		{name => 'terminal', options => ['--tty'], env => {}},
		{name => 'files', options => ['--output-dir', "$who->{home}/output"], env => {}},
		{name => 'unknown host', options => [], env => {XDG_RUNTIME_DIR => "$top/none"}});
}

# Tries what is denied, and says what is around it.
my $command = <<'END';
echo ran >>ran
read x <canary && echo "canary: $x"
read x <../hidden && echo "hidden: $x"
read x <absent && echo "absent: $x"
echo changed >../hidden
echo made >absent
while read -r key value; do case $key in Seccomp:|NoNewPrivs:|Cap*|Groups:) echo "$key $value";; esac; done </proc/self/status
while read -r a b c d at options rest; do echo "mount $at ${options%%,*}"; done </proc/self/mountinfo
ulimit -n
echo end
END

# Moves this process to cgroups of its own, where that is allowed, so that those of its runs are told from others'. What is
# below them: @own.
my @own;
sub enter_cgroups {
	for (split /\n/, slurp('/proc/self/cgroup') // '') {
		my ($controllers, $path) = /^\d+:([^:]*):(.*)/ or next;
		my $name = $controllers eq '' ? 'unified' : $controllers =~ s/^name=//r;
		my ($at) = grep { -e "$_/cgroup.procs" } "/sys/fs/cgroup/$name$path", $controllers eq '' ? "/sys/fs/cgroup$path" : ();
		my $dir = ($at // next) . "/test-faults.$$";
		next if !mkdir $dir;
		push @own, $dir;
		mkdir "$dir/run";
		open my $procs, '>', "$dir/run/cgroup.procs" or next;
		syswrite $procs, $$;
	}
}

# Takes a mount namespace of its own: what changes in it is of its runs. An ordinary user makes none.
my $own_mounts;
sub enter_mounts {
	require 'syscall.ph';
	my $new_mounts = 0x00020000;
	$own_mounts = syscall(&SYS_unshare, $new_mounts) == 0 && system('mount', '--make-rprivate', '/') == 0;
}

# Moves it back, and removes them.
sub leave_cgroups {
	for my $dir (@own) {
		if (open my $procs, '>', "$dir/../cgroup.procs") {
			syswrite $procs, $$;
		}
		rmdir "$dir/run";
		rmdir $dir;
	}
}

# The cgroups that are left in them.
sub own_leaves {
	return grep { m{/sbx-[0-9a-f]{16}$} } map { glob "$_/sbx-* $_/run/sbx-*" } @own;
}

# Runs it with a fault; what came of it: {call, end, left} of fault-at, {code, out, err}, {ran, report, files}.
sub faulted {
	my ($who, $way, $part, $n, $error) = @_;
	my $home = $who->{home};
	my $memory = $part eq 'memory';
	my @fault = $memory ? ('supervisor', 1e9, 0, '/usr/bin/env', "LD_PRELOAD=$no_memory", "SBX_NO_MEMORY_AT=$n", "SBX_NO_MEMORY_MARK=$home/mark")
		: ($part, $n, $error);
	unlink map { "$home/$_" } qw(log report.json project/ran mark);
	my $got = run($who, [$fault_at, "$home/log", @fault, $EXEC, '-p', "$home/policy.json", '--report', "$home/report.json",
		@{$way->{options}}, '--', 'sh', '-c', $command], env => $way->{env});
	@$got{qw(call end status left)} = split ' ', slurp("$home/log") // '';
	$got->{call} = -e "$home/mark" ? 'malloc' : -1 if $memory;
	for my $stream (qw(stdout stderr)) {
		$got->{out} .= slurp("$home/output/$stream") // '' if $way->{name} eq 'files' && $stream eq 'stdout';
		unlink "$home/output/$stream";
	}
	$got->{out} =~ s/\r//g;
	# Covers of sockets that other tests have at the same time are none of ours.
	$got->{view} = join "\n", sort grep { !m{^mount /(var/)?tmp/.* ro$} || index($_, $top) >= 0 } split /\n/, $got->{out};
	$got->{ran} = -e "$home/project/ran";
	my $report = slurp("$home/report.json");
	$got->{report} = $report ? eval { JSON::PP->new->utf8->decode($report) } // {} : undef;
	unlink map { "$home/$_" } qw(log report.json project/ran mark);
	$got->{files} = listing($home) . listing("$top/run-$who->{uid}");
	$got->{hidden} = slurp("$home/hidden");
	$got->{mounts} = slurp('/proc/self/mountinfo');
	$got->{cgroups} = [own_leaves()];
	return $got;
}

# The lines that only one of two texts has.
sub difference {
	my ($old, $new) = @_;
	my %old = map { $_ => 1 } split /\n/, $old;
	my %new = map { $_ => 1 } split /\n/, $new;
	return join ', ', (map { "-$_" } grep { !$new{$_} } sort keys %old), map { "+$_" } grep { !$old{$_} } sort keys %new;
}

# What is wrong with it, by itself and compared with a run without faults; or the verdict.
sub judge {
	my ($got, $well) = @_;
	my $report = $got->{report};
	return 'wrong: it hangs' if $got->{end} eq 'hung';
	return "wrong: signal $got->{status}" if $got->{end} ne 'exit';
	return "wrong: $got->{left} processes are left" if $got->{left};
	return 'wrong: not confined' if $got->{out} =~ /^(canary|hidden|absent): /m || $got->{hidden} ne "hidden\n";
	return "wrong: a mount is left: " . difference($well->{mounts}, $got->{mounts}) if $own_mounts && $got->{mounts} ne $well->{mounts};
	my $says = $got->{err} =~ /^sbx(-exec)?: /m;
	my $notes = $report ? join("\n", @{$report->{notes} || []}) : '';
	my %before = map { $_ => 1 } split /\n/, $well->{files};
	my @left = (@{$got->{cgroups}}, grep { !$before{$_} } split /\n/, $got->{files});
	# Out of memory nothing is tidied: the next run does that.
	my $out_of_memory = $got->{err} =~ /^sbx: out of memory$/m;
	return "wrong: something is left: @left" if @left && !$out_of_memory && "$got->{err}$notes" !~ /(cannot|could not) be removed|cannot remove|left/;
	if ($got->{status} == 0) {
		return 'wrong: exit 0, and it did not run' if !$got->{ran};
		my %known = map { $_ => 1 } @{$well->{report}{notes}};
		return 'weaker, and says so' if $got->{view} ne $well->{view} && grep { !$known{$_} } @{$report->{notes} || []};
		return 'wrong: exit 0, and another view: ' . difference($well->{view}, $got->{view}) if $got->{view} ne $well->{view};
		return 'wrong: exit 0, and no word of the report' if !$report && !$says;
		return 'wrong: exit 0, and another report' if $report && "$report->{outcome} $report->{exit_code}" ne 'completed 0';
		return 'ok';
	}
	return 'wrong: no message' if !$says;
	return 'wrong: the report has another exit code' if $report && $report->{exit_code} != $got->{status};
	return "wrong: exit $got->{status}" if $got->{status} != 2 && ($got->{status} < 125 || $got->{status} > 127);
	return 'refused' if !$got->{ran};
	return $report && !$out_of_memory && $report->{outcome} ne 'lost' ? "wrong: it ran, and is called $report->{outcome}" : 'failed, and says so';
}

# All of one caller's, to a file: lines of call, error, verdict, and how to do it again.
sub try_all {
	my ($who, $file) = @_;
	my $home = $who->{home};
	put($who, "$home/project/canary", "canary\n");
	put($who, "$home/hidden", "hidden\n");
	put($who, "$home/policy.json", '{"sbx": 1, "extends": ["default"], "filesystem": {"write": ["./"], "deny": ["./canary", "@policy/hidden",
		{"path": "./absent", "missing": "enforce"}]}, "limits": {"memory": "200M", "processes": 50, "open_files": 200, "wall": "20s"}}');
	mkdir "$home/output" and chown $who->{uid}, $who->{gid}, "$home/output";
	open my $out, '>', $file or die;
	$out->autoflush(1);
	my $at = 0;
	for my $way (ways($who)) {
		faulted($who, $way, 'supervisor', 1e9, 5); # makes what stays: directories, what is known of the host
		my $well = faulted($who, $way, 'supervisor', 1e9, 5);
		my $verdict = judge($well, $well);
		die "$who->{name}, $way->{name}, without a fault: $verdict\n$well->{err}" if $verdict ne 'ok' || $well->{call} != -1;
		for my $part (qw(supervisor shim memory)) {
			for (;; $at += $steps{$part}) {
				my ($n, $error) = (1 + int($at / @errors), $part eq 'memory' ? 'ENOMEM' : $errors[$at % @errors]);
				my $got = faulted($who, $way, $part, $n, Errno->can($error)->());
				last if $got->{call} eq '-1';
				my $verdict = judge($got, $well);
				print $out join("\t", $got->{call}, $error, $verdict =~ s/\n/; /gr, "$who->{name}, $way->{name}, $part, call $n"), "\n";
				diag("$verdict, $n, $error\n$got->{err}", JSON::PP->new->canonical->encode({%{$got->{report} // {}}, enforcement => 0})) if $verdict =~ /^wrong/ && $ENV{SBX_FAULT_WORDS};
			}
			$at %= $stride;
		}
		my $after = judge(faulted($who, $way, 'supervisor', 1e9, 5), $well);
		print $out join("\t", -1, 'none', $after, "$who->{name}, $way->{name}, a run after all"), "\n" if $after ne 'ok';
	}
	close $out or die;
}

# The names of system calls by their numbers.
sub call_names {
	require 'syscall.ph';
	no strict 'refs';
	return map { (eval { &{"main::$_"}() } // -1) => s/^(SYS|__NR)_//r } grep { /^(SYS|__NR)_[a-z]/ } keys %main::;
}

# The callers side by side.
my @files;
my %pids;
for my $who (callers()) {
	next if @ARGV && $who->{name} ne $ARGV[0];
	push @files, "$top/faults.$who->{name}";
	my $pid = fork // die;
	if (!$pid) {
		enter_mounts() if !$>;
		enter_cgroups();
		eval { try_all($who, $files[-1]) };
		print STDERR $@;
		leave_cgroups();
		POSIX::_exit($@ ? 1 : 0);
	}
	$pids{$pid} = $who->{name};
}
while ((my $pid = wait) > 0) {
	is($?, 0, "$pids{$pid}: all was tried");
}
my %names = call_names();
my (%table, @wrong);
for (map { split /\n/, slurp($_) } grep { -e } @files) {
	my ($call, $error, $verdict, $how) = split /\t/;
	my $name = $names{$call} // $call;
	$table{$name}{$verdict =~ s/:.*//sr}++;
	push @wrong, "$name, $error ($how): $verdict" if $verdict =~ /^wrong/;
}
my $n = 0;
my @verdicts = ('ok', 'weaker, and says so', 'refused', 'failed, and says so', 'wrong');
for my $row (map { $table{$_} } grep { $_ ne 'all' } keys %table) {
	for my $verdict (keys %$row) {
		$n += $row->{$verdict};
		$table{all}{$verdict} += $row->{$verdict};
	}
}
is(join("\n", @wrong), '', "$n faults: none goes wrong");
cmp_ok($n, '>', 12000 / $stride, 'and they are many');
# A table of docs/reliability.md, between two marked lines: SBX_DOC=1 writes it.
if ($ENV{SBX_DOC}) {
	my $file = "$FindBin::Bin/../../docs/reliability.md";
	my $row = sub { '| ' . join(' | ', @_) . " |\n" };
	my $rows = $row->('call', @verdicts) . $row->(('---') x (1 + @verdicts));
	for my $name ((sort grep { $_ ne 'all' } keys %table), 'all') {
		$rows .= $row->($name, map { $table{$name}{$_} // 0 } @verdicts);
	}
	my $text = slurp($file);
	$text =~ s/(<!-- faults -->\n).*(<!-- end of faults -->)/$1$rows$2/s or die "$file has no place for the table";
	open my $out, '>', $file or die;
	print $out $text;
	close $out or die;
}
done_testing();
