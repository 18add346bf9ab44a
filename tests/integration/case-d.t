# Cases of odd names: every byte that a name can hold passes through policy, plan and bwrap unharmed.
use strict;
use warnings;
use Encode ();
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/case-lib.pl" }
our ($top, $PLAN, $EXEC);

# Names as bytes.
my @names = ('with space', "new\nline", '-dash', '[id]', '*star', "tab\tx", 'back\\slash',
	"uni-\xc3\xa9-\xe6\xbc\xa2", q('q"),
	'$HOME', '`id`', '--ro-bind', '#', "\e[31m");
my $bad = "bad\xff";

# What a reader of a message or a test name can stand.
sub shown {
	return $_[0] =~ s/[^ -~]/?/gr;
}

# A name as a path of a policy has it.
sub escaped {
	return $_[0] =~ s/([*?\[\\])/\\$1/gr;
}

sub decoded {
	return map { Encode::decode('UTF-8', "$_") } @_;
}

case d01 => 'each odd name can be written to, protected and denied, and only it', sub {
	my ($who, $dir) = @_;
	for my $name (@names) {
		folder($who, "$dir/$name");
		put($who, "$dir/$name/$_/f", 'f') for 'sub', 'deny';
		my $path = "$dir/" . escaped($name);
		promises($who, [policy($who, {}), "--write=$path", "--read=$path/sub", "--deny=$path/deny"],
			[make => "$dir/$name/t", 'ok', shown("$name: as options: writable")],
			[create => "$dir/t", 'EROFS', shown("$name: as options: nothing beside it")],
			[write => "$dir/$name/sub/f", 'EROFS', shown("$name: as options: what is protected in it is")],
			[read => "$dir/$name/deny/f", 'EACCES', shown("$name: as options: what is denied in it is")]);
		ok(unlink("$dir/$name/t"), shown("$who->{name}: $name: it is on the host"));
	}
	promises($who, [policy($who, {write => [decoded(map { "$dir/" . escaped($_) } @names)]})],
		map { [create => "$dir/$_/t", 'ok', shown("$_: in a policy: writable")] } @names);
};

case d01 => 'what looks like a pattern is a name behind a backslash', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, map { "$_ = f" } '[id]', 'i', 'd', '*', 'x', '?', 'y');
	promises($who, [policy($who, {deny => ["$dir/\\[id]"]}), '--deny', "$dir/\\?"],
		[read => "$dir/[id]", 'EACCES', '[id] is denied'],
		[read => "$dir/i", 'ok', 'i is not'],
		[read => "$dir/d", 'ok', 'd is not'],
		[read => "$dir/?", 'EACCES', '? is denied'],
		[read => "$dir/x", 'ok', 'x is not']);
};

case d01 => 'file systems mounted at odd names stay read-only, and can be made writable', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $>;
	my @mounts;
	for my $name (@names, $bad) {
		folder($who, "$dir/$name");
		push @mounts, mounted("$dir/$name", qw(-t tmpfs -o), "uid=$who->{uid},gid=$who->{gid}", 'tmpfs');
	}
	promises($who, [policy($who, {})],
		map { [create => "$dir/$_/x", 'EROFS', shown("$_: not writable")] } @names, $bad);
	promises($who, [policy($who, {write => [$dir]}), "--read=$dir/" . escaped($_)],
		[create => "$dir/$_/x", 'EROFS', shown("$_: not writable inside what is")])
		for @names;
	promises($who, [policy($who, {}), map { "--write=$dir/" . escaped($_) } @names],
		(map { [create => "$dir/$_/x", 'ok', shown("$_: writable where a rule says so")] } @names),
		[create => "$dir/$bad/x", 'EROFS', 'and nowhere else']);
};

case d01 => 'names that are no text are refused in rules, and harmless elsewhere', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, "$bad/f = f", 'from/', "$bad/$bad -> $bad");
	my $file = put($who, "$dir/policy.json", qq({"sbx": 1,\n"filesystem": {"read": ["/$bad"]}}));
	refuses($who, $dir, 'in a policy', qr{policy\.json.*line 2\b.*UTF-8}, ['-p', $file]);
	refuses($who, $dir, 'as an option', qr{--write.*UTF-8}, ['--write', "$dir/$bad"], code => 2);
	promises($who, [policy($who, {mounts => [{at => "$dir/new", from => "$dir/from"}]})],
		[read => "$dir/$bad/f", 'ok', 'beside a rule: it is there'],
		[list => "$dir/new", 'ok', 'with what the rule shows']);
	promises($who, [policy($who, {deny => ["$dir/from"], write => [$dir]})],
		[write => "$dir/$bad/f", 'ok', 'in a writable folder: it is writable']);
	my ($got, $report) = reported($who, [qw(-p workspace -- sh -c), 'echo x >new && pwd'], cwd => "$dir/$bad");
	is($got->{out}, "$dir/$bad\n", "$who->{name}: as the working directory: it runs there") or diag(shown($got->{err}));
	ok(-e "$dir/$bad/new", "$who->{name}: as the working directory: it is writable");
	is($report->{outcome}, 'completed', "$who->{name}: as the working directory: the report is JSON");
	$got = run($who, [$PLAN, qw(-p workspace --json)], cwd => "$dir/$bad");
	ok(eval { JSON::PP->new->utf8->decode($got->{out}) }, "$who->{name}: as the working directory: the plan is JSON");
};

case d02 => 'the words of -0 give bwrap the same as sbx-exec: spaces, newlines, empty values', sub {
	my ($who, $dir) = @_;
	folder($who, "$dir/a b\nc");
	my @options = (policy($who, {}), qw(--proc bind --env EMPTY= --env), "NL=x\ny", '--write', "$dir/a b\nc");
	my $script = qq(touch "$dir/a b\nc/t" && printf "[%s][%s][%s]" "\${EMPTY-unset}" "\$NL" "\$#");
	my $by_hand = run($who, ['bash', '-c', 'plan=$1 script=$2; shift 2
		exec env -i bwrap --args 3 -- sh -c "$script" sh "" 3< <("$plan" "$@" -0) \
			10< <("$plan" "$@" --print-seccomp -0)', 'bash', $PLAN, $script, @options]);
	is($by_hand->{out}, "[][x\ny][1]", "$who->{name}: by bwrap --args") or diag($by_hand->{err});
	ok(unlink("$dir/a b\nc/t"), "$who->{name}: by bwrap --args: the file is there");
	my $by_exec = run($who, [$EXEC, @options, '--', 'sh', '-c', $script, 'sh', '']);
	is($by_exec->{out}, "[][x\ny][1]", "$who->{name}: by sbx-exec") or diag($by_exec->{err});
	ok(unlink("$dir/a b\nc/t"), "$who->{name}: by sbx-exec: the file is there");
};

run_cases();
