#!/usr/bin/perl
# docker: a real dockerd, in namespaces of its own and without a network.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $place, $root);

my $rootfs = fetched('rootfs');
my $packages = fetched('docker', qw(docker.io containerd runc));
my $cgroups = "/sbx-env.$$";
my $dir = "$top/docker";
$ENV{PATH} = "$packages/usr/sbin:$packages/usr/bin:$packages/sbin:$ENV{PATH}";
mkdir $dir or die;

# --privileged asks for every capability that the kernel knows, and runc cannot give one that this machine's root lacks
# itself: that one is taken out of what runc is asked for.
put($root, "$dir/runc", <<'END' =~ s/PACKAGES/$packages/r, 0755);
#!/usr/bin/perl
use strict;
use warnings;
use JSON::PP;
sub slurp { local (@ARGV, $/) = @_; return <> }
my ($bundle) = "@ARGV" =~ /\bcreate .*--bundle (\S+)/;
if ($bundle) {
	my ($own) = `setpriv --dump` =~ /^Capability bounding set: (.*)/m;
	my %own = map { 'CAP_' . uc() => 1 } split /,/, $own;
	my $config = decode_json(slurp("$bundle/config.json"));
	@$_ = grep { $own{$_} } @$_ for values %{$config->{process}{capabilities}};
	open my $out, '>', "$bundle/config.json" or die "$bundle: $!";
	print $out encode_json($config);
	close $out or die;
}
exec 'PACKAGES/usr/sbin/runc', @ARGV or die "runc: $!";
END

# All of it ends with the first process of the namespace.
my $pid = fork // die;
if (!$pid) {
	open STDOUT, '>', "$dir/log" or die;
	open STDERR, '>&', \*STDOUT;
	exec 'unshare', '-m', '-p', '-f', '--kill-child', '--mount-proc', 'dockerd', '-H', "unix://$dir/socket", '--data-root', "$dir/data",
		'--exec-root', "$dir/exec", '--add-runtime', "sbx-env=$dir/runc", '--default-runtime', 'sbx-env',
		'--pidfile', "$dir/pid", '--exec-opt', 'native.cgroupdriver=cgroupfs', '--cgroup-parent', $cgroups,
		'--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false' or POSIX::_exit(99);
}
END {
	if ($pid) {
		my $code = $?;
		kill 'KILL', $pid;
		waitpid $pid, 0;
		system 'find /sys/fs/cgroup -depth -type d -path "*' . $cgroups . '*" -exec rmdir {} + 2>/dev/null';
		$? = $code;
	}
}

my @docker = ('docker', '-H', "unix://$dir/socket");
for (1 .. 300) {
	last if system("@docker version >/dev/null 2>&1") == 0;
	plan(skip_all => 'dockerd does not start here: ' . (slurp("$dir/log") // '')) if $_ == 300;
	select undef, undef, undef, 0.1;
}
system("tar -C '$rootfs' -c . | @docker import - sbx-env >/dev/null") == 0 or die 'docker import';

my @run = (@docker, 'run', '--rm', '--network', 'none', '-v', "$place:$place");
my @seccomp = ('--security-opt', 'seccomp=unconfined');
my @paths = ('--security-opt', 'systempaths=unconfined');
my @user = ('--user', '1000:1000');
attempt('docker', 'root', @run, 'sbx-env');
attempt('docker', 'user', @run, @user, 'sbx-env');
attempt('docker, seccomp=unconfined', 'root', @run, @seccomp, 'sbx-env');
attempt('docker, seccomp=unconfined', 'user', @run, @user, @seccomp, 'sbx-env');
attempt('docker, seccomp=unconfined, systempaths=unconfined', 'root', @run, @seccomp, @paths, 'sbx-env');
attempt('docker, seccomp=unconfined, systempaths=unconfined', 'user', @run, @user, @seccomp, @paths, 'sbx-env');
# podman's profile: it allows namespaces and mounts, and little else that docker's does not.
my @profile = ('--security-opt', 'seccomp=/usr/share/containers/seccomp.json');
attempt('docker, seccomp=/usr/share/containers/seccomp.json', 'root', @run, @profile, 'sbx-env');
attempt('docker, seccomp=/usr/share/containers/seccomp.json', 'user', @run, @user, @profile, 'sbx-env');
attempt('docker, systempaths=unconfined', 'root', @run, @paths, 'sbx-env');
attempt('docker, --cap-add SYS_ADMIN', 'root', @run, '--cap-add', 'SYS_ADMIN', 'sbx-env');
attempt('docker, --cap-add SYS_ADMIN', 'user', @run, @user, '--cap-add', 'SYS_ADMIN', 'sbx-env');
attempt('docker, --cap-drop ALL --cap-add SETFCAP, seccomp=unconfined', 'root', @run, '--cap-drop', 'ALL', '--cap-add', 'SETFCAP', @seccomp, 'sbx-env');
attempt('docker, --cap-drop ALL, seccomp=unconfined', 'root', @run, '--cap-drop', 'ALL', @seccomp, 'sbx-env');
attempt('docker, no-new-privileges, seccomp=unconfined', 'user', @run, @user, @seccomp, '--security-opt', 'no-new-privileges', 'sbx-env');
attempt('docker, --read-only, seccomp=unconfined', 'root', @run, '--read-only', @seccomp, 'sbx-env');
attempt('docker, --privileged', 'root', @run, '--privileged', 'sbx-env');
attempt('docker, --privileged', 'user', @run, @user, '--privileged', 'sbx-env');
attempt('docker, --pid host, seccomp=unconfined', 'root', @run, '--pid', 'host', @seccomp, 'sbx-env');
done_testing();
