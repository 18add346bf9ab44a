#!/usr/bin/perl
# What bwrap itself is given, and what of it shows inside.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

for my $who (callers()) {
	my $name = $who->{name};
	my @fresh = ('--proc', 'fresh');
	my $got = run($who, [$EXEC, @fresh, '--', 'cat', '/proc/1/cmdline'], env => {SECRET => 'secret'});
	like($got->{out}, qr{^bwrap\0--args\0\d+\0--\0cat\0/proc/1/cmdline\0$}, "$name: bwrap's command line has the command alone");
	$got = run($who, [$EXEC, @fresh, '--env', 'MY_OWN=value', '--', 'cat', '/proc/1/environ'], env => {SECRET => 'secret'});
	is("$got->{code} $got->{out}", '0 ', "$name: bwrap's environment is empty");
	$got = run($who, [$EXEC, @fresh, '--env', 'MY_OWN=value', '--', 'env'], env => {SECRET => 'secret'});
	like($got->{out}, qr/^MY_OWN=value$/m, "$name: the command has the policy's variables");
	unlike($got->{out}, qr/SECRET/, "$name: and none of the caller's");

	# The loader complains once for each program that is told to load what is not there.
	$got = run($who, [$EXEC, '--env', 'LD_PRELOAD=/nowhere.so', '--', 'sh', '-c', ':']);
	is(scalar(() = $got->{err} =~ m{/nowhere\.so}g), 1, "$name: the policy's LD_PRELOAD loads into the command, not into bwrap");
	$got = run($who, [$EXEC, '--', 'sh', '-c', ':'], env => {LD_PRELOAD => '/nowhere.so'});
	is(scalar(() = $got->{err} =~ m{/nowhere\.so}g), 1, "$name: the caller's LD_PRELOAD loads into sbx-exec alone");

	is(inside($who, \@fresh, 'cat /proc/self/oom_score_adj'), "1000\n", "$name: the command is the first to go when memory runs out");
	is(inside($who, \@fresh, 'grep -E "^(SigBlk|SigIgn)" /proc/self/status | tr -dc "1-9a-f" | grep -c .', before => sub { $SIG{PIPE} = $SIG{USR1} = 'IGNORE' }),
		"no run: 1 0\n", "$name: no signal is blocked or ignored");
	unlike(inside($who, [], 'unshare -U true && echo made; true'), qr/made/, "$name: no user namespace can be made inside")
		if which('unshare');
	is(inside($who, \@fresh, 'set -- /proc/[0-9]*; echo $#') > 4 ? 'many' : 'few', 'few', "$name: no other process shows");

	# Where bwrap is looked for.
	my $dir = "$who->{home}/project";
	my $real = which('bwrap');
	my $refused = sub {
		my ($options, $env, $message, $promise) = @_;
		my $got = run($who, [$EXEC, @$options, '--', 'true'], env => $env);
		is($got->{code}, 125, "$name: $promise");
		like($got->{err}, qr/^sbx-exec: .*$message.*\nsbx-exec: hint: ./, "$name: and says why") if $message;
	};
	put($who, "$dir/bwrap", "#!/bin/sh\necho planted >&2\nexec $real \"\$@\"\n", 0755);
	for my $path ($dir, '.:') {
		$got = run($who, [$EXEC, '--', '/bin/true'], env => {PATH => $path});
		is($got->{code}, 0, "$name: PATH $path: the system's bwrap runs");
		unlike($got->{err}, qr/planted/, "$name: PATH $path: and one that a command may have made does not");
	}
	is(run($who, [$EXEC, '--', '/bin/true'], env => {PATH => ''})->{code}, 0, "$name: without a PATH the system's bwrap is found");
	$refused->(['--bwrap', './bwrap'], {}, undef, '--bwrap is an absolute path');
	$refused->(['--bwrap', "$dir/bwrap", '--write', $dir], {}, 'the command could replace', 'a bwrap that the command could replace is refused');
	like(run($who, [$EXEC, '--bwrap', "$dir/bwrap", '--', 'true'])->{err}, qr/planted/, "$name: --bwrap names one to trust");
	chmod 0775, "$dir/bwrap";
	$refused->(['--bwrap', "$dir/bwrap"], {}, 'writable for others', 'a bwrap that others can change is refused');
	$refused->([], {SBX_BWRAP => "$dir/bwrap"}, 'writable for others', 'in SBX_BWRAP too');
	chmod 0755, "$dir/bwrap";
	if (!$>) {
		chown 2002, 2002, "$dir/bwrap";
		$refused->(['--bwrap', "$dir/bwrap"], {}, 'belongs to uid 2002', "another user's bwrap is refused");
	}
	unlink "$dir/bwrap";
	put($who, "$dir/open/bin/bwrap", "#!/bin/sh\nexec $real \"\$@\"\n", 0755);
	is(run($who, [$EXEC, '--bwrap', "$dir/open/bin/bwrap", '--', 'true'])->{code}, 0, "$name: (a bwrap in a directory of the caller's)");
	for my $mode (0777, 0775) {
		chmod $mode, "$dir/open";
		$refused->(['--bwrap', "$dir/open/bin/bwrap"], {}, "others than root and you can change $dir/open",
			'a bwrap below a directory that others can write is refused');
	}
	chmod 0755, "$dir/open";
	symlink "$dir/open/bin/bwrap", "$dir/open/way" or die;
	is(run($who, [$EXEC, '--bwrap', "$dir/open/way", '--', 'true'])->{code}, 0, "$name: (a link to it)");
	put($who, "$dir/way/.keep", '');
	symlink "$dir/open/bin/bwrap", "$dir/way/bwrap" or die;
	chmod 0777, "$dir/way";
	$refused->(['--bwrap', "$dir/way/bwrap"], {}, "can change $dir/way", 'so is one behind a link there');
	chmod 01777, "$dir/open";
	is(run($who, [$EXEC, '--bwrap', "$dir/open/bin/bwrap", '--', 'true'])->{code}, 0, "$name: in a sticky directory others can change only what is theirs");
	system 'rm', '-r', "$dir/open", "$dir/way";
}
done_testing();
