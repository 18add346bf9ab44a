# Cases of size: many rules, many names, long words.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/case-lib.pl" }
our ($top, $PLAN, $EXEC);

case e01 => 'more mounts than bwrap takes are an error with the count and the folder, before anything runs', sub {
	my ($who, $dir) = @_;
	put($who, "$dir/many/f$_", '') for 1 .. 3100;
	my $blame = qr{(?=.*\b9,?000\b)(?=.*\Q$dir/many\E)}s;
	folder($who, "$dir/from");
	for ([policy($who, {deny => [map { "$dir/many/f$_" } 1 .. 3100]}), 'denied files'],
		[policy($who, {mounts => [{at => "$dir/many/new", from => "$dir/from"}]}), 'a folder to be rebuilt']) {
		my ($p, $file, $what) = @$_;
		refuses($who, "$dir/from", $what, $blame, [$p, $file]);
		my $got = run($who, [$PLAN, '--check', $p, $file]);
		is("$got->{code} $got->{out}", '125 ', "$who->{name}: $what: sbx-plan does not print it either");
		like($got->{err}, $blame, "$who->{name}: $what: for the same reason");
	}
	promises($who, [policy($who, {deny => ["$dir/many"]})], [read => "$dir/many/f7", 'EACCES',
		'the folder can be denied']);
};

case e01 => 'three hundred denied files in one folder work', sub {
	my ($who, $dir) = @_;
	put($who, "$dir/many/f$_", '') for 1 .. 301;
	my @got = look($who, [policy($who, {write => [$dir], deny => [map { "$dir/many/f$_" } 1 .. 300]})],
		map { [read => "$dir/many/f$_"] } 1 .. 301);
	is(scalar(grep { $_ eq 'EACCES' } @got[0 .. 299]), 300, "$who->{name}: all are denied") or diag($got[0]);
	is($got[300], 'ok', "$who->{name}: the one beside them is not");
};

case e01 => 'thousands of denied files in ten folders are planned, with a note of their cost, or refused', sub {
	my ($who, $dir) = @_;
	for my $d (0 .. 9) {
		put($who, "$dir/d$d/f$_", '') for 1 .. 300;
		put($who, "$dir/d$d/free", '');
	}
	my $denied = sub {
		my ($n) = @_;
		return policy($who, {deny => [map { my $d = $_; map { "$dir/d$d/f$_" } 1 .. $n } 0 .. 9]});
	};
	my @many = $denied->(200);
	like(run($who, [$PLAN, '--check', @many])->{out}, qr{\Aproven: 20\d\d mounts, 6\d\d\d words\n\z},
		"$who->{name}: 2,000: proven");
	like(notes($who, @many), qr{^20\d\d mounts, 200 of them in \Q$dir\E/d0: every start takes bwrap some 3\.\d s\b}m,
		"$who->{name}: 2,000: a note says how many, where most are and what they cost");
	unlike(notes($who, $denied->(30)), qr{ mounts, }, "$who->{name}: 300: no note");
	# What the limit is, where most lie, and what to do.
	refuses($who, "$dir/d0", '3,000',
		qr{needs 9\d\d\d words and bwrap takes 9000: 300 of its 30\d\d mounts lie in \Q$dir\E/d0\n.*hint: deny the whole}s,
		[$denied->(300)]);
	SKIP: {
		skip 'SBX_FULL or CI: a start of some seconds', 1 if !$ENV{SBX_FULL} && !$ENV{CI};
		is(inside($who, \@many, "cd $dir; cat d*/* 2>&1 | grep -c 'Permission denied'; ls d*/* | wc -l"), "2000\n3010\n",
			"$who->{name}: 2,000: they are denied, and nothing beside them");
	}
};

case e01 => 'a folder of ten thousand entries is shown, written to, denied, and refused only where it has to be rebuilt', sub {
	my ($who, $dir) = @_;
	folder($who, "$dir/$_") for 'many', 'from';
	for my $i (1 .. 10000) {
		open my $file, '>', "$dir/many/f$i" or die;
	}
	system 'chown', '-R', "$who->{uid}:$who->{gid}", "$dir/many" if !$>;
	refuses($who, "$dir/from", 'a new name in it', qr{needs [123]\d{4} words and bwrap takes 9000: 10001 of its \d+ mounts lie in \Q$dir/many\E\n},
		[policy($who, {mounts => [{at => "$dir/many/new", from => "$dir/from"}]})]);
	refuses($who, "$dir/from", 'a pattern that matches most', qr{9000: 9\d{3} of its \d+ mounts lie in \Q$dir/many\E\n},
		[policy($who, {deny => ["$dir/many/f??*"]})]);
	my @known = policy($who, {deny => ["$dir/many/f77"], read => ["$dir/many/f78"], write => ["$dir/many"]});
	promises($who, \@known,
		[read => "$dir/many/f77", 'EACCES', 'a name in it is denied'],
		[write => "$dir/many/f78", 'EROFS', 'another protected'],
		[write => "$dir/many/f10000", 'ok', 'the others are written to'],
		[create => "$dir/many/new", 'ok', 'and new ones made']);
	is(inside($who, \@known, "ls $dir/many | wc -l"), "10000\n", "$who->{name}: all are there");
	promises($who, [policy($who, {deny => ["$dir/many"]})], [read => "$dir/many/f77", 'EACCES', 'all of it is denied']);
};

case e02 => 'an argument or a variable that is too long for the kernel is said to be', sub {
	my ($who, $dir) = @_;
	my $long = '#' x 200_000;
	is(run($who, [$EXEC, '--', 'sh', '-s'], stdin => "$long\necho ran\n")->{out}, "ran\n",
		"$who->{name}: a long script as standard input");
	my @file = policy($who, {}, environment => {set => {LONG => $long}});
	refuses($who, $dir, 'a long variable', qr{\bLONG\b}, \@file, code => '12[56]');
	my $under = '#' x 130_000;
	is(run($who, [$EXEC, policy($who, {}, environment => {set => {LONG => $under}}), '--', 'sh', '-c',
		'echo ${#LONG}'])->{out},
		"130000\n", "$who->{name}: one that is not too long");
	is(run($who, [$EXEC, '--', 'sh', '-c', "echo ran; $under"])->{out}, "ran\n", "$who->{name}: a long argument");
};

case e02 => 'an environment that is too long in all is not taken for a fault of the sandbox', sub {
	my ($who, $dir) = @_;
	my %many = map { ("LONG$_" => '#' x 120_000) } 1 .. 60;
	my ($got, $report) = reported($who, [policy($who, {}, environment => {set => \%many}), '--', 'echo', 'RAN']);
	like($got->{code}, qr{^12[56]$}, "$who->{name}: the exit code") or diag($got->{err});
	is($got->{out}, '', "$who->{name}: nothing runs");
	like($got->{err}, qr{^sbx-exec: [^\n]*(environment|too long|too large)[^\n]*\nsbx-exec: hint: }i,
		"$who->{name}: the message says why");
	like($report->{outcome} // '', qr{^(not-executable|refused)$}, "$who->{name}: the outcome");
};

case e03 => 'two, three and fifty files with a text or an empty mask', sub {
	my ($who, $dir) = @_;
	for my $n (2, 3, 50) {
		tree($who, $dir, map { "$n/k$_ = SECRET" } 1 .. $n);
		my @options = policy($who, {write => [$dir], deny => [map { {path => "$dir/$n/k$_", mask => 'empty'} } 1 .. $n],
			files => [map { {at => "/tmp/text$_", text => "text $_\n"} } 1 .. $n]});
		is(inside($who, \@options,
			"cd $dir/$n; stat -c '%F %a' * | sort | uniq -c | tr -s ' '; cat *; cat \$(ls -v /tmp/text*)"),
			" $n regular empty file 444\n" . join('', map { "text $_\n" } 1 .. $n),
				"$who->{name}: $n: each has its own");
		promises($who, \@options, [write => "$dir/$n/k1", 'EACCES', "$n: and they are not written to"]);
	}
};

run_cases();
