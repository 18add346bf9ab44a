#!/usr/bin/perl
# The sandbox's mount table is compared with the plan before the command starts: a bwrap that does something else than it
# was told is noticed, and nothing runs.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);
my $real = which('bwrap');

# A bwrap that changes its words: EDIT is perl that has them in @w, without those of the command. The trials of the probe
# it leaves alone.
sub bwrap {
	my ($who, $edit) = @_;
	return put($who, "$who->{home}/bin/bwrap", <<"END" =~ s/EDIT/$edit/r, 0755);
#!/usr/bin/perl
use POSIX ();
my \$fd = \$ARGV[1];
open my \$in, '<&=', \$fd or die;
my \@w = split /\\0/, join('', <\$in>), -1;
pop \@w;
if (\$ARGV[-1] eq 'ran') {
EDIT;
}
open my \$out, '+>', undef or die;
print \$out map { "\$_\\0" } \@w;
seek \$out, 0, 0;
POSIX::dup2(fileno \$out, \$fd);
exec {'$real'} 'bwrap', \@ARGV;
END
}

# Takes out the option with that operand behind its name, and how many words it has.
my $lib = 'sub at { my ($o, $d) = @_; grep { $w[$_] eq $o && grep { ($_ // "") eq $d } @w[$_ + 1, $_ + 2] } 0 .. $#w } ';

for my $who (callers()) {
	my $name = $who->{name};
	my $home = $who->{home};
	put($who, "$home/.ssh/key", 'SECRET');
	put($who, "$home/project/.envrc", 'x');
	put($who, "$home/other/file", 'x');

	my ($got, $report) = reported($who, ['--verify', '--', 'echo', 'ran']);
	is($got->{out}, "ran\n", "$name: a sandbox as planned runs");
	is_deeply($report->{enforcement}{verify}, {requested => 'mounts', enforced => JSON::PP::true, by => 'mount table', hits => undef},
		"$name: and its report says that it was verified");
	($got, $report) = reported($who, ['--bwrap', bwrap($who, ''), '--verify', '--', 'echo', 'ran']);
	is($got->{out}, "ran\n", "$name: so does a bwrap that changes nothing") or diag($got->{err});

	for my $case (
		['a mount more', 'push @w, "--tmpfs", "/mnt"', '/mnt: the plan has .*; there: tmpfs'],
		['a bind more', "push \@w, '--ro-bind', '$home/.ssh', '/opt'", '/opt: the plan has .*; there: .*/\.ssh of'],
		['a bind more that can be written', "push \@w, '--bind', '$home/other', '$home/other'", "$home/other: the plan has no mount"],
		['a mount over another', 'push @w, "--tmpfs", "/usr"', '/usr: the plan has \S*/usr of .*; there: tmpfs'],
		['a cover less', "$lib for (at('--tmpfs', '$home/.ssh')) { splice \@w, \$_ - 2, 4 } for (at('--remount-ro', '$home/.ssh')) { splice \@w, \$_, 2 }",
			"$home/\\.ssh: the plan has a new tmpfs, / \\(ro,nosuid,nodev\\); there: no mount is seen"],
		['a cover elsewhere', "$lib for (at('--tmpfs', '$home/.ssh'), at('--remount-ro', '$home/.ssh')) { \$w[\$_ + 1] = '$home/other' }",
			"$home/\\.ssh: the plan has a new tmpfs"],
		['a cover that is not sealed', "$lib splice \@w, (at('--remount-ro', '$home/.ssh'))[0], 2",
			"$home/\\.ssh: the plan has a new tmpfs, / \\(ro,.*; there: tmpfs, / of .* \\(rw"],
		['a bind that can be written', 's/^--ro-bind(-fd)?$/--bind$1/ for @w', 'the plan has .*\(ro,.*; there: .*\(rw'],
		['a part of /proc that can be written', "$lib \$w[(at('--ro-bind', '/proc/sys'))[0]] = '--bind'",
			'/proc/sys: the plan has proc, /sys \(ro'],
		['another source', "$lib my (\$i) = at('--ro-bind', '/proc/sys'); \@w[\$i + 1, \$i + 2] = ('/proc/bus', '/proc/sys')",
			'/proc/sys: the plan has proc, /sys .*; there: proc, /bus'],
		['a root that can be written', "$lib splice \@w, (at('--remount-ro', '/'))[-1], 2", '/: it is not a read-only file system'],
		['the host\'s /dev/shm', "$lib my (\$i) = at('--tmpfs', '/dev/shm'); splice \@w, \$i, 2, '--bind', '/dev/shm', '/dev/shm'; splice \@w, \$i - 2, 2 if \$w[\$i - 2] =~ /size/; splice \@w, \$i - 4, 2 if \$w[\$i - 4] =~ /perms/",
			'/dev/shm: the plan has a new tmpfs'],
	) {
		my ($what, $edit, $message) = @$case;
		my ($got, $report) = reported($who, ['--proc', 'fresh', '--bwrap', bwrap($who, $edit), '--verify', '--', 'echo', 'ran']);
		is("$got->{code} $got->{out}", '125 ', "$name: $what: nothing runs");
		like($got->{err}, qr/^sbx-exec: the sandbox(?:'s mount table)? is not what was planned: .*$message.*\nsbx-exec: hint: ./m, "$name: $what: the difference is said");
		is("$report->{phase} $report->{outcome}", 'setup setup-failed', "$name: $what: so says the report");
	}

	# When it is done by itself, and when not.
	my $more = bwrap($who, 'push @w, "--tmpfs", "/usr/share"'); # no name of the plan's
	my $refused = sub {
		my ($options, $what) = @_;
		my ($got, $report) = reported($who, ['--bwrap', $more, @$options, '--chdir', '/', '--', 'echo', 'ran']);
		is("$got->{code} $got->{out}", '125 ', "$name: $what is verified");
	};
	put($who, "$home/policy.json", '{"sbx": 1, "extends": ["default"], "filesystem": {"verify": true}}');
	put($who, "$home/final.json", '{"sbx": 1, "extends": ["@policy/policy.json"], "final": ["verify"]}');
	put($who, "$home/off.json", '{"sbx": 1, "filesystem": {"verify": false}}');
	$refused->(['-p', "$home/policy.json"], 'a policy that says so');
	$refused->(['-p', 'workspace', '--write', "$home/project", '--read', "$home/project/.envrc"], 'what is mounted in a writable place');
	$got = run($who, [$EXEC, '--bwrap', $more, '-p', 'strict', '--', 'echo', 'ran']);
	is("$got->{code} $got->{out}", '125 ', "$name: strict is verified");
	for my $options ([], ['-p', "$home/policy.json", '-p', "$home/off.json"], ['--write', "$home/project"]) {
		($got, $report) = reported($who, ['--bwrap', $more, @$options, '--', 'echo', 'ran']);
		is("$got->{code} $got->{out}", "0 ran\n", "$name: (@$options: is not)");
		ok(!exists $report->{enforcement}{verify}, "$name: (and does not say so)");
	}
	$got = run($who, [$EXEC, '-p', "$home/final.json", '-p', "$home/off.json", '--', 'true']);
	like($got->{err}, qr/verifying is final/, "$name: a final one cannot be taken back") or diag($got->{err});
}
done_testing();
