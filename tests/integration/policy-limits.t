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

# bwrap works under the limits too.
sub bwrap_needs {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	put($who, "$project/sub/$_", '') for 1 .. 30;
	my $policy = sub { put($who, "$who->{home}/limits.json", $_[0]); "$who->{home}/limits.json" };
	my $open = sub { $policy->(qq({"sbx": 1, "extends": ["default"], "limits": {"open_files": $_[0]}})) };
	my @many = map { ('--bind', "./sub/$_:/tmp/$_") } 1 .. 30;
	my $got = run($who, [$EXEC, '-p', $open->(20), @many, qw(-- echo RAN)]);
	my ($need) = $got->{err} =~ /limits\.open_files is 20, and bwrap needs (\d+)/;
	is($got->{code}, 125, "$who->{name}: too few open files for bwrap");
	cmp_ok($need // 0, '>', 46, "$who->{name}: it counts the mounts") or diag($got->{err});
	like($got->{err}, qr/hint: raise it to $need/, "$who->{name}: and says what it takes");
	is(run($who, [$EXEC, '-p', $open->($need), @many, qw(-- echo RAN)])->{out}, "RAN\n", "$who->{name}: which is enough");
	refused($who, 'one less', qr/limits\.open_files is \d+, and bwrap needs $need to make the sandbox/, qr/raise it to $need.*/,
		[$EXEC, '-p', $open->($need - 1), @many, qw(-- echo RAN)]);

	my $text = sub {
		$policy->(qq({"sbx": 1, "extends": ["default"], "limits": {"file_size": $_[0]},
			"filesystem": {"files": [{"at": "/tmp/a", "text": "1"}, {"at": "/tmp/b", "text": "12345"}, {"at": "/tmp/c", "text": "12"}]}}));
	};
	refused($who, 'a text larger than any file', qr/limits\.file_size is 4, and the policy's "files" have a text of 5 bytes/,
		qr/raise it to 5.*/, [$EXEC, '-p', $text->(4), qw(-- echo RAN)]);
	is(run($who, [$EXEC, '-p', $text->(5), qw(-- cat /tmp/b)])->{out}, '12345', "$who->{name}: a text that just fits");
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
	bwrap_needs($who);
	requirements($who);
	strict_runs($who);
	query_script($who);
}
done_testing();
