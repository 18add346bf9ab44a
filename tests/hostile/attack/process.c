/* Leaving the process namespace: signals, tracing, namespaces and settings of processes outside; rights. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t number(const char *text)
{
	return (pid_t)strtol(text, NULL, 10);
}

static void signalled(const char *pid)
{
	judge(kill(number(pid), SIGWINCH));
}

static void group_signalled(const char *pid)
{
	judge(kill(-number(pid), SIGWINCH));
}

static void thread_signalled(const char *pid)
{
	judge(syscall(SYS_tgkill, number(pid), number(pid), SIGWINCH));
}

static void queued(const char *pid)
{
	judge(sigqueue(number(pid), SIGWINCH, (union sigval){0}));
}

static void pidfd(const char *pid)
{
	judge(syscall(SYS_pidfd_open, number(pid), 0));
}

/* A directory of /proc is a pidfd to pidfd_send_signal. */
static void directory_signalled(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		held_by_errno();
	judge(syscall(SYS_pidfd_send_signal, fd, SIGWINCH, NULL, 0));
}

static void owner_signalled(const char *pid)
{
	int fds[2];

	if (pipe(fds) < 0 || fcntl(fds[0], F_SETOWN, number(pid)) < 0)
		held_by_errno();
	judge(0);
}

static void seized(const char *pid)
{
	judge(ptrace(PTRACE_SEIZE, number(pid), 0, 0));
}

static void memory_read(const char *pid)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {&byte, 1};

	/* Nothing need be at that address: the right is looked at first. */
	if (process_vm_readv(number(pid), &here, 1, &there, 1, 0) < 0 && errno != EFAULT)
		held_by_errno();
	broke("it may");
}

/* All that the process can read, by its own map. */
static void memory_searched(const char *pid)
{
	static char text[1 << 20];
	char line[512];
	FILE *maps;
	unsigned long from, to;

	snprintf(line, sizeof(line), "/proc/%s/maps", pid);
	maps = fopen(line, "r");
	if (!maps)
		held_by_errno();
	while (fgets(line, sizeof(line), maps))
		while (sscanf(line, "%lx-%lx r", &from, &to) == 2 && from < to) {
			size_t size = to - from < sizeof(text) ? to - from : sizeof(text);
			struct iovec here = {text, size}, there = {(void *)from, size};
			ssize_t n = process_vm_readv(number(pid), &here, 1, &there, 1, 0);

			if (n > 0 && memmem(text, (size_t)n, secret_word(), strlen(secret_word())))
				broke("at %#lx", from);
			from += size;
			snprintf(line, sizeof(line), "%lx-%lx r", from, to);
		}
	held("none");
}

static void limited(const char *pid)
{
	struct rlimit limit;

	judge(prlimit(number(pid), RLIMIT_CORE, NULL, &limit));
}

static void scheduled(const char *pid)
{
	cpu_set_t set;

	judge(sched_getaffinity(number(pid), sizeof(set), &set));
}

static void reniced(const char *pid)
{
	errno = 0;
	judge(getpriority(PRIO_PROCESS, (id_t)number(pid)) == -1 && errno ? -1 : 0);
}

/* Every process of the user's: the test looks at the host's afterwards too. */
static void session_of(const char *pid)
{
	judge(getsid(number(pid)));
}

static void entered(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		held_by_errno();
	judge(setns(fd, 0));
}

static void entered_by_pidfd(const char *pid)
{
	int fd = (int)syscall(SYS_pidfd_open, number(pid), 0);

	if (fd < 0)
		held_by_errno();
	judge(setns(fd, CLONE_NEWNS | CLONE_NEWPID));
}

/* What descriptors the sandbox's first process has: an end of bwrap's own pipes would do. */
static void descriptor_taken(const char *pid)
{
	int from = (int)syscall(SYS_pidfd_open, number(pid), 0);

	if (from < 0)
		held_by_errno();
	for (int fd = 3; fd < 64; fd++) {
		char name[64], target[64] = "";
		int got = (int)syscall(SYS_pidfd_getfd, from, fd, 0);

		if (got < 0)
			continue;
		snprintf(name, sizeof(name), "/proc/self/fd/%d", got);
		if (readlink(name, target, sizeof(target) - 1) > 0 &&
			strcmp(target, "anon_inode:[eventfd]"))
			broke("descriptor %d, %s", fd, target);
	}
	held("none");
}

/* bwrap tells its end by an eventfd that its first process has. */
static void end_forged(const char *directory)
{
	DIR *dir = opendir(directory);
	char name[300], target[64];

	if (!dir)
		held_by_errno();
	errno = ENOENT;
	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		ssize_t n;
		int fd;

		snprintf(name, sizeof(name), "%s/%s", directory, e->d_name);
		n = readlink(name, target, sizeof(target));
		if (n < 0 || !memmem(target, (size_t)n, "pipe", 4))
			continue;
		fd = open(name, O_WRONLY | O_NONBLOCK);
		if (fd >= 0 && atoi(e->d_name) > 2)
			broke("a pipe of its first process");
	}
	held("none");
}

static void user_zero(const char *unused)
{
	(void)unused;
	if (geteuid() == 0)
		judge(syscall(SYS_setuid, 1));
	judge(syscall(SYS_setuid, 0));
}

static void groups(const char *unused)
{
	gid_t none = 0;

	(void)unused;
	judge(syscall(SYS_setgroups, 1, &none));
}

static void capabilities(const char *unused)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {0};

	(void)unused;
	if (syscall(SYS_capget, &head, data) < 0)
		held_by_errno();
	for (int i = 0; i < 2; i++)
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			broke("%08x of word %d", data[i].permitted, i);
	held("none");
}

static void bounding_set(const char *unused)
{
	(void)unused;
	for (int i = 0; i < 41; i++)
		if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) > 0)
			broke("capability %d", i);
	held("none");
}

static void ambient(const char *unused)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {0};

	(void)unused;
	if (syscall(SYS_capget, &head, data) < 0)
		held_by_errno();
	data[0].inheritable |= 1u << CAP_SYS_ADMIN;
	if (syscall(SYS_capset, &head, data) < 0)
		held_by_errno();
	judge(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
}

static void raised(const char *unused)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {
		{.effective = 1u << CAP_SYS_ADMIN, .permitted = 1u << CAP_SYS_ADMIN}, {0}};

	(void)unused;
	judge(syscall(SYS_capset, &head, data));
}

static void privileges(const char *unused)
{
	(void)unused;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		held("set");
	broke("no_new_privs is not set");
}

/* A set-user-ID copy of this program, which prints its effective user. */
static void set_user_id(const char *path)
{
	uid_t me = geteuid();
	int fds[2], status;
	char text[32] = "";
	pid_t pid;

	if (access(path, X_OK) < 0 || pipe(fds) < 0)
		held_by_errno();
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], 1);
		execl(path, path, "euid", NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	close(fds[1]);
	if (read(fds[0], text, sizeof(text) - 1) > 0 && (uid_t)strtoul(text, NULL, 10) != me)
		broke("user %s", text);
	held("other");
}

static void hard_limit(const char *unused)
{
	struct rlimit limit;

	(void)unused;
	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		held_by_errno();
	if (limit.rlim_max == RLIM_INFINITY)
		broke("a core file of any size");
	limit.rlim_max = RLIM_INFINITY;
	judge(setrlimit(RLIMIT_CORE, &limit));
}

static void priority(const char *unused)
{
	(void)unused;
	judge(setpriority(PRIO_PROCESS, 0, -5));
}

static void realtime(const char *unused)
{
	struct sched_param param = {.sched_priority = 1};

	(void)unused;
	judge(sched_setscheduler(0, SCHED_FIFO, &param));
}

const struct attack attacks_process[] = {
	{"signal-host", "signal a process outside", "ESRCH", signalled, "{hostpid}"},
	{"signal-host-group", "signal a process group outside", "ESRCH", group_signalled,
		"{hostpid}"},
	{"signal-host-thread", "signal a thread outside", "ESRCH", thread_signalled, "{hostpid}"},
	{"signal-host-queue", "queue a signal to a process outside", "ESRCH EPERM", queued,
		"{hostpid}"},
	{"signal-host-directory", "signal a process outside by its directory in /proc",
		"ENOENT EINVAL EBADF", directory_signalled, "/proc/{hostpid}"},
	{"signal-host-owner", "have a descriptor signal a process outside", "ESRCH",
		owner_signalled, "{hostpid}"},
	{"pidfd-host", "open a pidfd of a process outside", "ESRCH EINVAL", pidfd, "{hostpid}"},
	{"trace-host", "trace a process outside", "ESRCH EPERM", seized, "{hostpid}"},
	{"memory-host", "read the memory of a process outside", "ESRCH EPERM", memory_read,
		"{hostpid}"},
	{"limits-host", "the limits of a process outside", "ESRCH EPERM", limited, "{hostpid}"},
	{"affinity-host", "the processors of a process outside", "ESRCH", scheduled, "{hostpid}"},
	{"priority-host", "the priority of a process outside", "ESRCH", reniced, "{hostpid}"},
	{"session-host", "the session of a process outside", "ESRCH", session_of, "{hostpid}"},
	{"memory-init", "find the caller's secrets in the memory of the sandbox's first process",
		"none EPERM EACCES", memory_searched, "1",
		"the first process of the host is the host's affair"},
	{"descriptor-init", "take a descriptor of the sandbox's first process that leads out",
		"none", descriptor_taken, "1",
		"the first process of the host is the host's affair"},
	{"forge-end", "write to a pipe of the sandbox's first process, as bwrap tells its end",
		"none EACCES", end_forged, "/proc/1/fd",
		"what the first process of a host has open is the host's affair"},
	{"enter-host-mounts", "enter the mount namespace of a process outside",
		"ENOENT EACCES EPERM", entered, "/proc/{hostpid}/ns/mnt"},
	{"enter-host-user", "enter its user namespace", "ENOENT EACCES EPERM EINVAL", entered,
		"/proc/{hostpid}/ns/user",
		"a process cannot enter the user namespace that it is in"},
	{"enter-host-pid", "enter its process namespace", "ENOENT EACCES EPERM", entered,
		"/proc/{hostpid}/ns/pid"},
	{"enter-host-net", "enter its network", "ENOENT EACCES EPERM", entered,
		"/proc/{hostpid}/ns/net"},
	{"enter-host-ipc", "enter its IPC namespace", "ENOENT EACCES EPERM", entered,
		"/proc/{hostpid}/ns/ipc"},
	{"enter-host-pidfd", "enter its namespaces by a pidfd", "ESRCH EPERM", entered_by_pidfd,
		"{hostpid}"},
	{"enter-init-mounts", "enter the mount namespace of the sandbox's first process",
		"EPERM EACCES", entered, "/proc/1/ns/mnt",
		"the first process of the host is the host's affair"},
	{"enter-init-user", "enter its user namespace", "EPERM EACCES EINVAL", entered,
		"/proc/1/ns/user", "a process cannot enter the user namespace that it is in"},
	{"become-root", "become another user", "EPERM EINVAL", user_zero},
	{"take-groups", "take a group", "EPERM", groups},
	{"capabilities-held", "find a capability", "none", capabilities},
	{"capabilities-bounding", "find one in the bounding set", "none", bounding_set},
	{"capabilities-raise", "raise a capability", "EPERM", raised},
	{"capabilities-ambient", "raise an ambient capability", "EPERM", ambient},
	{"new-privileges", "find no_new_privs unset", "set", privileges, NULL,
		"bwrap always sets it"},
	{"set-user-id", "execute a program of another user's that has the set-user-ID bit",
		"other ENOENT EACCES", set_user_id, "{setuid}", "bwrap always sets no_new_privs"},
	{"core-limit", "raise the limit of core files", "EPERM", hard_limit},
	{"raise-priority", "run before all others", "EACCES EPERM", priority},
	{"realtime", "a real-time priority", "EPERM", realtime}, {0}};
