#!/usr/bin/perl
# The static build in roots that have nothing else: no libc, no shell, no /etc; and in one of busybox alone.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $root, $user);

my $static = "$ENV{SBX_BUILD}/static";
plan(skip_all => "there is no static build in $static: sh contrib/setup static") if !-x "$static/bwrap" && !$ENV{CI};

# Words that enter a directory as the root, with nothing of the old one left, and run what comes after as a user. Of the
# libraries and programs outside only what is already running is used.
my ($pivot_root, $umount2) = POSIX::uname() && (POSIX::uname())[4] eq 'aarch64' ? (41, 39) : (155, 166);
sub entered {
	my ($dir, $id, @command) = @_;
	return ('unshare', '-m', '--propagation', 'private', 'perl', '-MPOSIX', '-e', <<'END', $pivot_root, $umount2, $dir, $id, @command);
	my ($pivot_root, $umount2, $dir, $id, @command) = @ARGV;
	system('mount', '--bind', $dir, $dir) || system('mount', '--rbind', '/proc', "$dir/proc") ||
		system('mount', '--rbind', '/sys', "$dir/sys") || system('mount', '--rbind', '/dev', "$dir/dev") and die;
	chdir $dir or die;
	my $here = '.';
	syscall(0 + $pivot_root, $here, my $same = '.') == 0 or die "pivot_root: $!";
	syscall(0 + $umount2, $here, 2) == 0 or die "umount: $!";
	chdir '/' or die;
	if ($id) { $) = "$id $id"; setgid($id); setuid($id); $> == $id or die }
	%ENV = (PATH => '/bin', HOME => '/home');
	exec { $command[0] } @command or die "$command[0]: $!";
END
}

sub made {
	my ($name) = @_;
	my $dir = "$top/$name";
	mkdir $_ or die "$_: $!" for $dir, map { "$dir/$_" } qw(bin proc sys dev tmp home);
	chmod 0755, $dir;
	chmod 01777, "$dir/$_" for qw(tmp home);
	for my $program (qw(sbx-plan sbx-exec sbx-job bwrap)) {
		copy("$static/$program", "$dir/bin/$program") or die "$static/$program: $!";
		chmod 0755, "$dir/bin/$program";
	}
	return $dir;
}

my $empty = made('empty');
for my $who ($root, $user) {
	my $name = "empty root, $who->{name}";
	my $in = sub { run($root, [entered($empty, $who->{uid}, @_)], cwd => '/') };
	my $got = $in->('/bin/sbx-exec', '--probe', '--json');
	is($got->{code}, 0, "$name: --probe") or diag($got->{err});
	like($got->{out}, qr{"/bin/bwrap"}, "$name: the bwrap beside it is taken");
	$got = $in->('/bin/sbx-plan', '--check');
	is($got->{code}, 0, "$name: sbx-plan --check") or diag($got->{err});
	$got = $in->('/bin/sbx-exec', '--', '/bin/sbx-plan', '--version');
	like("$got->{code} $got->{out}", qr/^0 sbx-plan [\d.]+\n\z/, "$name: sbx-exec runs a command") or diag($got->{err});
	is($in->('/bin/sbx-exec', '--', 'sh')->{code}, 127, "$name: and says what is not there");
	$got = $in->('/bin/sbx-job', 'start', '--', '/bin/sbx-plan', '--version');
	my ($id) = $got->{out} =~ /^([0-9a-f]+)$/;
	ok($id, "$name: sbx-job start") or diag($got->{err});
	is($in->('/bin/sbx-job', 'wait', $id // '-')->{code}, 0, "$name: sbx-job wait");
	like($in->('/bin/sbx-job', 'read', $id // '-')->{out}, qr/^sbx-plan [\d.]+$/m, "$name: sbx-job read");
	system 'rm', '-rf', "$empty/home/.local";
}
opendir my $left, $empty or die;
is_deeply([sort grep { !/^\.\.?$/ } readdir $left], [qw(bin dev home proc sys tmp)], 'empty root: nothing is left in it');

SKIP: {
	my $program = which('busybox') or skip('busybox is not installed', 4);
	my $dir = made('busybox');
	copy($program, "$dir/bin/busybox") or die;
	chmod 0755, "$dir/bin/busybox";
	symlink 'busybox', "$dir/bin/$_" or die for qw(sh cat id);
	for my $who ($root, $user) {
		my $in = sub { run($root, [entered($dir, $who->{uid}, @_)], cwd => '/') };
		my $got = $in->('/bin/sbx-exec', '--deny', '/bin/sbx-plan', '--', 'sh', '-c', 'id -u; cat /bin/sbx-plan >/dev/null 2>&1; echo $?');
		is("$got->{code} $got->{out}", "0 $who->{uid}\n1\n", "busybox, $who->{name}: a shell, a denied file") or diag($got->{err});
		$got = $in->('/bin/sbx-exec', '-p', 'strict', '--chdir', '/', '--', 'sh', '-c', 'echo fine');
		is("$got->{code} $got->{out}", "0 fine\n", "busybox, $who->{name}: the policy strict") or diag($got->{err});
	}
}
done_testing();
