# What the case tests share. A case is a real failure of a tool around bwrap, known by its id, retold as a promise of
# ours. It gets a caller and a folder of its own; as root all happens in a mount namespace of the test's own, so a case
# may mount what it likes. Core modules only.
#
#   BEGIN { require "$FindBin::Bin/case-lib.pl" }
#   case a01 => 'what is promised', sub { my ($who, $dir) = @_; ... };
#   run_cases();
use strict;
use warnings;
use FindBin;
use JSON::PP ();
use Test::More;

# Before lib.pl makes anything, as nothing is removed across an exec.
if (!$> && !$^C && !$ENV{SBX_CASE_MOUNTS}) {
	local $ENV{SBX_CASE_MOUNTS} = 1;
	plan skip_all => 'root may make no mount namespace here' if system 'unshare -m true 2>/dev/null';
	exec 'unshare', '-m', '--propagation', 'private', $^X, $0 or die;
}
require "$FindBin::Bin/run-lib.pl";

our ($top, $PLAN, $EXEC);
my @cases;
my $policies = 0;

sub case {
	push @cases, [@_];
}

# Runs the cases for each caller, a subtest each. SBX_CASE=ID runs that one alone.
sub run_cases {
	for my $who (callers()) {
		for my $i (0 .. $#cases) {
			my ($id, $promise, $code) = @{$cases[$i]};
			next if $ENV{SBX_CASE} && $ENV{SBX_CASE} ne $id;
			my $dir = "$who->{home}/$id.$i";
			folder($who, $dir);
			subtest "$id $promise ($who->{name})" => sub { $code->($who, $dir) };
		}
	}
	done_testing();
}

# The caller who owns what other users cannot change: root, where it runs the tests.
sub trusted {
	return {name => 'root', uid => 0, gid => 0, home => $top};
}

# Makes a folder, and those above it, that belong to the caller.
sub folder {
	my ($who, $path) = @_;
	return if -d $path;
	folder($who, $path =~ s{/[^/]*$}{}r);
	mkdir $path or die "$path: $!";
	chown $who->{uid}, $who->{gid}, $path if !$>;
}

# Makes things below a folder for a caller: "NAME/" a folder, "NAME -> TARGET" a link, "NAME = TEXT" a file.
sub tree {
	my ($who, $dir, @entries) = @_;
	for (@entries) {
		my ($name, $what, $value) = m{^(.*?)(?:(/)$| (->|=) (.*)$)}s ? ($1, $2 // $3, $4) : die $_;
		if ($what eq '/') {
			folder($who, "$dir/$name");
		} elsif ($what eq '=') {
			put($who, "$dir/$name", $value);
		} else {
			folder($who, "$dir/$name" =~ s{/[^/]*$}{}r);
			symlink $value, "$dir/$name" or die "$dir/$name: $!";
			system 'chown', '-h', "$who->{uid}:$who->{gid}", "$dir/$name" if !$>;
		}
	}
}

# Mounts something in the test's own namespace, for the time of a subtest: keep what it gives.
sub mounted {
	my ($at, @how) = @_;
	system('mount', @how, $at) == 0 or die "mount @how $at";
	return bless \$at, 'Mounted';
}

sub Mounted::DESTROY {
	local $?;
	system 'umount', '-l', ${$_[0]};
}

# Runs a command as a caller in a small root of its own, which the shell script, run in it, has changed: its output
# and errors. It has the host's /usr, /etc, /proc and /dev, and what the tests made.
sub in_root {
	my ($dir, $change, $who, @command) = @_;
	my $script = <<'END';
root=$1 top=$2 change=$3 uid=$4; shift 4
mount -t tmpfs -o mode=0755 tmpfs "$root"
cd "$root"
mkdir -p usr etc proc dev sys tmp run root home old ".$top"
chmod 1777 tmp
for d in bin sbin lib lib32 lib64 libx32; do if [ -L "/$d" ]; then cp -P "/$d" "$d"; fi; done
for d in usr etc proc dev sys "$top"; do mount --rbind "/$d" "./$d"; done
eval "$change"
pivot_root . old
umount -l /old
rmdir /old
cd /
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
END
	my $root = "$dir/root";
	mkdir $root;
	my $got = run({%$who, uid => 0, gid => 0}, [qw(unshare -m --propagation private sh -ec), $script, 'sh', $root, $top,
		$change, $who->{uid}, @command]);
	return $got->{out} . $got->{err};
}

# The options for a policy of a case: the host readable, and these keys of filesystem; other keys after a hash. Text
# stands for the filesystem as it is.
sub policy {
	my ($who, $filesystem, %other) = @_;
	my $json = JSON::PP->new->canonical;
	my $files = ref $filesystem ? $json->encode({root => 'read', %$filesystem}) : $filesystem;
	my $more = join '', map { ", \"$_\": " . $json->allow_nonref->encode($other{$_}) } sort keys %other;
	my $path = "$who->{home}/policies/" . ++$policies . '.json';
	put($who, $path, qq({"sbx": 1, "filesystem": $files$more}));
	return ('-p', $path);
}

# What sbx-plan --json says, decoded.
sub planned {
	my ($who, @options) = @_;
	my $got = run($who, [$PLAN, '--json', @options]);
	return $got->{code} ? {error => $got->{err}} : JSON::PP->new->decode($got->{out});
}

# The notes of a plan, a line each.
sub notes {
	my ($who, @options) = @_;
	my $plan = planned($who, @options);
	return join "\n", $plan->{error} // (), @{$plan->{notes} || []};
}

# sbx-exec does not run a command with these options: exit code 125 (or {code}), one message like the pattern with one
# hint, bwrap not heard, nothing run and nothing changed in the folder.
sub refuses {
	my ($who, $dir, $promise, $pattern, $options, %how) = @_;
	my $code = delete $how{code} // 125;
	my $command = delete $how{command} // ['sh', '-c', 'echo RAN'];
	my $before = listing($dir);
	my $got = run($who, [$EXEC, @$options, '--', @$command], %how);
	my $said = $got->{err} =~ s/[^\n -~]/?/gr;
	like("$got->{code} $got->{out}", qr{^(?:$code) \z}, "$who->{name}: $promise: nothing runs") or diag($said);
	like($said, qr/\Asbx-exec: [^\n]+\nsbx-exec: hint: [^\n]+\n\z/, "$who->{name}: $promise: one message and a hint");
	like($said, $pattern, "$who->{name}: $promise: it says what is wrong");
	is(listing($dir), $before, "$who->{name}: $promise: nothing is left behind");
	return $got;
}

1;
