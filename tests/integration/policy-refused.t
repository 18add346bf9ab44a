# Bad input: one clear message "sbx-exec: ..." with a hint, the right exit code, nothing run, nothing left behind.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $PLAN, $EXEC);

my @echo = qw(-- echo RAN);

# Runs a command line that must be refused with the code and a message like the pattern; gives what it said.
sub refused {
	my ($who, $name, $code, $pattern, $command, %how) = @_;
	my $before = listing($who->{home});
	my $got = run($who, $command, %how);
	$name = "$who->{name}: $name";
	is($got->{code}, $code, "$name: exit code $code") or diag($got->{out}, $got->{err});
	like($got->{err}, $pattern, "$name: the message says so");
	like($got->{err}, qr/\Asbx-exec: [^\n]+\nsbx-exec: hint: [^\n]+\n\z/, "$name: one message and one hint");
	is($got->{out}, '', "$name: nothing ran");
	is(listing($who->{home}), $before, "$name: nothing is left behind");
}

sub policies {
	my ($who) = @_;
	my $dir = "$who->{home}/policies";
	my $file = sub { put($who, "$dir/$_[0].json", $_[1], $_[2]) };
	my $exec = sub { [$EXEC, '-p', $_[0], @echo] };

	refused($who, 'no such policy file', 125, qr{\Q$dir\E/none\.json}, $exec->("$dir/none.json"));
	refused($who, 'no such policy name', 125, qr/nosuch/, $exec->('nosuch'));
	refused($who, 'a folder as policy', 125, qr/\Q$dir\E/, $exec->("$dir/"));
	refused($who, 'an empty policy', 125, qr/line 1, column 1\b/, $exec->($file->(empty => '')));
	refused($who, 'a syntax error', 125, qr/line 3, column 1\b/, $exec->($file->(syntax => "{\n\"sbx\": 1,\n}\n")));
	refused($who, 'an unknown key', 125, qr{/filesystem/raed}, $exec->($file->(unknown => '{"sbx": 1, "filesystem": {"raed": []}}')));
	refused($who, 'a key that comes later', 125, qr{/seccomp}, $exec->($file->(later => '{"sbx": 1, "seccomp": "default"}')));
	refused($who, 'a wrong type', 125, qr{/filesystem/read/1}, $exec->($file->(type => '{"sbx": 1, "filesystem": {"read": ["/usr", 7]}}')));
	refused($who, 'rules that contradict each other', 125, qr{^(?=.*/filesystem/read/0)(?=.*/filesystem/deny/1)}s,
		$exec->($file->(contradict => '{"sbx": 1, "filesystem": {"read": ["/usr"], "deny": ["/x", "/usr"]}}')));
	refused($who, 'a grant that is not there', 125, qr{/nonexistent/grant},
		[$EXEC, qw(--read /nonexistent/grant), @echo]);
	SKIP: {
		skip 'root reads every file', 5 if !$who->{uid};
		refused($who, 'an unreadable policy', 125, qr{secret\.json.*Permission denied},
			$exec->($file->(secret => '{"sbx": 1}', 0000)));
	}
}

sub command_lines {
	my ($who) = @_;
	refused($who, 'an unknown option', 2, qr/--nosuch/, [$EXEC, '--nosuch', @echo]);
	refused($who, 'an option without its value', 2, qr/--read/, [$EXEC, '--read']);
	refused($who, 'no command', 2, qr/command/, [$EXEC]);
	refused($who, 'no command after --', 2, qr/command/, [$EXEC, '--']);
	refused($who, 'a value out of range', 2, qr/--timeout/, [$EXEC, qw(--timeout soon), @echo]);
	refused($who, 'a network that does not exist', 2, qr/--net/, [$EXEC, qw(--net some), @echo]);
}

sub commands {
	my ($who) = @_;
	my $home = $who->{home};
	put($who, "$home/text", "echo RAN\n", 0644);
	put($who, "$home/no-interpreter", "#!/nonexistent/interpreter\n", 0755);
	put($who, "$home/.ssh/tool", "#!/bin/sh\necho RAN\n", 0755);
	refused($who, 'a missing command', 127, qr/nosuchcommand/, [$EXEC, qw(-- nosuchcommand)]);
	refused($who, 'a missing path', 127, qr{/nosuch/command}, [$EXEC, qw(-- /nosuch/command)]);
	refused($who, 'a file that may not be executed', 126, qr{\Q$home\E/text}, [$EXEC, '--', "$home/text"]);
	refused($who, 'a folder as command', 126, qr{/usr}, [$EXEC, qw(-- /usr)]);
	refused($who, 'a script without its interpreter', 126, qr{/nonexistent/interpreter},
		[$EXEC, '--', "$home/no-interpreter"]);
	refused($who, 'a command in a hidden folder', 126, qr{\.ssh}, [$EXEC, '--', "$home/.ssh/tool"]);
}

sub host {
	my ($who) = @_;
	refused($who, 'no bwrap at the path given', 125, qr{/nonexistent/bwrap},
		[$EXEC, qw(--bwrap /nonexistent/bwrap), @echo]);
	SKIP: {
		skip 'only root can hide bwrap', 5 if $>;
		# An empty file over it, in a mount namespace of the test's own.
		my $script = 'mount --bind "$1" "$2"; shift 2; exec "$@"';
		my @user = $who->{uid} ? ('setpriv', "--reuid=$who->{uid}", "--regid=$who->{gid}", '--clear-groups') : ();
		refused({%$who, uid => 0, gid => 0}, 'no bwrap installed', 125, qr/bwrap/, [qw(unshare -m --propagation private),
			'sh', '-ec', $script, 'sh', put($who, "$top/empty", ''), which('bwrap'), @user, $EXEC, @echo]);
	}
	# In a user namespace of our own, where no further one may be made. There the owner of the system's bwrap is unknown.
	my $bwrap = put($who, "$who->{home}/bwrap", slurp(which('bwrap')), 0755);
	my $script = '[ "$(readlink /proc/self/ns/user)" != "$1" ] && echo 0 >/proc/sys/user/max_user_namespaces &&
		shift && exec "$@"';
	SKIP: {
		skip 'no user namespace for the test', 5 if run($who, [qw(unshare -Ur true)])->{code};
		refused($who, 'no user namespaces', 125, qr/namespace/, ['unshare', '-Ur', 'sh', '-ec', $script, 'sh',
			readlink('/proc/self/ns/user'), $EXEC, '--bwrap', $bwrap, @echo]);
	}
}

# A path or text from outside reaches the terminal with its control bytes escaped.
sub escaped {
	my ($who) = @_;
	my $got = run($who, [$EXEC, '-p', "/no/\e]0;title\a\nsbx-exec: fake", @echo]);
	unlike($got->{err}, qr/[\e\a]/, "$who->{name}: control bytes in a message are escaped");
	unlike($got->{err}, qr/^sbx-exec: fake/m, "$who->{name}: a newline in a name begins no line");
}

for my $who (callers()) {
	subtest "$who->{name}: policies" => sub { policies($who) };
	subtest "$who->{name}: command lines" => sub { command_lines($who) };
	subtest "$who->{name}: commands" => sub { commands($who) };
	subtest "$who->{name}: the host" => sub { host($who) };
	subtest "$who->{name}: messages" => sub { escaped($who) };
}
done_testing();
