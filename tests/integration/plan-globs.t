#!/usr/bin/perl
# Patterns in read, write and deny, with real bwrap: what they match is hidden or shown and nothing else, whatever the
# names are; the printed plan can be pasted; many matches are carried out or refused.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $PLAN, $EXEC);

# A policy file of the caller's, from the parts of its "filesystem".
sub policy {
	my ($who, %filesystem) = @_;
	my %policy = (sbx => 1, extends => ['default'], filesystem => \%filesystem);
	return put($who, "$who->{home}/policy.json", JSON::PP->new->utf8->canonical->encode(\%policy));
}

# How reading each of the paths ends, inside.
sub read_all {
	my ($who, $options, @paths) = @_;
	return [look($who, $options, map { ['read', $_] } @paths)];
}

sub env_files {
	my ($who) = @_;
	my $project = "$who->{home}/project";
	my @hidden = map { "$project/$_" } '.env', map { ("d$_/.env", "d$_/deep/er/.env", "d$_/.env.local") } 1 .. 20;
	my @shown = map { "$project/$_" } 'env', map { ("d$_/x.env", "d$_/deep/env", "d$_/.environment") } 1 .. 20;
	my $outside = put($who, "$who->{home}/other/.env", 'x');
	put($who, $_, 'x') for @hidden, @shown;
	put($who, "$project/node_modules/a/b/file", 'x');
	symlink '../other', "$project/link" or -l "$project/link" or die;
	my $policy = policy($who, write => ['./'], deny => ['./**/.env', './**/.env.*', './**/node_modules']);
	my @options = ('-p', $policy);
	is_deeply(read_all($who, \@options, @hidden), [('EACCES') x @hidden], "$who->{name}: every .env is hidden");
	is_deeply(read_all($who, \@options, @shown), [('ok') x @shown], "$who->{name}: and nothing that is named otherwise");
	promises($who, \@options,
		['read', $outside, 'ok', 'what a link of the project leads to is not'],
		['list', "$project/node_modules", 'EACCES', 'a directory is hidden as a whole'],
		['rename', "$project/d1/deep/er/.env", 'EBUSY', 'a hidden file keeps its name'],
		['create', "$project/d1/new", 'ok', 'the project can be written'],
		['create', "$project/d1/new/.env", 'ENOENT', '(of a directory that is not there)'],
		['create', "$project/d1/deep/.env", 'ok', 'a name made later is not matched']);
	my $plan = run($who, [$PLAN, @options, '--json']);
	my @notes = @{JSON::PP->new->decode($plan->{out})->{notes}};
	ok((grep { m{^not enforced: names made later that \Q$project\E/\*\*/\.env would match} } @notes),
		"$who->{name}: and a note says so") or diag($plan->{err}, @notes);
}

# Names that shells, JSON and patterns make something else of.
my @odd = ('with space', "new\nline", '-dash', '[id]', '*star', '?mark', 'back\slash', "tab\tx", "'q\"", '$HOME', '`id`',
	"bad\xff\xfe", "uni-\xc3\xa9", '\\', '**', '!x', '{a,b}', '~');
my @plain = ('i', 'd', 'star', 'xstar', 'backslash', 'xmark', 'HOME', 'x', 'ab');

# A name as a policy has it: bytes that no text can hold are matched.
sub escaped {
	my ($name) = @_;
	return $name =~ s/([*?\[\]\\])/\\$1/gr =~ s/[\xfe\xff]/?/gr;
}

sub odd_names {
	my ($who) = @_;
	my $folder = "$who->{home}/project/[odd]* $who->{name}";
	my %how = (cwd => $folder);
	put($who, "$folder/$_", 'x') for @odd, @plain, map { "$_.key" } @odd;
	my @options = ('--deny', './*.key', '--deny', './bad??.???');
	my @paths = map { "$folder/$_" } @odd, @plain, map { "$_.key" } @odd;
	my @want = (('ok') x (@odd + @plain), ('EACCES') x @odd);
	my @look = ('perl', '-e', look_program(), map { ('read', $_) } @paths);
	my $got = run($who, [$EXEC, @options, '--', @look], %how);
	is($got->{out}, join("\n", @want, ''), "$who->{name}: a pattern hides all odd names") or diag($got->{err});
	for my $name (@odd) {
		my $got = run($who, [$EXEC, '--deny', './' . escaped($name), '--', @look], %how);
		my @hidden = map { $_ eq "$folder/$name" ? 'EACCES' : 'ok' } @paths;
		is($got->{out}, join("\n", @hidden, ''), "$who->{name}: " . JSON::PP->new->latin1->encode([$name]) . ' alone is hidden')
			or diag($got->{err});
	}
	my $printed = run($who, [$PLAN, @options, '--proc', 'bind', '--', @look], %how);
	is($printed->{code}, 0, "$who->{name}: the plan can be printed");
	unlike($printed->{out} =~ s/^--.*//msr, qr/[^\x20-\x7e\n]/, "$who->{name}: nothing raw reaches the terminal");
	my $script = put($who, "$who->{home}/pasted", "exec bwrap $printed->{out}");
	$got = run($who, ['bash', $script], %how);
	is($got->{out}, join("\n", @want, ''), "$who->{name}: and pasted, it hides the same names") or diag($got->{err});
	$got = run($who, [$EXEC, '--deny', './*star', '--deny', './\\**', '--', @look], %how);
	is($got->{out}, join("\n", (map { m{/(\*.*|\W*x?star|\\?\*\*)$} && $_ !~ m{/x\S*y$} ? 'EACCES' : 'ok' } @paths), ''),
		"$who->{name}: a star with and without a backslash") or diag($got->{err});
}

# Grants: files with one ending, of a home that is hidden otherwise.
sub grants {
	my ($who) = @_;
	my $home = $who->{home};
	put($who, "$home/notes/$_", 'x') for 'a.txt', 'b.txt', 'c.bin', 'sub/d.txt', 'drop/x/e';
	put($who, "$home/.odd_history", 'x');
	my $policy = policy($who, deny => ['~'], read => ['~/notes/*.txt', '~/project'], write => ['~/notes/dro?']);
	promises($who, ['-p', $policy],
		['read', "$home/notes/a.txt", 'ok', 'a granted file can be read'],
		['read', "$home/notes/b.txt", 'ok', 'another too'],
		['write', "$home/notes/b.txt", 'EROFS', 'and not written'],
		['read', "$home/notes/c.bin", 'ENOENT', 'one of another name is not there'],
		['read', "$home/notes/sub/d.txt", 'ENOENT', 'nor one of a directory below'],
		['create', "$home/notes/drop/x/new", 'ok', 'a granted directory can be written']);
	promises($who, ['-p', 'default'],
		['read', "$home/.odd_history", 'EACCES', 'the default hides every history']);
}

# A directory that the caller cannot list, but pass.
sub unlistable {
	my ($who) = @_;
	my $folder = "$who->{home}/project/shut";
	put($who, "$folder/$_", 'x') for 'state', 'other';
	chmod 0311, $folder or die;
	my @options = ('--deny', './s*/state', '--deny', './shut/oth?r');
	is_deeply(read_all($who, \@options, "$folder/state", "$folder/other"), ['EACCES', 'ok'],
		"$who->{name}: where names cannot be listed, one that is spelled out is hidden");
	my $notes = run($who, [$PLAN, @options, '--json'])->{out};
	is(scalar(() = $notes =~ m{cannot list \Q$folder\E: }g), 1, "$who->{name}: and a note says it once");
	chmod 0755, $folder or die;
}

sub many {
	my ($who) = @_;
	my $folder = "$who->{home}/project/many";
	for my $d (0 .. 9) {
		put($who, "$folder/d$d/$_.dat", '') for 1 .. 300;
		put($who, "$folder/d$d/keep", '');
	}
	my $got = run($who, [$EXEC, '--deny', './many/**/*.dat', '--', 'true']);
	is($got->{code}, 125, "$who->{name}: 3,000 covers are too many for bwrap");
	like($got->{err}, qr/the plan needs 9\d\d\d words and bwrap takes 9000: 300 of its 3\d\d\d mounts lie in \Q$folder\E\/d0/,
		"$who->{name}: which is said with the directory");
	promises($who, ['--deny', './many/d?'],
		['read', "$folder/d0/1.dat", 'EACCES', 'ten directories as a whole are not'],
		['read', "$folder/d9/300.dat", 'EACCES', 'to the last']);
	promises($who, ['--deny', './many/d[0-2]/*.dat'],
		['read', "$folder/d2/300.dat", 'EACCES', 'nor are 900 files'],
		['read', "$folder/d2/keep", 'ok', 'and what is next to them is there'],
		['read', "$folder/d3/1.dat", 'ok', 'as are the others']);
}

sub refused {
	my ($who) = @_;
	my @rows = (
		[['--tmpfs', '/a*'], 2, qr{"/a\*" is a pattern.*hint: .*: /a\\\*}s, 'a pattern as a place'],
		[['--deny', "./x\\"], 2, qr{ends in a backslash.*hint: }s, 'a name that ends in a backslash'],
		[['--write', '~/.[c]onfig'], 125, qr{/\.config would be writable: sbx keeps.*hint: }s, 'a pattern that opens sbx\'s own files'],
	);
	put($who, "$who->{home}/.config/x", '');
	for my $row (@rows) {
		my ($options, $code, $says, $what) = @$row;
		my $got = run($who, [$EXEC, @$options, '--', 'true']);
		is($got->{code}, $code, "$who->{name}: $what is refused");
		like($got->{err}, $says, "$who->{name}: $what: with what to do");
	}
}

for my $who (callers()) {
	env_files($who);
	odd_names($who);
	grants($who);
	unlistable($who);
	many($who);
	refused($who);
}
done_testing();
