# Every promise of the policy "default", from inside a real sandbox: the host is readable, nothing is writable but /tmp,
# secrets are hidden, /run, /dev and /tmp are the sandbox's own, no network, no privilege, no inherited environment.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $EXEC);

# Mounts with a writable flag that are the sandbox's own: nothing of the host's can be changed through them.
my $own = qr{^/(tmp|proc|dev/(shm|mqueue|pts|console|null|zero|full|random|urandom|tty))$};

my @secret_dirs = qw(.ssh .gnupg .aws .kube .azure .config/gcloud .config/gh .password-store);
my @secret_files = qw(.netrc .git-credentials .npmrc .pypirc .bash_history .vault-token .docker/config.json);

sub fresh_proc {
	my ($who) = @_;
	return run($who, [$EXEC, '--proc', 'fresh', '--', 'true'])->{code} == 0;
}

sub files {
	my ($who) = @_;
	my $home = $who->{home};
	put($who, "$home/$_/key", 'SECRET') for @secret_dirs;
	put($who, "$home/$_", 'SECRET', 0600) for @secret_files;
	put($who, "$home/notes", 'notes');
	promises($who, [],
		[read => '/etc/passwd', 'ok', 'a file of the host can be read'],
		[list => '/usr/bin', 'ok', 'a folder of the host can be listed'],
		[read => "$home/notes", 'ok', 'a file of the home can be read'],
		[write => "$home/notes", 'EROFS', 'it cannot be written to'],
		[remove => "$home/notes", 'EROFS', 'it cannot be removed'],
		[rename => "$home/notes", 'EROFS', 'it cannot be renamed'],
		[chmod => "$home/notes", 'EROFS', 'its mode cannot be changed'],
		(map { [create => "$_/sbx-test.$$", 'EROFS', "no file can be made in $_"] }
			'', '/etc', '/usr', '/var/tmp', '/dev', '/run', '/sys', $home, "$home/project", $top),
		[mkdir => "/sbx-test.$$", 'EROFS', 'no folder can be made in /'],
		[make => "/tmp/sbx-test.$$", 'ok', 'a file can be made in /tmp'],
		[mkdir => '/tmp/d', 'ok', 'a folder can be made in /tmp'],
		(map { [list => "$home/$_", 'EACCES', "~/$_ cannot be listed"],
			[read => "$home/$_/key", 'EACCES', "what is in ~/$_ cannot be read"],
			[create => "$home/$_/new", 'EACCES', "nothing can be made in ~/$_"] } @secret_dirs),
		(map { [read => "$home/$_", 'EACCES', "~/$_ cannot be read"],
			[remove => "$home/$_", 'EROFS', "~/$_ cannot be removed"] } @secret_files));
	my $tmp = inside($who, [], 'stat -c %a /tmp; ls -A /tmp');
	is($tmp, "1777\n", "$who->{name}: /tmp has mode 1777 and nothing of the host's");
	ok(!-e "/tmp/sbx-test.$$", "$who->{name}: what was made in /tmp is not on the host");
}

sub places {
	my ($who) = @_;
	my %run = map { $_ => 1 } split ' ', inside($who, [], 'ls -A /run');
	my $resolv = readlink '/etc/resolv.conf';
	delete $run{$1} if defined $resolv && $resolv =~ m{(?:^|/)run/([^/]+)};
	is(join(' ', sort keys %run), '', "$who->{name}: /run has nothing but what /etc/resolv.conf leads to");
	promises($who, [],
		[write => '/dev/null', 'ok', '/dev/null can be written to'],
		[read => '/dev/urandom', 'ok', '/dev/urandom can be read'],
		[list => '/dev/fd/', 'ok', '/dev/fd is there'],
		[create => '/dev/shm/x', 'ok', 'a file can be made in /dev/shm']);
	is(inside($who, [], 'echo through fd | cat /dev/fd/0'), "through fd\n", "$who->{name}: /dev/fd works");
	is(inside($who, [], 'stat -c %a /dev/shm; ls -A /dev/shm'), "1777\n",
		"$who->{name}: /dev/shm has mode 1777 and is empty");
	like(inside($who, [], 'ls /dev'), qr/^(?:(?:console|core|fd|full|mqueue|null|ptmx|pts|random|shm|stderr|stdin|stdout
		|tty|urandom|zero)\n)+$/x, "$who->{name}: /dev has the minimal set and no more");
	my @writable = map { (split ' ')[4] } grep { (split ' ')[5] =~ /^rw\b/ }
		split /\n/, inside($who, [], 'cat /proc/self/mountinfo');
	is(join(' ', grep { !/$own/ } @writable), '', "$who->{name}: no mount is writable but the sandbox's own");
	cmp_ok(scalar(@writable), '>', 2, "$who->{name}: (the mount table could be read)");
}

sub identity {
	my ($who) = @_;
	my $got = run($who, [$EXEC, '--', 'env'], env => {SECRET_TOKEN => 'x', LD_PRELOAD => '/nonexistent.so',
		GIT_DIR => '/x', BASH_ENV => '/x'});
	my @names = sort map { /^(\w+)=/ } split /\n/, $got->{out};
	is(join(' ', grep { !/^(HOME|PATH|PWD|LANG|TERM|TMPDIR)$/ } @names), '',
		"$who->{name}: no variable but the minimal ones");
	like($got->{out}, qr/^PATH=\//m, "$who->{name}: PATH is there");
	like($got->{out}, qr/^HOME=\Q$who->{home}\E$/m, "$who->{name}: HOME is the caller's");
	like(inside($who, [qw(--env GIVEN=1 --inherit NAMED)], 'env', env => {NAMED => 2, OTHER => 3}),
		qr/^(?=.*^GIVEN=1$)(?=.*^NAMED=2$)(?!.*^OTHER=)/ms, "$who->{name}: given and named variables, no others");
	is(inside($who, [], 'uname -n'), "sbx\n", "$who->{name}: the host name is the sandbox's");
	is(inside($who, [], 'id -u'), "$who->{uid}\n", "$who->{name}: the user id is the caller's");
	my $status = inside($who, [], 'cat /proc/self/status');
	for my $set (qw(CapInh CapPrm CapEff CapBnd CapAmb)) {
		like($status, qr/^$set:\s+0+$/m, "$who->{name}: no capability in $set");
	}
	like($status, qr/^NoNewPrivs:\s+1$/m, "$who->{name}: no new privileges");
	isnt(run($who, [$EXEC, '--', 'unshare', '-U', 'true'])->{code}, 0,
		"$who->{name}: a nested user namespace cannot be made");
	like(inside($who, [], 'cat /proc/net/dev'), qr/\A[^\n]*\n[^\n]*\n\s*lo:[^\n]*\n\z/,
		"$who->{name}: no network interface but lo");
}

# A server on the host's loopback is reached from outside and not from inside, but with --net host.
sub network {
	my ($who) = @_;
	require IO::Socket::INET;
	my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5);
	plan(skip_all => "no loopback here: $!") if !$server;
	my @connect = ('perl', '-MIO::Socket::INET', '-e',
		'exit !IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => ' . $server->sockport . ')');
	is(run($who, \@connect)->{code}, 0, "$who->{name}: the server answers on the host");
	is(run($who, [$EXEC, '--', @connect])->{code}, 1, "$who->{name}: it cannot be reached from inside");
	is(run($who, [$EXEC, '--net', 'host', '--', @connect])->{code}, 0, "$who->{name}: with --net host it can");
}

sub proc {
	my ($who) = @_;
	plan(skip_all => 'a fresh /proc cannot be mounted here') if !fresh_proc($who);
	my @proc = qw(--proc fresh);
	# For another user than root the file's own mode speaks before the mount does.
	promises($who, \@proc,
		map { [write => "/proc/$_", $who->{uid} ? 'EACCES' : 'EROFS', "/proc/$_ cannot be opened for writing"] }
		grep { -e "/proc/$_" } qw(sys/kernel/core_pattern sys/kernel/hostname sysrq-trigger));
	is(inside($who, \@proc, 'tr "\0" . </proc/1/environ'), '', "$who->{name}: /proc/1/environ is empty");
	my $got = run($who, [$EXEC, @proc, '--', 'cat', '/proc/1/cmdline']);
	like($got->{out}, qr{^[^\0]*bwrap\0--args\0\d+\0--\0[^\0]*cat\0/proc/1/cmdline\0$},
		"$who->{name}: /proc/1/cmdline shows --args and the command alone");
	cmp_ok(inside($who, \@proc, 'ls -d /proc/[0-9]* | wc -l') + 0, '<', 8,
		"$who->{name}: no process of the host is to be seen");
}

for my $who (callers()) {
	subtest "$who->{name}: files" => sub { files($who) };
	subtest "$who->{name}: /run, /dev and mounts" => sub { places($who) };
	subtest "$who->{name}: environment and privileges" => sub { identity($who) };
	subtest "$who->{name}: network" => sub { network($who) };
	subtest "$who->{name}: a fresh /proc" => sub { proc($who) };
}
done_testing();
