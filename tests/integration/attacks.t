#!/usr/bin/perl
# The attacks of tests/hostile/attack, from inside, under every built-in policy; and without a sandbox, where they have to succeed.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/attacks-lib.pl" }
our ($top, $EXEC, $ATTACK);

# What keeps an attack out beside mounts and namespaces, and whether sbx has it.
my %has = (
	'-' => 1,
	filter => 1, # the system call filter
	'mode-filter' => 1, # one that looks at the modes of files
	'lease-filter' => 1, # one that knows fcntl's leases
	terminal => 1, # a terminal of the sandbox's own
);
my %policies = (default => [], workspace => [], strict => ['--read', $ATTACK], 'agent-container' => [], 'query-script' => ['--read', $ATTACK]);
my %modes = ('fresh /proc' => [0, 'fresh'], 'bound /proc' => [1, 'bind'], 'bound /proc, unmasked' => [0, 'bind']);

my @attacks = attacks();
my @names = map { $_->{name} } @attacks;
my %by_name = map { $_->{name} => $_ } @attacks;
my (%seen, %breaks);

# Both ways of running them: with files, and on a terminal.
sub answers {
	my ($host, $before, $names, %how) = @_;
	my ($answers, $err) = attempts($host, $before, [grep { !/^terminal-/ } @$names], %how);
	my @terminal = grep { /^terminal-/ } @$names;
	my ($more, $also) = @terminal ? attempts($host, $before, \@terminal, %how, terminal => 1) : ({}, '');
	return ({%$answers, %$more}, "$err$also");
}

# Under each policy, with each /proc. "by": who calls sbx-exec, if not the one whose host it is.
sub contained {
	my ($host, $by, @options) = @_;
	my @now = grep { $has{$by_name{$_}{needs}} } @names;
	my $before = outside($host);
	for my $policy (sort keys %policies) {
		for my $mode (sort keys %modes) {
			my ($bound, $proc) = @{$modes{$mode}};
			my $title = "$by->{name}@{[@options ? qq( with @options) : '']}, $policy, $mode";
			my ($got, $err) = answers($host, [$EXEC, '-p', $policy, @{$policies{$policy}}, '--proc', $proc, @options, '--'], \@now, bound => $bound, by => $by);
			my %bad;
			for my $name (@now) {
				my $answer = $got->{$name} // 'no answer';
				$answer =~ /^contained: (.*)/ ? $seen{$name}{$1}++ : ($bad{$name} = $answer);
			}
			is_deeply(\%bad, {}, "$title: everything is contained") or diag explain(\%bad), $err;
			is(outside($host), $before, "$title: nothing has changed outside");
		}
	}
}

my ($first) = callers();
for my $who (callers()) {
	my $host = host($who);
	contained($host, $who);
	contained($host, $first, '--user', "$who->{uid}:$who->{gid}") if $who->{uid} != $first->{uid};
	my @control = ('bwrap', '--dev-bind', '/', '/', '--');
	my ($got, $err) = answers($host, \@control, \@names);
	($got->{$_} // '') =~ /^BROKE OUT: / and push @{$breaks{$_}}, $who->{name} for @names;
	diag $err if $err;
}
SKIP: {
	skip 'some need root to succeed', 1 if $>;
	my @weak = grep { !$breaks{$_} && $by_name{$_}{no_control} eq '-' } @names;
	is_deeply(\@weak, [], 'without a sandbox each attack succeeds, but for those that say why not');
}
documented('attacks from inside', ['attack', 'what it tries', 'contained by', 'without a sandbox'], map {
	my $a = $_;
	my @by = sort keys %{$seen{$a->{name}} || {}};
	[$a->{name}, $a->{tries}, $has{$a->{needs}} ? join(', ', @by) : "nothing yet: $a->{needs}",
		$breaks{$a->{name}} ? 'succeeds as ' . join(' and ', @{$breaks{$a->{name}}}) : $a->{no_control}];
} @attacks);
cmp_ok(scalar @attacks, '>=', 120, 'there are enough of them');
done_testing();
