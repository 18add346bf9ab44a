#!/usr/bin/perl
# Links that raise access, with real bwrap: root's own do, the caller's own where the rule says "follow", no others.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $PLAN, $EXEC);

# The options for a policy of the caller's that shows programs and what these keys of "filesystem" say.
sub policy {
	my ($who, %filesystem) = @_;
	my %policy = (sbx => 1, extends => ['strict'], filesystem => \%filesystem, process => {cwd => '/'});
	return ('-p', put($who, "$who->{home}/policy.json", JSON::PP->new->canonical->encode(\%policy)));
}

# A link that belongs to the caller, as its directory does.
sub linked {
	my ($who, $path, $to) = @_;
	put($who, "$path.made", '');
	unlink "$path.made";
	symlink $to, $path or die "$path: $!";
	system 'chown', '-h', "$who->{uid}:$who->{gid}", $path if !$>;
}

# Neither program carries a policy out, for this reason and with this advice.
sub refused {
	my ($who, $what, $options, $reason, $hint) = @_;
	my $got = run($who, [$EXEC, @$options, '--', 'echo', 'RAN']);
	is("$got->{code} $got->{out}", '125 ', "$who->{name}: $what: nothing runs");
	like($got->{err}, qr/$reason.*\n.*hint: .*$hint/, "$who->{name}: ... it says why, and what to do");
	my $plan = run($who, [$PLAN, @$options]);
	is("$plan->{code} $plan->{out}", '125 ', "$who->{name}: ... and nothing is planned");
}

for my $who (callers()) {
	my ($name, $uid, $home) = @$who{qw(name uid home)};
	my $data = "$top/data-$name";
	put($who, "$data/src/x", "SOURCE\n");
	linked($who, "$home/src", "$data/src");
	linked($who, "$home/project/env", "../../data-$name/src/x");

	# A home on another disk, with a link to a third.
	my @options = policy($who, read => [{path => '~/src', follow => JSON::PP::true}]);
	is(inside($who, \@options, "cd $home; cat src/x; readlink src; ls"), "SOURCE\n$data/src\nsrc\n",
		"$name: a link of the caller's own is shown, and what it leads to");
	promises($who, \@options,
		['read', "$data/src/x", 'ok', 'by its own name too'],
		['write', "$home/src/x", 'EROFS', 'read-only'],
		['stat', "$home/project", 'ENOENT', 'and nothing else of the home'],
		['stat', "$top/bin", 'ENOENT', 'nor beside its target']);
	symlink $top, "$top/disk" or -l "$top/disk" or die;
	is(inside({%$who, home => "$top/disk/$name"}, \@options, "cat $top/disk/$name/src/x"), "SOURCE\n", "$name: behind a link of root's");

	@options = policy($who, write => [{path => '~/src', follow => JSON::PP::true}]);
	is(inside($who, \@options, "echo W >$home/src/w; cat $home/src/w"), "W\n", "$name: it can be made writable");
	@options = policy($who, mounts => [{at => '/in', from => '~/src', access => 'write', follow => JSON::PP::true}]);
	is(inside($who, \@options, 'echo M >/in/m; cat /in/w'), "W\n", "$name: and mounted");
	is(slurp("$data/src/m"), "M\n", "$name: ... writable");

	my $open = "the link cannot: the directory";
	if ($uid) {
		refused($who, 'without the word', [policy($who, read => ['~/src'])],
			qr{\Q$home/src leads through the symbolic link $home/src to $data/src, which no rule makes readable; $open $home is owned by uid $uid\E},
			qr{name \Q$data/src\E itself; or, .*add "follow": true to the rule});
		refused($who, "an option $_->[0]", [policy($who), @$_], qr{\Q$open $home is owned by uid $uid\E},
			qr{name \Q$data/src\E itself; in a policy, a rule with "follow": true})
			for ['--read', '~/src'], ['--write', '~/src'], ['--bind', '~/src:/work'];
	} else {
		is(inside($who, [policy($who), '--read', '~/src'], "cat $home/src/x"), "SOURCE\n", "$name: which for root needs no word");
	}
	my $none = qr{a link that others, or the command, could change grants nothing: name \Q$data\E};
	my $env = {path => "$home/project/env", follow => JSON::PP::true};
	refused($who, 'a link that the command could change', [policy($who, write => ['~/project'], read => [$env])],
		qr{\Q$open $home/project is made writable by $home/policy.json: /filesystem/write/0\E}, $none);
	refused($who, 'one that a mount lets it change',
		[policy($who, mounts => [{at => '/in', from => $home, access => 'write'}], read => [$env])],
		qr{\Q$open $home/project is made writable by $home/policy.json: /filesystem/mounts/0\E}, $none);
	chmod 0775, "$home/project" or die;
	refused($who, "one in a group's directory", [policy($who, read => [$env])],
		qr{\Q$open $home/project is writable by others of its group\E}, $none);
	chmod 0755, "$home/project" or die;
	SKIP: {
		skip 'only root can give a directory to another user', 3 if $>;
		my $other = $uid ? 2002 : 2001;
		chown $other, $other, "$home/project" or die;
		refused($who, "one in another user's directory", [policy($who, read => [$env])],
			qr{\Q$open $home/project is owned by uid $other\E}, $none);
		chown $uid, $uid, "$home/project" or die;
	}
}
done_testing();
