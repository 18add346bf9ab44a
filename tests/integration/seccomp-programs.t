# Real programs under the filters "default" and "strict", each at a task that takes what is special to it: those that are
# installed; docs/security.md has the list, which has to say the same of them. SBX_UPDATE=1 writes it anew, with the versions
# that are here, for programs that are here.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($top, $EXEC);

my $DOCUMENT = "$FindBin::Bin/../../docs/security.md";
my ($BEGIN, $END) = ('<!-- programs under the filters: written by tests/integration/seccomp-programs.t -->', '<!-- end of programs -->');

# Name, what has to be installed, how it tells its version, what it does, a script that does it, files for it.
my @programs = (
	{name => 'bash', needs => ['bash'], version => 'bash --version', task => 'pipes, subshells, job control',
		script => q(bash -mc 'sleep 9 & kill %1; wait; (echo a; echo b) | while read x; do echo $x; done | tac | grep -q ^a')},
	{name => 'chromium', needs => ['chromium'], version => 'chromium --version', task => 'headless, several processes, JavaScript (`--no-sandbox`)',
		script => 'chromium --headless --no-sandbox --disable-gpu --user-data-dir=/tmp/c --virtual-time-budget=2000 --dump-dom "file://$PWD/page.html" | grep -q "<p>42</p>"',
		files => {'page.html' => '<body><script>document.write("<p>" + 6 * 7 + "</p>")</script></body>'}},
	{name => 'clang', needs => ['clang'], version => 'clang --version', task => 'compiles and links',
		script => 'clang -O2 -pthread -o hello hello.c && test "$(./hello)" = 3', files => {'hello.c' => \&threads}},
	{name => 'gcc, make', needs => ['gcc', 'make'], version => 'gcc --version', task => 'a parallel build, a program with threads',
		script => 'make -s -j4 CC="gcc -pthread" hello other && test "$(./hello)" = 3',
		files => {'hello.c' => \&threads, 'other.c' => "int main(void) { return 0; }\n"}},
	{name => 'gdb', needs => ['gdb', 'gcc'], version => 'gdb --version', task => 'a breakpoint, a step, the stack of a thread',
		script => q(gcc -g -pthread -o hello hello.c && gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'break count' -ex run -ex bt -ex next -ex kill ./hello >log 2>&1 && grep -q 'Breakpoint 1, count' log && ! grep -qi 'randomization' log),
		files => {'hello.c' => \&threads}},
	{name => 'git', needs => ['git'], version => 'git --version', task => 'init, commit, clone, gc',
		script => 'git init -q r && cd r && echo 1 >f && git add f && git -c user.name=a -c user.email=a@b commit -qm 1 && git gc -q && git clone -q . ../s && git -C ../s log --format=%s | grep -q 1'},
	{name => 'go', needs => ['go'], version => 'go version', task => 'compiles; goroutines, a child process',
		script => 'HOME=/tmp GOCACHE=/tmp/g GO111MODULE=off go run hello.go | grep -q "child 45"', files => {'hello.go' => <<'FILE'}},
package main

import ("fmt"; "os/exec"; "sync")

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for i := 0; i < 10; i++ {
		wg.Add(1)
		go func(i int) { defer wg.Done(); mu.Lock(); n += i; mu.Unlock() }(i)
	}
	wg.Wait()
	out, _ := exec.Command("echo", "-n", "child").Output()
	fmt.Println(string(out), n)
}
FILE
	{name => 'java', needs => ['java', 'javac'], version => 'java -version 2>&1', task => 'compiles; threads, a child process',
		script => 'javac Hello.java && java Hello | grep -q "child 45"', files => {'Hello.java' => <<'FILE'}},
import java.util.stream.*;
public class Hello {
	public static void main(String[] args) throws Exception {
		int n = IntStream.range(0, 10).parallel().sum();
		Process p = new ProcessBuilder("echo", "child").start();
		System.out.println(new String(p.getInputStream().readAllBytes()).trim() + " " + n);
	}
}
FILE
	{name => 'node', needs => ['node'], version => 'node --version', task => 'workers, a child process, files',
		script => 'node hello.js | grep -q "^child 45$"', files => {'hello.js' => <<'FILE'}},
const { Worker, isMainThread, parentPort } = require("worker_threads");
if (isMainThread) {
	require("fs").writeFileSync("made", "x");
	const child = require("child_process").execFileSync("echo", ["child"]).toString().trim();
	new Worker(__filename).on("message", (n) => console.log(child, n));
} else {
	parentPort.postMessage([...Array(10).keys()].reduce((a, b) => a + b));
}
FILE
	{name => 'perl', needs => ['perl'], version => 'perl -e "print qq(perl \$^V\n)"', task => 'a fork, a pair of sockets',
		script => q(perl -MSocket -e 'socketpair A, B, AF_UNIX, SOCK_STREAM, 0 or die; if (!fork) { syswrite A, "hi"; exit } sysread B, $x, 2; wait; exit $x ne "hi"')},
	{name => 'python3', needs => ['python3'], version => '/usr/bin/python3 --version', task => 'threads, processes, asyncio, shared memory',
		script => '/usr/bin/python3 hello.py', files => {'hello.py' => <<'FILE'}},
import asyncio, multiprocessing, subprocess, threading
from multiprocessing import shared_memory
def square(x):
    return x * x
async def ask():
    p = await asyncio.create_subprocess_exec("echo", "hi", stdout=subprocess.PIPE)
    return (await p.communicate())[0]
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        assert sum(pool.map(square, range(4))) == 14
    assert asyncio.run(ask()) == b"hi\n"
    m = shared_memory.SharedMemory(create=True, size=64)
    m.unlink()
    t = threading.Thread(target=square, args=(2,))
    t.start(); t.join()
FILE
	{name => 'python3, a server', needs => ['python3'], version => '/usr/bin/python3 --version', task => 'a socket on the loopback, and one of AF\_UNIX',
		script => '/usr/bin/python3 hello.py', files => {'hello.py' => <<'FILE'}},
import socket, threading
for family, place in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_UNIX, "/tmp/s")):
    server = socket.socket(family)
    server.bind(place)
    server.listen()
    client = socket.socket(family)
    client.connect(server.getsockname())
    client.sendall(b"hi")
    assert server.accept()[0].recv(2) == b"hi"
FILE
	{name => 'rustc', needs => ['rustc'], version => 'rustc --version', task => 'compiles; threads, a child process',
		script => 'rustc -o hello hello.rs && ./hello | grep -q "child 45"', files => {'hello.rs' => <<'FILE'}},
use std::{process::Command, thread};
fn main() {
    let n: i32 = (0..10).map(|i| thread::spawn(move || i)).map(|t| t.join().unwrap()).sum();
    let out = Command::new("echo").arg("-n").arg("child").output().unwrap();
    println!("{} {}", String::from_utf8_lossy(&out.stdout), n);
}
FILE
	{name => 'strace', needs => ['strace'], version => 'strace --version', task => 'a program and its children',
		script => q{strace -f -o trace sh -c 'echo a | cat >/dev/null' && grep -q 'execve(.*cat' trace && grep -q 'exited with 0' trace}},
	{name => 'tar, gzip', needs => ['tar', 'gzip'], version => 'tar --version', task => 'packs and unpacks',
		script => 'mkdir d && echo x >d/f && ln -s f d/l && tar czf d.tgz d && rm -r d && tar xzf d.tgz && grep -q x d/l'},
);

sub threads {
	return <<'END';
#include <pthread.h>
#include <stdio.h>
static void *count(void *n)
{
	++*(int *)n;
	return 0;
}
int main(void)
{
	int n = 2;
	pthread_t thread;
	pthread_create(&thread, 0, count, &n);
	pthread_join(thread, 0);
	printf("%d\n", n);
	return 0;
}
END
}

# Whether a program does its task under a profile ("none": without a filter, which shows that the task can be done).
sub works {
	my ($who, $p, $profile) = @_;
	my $dir = "$who->{home}/" . $p->{name} =~ s/\W+/-/gr . "-$profile";
	put($who, "$dir/.keep", '');
	put($who, "$dir/$_", ref $p->{files}{$_} ? $p->{files}{$_}->() : $p->{files}{$_}) for sort keys %{$p->{files} || {}};
	my $got = run($who, [$EXEC, qw(-p workspace --seccomp), $profile, '--', 'sh', '-c', $p->{script}], cwd => $dir);
	note("$p->{name}, $profile: $got->{code} $got->{out} $got->{err}") if $got->{code};
	return $got->{code} ? 'no' : 'works';
}

sub version_of {
	my ($who, $p) = @_;
	my ($line) = split /\n/, run($who, ['sh', '-c', $p->{version}])->{out};
	return $line =~ /(\d+(?:\.[\d.]*\d)?)/ ? $1 : '?';
}

my ($before, $table, $after) = slurp($DOCUMENT) =~ /\A(.*\Q$BEGIN\E\n)(.*)(\n\Q$END\E.*)\z/s or die "$DOCUMENT: no list";
my %listed = map { /^\| (\S.*?) \| [^|]* \| [^|]* \| (\w+) \| (\w+) \|$/ ? ($1 => [$2, $3]) : () } split /\n/, $table;
my ($who) = reverse callers();
my @rows;
for my $p (@programs) {
	my ($row) = grep { /^\| \Q$p->{name}\E \|/ } split /\n/, $table;
	SKIP: {
		my @missing = grep { !which($_) } @{$p->{needs}};
		skip "not installed: @missing", 3 if @missing;
		is(works($who, $p, 'none'), 'works', "$p->{name}: (the task can be done in a sandbox without a filter)");
		my @found = map { works($who, $p, $_) } qw(default strict);
		is($found[0], 'works', "$p->{name}: works under default");
		$row = "| $p->{name} | " . version_of($who, $p) . " | $p->{task} | $found[0] | $found[1] |" if $ENV{SBX_UPDATE};
		is_deeply($ENV{SBX_UPDATE} ? \@found : $listed{$p->{name}}, \@found, "$p->{name}: docs/security.md says so");
	}
	push @rows, $row if $row;
}
if ($ENV{SBX_UPDATE}) {
	open my $out, '>', $DOCUMENT or die;
	print $out $before, join("\n", '', '| program | version | task | default | strict |', '|---|---|---|---|---|', @rows, ''), $after;
	close $out or die;
}
done_testing();
