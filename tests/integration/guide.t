#!/usr/bin/perl
# What docs/guide.md shows is what comes out. Each section is run by an ordinary user in a home of its own, in its
# directory "work": a block ```LANGUAGE FILE is a file, ```console a session. There "..." stands for anything, as a line
# for any lines, and ids and durations differ.
use strict;
use warnings;
use FindBin;
use IO::Handle;
use Test::More;
BEGIN { require "$FindBin::Bin/job-lib.pl" }
our $top;

my $who = (callers())[-1];

# The sections: [TITLE, [INFO, TEXT]...].
sub sections {
	my ($text) = @_;
	my @sections;
	for (split /^(?=## )/m, $text) {
		my ($title) = /^## (.*)/ or next;
		push @sections, [$title, /^```(.*)\n((?s:.*?))^```$/mg];
	}
	return @sections;
}

# A shell as the user has it; answer($shell, $command) gives what it prints.
sub shell {
	my ($home) = @_;
	pipe my $in_r, my $in or die;
	pipe my $out, my $out_w or die;
	my $pid = fork // die;
	if (!$pid) {
		POSIX::dup2(fileno $in_r, 0);
		POSIX::dup2(fileno $out_w, $_) for 1, 2;
		close $_ for $in, $out;
		%ENV = (environment($who), HOME => $home, PATH => "$top/bin:$ENV{PATH}");
		become($who);
		chdir "$home/work" or die;
		exec 'bash', '--norc' or POSIX::_exit(99);
	}
	$in->autoflush;
	return {pid => $pid, in => $in, out => $out};
}

sub answer {
	my ($shell, $command) = @_;
	print {$shell->{in}} "eval '", $command =~ s/'/'\\''/gr, "' </dev/null\nprintf '\\036'\n";
	local $/ = "\036";
	local $SIG{ALRM} = sub { kill 'KILL', $shell->{pid} };
	alarm 60;
	my $got = readline $shell->{out};
	alarm 0;
	return defined $got ? $got =~ s/\036\z//r : "no answer\n";
}

# A text without what differs from run to run. A shell that is not interactive says more of a killed command.
sub same {
	return $_[0] =~ s/\b[0-9a-f]{8}\b/ID/gr =~ s/ *\b\d+\.\ds/ TIME/gr =~ s/^.*: line \d+: +\d+ (Killed) .*/$1/mgr;
}

sub pattern {
	my ($shown) = @_;
	my $pattern = quotemeta same($shown);
	$pattern =~ s/^\\\.\\\.\\\.\\\n/(?:.*\\n)*?/mg;
	$pattern =~ s/\\\.\\\.\\\./.*/g;
	return qr/\A$pattern\z/;
}

my $text = slurp("$FindBin::Bin/../../docs/guide.md");
my $n = 0;
for my $section (sections($text)) {
	my ($title, @blocks) = @$section;
	my $home = "$top/guide" . $n++;
	my (%ids, $shell);
	my $real = sub { $_[0] =~ s{/home/ann\b}{$home}gr =~ s/\b([0-9a-f]{8})\b/$ids{$1} || $1/ger };
	mkdir $_ and $> || chown $who->{uid}, $who->{gid}, $_ for $home, "$home/work";
	while (my ($info, $block) = splice @blocks, 0, 2) {
		put($who, "$home/work/$1", $real->($block)) if $info =~ /^\w+ (\S+)$/;
		next if $info ne 'console';
		$shell ||= shell($home);
		for (split /^(?=\$ )/m, $block) {
			my ($command, $shown) = /\A\$ (.*\n(?:> .*\n)*)((?s:.*))/ or die "no command: $_";
			my $got = answer($shell, $real->($command =~ s/^> //mgr)) =~ s{\Q$home\E}{/home/ann}gr;
			like(same($got), pattern($shown), "$title: " . ($command =~ s/\n.*//sr)) or diag($got);
			my @shown_ids = $shown =~ /\b[0-9a-f]{8}\b/g;
			my @got_ids = $got =~ /\b[0-9a-f]{8}\b/g;
			@ids{@shown_ids} = @got_ids if @shown_ids == @got_ids;
		}
	}
	next if !$shell;
	close $shell->{in};
	waitpid $shell->{pid}, 0;
	my %how = (env => {HOME => $home});
	is(scalar(grep { $_->{state} eq 'running' } values %{listed($who, %how)}), 0, "$title: no job runs on");
	job($who, ['stop', '--all'], %how);
}
done_testing();
