# Every promise of the policy "workspace": ./ is writable and seen on the host, what the host would later execute is
# protected, the rest is as under "default", and nothing is left in the project.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $PLAN, $EXEC);

sub project {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	put($who, "$project/src/main.c", "int main(void) { return 0; }\n");
	put($who, "$project/.git/HEAD", "ref: refs/heads/main\n");
	put($who, "$project/.git/config", "[core]\n\tbare = false\n");
	put($who, "$project/.git/hooks/pre-commit", "#!/bin/sh\n", 0755);
	put($who, "$project/.git/objects/x", '');
	put($who, "$who->{home}/other/file", 'other');
	put($who, "$who->{home}/.ssh/key", 'SECRET');
	return $project;
}

sub writable {
	my ($who, $project) = @_;
	promises($who, [qw(-p workspace)],
		[make => "$project/made", 'ok', 'a file can be made in ./'],
		[mkdir => "$project/dir", 'ok', 'a folder can be made in ./'],
		[write => "$project/src/main.c", 'ok', 'a file in ./ can be written to'],
		[rename => "$project/src/main.c", 'ok', 'a file in ./ can be renamed'],
		[rename => "$project/src", 'ok', 'a folder in ./ can be renamed'],
		[create => "$project/.git/objects/y", 'ok', 'git objects can be made'],
		[create => "$who->{home}/other/x", 'EROFS', 'nothing can be made beside ./'],
		[write => "$who->{home}/other/file", 'EROFS', 'nothing beside ./ can be written to'],
		[create => "$who->{home}/x", 'EROFS', 'nothing can be made in the home'],
		[create => "/sbx-test.$$", 'EROFS', 'nothing can be made in /'],
		[read => "$who->{home}/.ssh/key", 'EACCES', 'secrets are hidden']);
	ok(-f "$project/made" && -f "$project/src.moved/main.c.moved",
		"$who->{name}: the host sees what was done");
	is((stat "$project/made")[4], $who->{uid}, "$who->{name}: a new file belongs to the caller");
}

sub protected {
	my ($who, $project) = @_;
	my $git = "$project/.git";
	promises($who, [qw(-p workspace)],
		[read => "$git/hooks/pre-commit", 'ok', 'hooks can be read'],
		[write => "$git/hooks/pre-commit", 'EROFS', 'a hook cannot be written to'],
		[create => "$git/hooks/post-commit", 'EROFS', 'no hook can be made'],
		[remove => "$git/hooks/pre-commit", 'EROFS', 'a hook cannot be removed'],
		[rename => "$git/hooks", 'EBUSY', 'the hooks cannot be renamed away'],
		[read => "$git/config", 'ok', 'the configuration can be read'],
		[write => "$git/config", 'EROFS', 'the configuration cannot be written to'],
		[remove => "$git/config", 'EBUSY', 'the configuration cannot be removed'],
		[rename => "$git/config", 'EBUSY', 'the configuration cannot be renamed away'],
		[rename => $git, 'EBUSY', '.git cannot be renamed away'],
		[rename => $project, 'EROFS', 'the project cannot be renamed away']);
	# A rename over the protected name, and a link to it, must not help either.
	my $script = 'echo x >new; mv -f new .git/config || echo not moved; ln .git/config link || echo no link';
	is(inside($who, [qw(-p workspace)], "exec 2>/dev/null; $script"), "not moved\nno link\n",
		"$who->{name}: nothing can be moved over it, no link can be made to it");
	is(slurp("$git/config"), "[core]\n\tbare = false\n", "$who->{name}: the host's configuration is unchanged");
}

sub nothing_left {
	my ($who) = @_;
	for my $kind (qw(empty git)) {
		my $dir = "$who->{home}/clean-$kind";
		put($who, "$dir/a", '');
		run($who, [qw(git init -q .)], cwd => $dir) if $kind eq 'git' && which('git');
		my $before = listing($dir);
		is(inside($who, [qw(-p workspace)], 'ls >/dev/null', cwd => $dir), '', "$who->{name}: a run in a $kind project");
		is(listing($dir), $before, "$who->{name}: no stub is left in a $kind project");
	}
}

# Repositories in the workspace, down to two levels, a submodule and linked worktrees among them: git works in them, and
# what it would run stays as it is.
sub nested {
	my ($who) = @_;
	return plan skip_all => 'no git' if !which('git');
	my $dir = "$who->{home}/nested";
	put($who, "$dir/.keep", '');
	my $made = run($who, ['sh', '-ec', 'exec >/dev/null 2>&1; git init -q sub; git -C sub commit -q --allow-empty -m 0
		git init -q .; git commit -q --allow-empty -m 0; git -c protocol.file.allow=always submodule add -q ./sub mod
		git worktree add -q -b in third/wt; git worktree add -q -b out ../outside; git init -q third/lib; git init -q a/b/deep
		git init -q vault; mkdir -p sub/.git/modules/x third/lib/.git/info; touch third/lib/.git/info/attributes third/lib/.git/commondir'],
		cwd => $dir, env => {map { ("GIT_${_}_NAME" => 'a', "GIT_${_}_EMAIL" => 'a@b') } qw(AUTHOR COMMITTER)});
	is($made->{code}, 0, "$who->{name}: repositories in a repository");
	unlink "$dir/third/lib/.git/commondir"; # git would not work there
	my ($own, $worktrees) = ("$dir/.git", "$dir/.git/worktrees");
	my @rows = ([create => "$own/hooks/x", 'EROFS', 'no hook is made in the repository itself'],
		(map { ([create => "$dir/$_/.git/hooks/x", 'EROFS', "nor in $_"], [write => "$dir/$_/.git/config", 'EROFS', "nor $_ configured"],
			[rename => "$dir/$_/.git", 'EBUSY', "nor the repository of $_ replaced"],
			[create => "$dir/$_/.git/objects/x", 'ok', "but objects are made in $_"]) } qw(sub third/lib)),
		[create => "$dir/sub/.git/modules/x/hooks", 'EROFS', 'nor a hook of a submodule in a module'],
		[write => "$dir/third/lib/.git/info/attributes", 'EROFS', 'attributes are not written to'],
		[write => "$dir/mod/.git", 'EROFS', 'the .git of a submodule is not written to'],
		[rename => "$dir/mod/.git", 'EBUSY', 'nor replaced'],
		[write => "$own/modules/mod/config", 'EROFS', 'the submodule is not configured'],
		[write => "$dir/third/wt/.git", 'EROFS', 'the .git of a worktree in it is not written to'],
		(map { [write => "$worktrees/$_/gitdir", 'EROFS', "nor the way back to the worktree $_"],
			[rename => "$worktrees/$_/commondir", 'EBUSY', "nor what worktree $_ shares moved"] } qw(wt outside)),
		[rename => "$worktrees/outside", 'EBUSY', 'nor the directory of a worktree'],
		[write => "$dir/a/b/deep/.git/config", 'ok', '(three levels down nothing is protected)'],
		[create => "$dir/vault/.git/x", 'EACCES', 'what a rule denies is hidden'],
		[read => "$dir/vault/.git/config", 'EACCES', 'with all the protected names in it']);
	my $got = run($who, [$EXEC, '-p', 'workspace', '--deny', './vault', '--', 'perl', '-e', look_program(), map { @$_[0, 1] } @rows],
		cwd => $dir);
	my @got = split /\n/, $got->{out};
	is($got[$_] // $got->{err}, $rows[$_][2], "$who->{name}: $rows[$_][3]") for 0 .. $#rows;
	my $commits = 'for d in . sub third/lib third/wt; do (cd $d && echo x >y && git add y && git commit -qm 1 && echo $d); done 2>&1';
	my @git = map { ('--env', "GIT_${_}_NAME=a", '--env', "GIT_${_}_EMAIL=a\@b") } qw(AUTHOR COMMITTER);
	is(inside($who, [qw(-p workspace), @git], $commits, cwd => $dir), ".\nsub\nthird/lib\nthird/wt\n", "$who->{name}: git commits in each");
	my $off = put($who, "$who->{home}/off.json",
		'{"sbx": 1, "extends": ["workspace"], "off": ["git-hooks", "git-config", "git-modules", "git-files", "git-worktrees", "git-worktree"]}');
	@rows = ([create => "$own/hooks/x", 'ok', 'each can be switched off: hooks'], [create => "$dir/sub/.git/hooks/x", 'ok', 'all hooks'],
		[write => "$dir/third/lib/.git/config", 'ok', 'configuration'], [write => "$dir/mod/.git", 'ok', '.git files'],
		[write => "$own/modules/mod/config", 'ok', 'modules'], [write => "$worktrees/outside/gitdir", 'ok', 'worktrees']);
	$got = run($who, [$EXEC, '-p', $off, '--', 'perl', '-e', look_program(), map { @$_[0, 1] } @rows], cwd => $dir);
	@got = split /\n/, $got->{out};
	is($got[$_] // $got->{err}, $rows[$_][2], "$who->{name}: $rows[$_][3]") for 0 .. $#rows;
}

# What no pattern matches is nothing to speak of, and names that are made later take one note.
sub quiet {
	my ($who) = @_;
	my $dir = "$who->{home}/quiet";
	put($who, "$dir/a/b/c", '');
	my @notes = @{JSON::PP->new->decode(run($who, [$PLAN, qw(-p workspace --json)], cwd => $dir)->{out})->{notes}};
	is(scalar(grep { /matches nothing/ } @notes), 0, "$who->{name}: no note on patterns that match nothing") or diag(@notes);
	is(scalar(grep { /names made later/ } @notes), 1, "$who->{name}: one on names that are made later") or diag(@notes);
	my $made = run($who, [$EXEC, qw(-p workspace -- sh -c), 'mkdir -p new/.git/hooks a/b/.git/hooks && touch new/.git/hooks/x && echo made'],
		cwd => $dir);
	is($made->{out}, "made\n", "$who->{name}: which is true");
}

# The policy of the next run is not written by this one, also where it lies in the workspace.
sub own_policy {
	my ($who) = @_;
	my $dir = "$who->{home}/own";
	my $policy = '{"sbx": 1, "extends": ["workspace", "@policy/base.json"]}';
	put($who, "$dir/sbx/policy.json", $policy);
	put($who, "$dir/sbx/base.json", '{"sbx": 1}');
	my $script = 'cat sbx/policy.json; for f in policy base; do echo x 2>/dev/null >sbx/$f.json || echo no $f; done;
		mv sbx/new sbx/policy.json || mv sbx sbx2 || rm -f sbx/base.json || echo none moved; touch made sbx/made && echo made';
	put($who, "$dir/sbx/new", '{}');
	is(inside($who, ['-p', "$dir/sbx/policy.json"], "exec 2>/dev/null; $script", cwd => $dir),
		"${policy}no policy\nno base\nnone moved\nmade\n", "$who->{name}: it can be read and not replaced");
	is(slurp("$dir/sbx/policy.json"), $policy, "$who->{name}: and is as it was");
	my $got = run($who, [$EXEC, '-p', "$dir/sbx/policy.json", '--write', "$dir/sbx/policy.json", '--', 'true'], cwd => $dir);
	like($got->{err}, qr{--write \S+/policy\.json: \S+/policy\.json would be writable}, "$who->{name}: nor made writable by a rule");
}

# ./ that would open up too much is refused unless it is written out.
sub refused {
	my ($who) = @_;
	for my $dir ('/', $who->{home}, '/tmp', "$who->{home}/.ssh") {
		my $got = run($who, [$EXEC, qw(-p workspace -- true)], cwd => $dir);
		is($got->{code}, 125, "$who->{name}: ./ that is $dir is refused");
		like($got->{err}, qr/^sbx-exec: .*\nsbx-exec: hint: /, "$who->{name}: with a message and a hint");
	}
}

for my $who (callers()) {
	my $project = project($who);
	subtest "$who->{name}: protected" => sub { protected($who, $project) };
	subtest "$who->{name}: writable" => sub { writable($who, $project) };
	subtest "$who->{name}: nothing left" => sub { nothing_left($who) };
	subtest "$who->{name}: nested" => sub { nested($who) };
	subtest "$who->{name}: quiet" => sub { quiet($who) };
	subtest "$who->{name}: own policy" => sub { own_policy($who) };
	subtest "$who->{name}: refused" => sub { refused($who) };
}
done_testing();
