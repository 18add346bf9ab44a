# What a bound /proc shows of other processes, that the report says so, and policies that do without.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $PLAN, $EXEC);

my @masked = masked_proc();
my ($first) = callers();

# Runs sbx-exec as the caller where /proc is masked; with a report.
sub masked {
	my ($who, @args) = @_;
	my $report = "$top/report-$who->{name}/report.json";
	mkdir "$top/report-$who->{name}";
	chown $who->{uid}, $who->{gid}, "$top/report-$who->{name}";
	my $got = run($first, [@masked, 'setpriv', '--reuid', $who->{uid}, '--regid', $who->{gid}, '--clear-groups',
		'env', "HOME=$who->{home}", $EXEC, '--report', $report, @args], cwd => '/');
	return ($got, JSON::PP->new->utf8->decode(slurp($report) // '{}'));
}

my $says = qr{/proc is bound, not fresh: of processes outside the sandbox the command can read the command lines, mountinfo, network tables and cgroups};

# Of a process of the caller's own, outside: what can be opened, by the name of the error.
sub shown {
	my ($who) = @_;
	my $pid = fork // die;
	if (!$pid) {
		become($who);
		exec 'sleep', '300' or POSIX::_exit(99);
	}
	select undef, undef, undef, 0.01 while (slurp("/proc/$pid/comm") // '') !~ /sleep/;
	my %wanted = (map({ $_ => 'ok' } qw(cmdline mountinfo net/tcp cgroup)), map({ $_ => 'EACCES' } qw(environ maps mem root/etc cwd/etc)));
	my ($got, $report) = masked($who, '--', 'perl', '-e', look_program(), map { ('read', "/proc/$pid/$_") } sort keys %wanted);
	my @words = split /\n/, $got->{out};
	is($words[$_] // $got->{err}, $wanted{(sort keys %wanted)[$_]}, "$who->{name}: bound /proc: " . (sort keys %wanted)[$_]) for 0 .. keys(%wanted) - 1;
	like("@{$report->{notes}}", $says, "$who->{name}: bound /proc: the report says what can be read");
	($got) = masked($who, '--', 'readlink', '/proc/self/ns/user');
	like($got->{out}, qr/^user:\[\d+\]$/, "$who->{name}: bound /proc: in a user namespace");
	isnt($got->{out}, readlink('/proc/self/ns/user') . "\n", "$who->{name}: bound /proc: of its own");
	kill 'KILL', $pid;
	waitpid $pid, 0;
}

sub required {
	my ($who) = @_;
	my $policy = put($who, "$who->{home}/fresh.json", '{"sbx": 1, "extends": ["default"], "require": ["fresh-proc"]}');
	my ($got, $report) = reported($who, ['-p', $policy, '--', 'echo', 'ran']);
	is("$got->{code} $got->{out}", "0 ran\n", "$who->{name}: a required fresh /proc that is there");
	unlike("@{$report->{notes}}", $says, "$who->{name}: of which nothing has to be said");
	for my $mode (qw(bind none)) {
		for my $tool ($EXEC, $PLAN) {
			$got = run($who, [$tool, '-p', $policy, '--proc', $mode, '--', 'echo', 'ran']);
			is("$got->{code} $got->{out}", '125 ', "$who->{name}: $mode in its place is refused");
			like($got->{err}, qr{^sbx-\w+: \Q$policy\E: /require/0: .* is "$mode", and the policy requires "fresh-proc"\nsbx}, "$who->{name}: by name");
		}
	}
	is(run($who, [$PLAN, '--check', '-p', $policy])->{code}, 0, "$who->{name}: sbx-plan takes a fresh one to be there");
	like(run($who, [$PLAN, '--json', '--proc', 'bind'])->{out}, $says, "$who->{name}: and says what a bound one shows");
	return if $>;
	($got, $report) = masked($who, '-p', $policy, '--', 'echo', 'ran');
	is("$got->{code} $got->{out}$report->{outcome}", '125 refused', "$who->{name}: where a fresh one cannot be had, nothing runs");
	like($got->{err}, qr{/require/0: a fresh /proc cannot be had here.*\nsbx-exec: hint: unmask /proc}, "$who->{name}: with a remedy");
}

for my $who (callers()) {
	required($who);
	SKIP: {
		skip 'needs root', 12 if $>;
		shown($who);
	}
}
done_testing();
