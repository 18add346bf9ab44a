# Protected names that do not exist: nothing is put on the host unless the policy enforces them; what is enforced cannot
# appear, is held together by runs at once, and is gone after the last of them, a killed one's included.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $PLAN, $EXEC);

sub policy {
	my ($who, $missing, $more) = @_;
	my $keys = join ', ', map { qq({"path": "./$_", "missing": "$missing"}) } qw(.env conf/deep/key);
	return put($who, "$who->{home}/$missing.json", qq({"sbx": 1, "extends": ["default"], "filesystem": {
		"write": ["./"], "deny": [$keys],
		"read": [{"path": "./.tools", "missing": "$missing"}]}@{[$more // '']}}));
}

# What a command sees and can do at names that are enforced.
sub enforced {
	my ($who, $project, $policy) = @_;
	my $before = listing($project);
	promises($who, ['-p', $policy],
		[read => "$project/.env", 'EACCES', 'an enforced deny cannot be read'],
		[make => "$project/.env", 'EEXIST', 'and not be made'],
		[remove => "$project/.env", 'EBUSY', 'nor removed'],
		[rename => "$project/.env", 'EBUSY', 'nor renamed'],
		[mkdir => "$project/conf/deep/key", 'ENOTDIR', 'nothing can be made where its folder would be'],
		[remove => "$project/conf/deep", 'EBUSY', 'which cannot be removed either'],
		[rename => "$project/conf", 'EBUSY', 'nor the folder above it be moved away'],
		[read => "$project/.tools", 'ok', 'an enforced read can be read'],
		[write => "$project/.tools", 'EACCES', 'and not be written to'],
		[chmod => "$project/.tools", 'EROFS', 'nor its mode be changed'],
		[create => "$project/conf/other", 'ok', 'other names can be made']);
	is(listing($project), $before, "$who->{name}: nothing is left on the host");
}

sub nothing_is_put {
	my ($who, $project) = @_;
	my $before = listing($project);
	my $list = "find . -printf '%y %m %p\\n' | LC_ALL=C sort";
	is(inside($who, ['-p', policy($who, $_)], $list), $before, "$who->{name}: $_ puts nothing on the host") for qw(watch quarantine);
	my ($got, $report) = reported($who, ['-p', policy($who, 'watch'), '--', 'true']);
	is(scalar(grep { /^not enforced: .* a run watches the name/ } @{$report->{notes}}), 3, "$who->{name}: and the report says that nothing holds them");
}

sub together {
	my ($who, $project, $policy) = @_;
	my @runs = map { start($who, ['-p', $policy, '--', 'sh', '-c', 'echo up; read x']) } 1, 2;
	is(line($_), 'up', "$who->{name}: a run holds the names") for @runs;
	is(sprintf('%o', (lstat "$project/.env")[2] & 07777), '1444', "$who->{name}: by a placeholder");
	close $runs[0]{in};
	finish($runs[0]);
	ok(-e "$project/.env", "$who->{name}: which stays for the other run");
	kill 'KILL', $runs[1]{pid};
	finish($runs[1]);
	ok(-e "$project/.env", "$who->{name}: a killed run leaves it");
	is(run($who, [$EXEC, '-p', $policy, '--', 'true'])->{code}, 0, "$who->{name}: the next run takes it over");
	ok(!-e "$project/.env" && !-e "$project/.tools", "$who->{name}: and removes it");
	my @many = map { start($who, ['-p', $policy, '--', 'sh', '-c', 'cat .env || echo held']) } 1 .. 12;
	is(join(' ', map { line($_) // 'nothing' } @many), join(' ', ('held') x 12), "$who->{name}: twelve runs at once hold it");
	is(join(' ', map { finish($_) } @many), join(' ', (0) x 12), "$who->{name}: and all end well");
	ok(!-e "$project/.env", "$who->{name}: after the last one it is gone");
}

# What is the user's own is never taken for a placeholder.
sub own_files {
	my ($who, $project, $policy) = @_;
	put($who, "$project/.env", '', 0444);
	put($who, "$project/.tools", 'x');
	run($who, [$EXEC, '-p', $policy, '--', 'true']);
	ok(-e "$project/.env" && -e "$project/.tools", "$who->{name}: an empty file of the user's own stays");
	unlink "$project/.env", "$project/.tools";
}

sub opened {
	my ($who) = @_;
	mkdir "$who->{home}/shown";
	chown $who->{uid}, $who->{gid}, "$who->{home}/shown" if !$>;
	my $policy = put($who, "$who->{home}/opened.json", qq({"sbx": 1, "extends": ["default"], "filesystem": {
		"deny": [{"path": "~/shown/late", "missing": "enforce"}, "~/shown/watched"]}}));
	my $run = start($who, ['-p', $policy, '--chdir', '/', '--', 'sh', '-c', "echo up; read x; cat $who->{home}/shown/late"]);
	line($run);
	put($who, "$who->{home}/shown/late", "SECRET\n");
	print {$run->{in}} "go\n";
	close $run->{in};
	is(line($run), undef, "$who->{name}: what the host makes later does not appear where that is enforced");
	isnt(finish($run), 0, "$who->{name}: the command does not find it");
	unlink "$who->{home}/shown/late";
}

sub required {
	my ($who) = @_;
	my $require = ', "require": ["protect"]';
	my $got = run($who, [$EXEC, '-p', policy($who, 'watch', $require), '--', 'true']);
	is($got->{code}, 125, "$who->{name}: a policy that requires \"protect\" is refused while names are not held");
	like($got->{err}, qr/nothing holds: .*and others.*\n.*"missing": "enforce"/, "$who->{name}: with a remedy");
	is(run($who, [$EXEC, '-p', policy($who, 'enforce', $require), '--', 'true'])->{code}, 0, "$who->{name}: and runs when they are");
	symlink 'elsewhere', "$who->{home}/project/.tools" or die;
	$got = run($who, [$EXEC, '-p', policy($who, 'enforce', $require), '--', 'true']);
	like($got->{err}, qr/nothing holds: .*\.tools/, "$who->{name}: a link that the command could replace holds nothing");
	unlink "$who->{home}/project/.tools";
}

# A rule speaks of a name: what is denied must not be moved to another one, which the next run would show.
sub denied {
	my ($who, $project) = @_;
	promises($who, ['-p', 'workspace', '--deny', "$project/conf/file"],
		[rename => "$project/conf", 'EBUSY', 'a folder above a denied name cannot be moved'],
		[rename => "$project/conf/file", 'EBUSY', 'nor the name itself'],
		[read => "$project/conf/file", 'EACCES', 'which stays denied']);
}

# In a folder of another user nothing can be held, and nothing made either.
sub others {
	my ($who) = @_;
	my $policy = put($who, "$who->{home}/others.json", qq({"sbx": 1, "extends": ["default"], "filesystem": {
		"write": ["./"], "deny": [{"path": "./of-others/x", "missing": "enforce"}]}}));
	my $dir = "$who->{home}/project/of-others";
	mkdir $dir;
	chown 4711, 4711, $dir;
	promises($who, ['-p', $policy],
		[create => "$dir/x", 'EACCES', 'where the caller cannot make a name the command cannot either'],
		[rename => $dir, 'EBUSY', 'nor move its folder away']);
	rmdir $dir;
}

for my $who (callers()) {
	my $project = "$who->{home}/project";
	put($who, "$project/conf/file", 'x');
	my $policy = policy($who, 'enforce');
	enforced($who, $project, $policy);
	nothing_is_put($who, $project);
	together($who, $project, $policy);
	own_files($who, $project, $policy);
	denied($who, $project);
	opened($who);
	required($who);
	SKIP: {
		skip "only root can make another user's folder", 2 if $>;
		others($who);
	}
}
done_testing();
