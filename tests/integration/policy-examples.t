#!/usr/bin/perl
# The policies of contrib/policies: each is planned, and what its description says is looked at in a run.
use strict;
use warnings;
use FindBin;
use JSON::PP ();
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $PLAN, $EXEC);

my $from = "$FindBin::Bin/../../contrib/policies";
my %left = map { m{([^/]*)\.json$} => 1 } glob "$from/*.json";

# Copies all to where each caller can read them; the options that use one.
mkdir "$top/policies" or die;
for my $file (glob "$from/*.json") {
	copy($file, "$top/policies/" . $file =~ s{.*/}{}r) or die;
}
sub with {
	my ($name, @options) = @_;
	delete $left{$name};
	return ['-p', "$top/policies/$name.json", @options];
}

sub home {
	my ($who) = @_;
	my $home = $who->{home};
	put($who, "$home/$_", 'SECRET') for qw(.ssh/id .aws/credentials .netrc .npmrc .config/gh/hosts.yml);
	put($who, "$home/$_", "text\n") for qw(.ssh/config .ssh/known_hosts .gitconfig .bashrc .agent/state notes .opam/lib/x .opam/.opam-switch/list
		Documents/a.pdf .config/viewer/settings projects/mine/file src/library/file src/library/.git/config src/library/private/x
		project/.env project/private/x project/sub/.env project/.git/config project/.vscode/tasks.json project/main.py scratch/file);
	return $home;
}

for my $who (callers()) {
	my $home = home($who);
	my $project = "$home/project";
	my $mine = {cwd => "$home/projects/mine"};

	promises($who, with('hpc-user', '--chdir', "$home/projects/mine"),
		[read => "$home/.ssh/id", 'ENOENT', 'hpc-user: keys are hidden'],
		[stat => "$home/notes", 'ENOENT', 'hpc-user: so is what nobody has listed'],
		[read => "$home/.gitconfig", 'ok', 'hpc-user: the listed is there'],
		[create => "$home/projects/mine/new", 'ok', 'hpc-user: projects are writable'],
		[write => "$home/.bashrc", 'EROFS', 'hpc-user: what is read-only stays so']);
	like(inside($who, with('hpc-user', '--chdir', "$home/projects/mine"), 'cat /etc/passwd'), qr/\Aroot:.*\nnobody:.*\n\z/, "$who->{name}: hpc-user: no other users");
	for my $option (['--write', "$home/.bashrc"], ['--read', "$home/.ssh/id"], ['--net', 'host'], ['--memory', '64G']) {
		my $got = run($who, [$PLAN, @{with('hpc-site', '--chdir', "$home/projects/mine")}, @$option, '--check']);
		is($got->{code}, 125, "$who->{name}: hpc-site: @$option is refused") or diag($got->{out});
	}

	promises($who, with('closed-home'),
		[read => "$home/.ssh/id", 'ENOENT', 'closed-home: no keys'],
		[read => "$home/.ssh/config", 'ok', 'closed-home: the configuration of ssh'],
		[write => "$home/.ssh/config", 'EROFS', 'closed-home: only to read'],
		[stat => "$home/notes", 'ENOENT', 'closed-home: nothing else of the home'],
		[write => "$home/.agent/state", 'ok', 'closed-home: its state is writable'],
		[create => "$project/new", 'ok', 'closed-home: so is the project'],
		[write => "$project/.git/config", 'EROFS', 'closed-home: what git runs is not']);

	promises($who, with('project-roots'),
		[create => "$project/new", 'ok', 'project-roots: writable'],
		[create => "$home/src/library/new", 'ok', 'project-roots: the second too'],
		(map { my $root = $_; (
			[write => "$root/.git/config", 'EROFS', 'project-roots: repository read-only'],
			[read => "$root/private/x", 'EACCES', 'project-roots: private'],
		) } $project, "$home/src/library"),
		[read => "$project/sub/.env", 'EACCES', 'project-roots: .env at any depth'],
		[stat => "$home/notes", 'ENOENT', 'project-roots: nothing of the home']);

	my $got = run($who, [$EXEC, @{with('judge')}, '--', 'sh', '-c', 'pwd; echo answer >out; ls /home /root; while :; do :; done'], cwd => $project);
	is($got->{code}, 137, "$who->{name}: judge: the time of the processor") or diag($got->{err});
	is($got->{out}, "/box\n", "$who->{name}: judge: and the box is all there is");
	is(slurp("$project/out"), "answer\n", "$who->{name}: judge: what it wrote there stays");

	SKIP: {
		skip('python3 is not installed as /usr/bin/python3', 2) if !-x '/usr/bin/python3';
		$got = run($who, [$EXEC, @{with('python-runner')}, '--', '/usr/bin/python3', '-c', 'import os; print(os.listdir("/"), sorted(os.environ))']);
		is($got->{code}, 0, "$who->{name}: python-runner: runs") or diag($got->{err});
		unlike($got->{out}, qr/home|'proc'|root|SBX|LOGNAME/, "$who->{name}: python-runner: and sees nothing else");
	}

	promises($who, with('package-build'),
		[create => "$project/new", 'ok', 'package-build: the directory is writable'],
		[write => "$home/.opam/lib/x", 'EROFS', 'package-build: the prefix is not']);
	promises($who, with('package-install'),
		[write => "$home/.opam/lib/x", 'ok', 'package-install: the prefix is writable'],
		[write => "$home/.opam/.opam-switch/list", 'EROFS', 'package-install: but for the records']);

	mkdir "$project/thumbnails";
	chown $who->{uid}, $who->{gid}, "$project/thumbnails" if !$>;
	is(inside($who, with('thumbnailer', '--bind', "$home/Documents/a.pdf:/in.pdf:ro", '--bind', "$project/thumbnails:/out"),
		'cat /in.pdf >/out/a.png; echo x 2>&1 >>/in.pdf; ls /home 2>&1; :') =~ s/.*: //mgr, "Read-only file system\nNo such file or directory\n",
		"$who->{name}: thumbnailer: one file in, one directory out");
	is(slurp("$project/thumbnails/a.png"), "text\n", "$who->{name}: thumbnailer: the result is there");

	promises($who, with('dotenv-masks'),
		[write => "$project/.env", 'EACCES', 'dotenv-masks: .env cannot be written to'],
		[make => "$project/.env.local", 'EEXIST', 'dotenv-masks: nor made where there was none'],
		[create => "$project/new", 'ok', 'dotenv-masks: the project is writable'],
		[stat => "$home/notes", 'ENOENT', 'dotenv-masks: nothing of the home']);
	is(inside($who, with('dotenv-masks'), 'cat .env .env.local .env.production'), '', "$who->{name}: dotenv-masks: they are empty");
	ok(!-e "$project/.env.local", "$who->{name}: dotenv-masks: and none is left on the host");

	promises($who, with('document-viewer', '--chdir', '/'),
		[read => "$home/Documents/a.pdf", 'ok', 'document-viewer: documents'],
		[write => "$home/.config/viewer/settings", 'ok', 'document-viewer: its settings'],
		[stat => "$home/notes", 'ENOENT', 'document-viewer: nothing else of the home']);

	$got = run($who, [$PLAN, @{with('read-all-mask-secrets')}, '--write', "$home/notes", '--check']);
	is($got->{code}, 0, "$who->{name}: read-all-mask-secrets: more can be written") or diag($got->{err});
	$got = run($who, [$PLAN, @{with('read-all-mask-secrets')}, '--read', "$home/.aws/credentials", '--check']);
	is($got->{code}, 125, "$who->{name}: read-all-mask-secrets: no secret can be read");
	promises($who, with('read-all-mask-secrets'), [read => "$home/.ssh/id", 'EACCES', 'read-all-mask-secrets: hidden'], [read => "$home/notes", 'ok', 'read-all-mask-secrets: the rest can be read']);

	promises($who, with('dev-machine'),
		[read => "$home/.config/gh/hosts.yml", 'EACCES', 'dev-machine: a token'],
		[write => "$home/scratch/file", 'ok', 'dev-machine: the other directory'],
		[write => "$project/.vscode/tasks.json", 'ok', "dev-machine: editors' settings"],
		[write => "$project/.git/config", 'EROFS', 'dev-machine: what git runs']);
	is(inside($who, with('dev-machine'), "cat $home/.npmrc"), '', "$who->{name}: dev-machine: an empty .npmrc");

	# What an image has: the file of its variables, which here lies elsewhere.
	my $policy = slurp("$top/policies/agent-server.json") =~ s{/etc/sbx/image-env.json}{$home/image-env.json}r;
	put($who, "$home/image-env.json", '{"PATH": "/usr/bin:/bin", "IMAGE": "yes"}');
	put($who, "$home/agent-server.json", $policy);
	delete $left{'agent-server'};
	chown 1000, 1000, $project if !$>;
	$got = run($who, [$EXEC, '-p', "$home/agent-server.json", '--bind', "$project:/workspace", '--', 'sh', '-c', 'id -u; pwd; echo $IMAGE'], env => {SERVER => 'secret'});
	is("$got->{code} $got->{out}", "0 1000\n/workspace\nyes\n", "$who->{name}: agent-server: a session's directory, the image's variables") or diag($got->{err});
}
is_deeply([sort keys %left], [], 'every policy was tried');
done_testing();
