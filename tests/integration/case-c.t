# Cases of precedence, nesting and the working directory: the deepest rule decides, whatever the order.
use strict;
use warnings;
use FindBin;
use Socket;
use Test::More;
BEGIN { require "$FindBin::Bin/case-lib.pl" }
our ($top, $PLAN, $EXEC);

# Every order of a list.
sub orders {
	my @list = @_;
	return [] if !@list;
	return map { my $i = $_; map { [$list[$i], @$_] } orders(@list[grep { $_ != $i } 0 .. $#list]) } 0 .. $#list;
}

case c01 => 'a denied file in a writable folder stays denied whatever the order of the rules', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, 'p/secret.txt = TOP');
	for (orders(qq("write": ["$dir/p"]), qq("deny": ["$dir/p/secret.txt"]))) {
		my $mount = qq("mounts": [{"at": "/view", "from": "$dir/p", "access": "write"}]);
		my $rules = '{"root": "read", ' . join(', ', $mount, @$_) . '}';
		promises($who, [policy($who, $rules)],
			[read => "$dir/p/secret.txt", 'EACCES', 'it cannot be read'],
			[remove => "$dir/p/secret.txt", 'EBUSY', 'nor removed'],
			[rename => "$dir/p/secret.txt", 'EBUSY', 'nor renamed'],
			[create => "$dir/p/n", 'ok', 'the folder is writable'],
			[read => '/view/secret.txt', 'EACCES', 'it cannot be read where the folder is mounted'],
			[remove => '/view/secret.txt', 'EBUSY', 'nor removed there']);
	}
	for (orders(['--write', "$dir/p"], ['--deny', "$dir/p/secret.txt"])) {
		promises($who, [policy($who, {}), map { @$_ } @$_],
			[read => "$dir/p/secret.txt", 'EACCES', 'by options: it cannot be read'],
			[create => "$dir/p/n", 'ok', 'by options: the folder is writable']);
	}
};

case c02 => 'write inside read inside deny, in all six orders', sub {
	my ($who, $dir) = @_;
	my $w = "$dir/w";
	tree($who, $w, 'ws/project/', 'ws/f = f', 'other/s = s');
	for (orders(['--deny', $w], ['--read', "$w/ws"], ['--write', "$w/ws/project"])) {
		my @options = (policy($who, {}), map { @$_ } @$_);
		promises($who, \@options,
			[make => "$w/ws/project/t", 'ok', 'the innermost is writable'],
			[read => "$w/ws/f", 'ok', 'the middle is readable'],
			[create => "$w/ws/t", 'EROFS', 'the middle is not writable'],
			[read => "$w/other/s", 'ENOENT', 'the outer one is hidden'],
			[create => "$w/t", 'EROFS', 'and swallows nothing']);
		ok(unlink("$w/ws/project/t"), "$who->{name}: what was written is on the host");
		is(inside($who, \@options, "ls -A $w"), "ws\n", "$who->{name}: the outer one lists only what is visible");
	}
};

case c03 => 'five levels of rules in turn, and siblings whose names begin alike', sub {
	my ($who, $dir) = @_;
	my @levels = qw(a a/b a/b/c a/b/c/d a/b/c/d/e a2 a/b2 a/b/c2 a/b/c/d2);
	tree($who, $dir, (map { "$_/x = $_" } @levels), 'a/b/c/d/e/f = F');
	promises($who, [policy($who, {deny => ["$dir/a", "$dir/a/b/c", "$dir/a/b/c/d/e/f"],
			read => ["$dir/a/b", "$dir/a/b/c/d/e"], write => ["$dir/a/b/c/d"]})],
		(map { my ($level, $read, $create) = @$_;
			([read => "$dir/$level/x", $read, "$level is read or not"],
			 [create => "$dir/$level/w", $create, "$level is written or not"]) }
			['a', 'ENOENT', 'EROFS'], ['a/b', 'ok', 'EROFS'], ['a/b/c', 'ENOENT', 'EROFS'], ['a/b/c/d', 'ok', 'ok'],
			['a/b/c/d/e', 'ok', 'EROFS'], ['a2', 'ok', 'EROFS'], ['a/b2', 'ENOENT', 'ENOENT'], ['a/b/c2', 'ok',
				'EROFS'],
			['a/b/c/d2', 'ENOENT', 'ENOENT']),
		[read => "$dir/a/b/c/d/e/f", 'EACCES', 'the innermost file is denied']);
};

case c04 => 'a denied folder swallows no writes and is no room to write in', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, '.ssh/key = K', 'half/seen/f = f', 'half/key = K');
	my @options = policy($who, {deny => ["$dir/.ssh", "$dir/half"], read => ["$dir/half/seen"]});
	promises($who, \@options,
		[create => "$dir/.ssh/authorized_keys", 'EACCES', 'nothing is made in it'],
		[list => "$dir/.ssh", 'EACCES', 'it is not listed'],
		[chmod => "$dir/.ssh", 'EROFS', 'its mode is not changed'],
		[create => "$dir/half/new", 'EROFS', 'nor is anything made in one that shows a folder'],
		[read => "$dir/half/seen/f", 'ok', 'which is there']);
	is(inside($who, \@options, "stat -c '%a' $dir/.ssh $dir/half"), "0\n555\n", "$who->{name}: their modes say it");
};

case c05 => 'a grant below /tmp shows in the own /tmp, and nothing else of the host\'s', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root' if $>;
	my $tmp = '/tmp';
	my $own = mounted($tmp, qw(-t tmpfs -o mode=1777 tmpfs));
	tree($who, $tmp, 'proj/', 'agent/other = o', 'otherproc = o');
	socket my $server, AF_UNIX, SOCK_STREAM, 0 or die;
	bind $server, pack_sockaddr_un("$tmp/agent/agent.1") or die;
	listen $server, 1 or die;
	chmod 0777, "$tmp/agent/agent.1";
	my @options = (qw(-p default --write /tmp/proj --read /tmp/agent/agent.1));
	is(inside($who, \@options, 'pwd; find /tmp -not -name tmp | sort; touch n /tmp/here && echo written',
		cwd => "$tmp/proj"),
		"/tmp/proj\n/tmp/agent\n/tmp/agent/agent.1\n/tmp/proj\nwritten\n", "$who->{name}: the two, and nothing else");
	ok(-e "$tmp/proj/n", "$who->{name}: what was written to the grant is on the host");
	ok(!-e "$tmp/here", "$who->{name}: what was written beside it is not");
	promises($who, \@options, [connect => "$tmp/agent/agent.1", 'ok', 'the socket can be connected to']);
	refuses($who, $tmp, 'a working directory in the hidden /tmp', qr{working directory /tmp/agent cannot be used}, [], cwd => "$tmp/agent");
};

case c07 => 'odd spellings mean what they say, and a name is no prefix of another', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, 'app/sub/', 'app-secret/s = S', 'app2/f = f', 'appendix = f', "l -> $dir/far/deep", 'far/deep/',
		'far/t = FAR', 't = NEAR');
	my @options = policy($who, {write => ["$dir/app/"], deny => ["$dir//./app/../app-secret"],
		mounts => [{at => '/m', from => "$dir/app/.", access => 'write'}, {at => '/n', from => "$dir/app-secret/."}]});
	promises($who, \@options,
		[create => "$dir/app/x", 'ok', 'app is writable'],
		[read => "$dir/app-secret/s", 'EACCES', 'app-secret is denied'],
		[read => "$dir/app2/f", 'ok', 'app2 is readable'],
		[create => "$dir/app2/x", 'EROFS', 'app2 is not writable'],
		[write => "$dir/appendix", 'EROFS', 'nor is appendix'],
		[create => '/m/x', 'ok', 'app is writable where it is mounted'],
		[stat => '/m-secret', 'ENOENT', 'and nothing comes with it'],
		[read => '/n/s', 'ok', 'app-secret is readable where a mount names it']);
	refuses($who, $dir, 'one path with two accesses', qr{^(?=.*/filesystem/read/0)(?=.*/filesystem/write/0)},
		[policy($who, {write => ["$dir/app/"], read => ["$dir/app/sub/.."]})]);
	refuses($who, $dir, '.. after a link', qr{\Q$dir/l\E}, [policy($who, {write => ["$dir/l/../t"]})]);
	refuses($who, $dir, 'a rule for /', qr{/filesystem/write/0}, [policy($who, {write => ['/usr/..']})]);
};

case c09 => 'a working directory that is not visible inside is an error, never another one', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, 'p/sub/');
	refuses($who, $dir, 'not shown', qr{working directory \Q$dir/p/sub\E cannot be used}, [policy($who, {root => 'deny'},
		extends => ['strict'],
		process => {cwd => "$dir/p/sub"})]);
	refuses($who, $dir, 'under a deny', qr{\Q$dir/p/sub\E.*hint: the rule for \Q$dir/p\E \(\S+: /filesystem/deny/0\) hides it}s, [policy($who, {deny => ["$dir/p"]})], cwd => "$dir/p/sub");
	refuses($who, $dir, 'denied itself', qr{\Q$dir/p/sub\E}, [policy($who, {deny => ["$dir/p/sub"]})],
		cwd => "$dir/p/sub");
	refuses($who, $dir, 'a file', qr{\Q$dir/f\E}, [policy($who, {}), '--chdir', put($who, "$dir/f", '')]);
	refuses($who, $who->{home}, 'removed', qr{directory}, [policy($who, {})], cwd => "$dir/p",
		before => sub { mkdir "$dir/p/gone"; chdir "$dir/p/gone" or die; rmdir "$dir/p/gone" or die });
	ok(!-e "$dir/p/gone", "$who->{name}: and a removed one is not made anew");
};

case c10 => 'under root deny only what is granted is there, and a denied command is said to be', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, 'deep/tool/');
	my $echo = put($who, "$dir/deep/tool/e", slurp('/bin/echo'), 0755);
	my @options = policy($who, {root => 'deny', read => ["$dir/deep/tool"]}, extends => ['strict']);
	promises($who, \@options,
		[read => '/etc/hostname', 'ENOENT', '/etc has only what strict grants'],
		[list => '/home', 'ENOENT', 'there is no /home'],
		[list => '/root', 'ENOENT', 'there is no /root'],
		[list => "$dir/deep/tool", 'ok', 'the tool is there']);
	is(run($who, [$EXEC, @options, '--', $echo, 'hi'])->{out}, "hi\n", "$who->{name}: it runs");
	refuses($who, $dir, 'a command below a deny', qr{\Q$echo\E.*deny}s, [policy($who, {deny => ["$dir/deep"]})],
		command => [$echo, 'RAN'], code => "126|127");
};

case c12 => 'a rule below the own /proc, /dev and /tmp is applied or refused by name', sub {
	my ($who, $dir) = @_;
	my $fresh = run($who, [$EXEC, qw(--proc fresh -- true)])->{code} == 0;
	for my $proc ($fresh ? 'fresh' : (), 'bind') {
		promises($who, [policy($who, {deny => ['/proc/cmdline', '/proc/sys', '/dev/random']}), '--proc', $proc],
			[read => '/proc/cmdline', 'EACCES', "$proc /proc: a denied file"],
			[list => '/proc/sys', 'EACCES', "$proc /proc: a denied folder"],
			[read => '/proc/sys/kernel/hostname', 'EACCES', "$proc /proc: what is in it"],
			[read => '/proc/version', 'ok', "$proc /proc: the rest is there"],
			[read => '/dev/random', 'EACCES', 'a denied device'],
			[read => '/dev/urandom', 'ok', 'the others are there']);
	}
	promises($who, [map { ('--deny', $_) } qw(/dev/shm /dev/mqueue /dev/pts)],
		[list => '/dev/shm', 'EACCES', 'the own shared memory, denied'],
		[create => '/dev/shm/x', 'EACCES', 'is no place to write'],
		[list => '/dev/mqueue', -d '/dev/mqueue' ? 'EACCES' : 'ENOENT', 'nor are there message queues'],
		[list => '/dev/pts', 'EACCES', 'nor terminals'],
		[read => '/dev/zero', 'ok', 'the rest of /dev is there']);
	refuses($who, $dir, 'a link of the own /dev', qr{--deny /dev/ptmx: /dev/ptmx is a link}, [qw(--deny /dev/ptmx)])
		if -c '/dev/ptmx';
	# Of each name of the host's, whatever it is.
	my $odd = join '', map {
		my $got = run($who, [$PLAN, '--check', '--deny', $_ =~ s/([*?\[\\])/\\$1/gr]);
		!$got->{code} || ($got->{err} =~ m{\Asbx-plan: command line: --deny \Q$_\E: /[^\n]*\nsbx-plan: hint: [^\n]*\n\z}
			&& $got->{err} !~ /not proven|working directory/) ? () : $got->{err};
	} glob '/proc/[!0-9]* /proc/sys/* /proc/1 /proc/1/environ /dev/* /dev/{shm,pts,mqueue}/* /dev/shm/nosuch /sys/*';
	is($odd, '', "$who->{name}: each name of /proc, /dev and /sys can be denied, or is refused by name");
	for my $path (qw(/proc/cmdline /dev/random /dev/shm)) {
		refuses($who, $dir, "$_ $path", qr{/filesystem/$_/0: /(proc|dev)\b}, [policy($who, {$_ => [$path]})])
			for qw(read write);
	}
	refuses($who, $dir, 'a tmpfs in /proc', qr{/proc/x}, [policy($who, {tmpfs => [{at => '/proc/x'}]})]);
	refuses($who, $dir, 'the /tmp of the host', qr{/tmp\b}, [policy($who, {write => ['/tmp']})]);
};

run_cases();
