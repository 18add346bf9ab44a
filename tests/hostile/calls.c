/*
 * Tries system calls that a filter may refuse, each in a process of its own, and prints NAME=RESULT a
 * line: 0, an errno's name, or the name of the signal that it was ended by. Arguments are such that a
 * call does no harm where it is allowed.
 */
#include <errno.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#define HIGH 0xabcd00000000UL

struct call {
	const char *name;
	long number;
	unsigned long args[5];
};

static const struct call calls[] = {
	{"getpid", SYS_getpid, {0}},
	{"ptrace", SYS_ptrace, {0}}, /* PTRACE_TRACEME */
	{"fork", SYS_clone, {SIGCHLD}},
	{"clone NEWUSER", SYS_clone, {CLONE_NEWUSER | SIGCHLD}},
	{"clone NEWUSER, high bits", SYS_clone, {HIGH | CLONE_NEWUSER | SIGCHLD}},
	{"clone NEWNS", SYS_clone, {CLONE_NEWNS | SIGCHLD}},
	{"clone NEWPID", SYS_clone, {CLONE_NEWPID | SIGCHLD}},
	{"clone NEWNET", SYS_clone, {CLONE_NEWNET | SIGCHLD}},
	{"clone3", SYS_clone3, {0}},
	{"unshare FILES", SYS_unshare, {CLONE_FILES}},
	{"unshare NEWUSER", SYS_unshare, {CLONE_NEWUSER}},
	{"unshare NEWTIME", SYS_unshare, {0x80}},
	{"unshare NEWUTS", SYS_unshare, {CLONE_NEWUTS}},
	{"setns", SYS_setns, {-1UL, 0}},
	{"mount", SYS_mount, {0}},
	{"umount2", SYS_umount2, {0}},
	{"pivot_root", SYS_pivot_root, {0}},
	{"open_tree", 428, {-1UL, 0, -1UL}},
	{"move_mount", 429, {-1UL, 0, -1UL, 0, -1UL}},
	{"fsopen", 430, {0, -1UL}},
	{"fsconfig", 431, {-1UL, -1UL}},
	{"fsmount", 432, {-1UL, -1UL}},
	{"fspick", 433, {-1UL, 0, -1UL}},
	{"mount_setattr", 442, {-1UL, 0, -1UL}},
	{"keyctl", SYS_keyctl, {KEYCTL_GET_KEYRING_ID, (unsigned long)KEY_SPEC_USER_KEYRING, 0}},
	{"add_key", SYS_add_key, {0}},
	{"request_key", SYS_request_key, {0}},
	{"bpf", SYS_bpf, {-1UL}},
	{"perf_event_open", SYS_perf_event_open, {0}},
	{"userfaultfd", SYS_userfaultfd, {0xffffffff}},
	{"pidfd_getfd", 438, {-1UL, -1UL, 0}},
	{"fanotify_init", SYS_fanotify_init, {-1UL, -1UL}},
	{"io_uring_setup", 425, {0}},
	{"io_uring_enter", 426, {-1UL}},
	{"io_uring_register", 427, {-1UL, -1UL}},
	{"memfd_secret", SYS_memfd_secret, {0xffffffff}},
	{"open_by_handle_at", SYS_open_by_handle_at, {-1UL, 0, 0}},
	{"kexec_load", SYS_kexec_load, {0, 0, 0, 0xffffffff}},
	{"init_module", SYS_init_module, {0}},
	{"finit_module", SYS_finit_module, {-1UL, 0, 0xffff}},
	{"delete_module", SYS_delete_module, {0}},
	{"quotactl", SYS_quotactl, {0}},
	{"swapon", SYS_swapon, {0, -1UL}},
	{"swapoff", SYS_swapoff, {0}},
	{"reboot", SYS_reboot, {0}},
	{"acct", SYS_acct, {1}},
	{"syslog", SYS_syslog, {10, 0, 0}},
	{"settimeofday", SYS_settimeofday, {1, 1}},
	{"clock_settime", SYS_clock_settime, {-1UL, 0}},
	{"mbind", SYS_mbind, {1, 1, -1UL}},
	{"move_pages", SYS_move_pages, {0, 0, 0, 0, 0}},
	{"personality", SYS_personality, {0xffffffff}},
	{"personality READ_IMPLIES_EXEC", SYS_personality, {READ_IMPLIES_EXEC}},
	{"personality ADDR_NO_RANDOMIZE", SYS_personality, {ADDR_NO_RANDOMIZE}},
	{"ioctl TIOCGWINSZ", SYS_ioctl, {0, TIOCGWINSZ}},
	{"ioctl TIOCSTI", SYS_ioctl, {0, TIOCSTI, (unsigned long)""}},
	{"ioctl TIOCSTI, high bits", SYS_ioctl, {0, HIGH | TIOCSTI, (unsigned long)""}},
	{"ioctl TIOCLINUX", SYS_ioctl, {0, TIOCLINUX, (unsigned long)""}},
	{"socket AF_UNIX", SYS_socket, {AF_UNIX, SOCK_STREAM}},
	{"socket AF_INET", SYS_socket, {AF_INET, SOCK_STREAM}},
	{"socket AF_NETLINK", SYS_socket, {AF_NETLINK, SOCK_RAW}},
	{"socket AF_PACKET", SYS_socket, {AF_PACKET, SOCK_RAW}},
	{"socket AF_ALG", SYS_socket, {AF_ALG, SOCK_SEQPACKET}},
	{"socket AF_VSOCK", SYS_socket, {AF_VSOCK, SOCK_STREAM}},
	{"socket AF_VSOCK, high bits", SYS_socket, {HIGH | AF_VSOCK, SOCK_STREAM}},
	{"memfd_create", SYS_memfd_create, {(unsigned long)"x", 1}},
	{"memfd_create NOEXEC_SEAL", SYS_memfd_create, {(unsigned long)"x", 9}},
	{"a newer call", 467, {0}},
#ifdef __x86_64__
	{"iopl", SYS_iopl, {4}},
	{"modify_ldt", SYS_modify_ldt, {0}},
	{"x32 getpid", 0x40000000 | SYS_getpid, {0}},
	{"x32 getpid of 512", 0x40000000 | 514, {0}},
#endif
};

/* The result of socketpair(2): its last argument has to be a place. */
static long pair(int type)
{
	int fds[2];

	return socketpair(AF_UNIX, type, 0, fds);
}

static long pair_dgram(void)
{
	return pair(SOCK_DGRAM | SOCK_CLOEXEC);
}

static long pair_stream(void)
{
	return pair(SOCK_STREAM | SOCK_CLOEXEC);
}

static long pair_seqpacket(void)
{
	return pair(SOCK_SEQPACKET);
}

/* A call of the i386 architecture. */
static long int80(void)
{
	long result = -ENOSYS;

#ifdef __x86_64__
	__asm__ volatile("int $0x80" : "=a"(result) : "0"(20L) : "memory");
#endif
	if (result < 0)
		errno = (int)-result;
	return result < 0 ? -1 : result;
}

static const struct {
	const char *name;
	long (*try)(void);
} others[] = {{"socketpair DGRAM", pair_dgram}, {"socketpair STREAM", pair_stream},
	{"socketpair SEQPACKET", pair_seqpacket}, {"int 0x80", int80}};

static void print_result(const char *name, int status)
{
	int error = WEXITSTATUS(status);

	if (WIFSIGNALED(status))
		printf("%s=SIG%s\n", name, sigabbrev_np(WTERMSIG(status)));
	else
		printf("%s=%s\n", name, error ? strerrorname_np(error) : "0");
}

int main(void)
{
	const size_t n_calls = sizeof(calls) / sizeof(*calls);
	const size_t n = n_calls + sizeof(others) / sizeof(*others);

	for (size_t i = 0; i < n; i++) {
		const struct call *c = i < n_calls ? &calls[i] : NULL;
		int status;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			errno = 0;
			long result = c ? syscall(c->number, c->args[0], c->args[1], c->args[2],
						  c->args[3], c->args[4])
					: others[i - n_calls].try();

			_exit(result == -1 ? errno : 0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0)
			return 1;
		print_result(c ? c->name : others[i - n_calls].name, status);
	}
	return 0;
}
