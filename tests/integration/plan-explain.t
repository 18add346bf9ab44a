# What sbx-plan says of a path is what a process inside finds there: a sample of a thousand paths of this host and of a
# tree made for it, under four policies, and of random trees with hostile names under random policies, as root and as an
# ordinary user. One run asks for all of them. SBX_SEED chooses other samples, SBX_FULL=1, or CI, more random trees.
use strict;
use warnings;
use Encode ();
use FindBin;
use JSON::PP;
use IO::Socket::UNIX;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $PLAN, $EXEC);
my $seed = $ENV{SBX_SEED} || 20;

# Reads NUL-separated paths; says a line each: what can be done there, the kind, where the links lead, and, where nothing
# is, how making it ends ("-": its directory is missing). Nothing of /proc and /sys is opened. Files made are removed.
my $looker = <<'END';
use Cwd; use Errno; use Fcntl ":mode", "O_RDONLY", "O_WRONLY", "O_CREAT", "O_EXCL", "O_NONBLOCK"; use POSIX ();
sub name { return (grep { $!{$_} } sort keys %!)[0] }
sub make { sysopen(my $f, $_[0], O_WRONLY | O_CREAT | O_EXCL) or return name(); close $f; unlink $_[0]; return "ok" }
sub opens {
	my ($path, $mode, $how, $kind) = @_;
	return 0 if !POSIX::access($path, $mode);
	return 1 if ($path =~ m{^/(proc|sys)(/|$)} && $kind ne "a character device") || $kind eq "a socket" || $kind eq "a FIFO";
	return sysopen(my $f, $path, $how | O_NONBLOCK) || $!{ENXIO};
}
my %kinds = (S_IFREG, "a file", S_IFDIR, "a directory", S_IFSOCK, "a socket", S_IFIFO, "a FIFO",
	S_IFCHR, "a character device", S_IFBLK, "a block device");
local $/ = "\0";
while (my $path = <STDIN>) {
	chomp $path;
	my @st = stat $path;
	if (!@st && $!{EACCES}) { print "deny\t\t\t\n"; next }
	if (!@st) {
		my $parent = $path =~ s{/[^/]*$}{}r;
		print "absent\t\t\t", lstat $path || !-d "$parent/" ? "-" : make($path), "\n";
		next;
	}
	my $kind = $kinds{S_IFMT($st[2])};
	my $dir = $kind eq "a directory";
	my $read = $dir ? opendir(my $d, $path) : opens($path, POSIX::R_OK, O_RDONLY, $kind);
	my $write = $dir ? make("$path/.sbx-explain.$$") eq "ok" : opens($path, POSIX::W_OK, O_WRONLY, $kind);
	my $end = (Cwd::realpath($path) // "") =~ s/[^!-~]+/?/gr;
	print join("\t", $write ? "write" : $read ? "read" : "deny", $kind, $end, ""), "\n";
}
END

# A path as the command line has it, and as a message can show it.
sub escaped {
	return $_[0] =~ s/([*?\[\]\\])/\\$1/gr;
}

sub shown {
	return $_[0] =~ s/[^ -~]/?/gr;
}

# Random descents from a folder, by the host's names. Process folders are no part of it, nor is what other programs are
# likely to make or remove meanwhile.
sub descend {
	my ($dir, $depth) = @_;
	my $path = $dir;
	for (1 .. 1 + int rand $depth) {
		opendir my $d, $path or last;
		my @names = grep { !/^\.\.?$/ && !($path eq '/proc' && /^\d/) && !($path eq '/var' && $_ eq 'tmp')
			&& !/[^ -~]/ } sort readdir $d;
		last if !@names;
		$path = ($path eq '/' ? '' : $path) . "/$names[int rand @names]";
		last if -l $path || !-d $path;
	}
	return rand() < 0.12 ? "$path/nosuch" : rand() < 0.1 ? "$path.nosuch" : $path;
}

sub sample {
	my ($who) = @_;
	srand $seed;
	my %paths = map { $_ => 1 } hand_paths($who);
	my @from = (['/', 2], ['/etc', 4], ['/usr', 6], ['/var', 3], ['/home', 3], ['/root', 1], [$who->{home}, 5],
		['/proc', 3], ['/dev', 2], ['/sys', 4], ['/tmp', 2], ['/run', 3]);
	for (1 .. 20000) {
		last if keys %paths >= 1200;
		$paths{descend(@{$from[$_ % @from]})} = 1;
	}
	return sort keys %paths;
}

# A tree with everything that a policy can do to one.
sub hand_tree {
	my ($who) = @_;
	my $hand = "$who->{home}/hand";
	put($who, "$hand/$_", $_) for qw(plain secret/inner/file secret/shown/file open/sub/file open/protected/file
		open/deep/er/prot/file open/denied/file open/readonly masked source/file source/secret/file
		source/kept/file mnt/under scratch/under openmnt/kept/under openmnt/secret/under replaced);
	put($who, "$hand/open/readonly", '', 0444);
	put($who, "$hand/open/sealed", '', 0000);
	put($who, "$hand/open/writeonly", '', 0200);
	put({uid => $who->{uid} ? 0 : 2001, gid => 0}, "$hand/$_", '', 0640) for 'open/foreign', 'open/locked/file';
	chmod 0700, "$hand/open/locked";
	chown $who->{uid} ? 0 : 2001, 0, "$hand/open/locked" if !$>;
	my %links = (link => 'plain', chain => 'link', dangling => 'open/new', away => 'secret/inner', loop => 'loop',
		dots => 'open/../plain', top => '/', 'open/in' => '../source/file', proc => '/proc/self/exe', nowhere => '/no/such');
	symlink $links{$_}, "$hand/$_" for keys %links;
	for my $dir (qw(open source)) {
		POSIX::mkfifo("$hand/$dir/fifo", 0600);
		IO::Socket::UNIX->new(Local => "$hand/$dir/socket", Listen => 1) or die;
		chown $who->{uid}, $who->{gid}, map { "$hand/$dir/$_" } qw(fifo socket) if !$>;
		system('mknod', '-m', '666', "$hand/$dir/device", qw(c 1 5)) if !$>;
	}
	return put($who, "$who->{home}/hand.json", <<"END");
{"sbx": 1, "extends": ["default"], "filesystem": {
	"write": ["$hand/open"],
	"read": ["$hand/open/protected", "$hand/open/deep/er/prot", "$hand/secret/shown", "$hand/source/kept"],
	"deny": ["$hand/secret", "$hand/open/denied", "$hand/open/gone", "$hand/source/secret",
		{"path": "$hand/masked", "mask": "empty"}, "$hand/not-there"],
	"mounts": [{"at": "$hand/mnt", "from": "$hand/source", "access": "read"},
		{"at": "$hand/openmnt", "from": "$hand/source", "access": "write"},
		{"at": "$hand/newmnt/below", "from": "$hand/source"}],
	"tmpfs": [{"at": "$hand/scratch"}, {"at": "$hand/shut", "access": "read"}],
	"files": [{"at": "$hand/replaced", "text": "x"}, {"at": "/etc/sbx-explain", "text": "x"}]}}
END
}

sub hand_paths {
	my ($who) = @_;
	my $hand = "$who->{home}/hand";
	my @all = map { chomp; $_ } `find '$hand' -mindepth 1`;
	my @shown = map { my $at = $_; map { s{^\Q$hand\E/source}{$hand/$at}r } grep { m{/source/} } @all }
		qw(mnt openmnt newmnt/below);
	return (@all, @shown, map({ "$_/new" } grep { -d || /plain$/ } @all), map({ "$hand/$_" } '', qw(new open/gone open/gone/x open/a/b secret/x
		secret/shown/../inner shut shut/x scratch/x newmnt newmnt/x newmnt/below not-there away/file top/etc/passwd
		open/deep/er/x open/../plain)), '/etc/sbx-explain', '/', '/proc', '/proc/sys/kernel/core_pattern', '/proc/self',
		'/proc/1/environ', '/proc/mounts', '/dev/null', '/dev/fd', '/dev/stdin', '/dev/shm/x', '/dev/pts/ptmx', '/dev/x',
		'/tmp/x', '/tmp', '/run/x', '/sys/x');
}

# "" when an answer and what was found inside agree, else how they differ.
sub disagrees {
	my ($says, $found) = @_;
	my ($access, $kind, $end, $made) = split /\t/, $found, -1;
	return '' if $says->{access} eq 'unknown' && $says->{leads_to} =~ m{^/proc/};
	return "says $says->{access}, is $access" if $says->{access} ne $access;
	if ($access eq 'absent' && $made ne '-') {
		my $claim = $says->{can_be_made} ? 'ok' : $says->{error};
		# Some folders of /sys find nothing before they are asked whether they may be written to.
		$made = 'EROFS' if $made eq 'ENOENT' && $says->{leads_to} =~ m{^/sys/};
		return $claim eq $made ? '' : "says that making it gives $claim, is $made";
	}
	return '' if $access eq 'absent' || !defined $says->{kind};
	return "says $says->{kind}, is $kind" if $says->{kind} ne $kind;
	return $end && $says->{leads_to} =~ s/[^!-~]+/?/gr ne $end ? "says it leads to $says->{leads_to}, is $end" : '';
}

sub agrees {
	my ($who, $label, $paths, @options) = @_;
	my $plan = run($who, [$PLAN, @options, '--json', map { ('--explain', escaped($_)) } @$paths]);
	my $inside = run($who, [$EXEC, @options, '--', 'perl', '-e', $looker], stdin => join('', map { "$_\0" } @$paths));
	my @found = split /\n/, $inside->{out};
	is($plan->{code} + $inside->{code}, 0, "$who->{name}: $label: answers and finds")
		or return diag($plan->{err}, $inside->{err});
	my $says = decode_json($plan->{out});
	is(scalar @found, scalar @$says, "$who->{name}: $label: every path is answered");
	my @differ = grep { $_ } map {
		my $how = disagrees($says->[$_], $found[$_]);
		$how && shown("$paths->[$_]: $how: @{$says->[$_]{because}}");
	} 0 .. $#found;
	is(scalar @differ, 0, "$who->{name}: $label: " . @found . ' answers are what is found inside')
		or diag(join "\n", @differ[0 .. ($#differ < 15 ? $#differ : 15)]);
	my %seen;
	$seen{$_->{access}}++ for @$says;
	diag(join ' ', $who->{name}, $label, map { "$_ $seen{$_}" } sort keys %seen) if $ENV{SBX_VERBOSE};
	return $says;
}

sub answers {
	my ($who) = @_;
	my $fresh = run($who, [$EXEC, qw(--proc fresh -- true)])->{code} == 0;
	my @proc = ('--proc', $fresh ? 'fresh' : 'bind');
	my $policy = hand_tree($who);
	my $hand = "$who->{home}/hand";
	put($who, "$who->{home}/.ssh/key", 'SECRET');
	put($who, "$who->{home}/project/.git/$_", '') for qw(hooks/x config HEAD);
	my @paths = sample($who);
	cmp_ok(scalar @paths, '>=', 1000, "$who->{name}: the sample is large (SBX_SEED=$seed)");
	agrees($who, $_, \@paths, '-p', $_, @proc) for qw(default workspace strict query-script);
	agrees($who, 'a bound /proc', \@paths, qw(-p default --proc bind)) if $fresh;
	my $says = agrees($who, 'by hand', \@paths, '-p', $policy, @proc) or return;
	my %by_path = map { $_->{path} => $_ } @$says;
	is($by_path{"$hand/open/deep/er/x"}{pin}, "$hand/open/deep/er", "$who->{name}: a pin is named");
	is(inside($who, ['-p', $policy, @proc], "cd $hand/open; touch deep/er/x sub/y;
		perl -e 'rename(q(deep/er/x), q(x)); print qq(\$!\n); rename(q(sub/y), q(y)) or print qq(\$!\n)'; rm deep/er/x y"),
		"Invalid cross-device link\n", "$who->{name}: and rename across it gives EXDEV, elsewhere not");
	maps($who, $policy, $says);
	fates($who, $policy);
}

# Every host path that an answer names is what --map gives, and leads back.
sub maps {
	my ($who, $policy, $says) = @_;
	my @shown = grep { defined $_->{host} && $_->{access} ne 'deny' && $_->{path} =~ m{^(\Q$top\E|/usr|/etc)/} } @$says;
	my $to_host = run($who, [$PLAN, '-p', $policy, '--json', map { ('--map', $_->{path}) } @shown]);
	is(join("\n", map { $_->{host} } @{decode_json($to_host->{out} || '[]')}), join("\n", map { $_->{host} } @shown),
		"$who->{name}: --map names the same host objects") or diag($to_host->{err});
	my $back = run($who, [$PLAN, '-p', $policy, '--json', map { ('--map', "host:$_->{host}") } @shown]);
	my $paths = decode_json($back->{out} || '[]');
	is(join(' ', map { $shown[$_]{leads_to} } grep {
		my $i = $_;
		!grep { $_ eq $shown[$i]{leads_to} } @{$paths->[$i]{paths}};
	} 0 .. $#shown), '', "$who->{name}: and back") or diag($back->{err});
	for (["$who->{home}/.ssh/key", 'denied'], ['/no/such', 'missing'], ['/tmp', "the sandbox's own"],
		["host:$who->{home}/.ssh/key", 'a denied host object'], ["host:$who->{home}/hand/scratch/under", 'a covered one']) {
		my $got = run($who, [$PLAN, '-p', $policy, '--map', '/etc', '--map', $_->[0]]);
		my $name = $_->[0] =~ s/^host://r;
		ok($got->{code} == 125 && $got->{err} =~ /\Q$name\E/, "$who->{name}: --map: $_->[1]: an error that names it");
	}
}

sub fates {
	my ($who, $policy) = @_;
	my $hand = "$who->{home}/hand";
	my %fate = map { (($_->{rule}{at} // $_->{rule}{path}) => $_) }
		@{decode_json(run($who, [$PLAN, '-p', $policy, '--json', '--rules'])->{out})};
	my %want = ("$hand/secret" => 'applied cover', "$hand/open/denied" => 'applied cover',
		"$hand/open/protected" => 'applied cover', "$hand/open/gone" => 'missing watched',
		"$hand/not-there" => 'missing cover', "$hand/scratch" => 'applied cover', '/tmp' => 'applied scaffold');
	is("$fate{$_}{fate} $fate{$_}{strength}", $want{$_}, "$who->{name}: the fate of $_") for sort keys %want;
	my $strict = run($who, [$PLAN, '-p', $policy, '--strict', '--deny', "$hand/open/gone2"]);
	is($strict->{code}, 125, "$who->{name}: --strict refuses it");
	like($strict->{err}, qr{/open/gone is not enforced.*/open/gone2 is not enforced}s, "$who->{name}: and lists all rules");
	is($strict->{out}, '', "$who->{name}: and prints no plan");
	is(run($who, [$PLAN, '--strict', '--check'])->{code}, 0, "$who->{name}: --strict takes the policy default");
}

# Names that shells, JSON and patterns make something else of, that begin alike, and the longest.
my @names = ('a', 'ab', 'a b', "a\nb", '-a', '[a]', '*', '?', 'a\\', '\\*', "\t", '"', "'", '$HOME', '`id`', "\xff\xfe", "\xc3\xa9",
	'...', '~', '@policy', '{a,b}', "\e[2J", ' ', 'x' x 255);
my @modes = (0755, 0755, 0755, 0755, 0700, 0555, 0500, 0311, 0111, 0300, 0000, 01777);

# A random tree of such names below a folder: what is in it, and of that what no link leads to.
sub wild_tree {
	my ($who, $wild) = @_;
	my ($other, @all, @dirs, %modes) = {uid => $who->{uid} ? 0 : 2001, gid => 0};
	mkdir $_ or die "$_: $!" for $wild, "$wild/a";
	chown $who->{uid}, $who->{gid}, $wild, "$wild/a" if !$>;
	@dirs = ($wild, "$wild/a");
	for (1 .. 160) {
		my $path = $dirs[rand @dirs] . '/' . $names[rand @names];
		next if -l $path || -e _ || length $path > 3000;
		my $owner = rand() < 0.15 && !$> ? $other : $who;
		my $kind = rand;
		if ($kind < 0.4) {
			mkdir $path or die "$path: $!";
			push @dirs, $path if $path =~ tr{/}{} < 12;
			$modes{$path} = $modes[rand @modes];
		} elsif ($kind < 0.75) {
			put($owner, $path, 'x');
			$modes{$path} = $modes[rand @modes] & 0777;
		} elsif ($kind < 0.8) {
			POSIX::mkfifo($path, 0666) or die;
		} else {
			my $to = @all ? $all[rand @all] : $wild;
			symlink((('.', '..', 'nosuch', '/proc/self/environ', '/dev/null', '/tmp', '/etc/passwd', '../a/nosuch',
				"$who->{home}/.ssh/key", $to, $to, "$to/..", $path =~ s{.*/}{}sr, '../' . $to =~ s{.*/}{}sr)[rand 14]), $path) or die;
		}
		chown $owner->{uid}, $owner->{gid}, $path if !$> && !-l $path;
		push @all, $path;
	}
	chmod $modes{$_}, $_ for keys %modes;
	return @all;
}

# A policy of random rules for a random tree: as many of them as can be planned together.
sub wild_policy {
	my ($who, $wild, @all) = @_;
	my @named = grep { !-l && !/[\xfe\xff]|[\x00-\x1f]/ } @all;
	my $some = sub { Encode::decode('UTF-8', escaped($named[rand @named] . (rand() < 0.1 ? '/nosuch' : ''))) };
	my @rules = map { my $list = qw(deny deny read read write mounts)[rand 6];
		[$list, {$list eq 'mounts' ? (at => $some->(), from => $some->(), access => qw(read write)[rand 2]) : (path => $some->()),
			$list eq 'deny' ? () : (optional => JSON::PP::true)}] } 0 .. 11;
	for (;; splice @rules, rand @rules, 1) {
		my %lists = (root => 'read');
		push @{$lists{$_->[0]}}, $_->[1] for @rules;
		my $policy = put($who, "$wild.json",
			JSON::PP->new->utf8->canonical->encode({sbx => 1, extends => ['default'], filesystem => \%lists}));
		return $policy if !@rules || !run($who, [$PLAN, '-p', $policy, '--check'])->{code};
	}
}

# What is there, below it, beside it and behind its links.
sub wild {
	my ($who, $i, @options) = @_;
	my $wild = "$who->{home}/wild$i";
	srand $seed + $i;
	my @all = wild_tree($who, $wild);
	my $policy = wild_policy($who, $wild, @all);
	my @paths = (@all, map({ "$_/nosuch" } @all), map({ $_ . 'b' } @all[0 .. 20]), map({ "$_/.." } @all[0 .. 20]),
		map { my $link = $_; map { "$link/$_" } @names[0 .. 5] } grep { -l } @all);
	agrees($who, "random tree $i (SBX_SEED=$seed)", \@paths, '-p', $policy, @options);
	system 'chmod', '-R', 'u+rwX', $wild;
}

my $trees = $ENV{SBX_FULL} || $ENV{CI} ? 12 : 3;
for my $who (callers()) {
	answers($who);
	wild($who, $_, run($who, [$EXEC, qw(--proc fresh -- true)])->{code} ? qw(--proc bind) : ()) for 1 .. $trees;
}
my ($who) = callers();
my $odd = put($who, "$who->{home}/project/odd\e[31m\n", '');
my $text = run($who, [$PLAN, '--explain', escaped($odd), '--explain', './odd2', '--explain', '~/x', '--deny', "./odd2"])->{out};
unlike($text, qr/[^ -~\n]/, 'control bytes are printed escaped');
like($text, qr{^\Q$who->{home}\E/project/odd2\n.*^\Q$who->{home}\E/x\n}ms, '~ and ./ are what they are in a policy');
is(run($who, [$PLAN, @$_])->{code}, 2, "wrong: @$_") for ['--explain', 'x'], ['--explain', ''], ['--rules', '--map', '/'],
	['-0', '--rules'], ['--check', '--explain', '/'], ['--map', 'host:x'], ['--explain', '/[a]'], ['--map', 'host:/*'];
done_testing();
