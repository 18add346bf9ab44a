/*
 * kill-at N COMMAND...: kills COMMAND (sbx-exec) at the Nth system call of what it has started: the shim, bwrap, the
 * command. Exit status: 0 = killed, and all that it had started has ended by itself; 1 = something is left, whose pid is
 * printed; 2 = there were fewer than N calls; 99 = this could not be tried.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PIDS 256
#define OPTIONS                                                                                    \
	((unsigned long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |        \
			 PTRACE_O_TRACECLONE))

static void resume(pid_t pid, int status)
{
	unsigned long sig = (unsigned long)WSTOPSIG(status);

	if (status >> 16 == PTRACE_EVENT_STOP && sig != SIGTRAP)
		ptrace(PTRACE_LISTEN, pid, NULL, NULL);
	else
		ptrace(PTRACE_SYSCALL, pid, NULL,
			status >> 16 || sig == (SIGTRAP | 0x80) ? 0UL : sig);
}

/* Follows everything until the Nth call, or the end; the pids go to out. */
static _Noreturn void follow(long n, char **command, int out)
{
	pid_t pids[MAX_PIDS];
	pid_t root = fork();
	int n_pids = 0, status;

	if (root == 0) {
		raise(SIGSTOP);
		execv(command[0], command);
		_exit(99);
	}
	if (root < 0 || waitpid(root, &status, WUNTRACED) != root ||
		ptrace(PTRACE_SEIZE, root, NULL, OPTIONS) < 0)
		_exit(99);
	kill(root, SIGCONT);
	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);
		int i = 0;

		if (pid < 0 || (pid == root && !WIFSTOPPED(status)))
			_exit(2);
		if (!WIFSTOPPED(status))
			continue;
		while (i < n_pids && pids[i] != pid)
			i++;
		if (pid != root && i == n_pids) {
			if (n_pids == MAX_PIDS || write(out, &pid, sizeof(pid)) != sizeof(pid))
				_exit(99);
			pids[n_pids++] = pid;
		}
		/* Each call stops twice. */
		if (pid != root && WSTOPSIG(status) == (SIGTRAP | 0x80) && --n == 0) {
			kill(root, SIGKILL);
			_exit(0); /* which lets everything go */
		}
		resume(pid, status);
	}
}

static int is_alive(pid_t pid)
{
	char path[64], text[256], *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

int main(int argc, char **argv)
{
	int fds[2], status;
	pid_t tracer, pid;
	int left = 0;

	if (argc < 3 || pipe(fds) < 0)
		return 99;
	tracer = fork();
	if (tracer == 0)
		follow(strtol(argv[1], NULL, 10), argv + 2, fds[1]);
	close(fds[1]);
	if (waitpid(tracer, &status, 0) != tracer || !WIFEXITED(status))
		return 99;
	if (WEXITSTATUS(status))
		return WEXITSTATUS(status);
	while (read(fds[0], &pid, sizeof(pid)) == sizeof(pid)) {
		/* Ten seconds: a loaded machine may take its time. */
		for (int i = 0; i < 10000 && is_alive(pid); i++)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		if (is_alive(pid)) {
			printf("%d\n", (int)pid);
			left = 1;
		}
	}
	return left;
}
