#!/usr/bin/perl
# What is watched while a command runs: covers that the host, or another sandbox, takes away end the run; names that no
# mount holds are reported and moved aside; and ordinary work next to both is no matter. SBX_FULL=1, or CI, for more
# rounds of the race; SBX_SEED for other moments.
use strict;
use warnings;
use FindBin;
use Test::More;
use Time::HiRes qw(time sleep);
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

my $full = $ENV{SBX_FULL} || $ENV{CI};
my $seed = $ENV{SBX_SEED} || int time;
srand $seed;

# An empty project of the caller's.
sub project {
	my ($who) = @_;
	my $dir = "$who->{home}/project";
	system 'rm', '-rf', $dir;
	mkdir $dir or die;
	chown $who->{uid}, $who->{gid}, $dir if !$>;
	return $dir;
}

sub policy {
	my ($who, $filesystem) = @_;
	return ('-p', put($who, "$who->{home}/policy.json", qq({"sbx": 1, "extends": ["default"], "filesystem": {"write": ["./"], $filesystem}})));
}

# A run with a report that waits for its input: starts it, does something when the command is up, and lets it end; the
# run, and the report.
sub while_running {
	my ($who, $options, $do, $command) = @_;
	my $file = "$who->{home}/report.json";
	my $run = start($who, ['--report', $file, @$options, '--', 'sh', '-c', $command // 'echo up; read x; exit 0']);
	is(line($run), 'up', "$who->{name}: (it runs)");
	$do->($run);
	close $run->{in};
	$run->{code} = finish($run);
	my $text = slurp($file);
	unlink $file;
	return ($run, $text ? JSON::PP->new->utf8->decode($text) : {});
}

# Kinds and paths of a report's violations.
sub violations {
	my ($report) = @_;
	return join ' ', map { "$_->{kind} " . $_->{path} =~ s{.*/project/}{}r } @{$report->{violations}};
}

sub quarantined {
	my ($dir) = @_;
	opendir my $d, $dir or return;
	return map { "$dir/$_" } grep { /^\.sbx-quarantine\./ } sort readdir $d;
}

# What a caller does on the host.
sub on_host {
	my ($who, $script) = @_;
	my $got = run($who, ['sh', '-ec', $script]);
	die $got->{err} if $got->{code};
}

# Covers

my %losses = (
	'replaced' => ['mv conf/new conf/key', 'lost conf/key'],
	'renamed' => ['mv conf/key conf/other', 'lost conf/key'],
	'removed' => ['rm conf/key', 'lost conf/key'],
	'exchanged' => ['mv conf/key k; mv conf/new conf/key; mv k conf/new', 'lost conf/key'],
	'moved with its folder' => ['mv conf moved', 'lost conf lost conf/key lost conf/sub lost conf/sub/deep'],
	'moved for a moment' => ['mv conf/key k; sleep 0.5; mv k conf/key', 'lost conf/key'],
);

sub lost {
	my ($who) = @_;
	for my $what (sort keys %losses) {
		my ($script, $violations) = @{$losses{$what}};
		for my $by ('the host', 'another sandbox') {
			next if $by ne 'the host' && $what =~ /moment|exchanged/;
			my $dir = project($who);
			put($who, "$dir/conf/$_", "$_\n") for qw(key new sub/deep);
			my @options = policy($who, '"deny": ["./conf/key"], "read": ["./conf/sub/deep"]');
			my $started = time;
			my ($run, $report) = while_running($who, \@options, sub {
				my ($run) = @_;
				sleep 0.3 if $by eq 'the host'; # inotify, or what comes before it
				$by eq 'the host' ? on_host($who, $script)
					: is(run($who, [$EXEC, '-p', 'default', '--write', './', '--', 'sh', '-ec', $script])->{code}, 0,
						"$who->{name}: (another sandbox can)");
				is(line($run), undef, "$who->{name}: $what by $by: the command is ended");
			}, 'echo up; sleep 20; echo late');
			is("$run->{code} $report->{outcome}", '125 violation', "$who->{name}: $what by $by: violation");
			is(violations($report), $violations, "$who->{name}: $what by $by: what was lost");
			like($run->{err}, qr/conf/, "$who->{name}: and it is said");
		}
	}
}

# Seen only when the command has ended by itself: the supervisor was kept from looking.
sub late {
	my ($who) = @_;
	for my $script ('mv new key', 'mv key moved') {
		my $dir = project($who);
		put($who, "$dir/$_", "$_\n") for qw(key new);
		my ($run, $report) = while_running($who, [policy($who, '"deny": ["./key"]')], sub {
			my ($run) = @_;
			kill 'STOP', $run->{pid};
			on_host($who, $script);
			syswrite $run->{in}, "go\n";
			sleep 0.3;
			kill 'CONT', $run->{pid};
		});
		is("$run->{code} $report->{outcome} " . violations($report), '125 violation lost key',
			"$who->{name}: a cover that is lost right before the command's end ($script)");
	}
}

# A program of the host's that takes its socket away ends nobody's run.
sub sockets {
	my ($who) = @_;
	my $dir = project($who);
	require IO::Socket::UNIX;
	my $socket = IO::Socket::UNIX->new(Local => "$dir/socket", Listen => 1) or die;
	chown $who->{uid}, $who->{gid}, "$dir/socket" if !$>;
	my ($run, $report) = while_running($who, [policy($who, '"read": []')], sub { unlink "$dir/socket" }, 'echo up; read x; exit 7');
	is("$run->{code} $report->{outcome} " . violations($report), '7 completed ', "$who->{name}: a socket that goes away takes nothing with it");
	$socket = IO::Socket::UNIX->new(Local => "$dir/socket", Listen => 1) or die;
	chown $who->{uid}, $who->{gid}, "$dir/socket" if !$>;
	($run, $report) = while_running($who, [policy($who, '"read": []')], sub {
		unlink "$dir/socket";
		sleep 0.3;
		$socket = IO::Socket::UNIX->new(Local => "$dir/socket", Listen => 1) or die;
	}, 'echo up; read x; exit 7');
	is("$run->{code} $report->{outcome} " . violations($report), '7 completed lost socket',
		"$who->{name}: one that is made anew is reported, and the run goes on");
}

# Names

sub appears {
	my ($who) = @_;
	my $dir = project($who);
	symlink 'target', "$dir/link";
	my @options = policy($who, '"deny": [{"path": "./deny", "missing": "quarantine"}],
		"read": ["./watched", {"path": "./a/b/c", "missing": "quarantine"}, {"path": "./folder", "missing": "quarantine"},
			{"path": "./way/x", "missing": "quarantine"}, "./link", "./gone", "./never"]');
	my ($run, $report) = while_running($who, \@options, sub { }, 'echo up; echo x >deny; echo x >watched; mkdir -p a/b; echo x >a/b/c
		mkdir new; echo x >new/x; mv new folder; ln -s /etc way; ln -sfn /etc link; echo x >gone; rm gone; read x; exit 5');
	is("$run->{code} $report->{outcome}", '5 completed', "$who->{name}: names that appear do not end a run");
	my %seen = map { $_->{path} =~ s{.*/project/}{}r => $_ } @{$report->{violations}};
	is(join(' ', sort grep { $_ ne 'gone' } keys %seen), 'a/b/c deny folder link watched way', "$who->{name}: they are reported");
	is($seen{link}{kind}, 'replaced', "$who->{name}: a link that is replaced too");
	is(slurp("$dir/watched"), "x\n", "$who->{name}: \"watch\" leaves them where they are");
	for my $name (qw(deny a/b/c folder way)) {
		ok(!-e "$dir/$name" && !-l "$dir/$name", "$who->{name}: $name is moved aside");
		my ($moved) = ($seen{$name}{message} // '') =~ /and is now (\S+)$/;
		is(system('sh', '-c', $seen{$name}{hint} =~ s/.*?: //r), 0, "$who->{name}: the command of the hint");
		ok(!-l $moved && (-e "$dir/$name" || -l "$dir/$name"), "$who->{name}: puts it back");
	}
	is(slurp("$dir/folder/x"), "x\n", "$who->{name}: with all that is in it");
	is(readlink "$dir/way", '/etc', "$who->{name}: a link on the way is moved itself, and not followed");
	like($run->{err}, qr/deny was made while the command ran/, "$who->{name}: and it is said");
}

# At once, as far as anybody can tell: the command sees its file go.
sub at_once {
	my ($who) = @_;
	my $dir = project($who);
	my ($run, $report) = while_running($who, ['-p', 'workspace'], sub { },
		'echo up; mkdir .vscode; while test -e .vscode; do sleep 0.01; done; for i in 1 2 3 4 5 6; do mkdir .vscode; sleep 0.1; done; echo x >.vscode/last; read x; exit 0');
	is($run->{code}, 0, "$who->{name}: a protected name of the workspace is moved aside while the command runs");
	is(scalar(() = quarantined($dir)), 4, "$who->{name}: three times, and once more at the end");
	ok(!-e "$dir/.vscode", "$who->{name}: it is gone in the end");
	my ($last) = grep { -e "$_/last" } quarantined($dir);
	ok($last, "$who->{name}: and what it held is kept");
}

# What the command makes in a directory of its own making is left to it while it runs.
sub at_end {
	my ($who) = @_;
	my $dir = project($who);
	my ($run, $report) = while_running($who, ['-p', 'workspace'], sub { },
		'echo up; sleep 0.3; mkdir -p new .git; mkdir .git/hooks; sleep 0.3; test -d .git/hooks && echo there; read x; exit 0');
	is(line($run) // '', 'there', "$who->{name}: a protected name in a new directory stays while the command runs");
	ok(!-e "$dir/.git/hooks", "$who->{name}: and is moved aside at the end");
	is(scalar(() = quarantined("$dir/.git")), 1, "$who->{name}: once");
}

# A command that takes all inotify that there is does not blind what is watched.
sub blinding {
	my ($who) = @_;
	my $dir = project($who);
	put($who, "$dir/conf/key", "x\n");
	my $watchers = put($who, "$who->{home}/watchers", slurp("$ENV{SBX_BUILD}/tests/hostile/watchers"), 0755);
	my ($run, $report) = while_running($who, [policy($who, '"deny": ["./conf/key"]')], sub {
		sleep 0.5;
		rename "$dir/conf", "$dir/moved";
		sleep 0.5;
		rename "$dir/moved", "$dir/conf";
	}, "exec $watchers");
	is("$run->{code} " . violations($report), "125 lost conf lost conf/key", "$who->{name}: a command that takes all of inotify blinds nobody") or diag($run->{err});
}

# A denied name that the host makes in a place that is only read: the command may have read it; it stays.
sub by_host {
	my ($who) = @_;
	my $dir = project($who);
	mkdir "$who->{home}/shown";
	chown $who->{uid}, $who->{gid}, "$who->{home}/shown" if !$>;
	my $policy = put($who, "$who->{home}/policy.json", qq({"sbx": 1, "extends": ["default"], "filesystem": {
		"write": ["./"], "deny": [{"path": "~/shown/secret", "missing": "quarantine"}]}}));
	my ($run, $report) = while_running($who, ['-p', $policy], sub { put($who, "$who->{home}/shown/secret", "x\n") });
	like(violations($report), qr{appeared \S*/shown/secret}, "$who->{name}: a denied name that the host makes is reported");
	ok(-e "$who->{home}/shown/secret", "$who->{name}: and left where the command cannot have made it");
	unlink "$who->{home}/shown/secret";
}

# What the command keeps from being looked at.
sub hidden {
	my ($who) = @_;
	my $dir = project($who);
	mkdir "$dir/conf";
	chown $who->{uid}, $who->{gid}, "$dir/conf" if !$>;
	my ($run, $report) = while_running($who, [policy($who, '"read": [{"path": "./conf/x", "missing": "quarantine"}]')], sub { },
		'chmod 0 conf; echo up; read x');
	is(violations($report), 'unknown conf/x', "$who->{name}: a folder that is closed is no proof of absence");
	chmod 0755, "$dir/conf";
}

# Two runs that would both move a name leave it alone, and the last one moves it.
sub together {
	my ($who) = @_;
	my $dir = project($who);
	my @runs = map { start($who, ['--report', "$who->{home}/report-$_.json", '-p', 'workspace', '--', 'sh', '-c', 'echo up; read x; exit 0']) } 1, 2;
	is(line($_), 'up', "$who->{name}: (it runs)") for @runs;
	put($who, "$dir/.envrc", "x\n");
	sleep 0.3;
	ok(-e "$dir/.envrc", "$who->{name}: while two runs work in one place none moves a name aside");
	for my $i (0, 1) {
		close $runs[$i]{in};
		is(finish($runs[$i]), 0, "$who->{name}: (it ends)");
		my $report = JSON::PP->new->utf8->decode(slurp("$who->{home}/report-@{[$i + 1]}.json"));
		is(violations($report), 'appeared .envrc', "$who->{name}: each reports it");
		is(-e "$dir/.envrc" ? 'there' : 'moved', ('there', 'moved')[$i], "$who->{name}: and the last one moves it");
		like($report->{violations}[0]{message}, (qr/another run/, qr/is now/)[$i], "$who->{name}: which is said");
	}
	is(slurp((quarantined($dir))[0]), "x\n", "$who->{name}: nothing is lost");
}

# Root's command that runs as a user: as that user is moved.
sub as_user {
	my ($root, $user) = @_;
	my $dir = project($user);
	my ($got, $report) = reported($root, ['-p', 'workspace', '--user', "$user->{uid}:$user->{gid}", '--', 'sh', '-c', 'echo x >.envrc'], cwd => $dir);
	is(violations($report), 'appeared .envrc', "root, as a user: it is reported");
	my ($moved) = quarantined($dir);
	is((lstat($moved // '/nothing'))[4], $user->{uid}, "root, as a user: and moved");
}

# No alarm

my $work = <<'END';
set -e
git commit -qam one; git checkout -q -b b$$; git mv src/a src/b; git commit -qm two; git checkout -q -; git stash -q || true
git gc -q; git status >/dev/null; git config --get core.bare >/dev/null
for f in README src/a conf/other; do echo new >$f.tmp; mv $f.tmp $f; mv $f $f~; mv $f~ $f; done
mv src elsewhere; mv elsewhere src; rm -rf build; mkdir build; cp -r src build/; rm -r build
perl -e 'for (@ARGV) { for my $i (1 .. 5000) { open my $f, ">", "$_/f$i" or die $!; rename "$_/f$i", "$_/g$i" or die $! } unlink glob("$_/g*") }' . conf
END

sub ordinary {
	my ($who) = @_;
	my $dir = project($who);
	put($who, "$dir/$_", "$_\n") for qw(README src/a conf/other .envrc .vscode/settings.json);
	on_host($who, 'git init -q; git config user.name a; git config user.email a@b; git add .; git commit -qm zero; echo x >conf/key');
	my $policy = put($who, "$who->{home}/policy.json", '{"sbx": 1, "extends": ["workspace"], "filesystem": {"deny": ["./conf/key"]}}');
	my ($got, $report) = reported($who, ['-p', $policy, '--', 'sh', '-c', "echo 1 >>README; $work"]);
	is("$got->{code} $got->{err}", '0 ', "$who->{name}: ordinary work of the command");
	is_deeply($report->{violations}, [], "$who->{name}: is no violation");
	(my $run, $report) = while_running($who, ['-p', $policy], sub { on_host($who, "echo 2 >>README; $work") });
	is("$run->{code} " . violations($report), '0 ', "$who->{name}: nor is the host's");
	is(scalar(() = quarantined($dir)), 0, "$who->{name}: and nothing is moved aside");
}

# Somebody makes and removes a protected name while runs come and go: each that was made is removed by its maker or is
# moved aside, once.
sub race {
	my ($who, $rounds) = @_;
	my $dir = project($who);
	put($who, "$dir/$_", "$_\n") for qw(README src/a);
	on_host($who, 'git init -q; git add .; git -c user.name=a -c user.email=a@b commit -qm 1; echo x >>README');
	my $status = sub { join '', grep { !/sbx-quarantine/ } split /^/, run($who, [qw(git --no-optional-locks status --porcelain --branch)])->{out} };
	my $before = $status->();
	pipe my $out, my $out_w or die;
	my $maker = fork // die;
	if (!$maker) {
		my ($made, $removed, $stop) = (0, 0, 0);
		local $SIG{TERM} = sub { $stop = 1 };
		become($who);
		while (!$stop) {
			$made += $made % 2 ? mkdir "$dir/.envrc" : link "$dir/README", "$dir/.envrc";
			sleep rand 0.004;
			$removed += rmdir("$dir/.envrc") || unlink("$dir/.envrc");
		}
		syswrite $out_w, "$made $removed\n";
		POSIX::_exit(0);
	}
	close $out_w;
	my (@wrong, $ran);
	for my $round (1 .. $rounds) {
		my @runs = map { start($who, ['-p', 'workspace', '--', 'sh', '-c', 'git --no-optional-locks status >/dev/null || exit 9; sleep 0.0' . int rand 4]) } 0 .. rand 2;
		for (@runs) {
			my $code = finish($_);
			# What was there when it was planned, and is not any more.
			my $gone = $code == 125 && $_->{err} =~ /does not exist|make the sandbox|not what was planned|change faster|replaced or removed on the host/;
			push @wrong, "$code $_->{err}" if $code && !$gone;
			$ran += !$code;
			unlink $_->{errors};
		}
	}
	kill 'TERM', $maker;
	waitpid $maker, 0;
	my ($made, $removed) = split ' ', readline $out;
	is_deeply(\@wrong, [], "$who->{name}: $rounds rounds of runs against a name that comes and goes end well (SBX_SEED=$seed)");
	is($removed + (() = quarantined($dir)), $made, "$who->{name}: of $made names none is lost: $removed removed, the rest moved aside");
	cmp_ok($ran, '>', 0, "$who->{name}: ($ran runs, and some names were moved aside)") && cmp_ok($made, '>', $removed, $who->{name});
	is($status->(), $before, "$who->{name}: git says the same as before");
}

# Repositories that were not there are named in the notes, as deep as the policy protects others.
sub repositories {
	my ($who) = @_;
	my $dir = project($who);
	on_host($who, 'git init -q; git init -q old; mkdir -p deep/er objects');
	my ($got, $report) = reported($who, ['-p', 'workspace', '--', 'sh', '-ec', 'git init -q new; git init -q --bare bare; echo "gitdir: /x" >deep/.git
		git init -q deep/er; mkdir -p files/objects files/refs deep/er/too; git init -q deep/er/too; touch files/HEAD objects/HEAD; echo x >old/README']);
	is_deeply([sort map { m{^the repository \S*/project/(\S+) was made} } @{$report->{notes}}], [qw(bare deep deep/er files new)],
		"$who->{name}: new repositories are noted");
	($got, $report) = reported($who, ['-p', 'default', '--write', './', '--', 'git', 'init', '-q', 'newer']);
	is(scalar(grep { /^the repository/ } @{$report->{notes}}), 0, "$who->{name}: a policy that protects none looks for none");
	($got, $report) = reported($who, ['-p', 'workspace', '--', 'perl', '-e', 'mkdir "many$_" for 1 .. 20100']);
	is(scalar(grep { /^new repositories were not looked for: / } @{$report->{notes}}), 1, "$who->{name}: too many new names are not searched, and a note says so");
}

# Limits and costs

# Its inotify descriptors, when it has had time to open one.
sub instances {
	my ($run) = @_;
	sleep 0.5;
	return scalar grep { (readlink // '') =~ /inotify/ } glob "/proc/$run->{pid}/fd/*";
}

sub costs {
	my ($who) = @_;
	my $dir = project($who);
	my $policy = put($who, "$who->{home}/policy.json",
		'{"sbx": 1, "filesystem": {"root": "deny", "read": ["/usr", "/bin", "/lib", {"path": "/lib64", "optional": true}], "write": ["./"]}}');
	while_running($who, ['-p', $policy], sub { is(instances($_[0]), 0, "$who->{name}: a run with nothing to watch watches nothing") });
	while_running($who, ['-p', 'workspace'], sub { is(instances($_[0]), 1, "$who->{name}: another has one instance of inotify") });
}

# When the caller's instances are used up.
sub exhausted {
	my $who = {name => 'crowded user', uid => 2077, gid => 2077, home => "$top/crowded"};
	put($who, "$who->{home}/project/conf/$_", "$_\n") for qw(key new);
	chown $who->{uid}, $who->{gid}, $_ for $who->{home}, "$who->{home}/project", "$who->{home}/project/conf";
	pipe my $ready, my $ready_w or die;
	my $holder = fork // die;
	if (!$holder) {
		become($who);
		my %inotify_init1 = (x86_64 => 294, aarch64 => 26);
		my $number = $inotify_init1{(POSIX::uname())[4]};
		1 while $number && syscall($number, 0) >= 0;
		syswrite $ready_w, $number ? "up\n" : "no\n";
		sleep 60;
		POSIX::_exit(0);
	}
	close $ready_w;
	SKIP: {
		skip 'the number of inotify_init1 on this machine is not known', 6 if readline($ready) ne "up\n";
		my @options = policy($who, '"deny": ["./conf/key"], "read": [{"path": "./late", "missing": "quarantine"}]');
		my ($run, $report) = while_running($who, \@options, sub { sleep 0.5 }, 'echo x >late; echo up; read x; exit 0');
		is("$run->{code} " . violations($report), '0 appeared late', "$who->{name}: names are looked at in the end");
		like(join("\n", @{$report->{notes}}), qr/^not watched while the command ran.*max_user_instances/m, "$who->{name}: and a note says why not before");
		($run, $report) = while_running($who, \@options, sub {
			sleep 0.3;
			on_host($who, 'mv conf/new conf/key');
			is(line($_[0]), undef, "$who->{name}: the command is ended");
		}, 'echo up; sleep 20; echo late');
		is($report->{outcome}, 'violation', "$who->{name}: since a cover that is replaced is seen all the same");
	}
	kill 'KILL', $holder;
	waitpid $holder, 0;
}

my @who = callers();
my $git = which('git');
for my $who (@who) {
	lost($who);
	late($who);
	sockets($who);
	appears($who);
	at_once($who);
	at_end($who);
	blinding($who);
	by_host($who);
	hidden($who);
	together($who);
	costs($who);
	SKIP: {
		skip 'git is not installed', 9 if !$git;
		repositories($who);
		ordinary($who);
		race($who, $full || !$who->{uid} ? 200 : 40);
	}
}
SKIP: {
	skip 'needs root', 8 if $>;
	as_user(@who);
	exhausted();
}
done_testing();
