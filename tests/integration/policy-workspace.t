# Every promise of the policy "workspace": ./ is writable and seen on the host, what the host would later execute is
# protected, the rest is as under "default", and nothing is left in the project.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $EXEC);

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
	subtest "$who->{name}: own policy" => sub { own_policy($who) };
	subtest "$who->{name}: refused" => sub { refused($who) };
}
done_testing();
