/*
 * fault-at LOG WHO N ERRNO COMMAND...: runs COMMAND (sbx-exec) with one system call that fails: the Nth returns -ERRNO and
 * is not made (close, which the kernel carries out even when it fails, is). WHO is "supervisor", the process itself once it is loaded, or
 * "shim", what it forks into a user namespace, up to an exec. Calls that cannot fail are not counted. What executes something else is not
 * traced, so that sbx-exec can trace it.
 *
 * LOG gets a line: the call's number, or -1 when there were fewer; how COMMAND ended, "exit N", "signal N" or "hung 0" when
 * it was killed after a minute; and how many processes it left, which live ten seconds longer and are then killed.
 */
#include <elf.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HANG_S 60
#define GONE_MS 10000

static volatile sig_atomic_t hung;
static pid_t root;

static void on_alarm(int sig)
{
	(void)sig;
	hung = 1;
	kill(root, SIGKILL);
}

/* The C library's header clashes with linux/ptrace.h. */
static long trace(int request, pid_t pid, unsigned long addr, void *data)
{
	return syscall(SYS_ptrace, request, pid, addr, data);
}

/* brk tells a failure by what it returns, and malloc then takes mmap: as a shortage of memory it is another test's. */
static bool can_fail(long call)
{
	static const long never[] = {SYS_brk, SYS_exit, SYS_exit_group, SYS_rt_sigreturn,
		SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid,
		SYS_getegid, SYS_umask, SYS_set_tid_address};

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (never[i] == call)
			return false;
	return true;
}

/* Takes the call away from a process that stands before it. */
static void skip_call(pid_t pid)
{
#if defined(__x86_64__)
	struct user_regs_struct regs;
	struct iovec io = {&regs, sizeof(regs)};

	trace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io);
	regs.orig_rax = -1UL;
	trace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io);
#elif defined(__aarch64__)
	int none = -1;

	trace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &(struct iovec){&none, sizeof(none)});
#else
#error "how a system call is taken away depends on the machine"
#endif
}

/* Replaces what the call has returned, for a process that stands behind it. */
static void set_result(pid_t pid, long result)
{
	struct user_regs_struct regs;
	struct iovec io = {&regs, sizeof(regs)};

	trace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io);
#if defined(__x86_64__)
	regs.rax = (unsigned long)result;
#elif defined(__aarch64__)
	regs.regs[0] = (unsigned long)result;
#endif
	trace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io);
}

struct fault {
	bool shim;
	bool loaded; /* the dynamic loader, which is not ours, has done its work */
	long n, error;
	pid_t pid; /* stands in the call; -1: it is done; 0: not yet */
	long call;
};

/* Whether a call comes from the dynamic loader, by the object that its instruction lies in. */
static bool is_loader(pid_t pid, unsigned long at)
{
	char path[64], line[4352];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		char *end;
		unsigned long from = strtoul(line, &end, 16);
		unsigned long to = *end == '-' ? strtoul(end + 1, NULL, 16) : 0;

		found = at >= from && at < to && strstr(line, "/ld-");
	}
	if (maps)
		fclose(maps);
	return found;
}

/* One stop of one that counts: at the Nth call, and behind it. */
static void at_call(struct fault *fault, pid_t pid)
{
	struct ptrace_syscall_info info;

	if (trace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		return;
	if (!fault->loaded && info.op == PTRACE_SYSCALL_INFO_ENTRY)
		fault->loaded = !is_loader(pid, info.instruction_pointer);
	if (!fault->loaded)
		return;
	if (fault->pid == pid && info.op == PTRACE_SYSCALL_INFO_EXIT) {
		set_result(pid, -fault->error);
		fault->pid = -1;
	} else if (info.op == PTRACE_SYSCALL_INFO_ENTRY && can_fail((long)info.entry.nr) &&
		   fault->pid == 0 && --fault->n == 0) {
		fault->pid = pid;
		fault->call = (long)info.entry.nr;
		if (fault->call != SYS_close)
			skip_call(pid);
	}
}

/* Whether it has a user namespace of its own. */
static bool is_shim(pid_t pid)
{
	char path[64], own[64] = "", its[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return readlink("/proc/self/ns/user", own, sizeof(own) - 1) > 0 &&
	       readlink(path, its, sizeof(its) - 1) > 0 && strcmp(own, its) != 0;
}

/* Follows the command to its end, whose wait status it gives. */
static int follow(struct fault *fault)
{
	bool executed = false;
	int status;

	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);
		int event = status >> 16, sig = WSTOPSIG(status);
		bool counts = executed && fault->shim == (pid != root) && fault->pid >= 0;
		int next = counts || !executed ? PTRACE_SYSCALL : PTRACE_CONT;

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			exit(99);
		if (!WIFSTOPPED(status)) {
			if (pid == root)
				return status;
			continue;
		}
		if (sig == (SIGTRAP | 0x80) && counts)
			at_call(fault, pid);
		if (pid == root && event == PTRACE_EVENT_EXEC)
			executed = true;
		if (pid != root && (event == PTRACE_EVENT_EXEC || !is_shim(pid)))
			trace(PTRACE_DETACH, pid, 0, NULL);
		else if (event == PTRACE_EVENT_STOP && sig != SIGTRAP)
			trace(PTRACE_LISTEN, pid, 0, NULL);
		else
			trace(next, pid, 0,
				(void *)(unsigned long)(event || sig == (SIGTRAP | 0x80) ? 0
											 : sig));
	}
}

/* How many processes are left, all of which are now children of this one. */
static int left(void)
{
	int n = 0, status;
	char text[4096];
	FILE *file;

	for (int ms = 0; ms < GONE_MS; ms++) {
		pid_t pid;

		while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
			if (WIFSTOPPED(status))
				trace(PTRACE_DETACH, pid, 0, NULL);
		if (pid < 0)
			return 0;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	file = fopen("/proc/thread-self/children", "re");
	while (file && fgets(text, sizeof(text), file))
		for (char *word = strtok(text, " "); word; word = strtok(NULL, " "), n++)
			kill(atoi(word), SIGKILL);
	return n;
}

int main(int argc, char **argv)
{
	unsigned long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
	struct fault fault = {.call = -1};
	struct sigaction action = {.sa_handler = on_alarm};
	int status;
	FILE *log;

	if (argc < 6 || !(log = fopen(argv[1], "we")) ||
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return 99;
	fault.shim = fault.loaded = strcmp(argv[2], "shim") == 0;
	fault.n = atol(argv[3]);
	fault.error = atol(argv[4]);
	if (fault.shim)
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
	root = fork();
	if (root == 0) {
		raise(SIGSTOP);
		execv(argv[5], argv + 5);
		_exit(99);
	}
	if (root < 0 || waitpid(root, &status, WUNTRACED) != root ||
		trace(PTRACE_SEIZE, root, 0, (void *)options) < 0)
		return 99;
	sigaction(SIGALRM, &action, NULL);
	alarm(HANG_S);
	kill(root, SIGCONT);
	status = follow(&fault);
	alarm(0);
	fprintf(log, "%ld %s %d", fault.call,
		hung                ? "hung"
		: WIFEXITED(status) ? "exit"
				    : "signal",
		hung                ? 0
		: WIFEXITED(status) ? WEXITSTATUS(status)
				    : WTERMSIG(status));
	fprintf(log, " %d\n", left());
	return fclose(log) ? 99 : 0;
}
