/* A tree of processes as /proc shows it: odd names, orphans, threads, memory, those that hide. */
#include "base/mem.h"
#include "lib/tap.h"
#include "run/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1ULL << 20)

static void parse(void)
{
#define REST                                                                                       \
	"S 7 8 9 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 5 0 12345 4096 99 18446744073709551615 1 1 " \
	"0"
	struct proc_stat stat;

	ok(procs_parse("42 (cat) " REST, &stat) == 0 && stat.pid == 42 && stat.parent == 7 &&
			stat.state == 'S' && stat.ticks == 127 && stat.threads == 5,
		"a line of /proc/PID/stat");
	ok(procs_parse("42 (a) R 1 (b\nc)) " REST, &stat) == 0 && stat.parent == 7,
		"a name that looks like one");
	ok(procs_parse("42 (cat", &stat) < 0, "cut in the name");
	ok(procs_parse("42 (cat) S 7 8 9 0 -1 4194560 1 2 3 4 100", &stat) < 0,
		"cut in the numbers");
	ok(procs_parse("", &stat) < 0, "nothing");
}

/* Starts the tree's root, a subreaper, which says by a byte that the tree stands. */
static pid_t plant(void (*body)(int ready))
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		close(ready[0]);
		body(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		abort();
	close(ready[0]);
	return pid;
}

static void say(int ready)
{
	if (write(ready, "", 1) != 1)
		abort();
}

static void fell(pid_t root)
{
	kill(root, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static struct procs look_by(pid_t root, enum procs_pages pages)
{
	struct procs procs;
	struct err err = {0};

	is_int(procs_read(root, pages, &procs, &err), 0, "it is measured %s", err.message);
	return procs;
}

static struct procs look(pid_t root)
{
	return look_by(root, PROCS_RSS);
}

static volatile pid_t *shared; /* what the tree tells the test: pids, a flag */

static pid_t spawn(void)
{
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return pid;
}

/* A child of a bad name, its orphaned grandchild, and a zombie. */
static void family(int ready)
{
	if (spawn() == 0) {
		prctl(PR_SET_NAME, "x) R 1\n1 (y)", 0, 0, 0);
		if (spawn() == 0) {
			pid_t orphan = fork();

			if (orphan != 0) {
				shared[0] = orphan;
				_exit(0);
			}
			while (getppid() != shared[1])
				sched_yield();
			say(ready);
		}
		for (;;)
			pause();
	}
	shared[1] = getpid();
}

static void relatives(void)
{
	pid_t stranger = spawn(), root;
	struct procs procs;

	if (stranger == 0)
		for (;;)
			pause();
	root = plant(family);
	procs = look(root);
	/* The child between the two is a zombie until somebody waits for it, which nobody does. */
	is_int((long long)procs.processes, 4, "root, child, zombie and orphan, and no stranger");
	is_int((long long)procs.threads, 4, "with a thread each");
	procs = look(stranger);
	is_int((long long)procs.processes, 1, "a tree of one");
	kill(shared[0], SIGKILL);
	kill(stranger, SIGKILL);
	fell(root);
	procs = look(root);
	is_int((long long)procs.processes, 0, "a tree that is gone");
}

static void *sleeper(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

static char *touch(int flags)
{
	char *p = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	memset(p, 1, 32 * MIB);
	return p;
}

static void large(int ready)
{
	touch(MAP_PRIVATE);
	touch(MAP_SHARED);
	say(ready);
}

static void threads(int ready)
{
	pthread_attr_t attr;
	pthread_t thread;

	touch(MAP_PRIVATE);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < 300; i++)
		if (pthread_create(&thread, &attr, sleeper, NULL) != 0)
			abort();
	say(ready);
}

/* The first thread ends, the others go on: the process shows no memory any more. */
static void headless(int ready)
{
	threads(ready);
	syscall(SYS_exit, 0);
}

static void is_near(uint64_t bytes, uint64_t wanted, const char *what)
{
	/* Pss rounds down. */
	ok(bytes >= wanted - MIB / 16 && bytes < wanted + 8 * MIB, "%s: %llu of %llu", what,
		(unsigned long long)bytes, (unsigned long long)wanted);
}

static void measures(void)
{
	struct procs empty, procs;
	pid_t root = plant(say);

	empty = look(root);
	fell(root);
	root = plant(large);
	procs = look(root);
	is_near(procs.anonymous - empty.anonymous, 32 * MIB, "memory of its own");
	is_near(procs.shared - empty.shared, 32 * MIB, "and shared");
	is_int(procs.memfds, 0, "and no memfds");
	fell(root);
	root = plant(threads);
	procs = look(root);
	ok(procs.threads >= 301, "threads: %llu", (unsigned long long)procs.threads);
	is_int((long long)procs.processes, 1, "of one process");
	fell(root);
	root = plant(headless);
	for (int i = 0; i < 1000; i++) {
		procs = look(root);
		if (procs.threads == 301 || i == 999)
			break;
	}
	ok(procs.anonymous >= 32 * MIB, "memory of a process whose first thread has ended: %llu",
		(unsigned long long)procs.anonymous);
	procs = look_by(root, PROCS_PSS);
	ok(procs.anonymous >= 32 * MIB, "and by Pss: %llu", (unsigned long long)procs.anonymous);
	fell(root);
}

/* All of it is the parent's and four children's. */
static void forks(int ready)
{
	char *p = touch(MAP_SHARED);
	char bytes[1];
	int done[2];

	touch(MAP_PRIVATE);
	if (pipe(done) < 0)
		abort();
	for (int i = 0; i < 4; i++) {
		if (spawn() == 0) {
			/* Of shared memory a child maps only what it touches. */
			memset(p, 1, 32 * MIB);
			say(done[1]);
			return;
		}
		if (read(done[0], bytes, 1) != 1)
			abort();
	}
	say(ready);
}

/* Until its execve, which never comes, the child has the parent's memory. */
static void vforks(int ready)
{
	touch(MAP_PRIVATE);
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		say(ready);
		for (;;)
			pause();
	}
}

static void shares(void)
{
	pid_t root = plant(forks);
	struct procs procs = look(root);

	ok(procs.anonymous >= 5 * 32 * MIB, "by RSS, memory of five counts five times: %llu",
		(unsigned long long)procs.anonymous);
	ok(procs.shared >= 5 * 32 * MIB, "and so does shared memory: %llu",
		(unsigned long long)procs.shared);
	procs = look_by(root, PROCS_PSS);
	is_near(procs.anonymous, 32 * MIB, "by Pss, once");
	is_near(procs.shared, 32 * MIB, "and so does shared memory");
	fell(root);
	root = plant(vforks);
	procs = look_by(root, PROCS_PSS);
	is_int((long long)procs.processes, 2, "a process and a child after vfork");
	is_near(procs.anonymous, 32 * MIB, "whose memory counts once");
	fell(root);
}

static int memfd(void)
{
	int fd = memfd_create("test", 0);

	/* The rest of the file is a hole. */
	if (fd < 0 || fallocate(fd, 0, 0, 8 * MIB) < 0 || ftruncate(fd, 64 * MIB) < 0)
		abort();
	return fd;
}

static void *keeper(void *ready)
{
	if (unshare(CLONE_FILES) < 0)
		abort();
	memfd();
	say(*(int *)ready);
	return sleeper(NULL);
}

/* One that two processes have, by two descriptors each; and one in a thread's own table. */
static void memfds(int ready)
{
	static int fd;
	pthread_t thread;

	fd = ready;
	if (dup(memfd()) < 0)
		abort();
	if (spawn() == 0)
		return;
	if (pthread_create(&thread, NULL, keeper, &fd) != 0)
		abort();
}

static void many(int ready)
{
	pid_t root = getpid();

	for (int i = 0; i < 800; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			abort();
	for (int i = 0; i < PROCS_DESCRIPTORS / 800 && getpid() == root; i++)
		spawn();
	if (getpid() == root)
		say(ready);
}

static void descriptors(void)
{
	pid_t root = plant(memfds);
	struct procs procs = look(root);

	is_int(procs.memfds, 16 * MIB, "memfds: each once, by what it holds");
	ok(procs.shared < MIB, "though nobody has them mapped");
	fell(root);
	root = plant(many);
	procs = look(root);
	is_int(procs.memfds, -1, "too many descriptors");
	ok(procs.processes > 100 && procs.cpu_us > 0, "the rest is measured all the same");
	fell(root);
}

static void spin(int ready)
{
	for (int i = 0; i < 2; i++) {
		struct timespec used;
		pid_t pid = i == 0 ? fork() : getpid();

		if (pid != 0 && i == 0) {
			waitpid(pid, NULL, 0);
			continue;
		}
		do
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
		while (used.tv_sec == 0 && used.tv_nsec < 200000000);
		if (i == 0)
			_exit(0);
	}
	say(ready);
}

static void time_used(void)
{
	pid_t root = plant(spin);
	struct procs procs = look(root);

	ok(procs.cpu_us >= 300000, "CPU time of its own and of a child that has ended: %llu us",
		(unsigned long long)procs.cpu_us);
	fell(root);
}

/* Orphans are made all the time: parents end while /proc is read. */
static void restless(int ready)
{
	signal(SIGCHLD, SIG_IGN);
	say(ready);
	for (;;) {
		if (fork() == 0) {
			if (fork() == 0)
				usleep(2000);
			_exit(0);
		}
		usleep(200);
	}
}

static void churn(void)
{
	pid_t root = plant(restless);
	int failed = 0, bad = 0;

	for (int i = 0; i < 50; i++) {
		struct procs procs;
		struct err err;

		failed += procs_read(root, PROCS_RSS, &procs, &err) < 0;
		bad += procs.processes < 1 || procs.processes > 200;
	}
	is_int(failed, 0, "processes come and go, and it is measured all the same");
	is_int(bad, 0, "within reason");
	fell(root);
}

/* Lets the next process have a pid after that one. */
static void last_pid(int pid)
{
	FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!file || fprintf(file, "%d", pid) < 0 || fclose(file) != 0)
		abort();
}

#define SLEEPERS 300

/* Children with smaller pids than their parents, which are read first, and whose parents then end. */
static void reversed(int ready)
{
	say(ready);
	for (int i = 0; i < SLEEPERS; i++) {
		pid_t parent;

		last_pid(4000);
		parent = fork();
		if (parent == 0) {
			last_pid(500 + SLEEPERS - i); /* the others are read between the two */
			if (fork() == 0) {
				shared[2]++;
				for (;;)
					pause();
			}
			usleep(2000);
			_exit(0);
		}
		waitpid(parent, NULL, 0);
	}
}

/* The init of a pid namespace, which sees to it that none of the children is ever missed. */
static int watch(void)
{
	int missed = 0;
	pid_t root = plant(reversed);

	for (int seen = 0; seen < SLEEPERS; seen = shared[2]) {
		struct procs procs;
		struct err err;
		int before = shared[2];

		if (procs_read(root, PROCS_RSS, &procs, &err) < 0)
			return 2;
		missed += (int)procs.processes < 1 + before;
	}
	diag("%d times", missed);
	return missed > 0;
}

static void orphans(void)
{
	int status = -1;
	pid_t pid;

	if (geteuid() != 0) {
		skip("choosing pids takes root", "orphans");
		return;
	}
	shared[2] = 0;
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0 ||
			mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(3);
		pid = fork();
		if (pid == 0)
			_exit(mount("proc", "/proc", "proc", 0, NULL) < 0 ? 3 : watch());
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
	}
	waitpid(pid, &status, 0);
	is_int(WEXITSTATUS(status), 0, "no orphan is missed while it gets another parent");
}

/* /proc as another one is; run in a child, whose exit code is what procs_check said. */
static int check_with(const char *options, uid_t uid)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct err err;
		bool refused;

		if (unshare(CLONE_NEWNS) < 0 ||
			mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			mount("proc", "/proc", options ? "proc" : "tmpfs", 0, options) < 0 ||
			(uid && (setgid(uid) < 0 || setuid(uid) < 0)))
			_exit(2);
		refused = procs_check(&err) < 0;
		if (refused)
			diag("%s", err.message);
		_exit(refused && err.kind == ERR_SETUP);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void checks(void)
{
	struct err err = {0};

	is_int(procs_check(&err), 0, "this /proc will do %s", err.message);
	if (geteuid() != 0) {
		skip("mounting takes root", "another /proc");
		return;
	}
	is_int(check_with("hidepid=0", 65534), 0, "nothing hidden");
	is_int(check_with("hidepid=1", 65534), 1, "hidepid=1 will not do");
	is_int(check_with("hidepid=2", 65534), 1, "nor will hidepid=2");
	is_int(check_with("hidepid=2", 0), 0, "but for root");
	is_int(check_with(NULL, 0), 1, "no /proc");
}

int main(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		abort();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	parse();
	checks();
	relatives();
	shares();
	measures();
	descriptors();
	time_used();
	churn();
	orphans();
	return done_testing();
}
