# What the tests of endings share: the table "endings" (its head says what a row is), and how a row is run and judged. All
# that runs is shell and what busybox has, so that a row is the same on a host and in a virtual machine. Core modules only.
use strict;
use warnings;
use FindBin;
use JSON::PP ();
use Test::More;

# The rows whose names are like SBX_ENDING: {name, with, caller, bwrap, do or run, then, ends => [[CONDITION, EXPECTED]...]}.
sub endings {
	my @rows;
	for (split /\n/, slurp("$FindBin::Bin/../integration/endings")) {
		next if /^(#|$)/;
		my ($word, $rest) = /^(\S+) (.+)$/ or die "endings: $_\n";
		push(@rows, {name => $rest, ends => []}), next if $word eq '==';
		die "endings: $_\n" if $word !~ /^(with|caller|bwrap|do|run|then|ends)$/ || $word ne 'ends' && exists $rows[-1]{$word};
		push(@{$rows[-1]{ends}}, [$rest =~ /^(?:(\w+ by \w+): )?(.*)/]), next if $word eq 'ends';
		$rows[-1]{$word} = $rest;
	}
	return grep { $_->{name} =~ ($ENV{SBX_ENDING} // '') } @rows;
}

# Makes what rows try to execute, and copies "use" there.
sub endings_place {
	my ($dir) = @_;
	my $owner = {uid => 0, gid => 0};
	put($owner, "$dir/plain", "true\n", 0644);
	put($owner, "$dir/script", "#!/nowhere/sh\n", 0755);
	put($owner, "$dir/loop", "#!$dir/loop\n", 0755);
	put($owner, "$dir/use", slurp("$ENV{SBX_BUILD}/tests/hostile/use") // die, 0755);
	mkdir "$dir/directory" or die;
}

# The words that run a row in $dir (as endings_place made it), with times so many times as long, and give a report on standard output. The exit code is that of
# sbx-exec; whatever is left of the run ten seconds later is told there, too.
my $marks = 0;
sub ending_words {
	my ($row, $dir, $exec, $slow) = @_;
	my $options = ($row->{with} // '') =~ s/(\d+)ms/$1 * $slow . 'ms'/ger;
	my $mark = "ending-$$-" . $marks++;
	my $shell = "exec 3>&1\n";
	$shell .= bwrap_in_place($row->{bwrap}) if $row->{bwrap};
	$shell .= beside($row->{then}) if $row->{then};
	$shell .= "$row->{caller}\n" if $row->{caller};
	# The mark is the last word of the command, and is in its environment; it is no word nor MARK of the shells around it.
	$shell .= 'exec "$@"' . ($row->{do} ? ' "$ENDING"' : '');
	my @command = $row->{do} ? ('sh', '-c', $row->{do}) : split / /, $row->{run};
	return ('env', "ENDING=$mark", 'sh', '-c', <<'END', 'sh', $dir, $shell, $exec, '--report', 'fd:3',
cd "$1"
shell=$2
shift 2
TMPDIR=$(mktemp -d)
export TMPDIR
timeout -s KILL 60 sh -c "$shell" sh "$@"
code=$?
left() {
	cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep "^MARK=$ENDING\$"
	cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep "^$ENDING\$"
}
n=0
while [ "$(left)" ] && [ $n -lt 100 ]; do
	sleep 0.1
	n=$((n + 1))
done
[ -z "$(left)" ] || echo "left: $(left)"
rm -rf "$TMPDIR"
exit $code
END
		'--env', "MARK=$mark", '--env', "PATH=$dir:/bin:/usr/bin", split(/ /, $options), '--', @command);
}

# Shell that sets up another bwrap: what the probe tries goes to the real one.
sub bwrap_in_place {
	my ($body) = @_;
	my $trial = $body =~ s/^trial // ? $body : '';
	$body = '' if $trial;
	return <<END;
cat >"\$TMPDIR/bwrap" <<'BWRAP'
#!/bin/sh
PATH=/bin:/usr/bin
case "\$*" in
--version | *" /nothing")
	$trial
	exec bwrap "\$@" ;;
esac
$body
BWRAP
chmod +x "\$TMPDIR/bwrap"
export SBX_BWRAP="\$TMPDIR/bwrap"
END
}

# Shell that lets other shell run when sbx-exec, which the shell itself becomes, gives a line.
sub beside {
	my ($then) = @_;
	return <<END;
mkfifo "\$TMPDIR/lines"
pid=\$\$
( (
	read -r line
	$then
	cat
) <"\$TMPDIR/lines" >/dev/null 2>&1 3>&- & )
exec >"\$TMPDIR/lines"
END
}

# Who holds the limits, by what sbx-exec --probe --json says: {memory => 'cgroup', ...}.
sub holders {
	my ($probe) = @_;
	my $limits = JSON::PP->new->decode($probe)->{limits};
	return {map { $_ => holder($limits->{$_}{by}) } qw(cpu memory processes)};
}

# What "by" of a limit is: "cgroup v2 memory.max" a cgroup, RLIMIT_CPU an rlimit.
sub holder {
	my ($by) = @_;
	return lc(($by // 'nobody') =~ /^([[:alpha:]]+)/ ? $1 : '');
}

# Compares a run, {out, code}, with a row: one test.
sub judge_ending {
	my ($where, $row, $holders, $got) = @_;
	my ($expected) = map { $_->[1] } grep {
		my ($limit, $holder) = split / by /, $_->[0] // '';
		!defined $limit || $holders->{$limit} eq $holder
	} @{$row->{ends}};
	my ($text) = $got->{out} =~ /^(\{\n.*^\})/ms;
	my $report = $text && eval { JSON::PP->new->decode($text) };
	my $seen = "$got->{code} " . ($report ? "$report->{outcome} $report->{phase}" : '-');
	if ($report) {
		my $oom = $report->{out_of_memory} || {source => 'unknown', kills => 0};
		$seen .= $oom->{source} eq 'own' ? ', killed' : ", $oom->{source} killed" if $oom->{kills} || $oom->{source} eq 'own';
		my @hits = grep { ($report->{enforcement}{$_}{hits} // 0) > 0 } sort keys %{$report->{enforcement}};
		$seen .= ", hits @hits" if @hits;
		$seen .= ", whose report says $report->{exit_code}" if $report->{exit_code} != $got->{code};
		for my $limit (sort keys %$holders) {
			my $e = $report->{enforcement}{$limit} or next;
			$seen .= ", $limit by " . ($e->{by} // 'nobody') if holder($e->{by}) ne $holders->{$limit};
		}
	}
	my ($left) = $got->{out} =~ /^left: (.*)/ms;
	$seen .= ", left $left" if defined $left;
	is($seen, $expected, "$where: $row->{name}") or diag($got->{out}, $got->{err});
}

1;
