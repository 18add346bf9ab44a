/*
 * As a container's filter does: refuses one system call with EPERM to a command and all it starts;
 * or kills what makes a user namespace.
 * usage: refuse sethostname|ptrace|openat2|userns COMMAND...
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Kills at clone(2) with CLONE_NEWUSER; flags are its first argument. */
static struct sock_filter kills[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static int run(struct sock_fprog *program, char **command)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) < 0)
		return 3;
	execvp(command[0], command);
	return 4;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned number;
	} calls[] = {
		{"sethostname", SYS_sethostname}, {"ptrace", SYS_ptrace}, {"openat2", SYS_openat2}};

	for (size_t i = 0; argc > 2 && i < sizeof(calls) / sizeof(*calls); i++) {
		struct sock_filter filter[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

		if (strcmp(argv[1], calls[i].name) == 0)
			return run(&program, argv + 2);
	}
	if (argc > 2 && strcmp(argv[1], "userns") == 0)
		return run(&(struct sock_fprog){sizeof(kills) / sizeof(*kills), kills}, argv + 2);
	return 2;
}
