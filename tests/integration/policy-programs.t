# Real programs under the policy "workspace": git, gcc and make, Python with temporary files and a virtual environment,
# Node.js. A program that is not installed is skipped, by name.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $EXEC);

# Runs a script in a new folder of the caller's and tests that it ends with status 0; gives its output and the folder.
sub works {
	my ($who, $name, $script, %files) = @_;
	my $dir = "$who->{home}/$name";
	put($who, "$dir/.keep", '');
	put($who, "$dir/$_", $files{$_}) for sort keys %files;
	my $got = run($who, [$EXEC, qw(-p workspace -- sh -ec), $script], cwd => $dir);
	is($got->{code}, 0, "$who->{name}: $name works") or diag($got->{out}, $got->{err});
	return ($got->{out}, $dir);
}

sub git {
	my ($who) = @_;
	my $dir = "$who->{home}/repository";
	put($who, "$dir/file", "one\n");
	my $made = run($who, ['sh', '-ec', 'git init -q . && git add file && git -c user.name=a -c user.email=a@b commit -qm 1'],
		cwd => $dir);
	is($made->{code}, 0, "$who->{name}: a repository on the host") or diag($made->{err});
	my $got = run($who, [$EXEC, qw(-p workspace -- sh -ec), <<'END'], cwd => $dir);
echo two >>file
git status --porcelain
git add file
git -c user.name=a -c user.email=a@b commit -qm 2
git checkout -q -b branch
git log --format=%s
END
	is($got->{code}, 0, "$who->{name}: git status, add, commit, checkout and log") or diag($got->{err});
	is($got->{out}, " M file\n2\n1\n", "$who->{name}: they say what they should");
	is(run($who, [qw(git log --format=%s)], cwd => $dir)->{out}, "2\n1\n", "$who->{name}: the host sees the commit");
	is(run($who, [qw(git fsck)], cwd => $dir)->{code}, 0, "$who->{name}: the repository is whole");
}

sub c_project {
	my ($who) = @_;
	my ($out, $dir) = works($who, 'c-project', 'make -s && ./hello',
		'hello.c' => "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n",
		Makefile => "hello: hello.o\n\tgcc -o hello hello.o\nhello.o: hello.c\n\tgcc -c hello.c\n");
	is($out, "hello\n", "$who->{name}: gcc and make build a program that runs");
	ok(-x "$dir/hello", "$who->{name}: it is on the host");
}

sub python {
	my ($who) = @_;
	my ($out) = works($who, 'python', '/usr/bin/python3 script.py', 'script.py' => <<'END');
import tempfile, os, multiprocessing, subprocess
with tempfile.TemporaryDirectory() as d:
    with open(os.path.join(d, "f"), "w") as f:
        f.write("temporary")
    print(open(os.path.join(d, "f")).read(), d.startswith("/tmp/"))
multiprocessing.Lock()  # needs a working /dev/shm
print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout, end="")
END
	is($out, "temporary True\nchild\n", "$who->{name}: Python writes temporary files, takes locks, starts programs");
	SKIP: {
		skip 'python3-venv is not installed', 2 if system('/usr/bin/python3 -c "import venv, ensurepip" 2>/dev/null');
		($out) = works($who, 'venv', '/usr/bin/python3 -m venv --without-pip env && env/bin/python -c "print(6 * 7)"');
		is($out, "42\n", "$who->{name}: a virtual environment works");
	}
}

sub node {
	my ($who) = @_;
	my ($out) = works($who, 'node', 'node script.js', 'script.js' => <<'END');
const fs = require("fs"), os = require("os"), path = require("path");
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "n-"));
fs.writeFileSync(path.join(dir, "f"), "temporary");
fs.writeFileSync("made", fs.readFileSync(path.join(dir, "f")));
console.log(require("child_process").execFileSync("cat", ["made"]).toString(), os.hostname());
END
	is($out, "temporary sbx\n", "$who->{name}: Node.js writes files and starts programs");
}

my %need = (git => [\&git, 'git'], 'gcc and make' => [\&c_project, 'gcc', 'make'], Python => [\&python, 'python3'],
	'Node.js' => [\&node, 'node']);
for my $who (callers()) {
	for my $name (sort keys %need) {
		my ($test, @programs) = @{$need{$name}};
		subtest "$who->{name}: $name" => sub {
			my @missing = grep { !which($_) } @programs;
			plan(skip_all => "not installed: @missing") if @missing;
			$test->($who);
		};
	}
}
done_testing();
