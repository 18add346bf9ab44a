#!/usr/bin/perl
# What the command gets as 0, 1 and 2, and which other descriptors.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

# Says for 0, 1 and 2 how reading or writing ends, on descriptor 9.
my $try = <<'END';
open my $say, ">&=9" or die;
my @said;
for my $fd (0 .. 2) {
	my ($fh, $byte);
	my $done = open($fh, $fd ? ">&=" : "<&=", $fd) && ($fd ? defined syswrite($fh, "x") : defined sysread($fh, $byte, 1));
	push @said, $done ? "ok" : $!{EBADF} ? "EBADF" : "$!";
}
print $say join(" ", @said), "\n";
END

for my $who (callers()) {
	my $name = $who->{name};
	my $dir = "$who->{home}/project";
	my $file = put($who, "$dir/file", "old\n");
	my $sh = sub {
		my ($script) = @_;
		return run($who, ['timeout', '60', 'bash', '-c', $script, $EXEC], cwd => $dir);
	};

	# Regular files: the command cannot reach them but by the bytes.
	my $got = $sh->(q{"$0" -- sh -c 'cat; echo evil > /dev/stdin; echo evil > /proc/self/fd/0; : > /proc/self/fd/0' < file});
	is($got->{out}, "old\n", "$name: a file as standard input is read");
	is(slurp($file), "old\n", "$name: and cannot be written through it");
	$sh->(q{"$0" -- sh -c 'echo new; : > /proc/self/fd/1; : > /dev/stdout' >> file});
	is(slurp($file), "old\nnew\n", "$name: a file that output is appended to cannot be truncated");
	$sh->(q{"$0" -- sh -c 'for i in 1 2 3; do echo o$i; echo e$i >&2; done' > both 2>&1});
	is(slurp("$dir/both"), "o1\ne1\no2\ne2\no3\ne3\n", "$name: output and errors in one file keep their order");
	$sh->(q{"$0" -- sh -c 'echo out; echo err >&2' > out 2> err});
	is(slurp("$dir/out") . slurp("$dir/err"), "out\nerr\n", "$name: in two files they stay apart");
	put($who, "$dir/large", join '', map { "$_\n" } 1 .. 300000);
	$got = $sh->(q{"$0" -- sh -c cat < large > copy && cmp large copy && "$0" -- head -n 1 < large});
	is("$got->{code} $got->{out}", "0 1\n", "$name: large files come through, and need not be read to the end");
	$got = $sh->(q{ulimit -f 8; "$0" -- sh -c 'head -c 100000 /dev/zero' > short});
	is($got->{code}, 125, "$name: output that cannot be written is no success");
	like($got->{err}, qr/cannot write to standard output: File too large/, "$name: and said");
	put($who, "$dir/direct.json", '{"sbx": 1, "extends": ["default"], "process": {"stdio": "direct"}}');
	$got = $sh->(q{"$0" -p ./direct.json -- sh -c 'readlink /proc/self/fd/0; test -f /proc/self/fd/0 && echo file' < file});
	like($got->{out}, qr/file\n$/, "$name: process.stdio direct hands the file itself on");

	# What leads out of the view.
	for (['< .', 'standard input is a directory'], ['3<. --pass-fd 3', '--pass-fd 3 is a directory']) {
		my ($how, $message) = @$_;
		my ($redirect, $option) = $how =~ /^(\S+ ?\.|\S+) ?(.*)/;
		$got = $sh->(qq{"\$0" $option -- true $redirect});
		like($got->{err}, qr/\Q$message/, "$name: $how is refused");
		like($got->{code}, qr/^(125|2)$/, "$name: $how is no run");
	}

	# Closed at the start: using it fails, and nothing of bwrap's or ours shows there.
	for my $closed ('0<&-', '1>&-', '2>&-', '0<&- 1>&-', '0<&- 1>&- 2>&-') {
		my %is = map { $_ => 1 } $closed =~ /(\d)[<>]/g;
		my $want = join ' ', map { $is{$_} ? 'EBADF' : 'ok' } 0 .. 2;
		my $other = join ' ', map { $is{$_} ? () : $_ ? "$_>/dev/null" : '0</dev/zero' } 0 .. 2;
		$got = run($who, ['bash', '-c', qq{exec 9>&1; "\$0" --pass-fd 9 -- perl -e "\$1" $other $closed}, $EXEC, $try]);
		is($got->{out}, "$want\n", "$name: $closed");
		$got = run($who, ['bash', '-c', qq{exec 9>&1; "\$0" --pass-fd 9 -- sh -c 'readlink /proc/1/fd/* /proc/self/fd/* >&9' $closed}, $EXEC]);
		unlike($got->{out}, qr{^/(?!dev/null$|proc/\d+/fd$)}m, "$name: $closed opens no way out through pid 1");
		unlike($got->{out}, qr{^/proc$}m, "$name: $closed does not show the host's /proc");
	}

	# Other descriptors.
	$got = $sh->(q{exec 5<file 7<file 8> >(cat); "$0" --pass-fd 8 -- sh -c 'for f in /proc/self/fd/*; do echo ${f##*/}; done; echo passed >&8' 8>&8; exec 8>&-; wait});
	is(join(' ', grep { $_ ne 'passed' && !m/^3$/ } split /\n/, $got->{out}), '0 1 2 8', "$name: all are closed but --pass-fd");
	like($got->{out}, qr/^passed$/m, "$name: and that one works");
	$got = $sh->(q{"$0" -- sh -c 'cat "$0"' <(echo text) 2>/dev/null; "$0" --pass-fd 63 -- cat /dev/fd/63 63< <(echo text)});
	is($got->{out}, "text\n", "$name: <(...) works with --pass-fd and only so");
}
done_testing();
