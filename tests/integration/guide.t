#!/usr/bin/perl
# What docs/guide.md and README.md show is what comes out. Each section is run by an ordinary user in a home of its own, in
# its directory "site": a block ```LANGUAGE FILE is a file, ```console a session, ```console PROGRAM one that is skipped
# where there is no such program. There "..." stands for anything, as a line for any lines, and ids and durations differ.
#
#   guide.t [FILE]    the sessions of that file alone, by the ordinary user who calls, with HOME and PATH as they are
use strict;
use warnings;
use FindBin;
use IO::Handle;
use Test::More;
my @own;
BEGIN {
	@own = @ENV{qw(HOME PATH)} if @ARGV;
	require "$FindBin::Bin/job-lib.pl";
}
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
		%ENV = (environment($who), HOME => $home, PATH => @own ? $own[1] : "$top/bin:$ENV{PATH}");
		become($who);
		chdir "$home/site" or die;
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

my @files = @ARGV ? @ARGV : map { "$FindBin::Bin/../../$_" } qw(docs/guide.md README.md);
my $n = 0;
my @sections = map {
	my @shown = grep { grep { /^console\b/ } @$_ } sections(slurp($_) // die "$_: $!");
	ok(scalar @shown, s{.*/}{}r . ' shows sessions');
	@shown;
} @files;
for my $section (@sections) {
	my ($title, @blocks) = @$section;
	my $home = @own ? $own[0] : "$top/guide" . $n++;
	my (%ids, $shell);
	my $real = sub { $_[0] =~ s{/home/ann\b}{$home}gr =~ s/\b([0-9a-f]{8})\b/$ids{$1} || $1/ger };
	for my $dir ($home, "$home/site") {
		mkdir $dir and !$> and chown $who->{uid}, $who->{gid}, $dir;
	}
	put($who, "$home/sbx/contrib/policies/" . s{.*/}{}r, slurp($_)) for @own ? () : glob "$FindBin::Bin/../../contrib/policies/*.json";
	while (my ($info, $block) = splice @blocks, 0, 2) {
		my (undef, $name) = split / /, $info;
		if ($info !~ /^console\b/) {
			put($who, "$home/site/$name", $real->($block)) if defined $name;
			next;
		}
		SKIP: {
			skip("$title: $name is not installed", 1) if defined $name && !grep { -x "$_/$name" } split /:/, $ENV{PATH};
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
	}
	next if !$shell;
	close $shell->{in};
	waitpid $shell->{pid}, 0;
	my %how = (env => {HOME => $home});
	is(scalar(grep { $_->{state} eq 'running' } values %{listed($who, %how)}), 0, "$title: no job runs on");
	job($who, ['stop', '--all'], %how);
}
done_testing();
