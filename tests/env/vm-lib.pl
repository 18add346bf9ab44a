# What the tests in virtual machines share: qemu without hardware help, the distribution's kernel, and a root of busybox
# with what sbx-exec needs.
#
#   BEGIN { require "$FindBin::Bin/vm-lib.pl" }
#   booted(append => 'cgroup=v2', rows => [[NAME, 'root', WORDS...], [NAME, 'user', guest_user(), WORDS...]]);
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/lib.pl";

our ($top, $EXEC, $root);

# Words that go before a command in the guest.
sub guest_user { return ('/bin/setpriv', '--reuid', 1000, '--regid', 1000, '--clear-groups', 'env', 'HOME=/home') }

# Boots a machine that makes the runs of the rows, and judges them. append: words for the kernel's command line, of which
# init knows cgroup=v1|v2|hybrid|none and root=initial (stay in the initial RAM file system). setup: lines of shell that
# come first. programs: more of them, host path => guest path. checks: [NAME, WORDS...] of what has to end with exit code 0.
# runs: [SUB, WORDS...] of others, whose SUB gets {code, out, err}. limit: seconds that all may take. root: a folder whose
# copy is the machine's root; where that has systemd, it is the first program, and the runs are those of a service.
my $boots = 0;
sub booted {
	my (%how) = @_;
	my $arch = (POSIX::uname())[4];
	plan(skip_all => "machines are made for x86_64, this is $arch") if $arch ne 'x86_64';
	needed(qw(qemu-system-x86_64 busybox cpio bwrap setpriv unshare));
	my ($kernel) = glob fetched('kernel') . '/boot/vmlinuz-*';
	my $dir = "$top/vm." . $boots++;
	my $tree = "$dir/tree";
	mkdir $_ or die "$_: $!" for $dir, $tree;
	!$how{root} or system("tar -C $how{root} --one-file-system --exclude=./usr/share/doc --exclude=./usr/share/locale -c . | tar -C $tree -x") == 0 or die 'tar';
	-d $_ or mkdir $_ or die "$_: $!" for map { "$tree/$_" } qw(bin dev proc sys new place place/open);
	my %programs = (map({ which($_) => "/bin/$_" } qw(busybox bwrap setpriv unshare)), $EXEC => '/place/sbx-exec', %{$how{programs} || {}});
	guest_program($tree, $_, $programs{$_}) for sort keys %programs;
	for my $name (split ' ', `busybox --list`) { symlink 'busybox', "$tree/bin/$name" if !-e "$tree/bin/$name" }
	chmod 01777, "$tree/place/open" or die;
	put($root, "$tree/place/secret", "secret\n");
	put($root, "$tree/etc/passwd", "root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000::/home:/bin/sh\n") if !$how{root};
	put($root, "$tree/init", init(), 0755);
	put($root, "$tree/etc/systemd/system/runs.service", "[Service]\nType=oneshot\nExecStart=/init\n") if $how{root};

	my (@script, @runs);
	for my $row (@{$how{rows}}) {
		my ($name, $as, @in) = @$row;
		my $wanted = row($name, $as);
		my $run = {row => $wanted, at => {}};
		push @runs, $run;
		for my $options ([], $wanted->{outcome} eq 'bound' ? ['--proc', 'fresh'] : (), options($wanted) ? [options($wanted)] : ()) {
			$run->{at}{"@$options"} = @script;
			push @script, join ' ', 'attempt', map { "'" . s/'/'\\''/gr . "'" } @in, words('/place', @$options);
		}
	}
	my @others = @{$how{runs} || []};
	for my $check (@{$how{checks} || []}) {
		my ($name, @words) = @$check;
		push @others, [sub { is($_[0]{code}, 0, "$how{append}: $name") or diag($_[0]{out}, $_[0]{err}) }, @words];
	}
	my $first = @script;
	for my $other (@others) {
		my ($judge, @words) = @$other;
		push @script, join ' ', 'attempt', map { "'" . s/'/'\\''/gr . "'" } @words;
	}
	put($root, "$tree/script", join("\n", $how{setup} // '', @script, 'echo @@end', ''));
	system("cd $tree && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1 >../initrd") == 0 or die 'cpio';
	put($root, "$dir/$_", '') for qw(console answer);
	my $code = system('timeout', '-k', 5, $how{limit} // 180, 'qemu-system-x86_64', '-accel', 'tcg,thread=multi', '-M', 'q35', '-cpu', 'max', '-smp', 2, '-m', $how{root} ? 1536 : 768,
		'-kernel', $kernel, '-initrd', "$dir/initrd", '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
		'-append', 'console=ttyS0 quiet loglevel=3 panic=-1 rdinit=/init mitigations=off tsc=unstable random.trust_cpu=on ' . ($how{root} ? 'systemd.wants=runs.service ' : '') . ($how{append} // ''),
		'-serial', "file:$dir/console", '-serial', "file:$dir/answer");
	my $answer = slurp("$dir/answer") =~ s/\r//gr;
	if ($answer !~ /^\@\@end/m) {
		diag(slurp("$dir/console"), $answer);
		return fail('the machine boots and makes its runs');
	}
	my @got;
	for (split /\n/, $answer) {
		push @got, {code => $1, out => '', err => ''} if /^\@\@run (\d+)/;
		$got[-1]{$1 eq 'o' ? 'out' : 'err'} .= "$2\n" if /^([oe]):(.*)/;
	}
	$others[$_][0]->($got[$first + $_]) for 0 .. $#others;
	for my $run (@runs) {
		judge($run->{row}, sub { $got[$run->{at}{"@_"}] });
	}
}

# Copies a program and its libraries.
sub guest_program {
	my ($tree, $from, $to) = @_;
	for my $file ([$from, $to], map { [$_, $_] } `ldd $from 2>/dev/null` =~ m{(/[^ )]+)}g) {
		my ($source, $dest) = ($file->[0], "$tree$file->[1]");
		next if -e $dest;
		system('mkdir', '-p', $dest =~ s{/[^/]*$}{}r);
		copy($source, $dest) or die "$source: $!";
		chmod 0755, $dest;
	}
}

# The first program of the machine. pivot_root cannot leave the initial RAM file system, so it moves to another root.
sub init {
	return "#!/bin/busybox sh\n" . <<'END';
export PATH=/bin
has() { case " $(cat /proc/cmdline) " in *" $1 "*) ;; *) false ;; esac; }
group() {
	mkdir "/sys/fs/cgroup/$1"
	mount -t cgroup -o "$1" cgroup "/sys/fs/cgroup/$1"
}
mount -t proc proc /proc
if [ ! -e /moved ] && ! has root=initial; then
	umount /proc
	mount -t tmpfs -o mode=755 root /new
	for entry in /*; do [ "$entry" = /new ] || cp -a "$entry" /new; done
	: >/new/moved
	exec switch_root -c /dev/console /new /init
fi
if [ -e /lib/systemd/systemd ]; then
	[ $$ != 1 ] || exec /lib/systemd/systemd
else
	mount -t devtmpfs dev /dev
	mount -t sysfs sys /sys
	mount -t securityfs security /sys/kernel/security
	mkdir -p /home /run /tmp /dev/shm
	chmod 1777 /tmp
	mount -t tmpfs run /run
	mount -t tmpfs shm /dev/shm
	ln -s /proc/self/fd /dev/fd
	ip link set lo up
	if has cgroup=v2; then
		mount -t cgroup2 cgroup /sys/fs/cgroup
	elif ! has cgroup=none; then
		mount -t tmpfs cgroup /sys/fs/cgroup
		for name in memory pids cpu,cpuacct freezer; do group "$name"; done
		if has cgroup=hybrid; then
			mkdir /sys/fs/cgroup/unified
			mount -t cgroup2 cgroup /sys/fs/cgroup/unified
		fi
	fi
fi
stty -F /dev/ttyS1 raw -echo
attempt() {
	rm -rf /tmp/sbx-*
	"$@" >/run/out 2>/run/err
	echo "@@run $?"
	sed s/^/o:/ /run/out
	sed s/^/e:/ /run/err
}
cd /
{ . /script; } </dev/null >/dev/ttyS1 2>&1
sync
sleep 0.2
poweroff -f
END
}

1;
