# What sbx-plan prints is what sbx-exec runs: given to bwrap by hand, -0 and --print give the same view. --json is JSON
# with a rule behind each op, the same input gives the same bytes, and no process is started.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $PLAN, $EXEC);

# Says what a process inside finds: names with type, mode, owner and size or target, mounts, variables, privileges. What
# differs between two runs of any sandbox (ids of processes and mounts, device numbers) is left out, and what sbx-exec
# adds around bwrap: a /proc of its own to take parts from, read-only device nodes, and bwrap as a read-only mount.
my $survey = <<'END';
find / -maxdepth 2 -not -path '/proc/*' -not -path '/sys/*' -printf '%y %m %U:%G %p %l\n' 2>&1 | sort
ls /proc | grep -v '^[0-9]'
find /dev "$HOME" -maxdepth 3 -printf '%y %m %U:%G %p %l\n' 2>&1 | sort
perl -lane '$F[5] =~ s/^r.,|,nosuid|,nodev|,noexec//g if $F[4] =~ m{^/proc/|^/dev/[a-z]+$}; next if $F[4] =~ m{/bwrap$}; print join " ", @F[3 .. 6], grep { defined } $F[-3] eq "-" ? @F[-2, -1] : @F[-3 .. -1]' /proc/self/mountinfo
env | sort
grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status
uname -n; id -u; pwd; cat /proc/net/dev | wc -l; readlink /proc/self/ns/user | grep -c user
END

sub proc_mode {
	my ($who) = @_;
	return run($who, [$EXEC, qw(--proc fresh -- true)])->{code} ? 'bind' : 'fresh';
}

sub same_view {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	put($who, "$project/.git/hooks/x", '');
	put($who, "$project/.git/config", '');
	put($who, "$who->{home}/.ssh/key", 'SECRET');
	my $proc = proc_mode($who);
	for my $policy (qw(default workspace strict query-script)) {
		my @args = ('-p', $policy, '--proc', $proc);
		my $by_exec = run($who, [$EXEC, @args, '--', 'sh', '-c', $survey]);
		is($by_exec->{code}, 0, "$who->{name}: $policy: by sbx-exec") or diag($by_exec->{err});
		my $by_hand = run($who, ['bash', '-c', 'plan=$1 args=$2 survey=$3;
			exec env -i bwrap --args 3 -- sh -c "$survey" 3< <("$plan" $args -0) 10< <("$plan" $args --print-seccomp -0)',
			'bash', $PLAN, "@args", $survey]);
		is($by_hand->{code}, 0, "$who->{name}: $policy: by bwrap --args") or diag($by_hand->{err});
		cmp_ok(length $by_exec->{out}, '>', 1000, "$who->{name}: $policy: (the survey says much)");
		is($by_hand->{out}, $by_exec->{out}, "$who->{name}: $policy: the same view");
	}
}

# The text of --print, put after "bwrap " in a shell script.
sub pasted {
	my ($who) = @_;
	my $policy = put($who, "$who->{home}/data.json", <<'END');
{"sbx": 1, "extends": ["default"], "filesystem": {"files": [
	{"at": "/etc/sbx-one", "text": "one $HOME `id`\nEOF\n'quoted'\\n"},
	{"at": "/etc/sbx-two", "text": "no newline at the end"}]},
 "environment": {"set": {"ODD": "a b'c\"d\\e$f"}}}
END
	my @args = ('-p', $policy, '--proc', proc_mode($who));
	my @command = ('sh', '-c', 'cat /etc/sbx-one; echo .; cat /etc/sbx-two; echo .; printf "%s\n" "$ODD"; ls -d "$1"', 'sh',
		"$who->{home}/with space");
	put($who, "$who->{home}/with space", '');
	my $printed = run($who, [$PLAN, @args, '--print', '--', @command]);
	is($printed->{code}, 0, "$who->{name}: --print") or diag($printed->{err});
	my $by_exec = run($who, [$EXEC, @args, '--', @command]);
	like($by_exec->{out}, qr/^one \$HOME `id`\nEOF\n'quoted'\\n\.\nno newline at the end\.\na b'c"d\\e\$f\n/,
		"$who->{name}: the files and the variable as the policy has them");
	my $by_hand = run($who, ['bash', '-c', "bwrap $printed->{out}"]);
	is($by_hand->{out}, $by_exec->{out}, "$who->{name}: pasted into bash after bwrap it shows the same")
		or diag($by_hand->{err}, $printed->{out});
	# Without data files and filter any POSIX shell will do.
	my $plain = run($who, [$PLAN, '--proc', proc_mode($who), qw(--seccomp none --print -- echo), q(a $b 'c' "d" \\ *)])->{out};
	is(run($who, ['sh', '-c', "bwrap $plain"])->{out}, qq(a \$b 'c' "d" \\ *\n), "$who->{name}: and into sh");
	# Bytes that could steer a terminal are never printed raw: bash reads them back.
	my @odd = ('--env', "ODD=tab\t escape\e[31m newline\nquote'");
	my @show = ('--', 'sh', '-c', 'printf "%s" "$ODD"');
	my $escaped = run($who, [$PLAN, @args, @odd, @show])->{out};
	unlike($escaped, qr/[^ -~\n]/, "$who->{name}: control bytes are printed escaped");
	is(run($who, ['bash', '-c', "bwrap $escaped"])->{out}, "tab\t escape\e[31m newline\nquote'",
		"$who->{name}: and come back whole");
	my @lines = split /\n/, $printed->{out};
	cmp_ok(scalar(grep { / \\$/ } @lines), '>', 10, "$who->{name}: one op a line");
	my $refused = run($who, [$PLAN, @args, '-0']);
	is($refused->{code}, 125, "$who->{name}: -0 refuses a policy with data files");
	like($refused->{err}, qr{\Asbx-plan: .*/etc/sbx-one}s, "$who->{name}: by name");
	is($refused->{out}, '', "$who->{name}: and prints nothing");
}

sub json {
	my ($who) = @_;
	my @args = (qw(-p workspace --proc fresh --json));
	my $got = run($who, [$PLAN, @args]);
	my $plan = eval { JSON::PP->new->decode($got->{out}) };
	ok($plan, "$who->{name}: --json is valid JSON") or diag($@, $got->{err});
	my @ops = @{$plan->{ops} || []};
	cmp_ok(scalar(@ops), '>', 10, "$who->{name}: it has the ops");
	is(scalar(grep { !$_->{rule} } @ops), 0, "$who->{name}: each with the rule behind it");
	my ($bind) = grep { ($_->{dest} // '') eq "$who->{home}/project" } @ops;
	like(JSON::PP->new->canonical->encode($bind || {}), qr/workspace/, "$who->{name}: ./ comes from the policy workspace");
	is(run($who, [$PLAN, @args])->{out}, $got->{out}, "$who->{name}: the same bytes again");
}

sub checked {
	my ($who) = @_;
	my $got = run($who, [$PLAN, qw(--check)]);
	is($got->{code}, 0, "$who->{name}: --check of a plan that proves is 0");
	like($got->{out}, qr/\Aproven: \d+ mounts, \d+ words\n\z/, "$who->{name}: it says how much was proven");
	$got = run($who, [$PLAN, qw(--check --read /nonexistent)]);
	is($got->{code}, 125, "$who->{name}: --check of what cannot be is 125");
	like($got->{err}, qr/\Asbx-plan: .*\nsbx-plan: hint: /, "$who->{name}: with a message and a hint");
}

sub no_process {
	my ($who) = @_;
	SKIP: {
		skip 'a limit of processes does not bind root', 2 if !$who->{uid};
		my @limited = qw(prlimit --nproc=0:0 --);
		isnt(run($who, [@limited, 'sh', '-c', 'true & wait'])->{code}, 0, "$who->{name}: (under the limit no fork works)");
		is(run($who, [@limited, $PLAN, '--print'])->{code}, 0, "$who->{name}: sbx-plan works where no process can be started");
	}
	SKIP: {
		skip 'strace is not installed', 2 if !which('strace');
		my $trace = run($who, [qw(strace -f -qq -e trace=process -e signal=none), $PLAN, '--print']);
		skip 'strace may not trace here', 2 if $trace->{code};
		is(scalar(() = $trace->{err} =~ /\bexecve(?:at)?\(/g), 1, "$who->{name}: one execve: its own");
		unlike($trace->{err}, qr/\b(?:clone3?|v?fork)\(/, "$who->{name}: no clone, no fork");
	}
}

# Words for older releases of bwrap: what they lack is left out where that can be, else the plan is refused.
sub target {
	my ($who) = @_;
	my @args = ('-p', 'workspace', '--proc', proc_mode($who));
	my $plain = run($who, [$PLAN, @args, '--json'])->{out};
	is(run($who, [$PLAN, @args, '--target-bwrap', '0.8.0', '--json'])->{out}, $plain,
		"$who->{name}: 0.8.0 has all that is used");
	my $got = run($who, [$PLAN, @args, qw(--target-bwrap 0.5 -0)]);
	my $words = $got->{out};
	like($got->{err}, qr{note: /tmp is not bounded}, "$who->{name}: what a target lacks does not go unseen");
	my @lacking = grep { /\A--(?:size|disable-userns)\z/ } split /\0/, $words;
	is("@lacking", '', "$who->{name}: 0.5 gets no option that came later");
	my $ran = run($who, ['bash', '-c', 'plan=$1 args=$2; exec env -i bwrap --args 3 -- echo ran 3< <("$plan" $args -0) 10< <("$plan" $args --print-seccomp -0)',
		'bash', $PLAN, "@args --target-bwrap 0.5"]);
	is($ran->{out}, "ran\n", "$who->{name}: and bwrap takes it") or diag($ran->{err});
	my $json = run($who, [$PLAN, @args, qw(--target-bwrap 0.5 --json)])->{out};
	my $plan = eval { JSON::PP->new->decode($json) } || {};
	is_deeply([map { $_->{strength} } grep { ($_->{rule}{path} // '') =~ m{/\.git/hooks$} } @{$plan->{rules}}], ['cover'],
		"$who->{name}: the rules come with their strength");
	like(join("\n", @{$plan->{notes}}), qr{has no --disable-userns \(0\.8\.0 has it\); the system call filter alone keeps them off$}m,
		"$who->{name}: and what it rests on");
	like($words, qr/(?:\A|\0)--seccomp\x0010\0/, "$who->{name}: the filter by the option that 0.5 has");
	is(scalar(grep { $_->{size} } @{$plan->{ops}}), 0, "$who->{name}: no step claims a size");
	like(join("\n", @{$plan->{notes}}), qr{^/tmp is not bounded: bwrap 0\.5\.0 has no --size}m,
		"$who->{name}: which the notes say");
	my %strength = map {
		my $rules = run($who, [$PLAN, @args, split(' ', "--target-bwrap $_"), '--rules'])->{out};
		$_ => $rules =~ m{^\w+ +(\S.*?) +read \Q$who->{home}\E/project/\.git/hooks }m ? $1 : $rules;
	} '0.7.0', '0.8.0', '0.7.0 --seccomp none', '0.8.0 --seccomp none';
	is($strength{'0.8.0'}, 'cover', "$who->{name}: with 0.8.0 a cover in the workspace holds");
	is($strength{'0.7.0'}, 'cover', "$who->{name}: with 0.7.0 by the filter");
	is($strength{'0.8.0 --seccomp none'}, 'cover', "$who->{name}: with 0.8.0 without one too");
	is($strength{'0.7.0 --seccomp none'}, 'watched: no', "$who->{name}: with neither it can be taken off");
	for my $ask ('--print', '-0', '--json', '--check', '--rules', '--explain=/', '--map=/usr') {
		my $got = run($who, [$PLAN, @args, qw(--target-bwrap 0.4.1), $ask]);
		is($got->{code}, 125, "$who->{name}: 0.4.1: $ask is refused");
		like($got->{err}, qr/\Asbx-plan: .*: bwrap 0\.4\.1 has no --perms \(0\.5\.0 has it\).*\nsbx-plan: hint: /,
			"$who->{name}: 0.4.1: $ask: by the option's name");
		is($got->{out}, '', "$who->{name}: 0.4.1: $ask prints nothing");
	}
	is(run($who, [$PLAN, qw(--target-bwrap 0.8-1)])->{code}, 2, "$who->{name}: what is no version is a usage error");
}

for my $who (callers()) {
	subtest "$who->{name}: the same view" => sub { same_view($who) };
	subtest "$who->{name}: pasted" => sub { pasted($who) };
	subtest "$who->{name}: JSON" => sub { json($who) };
	subtest "$who->{name}: --check" => sub { checked($who) };
	subtest "$who->{name}: older releases" => sub { target($who) };
	subtest "$who->{name}: no process" => sub { no_process($who) };
}
done_testing();
