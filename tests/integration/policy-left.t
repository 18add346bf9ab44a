#!/usr/bin/perl
# A workspace in which an earlier run was hostile: links in place of every protected and denied name, and of the
# directories above them, to everything that it would like to see or change. The next run runs, shows no secret and
# changes nothing outside. SBX_SEED for other links, SBX_FULL=1, or CI, for more rounds.
use strict;
use warnings;
use FindBin;
use IO::Socket::UNIX;
use Test::More;
BEGIN { require "$FindBin::Bin/case-lib.pl" }
our ($top, $PLAN, $EXEC);

my $seed = $ENV{SBX_SEED} || 3;
my $rounds = $ENV{SBX_FULL} || $ENV{CI} ? 40 : 12;

# Reads NUL-separated names; at, below and behind each it tries to read and to write. Says what it could read.
my $tries = <<'END';
use Fcntl;
local $/ = "\0";
while (my $name = <STDIN>) {
	chomp $name;
	for my $path (map { "$name$_" } "", qw(/key /secret/key /secret/file /outside/secret/key /open /device)) {
		my ($f, $d, $text);
		if (sysopen $f, $path, O_RDONLY | O_NONBLOCK) {
			print "$path: $text\n" if -f $f && sysread $f, $text, 100;
			print "$path: a device\n" if -c $f && (stat $f)[6] == 0x107 && sysread $f, $text, 1;
		}
		syswrite $f, "changed" if sysopen $f, $path, O_WRONLY | O_NONBLOCK | O_APPEND;
		chmod 0777, $path;
		print map { "$path/$_\n" } grep { /hidden/ } readdir $d if opendir $d, $path;
	}
	for my $path (map { "$name$_" } qw(/made /outside/made /secret/made)) {
		sysopen my $f, $path, O_WRONLY | O_CREAT | O_EXCL;
	}
	rename "$name/open", "$name/moved";
	unlink "$name/key", "$name/open", "$name/secret/key";
}
print "done\n";
END

# What lies outside of the workspace: secrets that are denied, and what can be read but not changed.
sub outside {
	my ($who, $dir) = @_;
	tree($who, "$dir/outside", 'secret/key = SECRET', 'secret/hidden = SECRET', 'file = SECRET', 'open = open', 'folder/key = open');
	POSIX::mkfifo("$dir/outside/fifo", 0666) or die;
	IO::Socket::UNIX->new(Local => "$dir/outside/socket", Listen => 1) or die;
	if (!$>) {
		tree($who->{uid} ? trusted() : {uid => 2001, gid => 2001}, "$dir/outside", 'other/key = SECRET', 'others = SECRET');
		chmod 0700, "$dir/outside/other";
		chmod 0600, "$dir/outside/others";
		system 'mknod', '-m', '666', "$dir/outside/device", qw(c 1 7);
	}
	return map({ "$dir/outside/$_" } qw(secret secret/key file open folder fifo socket device other other/key others none none/x)), '/' . 'x' x 300,
		"$dir/outside", $who->{home}, '/dev/null', '/dev/zero', '/dev/shm', '/dev/ptmx', '/dev/fd/0', '/tmp', '/tmp/x', '/proc/1/environ',
		'/proc/self/root', '/proc/self/cwd', '/etc/shadow', '/etc/passwd', '/root', '/root/.bashrc', '/run', '/sys/kernel';
}

# Names, modes, sizes and times: where nothing is changed they stay.
sub state_of {
	my ($dir) = @_;
	return scalar `cd '$dir' && find . -printf '%y %m %s %T@ %p %l\\n' | LC_ALL=C sort`;
}

# The path of a target as a link in a folder may spell it.
sub spelled {
	my ($target, $path) = @_;
	return $target if rand() < 0.6;
	return '../' x ($path =~ tr{/}{} - 1) . substr $target, 1;
}

# Puts a link in place of each name, or of a directory above it below the workspace, or leaves it to one behind that.
sub plant {
	my ($who, $workspace, $names, $targets) = @_;
	my %made;
	for my $name (sort keys %$names) {
		my $path = $workspace;
		for my $part (split m{/}, substr $name, 1 + length $workspace) {
			$path .= "/$part";
			next if $made{$path} && $made{$path} eq 'folder';
			last if $made{$path};
			if ($path eq $name || rand() < 0.3) {
				# What is denied is so wherever it leads: the workspace itself is left out there.
				my @inside = ($path =~ s{.*/}{}r, "$workspace/to/../to", $path eq $name && $names->{$name} eq 'deny' ? ()
					: ($workspace, '.', '..', '/', grep { $made{$_} } sort keys %$names));
				my $target = rand() < 0.2 ? $inside[rand @inside] : spelled($targets->[rand @$targets], $path);
				symlink $target, $path or die "$path: $!";
				$made{$path} = 'link';
				last;
			}
			mkdir $path or die "$path: $!";
			$made{$path} = 'folder';
		}
	}
	system 'chown', '-Rh', "$who->{uid}:$who->{gid}", $workspace if !$>;
	return keys %made;
}

# Rounds of one policy: after each nothing outside has changed, and no secret was seen.
sub rounds {
	my ($who, $label, $dir, $names, $targets, @options) = @_;
	my $workspace = "$dir/w";
	my (@seen, @kept, $changed, $links);
	my $outside = state_of("$dir/outside");
	srand $seed;
	for my $round (1 .. $rounds) {
		system 'rm', '-rf', $workspace;
		folder($who, $workspace);
		my @made = plant($who, $workspace, $names, $targets);
		$links += grep { -l } @made;
		my $got = run($who, [$EXEC, @options, '--', 'perl', '-e', $tries], cwd => $workspace,
			stdin => join "\0", @made, @$targets, $dir);
		push @kept, "round $round: $got->{code} $got->{err}" if $got->{code} || $got->{out} !~ /^done$/m;
		push @seen, map { "round $round: $_" } grep { /SECRET|hidden|device/ } split /\n/, $got->{out};
		my $now = state_of("$dir/outside");
		$changed //= "round $round: $now" if $now ne $outside;
	}
	is_deeply(\@kept, [], "$label: $links links in $rounds rounds keep nothing from running (SBX_SEED=$seed)");
	is_deeply(\@seen, [], "$label: no secret is seen");
	is($changed, undef, "$label: nothing outside is changed");
	return;
}

# The names of a policy's rules below a directory, sbx's own files excepted, and their access.
sub names_below {
	my ($who, $dir, $cwd, @options) = @_;
	my $rules = JSON::PP->new->decode(run($who, [$PLAN, @options, '--rules', '--json'], cwd => $cwd)->{out});
	return {map { $_->{path} => $_->{access} } grep { index($_->{path} // '', "$dir/") == 0 && $_->{path} !~ m{/sbx$} }
		map { $_->{rule} } @$rules};
}

case left => 'links in place of what the policy workspace protects, and a policy denies', sub {
	my ($who, $dir) = @_;
	my @targets = outside($who, $dir);
	folder($who, "$dir/w");
	my @policy = policy($who, {deny => ["$dir/outside/secret", "$dir/outside/file", map { "./$_" } qw(.env keys/id a/b/c/d a/b/e)]},
		extends => ['workspace']);
	my $names = names_below($who, "$dir/w", "$dir/w", @policy);
	cmp_ok(scalar keys %$names, '>', 40, "$who->{name}: (the policy speaks of many names)");
	rounds($who, $who->{name}, $dir, $names, \@targets, @policy);
	rounds($who, "$who->{name}, the workspace at another place", $dir, $names, \@targets, @policy,
		'--bind', "$dir/w:/workspace", '--chdir', '/');
};

case left => 'links in place of what the default policy denies in a home that could be written', sub {
	my ($who, $dir) = @_;
	my @targets = outside($who, $dir);
	my $home = {%$who, home => "$dir/w/home"};
	folder($who, "$dir/w/home");
	my @policy = policy($who, {write => ["$dir/w"], deny => ["$dir/outside/secret", "$dir/outside/file"]}, extends => ['default']);
	my $names = names_below($home, "$dir/w/home", "$dir/w", @policy);
	cmp_ok(scalar keys %$names, '>', 40, "$who->{name}: (the policy speaks of many names)");
	rounds($home, $who->{name}, $dir, $names, \@targets, @policy);
};

# A directory that an earlier run has closed hides nothing from a rule.
case left => 'a closed directory above what is denied', sub {
	my ($who, $dir) = @_;
	for my $rule ('closed/key', '*/key', 'closed/k?y', '**/key') {
		tree($who, $dir, 'w/closed/key = SECRET');
		chmod 0000, "$dir/w/closed";
		refuses($who, "$dir/w", $rule, qr{--deny \./\Q$rule\E: .* out of reach: the directory \Q$dir\E/w/closed may not},
			[policy($who, {write => ["$dir/w"]}), '--deny', "./$rule"], cwd => "$dir/w");
		chmod 0700, "$dir/w/closed";
		promises($who, [policy($who, {write => ["$dir/w"]}), '--chdir', '/', '--deny', "$dir/w/$rule"],
			[read => "$dir/w/closed/key", 'EACCES', "$rule: once it is open, what is in it is denied"]);
	}
};

run_cases();
