#!/usr/bin/perl
# make install puts everything below DESTDIR and PREFIX, and make uninstall takes all of it away again.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top);

my ($me) = callers();
my $dest = "$top/dest";
my $tree = abs_path("$FindBin::Bin/../..");
sub made {
	my ($target) = @_;
	my @make = ('make', '-s', '-C', $tree, "BUILD=" . ($ENV{SBX_BUILD} || "$tree/build"), "DESTDIR=$dest", 'PREFIX=/opt/x', $target);
	my $got = run($me, \@make, env => {map { defined $ENV{$_} ? ($_ => $ENV{$_}) : () } qw(MAKEFLAGS CFLAGS CC CI)}, limit => 300);
	is($got->{code}, 0, "make $target") or diag($got->{err});
}
sub files { return sort map { s/^\Q$dest\E//r } split /\n/, `find $dest ! -type d` }

made('install');
my @files = files();
my ($bin, $man, $doc) = map { "/opt/x/$_" } 'bin', 'share/man', 'share/doc/sbx';
my %there = map { $_ => 1 } @files;
ok($there{$_}, "installed: $_") for map({ "$bin/$_" } qw(sbx-exec sbx-job sbx-plan)),
	map({ my ($name, $n) = m{/([^/]+\.([1-8]))$}; "$man/man$n/$name" } glob "$tree/docs/*.[1-8]"),
	map({ $doc . s{^\Q$tree\E}{}r } glob "$tree/policies/*.json"), "$doc/README.md", "$doc/LICENSE";
is_deeply([grep { !m{^/opt/x/(bin|share)/} } @files], [], 'nothing lies elsewhere');
my %modes = map { $_ => 1 } map { sprintf '%s %o', m{/bin/} ? 'bin' : 'share', (stat "$dest$_")[2] & 07777 } @files;
is_deeply([sort keys %modes], ['bin 755', 'share 644'], 'programs can be run, the rest can be read');
like(run($me, ["$dest$bin/sbx-exec", '--version'])->{out}, qr/^sbx-exec \d/, 'an installed program starts');

put($me, "$dest$man/man1/other.1", '');
made('uninstall');
is_deeply([files()], ["$man/man1/other.1"], 'uninstalled: all but what is of others');
ok(!-e "$dest$doc", 'and the directory of the documents');
made('uninstall');
done_testing();
