# What the tests of sbx-job share.
use strict;
use warnings;
use FindBin;
use JSON::PP ();
require "$FindBin::Bin/run-lib.pl";

our ($top, $JOB);

# Runs sbx-job: job($who, [WORD...], what run takes) gives what run gives.
sub job {
	my ($who, $words, %how) = @_;
	return run($who, [$JOB, @$words], %how);
}

# Starts a job: its id, or "no job: ..." with the reason.
sub begin {
	my ($who, @words) = @_;
	my $got = job($who, ['start', @words]);
	return $got->{out} =~ s/\n\z//r if $got->{code} == 0 && $got->{out} =~ /\A[0-9a-f]{8}\n\z/;
	return "no job: $got->{code} $got->{out}$got->{err}";
}

# The directory of a caller's jobs.
sub state_of { return "$_[0]{home}/.local/state/sbx/jobs" }

# What an answer in JSON says.
sub decoded {
	my ($who, @words) = @_;
	return JSON::PP->new->utf8->decode(job($who, [@words])->{out} || 'null');
}

# list as a hash from ids.
sub listed {
	my ($who, %how) = @_;
	my $got = job($who, ['list', '--json'], %how);
	return {map { $_->{id} => $_ } @{JSON::PP->new->utf8->decode($got->{out} || '[]')}};
}

# Waits until a condition holds, half a minute at most.
sub becomes {
	my ($condition) = @_;
	for (1 .. 600) {
		return 1 if $condition->();
		select undef, undef, undef, 0.05;
	}
	return 0;
}

# The supervisor of a job.
sub supervisor {
	my ($who, $id) = @_;
	return JSON::PP->new->utf8->decode(slurp(state_of($who) . "/$id/meta.json"))->{pid};
}

1;
