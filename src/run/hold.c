#include "run/hold.h"

#include "base/mem.h"
#include "base/open.h"
#include "base/read.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Steps of waiting: 200 us each, ten seconds in all; a loaded machine may take its time. */
#define STEP_NS 200000L
#define STEPS 50000

/* ptrace(2) takes numbers in place of its last pointer. */
static long trace(enum __ptrace_request request, pid_t pid, unsigned long data)
{
	return syscall(SYS_ptrace, (long)request, pid, NULL, data);
}

static void pause_step(void)
{
	nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

int hold_root(pid_t init)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/root", (int)init);
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat ours, root;
	struct statvfs st;

	if (fd < 0)
		return -errno;
	if (stat("/", &ours) == 0 && fstat(fd, &root) == 0 && root.st_dev != ours.st_dev &&
		fstatvfs(fd, &st) == 0 && st.f_flag & ST_RDONLY)
		return fd;
	close(fd);
	return -EAGAIN;
}

bool hold_is_done(pid_t init)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/status", (int)init);
	char text[8192];
	const char *line = read_text(AT_FDCWD, path, text, sizeof(text)) > 0
				   ? strstr(text, "\nCapEff:")
				   : NULL;

	return line && !(strtoull(line + strlen("\nCapEff:"), NULL, 16) >> CAP_SYS_ADMIN & 1);
}

int hold_compare(pid_t init, const struct table_spec *spec, struct err *err)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/mountinfo", (int)init);
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_MOUNT_TABLE struct mount_table table = {0};
	int error = fd < 0 ? -errno : mount_table_read(&table, fd);

	if (!error)
		return table_compare(spec, &table, err);
	err_set(err, ERR_SETUP, "the sandbox's mount table cannot be read: %s", strerror(-error));
	return err_hint(err, "the plan cannot be verified here; this policy can only be used where "
			     "/proc tells it");
}

/* What is wrong at a place, or NULL. */
static const char *difference(int root, const struct expected_mount *m)
{
	CLEANUP_CLOSE int fd = open_exact(root, m->dest + 1, O_PATH);
	struct statx stx;
	struct statvfs st;
	struct stat object;

	if (fd < 0)
		return fd == -ENOTDIR ? "a link is on the way" : "it is not there";
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) < 0 || fstatvfs(fd, &st) < 0 ||
		fstat(fd, &object) < 0)
		return "it cannot be looked at";
	if (stx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT &&
		!(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return "nothing is mounted there";
	if (m->object && (object.st_dev != m->dev || object.st_ino != m->ino))
		return "something else is mounted there";
	if (m->read_only && !(st.f_flag & ST_RDONLY))
		return "it is not read-only";
	return NULL;
}

static int err_changed(const char *place, const char *what, struct err *err)
{
	err_set(err, ERR_SETUP, "the sandbox is not what was planned: %s: %s", place, what);
	return err_hint(err, "another process changed files while the sandbox was made: nothing "
			     "was run; try again when it is done");
}

int hold_verify_names(
	const struct expected_mount *mounts, size_t n, const struct user *user, struct err *err)
{
	CLEANUP_USER const struct user *as = user_enter(user);

	for (size_t i = 0; i < n; i++) {
		const struct expected_mount *m = &mounts[i];
		CLEANUP_CLOSE int fd = m->named ? open_exact(AT_FDCWD, m->name, O_PATH) : -1;
		struct stat st;

		if (m->named && (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != m->name_dev ||
					st.st_ino != m->name_ino))
			return err_changed(m->name, "it was renamed or replaced", err);
	}
	return 0;
}

int hold_verify(int root, const struct expected_mount *mounts, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		const char *what = difference(root, &mounts[i]);

		if (what)
			return err_changed(mounts[i].dest, what, err);
	}
	return 0;
}

int hold_attach(pid_t init)
{
	return trace(PTRACE_SEIZE, init, PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL) < 0 ? -errno : 0;
}

/* Whether a process has nothing open beyond 0, 1 and 2 but the eventfd by which bwrap's pid 1
 * tells the command's end. */
static bool is_clean(pid_t pid)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool clean = dir != NULL;

	while (clean && (entry = readdir(dir))) {
		char target[64];
		ssize_t n;

		if (entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) <= 2)
			continue;
		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		clean = strcmp(target, "anon_inode:[eventfd]") == 0;
	}
	if (dir)
		closedir(dir);
	return clean;
}

/* Waits for a tracee to stop; its status, -ESRCH when it is gone, -ETIMEDOUT. */
static int wait_stop(pid_t pid)
{
	for (int i = 0; i < STEPS; i++) {
		int status;
		pid_t got = waitpid(pid, &status, __WALL | WNOHANG);

		if (got == pid)
			return WIFSTOPPED(status) ? status : -ESRCH;
		/* Nothing else tells of an end: a tracee that is taken for gone stays for ever. */
		if (got < 0 && errno == ECHILD)
			return -ESRCH;
		pause_step();
	}
	return -ETIMEDOUT;
}

/* The command's process, stopped before its first step; 0 when pid 1 ended without one, -ESRCH when
 * one of the two is gone, -ETIMEDOUT. */
static pid_t await_fork(pid_t init)
{
	int status;

	while ((status = wait_stop(init)) >= 0) {
		unsigned long pid;

		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_FORK << 8)) {
			if (ptrace(PTRACE_GETEVENTMSG, init, NULL, &pid) < 0)
				return -ESRCH;
			status = wait_stop((pid_t)pid);
			return status < 0 ? status : (pid_t)pid;
		}
		/* Stopped by a signal, it stays so and is told apart from one that is sent a
		 * signal. */
		if (status >> 16)
			trace(PTRACE_LISTEN, init, 0);
		else
			trace(PTRACE_CONT, init, (unsigned long)WSTOPSIG(status));
	}
	return status == -ESRCH ? 0 : status;
}

/* Kills a child or tracee, or several by their group, and waits for the end of all: no error but
 * that there is none any more says that. */
static void end_process(pid_t kills, pid_t waits)
{
	if (kill(kills, SIGKILL) < 0)
		kill(kills, SIGKILL);
	while (waitpid(waits, NULL, __WALL) > 0 || errno != ECHILD)
		;
}

/* 0 or -errno. One that has been killed stays, and its pid namespace with it, until its tracer has seen
 * the end. */
static int let_go(pid_t command)
{
	int error = trace(PTRACE_DETACH, command, 0) < 0 ? -errno : 0;

	if (error)
		end_process(command, command);
	return error == -ESRCH ? 0 : error;
}

/* Ends pid 1, and with it what it has forked, and sees the end of both: of the command, where it
 * is not known, by their group. */
static void end_sandbox(pid_t init, pid_t command)
{
	pid_t group = getpgid(init);

	if (command > 0)
		end_process(command, command);
	end_process(init, -group);
}

/* What differs between machines: a system call put into the registers of a process that has just
 * come out of one, what it returned, and where the stack has room. */
#if defined(__x86_64__)
static void put_call(struct user_regs_struct *r, const unsigned long words[4])
{
	r->rip -= 2; /* back to the instruction "syscall" */
	r->orig_rax = -1UL;
	r->rax = words[0];
	r->rdi = words[1];
	r->rsi = words[2];
	r->rdx = words[3];
}

static long call_result(const struct user_regs_struct *r)
{
	return (long)r->rax;
}

static unsigned long stack_room(const struct user_regs_struct *r)
{
	return r->rsp - 1024; /* beyond the 128 bytes that may be in use */
}
#elif defined(__aarch64__)
static void put_call(struct user_regs_struct *r, const unsigned long words[4])
{
	r->pc -= 4; /* back to the instruction "svc" */
	r->regs[8] = words[0];
	for (int i = 0; i < 3; i++)
		r->regs[i] = words[1 + i];
}

static long call_result(const struct user_regs_struct *r)
{
	return (long)r->regs[0];
}

static unsigned long stack_room(const struct user_regs_struct *r)
{
	return r->sp - 1024;
}
#else
#define NO_CALLS
#endif

#ifdef NO_CALLS
static long take_foreground(pid_t pid)
{
	(void)pid;
	return -ENOSYS;
}
#else
/* Makes a stopped process, whose registers own is a copy of, call the kernel. What that returns, or
 * -errno. */
static long call_in(pid_t pid, const struct user_regs_struct *own, const unsigned long words[4])
{
	struct user_regs_struct regs = *own;
	struct iovec io = {&regs, sizeof(regs)};

	put_call(&regs, words);
	if (ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) { /* it stops before and behind the call */
		int status = trace(PTRACE_SYSCALL, pid, 0) < 0 ? -errno : wait_stop(pid);

		if (status < 0)
			return status;
		if (status >> 8 != SIGTRAP)
			return -EINTR;
	}
	return ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io) < 0 ? -errno : call_result(&regs);
}

/* Moves the command's process, which is stopped at its birth, into a group of its own in the
 * foreground of its terminal; 0 or -errno. No signal comes in between, and none is sent for taking the
 * foreground from behind: all are blocked meanwhile. */
static long take_foreground(pid_t pid)
{
	struct user_regs_struct own;
	struct iovec io = {&own, sizeof(own)};
	uint64_t mask, all = ~UINT64_C(0);
	unsigned long at;
	long result;

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io) < 0 ||
		ptrace(PTRACE_GETSIGMASK, pid, sizeof(mask), &mask) < 0 ||
		ptrace(PTRACE_SETSIGMASK, pid, sizeof(all), &all) < 0)
		return -errno;
	at = stack_room(&own);
	result = call_in(pid, &own, (unsigned long[]){SYS_setpgid, 0, 0, 0});
	if (result == 0) /* by the number that it has inside */
		result = call_in(pid, &own, (unsigned long[]){SYS_getpid, 0, 0, 0});
	if (result > 0)
		result = ptrace(PTRACE_POKEDATA, pid, at, (unsigned long)result) < 0 ? -errno : 0;
	if (result == 0)
		result = call_in(
			pid, &own, (unsigned long[]){SYS_ioctl, STDOUT_FILENO, TIOCSPGRP, at});
	if (result == 0 && (ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io) < 0 ||
				   ptrace(PTRACE_SETSIGMASK, pid, sizeof(mask), &mask) < 0))
		result = -errno;
	return result;
}
#endif

int hold_try_tty(void)
{
#ifdef NO_CALLS
	return -ENOSYS;
#else
	pid_t pid = fork();
	int result;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (;;)
			pause();
	}
	result = pid < 0 ? -errno : hold_attach(pid);
	if (pid > 0)
		end_process(pid, pid);
	return result;
#endif
}

int hold_gate(pid_t init, bool tty, pid_t *out, struct err *err)
{
	pid_t command = await_fork(init);
	long result;
	int status;

	*out = command;

	/* Also when the command has been killed: how bwrap ends will tell. What is not stopped, or has
	 * been killed, cannot be let go. */
	if (command != 0 && trace(PTRACE_DETACH, init, 0) < 0)
		end_sandbox(init, command);
	if (command == -ETIMEDOUT) {
		err_set(err, ERR_SETUP, "the sandbox's first process starts no command");
		return err_hint(err, "it may have been stopped by a signal: try again");
	}
	if (command <= 0)
		return 0;
	result = tty ? take_foreground(command) : 0;
	/* Killed, it ends as such. */
	if (result < 0 && result != -ESRCH) {
		end_process(command, command);
		return err_set(err, ERR_SETUP,
			"the command cannot take its terminal's foreground: %s",
			strerror((int)-result));
	}
	for (int i = 0; i < STEPS; i++) {
		if (is_clean(init)) {
			result = let_go(command);
			return result < 0 ? err_set(err, ERR_SETUP,
						    "the command cannot be let go (ptrace): %s",
						    strerror((int)-result))
					  : 0;
		}
		/* Killed, since pid 1 has ended. */
		if (waitpid(command, &status, __WALL | WNOHANG) == command && !WIFSTOPPED(status))
			return 0;
		pause_step();
	}
	/* It must not run, and only its tracer can take it away: pid 1 would wait for that. */
	end_process(command, command);
	return err_set(err, ERR_SETUP, "the sandbox's first process keeps descriptors open");
}
