# Cases of tools: git, debuggers, the time zone.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/case-lib.pl" }
our ($top, $PLAN, $EXEC);

my %git = map { ("GIT_${_}_NAME" => 'a', "GIT_${_}_EMAIL" => 'a@b') } qw(AUTHOR COMMITTER);
my @git = map { ('--env', "$_=$git{$_}") } sort keys %git;

# A shell command of the caller's on the host, which must work.
sub host {
	my ($who, $dir, $script) = @_;
	my $got = run($who, ['sh', '-ec', $script], cwd => $dir, env => \%git);
	die "$script: $got->{err}" if $got->{code};
	return $got->{out};
}

case i01 => 'git commits in a linked worktree where the main repository is granted, and cannot be taught tricks', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'no git' if !which('git');
	host($who, $dir, 'git init -q main; cd main; git commit -q --allow-empty -m 0; git worktree add -q ../wt 2>/dev/null;
		echo x >../wt/f');
	my ($main, $wt) = ("$dir/main", "$dir/wt");
	my $commit = 'git add . && git commit -qm 1 && git log --oneline | wc -l';
	my $got = run($who, [$EXEC, qw(-p workspace), @git, '--', 'sh', '-c', $commit], cwd => $wt);
	is("$got->{code} $got->{out}", '128 ', "$who->{name}: with the worktree alone: git's own error");
	like($got->{err}, qr{\Afatal: [^\n]*\Q$main\E/\.git/worktrees/wt/index\.lock[^\n]*Read-only file system},
		"$who->{name}: about the file");
	my @granted = ('-p', 'workspace', @git, '--write', "$main/.git", '--read', "$main/.git/hooks", '--read',
		"$main/.git/config");
	$got = run($who, [$EXEC, @granted, '--', 'sh', '-c', $commit], cwd => $wt);
	is($got->{out} =~ s/\s//gr, '2', "$who->{name}: with the main repository: it commits") or diag($got->{err});
	is(host($who, $wt, 'git status --porcelain; git log -1 --format=%s'), "1\n",
		"$who->{name}: the host sees the commit");
	promises($who, \@granted,
		[create => "$main/.git/hooks/x", 'EROFS', 'no hook is made'],
		[write => "$main/.git/config", 'EROFS', 'the configuration is not written to'],
		[rename => "$main/.git/config", 'EBUSY', 'nor moved'],
		[rename => "$main/.git/hooks", 'EBUSY', 'nor are the hooks'],
		[rename => "$main/.git", 'EROFS', 'nor the whole']);
	my $before = slurp("$main/.git/config");
	$got = run($who, [$EXEC, @granted, qw(-- git config core.pager evil)], cwd => $wt);
	isnt($got->{code}, 0, "$who->{name}: git config fails");
	is(slurp("$main/.git/config"), $before, "$who->{name}: and changes nothing");
	local our $TODO = 'where a worktree leads is not looked at yet';
	like(join("\n", @{JSON::PP->new->decode(run($who, [$PLAN, qw(-p workspace --json)], cwd => $wt)->{out})->{notes}}),
		qr{\Q$main/.git\E}, "$who->{name}: with the worktree alone: a note says where it leads");
};

case i02 => 'a denied tracked file stops git, one with an empty mask does not', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'no git' if !which('git');
	host($who, $dir, 'git init -q p; cd p; echo K=1 >.env.example; echo x >y; git add .; git commit -qm 0; echo z >>y;
		git config extensions.worktreeConfig true; : >.git/config.worktree');
	my $p = "$dir/p";
	my $script = "cd $p && stat -c %F .env.example && git diff --stat && git stash -q -- y && git status --short";
	my @files = ("$p/.env.example", "$p/.git/config.worktree");
	my $got = run($who, [$EXEC, policy($who, {write => [$p], deny => \@files}), @git, '--', 'sh', '-c', $script]);
	isnt($got->{code}, 0, "$who->{name}: denied: git fails");
	unlike($got->{out} . $got->{err}, qr{K=1}, "$who->{name}: denied: and shows nothing");
	$got = run($who, [$EXEC, policy($who, {write => [$p], deny => [map { {path => $_, mask => 'empty'} } @files]}),
		@git,
		'--', 'sh', '-c', $script]);
	is($got->{code}, 0, "$who->{name}: empty: git works") or diag($got->{err});
	like($got->{out}, qr{\Aregular empty file\n.*\by\b}s, "$who->{name}: empty: on a regular empty file");
	is(slurp("$p/y"), "x\n", "$who->{name}: empty: what git changed is on the host");
	is(slurp("$p/.env.example"), "K=1\n", "$who->{name}: the file on the host is as it was");
};

case i03 => 'debuggers work inside', sub {
	my ($who, $dir) = @_;
	SKIP: {
		skip 'strace cannot be used here', 1 if !which('strace') || run($who,
			[qw(strace -qq -o /dev/null true)])->{code};
		is(run($who, [$EXEC, qw(-- strace -f -qq -o /tmp/trace sh -c), 'echo traced; true'])->{out}, "traced\n",
			"$who->{name}: strace");
	}
	SKIP: {
		my @gdb = (qw(gdb -nx -batch -ex run -ex quit), which('true'));
		skip 'gdb cannot be used here', 1 if !which('gdb') || run($who, \@gdb)->{out} !~ /exited normally/;
		like(run($who, [$EXEC, '--', @gdb])->{out}, qr{exited normally}, "$who->{name}: gdb");
	}
	SKIP: {
		skip 'strace cannot be used here', 1 if !which('strace');
		my $got = run($who, [$EXEC, qw(--proc bind -- strace -p), $$, qw(-o /dev/null)], limit => 10);
		isnt($got->{code}, 0, "$who->{name}: what runs outside is not traced, even where it is seen");
	}
};

case i04 => "the time zone is the host's by a link that leads elsewhere", sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $>;
	my $zone = '/usr/share/zoneinfo/Asia/Tokyo';
	plan skip_all => 'no time zones' if !-e $zone;
	my $root = trusted();
	chown 0, 0, $dir, $who->{home};
	tree($root, $dir, 'etc/', "data/Tokyo = @{[slurp($zone)]}", 'data/other = o');
	system 'cp', '-a', '/etc/.', "$dir/etc";
	unlink "$dir/etc/localtime";
	symlink "$dir/data/Tokyo", "$dir/etc/localtime";
	my $etc = mounted('/etc', '--bind', "$dir/etc");
	my $ask = 'date +%Z; readlink /etc/localtime; ls ' . "$dir/data";
	is(inside($who, [], $ask), "JST\n$dir/data/Tokyo\nTokyo\nother\n", "$who->{name}: with the policy default");
	is(inside($who, ['-p', 'strict'], $ask), "JST\n$dir/data/Tokyo\nTokyo\n",
		"$who->{name}: with strict, and nothing else beside it");
	is(inside($who, ['--inherit', 'TZDIR'], 'date +%Z; echo $TZDIR', env => {TZDIR => "$dir/data", TZ => 'Tokyo'}),
		"JST\n$dir/data\n",
		"$who->{name}: TZDIR passes");
	chown $who->{uid}, $who->{gid}, $who->{home};
	local our $TODO = 'variables that name hidden places are not looked at yet';
	like(notes($who, '--deny', "$dir/data/other", '--env', "TZDIR=$dir/data/other"), qr{TZDIR},
		"$who->{name}: a note for one that is hidden");
};

case i05 => 'the limits of one run are not those of another', sub {
	my ($who, $dir) = @_;
	my $limited = sub { run($who, [$EXEC, '--timeout', '500ms', '--', 'sleep', '60']) };
	is($limited->()->{code}, 124, "$who->{name}: a run ends at its limit");
	is(run($who, [$EXEC, '--', 'sleep', '1'])->{code}, 0, "$who->{name}: the next has none");
	my $pid = fork // die;
	POSIX::_exit($limited->()->{code}) if !$pid;
	is(run($who, [$EXEC, '--', 'sleep', '1'])->{code}, 0, "$who->{name}: nor has one at the same time");
	waitpid $pid, 0;
	is($? >> 8, 124, "$who->{name}: which keeps its own");
	my $policy = put($who, "$dir/memory.json", '{"sbx": 1, "extends": ["default"], "limits": {"memory": "64M"}}');
	my $got = run($who, [$EXEC, '-p', $policy, '--', 'true']);
	is($got->{code}, 125, "$who->{name}: a limit that nothing enforces is refused");
	like($got->{err}, qr{/limits/memory: unknown key}, "$who->{name}: by its name");
};

run_cases();
