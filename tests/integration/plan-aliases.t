#!/usr/bin/perl
# A directory that the host's mount table shows at two places: rules for one hold at the other.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/run-lib.pl" }
our ($top, $EXEC);

plan skip_all => 'bind mounts of the test need root' if $>;
for my $who (callers()) {
	my ($name, $home) = @$who{qw(name home)};
	my $project = "$home/project";
	my $as = sub {
		my ($mounts, @command) = @_;
		# The mounts are made by root, in a namespace of their own; the run is the caller's.
		return run({%$who, uid => 0, gid => 0}, ['unshare', '-m', '--propagation', 'private', 'sh', '-ec',
			"$mounts; cd '$project'; exec setpriv --reuid $who->{uid} --regid $who->{gid} --clear-groups \"\$@\"", 'sh', @command]);
	};
	put($who, "$home/.ssh/key", 'SECRET');
	put($who, "$project/.git/hooks/x", '');
	put($who, "$project/.git/config", '');
	for my $dir (qw(alias whole sub)) {
		mkdir "$project/$dir";
		chown $who->{uid}, $who->{gid}, "$project/$dir";
	}
	my $got = $as->("mount --bind '$home/.ssh' '$project/alias'", $EXEC, '--', 'cat', 'alias/key');
	unlike($got->{out}, qr/SECRET/, "$name: a denied directory is denied where it is mounted too");
	like($got->{err}, qr/Permission denied/, "$name: ... and says so");
	$got = $as->("mkdir -p /mnt; mount --bind '$home' /mnt", $EXEC, '--', 'cat', '/mnt/.ssh/key');
	unlike($got->{out}, qr/SECRET/, "$name: also inside a mount of what holds it");
	$got = $as->("mount --rbind / /mnt", $EXEC, '--', 'cat', "/mnt$home/.ssh/key");
	unlike($got->{out}, qr/SECRET/, "$name: also in a second view of the whole root");
	$got = $as->("mount --bind '$project/.git/hooks' '$project/sub'", $EXEC, '-p', 'workspace', '--', 'touch', 'sub/evil');
	like($got->{err}, qr/Read-only file system/, "$name: what is protected cannot be written there");
	ok(!-e "$project/.git/hooks/evil", "$name: and is not");
	$got = $as->("mount --bind '$project/.git/hooks' '$project/sub'", $EXEC, '-p', 'workspace', '--', 'sh', '-c', 'echo yes >made && cat made');
	is($got->{out}, "yes\n", "$name: the rest stays writable");
	unlink "$project/made";
}
done_testing();
