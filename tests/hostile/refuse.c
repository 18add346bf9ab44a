/*
 * As a container's filter does: refuses a system call to a command and all it starts. With
 * "namespaces" that is every call that makes one (clone3 is always missing then: its flags cannot
 * be seen by a filter); with "filters" there are so many that the kernel takes no more, with
 * "prctl-filter" none can be set.
 * usage: refuse CALL[=EPERM|EACCES|ENOSYS|kill] COMMAND...
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
		CLONE_NEWPID | CLONE_NEWNET)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

static const struct {
	const char *name;
	unsigned value;
} calls[] = {{"sethostname", SYS_sethostname}, {"ptrace", SYS_ptrace}, {"openat2", SYS_openat2},
	{"mount", SYS_mount}, {"umount2", SYS_umount2}, {"pivot_root", SYS_pivot_root},
	{"seccomp", SYS_seccomp}, {"keyctl", SYS_keyctl}, {"namespaces", SYS_unshare},
	{"filters", SYS_prctl}, {"prctl-filter", SYS_prctl}},
  actions[] = {{"EPERM", SECCOMP_RET_ERRNO | EPERM}, {"EACCES", SECCOMP_RET_ERRNO | EACCES},
	  {"ENOSYS", SECCOMP_RET_ERRNO | ENOSYS}, {"kill", SECCOMP_RET_KILL_PROCESS}};

/* Sets one more filter of that length, which allows everything. */
static bool fill(size_t n)
{
	static struct sock_filter steps[BPF_MAXINSNS];
	struct sock_fprog program = {(unsigned short)n, steps};

	for (size_t i = 0; i < n; i++)
		steps[i] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(int argc, char **argv)
{
	char *name = argc > 2 ? strsep(&argv[1], "=") : NULL;
	const char *wanted = name && argv[1] ? argv[1] : "EPERM";
	unsigned call = 0, action = 0;

	for (size_t i = 0; name && i < sizeof(calls) / sizeof(*calls); i++)
		if (strcmp(name, calls[i].name) == 0)
			call = calls[i].value;
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (strcmp(wanted, actions[i].name) == 0)
			action = actions[i].value;
	if (!call || !action)
		return 2;

	struct sock_filter filter[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 5, 0),
		/* only namespaces from here on */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 2),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(action),
		RETURN(SECCOMP_RET_ERRNO | ENOSYS),
	};
	struct sock_filter no_filter[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
		RETURN(action),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (strcmp(name, "prctl-filter") == 0)
		program = (struct sock_fprog){sizeof(no_filter) / sizeof(*no_filter), no_filter};
	if (strcmp(name, "filters") == 0)
		filter[0] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	if (call != SYS_unshare)
		filter[2] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 3;
	/* Together they have 32768 steps at most, four each for itself. */
	for (size_t n = BPF_MAXINSNS; strcmp(name, "filters") == 0 && n > 16;
		n = fill(n) ? n : n / 2)
		;
	execvp(argv[2], argv + 2);
	return 4;
}
