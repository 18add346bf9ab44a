# Cases of missing paths and mount points: what the host lacks is made inside or said, and never made on the host.
use strict;
use warnings;
use FindBin;
use Socket;
use Test::More;
BEGIN { require "$FindBin::Bin/case-lib.pl" }
our ($top, $PLAN, $EXEC);

case b01 => 'a mount at a name that / lacks shows all else of / and leaves the host as it is', sub {
	my ($who, $dir) = @_;
	my $at = "/sbx-case-$$";
	tree($who, $dir, 'p/f = f');
	my @options = policy($who, {mounts => [{at => $at, from => "$dir/p", access => 'write'}]});
	promises($who, \@options,
		[read => "$at/f", 'ok', 'it is there'],
		[create => "$at/new", 'ok', 'and writable'],
		[create => '/sbx-new', 'EROFS', '/ is not'],
		[create => '/usr/sbx-new', 'EROFS', 'nor is /usr']);
	is(inside($who, \@options, 'ls -A /'), join('', sort(`ls -A /`, "sbx-case-$$\n")), "$who->{name}: / is complete");
	is(inside($who, \@options, 'stat -c "%a %F" / /home'), `stat -c "%a %F" / /home`, "$who->{name}: with its modes");
	ok(!-e $at, "$who->{name}: the host has no such folder");
};

case b02 => 'a file mounted deep below a readable folder opens the way to it and nothing else', sub {
	my ($who, $dir) = @_;
	my $at = "/usr/share/sbx-case-$$/deep/my.crt";
	tree($who, $dir, 'my.crt = CRT');
	my @options = policy($who, {mounts => [{at => $at, from => "$dir/my.crt"}]});
	is(inside($who, \@options, "cat $at"), 'CRT', "$who->{name}: it is there");
	promises($who, \@options,
		[create => "/usr/share/sbx-case-$$/n", 'EROFS', 'the folders made for it are not writable'],
		[create => '/usr/share/n', 'EROFS', 'nor is the one above']);
	is(inside($who, \@options, 'ls -A /usr /usr/share | grep -v sbx-case'), `ls -A /usr /usr/share`,
		"$who->{name}: all else is there");
	my ($words) = run($who, [$PLAN, '--check', @options])->{out} =~ /(\d+) words/;
	my $opened = () = `ls -A / /usr /usr/share`;
	cmp_ok($words, '<', 3 * $opened + 200, "$who->{name}: no other folder is opened");
	ok(!-e "/usr/share/sbx-case-$$", "$who->{name}: the host has no such folder");
};

case b04 => 'a protection of a name that is missing in a writable folder is said not to be enforced', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, 'p/f = f');
	my @options = policy($who, {write => ["$dir/p"], read => [{path => "$dir/p/.envrc", optional => JSON::PP::true}],
		deny => ["$dir/p/gone", "$dir/nope/aws"]});
	my $before = listing($dir);
	my ($got, $report) = reported($who, [@options, '--', 'true']);
	is($got->{code}, 0, "$who->{name}: the command runs") or diag($got->{err});
	my $notes = join "\n", @{$report->{notes}};
	is($notes, notes($who, @options), "$who->{name}: the report and the plan say the same");
	like($notes, qr{^not enforced: \Q$dir/p/$_\E }m, "$who->{name}: $_ is named") for qw(.envrc gone);
	unlike($notes, qr{nope}, "$who->{name}: one that nobody inside can make is not");
	is(listing($dir), $before, "$who->{name}: nothing is put on the host for them");
	promises($who, \@options, [create => "$dir/nope", 'EROFS', 'indeed it cannot be made']);
};

case b05 => 'a protection below a file needs nothing', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, 'p/.git = gitdir: /nowhere');
	for my $rule ({read => ["$dir/p/.git/hooks"]}, {deny => ["$dir/p/.git/hooks"]}) {
		promises($who, [policy($who, {write => ["$dir/p"], %$rule})],
			[read => "$dir/p/.git", 'ok', "@{[keys %$rule]}: the file is readable"],
			[create => "$dir/p/new", 'ok', "@{[keys %$rule]}: the folder is writable"]);
	}
	is(inside($who, [qw(-p workspace)], 'cat .git; touch new', cwd => "$dir/p"),
		'gitdir: /nowhere', "$who->{name}: the policy workspace, too");
};

case b06 => 'a required grant that is missing is an error, an optional one is noted', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, 'p/');
	refuses($who, $dir, 'a required one', qr{/filesystem/write/1\b.*\Q$dir/p/out\E does not exist},
		[policy($who, {write => ["$dir/p", "$dir/p/out"]})]);
	refuses($who, $dir, "a mount's source", qr{/filesystem/mounts/0\b.*\Q$dir/p/out\E does not exist},
		[policy($who, {mounts => [{at => '/x', from => "$dir/p/out"}]})]);
	my @optional = policy($who, {write => [{path => "$dir/.cache", optional => JSON::PP::true}]});
	my ($got, $report) = reported($who, [@optional, '--', 'true']);
	is($got->{code}, 0, "$who->{name}: an optional one: the command runs");
	like("@{$report->{notes}}", qr{\Q$dir/.cache\E does not exist}, "$who->{name}: and the report says so");
	ok(!-e "$dir/.cache", "$who->{name}: it is not made");
};

case b07 => 'a deny inside a deny adds nothing', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, '.config/browser/key = K');
	my @options = policy($who, {deny => ["$dir/.config", "$dir/.config/browser"]});
	promises($who, \@options,
		[list => "$dir/.config", 'EACCES', 'the outer one is closed'],
		[read => "$dir/.config/browser/key", 'EACCES', 'and with it the inner one']);
	is(scalar(grep { index($_->{dest} // '', "$dir/.config/") == 0 } @{planned($who, @options)->{ops}}), 0,
		"$who->{name}: no step of the plan is spent on it");
};

case b08 => 'a deny takes its form from the object, a mount of another type is an error', sub {
	my ($who, $dir) = @_;
	tree($who, $dir, 'p/d/x = x', 'p/f = f', 'sd/', 'sf = f');
	my @deny = policy($who, {write => ["$dir/p"], deny => ["$dir/p/d", "$dir/p/f"]});
	promises($who, \@deny,
		[list => "$dir/p/d", 'EACCES', 'a denied folder'],
		[read => "$dir/p/f", 'EACCES', 'a denied file'],
		[list => "$dir/p/f", 'ENOTDIR', 'which is no folder']);
	for my $access (qw(read write)) {
		refuses($who, $dir, "a folder at a file, $access", qr{(?=.*\Q$dir/p/f\E)(?=.*directory)}, [policy($who,
			{$access => ["$dir/p"], mounts => [{at => "$dir/p/f", from => "$dir/sd"}]})]);
		refuses($who, $dir, "a file at a folder, $access", qr{(?=.*\Q$dir/p/d\E)(?=.*directory)}, [policy($who,
			{$access => ["$dir/p"], mounts => [{at => "$dir/p/d", from => "$dir/sf"}]})]);
	}
};

case b09 => 'denied sockets and FIFOs are out of reach', sub {
	my ($who, $dir) = @_;
	my ($socket, $fifo) = ("$dir/run/docker.sock", "$dir/run/ff");
	tree($who, $dir, 'run/dangling -> gone', 'run/f = f');
	socket my $server, AF_UNIX, SOCK_STREAM, 0 or die;
	bind $server, pack_sockaddr_un($socket) or die;
	listen $server, 5 or die;
	chmod 0777, $socket;
	POSIX::mkfifo($fifo, 0666) or die;
	for my $write ({}, {write => [$dir]}) {
		my $where = %$write ? 'below a writable folder' : 'below a readable folder';
		promises($who, [policy($who, {%$write, deny => [$socket, $fifo, "$dir/run/dangling"]})],
			[connect => $socket, 'ECONNREFUSED', "$where: no connection"],
			[read => $fifo, 'EACCES', "$where: a FIFO is not opened"],
			[write => $fifo, 'EACCES', "$where: nor for writing"],
			[read => "$dir/run/f", 'ok', "$where: the rest is there"]);
		promises($who, [policy($who, {%$write, deny => ["$dir/run"]})],
			[connect => $socket, 'EACCES', "$where: in a denied folder: no connection"]);
	}
	is(inside($who, [policy($who, {deny => [$fifo]})], "cat $fifo 2>/dev/null || echo no", limit => 10), "no\n",
		"$who->{name}: opening the denied FIFO does not wait for a writer");
	promises($who, [policy($who, {})], [connect => $socket, 'ECONNREFUSED', 'a socket that is only readable: no connection']);
	promises($who, [policy($who, {read => [$socket]})], [connect => $socket, 'ok', '(one that a rule names: a connection)']);
};

case b10 => 'a protection of a name that the caller could not make needs nothing', sub {
	my ($who, $dir) = @_;
	plan skip_all => 'needs root, and a caller who is not' if $> || !$who->{uid};
	tree(trusted(), $dir, 'p/f = f');
	for my $rule ({read => ["$dir/p/.git"]}, {deny => ["$dir/p/.git"]}) {
		my @options = policy($who, {write => ["$dir/p"], %$rule});
		promises($who, \@options,
			[read => "$dir/p/f", 'ok', 'the command runs'],
			[mkdir => "$dir/p/.git", 'EACCES', 'it cannot make the name']);
		local our $TODO = 'whether the caller may make a name is not looked at yet';
		unlike(notes($who, @options), qr{not enforced}, "$who->{name}: no note says that the rule is not enforced");
	}
};

run_cases();
