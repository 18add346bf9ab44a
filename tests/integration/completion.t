#!/usr/bin/perl
# What bash, zsh and fish complete: typed into bash and zsh on a terminal of script(1)'s, and asked of fish.
use strict;
use warnings;
use FindBin;
use Test::More;
use Time::HiRes qw(sleep);
BEGIN { require "$FindBin::Bin/job-lib.pl" }
our ($top, $EXEC, $PLAN, $JOB);

my $who = (callers())[-1];
my $project = "$who->{home}/project";
my $from = "$FindBin::Bin/../../contrib/completions";
my $loaded = '/usr/share/bash-completion/bash_completion';
my %how = (env => {PATH => "$top/bin:$ENV{PATH}", SBX_TEST_NAME => 1, TERM => 'dumb', ZDOTDIR => "$top/zsh", XDG_DATA_DIRS => "$top/share"});
put($who, "$top/share/fish/vendor_completions.d/sbx-$_.fish", slurp("$from/sbx.fish")) for qw(plan exec job);
put($who, "$top/zsh/functions/_sbx", slurp("$from/_sbx"));

# Control-G puts in all that is offered, control-T notes the line.
put($who, "$top/bash", <<"END");
bind 'set bell-style none'
bind '"\\C-g": insert-completions'
bind -x '"\\C-t": printf "%s\\\\n" "\$READLINE_LINE" >>\$NOTES'
[[ \$LOADED ]] && . \$LOADED
. $from/sbx.bash
echo begun >>\$NOTES
END
put($who, "$top/zsh/.zshrc", <<'END');
fpath=($ZDOTDIR/functions $fpath)
autoload -Uz compinit && compinit -D -u
zle -C all complete-word _generic
zstyle ':completion:all:*' completer _all_matches _complete
zstyle ':completion:all:*' insert yes
zstyle ':completion:all:*' verbose no
note() { print -r -- $BUFFER >>$NOTES }
zle -N note
bindkey '^G' all '^T' note '^U' kill-whole-line
echo begun >>$NOTES
END

# What a shell offers for each line: a sorted list of words, without what an option or a path of two begins with
# and the slash of a directory.
sub offered {
	my ($shell, $env, @lines) = @_;
	my %with = (%how, env => {%{$how{env}}, %$env});
	my @got = $shell eq 'fish' ? asked_of_fish(\%with, @lines) : typed($shell, \%with, @lines);
	return map { [sort map { s{^.*[:=](?=.)|/\z}{}gr } @$_] } @got;
}

sub asked_of_fish {
	my ($with, @lines) = @_;
	my $got = run($who, ['fish', '-c', 'for line in $argv; complete -C $line; echo; end', @lines], %$with);
	diag($got->{err}) if $got->{err};
	my @offers = map { [map { s/\t.*//r } split /\n/] } split /^\n/m, $got->{out}, -1;
	return @offers[0 .. $#lines];
}

sub typed {
	my ($shell, $with, @lines) = @_;
	my $notes = "$top/notes." . int rand 1e9;
	put($who, $notes, '');
	pipe my $r, my $w or die;
	my $pid = fork // die;
	if (!$pid) {
		close $w;
		POSIX::dup2(fileno $r, 0);
		open STDOUT, '>', "$notes.screen" or die;
		%ENV = (environment($who, $with->{env}), NOTES => $notes);
		become($who);
		chdir $project or die;
		exec 'script', '-qec', $shell eq 'zsh' ? 'zsh -i' : "bash --rcfile $top/bash -i", '/dev/null' or POSIX::_exit(99);
	}
	close $r;
	my @offers;
	for my $line ('', @lines) {
		my $before = () = slurp($notes) =~ /\n/g;
		syswrite $w, "$line\cG\cT\cU" if length $line;
		my @notes;
		for (1 .. 600) {
			@notes = split /\n/, slurp($notes);
			last if @notes > $before;
			sleep 0.05;
		}
		my $note = $notes[$before] // do { diag("$shell: no answer to $line"); last };
		push @offers, [split_words($line, $note)] if length $line;
	}
	kill 'HUP', $pid;
	close $w;
	waitpid $pid, 0;
	return @offers;
}

# The words that stand where the last one of line did; none if it is still the same.
sub split_words {
	my ($line, $note) = @_;
	my ($stays) = $line =~ /\A(.*\s)/;
	return () if $note =~ /\A\Q$line\E\s*\z/;
	return $note =~ /\A\Q$stays\E(.*)\z/ ? split(/(?<!\\) +/, $1) : "?? $note";
}

# The options and commands of --help.
sub helped {
	my ($text) = @_;
	my @names;
	for (split /\n/, $text) {
		push @names, $1 if /^  ([a-z]+) /;
		push @names, grep { defined } /^  (-\S)?,? +(--[a-z-]+)?/ if /^ {2,6}-/;
	}
	return sort @names;
}

mkdir "$project/$_" and $> || chown $who->{uid}, $who->{gid}, "$project/$_" for 'data', 'some where';
put($who, "$project/date", '');
put($who, "$project/policy.json", '{"sbx": 1}');
my $hostile = "\$(touch pwned) `touch pwned` \e[31m %F{red} : \\";
my ($runs, $ended) = (begin($who, '--', 'sleep', 100), begin($who, '--', 'true', $hostile, "\x07"));
job($who, ['wait', $ended]);
my @policies = sort map { s{.*/|\.json}{}gr } glob "$FindBin::Bin/../../policies/*.json";

my @lines = (
	['sbx-job ', [helped(job($who, ['--help'])->{out})]],
	['sbx-exec -p ', \@policies, zsh => ['./data', './policy.json', './some\\ where', @policies]],
	['sbx-exec --policy=st', ['strict']],
	['sbx-exec -p ./po', ['./policy.json']],
	['sbx-exec --proc ', [qw(auto bind fresh none)]],
	['sbx-plan --net=', [qw(host none)]],
	['sbx-plan --net=h', ['host']],
	['sbx-job start --user ', [qw(caller owner)]],
	['sbx-exec --require f', [qw(file_size fresh-proc)]],
	['sbx-exec --read ./da', ['./data', './date']],
	['sbx-exec --bind ./data:./da', ['./data', './date']],
	['sbx-plan --map host:./dat', ['./data', './date']],
	['sbx-job start --script dat', ['data', 'date']],
	['sbx-exec --output-dir dat', ['data']],
	['sbx-exec --inherit SBX_TES', ['SBX_TEST_NAME']],
	['sbx-exec --timeout ', []],
	['sbx-exec --timeout 1 --bind /a:/b:ro --net=none --pro', [qw(--probe --proc --processes --progress)]],
	['sbx-exec sbx-pl', ['sbx-plan']],
	['sbx-exec -p strict -- sbx-pl', ['sbx-plan']],
	['sbx-exec ls ./da', ['./data', './date']],
	['sbx-job list ', [], zsh => [grep { /^-/ } helped(job($who, ['list', '--help'])->{out})]],
	['sbx-job read ', [sort $runs, $ended]],
	['sbx-job read --lines 3 ', [sort $runs, $ended]],
	['sbx-job wait -- ', [sort $runs, $ended]],
	['sbx-job stop ', [$runs]],
	['sbx-job rm ', [$ended]],
	['sbx-job report ', [$ended]],
	['sbx-job nothing ', []],
);
# A command's own completion.
my @own = (
	['sbx-exec -- sbx-plan --ch', [qw(--chdir --check)]],
	['sbx-exec --net none -- sbx-plan --ch', [qw(--chdir --check)]],
	['sbx-exec --env A=B sbx-job start --sp', ['--split']],
	['sbx-job start -p strict sbx-job r', [qw(read report rm)]],
);
for my $tool ('sbx-plan', 'sbx-exec', map { "sbx-job $_" } '', qw(start list read wait stop rm report)) {
	my ($name, @command) = split ' ', $tool;
	my $help = run($who, ["$top/bin/$name", @command, '--help'])->{out};
	push @lines, [($tool =~ s/ $//r) . ' -', [grep { /^-/ } $tool eq 'sbx-job ' ? qw(-h --help --version --completion) : helped($help)]];
}

for my $shell ('bash', 'bash-completion', 'zsh', 'fish') {
	my $there = $shell eq 'bash-completion' ? -e $loaded : which($shell);
	if (!$there) {
		SKIP: {
			skip "$shell is not installed: its completion is not tried", 1 if !$ENV{CI};
			fail("$shell is not installed");
		}
		next;
	}
	my @asked = (@lines, $shell eq 'bash' ? () : @own);
	my %env = $shell eq 'bash-completion' ? (LOADED => $loaded) : ();
	my @got = offered($shell, \%env, map { $_->[0] } @asked);
	for my $i (0 .. $#asked) {
		my ($line, $offered, %instead) = @{$asked[$i]};
		is_deeply($got[$i], [sort @{$instead{$shell} || $offered}], "$shell: $line");
	}
	is_deeply([offered($shell, {%env, SBX_STATE => 'nowhere'}, 'sbx-job read ')], [[]], "$shell: no jobs where they cannot be listed");
	is_deeply([offered($shell, {%env, PATH => $ENV{PATH}}, 'sbx-exec --re')], [[]], "$shell: nothing without the tools");
}
is_deeply([glob "$project/pwned*"], [], 'what is in a command is never run');
job($who, ['stop', '--all']);
job($who, ['rm', '--ended']);
done_testing();
