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

# What can be done inside, in a folder, as promises() has it.
sub tried {
	my ($who, $dir, $options, @rows) = @_;
	my @look = ('perl', '-e', look_program(), map { @$_[0, 1] } @rows);
	my $got = run($who, [$EXEC, @$options, '--', @look], cwd => $dir);
	my @got = split /\n/, $got->{out};
	is($got[$_] // $got->{err}, $rows[$_][2], "$who->{name}: $rows[$_][3]") for 0 .. $#rows;
}

sub worktree_notes {
	my ($who, $dir, @options) = @_;
	my $got = run($who, [$PLAN, qw(-p workspace --json), @options], cwd => $dir);
	return $got->{err} if $got->{code};
	return join "\n", grep { /repository of/ } @{JSON::PP->new->decode($got->{out})->{notes}};
}

my $commit = 'git add . && git commit -qm 1 && git log --oneline | wc -l';

case i01 => 'git commits in a linked worktree, and cannot be taught tricks', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'no git' if !which('git');
	host($who, $dir, 'git init -q main; cd main; git commit -q --allow-empty -m 0; git worktree add -q ../wt 2>/dev/null;
		git worktree add -q ../wt2 2>/dev/null; git pack-refs --all; echo x >../wt/f');
	my ($main, $wt) = ("$dir/main", "$dir/wt");
	my ($git, $own) = ("$main/.git", "$main/.git/worktrees/wt");
	my @options = (qw(-p workspace), @git);
	my $off = put($who, "$dir/off.json", '{"sbx": 1, "extends": ["workspace"], "off": ["git-worktree"]}');
	my $got = run($who, [$EXEC, '-p', $off, @git, '--', 'sh', '-c', $commit], cwd => $wt);
	is("$got->{code} $got->{out}", '128 ', "$who->{name}: without the rule: git's own error");
	like($got->{err}, qr{\Afatal: [^\n]*\Q$own\E/index\.lock[^\n]*Read-only file system}, "$who->{name}: about the file");
	$got = run($who, [$EXEC, @options, '--', 'sh', '-c', $commit], cwd => $wt);
	is($got->{out} =~ s/\s//gr, '2', "$who->{name}: it commits") or diag($got->{err});
	is(host($who, $wt, 'git status --porcelain; git log -1 --format=%s; git fsck 2>&1'), "1\n", "$who->{name}: the host sees the commit");
	is(worktree_notes($who, $wt), '', "$who->{name}: there is nothing to say of it");
	tried($who, $wt, \@options,
		[create => "$git/hooks/x", 'EROFS', 'no hook is made'],
		[rename => "$git/hooks", 'EROFS', 'nor are they moved'],
		[write => "$git/config", 'EROFS', 'the configuration is not written to'],
		[create => "$git/config.lock", 'EROFS', 'nor made anew'],
		[create => "$git/info/x", 'EROFS', 'nor are attributes'],
		[write => "$git/packed-refs", 'EROFS', 'nor packed refs'],
		[write => "$git/HEAD", 'EROFS', "nor the main worktree's HEAD"],
		[create => "$git/worktrees/wt2/x", 'EROFS', 'nor anything of another worktree'],
		[create => "$git/worktrees/x", 'EROFS', 'no worktree is made'],
		[create => "$main/x", 'EROFS', 'nor anything in the main worktree'],
		[write => "$own/gitdir", 'EROFS', 'the way back is not written to'],
		[rename => "$own/gitdir", 'EBUSY', 'nor moved'],
		[remove => "$own/commondir", 'EBUSY', 'nor is where the rest lies removed'],
		[write => "$wt/.git", 'EROFS', 'nor is the .git of the worktree written to'],
		[rename => "$wt/.git", 'EBUSY', 'nor moved'],
		[create => "$own/x", 'ok', "the worktree's own directory is written to"],
		[create => "$git/objects/x", 'ok', 'objects are']);
	my $before = slurp("$git/config");
	$got = run($who, [$EXEC, @options, qw(-- git config core.pager evil)], cwd => $wt);
	isnt($got->{code}, 0, "$who->{name}: git config fails");
	is(slurp("$git/config"), $before, "$who->{name}: and changes nothing");
	my @granted = (@options, '--write', $git, '--read', "$git/hooks", '--read', "$git/config");
	$got = run($who, [$EXEC, @granted, '--', 'sh', '-c', "echo y >>f; $commit"], cwd => $wt);
	is($got->{out} =~ s/\s//gr, '3', "$who->{name}: it commits where the repository is granted as a whole") or diag($got->{err});
	like(worktree_notes($who, $wt, '--write', $git), qr{is not opened: \S+ can be written by the command \(command line: --write},
		"$who->{name}: and a note says that this is what does it");
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
	my $policy = put($who, "$dir/limits.json", '{"sbx": 1, "extends": ["default"], "limits": {"bandwidth": "64M"}}');
	my $got = run($who, [$EXEC, '-p', $policy, '--', 'true']);
	is($got->{code}, 125, "$who->{name}: a limit that nobody knows is refused");
	like($got->{err}, qr{/limits/bandwidth: unknown key}, "$who->{name}: by its name");
};

case i06 => 'a .git that somebody has forged opens no repository', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'no git' if !which('git');
	host($who, $dir, 'git init -q main; cd main; git commit -q --allow-empty -m 0; git worktree add -q ../wt 2>/dev/null;
		git worktree add -q ../gone 2>/dev/null; rm -r ../gone; mkdir ../ws; ln -s ../main ../ws/way; ln -s main ../linked');
	my ($ws, $worktrees) = ("$dir/ws", "$dir/main/.git/worktrees");
	# The command of an earlier run has made a repository of its own in the workspace, with a way back.
	put($who, "$ws/fake/$_->[0]", $_->[1]) for ['HEAD', 'ref: x'], ['worktrees/x/gitdir', "$ws/.git\n"], ['worktrees/x/commondir', "../..\n"];
	mkdir "$ws/fake/objects";
	chown $who->{uid}, $who->{gid}, "$ws/fake/objects" if !$>;
	my $nul = "gitdir: $worktrees/gone\0";
	for (["gitdir: $worktrees/wt\n", "$worktrees/wt/gitdir does not name it", "another worktree's"],
		["gitdir: $worktrees/gone\n", "$worktrees/gone/gitdir does not name it", 'that of one which is gone'],
		["gitdir: ../main/.git/worktrees/wt\n", "$worktrees/wt/gitdir does not name it", 'one by a relative path'],
		["gitdir: $ws/fake/worktrees/x\n", "$ws/fake/worktrees/x/gitdir can be written by the command", 'one in the workspace'],
		["gitdir: fake/worktrees/x\n", "$ws/fake/worktrees/x/gitdir can be written by the command", 'the same by a relative path'],
		["gitdir: $ws/way/.git/worktrees/wt\n", "the symbolic link $ws/way leads to", 'one behind a link of the workspace'],
		["gitdir: $dir/linked/.git/worktrees/wt\n", "the symbolic link $dir/linked leads to", 'one behind any other link'],
		["gitdir: $dir/main/.git/worktrees/none\n", "$worktrees/none: No such file or directory", 'one that is not there'],
		["gitdir: $dir/main/.git\n", '', 'a repository that is no worktree'],
		[$nul, '', 'a text with a NUL'], ["$nul\n" . 'x' x 100, '', 'a text that goes on behind it'],
		["gitdir: $worktrees/wt" . 'x' x 5000, '', 'a text without an end'], ['', '', 'no text']) {
		my ($text, $note, $what) = @$_;
		put($who, "$ws/.git", $text);
		my $said = worktree_notes($who, $ws);
		is($said =~ s/ \([^)]*\)$//r, $note && "the repository of $ws/.git is not opened: $note" . ($note =~ / to$/ ? $said =~ s/.* leads to//r : ''),
			"$who->{name}: $what: a note") or diag($said);
		tried($who, $ws, [qw(-p workspace)],
			[create => "$dir/main/.git/objects/x", 'EROFS', "$what: no object is made"],
			[create => "$worktrees/wt/x", 'EROFS', "$what: nor anything in a worktree's directory"],
			[write => "$ws/.git", 'EROFS', "$what: and the file is not written to again"]);
	}
	unlink "$ws/.git";
	symlink "$dir/wt/.git", "$ws/.git" or die;
	system 'chown', '-h', "$who->{uid}:$who->{gid}", "$ws/.git" if !$>;
	like(worktree_notes($who, $ws), qr{is not opened: the symbolic link \Q$ws/.git\E leads to it}, "$who->{name}: a link to another: a note");
	tried($who, $ws, [qw(-p workspace)], [create => "$dir/main/.git/objects/x", 'EROFS', 'a link to another: no object is made']);
	# A true one, whose repository somebody denies, or has bound to where the command may write.
	like(worktree_notes($who, "$dir/wt", '--deny', "$dir/main"), qr{is not opened: \S+ is denied \(command line: --deny },
		"$who->{name}: a denied repository: a note");
	tried($who, "$dir/wt", [qw(-p workspace --deny), "$dir/main"], [read => "$dir/main/.git/HEAD", 'EACCES', 'a denied repository stays so']);
	SKIP: {
		skip 'needs root', 2 if $>;
		mkdir "$dir/wt/bound" or die;
		my $bound = mounted("$dir/wt/bound", '--bind', "$dir/main");
		like(worktree_notes($who, "$dir/wt"), qr{is not opened: \Q$dir/wt/bound\E/\S+/gitdir can be written by the command},
			"$who->{name}: a repository that is mounted in the workspace: a note");
		tried($who, "$dir/wt", [qw(-p workspace)], [create => "$worktrees/wt2/x", 'ENOENT', '(of a worktree that is not there)'],
			[create => "$worktrees/x", 'EROFS', 'no worktree is made by its own name']);
	}
};

run_cases();
