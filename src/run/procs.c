#include "run/procs.h"

#include "base/mem.h"
#include "base/read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Of /proc/PID/status, in which up to 65536 supplementary groups are. */
#define STATUS_SIZE (1 << 20)

/* How often a process is looked at again whose parent has ended meanwhile. */
#define ATTEMPTS 8

/* In place of the parent of one that has ended meanwhile. */
#define ENDED ((pid_t)-1)

enum belongs { UNKNOWN, INSIDE, OUTSIDE };

struct process {
	struct proc_stat stat;
	enum belongs belongs;
};

struct memfd {
	ino_t inode;
	uint64_t bytes;
};

struct memfds {
	dev_t device;    /* of all memfds */
	size_t looked;   /* descriptors */
	struct memfd *v; /* several of one inode where several descriptors lead to it */
	size_t n, alloc;
};

/* All of /proc, sorted by pid. */
struct list {
	struct process *v;
	size_t n, alloc;
};

int procs_parse(const char *text, struct proc_stat *stat)
{
	/* "PID (NAME) STATE PPID ...", with PPID as field 4; NAME may hold anything, but all after it
	 * are numbers. */
	const char *at = strrchr(text, ')');
	long long fields[23];
	char *next;

	if (!at || at[1] != ' ' || !at[2] || at[3] != ' ')
		return -1;
	next = (char *)at + 3;
	for (size_t i = 4; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *start = next;

		fields[i] = strtoll(start, &next, 10);
		if (next == start)
			return -1;
	}
	stat->pid = (pid_t)strtol(text, NULL, 10);
	stat->state = at[2];
	stat->parent = (pid_t)fields[4];
	stat->ticks = (uint64_t)(fields[14] + fields[15] + fields[16] + fields[17]);
	stat->threads = (uint64_t)fields[20];
	stat->executed = !(fields[9] & 0x40);
	stat->start = (uint64_t)fields[22];
	return 0;
}

/* 1; 0 when the process has ended; -1 with errno. */
static int read_stat(int proc, pid_t pid, struct proc_stat *stat)
{
	char path[32], text[1024];
	ssize_t n;

	snprintf(path, sizeof(path), "%d/stat", (int)pid);
	n = read_text(proc, path, text, sizeof(text));
	if (n == -ENOENT || n == -ESRCH)
		return 0;
	errno = n < 0 ? (int)-n : EPROTO;
	return n >= 0 && procs_parse(text, stat) == 0 && stat->pid == pid ? 1 : -1;
}

int procs_stat(pid_t pid, struct proc_stat *stat)
{
	CLEANUP_CLOSE int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return proc < 0 ? -1 : read_stat(proc, pid, stat);
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->stat.pid > y->stat.pid) - (x->stat.pid < y->stat.pid);
}

static struct process *find(const struct list *list, pid_t pid)
{
	struct process key = {.stat.pid = pid};

	return list->n ? bsearch(&key, list->v, list->n, sizeof(*list->v), by_pid) : NULL;
}

/* The next numeric name of a directory of /proc; 0 at its end, -1 with errno. */
static pid_t next_pid(DIR *dir)
{
	struct dirent *entry;

	while (errno = 0, (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			return (pid_t)strtol(entry->d_name, NULL, 10);
	return errno ? -1 : 0;
}

static DIR *open_list(int proc, const char *path)
{
	int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static void add(struct list *list, const struct proc_stat *stat)
{
	GROW(list->v, list->n, list->alloc);
	list->v[list->n++] = (struct process){.stat = *stat, .belongs = UNKNOWN};
}

static void sort(struct list *list)
{
	if (list->n)
		qsort(list->v, list->n, sizeof(*list->v), by_pid);
}

/* 0 or -1 with errno. */
static int read_all(int proc, struct list *list)
{
	DIR *dir = open_list(proc, ".");
	pid_t pid = -1;
	int error;

	while (dir && (pid = next_pid(dir)) > 0) {
		struct proc_stat stat;
		int result = read_stat(proc, pid, &stat);

		if (result < 0)
			break;
		if (result > 0)
			add(list, &stat);
	}
	error = errno;
	if (dir)
		closedir(dir);
	errno = error;
	if (pid != 0)
		return -1;
	sort(list);
	return 0;
}

/* Decides for a process, and so for those above it, whether it belongs to the tree. UNKNOWN where a
 * parent is not in the list. */
static enum belongs decide(const struct list *list, struct process *process)
{
	enum belongs belongs = UNKNOWN;
	struct process *at = process;

	/* As pids are used again, parents that were not read at one time can form a ring. */
	for (size_t steps = 0; at && at->belongs == UNKNOWN && at->stat.parent; steps++)
		at = steps < list->n ? find(list, at->stat.parent) : NULL;
	if (at)
		belongs = at->belongs == UNKNOWN ? OUTSIDE : at->belongs;
	for (; at && process->belongs == UNKNOWN; process = find(list, process->stat.parent)) {
		process->belongs = belongs;
		if (process == at)
			break;
	}
	return belongs;
}

/* Reads a process and those above it once more. 0 or -1 with errno. */
static int refresh(int proc, struct list *list, pid_t pid)
{
	for (size_t steps = 0; pid && steps <= list->n; steps++) {
		struct process *known = find(list, pid);
		struct proc_stat stat;
		int result = read_stat(proc, pid, &stat);

		if (result < 0)
			return -1;
		if (result == 0 && known)
			known->stat.parent = ENDED;
		if (result == 0)
			return 0;
		if (known)
			known->stat = stat;
		else
			add(list, &stat);
		sort(list);
		pid = stat.parent;
	}
	return 0;
}

/* Decides for a process for certain: parents end while we look, and their children get new ones; one
 * that was forked meanwhile can have children in the list. 0 or -1 with errno. */
static int place(int proc, struct list *list, pid_t pid)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		struct process *process = find(list, pid);

		if (process->stat.parent == ENDED || decide(list, process) != UNKNOWN)
			return 0;
		if (refresh(proc, list, pid) < 0)
			return -1;
	}
	errno = EAGAIN;
	return -1;
}

/* Whether two processes or threads have one thing in common. Not where the kernel does not tell. */
static bool same(enum kcmp_type what, pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, what, 0, 0) == 0;
}

/* Bytes by a line "NAME:  N kB"; -1: there is none. */
static int64_t line_bytes(const char *text, const char *name)
{
	/* Newlines in the process's name are escaped there. */
	const char *at = strstr(text, name);

	return at ? strtoll(at + strlen(name), NULL, 10) * 1024 : -1;
}

/* Adds the memory that a file of a process, or of one of its threads, shows. 1; 0: it has none (any
 * more); -1 with errno. text is a buffer of STATUS_SIZE. */
static int add_file(
	int proc, const char *dir, enum procs_pages pages, char *text, struct procs *procs)
{
	bool pss = pages == PROCS_PSS;
	CLEANUP_FREE char *path = xasprintf("%s/%s", dir, pss ? "smaps_rollup" : "status");
	ssize_t n = read_text(proc, path, text, STATUS_SIZE);
	int64_t anonymous, shared;

	if (n == -ENOENT || n == -ESRCH)
		return 0;
	errno = n < 0 ? (int)-n : 0;
	if (n < 0)
		return -1;
	anonymous = line_bytes(text, pss ? "\nPss_Anon:" : "\nRssAnon:");
	shared = line_bytes(text, pss ? "\nPss_Shmem:" : "\nRssShmem:");
	if (!pss && (anonymous < 0 || shared < 0)) {
		anonymous = line_bytes(text, "\nVmRSS:"); /* before Linux 4.5 */
		shared = 0;
	}
	if (anonymous < 0 || shared < 0)
		return 0;
	procs->anonymous += (uint64_t)anonymous;
	procs->shared += (uint64_t)shared;
	return 1;
}

/* The same, by Pss where that is to be had. */
static int add_pages(
	int proc, const char *dir, enum procs_pages pages, char *text, struct procs *procs)
{
	if (pages == PROCS_PSS && add_file(proc, dir, PROCS_PSS, text, procs) > 0)
		return 1;
	return add_file(proc, dir, PROCS_RSS, text, procs);
}

/* Adds the memfds in a table of descriptors. 0 or -1 with errno. */
static int add_memfds(int proc, const char *path, struct memfds *memfds)
{
	static const char memfd[] = "/memfd:";
	DIR *dir = open_list(proc, path);
	struct dirent *entry;

	/* It has ended, or we may not look into it. */
	if (!dir)
		return errno == ENOENT || errno == ESRCH || errno == EACCES || errno == EPERM ? 0
											      : -1;
	while (memfds->looked <= PROCS_DESCRIPTORS && (entry = readdir(dir))) {
		char target[sizeof(memfd) - 1];
		struct stat st;

		memfds->looked++;
		/* Others are not asked for their state: a file server may never answer. */
		if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target)) !=
				sizeof(target) ||
			memcmp(target, memfd, sizeof(target)) != 0 ||
			fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 ||
			st.st_dev != memfds->device)
			continue;
		GROW(memfds->v, memfds->n, memfds->alloc);
		memfds->v[memfds->n++] = (struct memfd){st.st_ino, (uint64_t)st.st_blocks * 512};
	}
	closedir(dir);
	return 0;
}

/* Adds what the threads of a process have that its first one does not show: memory when that one has
 * ended (found = 0), and tables of descriptors of their own. 0 or -1 with errno. */
static int add_threads(int proc, pid_t pid, int found, enum procs_pages pages, char *text,
	struct procs *procs, struct memfds *memfds)
{
	CLEANUP_FREE char *tasks = xasprintf("%d/task", (int)pid);
	DIR *dir = open_list(proc, tasks);
	pid_t tid, last = pid;
	int result = 0;

	while (dir && result == 0 && (tid = next_pid(dir)) > 0) {
		if (found == 0) {
			CLEANUP_FREE char *thread = xasprintf("%s/%d", tasks, (int)tid);

			found = add_pages(proc, thread, pages, text, procs);
			result = found < 0 ? -1 : 0;
		}
		if (pages == PROCS_RSS && result == 0 && !same(KCMP_FILES, last, tid)) {
			CLEANUP_FREE char *fds = xasprintf("%s/%d/fd", tasks, (int)tid);

			result = add_memfds(proc, fds, memfds);
			last = tid;
		}
	}
	if (dir)
		closedir(dir);
	return result;
}

/* Adds the memory of a process. 0 or -1 with errno. */
static int add_memory(int proc, const struct proc_stat *stat, pid_t root, enum procs_pages pages,
	char *text, struct procs *procs, struct memfds *memfds)
{
	CLEANUP_FREE char *dir = xasprintf("%d", (int)stat->pid);
	CLEANUP_FREE char *fds = xasprintf("%d/fd", (int)stat->pid);
	/* After vfork(2) all memory is the parent's, until execve(2): Pss does not know. */
	bool borrowed = pages == PROCS_PSS && stat->pid != root && stat->threads == 1 &&
			same(KCMP_VM, stat->parent, stat->pid);
	int found = borrowed ? 1 : add_pages(proc, dir, pages, text, procs);

	if (found < 0 || (pages == PROCS_RSS && add_memfds(proc, fds, memfds) < 0))
		return -1;
	if (stat->threads == 1 || (found && pages == PROCS_PSS))
		return 0;
	return add_threads(proc, stat->pid, found, pages, text, procs, memfds);
}

static int by_inode(const void *a, const void *b)
{
	const struct memfd *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Bytes, each memfd once; -1: there may be more. */
static int64_t sum_memfds(struct memfds *memfds)
{
	int64_t sum = 0;

	if (memfds->looked > PROCS_DESCRIPTORS)
		return -1;
	if (memfds->n)
		qsort(memfds->v, memfds->n, sizeof(*memfds->v), by_inode);
	for (size_t i = 0; i < memfds->n; i++)
		if (i == 0 || memfds->v[i].inode != memfds->v[i - 1].inode)
			sum += (int64_t)memfds->v[i].bytes;
	return sum;
}

/* The device that all memfds are on, by one of our own. 0 or -1 with errno. */
static int memfd_device(dev_t *device)
{
	CLEANUP_CLOSE int fd = memfd_create("sbx", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	*device = st.st_dev;
	return 0;
}

/* 0 or -1 with errno. */
static int measure(int proc, struct list *list, struct memfds *memfds, pid_t root,
	enum procs_pages pages, struct procs *procs)
{
	CLEANUP_FREE char *text = xcalloc(1, STATUS_SIZE);
	uint64_t ticks = 0;
	struct process *top;

	if (memfd_device(&memfds->device) < 0 || read_all(proc, list) < 0)
		return -1;
	top = find(list, root);
	if (!top)
		return 0;
	top->belongs = INSIDE;
	for (size_t i = 0; i < list->n; i++)
		if (place(proc, list, list->v[i].stat.pid) < 0)
			return -1;
	for (size_t i = 0; i < list->n; i++) {
		const struct process *process = &list->v[i];

		if (process->belongs != INSIDE)
			continue;
		procs->processes++;
		procs->threads += process->stat.threads;
		ticks += process->stat.ticks;
		if (add_memory(proc, &process->stat, root, pages, text, procs, memfds) < 0)
			return -1;
	}
	procs->memfds = sum_memfds(memfds);
	procs->cpu_us = ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	return 0;
}

int procs_read(pid_t root, enum procs_pages pages, struct procs *procs, struct err *err)
{
	CLEANUP_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct memfds memfds = {0};
	struct list list = {0};
	int result;

	*procs = (struct procs){0};
	result = proc < 0 ? -1 : measure(proc, &list, &memfds, root, pages, procs);
	if (result < 0)
		err_set(err, ERR_SYSTEM, "the run's processes cannot be measured: /proc: %s",
			strerror(errno));
	free(memfds.v);
	free(list.v);
	return result;
}

/* Whether the last mount at /proc hides others' processes. */
static bool hides(void)
{
	CLEANUP_STRVEC struct strvec mounts = {0};
	const char *option = NULL;

	read_lines("/proc/self/mountinfo", &mounts);
	for (size_t i = 0; i < mounts.n; i++)
		if (strstr(mounts.v[i], " /proc ") && strstr(mounts.v[i], " - proc "))
			option = strstr(mounts.v[i], "hidepid=");
	return option && strncmp(option, "hidepid=0", 9) != 0 &&
	       strncmp(option, "hidepid=off", 11) != 0;
}

/* CAP_SYS_PTRACE, which makes hidden ones seen. */
static bool sees_all(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, data) == 0 &&
	       data[0].effective & CAP_TO_MASK(CAP_SYS_PTRACE);
}

int procs_check(struct err *err)
{
	CLEANUP_FREE char *pid = xasprintf("%d", (int)getpid());
	char self[32] = "";
	struct procs procs;
	struct statfs fs;

	if (statfs("/proc", &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC ||
		readlink("/proc/self", self, sizeof(self) - 1) < 0 || strcmp(self, pid) != 0)
		return err_set(err, ERR_SETUP,
			"the run's processes cannot be measured: /proc is not that of this process "
			"namespace");
	if (hides() && !sees_all()) {
		err_set(err, ERR_SETUP,
			"the run's processes cannot be measured: /proc hides processes (hidepid)");
		return err_hint(err, "mount /proc without hidepid, or use a cgroup");
	}
	if (procs_read(getpid(), PROCS_RSS, &procs, err) < 0) {
		err->kind = ERR_SETUP;
		return -1;
	}
	return 0;
}
