#!/usr/bin/perl
# A file system that the host mounts after the start does not appear inside, though the host's mounts are shared; but
# where the policy asks for it.
use strict;
use warnings;
use FindBin;
use Test::More;

# In a mount namespace of the test's own.
BEGIN {
	plan skip_all => 'needs root' if $>;
	if (!$^C && !$ENV{SBX_OWN_MOUNTS}) {
		$ENV{SBX_OWN_MOUNTS} = 1;
		exec 'unshare', '-m', '--propagation', 'shared', $^X, $0 or plan skip_all => 'needs unshare';
	}
}
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

for my $who (callers()) {
	my $name = $who->{name};
	my $place = "$who->{home}/project/place";
	put($who, "$place/below", "the host's\n");
	for my $options (['-p', 'default'], ['-p', 'workspace']) {
		my $run = start($who, [@$options, '--read', $who->{home}, '--', 'sh', '-c', 'cat place/below; read x; cat place/below; ls place/new']);
		is(line($run), "the host's", "$name @$options: the directory shows");
		is(system('mount', '-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', $place), 0, "$name @$options: the host mounts over it");
		put($who, "$place/$_", "mounted later\n") for 'below', 'new';
		syswrite $run->{in}, "go\n";
		is(line($run), "the host's", "$name @$options: inside it is what it was");
		is(line($run), undef, "$name @$options: and nothing more");
		isnt(finish($run), 0, "$name @$options: to the end");
		is(system('umount', $place), 0, "$name @$options: the host takes it away");
	}
	# With "slave" it does, under a protected place too, and takes no cover away.
	put($who, "$who->{home}/slave.json", '{"sbx": 1, "filesystem": {"propagation": "slave", "verify": true}}');
	put($who, "$place/.hidden/key", 'SECRET');
	put($who, "$place/sub/below", "the host's\n");
	my @slave = ('-p', 'default', '-p', "$who->{home}/slave.json", '--deny', "$place/.hidden");
	my $run = start($who, [@slave, '--read', $who->{home}, '--report', "$who->{home}/r.json", '--', 'sh', '-c',
		'cat place/sub/below; read x; cat place/sub/below; cat place/.hidden/key 2>/dev/null; read x; cat place/sub/below']);
	is(line($run), "the host's", "$name slave: the directory shows");
	is(system('mount', '-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', "$place/sub"), 0, "$name slave: the host mounts in it");
	put($who, "$place/sub/below", "mounted later\n");
	syswrite $run->{in}, "go\n";
	is(line($run), 'mounted later', "$name slave: which appears inside");
	# While something inside is just reading it, it is busy on the host too.
	is(system('umount', '-l', "$place/sub"), 0, "$name slave: the host takes it away");
	syswrite $run->{in}, "go\n";
	is(line($run), "the host's", "$name slave: and so it does inside");
	is(finish($run), 0, "$name slave: no cover is taken for lost") or diag($run->{err});
	my $report = JSON::PP->new->utf8->decode(slurp("$who->{home}/r.json"));
	is_deeply($report->{violations}, [], "$name slave: nor is there a violation");
	ok((grep { /what the host mounts later appears inside/ } @{$report->{notes}}), "$name slave: a note says what it means");
	ok($report->{enforcement}{verify}{enforced}, "$name slave: the table is verified all the same");
	# Over the place of a cover the cover stays in sight.
	$run = start($who, [@slave, '--read', $who->{home}, '--', 'sh', '-c', 'echo started; read x; ls place/.hidden 2>&1 | grep -o denied']);
	is(line($run), 'started', "$name slave: (it runs)");
	is(system('mount', '-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', "$place/.hidden"), 0, "$name slave: the host mounts where a cover stands");
	syswrite $run->{in}, "go\n";
	is(line($run), 'denied', "$name slave: which stays in sight");
	is(finish($run), 0, "$name slave: and is not taken for lost");
	is(system('umount', "$place/.hidden"), 0, "$name slave: the host takes it away");
	put($who, "$who->{home}/private.json", '{"sbx": 1, "filesystem": {"propagation": "private"}, "final": ["propagation"]}');
	like(run($who, [$EXEC, '-p', "$who->{home}/private.json", '-p', "$who->{home}/slave.json", '--', 'true'])->{err},
		qr/the propagation of mounts is final/, "$name: private can be made final");
}

# Mount tables that are hard to foretell: a masked /proc, mounts upon mounts, names with blanks, what cannot be bound, what
# the user cannot reach. What is planned there is what the kernel has.
my $odd = "$top/odd";
mkdir $odd or die;
for my $command (['mount -t tmpfs -o mode=755 first ODD', 'mkdir ODD/in', 'mount -t tmpfs first ODD/in',
		'mount -t tmpfs -o mode=755 second ODD', 'mkdir "ODD/a b" ODD/closed ODD/write', 'mount -t tmpfs blanks "ODD/a b"',
		'mkdir ODD/closed/in', 'mount -t tmpfs closed ODD/closed/in', 'chmod 700 ODD/closed',
		'mount -t tmpfs -o mode=777 write ODD/write', 'mkdir ODD/write/d', 'mount -t tmpfs d ODD/write/d',
		'mkdir ODD/not', 'mount -t tmpfs not ODD/not', 'mount --make-private ODD/not', 'mount --make-unbindable ODD/not',
		'mkdir "ODD/new
line"', 'mount --bind ODD/write "ODD/new
line"', 'mount --bind /proc/sys /proc/sys', 'mount -o remount,bind,ro /proc/sys', 'mount -t tmpfs -o ro mask /proc/irq',
		'mount --bind /dev/null /proc/keys']) {
	for (map { s/ODD/$odd/gr } @$command) {
		is(system($_), 0, "(the host: $_)");
	}
}
for my $who (callers()) {
	for my $options (['-p', 'default'], ['-p', 'workspace'], ['-p', 'strict'], ['-p', 'query-script'], ['-p', 'agent-container'],
		['--proc', 'bind'], ['--bind', "$odd:/opt:ro"], ['--bind', "$odd/new\nline:/opt"], ['--write', "$odd/write", '--deny', "$odd/write/d"],
		['--deny', "$odd/a b"], ['--read', $odd, '--deny', "$odd/write"], ['--device', '/dev/zero'], ['--read', '/sys', '--deny', '/sys/kernel']) {
		my ($got, $report) = reported($who, ['--verify', @$options, ("@$options" =~ /strict|query/ ? () : ('--chdir', "$who->{home}/project")), '--', 'true']);
		is($got->{code}, 0, "$who->{name}: @$options: agrees with the plan") or diag($got->{err});
		ok($report->{enforcement}{verify}{enforced}, "$who->{name}: @$options: and was compared");
	}
}
system 'umount', '-Rl', $odd for 1 .. 2;
done_testing();
