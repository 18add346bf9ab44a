#!/usr/bin/perl
# Every way to end (tests/integration/endings), with each way to mount cgroups, as root and as a user who may make none.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/vm-lib.pl" }
require "$FindBin::Bin/../integration/endings.pl";

my %user = (cpu => 'rlimit', memory => 'watchdog', processes => 'rlimit');
my %held = (cpu => 'cgroup', memory => 'cgroup', processes => 'cgroup');
my %root = (v1 => \%held, v2 => \%held, hybrid => \%held, none => {%user, processes => 'nobody'});
my $setup = <<'END';
echo true >/place/plain
echo '#!/nowhere/sh' >/place/script
echo '#!/place/loop' >/place/loop
chmod +x /place/script /place/loop
mkdir /place/directory
mkdir -m 700 /run/0 /run/1000
chown 1000:1000 /run/1000
echo '{"sbx": 1, "extends": ["default"], "limits": {"core": "1M"}}' >/place/core.json
printf '#!/bin/sh\n: >/run/caught\n' >/place/catch
chmod +x /place/catch
END

# Whether the program that core_pattern names gets a core.
sub core {
	my ($wanted, @options) = @_;
	return ('sh', '-c', <<'END', 'sh', $wanted, '/place/sbx-exec', @options, '--', '/place/use', 'signal', 11);
wanted=$1
shift
echo '|/place/catch' >/proc/sys/kernel/core_pattern
"$@"
sleep 2
[ -e /run/caught ] && seen=yes || seen=no
rm -f /run/caught
[ $seen = "$wanted" ]
END
}

# The runs of all rows for a caller, who is made by the words in front, and of one that says who holds the limits.
sub all_rows {
	my ($where, $holders, @in) = @_;
	return ([sub { is_deeply(holders($_[0]{out}), $holders, "$where: (who holds the limits)") }, @in, '/place/sbx-exec', '--probe', '--json'],
		map { my $row = $_; [sub { judge_ending($where, $row, $holders, $_[0]) }, @in, ending_words($row, '/place', '/place/sbx-exec', 10)] } endings());
}

for my $cgroup ($ENV{SBX_CGROUP} || qw(v1 v2 hybrid none)) {
	booted(append => "cgroup=$cgroup", rows => [], setup => $setup, limit => 900, programs => {"$ENV{SBX_BUILD}/tests/hostile/use" => '/place/use'},
		checks => [['core: 0 is none for a program of the system either', core('no')], ['core: (which is called)', core('yes', '-p', '/place/core.json')]],
		runs => [all_rows("$cgroup, root", $root{$cgroup}, 'env', 'XDG_RUNTIME_DIR=/run/0'),
			all_rows("$cgroup, user", \%user, guest_user(), 'XDG_RUNTIME_DIR=/run/1000')]);
}
done_testing();
