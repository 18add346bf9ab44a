# sbx-plan --format tree on real files: what it says is what the command finds there, names can neither steer a terminal nor
# look like something else, and colours are for terminals alone.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($PLAN, $EXEC);

for my $who (callers()) {
	my $dir = "$who->{home}/project";
	put($who, "$dir/$_", 'x') for 'open/file', 'secret', "ev\e[2Jil", 'x        write', 'many/1', 'many/2', 'many/3', 'many/4',
		'many/5';
	put($who, "$dir/closed/file", 'x');
	chmod 0000, "$dir/closed" or die;
	put($who, "$dir/p.json", <<'END');
{"sbx": 1, "filesystem": {"proc": "none", "dev": "none", "tmpfs": [{"at": "/own", "size": "3M"}],
 "read": ["/usr", "./", {"path": "/lib", "optional": true}, {"path": "/lib64", "optional": true}],
 "write": [{"path": "./open", "why": "its output"}], "files": [{"at": "/own/hello", "text": "hello"}],
 "deny": [{"path": "./secret", "name": "keys"}, "./ev*", "./x *", {"path": "./many/*", "why": "many of them"}, "./closed"]}}
END
	my $run = run($who, [$PLAN, '-p', './p.json', '--format', 'tree']);
	my $want = <<"END";
  own/                                 write in memory, 3M: /filesystem/tmpfs...
    hello                              read  /filesystem/files/0 (p.json)
  tmp/                                 write in memory, 512M: built in
  usr/                                 read  /filesystem/read/0 (p.json)
  DIR/                                 read  /filesystem/read/1 (p.json)
    closed/                            deny  /filesystem/deny/4 (p.json)
    \$'ev\\033[2Jil'                     deny  /filesystem/deny/1 (p.json)
    many/                              read
      1 2 3 4 5                        deny  many of them (p.json)
    open/                              write its output (p.json)
    secret                             deny  keys (p.json)
    'x        write'                   deny  /filesystem/deny/2 (p.json)
END
	my $short = $dir =~ s{^/}{}r;
	my $got = $run->{out} =~ s{^  \Q$short\E/ +}{sprintf '  %-37s', 'DIR/'}mer =~ s/^(\/|  lib).*\n//mgr;
	is($got, $want, "$who->{name}: the tree");
	is($run->{code}, 0, "$who->{name}: exits with 0") or diag $run->{err};
	like($run->{out}, qr{\A/ +list  built in$}m, "$who->{name}: the root");

	# What the lines say, by whoever is inside.
	$run = run($who, [$EXEC, '-p', './p.json', '--', 'sh', '-c', <<'END']);
cat secret >&2 || echo secret; ls closed >&2 || echo closed; cat many/5 >&2 || echo many; cat x* >&2 || echo x
echo >new || echo new; echo >open/new && echo open; echo >/own/new && echo own; cat /own/hello
END
	is($run->{out}, "secret\nclosed\nmany\nx\nnew\nopen\nown\nhello", "$who->{name}: and so it is") or diag $run->{err};

	for (['', 1], ['NO_COLOR=1', 0], ['TERM=dumb', 0], ['NO_COLOR=', 1]) {
		my ($set, $color) = @$_;
		my $command = "$set $PLAN -p ./p.json --format tree";
		my $tty = run($who, ['script', '-qec', $command, '/dev/null'], env => {TERM => 'xterm', SHELL => '/bin/sh'});
		is(index($tty->{out}, "\e[31msecret\e[0m") >= 0 ? 1 : 0, $color, "$who->{name}: colours on a terminal, '$set'")
			or diag $tty->{out}, $tty->{err};
	}
	for (['--explain', '/'], ['--json'], ['--check'], ['-0']) {
		$run = run($who, [$PLAN, '-p', './p.json', '--format', 'tree', @$_]);
		is($run->{code}, 2, "$who->{name}: not together with @$_");
	}
	is(run($who, [$PLAN, '--format', 'check'])->{out}, run($who, [$PLAN, '--check'])->{out}, "$who->{name}: --format check");
	is(run($who, [$PLAN, '--format', 'html'])->{code}, 2, "$who->{name}: no such format");
	chmod 0700, "$dir/closed";
}
done_testing();
