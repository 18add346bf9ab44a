# What the tests of environments share. An environment is made for real; one run of sbx-exec in it shows what sbx makes of
# it, and the file "expected" says what that should be. All is made as root, in namespaces and folders of its own, and is
# gone at the end. Core modules only.
#
#   BEGIN { require "$FindBin::Bin/lib.pl" }
#   attempt('masked /proc', 'root', mounts('mount --bind /proc/sys /proc/sys'));
use strict;
use warnings;
use FindBin;
use JSON::PP ();

# A file of the name host-*.t stands for a host, also where the machine was made of a container's image and still has the
# engine's marker: then the test goes on in a root that is the same but for the marker.
my $marker = '/.dockerenv';
exec 'unshare', '-m', '--propagation', 'private', 'sh', '-ec', <<'END', 'sh', $marker, $^X, $0 if !$^C && !$> && -e $marker && $0 =~ m{host-[^/]*$};
	new=$(mktemp -d)
	mount -t tmpfs -o mode=755 root "$new"
	mount --make-unbindable "$new"
	for entry in /* /.[!.]*; do
		if [ "$entry" = "$1" ]; then :
		elif [ -L "$entry" ]; then cp -P "$entry" "$new"
		elif [ -d "$entry" ]; then mkdir "$new$entry"; mount --rbind "$entry" "$new$entry"
		elif [ -e "$entry" ]; then : >"$new$entry"; mount --bind "$entry" "$new$entry"
		fi
	done
	shift
	here=$PWD
	cd "$new"
	pivot_root . .
	umount -l .
	rmdir "$new"
	cd "$here"
	exec "$@"
END
require "$FindBin::Bin/../integration/lib.pl";

# $place is all that an environment has to show of $top: sbx-exec, a file to be denied and a folder that all may write.
our ($top, $EXEC, $place);
our ($root, $user);

if (!$^C) {
	plan(skip_all => 'environments are made as root') if $>;
	($root, $user) = callers();
	$place = "$top/place";
	put($root, "$place/secret", "secret\n");
	mkdir "$place/open" or die;
	chmod 01777, "$place/open" or die;
	placed($EXEC);
}

# Copies a program to $place: its path there.
sub placed {
	my ($program, $name, $mode) = @_;
	my $copy = "$place/" . ($name // $program =~ s{.*/}{}r);
	copy($program, $copy) or die "$program: $!";
	chmod $mode // 0755, $copy or die;
	return $copy;
}

# A part of the cache (see fetch): its folder. What cannot be had makes the file a skipped one.
my $cache = $ENV{SBX_ENV_CACHE} // ($top && "$top/cache");
sub fetched {
	my ($name, @packages) = @_;
	system("$FindBin::Bin/fetch", $cache, $name, @packages) == 0 or plan(skip_all => "$name cannot be had from apt");
	return "$cache/$name";
}
sub needed {
	for my $program (@_) { which($program) or plan(skip_all => "$program is not installed") }
}

# Where a user's answers of the probe are kept.
sub runtime {
	my ($uid) = @_;
	my $dir = "$top/runtime.$uid";
	if (!-d $dir) {
		mkdir $dir, 0700 or die;
		chown $uid, -1, $dir;
	}
	return $dir;
}

# Words that go before a command: run as the ordinary user (by another number, when given); run after lines of shell; the same in a mount namespace of its
# own; there with a process namespace too, for what would stay behind; and in a user namespace that has all ids.
sub as_user {
	my ($uid) = (@_, $user->{uid});
	return ('setpriv', '--reuid', $uid, '--regid', $user->{gid}, '--clear-groups', 'env', "HOME=$user->{home}",
		'XDG_RUNTIME_DIR=' . runtime($uid));
}
sub after { return ('sh', '-ec', "$_[0]\nexec \"\$@\"", 'sh') }
sub mounts { return ('unshare', '-m', '--propagation', 'private', after($_[0])) }
sub processes {
	return ('unshare', '-m', '-p', '-f', '--kill-child', '--mount-proc', '--propagation', 'private', 'sh', '-ec', "$_[0]\n\"\$@\"", 'sh');
}
sub userns {
	return ('perl', '-e', <<'END', after($_[0]));
use POSIX;
pipe my $made, my $makes; pipe my $mapped, my $maps;
my $pid = fork // die;
if (!$pid) {
	dup2(fileno $makes, 8); dup2(fileno $mapped, 9);
	exec 'unshare', '-U', 'sh', '-c', 'echo >&8; read -r _ <&9; exec "$@" 8>&- 9<&-', 'sh', @ARGV or POSIX::_exit(99);
}
close $makes;
sysread $made, my $byte, 1;
for my $map ('uid_map', 'gid_map') {
	open my $out, '>', "/proc/$pid/$map" or die; syswrite $out, "0 0 4294967295\n" or die "$map: $!";
}
syswrite $maps, "\n";
waitpid $pid, 0;
exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
END
}

# The rows of "expected": {section, name, as, outcome, cause, remedy, shown}.
my @rows;
sub rows {
	my $section;
	return @rows if @rows;
	for (split /\n/, slurp("$FindBin::Bin/expected")) {
		next if /^(#|$)/;
		$section = $1, next if /^== (.*)/;
		my %row = (section => $section);
		@row{qw(name as outcome cause remedy shown)} = map { s/^\s+|\s+$//gr } split /\|/;
		$row{$_} //= '' for qw(cause remedy shown);
		push @rows, \%row;
	}
	for my $row (grep { $_->{shown} && $_->{shown} !~ /^--/ } @rows) {
		die "\"expected\": no such environment that runs: $row->{shown}\n"
			if !grep { $_->{name} eq $row->{shown} && $_->{outcome} =~ /^(fresh|bound)$/ } @rows;
	}
	return @rows;
}

sub row {
	my ($name, $as) = @_;
	my @found = grep { $_->{name} eq $name && $_->{as} eq $as } rows();
	return @found == 1 ? $found[0] : die "\"expected\" has not one row for: $name | $as\n";
}

# A run of sbx-exec as a list of words; dir is where $place shows in the environment. The command tells which /proc it has
# (in a fresh one the shell finds its own pid), and anything that it should not have been able to do. The report follows on
# standard output, the one descriptor that every container engine hands on.
sub words {
	my ($dir, @options) = @_;
	my $look = <<'END' =~ s/DIR/$dir/gr;
{ read -r pid _ </proc/self/stat; } 2>&-
if [ -z "$pid" ]; then echo none; elif [ "$pid" = $$ ]; then echo fresh; else echo bound; fi
{ echo >/dev/null; } 2>&- || echo no /dev/null
{ echo >DIR/open/planted; } 2>&- && echo wrote
{ cat DIR/secret DIR/also; } 2>&-
:
END
	return ('sh', '-c', 'exec 3>&1; exec "$@"', 'sh', "$dir/sbx-exec", '--report', 'fd:3', '--deny', "$dir/secret",
		@options, '--', 'sh', '-c', $look);
}

# One run in an environment that the words in front make, and what is to be said of it.
sub attempt {
	my ($name, $as, @in) = @_;
	my $home = ($as eq 'user' ? $user : $root)->{home};
	my $in = sub {
		# None of another environment's answers.
		system "rm -rf $top/runtime.*/sbx";
		run($root, [@in, @_], cwd => "$home/project", env => {XDG_RUNTIME_DIR => runtime(0)});
	};
	judge(row($name, $as), sub { $in->(words($place, @_)) }, sub { $in->('true') });
}

# Compares a run with the row, and keeps what was seen for the table. $once->(OPTION...) makes one, $empty->() a run in
# the environment without sbx-exec: {out, err, code, signal}. Where that fails too it is the environment that cannot be
# had, which is a skipped test; but not on CI for one that needs nothing but namespaces.
sub judge {
	my ($row, $once, $empty) = @_;
	my $title = "$row->{name}, $row->{as}";
	my $seen = seen($once->());
	if (!$seen->{report} && $empty && (my $got = $empty->())->{code}) {
		my ($why) = ($got->{err} || "exit code $got->{code}") =~ /([^\n]+)\n*\z/;
		record($row, {outcome => 'not made', message => $why, hint => ''});
		return fail("$title cannot be made here: $why") if $ENV{CI} && $0 =~ m{host-[^/]*$};
		SKIP: { skip("$title cannot be made here: $why", 1) }
		return;
	}
	my ($todo, $outcome) = $row->{outcome} =~ /^(\??)(.*)/;
	{
		local our $TODO = 'it does not end so yet' if $todo;
		is($seen->{outcome}, $outcome, "$title: $outcome") or diag($seen->{err});
	}
	if ($outcome eq 'bound') {
		my $strict = seen($once->('--proc', 'fresh'));
		is($strict->{outcome}, 'refused', "$title: refused where only a fresh /proc will do");
		$seen->{hint} = $strict->{hint};
	} elsif ($outcome ne 'fresh' && !$todo) {
		is($seen->{code}, 125, "$title: exit code 125");
		my @own = $seen->{err} =~ /^sbx-exec: (?:hint: )?(?=\S)/mg;
		is("@own", 'sbx-exec:  sbx-exec: hint: ', "$title: one message and one hint");
	}
	if (my @options = options($row)) {
		like(seen($once->(@options))->{outcome}, qr/^(fresh|bound)$/, "$title: runs with @options");
	}
	unlike("$seen->{message}\n$seen->{hint}", qr/does not say so/, "$title: no unknown cause");
	says("$title: the cause", $row->{cause}, "$seen->{message}\n$seen->{hint}");
	says("$title: a remedy", $row->{remedy}, $seen->{hint});
	record($row, $seen);
}

# The options that show a row's remedy.
sub options {
	my ($row) = @_;
	return $row->{shown} =~ /^--/ ? split(/ /, $row->{shown}) : ();
}

# Each of the words of a cell is in the text. "?WORD": it should be, and is not yet.
sub says {
	my ($promise, $cell, $text) = @_;
	for my $word (split /\s*;\s*/, $cell) {
		local our $TODO = 'the hint does not say so yet' if $word =~ s/^\?//;
		like($text, qr/\Q$word/i, "$promise: $word");
	}
}

# What a run shows: {outcome, message, hint, code, err}. The message is the error, or what the notes say of the host.
sub seen {
	my ($got) = @_;
	my ($text) = $got->{out} =~ /^(\{\n.*^\})/ms;
	my $report = $text && eval { JSON::PP->new->decode($text) };
	my %seen = (report => $report, err => $got->{err}, code => $got->{code}, message => '', hint => '');
	if (!$report) {
		$seen{outcome} = 'sbx-exec ends ' . ($got->{signal} ? "by signal $got->{signal}" : "with exit code $got->{code}") . ', without a report';
		$seen{err} .= $got->{out};
		return \%seen;
	}
	my $told = $got->{out} =~ s/^\{\n.*^\}\n?//msr;
	$seen{outcome} = $report->{outcome} ne 'completed' ? $report->{outcome}
		: $got->{code} == 0 && $told =~ /^(fresh|bound|none)\n\z/ ? $1
		: "completed, exit code $got->{code}: $told";
	if ($report->{error}) {
		$seen{message} = $report->{error}{message};
		$seen{hint} = $report->{error}{hint} // '';
	} else {
		$seen{message} = join ' | ', grep { !/^skipped: | matches nothing |^cannot list |^~ is / } @{$report->{notes}};
	}
	return \%seen;
}

# A line for the table, without what differs from call to call.
sub record {
	my ($row, $seen) = @_;
	return if !$ENV{SBX_ENV_RESULTS};
	open my $out, '>>', $ENV{SBX_ENV_RESULTS} or die "$ENV{SBX_ENV_RESULTS}: $!";
	my @cells = map { s/\Q$top\E/.../gr =~ s/[\t\n]/ /gr =~ s{/proc/\d+}{/proc/PID}gr } @$seen{qw(outcome message hint)};
	print $out join("\t", @$row{qw(name as)}, @cells), "\n";
}

1;
