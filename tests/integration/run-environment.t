# The command's variables: an image's file, secrets that nothing prints, directories that are usable inside.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $PLAN, $EXEC);

my $value = 'v4lue of $a "secret"';

# All that a program says, its report included, has nothing of the value.
sub says_nothing {
	my ($who, $name, $got, $report) = @_;
	unlike("$got->{out}$got->{err}" . JSON::PP->new->encode($report // {}), qr/v4lue/, "$who->{name}: $name says nothing of the value");
}

sub secrets {
	my ($who) = @_;
	my $env = {TOKEN => $value};
	my ($got, $report) = reported($who, [qw(--secret TOKEN -- sh -c), 'printf %s "$TOKEN"'], env => $env);
	is($got->{out}, $value, "$who->{name}: a secret reaches the command");
	says_nothing($who, 'a report', {out => '', err => $got->{err}}, $report);

	($got, $report) = reported($who, [qw(--secret TOKEN -- true)]);
	is($got->{code}, 125, "$who->{name}: a missing secret is refused");
	like($got->{err}, qr/^sbx-exec: command line: --secret TOKEN: the secret TOKEN is not in the environment\nsbx-exec: hint: /,
		"$who->{name}: and named");
	is("$report->{phase} $report->{outcome}", 'policy refused', "$who->{name}: before anything is done");

	my @plan = ($PLAN, '--secret', 'TOKEN', '--secret', 'SSH_AUTH_SOCK', '--inherit', 'T*', '--inherit', 'SSH*');
	my $both = {%$env, SSH_AUTH_SOCK => '/v4lue'};
	for my $output ([], ['--print'], ['-0'], ['--json'], ['--check'], ['--json', '--rules'], ['--explain', '/usr']) {
		$got = run($who, [@plan, @$output], env => $both);
		says_nothing($who, "sbx-plan @$output", $got);
		is($got->{code}, "@$output" eq '-0' ? 125 : 0, "$who->{name}: sbx-plan @$output ends as it should");
	}
	like(run($who, [@plan, '-0'], env => $both)->{err}, qr/the value of the secret TOKEN\n.*hint: use --print/, "$who->{name}: -0 is refused");
	my $note = qr/the value of the secret TOKEN is not printed/;
	like(run($who, [@plan, '--json'], env => $both)->{out}, $note, "$who->{name}: --json says that it lacks the value");
	$got = run($who, [$PLAN, qw(--secret TOKEN --print -- sh -c), 'printf %s "$TOKEN"'], env => $env);
	like($got->{err}, $note, "$who->{name}: --print says so too");
	my $pasted = "bwrap $got->{out}";
	is(run($who, ['bash', '-c', $pasted], env => $env)->{out}, $value, "$who->{name}: its text takes the value from the shell");
	isnt(run($who, ['bash', '-c', $pasted])->{code}, 0, "$who->{name}: and does not run without");
	is(run($who, [$PLAN, '--secret', 'TOKEN'])->{code}, 125, "$who->{name}: sbx-plan refuses a missing secret as well");
	says_nothing($who, 'a command that is not found',
		reported($who, [qw(--secret TOKEN -- nosuchcommand)], env => $env));
	says_nothing($who, 'a secret that is too long',
		reported($who, [qw(--secret TOKEN -- true)], env => {TOKEN => $value . 'x' x (32 * 4096)}));
}

sub image {
	my ($who) = @_;
	my $file = put($who, "$who->{home}/env.json", '{"PATH": "/opt/tool/bin:/usr/bin:/bin", "LANG": "C", "npm.x": "1", "TMPDIR": "/image/tmp"}');
	my $policy = put($who, "$who->{home}/image-policy.json", '{"sbx": 1, "extends": ["default"], "environment":
		{"base": "file", "file": "@policy/env.json", "prepend": {"PATH": ["/usr/games"]}}}');
	my ($got, $report) = reported($who, ['-p', $policy, '--', 'env']);
	is(join(' ', grep { !/^PWD=/ } sort split /\n/, $got->{out}), 'LANG=C PATH=/usr/games:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin TMPDIR=/tmp',
		"$who->{name}: an image's variables");
	like("@{$report->{notes}}", qr/"npm\.x" of \Q$file\E is left out.*TMPDIR is \/image\/tmp, not in the sandbox: it is set to \/tmp/,
		"$who->{name}: with notes");
	chmod 0666, $file;
	($got, $report) = reported($who, ['-p', $policy, '--', 'env']);
	is("$got->{code} $report->{phase}", '125 policy', "$who->{name}: which others could have written is refused");
}

# A policy that is for one image, in others.
sub image_names {
	my ($who) = @_;
	my $policy = put($who, "$who->{home}/names.json", '{"sbx": 1, "extends": ["default"], "image": {"build": "1.2", "base": "debian:13"}}');
	my $of = sub { {SBX_IMAGE_BUILD => $_[0], SBX_IMAGE_BASE => 'debian:13'} };
	is(run($who, [$EXEC, '-p', $policy, '--', 'true'])->{code}, 0, "$who->{name}: no image: no check");
	is(run($who, [$EXEC, '-p', $policy, '--', 'true'], env => $of->('1.2'))->{code}, 0, "$who->{name}: the right image");
	my $want = qr{: \Q$policy\E: /image/build: the image's build is "1\.\\x1b" \(SBX_IMAGE_BUILD\), and the policy wants "1\.2"\n};
	my ($got, $report) = reported($who, ['-p', $policy, '--', 'echo', 'ran'], env => $of->("1.\e"));
	is("$got->{code} $got->{out}$report->{phase} $report->{outcome}", '125 policy refused', "$who->{name}: another image is refused");
	like($got->{err}, $want, "$who->{name}: by name");
	$got = run($who, [$PLAN, '-p', $policy], env => $of->("1.\e"));
	is("$got->{code} $got->{out}", '125 ', "$who->{name}: by sbx-plan too");
	like($got->{err}, $want, "$who->{name}: with the same words");
	return if $>;
	mkdir "$top/etc";
	my @in_image = ('unshare', '-m', '--propagation', 'private', 'sh', '-ec', 'mount -t tmpfs none "$1" && cp -a /etc/. "$1" &&
		mkdir -p "$1/sbx" && echo "{\"base\": \"debian:12\"}" >"$1/sbx/image.json" && mount --bind "$1" /etc && shift && exec "$@"', 'sh', "$top/etc");
	$got = run((callers())[0], [@in_image, $EXEC, '-p', $policy, '--', 'echo', 'ran']);
	is("$got->{code} $got->{out}", '125 ', "$who->{name}: an image that a file names is refused");
	like($got->{err}, qr{/image/base: the image's base is "debian:12" \(/etc/sbx/image\.json\)}, "$who->{name}: with its file");
}

sub directories {
	my ($who) = @_;
	my $env = {TMPDIR => "$who->{home}/project"};
	my $temp = 'd=$(mktemp -d) && rmdir $d && echo ${d%/*}';
	is(inside($who, [qw(--inherit TMPDIR)], $temp, env => $env), "/tmp\n", "$who->{name}: a TMPDIR that cannot be written becomes /tmp");
	is(inside($who, [qw(-p workspace --inherit TMPDIR)], $temp, env => $env), "$who->{home}/project\n", "$who->{name}: one that can stays");
	my ($got, $report) = reported($who, ['--deny', $who->{home}, '--chdir', '/', '--env', "TMPDIR=$who->{home}", '--', 'sh', '-c', 'echo $TMPDIR']);
	is($got->{out}, "$who->{home}\n", "$who->{name}: and so does one that is set");
	like("@{$report->{notes}}", qr/$_ is \Q$who->{home}\E, denied in the sandbox/, "$who->{name}: with a note of $_") for qw(TMPDIR HOME);
	($got, $report) = reported($who, ['-p', 'workspace', '--', 'true']);
	unlike("@{$report->{notes}}", qr/environment: /, "$who->{name}: nothing is noted where all is there");
}

sub scratch {
	my ($who) = @_;
	my $before = listing($who->{home});
	my $policy = sub { put($who, "$top/$who->{name}-scratch.json", qq({"sbx": 1, "extends": ["default"], "scratch": {"at": "$_[0]", "size": "1M"}})) };
	my $env = {TMPDIR => '/var/tmp'};
	my $look = 'echo $HOME $TMPDIR; stat -c "%a %u %F" /scratch ~ $TMPDIR; echo x > ~/made && mktemp >/dev/null && cat ~/*';
	my $want = "/scratch/home /scratch/tmp\n" . "700 $who->{uid} directory\n" x 3 . "x\n";
	is(inside($who, ['-p', $policy->('/scratch'), '--inherit', 'TMPDIR'], $look, env => $env), $want, "$who->{name}: scratch, with home and tmp in it") for 1, 2;
	my ($got, $report) = reported($who, ['-p', $policy->('/scratch'), qw(-- sh -c), 'head -c 2097152 /dev/zero > ~/large']);
	like($got->{err}, qr/No space left/, "$who->{name}: no more than its size");
	unlike("@{$report->{notes}}", qr/environment: /, "$who->{name}: all is there");
	is(inside($who, ['-p', $policy->('/scratch'), '--env', 'HOME=/usr'], 'echo $HOME'), "/usr\n", "$who->{name}: HOME can be set all the same");
	is(inside($who, ['-p', $policy->('/var/cache/one/two')], 'echo x > ~/made && cat ~/made'), "x\n", "$who->{name}: scratch where the host has nothing");
	is(inside($who, ['-p', $policy->('/tmp')], 'echo x > $TMPDIR/made && cat /tmp/tmp/made'), "x\n", "$who->{name}: scratch as /tmp");
	is(inside($who, ['-p', $policy->('/scratch'), '--bind', "$who->{home}/project:/scratch/home/cache/of"], 'touch ~/cache/new && ls ~/cache/of; echo in'),
		"in\n", "$who->{name}: a folder of the host's in scratch");
	is(run($who, [$EXEC, '-p', $policy->("$who->{home}/project/new"), '--write', './', '--', 'true'])->{code}, 125,
		"$who->{name}: it is not made in a folder of the host's");
	is(listing($who->{home}), $before, "$who->{name}: nothing of it is left");
}

for my $who (callers()) {
	secrets($who);
	image($who);
	image_names($who);
	directories($who);
	scratch($who);
}
done_testing();
