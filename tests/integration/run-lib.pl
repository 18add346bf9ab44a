# What the tests of sbx-exec's running part share: runs in the background, and the processes that a run leaves.
use strict;
use warnings;
use File::Find ();
use FindBin;
use JSON::PP ();
require "$FindBin::Bin/lib.pl";

our ($top, $EXEC);

# Starts sbx-exec as a caller: start($who, [OPTION..., '--', COMMAND...], before => sub {in the child}). Its standard
# output is {out}, its standard error goes to a file. {in} is its standard input.
sub start {
	my ($who, $args, %how) = @_;
	pipe my $out, my $out_w or die;
	pipe my $in_r, my $in or die;
	my $errors = "$top/errors.$$." . int rand 1e9;
	my $pid = fork // die;
	if (!$pid) {
		POSIX::dup2(fileno $in_r, 0);
		POSIX::dup2(fileno $out_w, 1);
		open STDERR, '>', $errors or die;
		$SIG{$_} = 'DEFAULT' for qw(INT QUIT HUP PIPE);
		%ENV = environment($who, $how{env});
		become($who);
		chdir "$who->{home}/project" or die;
		$how{before}->() if $how{before};
		exec $EXEC, @$args or POSIX::_exit(99);
	}
	close $out_w;
	close $in_r;
	return {pid => $pid, out => $out, in => $in, errors => $errors};
}

# The next line of its output.
sub line {
	my ($run) = @_;
	my $line = readline $run->{out};
	chomp $line if defined $line;
	return $line;
}

# Waits for its end, a minute at most: the exit code, or -signal.
sub finish {
	my ($run) = @_;
	my $code;
	local $SIG{ALRM} = sub { kill 'KILL', $run->{pid} };
	alarm 60;
	waitpid $run->{pid}, 0;
	alarm 0;
	$run->{err} = slurp($run->{errors});
	return $? & 127 ? -($? & 127) : $? >> 8;
}

# The session of a process. What sbx-exec starts stays in its own, but for what runs inside.
sub session {
	my ($pid) = @_;
	return (split ' ', (slurp("/proc/$pid/stat") // '') =~ s/.*\) //sr)[3] // 0;
}

# The processes whose command line holds text, and probes' trials of this test, once they have had time to go: what is
# left after ten seconds.
sub left {
	my ($text) = @_;
	my @left;
	for (1 .. 100) {
		@left = grep {
			my $line = slurp($_) // '';
			my ($pid) = m{(\d+)};
			(index($line, $text) >= 0 || ($line =~ m{^bwrap\0--args\0\d+\0--\0/nothing\0$} && session($pid) == session($$))) && $pid != $$;
		} glob '/proc/[0-9]*/cmdline';
		last if !@left;
		select undef, undef, undef, 0.1;
	}
	return map { s/\0/ /gr } map { slurp($_) // '' } @left;
}

# The cgroups of runs that have ended: empty ones that stay, as those of others' runs do not, ten seconds or so often.
# One that was there before this test may be in a session's cgroup that no run of ours is in: nobody's here.
my %before;
sub leaves {
	my ($times) = @_;
	my @found;
	for (1 .. $times // 100) {
		@found = ();
		my $look = sub { push @found, $_ if m{/sbx-[0-9a-f]{16}$} && !$before{$_} && (slurp("$_/cgroup.procs") // '-') eq '' };
		File::Find::find({no_chdir => 1, wanted => $look}, '/sys/fs/cgroup') if -d '/sys/fs/cgroup';
		last if !@found;
		select undef, undef, undef, 0.1;
	}
	return @found;
}
%before = map { $_ => 1 } leaves(1);

# A run with a report: what run gives, and the report.
sub reported {
	my ($who, $args, %how) = @_;
	my $file = "$who->{home}/report.json";
	my $got = run($who, [$EXEC, '--report', $file, @$args], %how);
	my $text = slurp($file);
	unlink $file;
	return ($got, $text ? JSON::PP->new->utf8->decode($text) : {});
}

1;
