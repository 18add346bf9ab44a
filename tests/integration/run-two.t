#!/usr/bin/perl
# Two runs at once in one git project, one of them killed at some moment of its start: the project is the same before,
# during and after, and the other run is none the wiser. SBX_FULL=1, or CI, for more rounds; SBX_SEED for other moments.
use strict;
use warnings;
use FindBin;
use Test::More;
use Time::HiRes qw(time sleep);
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

plan skip_all => 'git is not installed' if !which('git');
my $full = $ENV{SBX_FULL} || $ENV{CI};
my $seed = $ENV{SBX_SEED} || int(time);
srand $seed;

# The caller's git project: protected names that are there, as folders, files and links, and others that are missing.
sub project {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	put($who, "$project/$_", "$_\n") for qw(README src/a.c src/deep/er/b.c .gitignore .envrc .vscode/tasks.json .claude/x
		.husky/pre-commit conf/mcp);
	put($who, "$project/.gitignore", "ignored\n");
	put($who, "$project/ignored", "x\n");
	symlink 'conf/mcp', "$project/.mcp.json" or die;
	my $made = run($who, ['sh', '-ec', 'git init -q; git add .; git -c user.name=a -c user.email=a@b commit -qm 1;
		echo changed >README; echo new >untracked; git add src; git status']);
	die $made->{err} if $made->{code};
	return $project;
}

# Names with type, mode, size and where links lead, of a folder and all below it. What it costs matters: it is looked at
# again and again.
sub entries {
	my ($dir) = @_;
	my @st = lstat $dir or return "$dir: $!";
	my $says = sprintf '%s %o %d %s', $dir, $st[2], -d _ ? 0 : $st[7], -l _ ? readlink $dir : '';
	return $says if !-d _ || -l _;
	opendir my $d, $dir or return "$dir: $!";
	return ($says, map { entries("$dir/$_") } grep { !/^\.\.?$/ } sort readdir $d);
}

sub state_of {
	my ($project) = @_;
	return join "\n", entries($project);
}

# The lines of one text that the other lacks, both ways.
sub difference {
	my %old = map { $_ => 1 } split /\n/, $_[0];
	my %new = map { $_ => 1 } split /\n/, $_[1];
	return join '; ', map({ "gone: $_" } grep { !$new{$_} } sort keys %old), map { "new: $_" } grep { !$old{$_} } sort keys %new;
}

# Without the right to write the index, which it would refresh.
sub status {
	my ($who) = @_;
	return run($who, [qw(git --no-optional-locks status --porcelain --ignored --branch)])->{out};
}

# The run that stays: it tries what it may not do, looks, and waits for its input to end.
my $stays = 'for f in .git/hooks/x .vscode/x .husky/x .git/config; do
	(echo x >>$f) 2>/dev/null && echo "$f could be written"
done
git --no-optional-locks status --porcelain --ignored --branch && read line; exit 3';

sub rounds {
	my ($who, $rounds) = @_;
	my ($name, $project) = ($who->{name}, project($who));
	my ($before, $status) = (state_of($project), status($who));
	my (@changed, @wrong, $looks);
	my $look = sub {
		my ($when) = @_;
		my $now = state_of($project);
		push @changed, "$when: " . difference($before, $now) if $now ne $before;
		$looks++;
	};
	like($status, qr{^ M README\n\?\? untracked\n!! ignored\n\z}m, "$name: (git sees what there is to see)");
	for my $round (1 .. $rounds) {
		my $moment = rand 0.030;
		my $killed_first = int rand 2;
		my @runs = map { start($who, ['-p', 'workspace', '--', 'sh', '-c', $_ ? $stays : 'sleep 100']) }
			$killed_first ? (0, 1) : (1, 0);
		my ($killed, $stayed) = $killed_first ? @runs : reverse @runs;
		my $until = time + $moment;
		do { $look->("round $round, before the kill") } while time < $until;
		kill 'KILL', $killed->{pid};
		waitpid $killed->{pid}, 0;
		$look->("round $round, after the kill");
		my $seen = join '', map { (line($stayed) // '-') . "\n" } split /\n/, $status;
		$look->("round $round, while one runs");
		push @wrong, "round $round: outside: " . status($who) if $round % 10 == 0 && status($who) ne $status;
		close $stayed->{in};
		my $code = finish($stayed);
		push @wrong, "round $round: $code $seen$stayed->{err}" if $code != 3 || $seen ne $status;
		$look->("round $round, at the end");
		unlink $_->{errors} for @runs;
	}
	is_deeply(\@changed, [], "$name: $rounds rounds, $looks looks: the project is the same at each (SBX_SEED=$seed)");
	is_deeply(\@wrong, [], "$name: git says the same outside and inside, and the run that stays ends as it would alone");
	is(status($who), $status, "$name: and at the end");
}

for my $who (callers()) {
	rounds($who, $full || !$who->{uid} ? 200 : 60);
}
done_testing();
