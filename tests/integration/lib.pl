# What the integration tests share: callers (root, and an ordinary user when root runs the tests), a place of their own,
# and ways to run sbx-exec, sbx-plan, sbx-job and what is inside. Core modules only.
#
#   BEGIN { require "$FindBin::Bin/lib.pl" }
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use IO::Select;
use POSIX ();
use Test::More;

$ENV{PATH} = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin';
umask 022;

# All that a test makes lies in here, under a folder that is no part of /tmp (inside, /tmp is the sandbox's own), and is
# removed at the end. The programs are copied to where every user may reach them.
our ($top, $PLAN, $EXEC, $JOB);
if (!$^C) { # perl -c makes nothing
	$top = abs_path(tempdir('sbx-test.XXXXXX', DIR => '/var/tmp', CLEANUP => 1));
	($PLAN, $EXEC, $JOB) = map { "$top/bin/sbx-$_" } qw(plan exec job);
	my $build = $ENV{SBX_BUILD} || abs_path("$FindBin::Bin/../../build");
	chmod 0755, $top or die;
	mkdir "$top/bin" or die;
	for my $tool (qw(sbx-plan sbx-exec sbx-job)) {
		copy("$build/$tool", "$top/bin/$tool") or die "$build/$tool: $!";
		chmod 0755, "$top/bin/$tool" or die;
	}
}

# Who runs the tests: {name, uid, gid, home}. Each has a home of its own below $top, with 'project' in it.
sub callers {
	my @who = $> ? (['user', $>, $) + 0]) : (['root', 0, 0], ['user', 2001, 2001]);
	return map {
		my ($name, $uid, $gid) = @$_;
		my $home = "$top/$name";
		if (!-d $home) {
			mkdir $_ or die "$_: $!" for $home, "$home/project";
			chown $uid, $gid, $home, "$home/project" if !$>;
		}
		{name => $name, uid => $uid, gid => $gid, home => $home};
	} @who;
}

# Writes a file that belongs to the caller, making missing folders.
sub put {
	my ($who, $path, $text, $mode) = @_;
	my $dir = '';
	for my $part (split m{/}, $path =~ s{/[^/]*$}{}r) {
		$dir .= "$part/";
		next if -d $dir;
		mkdir $dir or die "$dir: $!";
		chown $who->{uid}, $who->{gid}, $dir if !$>;
	}
	open my $out, '>', $path or die "$path: $!";
	print $out $text;
	close $out or die;
	chmod $mode, $path if defined $mode;
	chown $who->{uid}, $who->{gid}, $path if !$>;
	return $path;
}

sub slurp {
	my ($path) = @_;
	open my $in, '<', $path or return undef;
	local $/;
	return scalar <$in>;
}

# Runs a command as a caller and waits: run($who, [COMMAND...], env => {...}, cwd => DIR, stdin => TEXT, limit => SECONDS,
# before => sub {in the child}). The environment is that of environment() plus env. Gives {out, err, code, signal}.
sub run {
	my ($who, $command, %how) = @_;
	my %pipe;
	for my $name (qw(in out err)) {
		pipe my $r, my $w or die;
		$pipe{$name} = [$r, $w];
	}
	my $pid = fork // die;
	if (!$pid) {
		POSIX::dup2(fileno $pipe{in}[0], 0);
		POSIX::dup2(fileno $pipe{out}[1], 1);
		POSIX::dup2(fileno $pipe{err}[1], 2);
		%ENV = environment($who, $how{env});
		become($who);
		chdir($how{cwd} || "$who->{home}/project") or die "chdir: $!";
		alarm($how{limit} || 120);
		$how{before}->() if $how{before};
		no warnings 'exec';
		exec {$command->[0]} @$command or print STDERR "exec $command->[0]: $!\n";
		POSIX::_exit(99);
	}
	close $pipe{in}[0];
	close $pipe{$_}[1] for qw(out err);
	local $SIG{PIPE} = 'IGNORE';
	syswrite $pipe{in}[1], $how{stdin} // '';
	close $pipe{in}[1];
	my %got = (out => '', err => '');
	my $select = IO::Select->new(map { $pipe{$_}[0] } qw(out err));
	while ($select->count) {
		for my $fh ($select->can_read) {
			my $name = $fh == $pipe{out}[0] ? 'out' : 'err';
			sysread($fh, $got{$name}, 65536, length $got{$name}) or $select->remove($fh);
		}
	}
	waitpid $pid, 0;
	return {%got, code => $? >> 8, signal => $? & 127};
}

# The environment of a caller, HOME, PATH, LANG=C and an XDG_RUNTIME_DIR of its own, and more.
sub environment {
	my ($who, $more) = @_;
	my $runtime = "$top/run-$who->{uid}";
	mkdir $runtime, 0700 and !$> and chown $who->{uid}, $who->{gid}, $runtime;
	return (HOME => $who->{home}, PATH => $ENV{PATH}, LANG => 'C', XDG_RUNTIME_DIR => $runtime, %{$more || {}});
}

# Becomes the caller for good: no groups but its own.
sub become {
	my ($who) = @_;
	return if $>;
	$) = "$who->{gid} $who->{gid}";
	POSIX::setgid($who->{gid});
	POSIX::setuid($who->{uid});
}

# Opens things inside the sandbox and says how each ended: look($who, [SBX-EXEC OPTION...], [VERB, PATH]...) gives a list
# of words, "ok" or the name of the error (EROFS ...); one "no run: ..." when sbx-exec itself failed. Verbs:
#   read    open for reading and read a byte        write   open for writing, nothing is written
#   create  make a new file, and remove it again    mkdir   the same with a folder
#   make    make a new file that stays              list    read a folder
#   rename (to PATH.moved), remove, chmod, stat, connect (to a Unix socket)
sub look {
	my ($who, $options, @asked) = @_;
	my $got = run($who, [$EXEC, @$options, '--', 'perl', '-e', look_program(), map { @$_ } @asked]);
	return "no run: $got->{code} $got->{err}" if $got->{code} || $got->{signal};
	return split /\n/, $got->{out};
}

sub look_program {
	return <<'END';
use Errno; use Fcntl; use Socket;
sub name { return (grep { $!{$_} } sort keys %!)[0] }
while (my ($verb, $path) = splice @ARGV, 0, 2) {
	my $done = $verb eq "read" ? sysopen(R, $path, O_RDONLY | O_NONBLOCK) && defined sysread(R, $byte, 1)
		: $verb eq "write" ? sysopen(W, $path, O_WRONLY | O_NONBLOCK)
		: $verb eq "create" ? sysopen(C, $path, O_WRONLY | O_CREAT | O_EXCL) && unlink($path)
		: $verb eq "make" ? sysopen(M, $path, O_WRONLY | O_CREAT | O_EXCL)
		: $verb eq "list" ? opendir(D, $path)
		: $verb eq "mkdir" ? mkdir($path) && rmdir($path)
		: $verb eq "rename" ? rename($path, "$path.moved")
		: $verb eq "remove" ? unlink($path) || (-d $path && rmdir $path)
		: $verb eq "chmod" ? chmod(0755, $path)
		: $verb eq "stat" ? stat($path)
		: $verb eq "connect" ? socket(S, AF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un($path))
		: die "verb $verb";
	print $done ? "ok" : name(), "\n";
}
END
}

# A table of looks: each row is [VERB, PATH, RESULT, PROMISE]; one test a row.
sub promises {
	my ($who, $options, @rows) = @_;
	my @got = look($who, $options, map { [@$_[0, 1]] } @rows);
	return is($got[0], 'a run', "$who->{name}: the promises can be looked at") if @got < @rows;
	is($got[$_], $rows[$_][2], "$who->{name}: $rows[$_][3]") for 0 .. $#rows;
}

# The output of a shell command inside, or "no run: ..." with the reason.
sub inside {
	my ($who, $options, $script, %how) = @_;
	my $got = run($who, [$EXEC, @$options, '--', 'sh', '-c', $script], %how);
	return $got->{out} if !$got->{code} && !$got->{signal};
	return "no run: $got->{code} $got->{out}$got->{err}";
}

# Every name below a folder with type, mode and size, for "nothing is left behind".
sub listing {
	my ($dir) = @_;
	return scalar `cd '$dir' && find . -printf '%y %m %p\\n' | LC_ALL=C sort`;
}

# Words that go before a command: in a mount namespace of its own with /proc as most containers have it, masked, so that no
# fresh one can be mounted.
sub masked_proc {
	return ('unshare', '-m', '--propagation', 'private', 'sh', '-c',
		'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"', 'sh');
}

# Where a program is, or undef.
sub which {
	my ($name) = @_;
	return (grep { -x } map { "$_/$name" } split /:/, $ENV{PATH})[0];
}

1;
