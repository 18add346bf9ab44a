#!/usr/bin/perl
# Who runs the command: as root really another user, as an ordinary user a number and no more.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $PLAN, $EXEC);

# The user that root becomes has no entry in /etc/passwd and is nobody else's.
my ($UID, $GID) = (3001, 3002);
my $ids = 'id -u; id -g; id -G';

sub owned {
	my ($path, @id) = @_;
	my @st = lstat $path;
	return is("@st[4, 5]", "@id", "$path is of @id") if @st;
	return fail("$path is there");
}

# A folder of a user's own.
sub folder {
	my ($path, $uid, $gid, $mode) = @_;
	mkdir $path or die "$path: $!";
	chown $uid, $gid, $path or die;
	chmod $mode // 0755, $path or die;
	return $path;
}

sub refused {
	my ($got, $message, $hint, $promise, $code) = @_;
	is($got->{code}, $code // 125, "$promise: refused");
	like($got->{err}, qr/^sbx-exec: .*$message.*\nsbx-exec: hint: .*$hint/, "$promise: and why, and what to do");
}

sub becomes_user {
	my ($root, $work) = @_;
	my @user = ('--user', "$UID:$GID");
	my $groups = sub { $) = '0 0 6 27' };

	my ($got, $report) = reported($root, [@user, '--write', $work, '--', 'sh', '-c', "$ids; umask; touch made"], cwd => $work, before => $groups);
	is($got->{out}, "$UID\n$GID\n$GID\n0022\n", 'the command is the user, with no other group');
	owned("$work/made", $UID, $GID);
	is_deeply($report->{enforcement}{user}, {requested => "$UID:$GID", enforced => JSON::PP::true(), by => 'user id', hits => undef}, 'the report says so');
	unlike("@{$report->{notes}}", qr/supplementary|guard|label/, 'and has nothing to add');

	put($root, "$root->{home}/own", 'SECRET', 0600);
	put({uid => 0, gid => 6}, "$root->{home}/group", 'SECRET', 0640);
	promises($root, [@user, '--write', $work],
		[read => "$root->{home}/own", 'EACCES', "a file of root's cannot be read by the user"],
		[read => "$root->{home}/group", 'EACCES', "nor one of root's other groups"],
		[write => '/proc/sys/kernel/core_pattern', 'EACCES', 'nor what root may do with the machine be done'],
		[create => "$work/new", 'ok', 'its own folder is writable']);
	is(inside($root, [@user], 'grep -E "^(Cap|Groups)" /proc/self/status | tr -d "[:space:]"', before => $groups),
		'Groups:' . join('', map { "Cap$_:" . '0' x 16 } qw(Inh Prm Eff Bnd Amb)), 'no group and no capability is left');
	is(inside($root, [@user], 'cat /proc/self/oom_score_adj'), "1000\n", 'the command is the first to go when memory runs out');
	is(inside($root, [@user], 'echo a >/dev/stdout; echo b >/dev/stderr; echo c'), "a\nc\n", 'the standard streams can be opened anew');

	# A folder that root alone could not pass without the right to pass modes.
	folder("$top/closed", $UID, $GID, 0700);
	put({uid => $UID, gid => $GID}, "$top/closed/in/file", 'x');
	is(inside($root, [@user, '--read', "$top/closed/in"], "cat $top/closed/in/file", cwd => '/'), 'x', "the user's own folder is open to it");
	refused(run($root, [$EXEC, '--read', "$top/closed/in", '--', 'true']), "\Q$top/closed may not be searched\E", '--user', "root and another's closed folder");
	chmod 0700, $root->{home};
	refused(run($root, [$EXEC, @user, '--read', "$root->{home}/own", '--', 'true'], cwd => '/'), "\Q$root->{home} may not be searched\E", 'mode',
		"the user and root's closed folder");
	is(inside($root, [@user, '--chdir', '/'], 'pwd', cwd => $root->{home}), "/\n", 'root may stand where the user could not');
	chmod 0755, $root->{home};

	# What only a name says.
	my @known = grep { $_->[2] != $_->[3] && $_->[2] && $_->[7] =~ m{^/.} } do { my @all; while (my @e = getpwent) { push @all, [@e] } @all };
	is(inside($root, ['--user', $UID], "$ids; echo \$HOME", cwd => '/'), "$UID\n$UID\n$UID\n/\n", 'without an entry in /etc/passwd: the group has the same number, HOME is /');
	SKIP: {
		skip 'no user here has another group', 1 if !@known;
		my ($uid, $gid, $home) = @{$known[0]}[2, 3, 7];
		is(inside($root, ['--user', $uid], "$ids; echo \$HOME", cwd => '/'), "$uid\n$gid\n$gid\n$home\n", 'with one: its group and home');
	}
	is(inside($root, ['--user', '0'], "$ids; echo \$HOME"), "0\n0\n0\n$root->{home}\n", "root's own number is the caller");
	is(inside($root, ['--user', "0:$GID"], $ids), "0\n$GID\n$GID\n", 'root with another group');
	refused(run($root, [$EXEC, '--user', 'nobody', '--', 'true']), 'not "nobody"', 'names are not looked up', 'a name', 2);
}

sub becomes_owner {
	my ($root, $work) = @_;
	my @owner = ('--user', 'owner');
	my $other = folder("$top/other", 3003, 3004);

	is(inside($root, [@owner, '-p', 'workspace'], "touch of-owner; $ids", cwd => $work), "$UID\n$GID\n$GID\n", 'the owner of the working directory');
	owned("$work/of-owner", $UID, $GID);
	is(inside($root, [@owner, '--bind', "$other:/workspace", '--chdir', '/workspace'], "touch mounted; $ids", cwd => $work), "3003\n3004\n3004\n",
		'the owner of what is mounted there');
	owned("$other/mounted", 3003, 3004);
	put($root, "$root->{home}/owner.json", '{"sbx": 1, "extends": ["default"], "identity": {"user": "owner"}, "final": ["user"]}');
	is(inside($root, ['-p', "$root->{home}/owner.json"], 'id -u', cwd => $other), "3003\n", 'a policy can say so');
	refused(run($root, [$EXEC, '-p', "$root->{home}/owner.json", '--user', 'caller', '--', 'true'], cwd => $other), 'the user is final', 'leave it out', 'and keep it so');

	chown 3005, 0, $other;
	is(inside($root, [@owner], $ids, cwd => $other), "3005\n3005\n3005\n", "root's group is not taken with a folder");
	chown 0, 0, $other;
	refused(run($root, [$EXEC, @owner, '--', 'true'], cwd => $other), 'belongs to root', '--user UID:GID', 'a folder of root\'s');
	refused(run($root, [$EXEC, @owner, '--chdir', '/tmp', '--', 'true'], cwd => $work), "/tmp is not one of the host's", '--user UID:GID', "a folder of the sandbox's own");
	refused(run($root, [$EXEC, @owner, '-p', 'strict', '--', 'true'], cwd => $work), "/ is not one of the host's", '--user UID:GID', 'nothing of the host');
	refused(run($root, [$EXEC, @owner, '--bind', "$work:/w", '--chdir', '/w/none', '--', 'true']), 'No such file', '--user', 'a folder that is not there');

	# The host's link leads to one folder, the same link inside to another.
	my $switch = folder("$top/switch", 3003, 3004);
	symlink $switch, "$switch/link";
	refused(run($root, [$EXEC, @owner, '--bind', "$switch:/m", '--bind', "$work:$switch", '--chdir', '/m/link', '--', 'true']),
		'/m/link does not belong to user 3003 inside', '--user UID:GID', 'a folder that is another inside');
}

# Root in the sandbox is not root to the files of others.
sub closed_to_root {
	my ($root, $work) = @_;
	my $got = run($root, [$EXEC, '-p', 'workspace', '--', 'touch', 'ran'], cwd => $work);
	refused($got, "user 0 could not write to \Q$work\E, .*belongs to user $UID", "--user $UID:$GID, or --user owner", 'a workspace that root could not write');
	like($got->{err}, qr{built-in policy workspace: /filesystem/write/0}, 'the rule is named');
	ok(!-e "$work/ran", 'and nothing ran');
	is(run($root, [$PLAN, '-p', 'workspace', '--check'], cwd => $work)->{code}, 125, 'sbx-plan refuses it too');
	is(run($root, [$PLAN, '-p', 'workspace', '--explain', './'], cwd => $work)->{code}, 0, 'but answers questions');
	my $report;
	($got, $report) = reported($root, ['-p', 'workspace', '--write', "$root->{home}/project", '--', 'sh', '-c', "echo x >$root->{home}/project/x"], cwd => $work);
	is($got->{code}, 0, 'where another place can be written it is no error');
	like("@{$report->{notes}}", qr/user 0 may not write to \Q$work\E, which/, 'but noted');
	refused(run($root, [$EXEC, '--user', $UID, '--write', "$root->{home}/project", '--', 'true'], cwd => $work), "user $UID could not write", 'chown it', "root's folder and a user");
}

sub plans_as_user {
	my ($root, $work) = @_;
	my @user = ('--user', "$UID:$GID");
	my $explain = sub { return run($root, [$PLAN, @_, '--explain', "$root->{home}/own"], cwd => '/')->{out} };
	like($explain->(), qr/access +read/, 'root: readable');
	like($explain->(@user), qr/access +deny.*user $UID/s, "the user: not, by its mode");
	my $note = run($root, [$PLAN, @user, '--write', $work, '--', 'true'], cwd => '/')->{err};
	like($note, qr/setpriv --reuid=$UID --regid=$GID --clear-groups/, 'sbx-plan says how the words are to be run');

	# A name that is held is held by the user.
	my $policy = put($root, "$root->{home}/held.json", '{"sbx": 1, "extends": ["default"], "filesystem": {"write": ["./"], "deny": [{"path": "./.env", "missing": "enforce"}]}}');
	my $run = start({%$root, home => "$top/at"}, ['-p', $policy, @user, '--', 'sh', '-c', 'echo up; read x']);
	is(line($run), 'up', 'a run that holds a name');
	owned("$work/.env", $UID, $GID);
	close $run->{in};
	finish($run);
	ok(!-e "$work/.env", 'which is gone after it');
}

sub ends_whole {
	my ($root, $who, @before) = @_;
	my $mark = "$$" . ($who eq 'user' ? 4 : 5);
	my $rounds = $ENV{SBX_FULL} || $ENV{CI} ? 300 : 48;
	my @run = (@before, $EXEC, '--user', $UID);
	my @stubborn = ('--', 'sh', '-c', "trap '' TERM INT HUP QUIT; setsid sleep 1000.$mark & sleep 1001.$mark & echo; wait; wait");

	is(run($root, [@run, '--timeout', '300ms', @stubborn], cwd => '/')->{code}, 124, "$who: the wall limit ends what ignores TERM");
	is_deeply([left(".$mark")], [], "$who: with its whole tree");
	for my $i (0 .. $rounds) {
		my $pid = fork // die;
		if (!$pid) {
			open STDOUT, '>', '/dev/null';
			open STDERR, '>', '/dev/null';
			chdir '/';
			exec @run, @stubborn or POSIX::_exit(99);
		}
		select undef, undef, undef, $i == $rounds ? 1 : ($i % 100) / 1000;
		kill 'KILL', $pid;
		waitpid $pid, 0;
	}
	is_deeply([left(".$mark")], [], "$who: KILL of sbx-exec at any moment: nothing is left");
}

# sbx-exec's own death signal outlives its looking at files as another user.
sub keeps_death_signal {
	my ($root) = @_;
	my $mark = "${$}6";
	my $pid = fork // die;
	if (!$pid) {
		POSIX::setpgid(0, 0);
		chdir '/';
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', '/dev/null';
		exec 'sh', '-c', 'setpriv --pdeathsig KILL "$@" & wait', 'sh', $EXEC, '--user', $UID, '--', 'sleep', "1000.$mark" or POSIX::_exit(99);
	}
	for (1 .. 600) {
		last if grep { (slurp($_) // '') =~ /^sleep\0/ && index(slurp($_) // '', ".$mark") >= 0 } glob '/proc/[0-9]*/cmdline';
		select undef, undef, undef, 0.1;
	}
	kill 'KILL', $pid;
	waitpid $pid, 0;
	is_deeply([left(".$mark")], [], 'sbx-exec ends with its parent, when it was told to');
	kill 'KILL', -$pid;
}

# In a user namespace that has as many ids as a container's: the command of the test, as its root.
sub in_namespace {
	my (@command) = @_;
	pipe my $in, my $go or die;
	pipe my $out, my $out_w or die;
	my $pid = fork // die;
	if (!$pid) {
		POSIX::dup2(fileno $in, 0);
		POSIX::dup2(fileno $out_w, 1);
		POSIX::dup2(fileno $out_w, 2);
		close $go;
		chdir '/';
		exec 'unshare', '-U', 'sh', '-c', 'echo; read x; exec "$@"', 'sh', @command or POSIX::_exit(99);
	}
	close $out_w;
	readline $out;
	for my $map (qw(uid_map gid_map)) {
		open my $file, '>', "/proc/$pid/$map" or die;
		print $file "0 0 65536\n";
		close $file or die "$map: $!";
	}
	print $go "\n";
	close $go;
	local $/;
	my $text = readline $out;
	waitpid $pid, 0;
	return $text;
}

sub elsewhere {
	my ($root, $work) = @_;
	my @user = ('--user', "$UID:$GID");
	my @masked = masked_proc();
	my $file = "$root->{home}/report.json";

	is(run($root, [@masked, $EXEC, @user, '--report', $file, '--write', $work, '--', 'sh', '-c', "$ids; touch $work/guarded"])->{out},
		"$UID\n$GID\n$GID\n", 'masked /proc: the command is the user');
	like(slurp($file), qr/guard process/, 'masked /proc: with a guard');
	owned("$work/guarded", $UID, $GID);
	ends_whole($root, 'masked /proc', @masked);

	is(in_namespace($EXEC, @user, '--write', $work, '--', 'sh', '-c', "$ids; touch $work/in-namespace"), "$UID\n$GID\n$GID\n", "a container's root: the command is the user");
	owned("$work/in-namespace", $UID, $GID);
	my @none = ('sh', '-c', 'echo 1 > /proc/sys/user/max_mnt_namespaces && exec "$@"', 'sh', $EXEC, @user);
	is(in_namespace(@none, '--report', $file, '--write', $work, '--', 'sh', '-c', "$ids; touch $work/in-none"), "$UID\n$GID\n$GID\n",
		'no namespaces around bwrap: the command is the user');
	like(slurp($file), qr/no mount namespace can be made around bwrap/, 'no namespaces around bwrap: the report says so');
	owned("$work/in-none", $UID, $GID);
	in_namespace(@none, '--timeout', '300ms', '--', 'sh', '-c', "trap '' TERM; setsid sleep 1000.${$}7 & sleep 1001.${$}7; wait");
	is_deeply([left(".${$}7")], [], 'no namespaces around bwrap: all ends');
	refused(run($root, ['unshare', '-Ur', $EXEC, @user, '--', 'true'], cwd => '/'), 'this user namespace has no such id', 'uid_map', 'a root that is alone');
	for my $lost (qw(setuid setgid kill)) {
		refused(run($root, ['setpriv', "--bounding-set=-$lost", "--inh-caps=-$lost", $EXEC, @user, '--', 'true'], cwd => '/'),
			'root lacks CAP_SETUID, CAP_SETGID or CAP_KILL', 'capabilities', "root without $lost");
	}
	my $refuse = put($root, "$root->{home}/refuse", slurp("$ENV{SBX_BUILD}/tests/hostile/refuse"), 0755);
	is(run($root, [$refuse, 'ptrace', $EXEC, @user, '--report', $file, '--', 'echo', 'ran'], cwd => '/')->{out}, "ran\n", 'without ptrace: runs, unlike as root');
	like(slurp($file), qr/start cannot be watched/, 'without ptrace: the report says what that means');
	SKIP: {
		# What uses up a quota of keys, at the same time, is a user of its own, as other tests have keys.
		my ($keys, $uid) = ("$ENV{SBX_BUILD}/tests/hostile/keyring", 200000 + $$ % 100000);
		skip 'no kernel keyrings here', 2 if run($root, [$keys, 'add', 'true'])->{code};
		my @fill = ('setpriv', "--reuid=$uid", "--regid=$uid", '--clear-groups', $keys, 'fill', 'sh', '-c', 'echo full; exec sleep 60');
		my $pid = open my $full, '-|', @fill or die;
		is(readline $full, "full\n", 'a user has used up its quota of keys');
		is(run($root, [$EXEC, '--user', $uid, '--', 'echo', 'ran'], cwd => '/')->{out}, "ran\n", 'and root can run a command as that user');
		kill 'KILL', $pid;
	}
	is(run($root, ['setpriv', '--bounding-set=-setuid', '--inh-caps=-setuid', $EXEC, '--', 'echo', 'ran'])->{out}, "ran\n", 'which as itself it needs not');
}

sub label {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	my ($got, $report) = reported($who, ['--user', '4242:77', '-p', 'workspace', '--', 'sh', '-c', "$ids; echo \$HOME; touch made"]);

	is($got->{out}, "4242\n77\n77\n/\n", 'an ordinary user: the number inside');
	owned("$project/made", $who->{uid}, $who->{gid});
	like("@{$report->{notes}}", qr/sees itself as user 4242, group 77: a label.* it is user $who->{uid}/, 'the report says what it is');
	is($report->{enforcement}{user}{enforced}, JSON::PP::false(), 'and claims nothing');
	like(inside($who, ['--user', '0'], 'id -u; grep "^Cap" /proc/self/status'), qr/^0\n(Cap\w+:\t0{16}\n){5}$/, 'root as a label has no capability');
	is(inside($who, ['--user', '0', '--read', put($who, "$project/own", 'x', 0400)], "cat $project/own"), 'x', 'and the rights of the caller');
	for my $own ($who->{uid}, "$who->{uid}:$who->{gid}", 'owner') {
		($got, $report) = reported($who, ['--user', $own, '--', 'sh', '-c', "$ids; echo \$HOME"]);
		is($got->{out}, "$who->{uid}\n$who->{gid}\n$who->{gid}\n$who->{home}\n", "--user $own is the caller");
		unlike("@{$report->{notes}}", qr/label/, "--user $own is no label");
		is($report->{enforcement}{user}{enforced}, JSON::PP::true(), "--user $own is what the command is");
	}
	like(run($who, [$PLAN, '--user', '4242:77', '--', 'true'])->{out}, qr/^--uid 4242 \\\n--gid 77 \\$/m, 'sbx-plan has the words for it');
	refused(run($who, [$EXEC, '--user', 'owner', '--', 'true'], cwd => '/'), 'belongs to root', '--user UID:GID', 'the owner that is root');

	# What an ordinary user cannot write surprises nobody.
	($got, $report) = reported($who, ['--write', '/var/lib', '--', 'true']);
	is($got->{code}, 0, 'what the caller could not write either is no error');
	like("@{$report->{notes}}", qr/user $who->{uid} may not write to \/var\/lib, which/, 'but noted');
}

my ($root) = grep { !$_->{uid} } callers();
SKIP: {
	skip 'needs root', 1 if !$root;
	my $work = folder("$top/work", $UID, $GID);
	mkdir "$top/at";
	symlink $work, "$top/at/project";
	becomes_user($root, $work);
	becomes_owner($root, $work);
	closed_to_root($root, $work);
	plans_as_user($root, $work);
	ends_whole($root, 'user');
	keeps_death_signal($root);
	elsewhere($root, $work);

	# Groups that nobody can drop are told.
	my ($who) = grep { $_->{uid} } callers();
	my $report = "$who->{home}/groups.json";
	run($root, ['setpriv', "--reuid=$who->{uid}", "--regid=$who->{gid}", "--groups=$who->{gid},5,27", $EXEC, '--report', $report, '--', 'true'], cwd => '/');
	like(slurp($report), qr/supplementary groups could not be dropped: the command has 5 27"/, "an ordinary user's groups are told");
}
label((callers())[-1]);
done_testing();
