#!/usr/bin/perl
# Where a report may stand, and that the command cannot reach it.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

for my $who (callers()) {
	my $name = $who->{name};
	my $dir = "$who->{home}/project";
	put($who, "$dir/.git/hooks/x", "x\n");
	my $exec = sub { run($who, [$EXEC, @_], cwd => $dir) };

	put($who, "$dir/report", "old\n");
	my $got = $exec->('--report', 'report', '--', 'cat', 'report');
	is("$got->{code} $got->{out}", "0 old\n", "$name: during the run the old report stands");
	like(slurp("$dir/report"), qr/"outcome":\s+"completed"/, "$name: then the new one");
	is_deeply([glob "$dir/.sbx-new*"], [], "$name: nothing is left beside it");
	unlink "$dir/report";

	# Killed when the report is about to get its name: what is left then goes with the next.
	put($who, "$dir/.sbx-new.0123456789abcdef", '');
	run($who, [qw(strace -qq -o /dev/null -e inject=/^renameat:signal=KILL -P), $dir, $EXEC, qw(--report report -- true)], cwd => $dir)
		if -x '/usr/bin/strace';
	my $left = () = glob "$dir/.sbx-new*";
	cmp_ok($left, '>', 0, "$name: a run that is killed leaves the report without its name");
	$exec->('--report', 'report', '--', 'true');
	is_deeply([glob "$dir/.sbx-new*"], [], "$name: the next removes it");
	unlink "$dir/report";

	my $before = listing($dir);
	for (
		['the command could write there', '-p', 'workspace', '--report', 'report'],
		['the command could write there', '--write', $dir, '--report', "$dir/report"],
		['the command could write there', '--bind', "$dir:/mnt", '--report', 'report'],
		['is a link', '--report', '/proc/self/cwd/report'],
		['no regular file', '--report', '/dev/null'],
		['No such file', '--report', 'nowhere/report'],
		['the command has it too', '--report', 'fd:1'],
		['not a descriptor open', '--report', 'fd:77'],
	) {
		my ($message, @options) = @$_;
		$got = $exec->(@options, '--', 'echo', 'ran');
		like("$got->{code} $got->{out}", qr/^(2|125) $/, "$name: @options is refused");
		like($got->{err}, qr/\Q$message/, "$name: and says why");
	}
	is(listing($dir), $before, "$name: nothing is left behind");
	is($exec->('--write', $dir, '--read', "$dir/.git", '--report', '.git/report', '--', 'true')->{code}, 0,
		"$name: a place inside a writable one that cannot be written");
	unlink "$dir/.git/report";

	# A descriptor of what the command could write by itself.
	for (
		['the command could write there', q{"$0" --write "$PWD/own" --chdir / --report fd:5 -- true 5>own}],
		['the command could write there', q{mkfifo fifo; "$0" -p workspace --report fd:5 -- true 5<>fifo}],
		['the command has it too', q{"$0" --pass-fd 6 --report fd:5 -- true 5>own 6>&5}],
	) {
		my ($message, $command) = @$_;
		put($who, "$dir/own", '');
		$got = run($who, ['bash', '-c', $command, $EXEC], cwd => $dir);
		like($got->{err}, qr/\Q$message/, "$name: refused: $command");
		unlink "$dir/own", "$dir/fifo";
	}
	$got = run($who, ['bash', '-c', q{"$0" --report fd:5 -- sh -c 'echo forged >&5' 5>&1}, $EXEC], cwd => $dir);
	unlike($got->{out}, qr/forged/, "$name: the command does not have the report's descriptor");
	like($got->{out}, qr/"outcome":/, "$name: the report is written to it");
	$got = run($who, ['bash', '-c', q{"$0" --report fd:5 -- true 5>/dev/full}, $EXEC], cwd => $dir);
	like($got->{err}, qr/^sbx-exec: cannot write the report/m, "$name: a report that cannot be written is said");
	$got = run($who, ['bash', '-c', q{"$0" --report fd:5 -- sh -c 'exit 3' 5>/dev/full}, $EXEC], cwd => $dir);
	is($got->{code}, 3, "$name: ... and does not lose the command's exit code");
}

# Reports of every ending that can be had here, against the schema, in which nothing may be left out or unnamed.
my $validate = <<'END';
import json, sys
from jsonschema import Draft202012Validator as Validator

def close(schema):
    if isinstance(schema, dict):
        for below in schema.values():
            close(below)
        if "required" in schema and "properties" in schema:
            schema["additionalProperties"] = False
    elif isinstance(schema, list):
        for below in schema:
            close(below)

schema = json.load(open(sys.argv[1]))
Validator.check_schema(schema)
close(schema)
for line in sys.stdin:
    errors = [e.json_path + ": " + e.message for e in Validator(schema).iter_errors(json.loads(line))]
    print("; ".join(errors)[:400] or "valid")
END
SKIP: {
	my $has = `python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>&1`;
	die "python3-jsonschema: $has" if $has && $ENV{CI};
	skip "python3 has no jsonschema: $has", 1 if $has;
	my $schema = abs_path("$FindBin::Bin/../../docs/sbx-report.schema.json");
	my ($who) = callers();
	my $dir = "$who->{home}/project";
	put($who, "$dir/limited.json", '{"sbx": 1, "extends": ["default"], "limits": {"output": {"bytes": 100, "then": "kill"}}}');
	put($who, "$dir/user.json", '{"sbx": 1, "extends": ["strict"], "network": "host", "identity": {"user": "7"}}');
	open my $busy, '>>', put($who, "$dir/busy", slurp('/bin/true'), 0755) or die;
	my @rows = (
		# outcome, what the shell does before, arguments
		['completed', '', 'true'],
		['completed', '', '--timeout', '1m', '--', 'sh', '-c', 'kill -KILL $$'],
		['completed', '', '-p', './user.json', '--chdir', '/', '--', 'true'],
		['completed', '', '--capture', '--', 'printf', 'a\\0\\377'],
		['completed', '', '--capture', '--', 'seq', 1000000],
		['completed', '', '--capture', '--output-dir', $who->{home}, '--', 'echo'],
		['output', '', '-p', './limited.json', '--', 'yes'],
		['timeout', '', '--timeout', '300ms', '--net', 'host', '--', 'sleep', 1000],
		['cancelled', 'timeout 1', '--', 'sleep', 1000],
		['lost', 'exec >/dev/full;', '-p', './limited.json', '--', 'echo'],
		['not-found', '', 'no-such-command'],
		['not-executable', '', '/etc/passwd'],
		['not-executable', '', '--capture', '--', './busy'],
		['setup-failed', 'ulimit -f 0;', 'true'],
		['refused', '', '--read', '/nowhere', '--', 'true'],
		['refused', '', '-p', 'no-such-policy', '--', 'true'],
		['refused', '', '--bwrap', '/bin/false', '--', 'true'],
		['refused', ''],
	);
	my $texts = '';
	for (@rows) {
		my ($outcome, $before, @args) = @$_;
		my $got = run($who, ['bash', '-c', qq{exec 3>&1 >/dev/null 2>&1; $before "\$0" --report fd:3 "\$@"}, $EXEC, @args]);
		like($got->{out}, qr/"outcome":\s*"$outcome"/, "a report: $outcome: @args");
		$texts .= $got->{out} =~ s/\n//gr . "\n";
	}
	put($who, "$who->{home}/reports", $texts);
	my @said = split /\n/, run($who, ['sh', '-c', 'python3 -c "$0" "$1" < "$2"', $validate, $schema, "$who->{home}/reports"])->{out};
	is($said[$_], 'valid', "the schema holds for: $rows[$_][0]: @{$rows[$_]}[2 .. $#{$rows[$_]}]") for 0 .. $#rows;
	is(run($who, ['python3', '-c', $validate, $schema], stdin => '{"sbx": 1}')->{out} =~ s/;.*//sr,
		"\$: 'phase' is a required property", 'and not for anything');
}
SKIP: {
	skip 'needs root', 1 if $>;
	my ($root, $user) = callers();
	my $report = "$user->{home}/report.json";
	run($root, [$EXEC, '--report', $report, '--read', '/nowhere', '--', 'true']);
	like(slurp($report) // '', qr/nowhere does not exist/, "root: what came of a plan is reported in another user's directory too");
}
done_testing();
