/* The run's leaf: where it is made, on texts; and a real one with a hog, a fork bomb and a spinner in
 * it. Arguments say what a machine has to give: "v1", "v2" or "none" for memory and tasks, then the
 * same for CPU time, then perhaps "manage", or "shared" where the caller's own group has a memory
 * limit. Without them it is whatever this machine gives. */
#include "base/mem.h"
#include "base/read.h"
#include "lib/tap.h"
#include "run/cgplace.h"
#include "run/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_LIMIT (64ULL << 20)
#define TASK_LIMIT 20

/* libcgroup's: where something is mounted over cgroups. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:cgroup_init";
}

/* "AT BELOW" of the caller's group, or NULL. */
static char *found(const char *groups, const char *mounts, const char *controller)
{
	struct strvec lines[2] = {{0}, {0}};
	const char *texts[] = {groups, mounts};
	struct cgplace place;
	char *text;

	for (size_t i = 0; i < 2; i++) {
		CLEANUP_FREE char *copy = xstrdup(texts[i]);
		char *next = copy, *line;

		while ((line = strsep(&next, "\n")))
			strvec_push(&lines[i], line);
	}
	text = cgplace_find(strvec_argv(&lines[0]), strvec_argv(&lines[1]), controller, &place)
		       ? xasprintf("%s %s", place.at, place.below)
		       : NULL;
	strvec_clear(&lines[0]);
	strvec_clear(&lines[1]);
	if (text) {
		free(place.at);
		free(place.below);
	}
	return text;
}

static void find(void)
{
#define V2_MOUNT "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS                                                                                  \
	"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                               \
	"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:1 master:2 - cgroup cgroup "            \
	"rw,cpu,cpuacct\n"                                                                         \
	"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	static const struct {
		const char *what, *groups, *mounts, *controller, *want;
	} cases[] = {
		{"v2", "0::/user.slice/a.scope\n", V2_MOUNT, NULL,
			"/sys/fs/cgroup user.slice/a.scope"},
		{"v2, the mount's own root", "0::/\n", V2_MOUNT, NULL, "/sys/fs/cgroup "},
		{"v2 has no v1 controllers", "0::/\n", V2_MOUNT, "memory", NULL},
		{"v1, one controller", "4:memory:/a\n2:cpu,cpuacct:/b\n", V1_MOUNTS, "memory",
			"/sys/fs/cgroup/memory a"},
		{"v1, two at one mount", "4:memory:/a\n2:cpu,cpuacct:/b\n", V1_MOUNTS, "cpuacct",
			"/sys/fs/cgroup/cpu,cpuacct b"},
		{"v1, not mounted", "4:memory:/a\n8:pids:/\n", V1_MOUNTS, "pids", NULL},
		{"v1 is not v2", "4:memory:/a\n0::/c\n", V1_MOUNTS, NULL, NULL},
		{"hybrid: v1's", "4:memory:/a\n1:name=systemd:/s\n0::/c\n",
			V1_MOUNTS "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"memory", "/sys/fs/cgroup/memory a"},
		{"hybrid: v2's", "4:memory:/a\n1:name=systemd:/s\n0::/c\n",
			V1_MOUNTS "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			NULL, "/sys/fs/cgroup/unified c"},
		{"a named hierarchy is no controller", "4:name=memory:/a\n", V1_MOUNTS, "memory",
			NULL},
		{"docker on v1: the group is the mount's root", "4:memory:/docker/0123\n",
			"9 8 0:32 /docker/0123 /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup "
			"rw,memory\n",
			"memory", "/sys/fs/cgroup/memory "},
		{"and a group in it", "4:memory:/docker/0123/a/b\n",
			"9 8 0:32 /docker/0123 /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup "
			"rw,memory\n",
			"memory", "/sys/fs/cgroup/memory a/b"},
		{"a mount that does not show it", "4:memory:/docker/01234\n",
			"9 8 0:32 /docker/0123 /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup "
			"rw,memory\n",
			"memory", NULL},
		{"the first that shows it", "0::/a/b\n",
			"9 8 0:2 /x /x rw - cgroup2 c rw\n9 8 0:2 /a /y rw - cgroup2 c rw\n"
			"9 8 0:2 / /z rw - cgroup2 c rw\n",
			NULL, "/y b"},
		{"outside of the cgroup namespace", "0::/../other\n", V2_MOUNT, NULL, NULL},
		{"a path that leads up later", "0::/a/../b\n", V2_MOUNT, NULL, NULL},
		{"a name that begins with dots", "0::/..a\n", V2_MOUNT, NULL, "/sys/fs/cgroup ..a"},
		{"a mount from outside of it", "0::/\n", "9 8 0:2 /../.. /x rw - cgroup2 c rw\n",
			NULL, NULL},
		{"spaces and colons", "0::/a b:c/d\n",
			"9 8 0:2 /a\\040b:c /mnt/c\\134\\040g rw - cgroup2 c rw\n", NULL,
			"/mnt/c\\ g d"},
		{"no cgroups", "", V2_MOUNT, NULL, NULL},
		{"lines cut short", "0:\n0::\n4:memory\n0::/ok\n",
			"30 22 0:26 /\n30 22 0:26 / /a rw -\n30 22 0:26 / /b rw - "
			"cgroup2\n" V2_MOUNT,
			NULL, "/sys/fs/cgroup ok"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP_FREE char *got =
			found(cases[i].groups, cases[i].mounts, cases[i].controller);

		is_str(got, cases[i].want, "own group: %s", cases[i].what);
	}
}

static void numbers(void)
{
	static const char events[] = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n";

	is_int(cg_number("4096\n", NULL), 4096, "a number");
	is_int(cg_number("9223372036854771712\n", NULL), 9223372036854771712LL,
		"v1's way to say none");
	is_int(cg_number("max\n", NULL), -1, "v2's way to say none");
	is_int(cg_number("18446744073709551615\n", NULL), -1, "too large");
	is_int(cg_number("", NULL), -1, "nothing");
	is_int(cg_number("-1\n", NULL), -1, "negative");
	is_int(cg_number("12 34\n", NULL), -1, "more than a number");
	is_int(cg_number(events, "oom_kill"), 2, "a line");
	is_int(cg_number(events, "oom"), 3, "whose name others begin with");
	is_int(cg_number(events, "kill"), -1, "or end with");
	is_int(cg_number("oom_kill_disable 0\nunder_oom 0\noom_kill 7", "oom_kill"), 7,
		"the last line");
}

static void write_file(int dir, const char *name, const char *text)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
}

static void limits(void)
{
	static const struct {
		const char *file, *none, *some;
	} cases[] = {{"memory.max", "max\n", "4096\n"}, {"memory.high", "max\n", "0\n"},
		{"memory.swap.max", "max\n", "0\n"}, {"pids.max", "max\n", "100\n"},
		{"cpu.max", "max 100000\n", "50000 100000\n"}, {"cpuset.cpus", "\n", "0-1\n"},
		{"io.max", "", "8:0 rbps=max wbps=1 riops=max wiops=max\n"}};
	char path[] = "/tmp/sbx-test.XXXXXX";
	CLEANUP_CLOSE int dir = mkdtemp(path) ? open(path, O_PATH | O_CLOEXEC) : -1;

	is_str(cgplace_limited(dir), NULL, "no controllers: no limit");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		write_file(dir, cases[i].file, cases[i].none);
	is_str(cgplace_limited(dir), NULL, "controllers without limits");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_file(dir, cases[i].file, cases[i].some);
		is_str(cgplace_limited(dir), cases[i].file, "a limit by %s", cases[i].file);
		write_file(dir, cases[i].file, cases[i].none);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		unlinkat(dir, cases[i].file, 0);
	rmdir(path);
}

/* Starts a process in the leaf. It goes on when the parent has moved it there. */
static pid_t start(struct leaf *leaf, void (*body)(void))
{
	int go[2];
	char byte;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(99);
		body();
		_exit(0);
	}
	close(go[0]);
	is_int(leaf_enter(leaf, pid), 0, "a process is moved into the leaf");
	if (write(go[1], "", 1) != 1)
		abort();
	close(go[1]);
	return pid;
}

static void hog(void)
{
	for (int i = 0; i < 256; i++) {
		char *p = mmap(
			NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			_exit(1);
		memset(p, 1, 1 << 20);
	}
}

static void bomb(void)
{
	for (int i = 0; i < 3 * TASK_LIMIT; i++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0)
			for (;;)
				pause();
	}
	raise(SIGSTOP);
	for (;;)
		pause();
}

static void spin(void)
{
	struct timespec used;
	pid_t pid = fork();

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < 60000000);
	/* The child is never waited for: it counts all the same. */
	if (pid > 0) {
		siginfo_t info;

		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	}
}

static void stop(void)
{
	raise(SIGSTOP);
}

static int wait_for(pid_t pid, int options)
{
	int status = -1;

	while (waitpid(pid, &status, options) < 0 && errno == EINTR)
		;
	return status;
}

/* Where the leaf's groups are, by a process in it; those that are the caller's own too are left
 * out. */
static void places_of(pid_t pid, struct strvec *places)
{
	CLEANUP_STRVEC struct strvec groups = {0}, mounts = {0};
	CLEANUP_FREE char *path = xasprintf("/proc/%d/cgroup", (int)pid);
	static const char *const controllers[] = {"memory", "pids", "cpuacct", NULL};

	read_lines(path, &groups);
	read_lines("/proc/self/mountinfo", &mounts);
	for (size_t i = 0; i < 4; i++) {
		struct cgplace place;
		const char *name;

		if (!cgplace_find(
			    strvec_argv(&groups), strvec_argv(&mounts), controllers[i], &place))
			continue;
		name = strrchr(place.below, '/');
		name = name ? name + 1 : place.below;
		if (strncmp(name, "sbx-", 4) == 0 && strcmp(name, "sbx-init") != 0)
			strvec_pushf(places, "%s/%s", place.at, place.below);
		free(place.at);
		free(place.below);
	}
}

/* Makes groups below them, as the command may. */
static void make_below(const struct strvec *places)
{
	size_t made = 0;

	for (size_t i = 0; i < places->n; i++) {
		static const char *const names[] = {".a", ".a/b", "c"};

		for (size_t n = 0; n < 3; n++) {
			CLEANUP_FREE char *path = xasprintf("%s/%s", places->v[i], names[n]);

			made += mkdir(path, 0755) == 0;
		}
	}
	is_int((long long)made, 3 * (long long)places->n, "groups are made below");
}

static size_t count_there(const struct strvec *places)
{
	size_t n = 0;

	for (size_t i = 0; i < places->n; i++)
		n += access(places->v[i], F_OK) == 0;
	return n;
}

static void end(struct leaf *leaf)
{
	CLEANUP_STRVEC struct strvec notes = {0};

	leaf_end(leaf, &notes);
	is_str(notes.n ? notes.v[0] : NULL, NULL, "and the leaf is removed");
}

static void memory(const struct leaf_limits *asked)
{
	CLEANUP_STRVEC struct strvec notes = {0};
	struct leaf *leaf = leaf_make(asked, &notes);
	struct leaf_counts counts;
	pid_t pid = start(leaf, hog);
	int status = wait_for(pid, 0);

	leaf_read(leaf, &counts);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a hog is killed");
	is_int(counts.oom_kills, 1, "which is counted");
	ok(!counts.oom_shared, "as the leaf's own");
	ok(counts.memory_hits > 0, "the limit was reached");
	ok(counts.memory_peak == -1 || (counts.memory_peak > (int64_t)MEMORY_LIMIT / 2 &&
					       counts.memory_peak <= (int64_t)MEMORY_LIMIT),
		"the peak is below it: %lld", (long long)counts.memory_peak);
	end(leaf);
}

/* The caller's own group has a memory limit, and there can be none in the leaf. */
static void shared_memory(const struct leaf_limits *asked)
{
	CLEANUP_STRVEC struct strvec notes = {0};
	struct leaf *leaf = leaf_make(asked, &notes);
	struct leaf_counts counts;

	leaf_read(leaf, &counts);
	is_int(counts.oom_kills, 0, "no kill yet");
	wait_for(start(leaf, hog), 0);
	leaf_read(leaf, &counts);
	is_int(counts.oom_kills, 1, "a hog is killed, which the caller's own group counts");
	ok(counts.oom_shared, "as maybe somebody else's");
	end(leaf);
}

static void tasks(const struct leaf_limits *asked)
{
	CLEANUP_STRVEC struct strvec notes = {0}, places = {0};
	struct leaf *leaf = leaf_make(asked, &notes);
	struct leaf_counts counts;
	pid_t pid = start(leaf, bomb);
	size_t there;

	wait_for(pid, WUNTRACED);
	places_of(pid, &places);
	there = count_there(&places);
	ok(places.n > 0 && there == places.n, "the leaf's groups are there");
	make_below(&places);
	leaf_read(leaf, &counts);
	is_int(counts.tasks, TASK_LIMIT, "a fork bomb gets as many tasks as it may have");
	ok(counts.task_hits > 0, "and a refusal is counted");
	is_int(leaf_kill(leaf), 0, "all are killed");
	while (waitpid(-1, NULL, 0) > 0)
		;
	ok(errno == ECHILD, "and gone");
	leaf_read(leaf, &counts);
	is_int(counts.tasks, 0, "none is left");
	end(leaf);
	is_int((long long)count_there(&places), 0, "so are its groups");
}

static void cpu(void)
{
	CLEANUP_STRVEC struct strvec notes = {0};
	struct leaf *leaf = leaf_make(&(struct leaf_limits){.cpu = true}, &notes);
	struct leaf_counts counts;

	wait_for(start(leaf, spin), 0);
	while (waitpid(-1, NULL, 0) > 0)
		;
	leaf_read(leaf, &counts);
	ok(counts.cpu_us >= 110000 && counts.cpu_us < 60000000,
		"CPU time of two ended processes: %lld us", (long long)counts.cpu_us);
	is_str(leaf_why(leaf, LEAF_TASKS), NULL, "no limit, nothing to explain");
	is_str(leaf_by(leaf, LEAF_MEMORY), NULL, "and none that holds");
	end(leaf);
}

static void nothing_asked(void)
{
	CLEANUP_STRVEC struct strvec notes = {0};
	struct leaf *leaf = leaf_make(&(struct leaf_limits){0}, &notes);

	is_str(leaf_by(leaf, LEAF_CPU), NULL, "without a limit nothing is counted");
	is_str(leaf_by(leaf, LEAF_KILL), NULL, "as there is no group");
	is_str(leaf_why(leaf, LEAF_CPU), "no limit asks for it", "and why");
	is_int(leaf_enter(leaf, 0), 0, "which can be entered all the same");
	end(leaf);
}

/* A supervisor is killed with a stopped process in its leaf; the places of the leaf. */
static void leave_behind(const struct leaf_limits *asked, struct strvec *places, pid_t *straggler)
{
	CLEANUP_STRVEC struct strvec notes = {0};
	int pids[2];
	pid_t supervisor;

	if (pipe2(pids, O_CLOEXEC) < 0 || (supervisor = fork()) < 0)
		abort();
	if (supervisor == 0) {
		struct leaf *leaf = leaf_make(asked, &notes);
		pid_t pid = fork();

		if (pid == 0) {
			leaf_enter(leaf, 0);
			/* As exec does. */
			close_range(3, ~0U, 0);
			stop();
			_exit(0);
		}
		wait_for(pid, WUNTRACED);
		if (write(pids[1], &pid, sizeof(pid)) != sizeof(pid))
			abort();
		for (;;)
			pause();
	}
	if (read(pids[0], straggler, sizeof(*straggler)) != sizeof(*straggler))
		abort();
	close(pids[0]);
	close(pids[1]);
	places_of(*straggler, places);
	end(leaf_make(&(struct leaf_limits){0}, &notes));
	is_int((long long)count_there(places), (long long)places->n,
		"the leaf of a living supervisor stays");
	kill(supervisor, SIGKILL);
	wait_for(supervisor, 0);
}

/* Who asks for no limit removes them all. */
static void leftovers(const struct leaf_limits *asked)
{
	CLEANUP_STRVEC struct strvec notes = {0}, places = {0};
	pid_t straggler;

	leave_behind(asked, &places, &straggler);
	ok(places.n > 0, "a supervisor is killed");
	end(leaf_make(&(struct leaf_limits){0}, &notes));
	is_int((long long)count_there(&places), (long long)places.n,
		"its leaf stays as long as something is in it");
	kill(straggler, SIGKILL);
	wait_for(straggler, 0);
	make_below(&places);
	for (int i = 0; i < 100 && count_there(&places); i++) {
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		end(leaf_make(&(struct leaf_limits){0}, &notes));
	}
	is_int((long long)count_there(&places), 0, "then it is removed by the next");
}

/* What is said of what cannot be had. */
static void refused(const struct leaf_limits *asked)
{
	CLEANUP_STRVEC struct strvec notes = {0};
	struct leaf *leaf = leaf_make(asked, &notes);

	for (enum leaf_gift gift = 0; gift < LEAF_GIFTS; gift++) {
		const char *why = leaf_why(leaf, gift);

		ok(!leaf_by(leaf, gift) == (why && *why), "%s or it is said why not: %s",
			leaf_by(leaf, gift) ? leaf_by(leaf, gift) : "-", why ? why : "-");
	}
	for (size_t i = 0; i < notes.n; i++)
		diag("%s", notes.v[i]);
	end(leaf);
}

/* An ordinary user: nobody's, and not in a place of its own. */
static void as_user(const struct leaf_limits *asked)
{
	pid_t pid = fork();

	if (pid == 0) {
		CLEANUP_STRVEC struct strvec notes = {0};
		struct leaf *leaf;
		bool given = false;

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		leaf = leaf_make(asked, &notes);
		for (enum leaf_gift gift = 0; gift < LEAF_GIFTS; gift++)
			given |= leaf_by(leaf, gift) || !leaf_why(leaf, gift);
		diag("%s", leaf_why(leaf, LEAF_MEMORY));
		diag("%s", leaf_why(leaf, LEAF_CPU));
		leaf_end(leaf, &notes);
		_exit(given || notes.n);
	}
	is_int(wait_for(pid, 0), 0, "an ordinary user gets nothing, and is told why");
}

static const char *version(const struct leaf *leaf, enum leaf_gift gift)
{
	const char *by = leaf_by(leaf, gift);

	return !by ? "none" : strncmp(by, "cgroup v1", 9) == 0 ? "v1" : "v2";
}

/* Whether root may make v1 groups of a controller: the caller's own can be written to. */
static bool can_v1(const char *controller)
{
	CLEANUP_STRVEC struct strvec groups = {0}, mounts = {0};
	CLEANUP_CGPLACE struct cgplace place = {0};
	CLEANUP_FREE char *path = NULL;

	read_lines("/proc/self/cgroup", &groups);
	read_lines("/proc/self/mountinfo", &mounts);
	if (geteuid() != 0 ||
		!cgplace_find(strvec_argv(&groups), strvec_argv(&mounts), controller, &place))
		return false;
	path = xasprintf("%s/%s/cgroup.procs", place.at, place.below);
	return access(path, W_OK) == 0;
}

int main(int argc, char **argv)
{
	struct leaf_limits asked = {.memory = MEMORY_LIMIT + 1,
		.tasks = TASK_LIMIT,
		.manage = argc > 3 && strcmp(argv[3], "manage") == 0};
	CLEANUP_STRVEC struct strvec notes = {0};
	struct leaf *leaf;
	bool has[LEAF_GIFTS];

	find();
	numbers();
	limits();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	refused(&asked);
	leaf = leaf_make(&asked, &notes);
	for (enum leaf_gift gift = 0; gift < LEAF_GIFTS; gift++)
		has[gift] = leaf_by(leaf, gift);
	if (argc > 2) {
		is_str(version(leaf, LEAF_MEMORY), argv[1], "memory");
		is_str(version(leaf, LEAF_TASKS), argv[1], "tasks");
		is_str(version(leaf, LEAF_CPU), argv[2], "CPU time");
	}
	if (argc <= 2 && can_v1("memory"))
		is_str(version(leaf, LEAF_MEMORY), "v1", "memory");
	if (argc <= 2 && can_v1("pids"))
		is_str(version(leaf, LEAF_TASKS), "v1", "tasks");
	has[LEAF_MEMORY] ? memory(&asked) : skip(leaf_why(leaf, LEAF_MEMORY), "memory");
	if (argc > 3 && strcmp(argv[3], "shared") == 0)
		shared_memory(&asked);
	has[LEAF_TASKS] ? tasks(&asked) : skip(leaf_why(leaf, LEAF_TASKS), "tasks");
	has[LEAF_CPU] ? cpu() : skip(leaf_why(leaf, LEAF_CPU), "CPU time");
	nothing_asked();
	has[LEAF_KILL] ? leftovers(&asked) : skip(leaf_why(leaf, LEAF_KILL), "leftovers");
	end(leaf);
	geteuid() == 0 ? as_user(&asked) : skip("only root can become another", "an ordinary user");
	return done_testing();
}
