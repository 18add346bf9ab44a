# Cases of the host's mounts and permissions: what the caller cannot reach, what is mounted below, a /dev of its own.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/case-lib.pl" }
our ($top, $PLAN, $EXEC);

case f01 => "a source below a private folder of another user's is an error that names the folder", sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $>;
	my $alice = {name => 'alice', uid => 2002, gid => 2002, home => "$dir/alice"};
	my $private = "$dir/alice/private";
	tree($alice, $private, 'proj/f = alice-data');
	chmod 0700, $private;
	my %rules = (write => {write => ["$private/proj"]}, mount => {mounts => [{at => '/w', from => "$private/proj"}]},
		read => {write => [$dir], read => ["$private/proj"]});
	refuses($who, "$dir", "a $_ rule", qr{out of reach.*\Q$private\E may not be searched},
		[policy($who, $rules{$_})]) for sort keys %rules;
	folder($alice, "$dir/alice/$_") for 'project';
	is(inside($alice, [policy($who, $rules{mount})], 'cat /w/f'), 'alice-data', "$who->{name}: its owner may");
};

case f01 => "a file of another user's that its mode opens is readable, one that it closes is not", sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $>;
	my $alice = {name => 'alice', uid => 2002, gid => 2002, home => "$dir/alice"};
	put($alice, "$dir/alice/open", 'o', 0644);
	put($alice, "$dir/alice/closed", 'c', 0600);
	folder($who, "$dir/own");
	promises($who, [policy($who, {write => ["$dir/alice", "$dir/own"]})],
		[read => "$dir/alice/open", 'ok', 'the open one'],
		[read => "$dir/alice/closed", 'EACCES', 'the closed one'],
		[create => "$dir/alice/new", 'EACCES', 'its folder is not written to']);
};

case f02 => 'a mount below a folder that may be entered and not listed', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root, and a caller who is not' if $> || !$who->{uid};
	tree(trusted(), $dir, 'vault/box/keep = k', 'vault/secret = s');
	folder($who, "$dir/own");
	chmod 0711, "$dir/vault";
	my $got = run($who, [$EXEC, policy($who, {mounts => [{at => "$dir/vault/box/mnt", from => "$dir/own",
		access => 'write'}]}),
		'--', 'sh', '-c', 'ls $0/vault/box; cat $0/vault/box/keep; touch $0/vault/box/mnt/n; ls $0/vault', $dir]);
	is($got->{out}, "keep\nmnt\nk", "$who->{name}: the folder that is listed is rebuilt") or diag($got->{err});
	like($got->{err}, qr{vault'?: Permission denied}, "$who->{name}: the one above still cannot be listed");
	ok(-e "$dir/own/n", "$who->{name}: the mount is writable");
	refuses($who, $dir, 'a mount in it', qr{cannot list \Q$dir/vault\E},
		[policy($who, {mounts => [{at => "$dir/vault/mnt", from => "$dir/own"}]})]);
};

case f03 => 'what is mounted below a readable folder is read-only too, unless a rule opens it', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $>;
	my @below = ("$dir/top/m1", "$dir/top/m 2", "$dir/top/m 2/deep");
	my @mounts;
	for my $at (@below) {
		folder($who, $at);
		push @mounts, mounted($at, qw(-t tmpfs -o mode=0777 tmpfs));
	}
	my @rows = map { my $at = $_; [create => "$at/x", 'EROFS', "nothing is made in " . substr($at,
		length $dir)] } "$dir/top", @below;
	promises($who, [policy($who, {})], @rows);
	promises($who, [policy($who, {mounts => [{at => '/m', from => "$dir/top"}]})],
		map { [create => "/m$_/x", 'EROFS', "mounted elsewhere: nothing is made in $_"] } '/', '/m1', '/m 2',
			'/m 2/deep');
	promises($who, [policy($who, {write => ["$dir/top/m 2"], read => ["$dir/top/m 2/deep"]})],
		[create => "$dir/top/m 2/x", 'ok', 'the one that a rule opens is writable'], @rows[0, 1, 3]);
	pop @mounts while @mounts;
};

case f03 => 'a file system mounted read-only on the host stays so under a write rule', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $>;
	tree($who, $dir, 'p/ro/', 'p/f = f');
	my $ro = mounted("$dir/p/ro", '-t', 'tmpfs', '-o', 'ro,mode=0777', 'tmpfs');
	promises($who, [policy($who, {write => ["$dir/p"]})],
		[create => "$dir/p/x", 'ok', 'the folder is writable'],
		[create => "$dir/p/ro/x", 'EROFS', 'the file system in it is not']);
};

case f04 => 'the own /dev has what programs need, and nothing of the host', sub {
	my ($who, $dir) = @_;
	SKIP: {
		skip 'needs root', 1 if $>;
		my $shm = mounted('/dev/shm', qw(-t tmpfs -o mode=1777 tmpfs));
		put($who, '/dev/shm/sbx-case', 'SECRET');
		is(inside($who, [], 'ls -A /dev/shm; stat -c %a /dev/shm; echo x >/dev/shm/new && cat /dev/shm/new'),
			"1777\nx\n",
			"$who->{name}: /dev/shm is private, writable for all and empty");
	}
	is(run($who, [$EXEC, '--', 'bash', '-c',
		'echo x >/dev/null; cat <(echo substituted); cat /dev/fd/0 <<<fd; cat /dev/stdin <<<in;
		(echo o >/dev/stdout) | cat; (echo e 2>/dev/stderr >&2) 2>&1 | cat; head -c 3 /dev/zero | wc -c; tty'])->{out},
		"substituted\nfd\nin\no\ne\n3\nnot a tty\n", "$who->{name}: null, zero, fd, stdin, stdout, tty");
	is(inside($who, [], 'cd /dev; ls -d kvm fuse mem kmsg sda vda loop0 input net snd dri mapper 2>/dev/null; echo .'),
		".\n",
		"$who->{name}: no device of the host");
	promises($who, [], [create => '/dev/x', 'EROFS', 'nothing is made in it'],
		[remove => '/dev/null', 'EROFS', 'nothing is removed from it']);
	SKIP: {
		skip 'no Python', 1 if !-x '/usr/bin/python3';
		is(run($who, [$EXEC, qw(-- /usr/bin/python3 -c),
			'import multiprocessing as m, pty; m.Lock(); pty.openpty(); print("ok")'])->{out},
			"ok\n", "$who->{name}: semaphores and terminals can be made");
	}
};

run_cases();
