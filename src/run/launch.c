#include "run/launch.h"

#include "base/mem.h"
#include "base/read.h"
#include "run/host.h"
#include "run/stdio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHIM_STACK 65536
/* The shim, which as an init cannot kill itself, ends with this and the signal that bwrap was ended
 * by. bwrap's own exit codes are below, but where it tells the command's by its status too. */
#define KILLED 192

enum step {
	STEP_GROUPS,
	STEP_KEYS,
	STEP_USER,
	STEP_PROCESS,
	STEP_TTY,
	STEP_MOUNTS,
	STEP_PROC,
	STEP_FDS,
	STEP_GUARD,
	STEP_EXEC
};

static const char *const step_names[] = {
	[STEP_GROUPS] = "drop supplementary groups",
	[STEP_KEYS] = "leave the caller's session keyring (/proc/key-users has the quotas)",
	[STEP_USER] = "become the user that the command is to run as",
	[STEP_PROCESS] = "make a process group that ends with its parent",
	[STEP_TTY] = "give the command its terminal",
	[STEP_MOUNTS] = "set up the mounts around bwrap",
	[STEP_PROC] = "mount a /proc for the process namespace around bwrap",
	[STEP_FDS] = "hand over descriptors",
	[STEP_GUARD] = "start a guard",
	[STEP_EXEC] = "execute",
};

struct message {
	enum step step;
	int error;
};

/* All that the shim needs, made beforehand. */
struct shim {
	const struct launch_spec *spec;
	char **argv;
	bool becomes;   /* bwrap is run as another user than the caller */
	int keep[3];    /* args, status, hold */
	int go[2];      /* parent to shim: a byte when its ids are mapped; end-of-file = it died */
	int message[2]; /* shim to parent: struct message; closed by exec */
	char inotify[2][24]; /* what all in the namespace may have: instances and watches */
};

static const char *const inotify_limits[] = {
	"/proc/sys/user/max_inotify_instances", "/proc/sys/user/max_inotify_watches"};

static void send_message(const struct shim *shim, enum step step)
{
	struct message m = {.step = step, .error = errno};

	if (write(shim->message[1], &m, sizeof(m)) < 0)
		_exit(125);
}

static _Noreturn void shim_fail(const struct shim *shim, enum step step)
{
	send_message(shim, step);
	_exit(125);
}

static int keep_open(int fd)
{
	return fcntl(fd, F_SETFD, 0);
}

static _Noreturn void shim_exec(const struct shim *shim)
{
	const struct launch_spec *spec = shim->spec;
	char *no_environment[] = {NULL};
	sigset_t none;

	/* Not by signal(3): it refuses the two that the C library keeps for itself, and a caller
	 * may have left them ignored. All of the kernel's struct sigaction is zero for the
	 * default. */
	for (int sig = 1; sig < NSIG; sig++)
		syscall(SYS_rt_sigaction, sig, (unsigned long[8]){0}, NULL, _NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 0; i <= 2; i++)
		if ((spec->stdio[i] == i ? keep_open(i) : dup2(spec->stdio[i], i)) < 0)
			shim_fail(shim, STEP_FDS);
	for (size_t i = 0; i < sizeof(shim->keep) / sizeof(shim->keep[0]); i++)
		if (keep_open(shim->keep[i]) < 0)
			shim_fail(shim, STEP_FDS);
	for (size_t i = 0; i < spec->n_keep; i++)
		if (keep_open(spec->keep[i]) < 0)
			shim_fail(shim, STEP_FDS);
	execve(spec->bwrap, shim->argv, no_environment);
	shim_fail(shim, STEP_EXEC);
}

/* Kills and reaps all children, and what becomes a child by its parent's death, until none is
 * left. */
static void guard_sweep(bool outer)
{
	char text[4096];
	ssize_t n;
	int fd;

	do {
		if (outer) {
			kill(-1, SIGKILL); /* all of the pid namespace but its init */
			continue;
		}
		fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return; /* nobody to be found: waiting for them could take for ever */
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = '\0';
		for (char *p = text, *end; *p; p = end + (*end == ' ')) {
			long pid = strtol(p, &end, 10);

			if (end == p)
				break;
			kill((pid_t)pid, SIGKILL);
		}
	} while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

/* Runs bwrap as a child and ends as it ended, when all is gone. SIGUSR1 means: kill everything; with a
 * tty SIGUSR2: stop everything, and SIGCONT: let it go on. */
static _Noreturn void guard(const struct shim *shim)
{
	bool outer = shim->spec->outer == OUTER_ALL;
	int tty = shim->spec->tty;
	siginfo_t info = {.si_pid = 0};
	struct rlimit limit;
	sigset_t set;
	pid_t pid;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR1);
	if (tty >= 0) {
		sigaddset(&set, SIGUSR2);
		sigaddset(&set, SIGCONT);
		sigaddset(&set, SIGTTOU); /* bwrap takes the foreground from behind */
	}
	sigprocmask(SIG_SETMASK, &set, NULL);
	pid = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -1 : fork();
	if (pid < 0)
		shim_fail(shim, STEP_GUARD);
	if (pid == 0) {
		pid_t parent = getppid();

		if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
			shim_fail(shim, STEP_PROCESS);
		if (getppid() != parent)
			_exit(125);
		if (tty >= 0 && tcsetpgrp(tty, getpid()) < 0)
			shim_fail(shim, STEP_TTY);
		shim_exec(shim);
	}
	/* Its memory is the caller's, environment and all, which the user may not see who it is now;
	 * whether a change of ids sees to that is a setting (fs.suid_dumpable). */
	if (shim->becomes)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* Above all the other ends of the pumps' pipes: a reader would wait for them. */
	if (close_range(3, ~0U, 0) < 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		for (rlim_t fd = 3; fd < limit.rlim_cur && fd < INT_MAX; fd++)
			close((int)fd);
	while (info.si_pid == 0 && (sig = sigwaitinfo(&set, NULL)) != SIGUSR1) {
		if (sig == SIGUSR2 || sig == SIGCONT)
			kill(-1, sig == SIGUSR2 ? SIGSTOP : SIGCONT);
		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
	}
	if (info.si_pid == 0)
		info = (siginfo_t){.si_code = CLD_KILLED, .si_status = SIGKILL};
	guard_sweep(outer);
	_exit(info.si_code == CLD_EXITED ? info.si_status : KILLED + info.si_status % 64);
}

/* Makes a file a read-only mount of its own; 0 or -1 with errno. */
static int mount_read_only(const char *path)
{
	static const struct {
		unsigned long st, ms;
	} flags[] = {{ST_NOSUID, MS_NOSUID}, {ST_NODEV, MS_NODEV}, {ST_NOEXEC, MS_NOEXEC},
		{ST_NOATIME, MS_NOATIME}, {ST_NODIRATIME, MS_NODIRATIME},
		{ST_RELATIME, MS_RELATIME}};
	unsigned long keep = 0;
	struct statvfs st;

	if (statvfs(path, &st) < 0 || mount(path, path, NULL, MS_BIND, NULL) < 0)
		return -1;
	/* What the mount has been given in a more privileged namespace has to stay. */
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		keep |= st.f_flag & flags[i].st ? flags[i].ms : 0;
	return mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | keep, NULL);
}

/* What bwrap's own mounts will be made of. */
static void shim_mounts(const struct shim *shim)
{
	unsigned long propagation = shim->spec->slave ? MS_SLAVE : MS_PRIVATE;

	if (mount(NULL, "/", NULL, MS_REC | propagation, NULL) < 0)
		shim_fail(shim, STEP_MOUNTS);
	/* The nodes that bwrap binds for --dev are the host's: through a writable mount a root
	 * caller's command could change their modes. Binds of a read-only mount are read-only,
	 * and writing to a device is no matter of its mount. (bwrap's own --remount-ro would
	 * make them unusable: it adds nodev.) */
	for (size_t i = 0; i < HOST_NODES; i++)
		if (mount_read_only(host_nodes[i]) < 0 && errno != ENOENT)
			shim_fail(shim, STEP_MOUNTS);
	/* The same for bwrap itself, which the sandbox's pid 1 shows as /proc/1/exe. */
	if (mount_read_only(shim->spec->bwrap) < 0)
		shim_fail(shim, STEP_MOUNTS);
}

/* A session keyring is inherited: without one of its own the command reads and changes the caller's
 * keys. ENOSYS, or EPERM by a filter, means that there is none to reach. A new one counts against a
 * quota, which is the caller's as long as this comes first: an earlier command can have used up the
 * user's. */
static void shim_keys(const struct shim *shim)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
		errno != EPERM)
		shim_fail(shim, STEP_KEYS);
}

/* In a user namespace the capabilities stay: root, which loses them by this, is not in it. */
static void shim_user(const struct shim *shim)
{
	const struct launch_spec *spec = shim->spec;

	if (setgroups(0, NULL) < 0) {
		if (shim->becomes || errno != EPERM)
			shim_fail(shim, STEP_USER);
		send_message(shim, STEP_GROUPS);
	}
	if (shim->becomes && (setresgid(spec->gid, spec->gid, spec->gid) < 0 ||
				     setresuid(spec->uid, spec->uid, spec->uid) < 0))
		shim_fail(shim, STEP_USER);
}

/* What inotify takes is counted for the user, whose the supervisor may be, too: a command that took
 * all would blind what is watched from outside (run/watch.h). As well as can be. */
static void shim_inotify(const struct shim *shim)
{
	for (size_t i = 0; i < sizeof(shim->inotify) / sizeof(shim->inotify[0]); i++) {
		int fd = open(inotify_limits[i], O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, shim->inotify[i], strlen(shim->inotify[i])) < 0)
			return; /* what there is is shared */
		close(fd);
	}
}

static _Noreturn int shim_main(void *arg)
{
	const struct shim *shim = arg;
	bool outer = shim->spec->outer == OUTER_ALL;
	struct pollfd alive = {.fd = shim->go[0]};
	char byte;

	close(shim->go[1]);
	if (read(shim->go[0], &byte, 1) != 1)
		_exit(125);
	shim_keys(shim);
	shim_user(shim);
	/* The death signal after the ids, a change of which clears it. A parent that dies later
	 * takes the shim along, one that has died before is seen by the hang-up, as its end of the
	 * pipe stays open until exec. */
	if (prctl(PR_SET_PDEATHSIG, outer ? SIGKILL : SIGUSR1, 0, 0, 0) < 0)
		shim_fail(shim, STEP_PROCESS);
	if (poll(&alive, 1, 0) != 0)
		_exit(125);
	if (shim->spec->tty < 0 ? setpgid(0, 0) < 0 : setsid() < 0)
		shim_fail(shim, STEP_PROCESS);
	if (shim->spec->tty >= 0 && ioctl(shim->spec->tty, TIOCSCTTY, 0) < 0)
		shim_fail(shim, STEP_TTY);
	if (shim->spec->outer != OUTER_NONE)
		shim_mounts(shim);
	/* bwrap looks its child up in /proc, by the pid that it has in this namespace. */
	if (outer && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		shim_fail(shim, STEP_PROC);
	if (outer)
		shim_inotify(shim);
	guard(shim);
}

/* Everything above 2 is closed by exec but what the shim opens again: descriptors that were
 * inherited, and those that a library opened. */
static int close_on_exec(struct err *err)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		return err_set(err, ERR_SETUP, "cannot list /proc/self/fd: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (fd > 2)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	closedir(dir);
	return 0;
}

/* bwrap's words on a sealed memfd: its number, or -1. */
static int args_memfd(const struct launch_spec *spec, int status, int hold, struct err *err)
{
	CLEANUP_STRVEC struct strvec own = {0};
	const struct strvec *parts[] = {spec->words, &own};
	int fd = memfd_create("bwrap-args", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	strvec_push(&own, "--json-status-fd");
	strvec_pushf(&own, "%d", status);
	strvec_push(&own, "--block-fd");
	strvec_pushf(&own, "%d", hold);
	for (size_t p = 0; fd >= 0 && p < 2; p++)
		for (size_t i = 0; i < parts[p]->n; i++)
			if (write_all(fd, parts[p]->v[i], strlen(parts[p]->v[i]) + 1) < 0)
				goto fail;
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) <
			0)
		goto fail;
	return fd;
fail:
	err_set(err, ERR_SETUP, "cannot write bwrap's words to memory: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Writes to /proc/PID/name. 0 or -errno. */
static int write_proc(pid_t pid, const char *name, const char *text)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/%s", (int)pid, name);
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : write_all(fd, text, strlen(text));
}

/* The user is itself inside, and nobody else exists. Where the kernel wants it so,
 * supplementary groups can then no longer be dropped. */
static int map_ids(pid_t pid, const struct launch_spec *spec, struct err *err)
{
	CLEANUP_FREE char *uids = xasprintf("%u %u 1\n", spec->uid, spec->uid);
	CLEANUP_FREE char *gids = xasprintf("%u %u 1\n", spec->gid, spec->gid);
	int result = write_proc(pid, "uid_map", uids);
	int gids_result = result ? 0 : write_proc(pid, "gid_map", gids);

	if (result == 0)
		result = gids_result;
	if (gids_result == -EPERM)
		result = write_proc(pid, "setgroups", "deny\n") < 0
				 ? -EPERM
				 : write_proc(pid, "gid_map", gids);
	if (result < 0)
		return err_set(err, ERR_SETUP, "cannot map the ids of a user namespace: %s",
			strerror(-result));
	return 0;
}

/* 0 or -1 with errno. The user namespace is there for root too: in it the kernel keeps a /proc
 * from being mounted that shows more than the one that is there. */
static int clone_shim(struct child *child, struct shim *shim)
{
	CLEANUP_FREE char *stack = xcalloc(SHIM_STACK, 1);
	static const int flags[] = {
		[OUTER_NONE] = 0,
		[OUTER_MOUNTS] = CLONE_NEWNS | CLONE_NEWUSER,
		[OUTER_ALL] = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER,
	};

	/* Its own copy of the memory is made by the clone: ours can be freed. */
	child->pid = clone(shim_main, stack + SHIM_STACK,
		SIGCHLD | CLONE_PIDFD | flags[shim->spec->outer], shim, &child->pidfd);
	return child->pid < 0 ? -1 : 0;
}

static void note_groups(struct strvec *notes)
{
	gid_t groups[256];
	int n = getgroups(sizeof(groups) / sizeof(groups[0]), groups);
	CLEANUP_STRVEC struct strvec numbers = {0};
	CLEANUP_FREE char *list = NULL;

	for (int i = 0; i < n; i++)
		if (groups[i] != getegid())
			strvec_pushf(&numbers, "%u", groups[i]);
	list = n < 0 ? xstrdup("them all") : strvec_join(&numbers, " ");
	if (*list)
		strvec_pushf(notes, "supplementary groups could not be dropped: the command has %s",
			list);
}

/* Reads the shim's messages up to its exec. */
static int await_exec(const struct shim *shim, struct strvec *notes, struct err *err)
{
	struct message m;
	ssize_t n;

	while ((n = read(shim->message[0], &m, sizeof(m))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(m))
			return err_set(
				err, ERR_SETUP, "cannot hear from the process that becomes bwrap");
		if (m.step != STEP_GROUPS)
			return err_set(err, ERR_SETUP, "cannot %s%s%s: %s", step_names[m.step],
				m.step == STEP_EXEC ? " " : "",
				m.step == STEP_EXEC ? shim->spec->bwrap : "", strerror(m.error));
		note_groups(notes);
	}
	return 0;
}

/* The part with a running shim: child->pid and pidfd are set. */
static int start_shim(struct child *child, struct shim *shim, struct strvec *notes, struct err *err)
{
	int result = write_proc(child->pid, "oom_score_adj", "1000");

	if (result < 0)
		strvec_pushf(notes,
			"the command is not marked as the first to end when memory runs out: %s",
			strerror(-result));
	/* Before it does anything: what comes after it is born in the same cgroups. */
	if (shim->spec->leaf) {
		int error = leaf_enter(shim->spec->leaf, child->pid);

		if (error < 0)
			return err_set(err, ERR_SETUP, "cannot join the run's cgroup: %s",
				strerror(-error));
	}
	if (shim->spec->outer != OUTER_NONE && map_ids(child->pid, shim->spec, err) < 0)
		return -1;
	close(shim->message[1]);
	shim->message[1] = -1;
	if (write_all(shim->go[1], "", 1) < 0)
		return err_set(err, ERR_SETUP, "the process that becomes bwrap ended too early");
	return await_exec(shim, notes, err);
}

static void close_pipe(int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* Half of what there is for the caller. */
static void halve_inotify(struct shim *shim)
{
	for (size_t i = 0; i < sizeof(shim->inotify) / sizeof(shim->inotify[0]); i++) {
		char text[24];
		ssize_t n = read_text(AT_FDCWD, inotify_limits[i], text, sizeof(text));
		long limit = n > 0 ? strtol(text, NULL, 10) : 0;

		snprintf(shim->inotify[i], sizeof(shim->inotify[i]), "%ld\n",
			limit > 1 ? limit / 2 : 1);
	}
}

int launch(
	struct child *child, const struct launch_spec *spec, struct strvec *notes, struct err *err)
{
	struct shim shim = {.spec = spec,
		.becomes = spec->uid != geteuid() || spec->gid != getegid(),
		.go = {-1, -1},
		.message = {-1, -1}};
	CLEANUP_STRVEC struct strvec argv = {0};
	CLEANUP_CLOSE int args = -1;
	int status[2] = {-1, -1};
	int result = -1;

	child->outer = spec->outer == OUTER_ALL;
	child->hold[0] = child->hold[1] = -1;
	if (pipe2(status, O_CLOEXEC) < 0 || fcntl(status[0], F_SETFL, O_NONBLOCK) < 0 ||
		pipe2(child->hold, O_CLOEXEC) < 0 || pipe2(shim.go, O_CLOEXEC) < 0 ||
		pipe2(shim.message, O_CLOEXEC) < 0) {
		err_set(err, ERR_SETUP, "cannot make pipes: %s", strerror(errno));
		goto out;
	}
	args = args_memfd(spec, status[1], child->hold[0], err);
	if (args < 0 || close_on_exec(err) < 0)
		goto out;
	halve_inotify(&shim);
	/* bwrap takes end-of-file for a go, so a hold is one only because our death ends
	 * everything. */
	if (!spec->hold)
		launch_release(child);
	strvec_push(&argv, "bwrap");
	strvec_push(&argv, "--args");
	strvec_pushf(&argv, "%d", args);
	strvec_push(&argv, "--");
	for (char *const *word = spec->command; *word; word++)
		strvec_push(&argv, *word);
	shim.argv = argv.v;
	memcpy(shim.keep, (int[]){args, status[1], child->hold[0]}, sizeof(shim.keep));
	if (clone_shim(child, &shim) < 0) {
		err_set(err, ERR_SETUP, "cannot make %s: %s",
			spec->outer ? "namespaces" : "a process", strerror(errno));
		goto out;
	}
	child->started = true;
	child->status = status[0];
	status[0] = -1;
	result = start_shim(child, &shim, notes, err);
out:
	close_pipe(shim.go);
	close_pipe(shim.message);
	close_pipe(status);
	if (!child->started)
		close_pipe(child->hold);
	else if (result < 0)
		child_close(child);
	return result;
}

void launch_release(struct child *child)
{
	/* The read end is open here too, so that this can neither fail nor raise SIGPIPE. */
	child->released = write_all(child->hold[1], "", 1) == 0;
}

bool launch_taken(const struct child *child)
{
	int left = 1;

	return child->released && ioctl(child->hold[0], FIONREAD, &left) == 0 && left == 0;
}

/* A signal is what a run ends by: it is sent once more when that fails. */
static void signal_shim(const struct child *child, int sig)
{
	if (syscall(SYS_pidfd_send_signal, child->pidfd, sig, NULL, 0) < 0)
		syscall(SYS_pidfd_send_signal, child->pidfd, sig, NULL, 0);
}

void launch_kill(const struct child *child)
{
	signal_shim(child, SIGUSR1);
}

void launch_stop(const struct child *child)
{
	signal_shim(child, SIGUSR2);
}

void launch_continue(const struct child *child)
{
	signal_shim(child, SIGCONT);
}

void launch_kill_shim(const struct child *child)
{
	signal_shim(child, SIGKILL);
}

static int64_t milliseconds(const struct timeval *t)
{
	return (int64_t)t->tv_sec * 1000 + t->tv_usec / 1000;
}

void launch_wait(struct child *child, struct child_end *end)
{
	siginfo_t info = {0};
	struct rusage used = {0};

	/* The C library's waitid(2) hides the last argument. */
	while (syscall(SYS_waitid, P_PID, child->pid, &info, WEXITED, &used) < 0 && errno == EINTR)
		;
	*end = (struct child_end){
		.killed = info.si_code != CLD_EXITED || info.si_status > KILLED,
		.status = info.si_code == CLD_EXITED && info.si_status > KILLED
				  ? info.si_status - KILLED
				  : info.si_status,
		.cpu_ms = milliseconds(&used.ru_utime) + milliseconds(&used.ru_stime),
		.max_rss = (int64_t)used.ru_maxrss * 1024,
	};
	child->pid = 0;
}

void child_close(struct child *child)
{
	struct child_end end;

	if (!child->started)
		return;
	if (child->pid) {
		launch_kill(child);
		launch_wait(child, &end);
	}
	close(child->pidfd);
	close(child->status);
	close_pipe(child->hold);
	child->started = false;
}
