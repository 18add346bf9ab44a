/*
 * The filters of system calls: each is run here, by an interpreter of the kernel's programs, on calls
 * with their arguments, for both architectures. The numbers are those of the kernel's tables
 * (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h).
 */
#include "run/seccomp.h"

#include "base/mem.h"
#include "lib/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* What the kernel would answer: SECCOMP_RET_*; 0 for a program that it would not take. */
static unsigned answer(const struct filter_program *program, const struct seccomp_data *data)
{
	const struct sock_filter *code = program->data;
	size_t n = program->len / sizeof(*code);
	unsigned a = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sock_filter *c = &code[i];
		bool jumps;

		switch (c->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (c->k % 4 || c->k >= sizeof(*data))
				return 0;
			memcpy(&a, (const char *)data + c->k, 4);
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= c->k;
			continue;
		case BPF_JMP | BPF_JA:
			i += c->k;
			continue;
		case BPF_RET | BPF_K:
			return c->k;
		case BPF_JMP | BPF_JEQ | BPF_K:
			jumps = a == c->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			jumps = a >= c->k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			jumps = a > c->k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			jumps = a & c->k;
			break;
		default:
			return 0;
		}
		i += jumps ? c->jt : c->jf;
	}
	return 0;
}

/* Answers: 0 = allowed, an errno, or KILLED. */
#define KILLED (-1)

static int errno_of(unsigned action)
{
	if (action == SECCOMP_RET_ALLOW)
		return 0;
	if (action == SECCOMP_RET_KILL_PROCESS)
		return KILLED;
	return (action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO ? (int)(action & 0xffff)
								       : -3;
}

static const unsigned audit[] = {
	[FILTER_X86_64] = AUDIT_ARCH_X86_64, [FILTER_AARCH64] = AUDIT_ARCH_AARCH64};

static int ask(const struct filter_program *program, unsigned arch, int number,
	const unsigned long long *args)
{
	struct seccomp_data data = {.nr = number, .arch = arch};

	if (args)
		memcpy(data.args, args, 4 * sizeof(*args));
	return errno_of(answer(program, &data));
}

enum spec { DEFAULT, NESTED, STRICT, NETTED, N_SPECS };
static const struct filter_spec specs[N_SPECS] = {
	[DEFAULT] = {.profile = FILTER_DEFAULT},
	[NESTED] = {.profile = FILTER_DEFAULT, .nested_userns = true},
	[STRICT] = {.profile = FILTER_STRICT},
	[NETTED] = {.profile = FILTER_STRICT, .network = true},
};
static const char *const spec_names[] = {"default", "default, nested", "strict", "strict, network"};

#define HIGH 0xabcd00000000ULL /* bits that the kernel does not look at */
#define SAME(e)                                                                                    \
	{                                                                                          \
		e, e, e, e                                                                         \
	}
#define UNLESS_NESTED(e)                                                                           \
	{                                                                                          \
		e, 0, e, e                                                                         \
	}

static const struct row {
	const char *name;
	int numbers[FILTER_ARCHES]; /* -1: it has none */
	unsigned long long args[4];
	int want[N_SPECS];
} rows[] = {
	{"read", {0, 63}, {0}, SAME(0)},
	{"write", {1, 64}, {1}, SAME(0)},
	{"openat", {257, 56}, {0}, SAME(0)},
	{"openat2", {437, 437}, {0}, SAME(0)},
	{"execve", {59, 221}, {0}, SAME(0)},
	{"execveat", {322, 281}, {0}, SAME(0)},
	{"exit_group", {231, 94}, {0}, SAME(0)},
	{"ptrace", {101, 117}, {0}, SAME(0)},
	{"process_vm_readv", {310, 270}, {0}, SAME(0)},
	{"futex", {202, 98}, {0}, SAME(0)},
	{"seccomp", {317, 277}, {0}, SAME(0)},
	{"landlock_create_ruleset", {444, 444}, {0}, SAME(0)},
	{"prctl", {157, 167}, {0}, SAME(0)},
	{"connect", {42, 203}, {0}, SAME(0)},
	{"sendmsg", {46, 211}, {0}, SAME(0)},
	{"pidfd_open", {434, 434}, {0}, SAME(0)},
	{"name_to_handle_at", {303, 264}, {0}, SAME(0)},
	{"fork", {57, -1}, {0}, SAME(0)},
	{"vfork", {58, -1}, {0}, SAME(0)},
	{"clone, a process", {56, 220}, {0x1200011}, SAME(0)},
	{"clone, a thread", {56, 220}, {0x3d0f00}, SAME(0)},
	{"clone NEWUSER", {56, 220}, {CLONE_NEWUSER | 17}, UNLESS_NESTED(EPERM)},
	{"clone NEWNS", {56, 220}, {CLONE_NEWNS | 17}, UNLESS_NESTED(EPERM)},
	{"clone NEWPID", {56, 220}, {CLONE_NEWPID | 17}, UNLESS_NESTED(EPERM)},
	{"clone NEWNET", {56, 220}, {CLONE_NEWNET | 17}, UNLESS_NESTED(EPERM)},
	{"clone NEWIPC", {56, 220}, {CLONE_NEWIPC}, UNLESS_NESTED(EPERM)},
	{"clone NEWUTS", {56, 220}, {CLONE_NEWUTS}, UNLESS_NESTED(EPERM)},
	{"clone NEWCGROUP", {56, 220}, {CLONE_NEWCGROUP}, UNLESS_NESTED(EPERM)},
	{"clone NEWUSER with high bits", {56, 220}, {HIGH | CLONE_NEWUSER}, UNLESS_NESTED(EPERM)},
	{"clone3", {435, 435}, {0}, UNLESS_NESTED(ENOSYS)},
	{"unshare nothing", {272, 97}, {0}, SAME(0)},
	{"unshare FILES", {272, 97}, {CLONE_FILES | CLONE_FS}, SAME(0)},
	{"unshare NEWUSER", {272, 97}, {CLONE_NEWUSER}, UNLESS_NESTED(EPERM)},
	{"unshare NEWTIME", {272, 97}, {0x80}, UNLESS_NESTED(EPERM)},
	{"unshare NEWNS with high bits", {272, 97}, {HIGH | CLONE_NEWNS}, UNLESS_NESTED(EPERM)},
	{"setns", {308, 268}, {3}, UNLESS_NESTED(EPERM)},
	{"mount", {165, 40}, {0}, UNLESS_NESTED(EPERM)},
	{"umount2", {166, 39}, {0}, UNLESS_NESTED(EPERM)},
	{"pivot_root", {155, 41}, {0}, UNLESS_NESTED(EPERM)},
	{"open_tree", {428, 428}, {0}, UNLESS_NESTED(ENOSYS)},
	{"move_mount", {429, 429}, {0}, UNLESS_NESTED(ENOSYS)},
	{"fsopen", {430, 430}, {0}, UNLESS_NESTED(ENOSYS)},
	{"fsconfig", {431, 431}, {0}, UNLESS_NESTED(ENOSYS)},
	{"fsmount", {432, 432}, {0}, UNLESS_NESTED(ENOSYS)},
	{"fspick", {433, 433}, {0}, UNLESS_NESTED(ENOSYS)},
	{"mount_setattr", {442, 442}, {0}, UNLESS_NESTED(ENOSYS)},
	{"keyctl", {250, 219}, {0}, SAME(EPERM)},
	{"add_key", {248, 217}, {0}, SAME(EPERM)},
	{"request_key", {249, 218}, {0}, SAME(EPERM)},
	{"bpf", {321, 280}, {0}, SAME(EPERM)},
	{"perf_event_open", {298, 241}, {0}, SAME(EPERM)},
	{"userfaultfd", {323, 282}, {0}, SAME(EPERM)},
	{"pidfd_getfd", {438, 438}, {0}, SAME(EPERM)},
	{"fanotify_init", {300, 262}, {0}, SAME(EPERM)},
	{"io_uring_setup", {425, 425}, {0}, SAME(ENOSYS)},
	{"io_uring_enter", {426, 426}, {0}, SAME(ENOSYS)},
	{"io_uring_register", {427, 427}, {0}, SAME(ENOSYS)},
	{"memfd_secret", {447, 447}, {0}, SAME(ENOSYS)},
	{"open_by_handle_at", {304, 265}, {0}, SAME(EPERM)},
	{"kexec_load", {246, 104}, {0}, SAME(EPERM)},
	{"kexec_file_load", {320, 294}, {0}, SAME(EPERM)},
	{"init_module", {175, 105}, {0}, SAME(EPERM)},
	{"finit_module", {313, 273}, {0}, SAME(EPERM)},
	{"delete_module", {176, 106}, {0}, SAME(EPERM)},
	{"quotactl", {179, 60}, {0}, SAME(EPERM)},
	{"quotactl_fd", {443, 443}, {0}, SAME(EPERM)},
	{"swapon", {167, 224}, {0}, SAME(EPERM)},
	{"swapoff", {168, 225}, {0}, SAME(EPERM)},
	{"reboot", {169, 142}, {0}, SAME(EPERM)},
	{"acct", {163, 89}, {0}, SAME(EPERM)},
	{"syslog", {103, 116}, {0}, SAME(EPERM)},
	{"settimeofday", {164, 170}, {0}, SAME(EPERM)},
	{"clock_settime", {227, 112}, {0}, SAME(EPERM)},
	{"vhangup", {153, 58}, {0}, SAME(EPERM)},
	{"iopl", {172, -1}, {0}, SAME(EPERM)},
	{"ioperm", {173, -1}, {0}, SAME(EPERM)},
	{"modify_ldt", {154, -1}, {0}, SAME(EPERM)},
	{"mbind", {237, 235}, {0}, SAME(ENOSYS)},
	{"move_pages", {279, 239}, {0}, SAME(ENOSYS)},
	{"lookup_dcookie", {212, 18}, {0}, SAME(ENOSYS)},
	{"sysfs", {139, -1}, {0}, SAME(ENOSYS)},
	{"uselib", {134, -1}, {0}, SAME(ENOSYS)},
	{"personality, asked", {135, 92}, {0xffffffff}, SAME(0)},
	{"personality, asked with high bits", {135, 92}, {HIGH | 0xffffffff}, SAME(0)},
	{"personality 0", {135, 92}, {0}, SAME(0)},
	{"personality ADDR_NO_RANDOMIZE", {135, 92}, {0x40000}, SAME(0)},
	{"personality PER_LINUX32", {135, 92}, {8}, SAME(0)},
	{"personality READ_IMPLIES_EXEC", {135, 92}, {0x400000}, SAME(EPERM)},
	{"personality with it and bit 31", {135, 92}, {0x80400000}, SAME(EPERM)},
	{"personality bit 31", {135, 92}, {0x80000000}, SAME(EPERM)},
	{"personality all but one bit", {135, 92}, {0xfffffffe}, SAME(EPERM)},
	{"personality PER_SVR4", {135, 92}, {0x4100001}, SAME(EPERM)},
	{"chmod 0755", {90, -1}, {0, 0755}, SAME(0)},
	{"chmod 04755", {90, -1}, {0, 04755}, SAME(EPERM)},
	{"chmod 02755", {90, -1}, {0, 02755}, SAME(EPERM)},
	{"chmod 01777", {90, -1}, {0, 01777}, SAME(0)},
	{"fchmod 06755", {91, 52}, {3, 06755}, SAME(EPERM)},
	{"fchmod of descriptor 04000", {91, 52}, {04000, 0755}, SAME(0)},
	{"fchmodat 04755", {268, 53}, {~0ULL, 0, 04755}, SAME(EPERM)},
	{"fchmodat 0755 with high bits", {268, 53}, {~0ULL, 0, HIGH | 0755}, SAME(0)},
	{"fchmodat 04755 with high bits", {268, 53}, {~0ULL, 0, HIGH | 04755}, SAME(EPERM)},
	{"creat 04755", {85, -1}, {0, 04755}, SAME(EPERM)},
	{"mknod 02755", {133, -1}, {0, S_IFREG | 02755}, SAME(EPERM)},
	{"mknodat of a FIFO", {259, 33}, {0, 0, S_IFIFO | 0600}, SAME(0)},
	{"mknodat 04755", {259, 33}, {0, 0, S_IFREG | 04755}, SAME(EPERM)},
	{"open O_RDONLY, rubbish as a mode", {2, -1}, {0, O_RDONLY, ~0ULL}, SAME(0)},
	{"open O_CREAT 0644", {2, -1}, {0, O_WRONLY | O_CREAT, 0644}, SAME(0)},
	{"open O_CREAT 04755", {2, -1}, {0, O_WRONLY | O_CREAT, 04755}, SAME(EPERM)},
	{"openat O_DIRECTORY, rubbish as a mode", {257, 56}, {0, 0, O_DIRECTORY, ~0ULL}, SAME(0)},
	{"openat O_CREAT 0600", {257, 56}, {0, 0, O_RDWR | O_CREAT, 0600}, SAME(0)},
	{"openat O_CREAT 02755", {257, 56}, {0, 0, O_RDWR | O_CREAT, 02755}, SAME(EPERM)},
	{"openat O_TMPFILE 04755", {257, 56}, {0, 0, O_RDWR | O_TMPFILE, 04755}, SAME(EPERM)},
	{"fchmodat2", {452, 452}, {0, 0, 0755}, SAME(ENOSYS)},
	{"fcntl F_GETLEASE", {72, 25}, {3, F_GETLEASE}, SAME(0)},
	{"fcntl F_SETLEASE", {72, 25}, {3, F_SETLEASE}, SAME(EPERM)},
	{"fcntl F_SETLEASE with high bits", {72, 25}, {3, HIGH | F_SETLEASE}, SAME(EPERM)},
	{"ioctl TIOCGWINSZ", {16, 29}, {0, TIOCGWINSZ}, SAME(0)},
	{"ioctl TIOCSTI", {16, 29}, {0, TIOCSTI}, SAME(EPERM)},
	{"ioctl TIOCSTI with high bits", {16, 29}, {0, HIGH | TIOCSTI}, SAME(EPERM)},
	{"ioctl TIOCLINUX", {16, 29}, {0, TIOCLINUX}, SAME(EPERM)},
	{"ioctl TIOCLINUX with high bits", {16, 29}, {0, HIGH | TIOCLINUX}, SAME(EPERM)},
	{"ioctl TIOCSTI as its descriptor", {16, 29}, {TIOCSTI, FIONREAD}, SAME(0)},
	{"socket AF_UNIX", {41, 198}, {AF_UNIX, SOCK_STREAM}, {0, 0, EAFNOSUPPORT, EAFNOSUPPORT}},
	{"socket AF_INET", {41, 198}, {AF_INET, SOCK_STREAM}, {0, 0, EAFNOSUPPORT, 0}},
	{"socket AF_INET6", {41, 198}, {AF_INET6, SOCK_DGRAM}, {0, 0, EAFNOSUPPORT, 0}},
	{"socket AF_NETLINK", {41, 198}, {AF_NETLINK, SOCK_RAW}, {0, 0, EAFNOSUPPORT, 0}},
	{"socket AF_UNSPEC", {41, 198}, {0}, SAME(EAFNOSUPPORT)},
	{"socket AF_AX25", {41, 198}, {AF_AX25}, SAME(EAFNOSUPPORT)},
	{"socket AF_PACKET", {41, 198}, {AF_PACKET, SOCK_RAW}, SAME(EAFNOSUPPORT)},
	{"socket AF_ALG", {41, 198}, {AF_ALG}, SAME(EAFNOSUPPORT)},
	{"socket AF_VSOCK", {41, 198}, {AF_VSOCK, SOCK_STREAM}, SAME(EAFNOSUPPORT)},
	{"socket AF_VSOCK with high bits", {41, 198}, {HIGH | AF_VSOCK}, SAME(EAFNOSUPPORT)},
	{"socket AF_X25 with high bits", {41, 198}, {HIGH | AF_X25}, SAME(EAFNOSUPPORT)},
	{"socket -1", {41, 198}, {~0ULL}, SAME(EAFNOSUPPORT)},
	{"socketpair STREAM", {53, 199}, {AF_UNIX, SOCK_STREAM}, SAME(0)},
	{"socketpair SEQPACKET, CLOEXEC", {53, 199}, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC},
		SAME(0)},
	{"socketpair DGRAM", {53, 199}, {AF_UNIX, SOCK_DGRAM}, {0, 0, EPERM, EPERM}},
	{"socketpair DGRAM, NONBLOCK", {53, 199}, {AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK},
		{0, 0, EPERM, EPERM}},
	{"socketpair DGRAM with high bits", {53, 199}, {AF_UNIX, HIGH | SOCK_DGRAM},
		{0, 0, EPERM, EPERM}},
	{"socketpair RAW", {53, 199}, {AF_UNIX, SOCK_RAW}, {0, 0, EPERM, EPERM}},
	{"socketpair AF_TIPC", {53, 199}, {AF_TIPC, SOCK_STREAM}, SAME(EAFNOSUPPORT)},
	{"memfd_create", {319, 279}, {0, 1}, {0, 0, EPERM, EPERM}},
	{"memfd_create MFD_EXEC", {319, 279}, {0, 0x11}, {0, 0, EPERM, EPERM}},
	{"memfd_create NOEXEC_SEAL", {319, 279}, {0, 9}, SAME(0)},
	{"set_mempolicy_home_node", {450, 450}, {0}, SAME(ENOSYS)},
	{"cachestat", {451, 451}, {0}, SAME(ENOSYS)},
	{"open_tree_attr", {467, 467}, {0}, SAME(ENOSYS)},
	{"a call of the future", {0x3fffffff, 0x3fffffff}, {0}, SAME(ENOSYS)},
	{"no call (-1)", {-2, -2}, {0}, SAME(0)},
};
#define N_ROWS (sizeof(rows) / sizeof(*rows))

static struct filter_program build(const struct filter_spec *spec, enum filter_arch arch)
{
	struct filter_program program;
	struct err err = {0};

	ok(filter_build(&program, spec, arch, &err) == 0, "a filter for %s%s%s",
		filter_arch_name(arch), *err.message ? ": " : "", err.message);
	return program;
}

static void test_rows(enum filter_arch arch)
{
	for (int s = 0; s < N_SPECS; s++) {
		struct filter_program program = build(&specs[s], arch);

		for (size_t i = 0; i < N_ROWS; i++) {
			int number = rows[i].numbers[arch];

			if (number == -1)
				continue;
			is_int(ask(&program, audit[arch], number == -2 ? -1 : number, rows[i].args),
				rows[i].want[s], "%s, %s: %s", filter_arch_name(arch),
				spec_names[s], rows[i].name);
		}
		for (int number = 451; number < 2000; number++)
			if (ask(&program, audit[arch], number, NULL) != ENOSYS)
				ok(false, "%s, %s: call %d is newer", filter_arch_name(arch),
					spec_names[s], number);
		filter_program_clear(&program);
	}
}

/* Under every filter, calls of other architectures have no number that is allowed. */
static void test_foreign(enum filter_arch arch)
{
	static const unsigned others[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64,
		AUDIT_ARCH_AARCH64, AUDIT_ARCH_RISCV64, 0};
	struct filter_spec none = {.profile = FILTER_NONE};
	CLEANUP_STRVEC struct strvec names = {0};

	strvec_push(&names, "ptrace");
	none.deny = &names;
	for (int s = 0; s <= N_SPECS; s++) {
		struct filter_program program = build(s < N_SPECS ? &specs[s] : &none, arch);
		size_t open = 0;

		for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
			for (int number = -1; others[i] != audit[arch] && number < 600; number++)
				open += ask(&program, others[i], number, NULL) != ENOSYS;
		/* x32 */
		for (int number = 0; arch == FILTER_X86_64 && number < 600; number++)
			open += ask(&program, audit[arch], 0x40000000 | number, NULL) != ENOSYS;
		is_int((long long)open, 0, "%s: foreign calls are missing", filter_arch_name(arch));
		filter_program_clear(&program);
	}
}

/* number is x86_64's. */
static void is_answer(const struct filter_spec *spec, int number, unsigned long long arg0, int want,
	const char *name)
{
	struct filter_program program = build(spec, FILTER_X86_64);
	const unsigned long long args[4] = {arg0};

	is_int(ask(&program, AUDIT_ARCH_X86_64, number, args), want, "%s", name);
	filter_program_clear(&program);
}

static void test_lists(void)
{
	CLEANUP_STRVEC struct strvec allow = {0}, deny = {0};
	struct filter_spec spec = {.profile = FILTER_STRICT, .allow = &allow, .deny = &deny};

	strvec_pushl(&allow, "socket", "keyctl", "personality", "reboot", NULL);
	strvec_pushl(&deny, "ptrace", "socketpair", "reboot", NULL);
	is_answer(&spec, 41, AF_VSOCK, 0, "an allowed call is allowed with all arguments");
	is_answer(&spec, 250, 0, 0, "an allowed call");
	is_answer(&spec, 135, 0x400000, 0, "an allowed call with many conditions");
	is_answer(&spec, 248, 0, EPERM, "its neighbour stays denied");
	is_answer(&spec, 101, 0, EPERM, "a denied call");
	is_answer(&spec, 53, AF_UNIX, EPERM, "a denied call is denied with all arguments");
	is_answer(&spec, 169, 0, EPERM, "of a call in both lists the denial holds");
	ok(filter_closes_userns(&spec), "these leave user namespaces closed");
	spec.kill = true;
	is_answer(&spec, 101, 0, KILLED, "kill: a denied call");
	is_answer(&spec, 165, 0, KILLED, "kill: one of the profile's");
	is_answer(&spec, 435, 0, ENOSYS, "kill: clone3 is still missing only");
	is_answer(&spec, 56, CLONE_NEWUSER, KILLED, "kill: a namespace");
	is_answer(&spec, 56, 17, 0, "kill: a process");
	is_answer(&spec, 500, 0, ENOSYS, "kill: a newer call is still missing only");
	is_answer(&spec, 0x40000000, 0, KILLED, "kill: x32");

	struct filter_spec none = {.profile = FILTER_NONE, .deny = &deny};

	is_answer(&none, 101, 0, EPERM, "none with a denial: it");
	is_answer(&none, 165, 0, 0, "none with a denial: nothing else");
	is_answer(&none, 500, 0, 0, "none with a denial: newer calls");
	ok(filter_needed(&none) && !filter_closes_userns(&none), "none closes no user namespace");
	none.deny = NULL;
	ok(!filter_needed(&none), "none alone needs no filter");
}

/* A call that this libseccomp knows and the list does not; NULL: it knows none. */
static const char *newer(void)
{
	static const char *const names[] = {"fchmodat2", "cachestat", "mseal"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (filter_knows(names[i]))
			return names[i];
	return NULL;
}

static void test_newer(void)
{
	CLEANUP_STRVEC struct strvec names = {0};
	struct filter_spec spec = {.profile = FILTER_DEFAULT, .allow = &names};
	size_t allowed = 0;
	struct filter_program program;

	if (!newer()) {
		skip("this libseccomp knows no call above 450", "a newer call can be allowed");
		return;
	}
	strvec_push(&names, newer());
	program = build(&spec, FILTER_X86_64);
	for (int number = 451; number < 600; number++)
		allowed += ask(&program, AUDIT_ARCH_X86_64, number, NULL) == 0;
	is_int((long long)allowed, 1, "a newer call can be allowed");
	filter_program_clear(&program);
}

static void test_closes(void)
{
	static const char *const calls[] = {"unshare", "clone", "clone3", "setns", "mount"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		CLEANUP_STRVEC struct strvec names = {0};
		struct filter_spec spec = {.profile = FILTER_DEFAULT, .allow = &names};

		strvec_push(&names, calls[i]);
		is_int(filter_closes_userns(&spec), i == 4, "%s allowed: user namespaces",
			calls[i]);
	}
	ok(!filter_closes_userns(&specs[NESTED]), "nested user namespaces: not closed");
	ok(filter_closes_userns(&specs[STRICT]), "strict closes them");
}

/* What has no filter built in gets one of its own. */
static void test_made(void)
{
	CLEANUP_STRVEC struct strvec names = {0};
	const struct filter_spec own[] = {{.profile = FILTER_DEFAULT, .kill = true},
		{.profile = FILTER_DEFAULT, .allow = &names},
		{.profile = FILTER_DEFAULT, .deny = &names},
		{.profile = FILTER_NONE, .deny = &names}};

	strvec_push(&names, "keyctl");
	strvec_push(&names, "ptrace");
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		struct filter_program built = build(&own[i], filter_native()), program;
		struct filter_program plain = build(&specs[DEFAULT], filter_native());
		struct err err;

		ok(filter_make(&program, &own[i], &err) == 0 && program.len == built.len &&
				memcmp(program.data, built.data, built.len) == 0,
			"own filter %zu: is what it asks for", i);
		ok(program.len != plain.len || memcmp(program.data, plain.data, plain.len) != 0,
			"own filter %zu: is not a built-in one", i);
		filter_program_clear(&program);
		filter_program_clear(&built);
		filter_program_clear(&plain);
	}
}

static void test_builtin(void)
{
	for (int s = 0; s < 8; s++) {
		struct filter_spec spec = {.profile = s & 1 ? FILTER_STRICT : FILTER_DEFAULT,
			.nested_userns = s & 2,
			.network = s & 4};
		struct filter_program built = build(&spec, filter_native()), program;
		const struct filter_builtin *b = filter_builtins;
		struct err err;

		while (b->code && (b->len != built.len || memcmp(b->code, built.data, b->len) != 0))
			b++;
		ok(b->code != NULL, "spec %d: is built in", s);
		ok(filter_make(&program, &spec, &err) == 0 && program.len == built.len &&
				memcmp(program.data, built.data, built.len) == 0,
			"spec %d: the filter of a run", s);
		filter_program_clear(&program);
		filter_program_clear(&built);
	}
}

static void test_words(void)
{
	CLEANUP_STRVEC struct strvec allow = {0}, deny = {0}, lines = {0}, again = {0};
	struct filter_spec spec = {.profile = FILTER_STRICT, .allow = &allow, .deny = &deny};
	CLEANUP_FREE char *near = filter_nearest("ptrase");
	CLEANUP_FREE char *none = filter_nearest("xyzzyxyzzy");

	strvec_push(&allow, "mount");
	strvec_pushl(&deny, "ptrace", "iopl", NULL);
	filter_describe(&spec, FILTER_AARCH64, &lines);
	filter_describe(&spec, FILTER_AARCH64, &again);
	is_str(lines.v[0], "any call of another architecture than aarch64: ENOSYS", "words: first");
	is_str(lines.v[1], "ptrace: EPERM", "words: a denied call");
	ok(!strvec_has(&lines, "mount: EPERM") && !strvec_has(&lines, "iopl: EPERM"),
		"words: neither an allowed call nor one that there is not");
	ok(strvec_has(&lines, "clone: EPERM if (arg0 & 0x7e020000) != 0"), "words: a condition");
	ok(strvec_has(&lines, "socketpair: EPERM if (arg1 & 0xf) not in {1, 5}"), "words: a list");
	is_str(lines.v[lines.n - 1], "any other call: allow", "words: last");
	ok(lines.n == again.n && strcmp(lines.v[lines.n / 2], again.v[lines.n / 2]) == 0,
		"words: the same again");
	ok(filter_knows("ptrace") && filter_knows("socketcall"),
		"names: of this architecture and of others");
	ok(!filter_knows("ptrase"), "names: an unknown one");
	is_str(near, "ptrace", "names: what it looks like");
	ok(!filter_knows("xyzzyxyzzy") && !none, "names: one that looks like none");
}

int main(void)
{
	for (int arch = 0; arch < FILTER_ARCHES; arch++) {
		test_rows((enum filter_arch)arch);
		test_foreign((enum filter_arch)arch);
	}
	test_lists();
	test_newer();
	test_closes();
	test_made();
	test_builtin();
	test_words();
	return done_testing();
}
