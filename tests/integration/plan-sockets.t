#!/usr/bin/perl
# Unix sockets of the host with real bwrap: one that somebody holds open cannot be talked to by any name, unless a rule
# names it; FIFOs in directories that are made anew; and what sbx-plan --sockets finds.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use Socket;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $PLAN, $EXEC);

# Listens at a path until what it gives goes away; the socket is the caller's unless an owner is said, and no matter for
# other callers unless a mode is.
sub listening {
	my ($who, $path, $mode, $owner) = @_;
	folder($who, $path =~ s{/[^/]*$}{}r);
	socket my $server, AF_UNIX, SOCK_STREAM, 0 or die;
	bind $server, pack_sockaddr_un($path) or die "$path: $!";
	listen $server, 64 or die;
	chmod $mode // 0600, $path or die;
	chown $owner // $who->{uid}, -1, $path if !$>;
	return $server;
}

sub folder {
	my ($who, $path) = @_;
	put($who, "$path/.keep", '') if !-d $path;
}

sub fifo {
	my ($who, $path) = @_;
	folder($who, $path =~ s{/[^/]*$}{}r);
	POSIX::mkfifo($path, 0600) or die "$path: $!";
	chown $who->{uid}, -1, $path if !$>;
}

# A policy file of the caller's that shows the whole host and has these parts of "filesystem" too.
sub policy {
	my ($who, $name, %filesystem) = @_;
	my %policy = (sbx => 1, filesystem => {root => 'read', %filesystem});
	return ('-p', put($who, "$who->{home}/$name.json", JSON::PP->new->utf8->canonical->encode(\%policy)));
}

sub plan_of {
	my ($who, @options) = @_;
	my $got = run($who, [$PLAN, '--json', @options]);
	return $got->{code} ? {ops => [], notes => [], error => $got->{err}} : JSON::PP->new->utf8->decode($got->{out});
}

sub covered {
	my ($who, @options) = @_;
	return [sort grep { m{^\Q$top\E} || m{^/m/} }
		map { $_->{dest} } grep { $_->{op} eq 'deny-file' } @{plan_of($who, @options)->{ops}}];
}

sub readable {
	my ($who) = @_;
	my $dir = "$who->{home}/srv";
	my $server = listening($who, "$dir/app.sock");
	my $other = listening($who, "$dir/other.sock");
	symlink 'srv', "$who->{home}/link" or die;
	my $socket = "$dir/app.sock";
	for my $options ([], [policy($who, 'read')], [policy($who, 'dir', read => [$dir])]) {
		my $how = join ' ', 'with', map { s{.*/}{}r } @$options;
		promises($who, $options,
			[connect => $socket, 'ECONNREFUSED', "$how: a listening socket is out of reach"],
			[read => $socket, 'EACCES', "$how: and not opened"],
			[connect => "$who->{home}/link/app.sock", 'ECONNREFUSED', "$how: nor through a link"]);
	}
	promises($who, ['--connect', $socket],
		[connect => $socket, 'ok', 'unless a rule names it'],
		[connect => "$who->{home}/link/app.sock", 'ok', '... by a link too'],
		[connect => "$dir/other.sock", 'ECONNREFUSED', '... and no other']);
	promises($who, ['--connect', "$dir/app*"],
		[connect => $socket, 'ok', 'a pattern names sockets'],
		[connect => "$dir/other.sock", 'ECONNREFUSED', '... those that it matches']);
	promises($who, ['--bind', "$dir:/m:ro"],
		[connect => '/m/app.sock', 'ECONNREFUSED', 'a mount of its directory does not show it']);
	promises($who, ['--bind', "$socket:/m/one.sock:ro"],
		[connect => '/m/one.sock', 'ok', 'a mount of itself does']);
	promises($who, ['--read', $socket], [connect => $socket, 'ok', 'a rule to read it shows it']);
	is_deeply([grep { /socket/ } @{plan_of($who, '--read', $socket)->{notes}}],
		["$socket is a socket: the command can connect to it"], "$who->{name}: ... and a note says what that means");
	is_deeply([grep { /socket/ } @{plan_of($who, '--connect', $socket)->{notes}}], [],
		"$who->{name}: ... which who asked for it need not be told");
	my $got = run($who, [$EXEC, '--connect', "$dir/.keep", '--', 'true']);
	like("$got->{code} $got->{err}", qr{^125 .*\Q$dir/.keep\E is a file: only a socket.*hint: }s,
		"$who->{name}: what is no socket is refused");
	$got = run($who, [$EXEC, '--connect', "$who->{home}/link/app.sock", '--', 'true']);
	if ($who->{uid}) {
		like("$got->{code} $got->{err}", qr{^125 .*the symbolic link \Q$who->{home}/link\E to .*hint: .*name \Q$socket\E itself}s,
			"$who->{name}: so is a link that the caller could change");
	} else {
		is($got->{code}, 0, "$who->{name}: a link of root's is followed");
	}
	my @final = policy($who, 'final', read => [{path => $dir, final => JSON::PP::true}]);
	$got = run($who, [$EXEC, @final, '--connect', $socket, '--', 'true']);
	like("$got->{code} $got->{err}", qr{^125 .*which the final rule \Q$dir\E}s, "$who->{name}: a final rule keeps sockets closed");
}

sub writable {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	my $near = listening($who, "$project/dev.sock");
	my $deep = listening($who, "$project/tmp/sockets/puma.sock");
	my @options = ('-p', 'workspace');
	promises($who, \@options,
		[connect => "$project/dev.sock", 'ECONNREFUSED', 'a socket in a writable folder is out of reach'],
		[connect => "$project/tmp/sockets/puma.sock", 'ECONNREFUSED', '... and one deeper'],
		[chmod => "$project/dev.sock", 'EROFS', '... its mode cannot be changed'],
		[remove => "$project/dev.sock", 'EBUSY', '... it cannot be removed'],
		[rename => "$project/tmp/sockets", 'EBUSY', '... and not be moved with its folder'],
		[rename => "$project/tmp", 'EBUSY', '... nor one above'],
		[create => "$project/tmp/sockets/new", 'ok', '... which can be written to']);
	promises($who, [@options, '--connect', "$project/tmp/sockets/puma.sock"],
		[connect => "$project/tmp/sockets/puma.sock", 'ok', 'one that is asked for is there'],
		[connect => "$project/dev.sock", 'ECONNREFUSED', '... no other']);
	ok(-S "$project/dev.sock" && -S "$project/tmp/sockets/puma.sock", "$who->{name}: and all are still there");
	unlink "$project/dev.sock", "$project/tmp/sockets/puma.sock";
}

# Those whose mode lets the caller in are covered, no others.
sub usable {
	my ($who) = @_;
	my $dir = "$who->{home}/modes";
	my $foreign = $who->{uid} ? 0 : 2001;
	my %socket = (shared => [0622, $foreign], theirs => [0700, $foreign], own => [0000, $who->{uid}]);
	my @keep = map { listening($who, "$dir/$_.sock", @{$socket{$_}}) } $> ? 'own' : sort keys %socket;
	is_deeply(covered($who, '--chdir', '/', policy($who, 'dir', root => 'deny', read => [$dir])),
		[map { "$dir/$_.sock" } 'own', $> ? () : 'shared'],
		"$who->{name}: sockets that the caller cannot use are not covered");
	promises($who, [], [connect => "$dir/theirs.sock", 'EACCES', '... and cannot be used']) if !$>;
}

# What nothing shows costs nothing.
sub hidden {
	my ($who) = @_;
	my $server = listening($who, "$who->{home}/hidden/x.sock");
	my @options = policy($who, 'deny', root => 'read', deny => ["$who->{home}/hidden"]);
	my $all = run($who, [$PLAN, '--rules', @options])->{out};
	unlike($all, qr{x\.sock}, "$who->{name}: a socket in a denied folder makes no line of --rules");
	is(run($who, [$PLAN, '--rules', '--strict', @options])->{code}, 0, "$who->{name}: nor is it something to be strict about");
	is_deeply([grep { m{hidden/} } @{covered($who, @options)}], [], "$who->{name}: nor a mount");
	my $shown = run($who, [$PLAN, '--rules', policy($who, 'read')])->{out};
	like($shown, qr{^applied +cover +deny \Q$who->{home}\E/hidden/x\.sock \(default\)$}m, "$who->{name}: one that is covered does");
	my $why = run($who, [$PLAN, '--explain', "$who->{home}/hidden/x.sock"])->{out};
	like($why, qr{access +deny$}m, "$who->{name}: --explain says that it is denied");
	like($why, qr{rule +deny \Q$who->{home}\E/hidden/x\.sock$}m, "$who->{name}: ... by which rule");
	like($why, qr{--connect \Q$who->{home}\E/hidden/x\.sock lets}m, "$who->{name}: ... and how to be granted it");
}

# Names that look like lines, and lines that nobody has written.
sub hostile {
	my ($who) = @_;
	my $dir = "$who->{home}/odd";
	my @names = ("a b", "new\nline", "\n", "x\n\ny", "tab\t", "*", "[x]", "\\", "-", "\xff\xfe", "f\n0: 2 0 1 1 1 7 ");
	folder($who, "$dir/$names[-1]");
	my @paths = map { "$dir/$_" } @names[0 .. $#names - 1], "$names[-1]/etc/passwd", 'last';
	folder($who, "$dir/$names[-1]/etc");
	my @keep = map { listening($who, $_) } @paths;
	my @options = policy($who, 'dir', root => 'read');
	is_deeply([look($who, \@options, map { [connect => $_] } @paths)], [('ECONNREFUSED') x @paths],
		"$who->{name}: sockets of all names are out of reach");
	promises($who, \@options, [read => '/etc/passwd', 'ok', 'a file at a made-up name is not covered']);
	is_deeply([look($who, [@options, '--connect', "$dir/new\nline"], map { [connect => $_] } @paths)],
		['ECONNREFUSED', 'ok', ('ECONNREFUSED') x (@paths - 2)], "$who->{name}: one can be asked for");
}

sub opened {
	my ($who) = @_;
	my $dir = "$who->{home}/open";
	fifo($who, "$dir/fifo");
	fifo($who, "$dir/asked");
	fifo($who, "$dir/below/fifo");
	listening($who, "$dir/dead.sock");
	my @options = policy($who, 'open', root => 'read', read => ["$dir/asked"], mounts => [{at => "$dir/new", from => "$dir/below"}]);
	promises($who, \@options,
		[read => "$dir/fifo", 'EACCES', 'a FIFO of a directory that is made anew is covered'],
		[write => "$dir/fifo", 'EACCES', '... for both ends'],
		[read => "$dir/dead.sock", 'EACCES', '... and a socket that nobody holds'],
		[write => "$dir/asked", 'ENXIO', '... but not a FIFO that a rule names'],
		[write => "$dir/new/fifo", 'ENXIO', '(nor one that is not looked for)']);
	my $why = run($who, [$PLAN, @options, '--explain', "$dir/fifo", '--explain', "$dir/dead.sock"])->{out};
	like($why, qr{a FIFO in an opened directory.*--read \Q$dir/fifo\E shows it}, "$who->{name}: --explain says how a FIFO is shown");
	like($why, qr{--connect \Q$dir/dead.sock\E shows it}, "$who->{name}: ... and a socket");
}

sub survey {
	my ($who) = @_;
	my $dir = "$who->{home}/left";
	my @keep = (listening($who, "$dir/live.sock"), listening($who, "$dir/docker.sock"), listening($who, "$dir/e\e.sock"));
	listening($who, "$dir/deep/er/dead.sock");
	fifo($who, "$dir/fifo");
	put($who, "$dir/file", '');
	symlink "$dir/fifo", "$dir/link" or die;
	folder($who, "$dir/shut");
	chmod 0311, "$dir/shut" or die;
	my @options = policy($who, 'left', root => 'deny', read => [$dir], mounts => [{at => '/m', from => "$dir/deep"}],
		connect => ["$dir/docker.sock", "$dir/e\e.sock"]);
	my $got = run($who, [$PLAN, '--sockets', '--json', @options]);
	my $all = JSON::PP->new->utf8->decode($got->{out} || '[]');
	is_deeply([map { [@$_{qw(path host kind)}, $_->{rule}{pointer}] } grep { $_->{path} } @$all], [
		['/m/er/dead.sock', "$dir/deep/er/dead.sock", 'a socket', '/filesystem/mounts/0'],
		["$dir/deep/er/dead.sock", "$dir/deep/er/dead.sock", 'a socket', '/filesystem/read/0'],
		["$dir/docker.sock", "$dir/docker.sock", 'a socket', '/filesystem/connect/0'],
		["$dir/e\e.sock", "$dir/e\e.sock", 'a socket', '/filesystem/connect/1'],
		["$dir/fifo", "$dir/fifo", 'a FIFO', '/filesystem/read/0'],
	], "$who->{name}: --sockets lists what is left, and nothing else") or diag($got->{err}, explain($all));
	is_deeply([grep { $_->{unlisted} } @$all], [{unlisted => "$dir/shut", error => 'EACCES'}],
		"$who->{name}: ... and what could not be listed");
	is_deeply([map { $_->{path} } grep { ($_->{danger} // '') =~ /container engine/ } @$all], ["$dir/docker.sock"],
		"$who->{name}: ... with what is dangerous");
	my $text = run($who, [$PLAN, '--sockets', @options])->{out};
	like($text, qr{^\Q$dir/docker.sock\E\n  kind +a socket\n  rule +connect .*\n  from .*\n  DANGER +a container}m, "$who->{name}: for people");
	unlike($text, qr{\e}, "$who->{name}: whose terminal nothing steers");
	like($text, qr{^\Q$dir/shut\E\n  unlisted +EACCES}m, "$who->{name}: who are told what is not known");
	chmod 0755, "$dir/shut" or die;
	is(run($who, [$PLAN, '--sockets', policy($who, 'none', root => 'deny', read => ["$dir/file"]), '--chdir', '/'])->{out},
		"no socket or FIFO of the host is shown that the command could use\n", "$who->{name}: or that nothing is left");
	is(run($who, [$PLAN, '--sockets', '--rules'])->{code}, 2, "$who->{name}: one question at a time");
}

# A socket that goes away between the plan and the mounts: bwrap is made to come just after that.
sub vanishing {
	my ($who) = @_;
	my $socket = "$who->{home}/brief/x.sock";
	my $real = which('bwrap');
	my $bwrap = put($who, "$who->{home}/bwrap", <<"END", 0755);
#!/bin/sh
case \$* in */nothing) ;; *) rm -f $socket ;; esac
exec $real "\$@"
END
	my $input = put($who, "$who->{home}/input", "line\n" x 20000);
	my $report = "$who->{home}/report.json";
	my $server = listening($who, $socket);
	my $got = run($who, [$EXEC, '--report', $report, '--bwrap', $bwrap, '--', 'cat'], before => sub {
		open my $in, '<', $input or die;
		POSIX::dup2(fileno $in, 0);
	});
	is($got->{code}, 0, "$who->{name}: a run whose socket went away while it was made is made anew") or diag($got->{err});
	is(length $got->{out}, 100000, "$who->{name}: and nothing of its input is lost");
	ok(!-e $socket, "$who->{name}: nothing is left where the socket was");
	is(scalar(grep { /^made anew: a file, socket or mount/ } @{JSON::PP->new->decode(slurp($report) // '{}')->{notes} || []}), 1,
		"$who->{name}: and a note says so");
	unlink $report;
}

# Mounts are made by root in a namespace of their own; the run is the caller's.
sub mounted {
	my ($who) = @_;
	my $dir = "$who->{home}/srv";
	my $server = listening($who, "$dir/far.sock");
	folder($who, "$who->{home}/alias");
	put($who, "$who->{home}/point.sock", '');
	my $as = sub {
		my ($how, $mounts, @paths) = @_;
		my $got = run({%$who, uid => 0, gid => 0}, ['unshare', $how, '--propagation', 'private', 'sh', '-ec',
			"$mounts; exec setpriv --reuid $who->{uid} --regid $who->{gid} --clear-groups \"\$@\"", 'sh',
			$EXEC, '--read', './', '--', 'perl', '-e', look_program(), map { (connect => $_) } @paths]);
		return $got->{out} . $got->{err};
	};
	is($as->('-m', "mount --bind $dir $who->{home}/alias", "$who->{home}/alias/far.sock", "$dir/far.sock"),
		"ECONNREFUSED\nECONNREFUSED\n", "$who->{name}: a bind mount of its directory does not show it");
	is($as->('-mn', "mount --bind $dir/far.sock $who->{home}/point.sock", "$who->{home}/point.sock", "$dir/far.sock"),
		"ECONNREFUSED\nECONNREFUSED\n", "$who->{name}: nor does a mount of itself, where the network does not know it");
	is($as->('-mn', ':', "$dir/far.sock"), "ok\n", "$who->{name}: (one of another network namespace is not known)");
}

for my $who (callers()) {
	readable($who);
	writable($who);
	usable($who);
	hidden($who);
	hostile($who);
	opened($who);
	survey($who);
	vanishing($who);
	mounted($who) if !$>;
}
done_testing();
