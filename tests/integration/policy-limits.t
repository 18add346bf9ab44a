# What limits change in a plan, what bwrap itself needs of them, what cannot be required; and the promises of query-script.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $PLAN, $EXEC);

# A run that must be refused with 125 and a message and a hint like the patterns.
sub refused {
	my ($who, $name, $message, $hint, $command) = @_;
	my $got = run($who, $command);
	is($got->{code}, 125, "$who->{name}: $name: refused");
	like($got->{err}, qr/\Asbx-\w+: (?:[^\n]+: )?$message\nsbx-\w+: hint: $hint\n\z/, "$who->{name}: $name: why, and what to do");
	is($got->{out}, '', "$who->{name}: $name: nothing ran");
}

# The size of a mount inside, in MiB.
sub size {
	my ($who, $options, $path) = @_;
	my $got = run($who, [$EXEC, @$options, '--', 'df', '--output=size', '-m', $path]);
	return ($got->{out} =~ /(\d+)\s*\z/)[0] // $got->{err};
}

sub sizes {
	my ($who) = @_;
	is(size($who, [], $_), 512, "$who->{name}: $_ holds 512 MiB") for '/tmp', '/dev/shm';
	is(size($who, ['--memory', '100M'], $_), 50, "$who->{name}: $_ holds half of limits.memory") for '/tmp', '/dev/shm';
	is(size($who, ['--memory', '100M', '--tmpfs', '/tmp:70M'], '/tmp'), 70, "$who->{name}: a size that is asked for stays");
}

# The limits are the command's alone: bwrap opens more files to make the sandbox, and writes larger ones.
sub bwrap_is_free {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	put($who, "$project/sub/$_", '') for 1 .. 30;
	my $policy = put($who, "$who->{home}/limits.json", <<'END');
{"sbx": 1, "extends": ["default"], "limits": {"open_files": 20, "file_size": 4},
	"filesystem": {"files": [{"at": "/tmp/a", "text": "12345"}]}}
END
	my @many = map { ('--bind', "./sub/$_:/tmp/$_") } 1 .. 30;
	my $got = run($who, [$EXEC, '-p', $policy, @many, '--', 'sh', '-c', 'ulimit -n; cat /tmp/a; trap "" XFSZ; echo 12345 >/tmp/b; wc -c </tmp/b']);
	is($got->{out}, "20\n123454\n", "$who->{name}: limits of files bind the command alone") or diag($got->{err});
}

sub requirements {
	my ($who) = @_;
	for my $tool ($PLAN, $EXEC) {
		refused($who, 'what is not asked for', qr/"memory" is required, and the policy does not ask for it/, qr/set limits\.memory \(--memory\).*/,
			[$tool, '--require', 'memory', qw(-- true)]);
		refused($who, "a network that is the host's", qr/"network" is required.*/, qr/.*--net.*/, [$tool, qw(--require network --net host -- true)]);
	}
	is(run($who, [$PLAN, qw(--check --require network --require memory --memory 1G)])->{code}, 0, "$who->{name}: what is asked for can be required");
}

# What sbx-plan --strict refuses, sbx-exec --strict does, with the same words.
sub strict_runs {
	my ($who) = @_;
	my @open = ('-p', 'workspace', '--deny', './gone', '--deny', './gone2');
	my $plan = run($who, [$PLAN, '--strict', @open]);
	my $exec = run($who, [$EXEC, '--strict', @open, qw(-- echo RAN)]);
	is($exec->{code}, 125, "$who->{name}: --strict refuses names that the command could make");
	is($exec->{out}, '', "$who->{name}: and runs nothing");
	like($exec->{err}, qr{/gone is not enforced.*/gone2 is not enforced}s, "$who->{name}: it lists them");
	is($exec->{err} =~ s/^sbx-exec:/sbx-plan:/gmr, $plan->{err}, "$who->{name}: as sbx-plan does");
	is(run($who, [$EXEC, @open, qw(-- echo RAN)])->{out}, "RAN\n", "$who->{name}: without it they are no reason");
	is(run($who, [$EXEC, qw(--strict -- echo RAN)])->{out}, "RAN\n", "$who->{name}: --strict runs under the policy default");
}

sub query_script {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	put($who, "$project/given", "given\n");
	put($who, "$project/other", "other\n");
	my @query = ('-p', 'query-script', '--read', './given');
	promises($who, \@query,
		[read => "$project/given", 'ok', 'query-script: a granted file can be read'],
		[write => "$project/given", 'EROFS', 'query-script: and not written'],
		[read => "$project/other", 'ENOENT', 'query-script: another one is not there'],
		[create => "$project/new", 'EROFS', 'query-script: none can be made beside it'],
		[create => '/scratch/new', 'ok', 'query-script: /scratch can be written'],
		[create => 'new', 'ok', 'query-script: and is where it starts'],
		[create => '/scratch/home/new', 'ok', 'query-script: a home'],
		[create => '/usr/new', 'EROFS', 'query-script: programs cannot be changed']);
	is(run($who, [$EXEC, @query, qw(-- sh -c), 'echo "$HOME $TMPDIR"; ls -A /sys/class/net 2>&1 | grep -v lo; tail -n +3 /proc/net/dev | grep -vc lo:'])->{out},
		"/scratch/home /scratch/tmp\nls: cannot access '/sys/class/net': No such file or directory\n0\n",
		"$who->{name}: query-script: its variables; no network but a loopback");
	refused($who, 'query-script: the network', qr/the network is final \(built-in policy query-script: \/final\/0\)/, qr/.*/,
		[$EXEC, @query, qw(--net host -- echo RAN)]);
}

for my $who (callers()) {
	sizes($who);
	bwrap_is_free($who);
	requirements($who);
	strict_runs($who);
	query_script($who);
}
done_testing();
