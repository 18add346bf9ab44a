# What the tests with docker share: a real dockerd, in namespaces of its own and without a network.
#
#   BEGIN { require "$FindBin::Bin/docker-lib.pl" }
#   my @docker = docker();	# words that go before a command of docker's
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/lib.pl";

our ($top, $root);
my $cgroups = "/sbx-env.$$";
my $pid;

sub docker {
	my $packages = fetched('docker', qw(docker.io containerd runc));
	my $dir = "$top/docker";
	$ENV{PATH} = "$packages/usr/sbin:$packages/usr/bin:$packages/sbin:$ENV{PATH}";
	mkdir $dir or die;

	# --privileged asks for every capability that the kernel knows, and runc cannot give one that this machine's root
	# lacks itself: that one is taken out of what runc is asked for.
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
	$pid = fork // die;
	if (!$pid) {
		open STDOUT, '>', "$dir/log" or die;
		open STDERR, '>&', \*STDOUT;
		exec 'unshare', '-m', '-p', '-f', '--kill-child', '--mount-proc', 'dockerd', '-H', "unix://$dir/socket", '--data-root', "$dir/data",
			'--exec-root', "$dir/exec", '--add-runtime', "sbx-env=$dir/runc", '--default-runtime', 'sbx-env',
			'--pidfile', "$dir/pid", '--exec-opt', 'native.cgroupdriver=cgroupfs', '--cgroup-parent', $cgroups,
			'--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false' or POSIX::_exit(99);
	}
	my @docker = ('docker', '-H', "unix://$dir/socket");
	for (1 .. 300) {
		last if system("@docker version >/dev/null 2>&1") == 0;
		plan(skip_all => 'dockerd does not start here: ' . (slurp("$dir/log") // '')) if $_ == 300;
		select undef, undef, undef, 0.1;
	}
	return @docker;
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

1;
