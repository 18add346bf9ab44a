#include "run/seccomp.h"

#include "base/mem.h"
#include "base/nearest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The first number that this list does not know: Linux 5.17 ends at 450, set_mempolicy_home_node. New
 * calls have the same number on all architectures. */
#define NUMBERS_END 451
/* So many newer ones can be named. */
#define MAX_NAMED 100
/* x32's begin with this; the number -1, by which a tracer skips a call, lies above too. */
#define X32_BIT 0x40000000

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
		CLONE_NEWPID | CLONE_NEWNET)
/* Not among clone's flags, where the signal's number is. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#ifndef MFD_NOEXEC_SEAL /* since Linux 6.3; an older one refuses it with EINVAL */
#define MFD_NOEXEC_SEAL 8U
#endif
/* The kernel looks at the low 32 bits of commands and families, and at these of a socket's type. */
#define LOW 0xffffffff
#define SOCK_TYPES 0xf
/* Bits of a file's mode by which it gives its owner's rights to whoever executes it. */
#define SET_ID (S_ISUID | S_ISGID)
/* O_TMPFILE without the bits of O_DIRECTORY, which are in it. */
#define UNNAMED (O_TMPFILE & ~O_DIRECTORY)

/* Which calls of the name a rule denies. */
enum test {
	ALL,
	ANY_BIT,    /* (arg & value) != 0 */
	NO_BIT,     /* (arg & value) == 0 */
	NEW_FILE,   /* (arg & value) != 0, and the flags in the argument before make a file */
	EQUAL,      /* (uint32_t)arg == value */
	OTHER_BITS, /* ((uint32_t)arg & ~value) != 0, but for -1, which only asks */
	NOT_FAMILY, /* arg is none of allowed; these are small */
	NOT_TYPE,   /* (arg & SOCK_TYPES) is none of allowed */
};

/* When a rule counts. */
#define DEFAULT 1   /* under the profile default */
#define STRICT 2    /* under strict */
#define BOTH 3      /* under either */
#define NO_NESTED 4 /* not with nested_userns */
#define NO_NET 8    /* only without network */
#define NET 16      /* only with it */

struct rule {
	const char *name;
	int error;
	unsigned when;
	enum test test;
	unsigned arg;
	uint64_t value;
	unsigned char allowed[4]; /* ended by 0 when there are fewer */
};

static const struct rule rules[] = {
	/* Mounts, and what goes into other namespaces. */
	{"mount", EPERM, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"umount2", EPERM, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"pivot_root", EPERM, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"setns", EPERM, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"unshare", EPERM, BOTH | NO_NESTED, ANY_BIT, 0, NAMESPACES | CLONE_NEWTIME, {0}},
	{"clone", EPERM, BOTH | NO_NESTED, ANY_BIT, 0, NAMESPACES, {0}},
	/* Its flags lie in memory, where a filter cannot look. The C library goes on with clone. */
	{"clone3", ENOSYS, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"open_tree", ENOSYS, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"move_mount", ENOSYS, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"fsopen", ENOSYS, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"fsconfig", ENOSYS, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"fsmount", ENOSYS, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"fspick", ENOSYS, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	{"mount_setattr", ENOSYS, BOTH | NO_NESTED, ALL, 0, 0, {0}},
	/* The kernel's keys know no namespaces. */
	{"keyctl", EPERM, BOTH, ALL, 0, 0, {0}},
	{"add_key", EPERM, BOTH, ALL, 0, 0, {0}},
	{"request_key", EPERM, BOTH, ALL, 0, 0, {0}},
	/* Large parts of the kernel, with a history. */
	{"bpf", EPERM, BOTH, ALL, 0, 0, {0}},
	{"perf_event_open", EPERM, BOTH, ALL, 0, 0, {0}},
	{"userfaultfd", EPERM, BOTH, ALL, 0, 0, {0}},
	{"pidfd_getfd", EPERM, BOTH, ALL, 0, 0, {0}},
	{"fanotify_init", EPERM, BOTH, ALL, 0, 0, {0}},
	{"io_uring_setup", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"io_uring_enter", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"io_uring_register", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"memfd_secret", ENOSYS, BOTH, ALL, 0, 0, {0}}, /* memory that nobody can count */
	/* Files by their number, past all names. */
	{"open_by_handle_at", EPERM, BOTH, ALL, 0, 0, {0}},
	/* The machine as a whole. */
	{"kexec_load", EPERM, BOTH, ALL, 0, 0, {0}},
	{"kexec_file_load", EPERM, BOTH, ALL, 0, 0, {0}},
	{"init_module", EPERM, BOTH, ALL, 0, 0, {0}},
	{"finit_module", EPERM, BOTH, ALL, 0, 0, {0}},
	{"delete_module", EPERM, BOTH, ALL, 0, 0, {0}},
	{"quotactl", EPERM, BOTH, ALL, 0, 0, {0}},
	{"quotactl_fd", EPERM, BOTH, ALL, 0, 0, {0}},
	{"swapon", EPERM, BOTH, ALL, 0, 0, {0}},
	{"swapoff", EPERM, BOTH, ALL, 0, 0, {0}},
	{"reboot", EPERM, BOTH, ALL, 0, 0, {0}},
	{"acct", EPERM, BOTH, ALL, 0, 0, {0}},
	{"syslog", EPERM, BOTH, ALL, 0, 0, {0}},
	{"settimeofday", EPERM, BOTH, ALL, 0, 0, {0}},
	{"clock_settime", EPERM, BOTH, ALL, 0, 0, {0}},
	{"vhangup", EPERM, BOTH, ALL, 0, 0, {0}},
	{"iopl", EPERM, BOTH, ALL, 0, 0, {0}},
	{"ioperm", EPERM, BOTH, ALL, 0, 0, {0}},
	{"modify_ldt", EPERM, BOTH, ALL, 0, 0, {0}},
	/* Where memory lies on machines with several nodes. */
	{"mbind", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"get_mempolicy", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"set_mempolicy", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"set_mempolicy_home_node", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"migrate_pages", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"move_pages", ENOSYS, BOTH, ALL, 0, 0, {0}},
	/* Of the past. */
	{"lookup_dcookie", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"nfsservctl", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"sysfs", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"_sysctl", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"uselib", ENOSYS, BOTH, ALL, 0, 0, {0}},
	{"ustat", ENOSYS, BOTH, ALL, 0, 0, {0}},
	/* Debuggers take the randomness out of their programs; the rest is for other systems'. */
	{"personality", EPERM, BOTH, OTHER_BITS, 0, PER_LINUX32 | UNAME26 | ADDR_NO_RANDOMIZE, {0}},
	/* Programs for the host that would run as the caller; a file without them is no danger. What
	 * openat2 makes cannot be seen: it is empty, and writing to it takes the bits away. */
	{"chmod", EPERM, BOTH, ANY_BIT, 1, SET_ID, {0}},
	{"fchmod", EPERM, BOTH, ANY_BIT, 1, SET_ID, {0}},
	{"fchmodat", EPERM, BOTH, ANY_BIT, 2, SET_ID, {0}},
	{"creat", EPERM, BOTH, ANY_BIT, 1, SET_ID, {0}},
	{"mknod", EPERM, BOTH, ANY_BIT, 1, SET_ID, {0}},
	{"mknodat", EPERM, BOTH, ANY_BIT, 2, SET_ID, {0}},
	{"open", EPERM, BOTH, NEW_FILE, 2, SET_ID, {0}},
	{"openat", EPERM, BOTH, NEW_FILE, 3, SET_ID, {0}},
	/* Who has a lease on a file keeps the host waiting that wants to write to it. */
	{"fcntl", EPERM, BOTH, EQUAL, 1, F_SETLEASE, {0}},
	/* Keys pressed on the terminal, as if by its user. */
	{"ioctl", EPERM, BOTH, EQUAL, 1, TIOCSTI, {0}},
	{"ioctl", EPERM, BOTH, EQUAL, 1, TIOCLINUX, {0}},
	/* No AF_VSOCK, which reaches the machine around this one, and no rare ones. */
	{"socket", EAFNOSUPPORT, DEFAULT, NOT_FAMILY, 0, 0,
		{AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}},
	{"socketpair", EAFNOSUPPORT, DEFAULT, NOT_FAMILY, 0, 0, {AF_UNIX, 0}},
	/* A Unix socket connects to whatever it has a name for; one of a pair too, unless it is
	 * connected for good. */
	{"socket", EAFNOSUPPORT, STRICT | NO_NET, ALL, 0, 0, {0}},
	{"socket", EAFNOSUPPORT, STRICT | NET, NOT_FAMILY, 0, 0, {AF_INET, AF_INET6, AF_NETLINK}},
	{"socketpair", EAFNOSUPPORT, STRICT, NOT_FAMILY, 0, 0, {AF_UNIX, 0}},
	{"socketpair", EPERM, STRICT, NOT_TYPE, 1, 0, {SOCK_STREAM, SOCK_SEQPACKET}},
	/* A file in memory, unless it can never be executed. */
	{"memfd_create", EPERM, STRICT, NO_BIT, 1, MFD_NOEXEC_SEAL, {0}},
};

#define N_RULES (sizeof(rules) / sizeof(*rules))

static const struct {
	const char *name;
	uint32_t token;
} arches[] = {
	[FILTER_X86_64] = {"x86_64", SCMP_ARCH_X86_64},
	[FILTER_AARCH64] = {"aarch64", SCMP_ARCH_AARCH64},
};

enum filter_arch filter_native(void)
{
	for (int arch = 0; arch < FILTER_ARCHES; arch++)
		if (arches[arch].token == seccomp_arch_native())
			return (enum filter_arch)arch;
	return FILTER_ARCHES;
}

const char *filter_profile_name(enum filter_profile profile)
{
	static const char *const names[] = {"none", "default", "strict"};

	return names[profile];
}

const char *filter_arch_name(enum filter_arch arch)
{
	return arches[arch].name;
}

bool filter_works(void)
{
	/* A kernel with filters looks at the address first (EFAULT). That there are none is believed
	 * when it is said twice, and no other error says so: bwrap then fails to set one. */
	for (int i = 0; i < 2; i++)
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0 && errno != EINVAL &&
			errno != ENOSYS && errno != EPERM && errno != EACCES)
			return true;
	return false;
}

bool filter_knows(const char *name)
{
	return seccomp_syscall_resolve_name(name) != __NR_SCMP_ERROR;
}

char *filter_nearest(const char *name)
{
	CLEANUP_STRVEC struct strvec names = {0};
	const char *near;

	for (int number = 0; number < 1024; number++) {
		char *call = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

		if (call)
			strvec_take(&names, call);
	}
	near = nearest(name, (const char *const *)names.v, names.n);
	return near ? xstrdup(near) : NULL;
}

static bool is_listed(const struct strvec *list, const char *name)
{
	return list && strvec_has(list, name);
}

bool filter_needed(const struct filter_spec *spec)
{
	return spec->profile != FILTER_NONE || (spec->deny && spec->deny->n);
}

/* Whether a rule counts, before the lists of deny. */
static bool counts(const struct rule *rule, const struct filter_spec *spec)
{
	unsigned profile = spec->profile == FILTER_DEFAULT  ? DEFAULT
			   : spec->profile == FILTER_STRICT ? STRICT
							    : 0;

	return rule->when & profile && !(rule->when & NO_NESTED && spec->nested_userns) &&
	       !(rule->when & NO_NET && spec->network) && !(rule->when & NET && !spec->network) &&
	       !is_listed(spec->allow, rule->name) && !is_listed(spec->deny, rule->name);
}

bool filter_closes_userns(const struct filter_spec *spec)
{
	static const char *const calls[] = {"unshare", "clone", "clone3", "setns"};

	if (spec->profile == FILTER_NONE || spec->nested_userns)
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (is_listed(spec->allow, calls[i]))
			return false;
	return true;
}

/* libseccomp */

/* What is being made. */
struct maker {
	scmp_filter_ctx context;
	const struct filter_spec *spec;
	uint32_t arch; /* its token */
	int result;    /* the first error: -errno */
};

/* One rule, of n conditions together. libseccomp takes the numbers that calls have here. */
static void deny(struct maker *m, const char *name, int error,
	const struct scmp_arg_cmp *conditions, unsigned n)
{
	bool kills = m->spec->kill && error == EPERM;
	uint32_t action = kills ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO((unsigned)error);

	if (m->result == 0 && seccomp_syscall_resolve_name_arch(m->arch, name) >= 0)
		m->result = seccomp_rule_add_exact_array(
			m->context, action, seccomp_syscall_resolve_name(name), n, conditions);
}

static void deny_masked(struct maker *m, const struct rule *rule, uint64_t mask, uint64_t value)
{
	struct scmp_arg_cmp condition = SCMP_CMP64(rule->arg, SCMP_CMP_MASKED_EQ, mask, value);

	deny(m, rule->name, rule->error, &condition, 1);
}

static void deny_new_file(struct maker *m, const struct rule *rule, uint64_t bit)
{
	static const uint64_t flags[] = {O_CREAT, UNNAMED};

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		struct scmp_arg_cmp both[] = {
			SCMP_CMP64(rule->arg - 1, SCMP_CMP_MASKED_EQ, flags[i], flags[i]),
			SCMP_CMP64(rule->arg, SCMP_CMP_MASKED_EQ, bit, bit)};

		deny(m, rule->name, rule->error, both, 2);
	}
}

static bool is_allowed(const struct rule *rule, unsigned value)
{
	for (size_t i = 0; i < sizeof(rule->allowed); i++)
		if (rule->allowed[i] && rule->allowed[i] == value)
			return true;
	return false;
}

/* Any bit but those of value, and not -1: in libseccomp a rule has one condition for an argument. */
static void deny_other_bits(struct maker *m, const struct rule *rule)
{
	const uint64_t top = 1U << 31;

	for (uint64_t bit = 1; bit < top; bit <<= 1) {
		if (!(rule->value & bit))
			deny_masked(m, rule, top | bit, bit);
		deny_masked(m, rule, top | bit, top);
	}
}

/* All numbers between and above. With high bits, which the kernel does not look at, a number is
 * above. */
static void deny_families(struct maker *m, const struct rule *rule)
{
	unsigned end = 0;

	for (size_t i = 0; i < sizeof(rule->allowed); i++)
		end = rule->allowed[i] >= end ? rule->allowed[i] + 1U : end;

	struct scmp_arg_cmp above = SCMP_CMP64(rule->arg, SCMP_CMP_GE, end, 0);

	deny(m, rule->name, rule->error, &above, 1);
	for (unsigned i = 0; i < end; i++)
		if (!is_allowed(rule, i))
			deny_masked(m, rule, LOW, i);
}

static void add_rule(struct maker *m, const struct rule *rule)
{
	switch (rule->test) {
	case ALL:
		deny(m, rule->name, rule->error, NULL, 0);
		break;
	case ANY_BIT:
		for (uint64_t bit = 1; bit <= rule->value; bit <<= 1)
			if (rule->value & bit)
				deny_masked(m, rule, bit, bit);
		break;
	case NEW_FILE:
		for (uint64_t bit = 1; bit <= rule->value; bit <<= 1)
			if (rule->value & bit)
				deny_new_file(m, rule, bit);
		break;
	case NO_BIT:
		deny_masked(m, rule, rule->value, 0);
		break;
	case EQUAL:
		deny_masked(m, rule, LOW, rule->value);
		break;
	case OTHER_BITS:
		deny_other_bits(m, rule);
		break;
	case NOT_FAMILY:
		deny_families(m, rule);
		break;
	case NOT_TYPE:
		for (unsigned i = 0; i <= SOCK_TYPES; i++)
			if (!is_allowed(rule, i))
				deny_masked(m, rule, SOCK_TYPES, i);
		break;
	}
}

static int start(struct maker *m)
{
	uint32_t foreign = m->spec->kill ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO(ENOSYS);
	int rc;

	m->context = seccomp_init(SCMP_ACT_ALLOW);
	if (!m->context)
		return -ENOMEM;
	if (m->arch != seccomp_arch_native()) {
		rc = seccomp_arch_add(m->context, m->arch);
		if (rc == 0)
			rc = seccomp_arch_remove(m->context, seccomp_arch_native());
		if (rc < 0)
			return rc;
	}
	return seccomp_attr_set(m->context, SCMP_FLTATR_ACT_BADARCH, foreign);
}

static void add_rules(struct maker *m)
{
	const struct strvec *list = m->spec->deny;

	for (size_t i = 0; i < N_RULES; i++)
		if (counts(&rules[i], m->spec))
			add_rule(m, &rules[i]);
	for (size_t i = 0; list && i < list->n; i++)
		deny(m, list->v[i], EPERM, NULL, 0);
}

/* The numbers of the calls that are named and newer than the list: those it leaves to libseccomp. */
static size_t named_numbers(const struct maker *m, const struct strvec *list, int *numbers)
{
	size_t n = 0;

	for (size_t i = 0; list && i < list->n && n < MAX_NAMED; i++) {
		int number = seccomp_syscall_resolve_name_arch(m->arch, list->v[i]);

		if (number >= NUMBERS_END)
			numbers[n++] = number;
	}
	return n;
}

/* What libseccomp has no words for, to run before its program: calls that are newer than the list
 * answer ENOSYS. Its length. */
static size_t make_prologue(const struct maker *m, struct sock_filter *out)
{
	int numbers[2 * MAX_NAMED];
	size_t n = named_numbers(m, m->spec->allow, numbers), i = 0;

	n += named_numbers(m, m->spec->deny, numbers + n);

	/* Each jump that is taken goes behind the return. */
	unsigned char left = (unsigned char)(n + 2);

	out[i++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	out[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NUMBERS_END, 0, left--);
	out[i++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, left--, 0);
	for (size_t k = 0; k < n; k++)
		out[i++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[k], left--, 0);
	out[i++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	return i;
}

/* The prologue and libseccomp's program; 0 or -errno. */
static int export(const struct maker *m, struct filter_program *program)
{
	CLEANUP_CLOSE int fd = memfd_create("sbx-seccomp", MFD_CLOEXEC);
	struct sock_filter prologue[2 * MAX_NAMED + 4];
	bool open = m->spec->profile == FILTER_NONE;
	size_t size = open ? 0 : make_prologue(m, prologue) * sizeof(*prologue), body;
	int rc = fd < 0 ? -errno : seccomp_export_bpf(m->context, fd);
	struct stat st;

	if (rc < 0)
		return rc;
	if (fstat(fd, &st) < 0)
		return -errno;
	body = (size_t)st.st_size;
	program->len = size + body;
	program->data = xcalloc(1, program->len);
	memcpy(program->data, prologue, size);
	return pread(fd, (char *)program->data + size, body, 0) == st.st_size ? 0 : -EIO;
}

int filter_build(struct filter_program *program, const struct filter_spec *spec,
	enum filter_arch arch, struct err *err)
{
	struct maker m = {.spec = spec};

	*program = (struct filter_program){0};
	if (arch == FILTER_ARCHES) {
		err_set(err, ERR_SETUP, "there is no system call filter for this architecture");
		return err_hint(err,
			"x86_64 and aarch64 have one; \"seccomp\": \"none\" (--seccomp "
			"none) runs without");
	}
	m.arch = arches[arch].token;
	m.result = start(&m);
	add_rules(&m);
	if (m.result == 0)
		m.result = export(&m, program);
	seccomp_release(m.context);
	if (m.result == 0)
		return 0;
	filter_program_clear(program);
	return err_set(
		err, ERR_SETUP, "the system call filter cannot be made: %s", strerror(-m.result));
}

static const struct filter_builtin *find_builtin(const struct filter_spec *spec)
{
	bool network = spec->network && spec->profile == FILTER_STRICT;

	if (spec->kill || (spec->allow && spec->allow->n) || (spec->deny && spec->deny->n))
		return NULL;
	for (const struct filter_builtin *b = filter_builtins; b->code; b++)
		if (b->profile == spec->profile && b->nested_userns == spec->nested_userns &&
			b->network == network)
			return b;
	return NULL;
}

int filter_make(struct filter_program *program, const struct filter_spec *spec, struct err *err)
{
	const struct filter_builtin *b = find_builtin(spec);

	if (!b)
		return filter_build(program, spec, filter_native(), err);
	*program = (struct filter_program){xmemdup(b->code, b->len), b->len};
	return 0;
}

void filter_program_clear(struct filter_program *program)
{
	free(program->data);
	*program = (struct filter_program){0};
}

bool filter_loads(const struct filter_program *program)
{
	struct sock_fprog fprog = {
		(unsigned short)(program->len / sizeof(struct sock_filter)), program->data};
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 0); /* no core file */
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog) < 0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

/* In words */

/* "1, 2 or 10" */
static char *allowed_text(const struct rule *rule)
{
	CLEANUP_STRVEC struct strvec numbers = {0};

	for (size_t i = 0; i < sizeof(rule->allowed); i++)
		if (rule->allowed[i])
			strvec_pushf(&numbers, "%u", rule->allowed[i]);
	return strvec_join(&numbers, ", ");
}

/* " if ...", or "". */
static char *condition_text(const struct rule *rule)
{
	CLEANUP_FREE char *allowed = allowed_text(rule);
	unsigned long long value = rule->value;

	switch (rule->test) {
	case ALL:
		break;
	case ANY_BIT:
		return xasprintf(" if (arg%u & 0x%llx) != 0", rule->arg, value);
	case NO_BIT:
		return xasprintf(" if (arg%u & 0x%llx) == 0", rule->arg, value);
	case NEW_FILE:
		return xasprintf(" if (arg%u & 0x%x) != 0 and (arg%u & 0x%llx) != 0", rule->arg - 1,
			(unsigned)(O_CREAT | UNNAMED), rule->arg, value);
	case EQUAL:
		return xasprintf(" if arg%u == 0x%llx", rule->arg, value);
	case OTHER_BITS:
		return xasprintf(" if (arg%u & ~0x%llx) != 0 and arg%u != 0xffffffff", rule->arg,
			value, rule->arg);
	case NOT_FAMILY:
		return xasprintf(" if arg%u not in {%s}", rule->arg, allowed);
	case NOT_TYPE:
		return xasprintf(" if (arg%u & 0x%x) not in {%s}", rule->arg, SOCK_TYPES, allowed);
	}
	return xstrdup("");
}

static void describe(const struct filter_spec *spec, const char *name, int error,
	const char *condition, struct strvec *lines)
{
	strvec_pushf(lines, "%s: %s%s", name,
		spec->kill && error == EPERM ? "kill" : strerrorname_np(error), condition);
}

void filter_describe(const struct filter_spec *spec, enum filter_arch arch, struct strvec *lines)
{
	const struct strvec *lists[] = {spec->allow, spec->deny};
	uint32_t token;

	if (!filter_needed(spec)) {
		strvec_push(lines, "any call: allow");
		return;
	}
	token = arches[arch].token;
	strvec_pushf(lines, "any call of another architecture than %s: %s", arches[arch].name,
		spec->kill ? "kill" : "ENOSYS");
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; lists[k] && i < lists[k]->n; i++) {
			const char *name = lists[k]->v[i];
			int number = seccomp_syscall_resolve_name_arch(token, name);

			if (k == 1 && number >= 0)
				describe(spec, name, EPERM, "", lines);
			else if (number >= NUMBERS_END && !is_listed(spec->deny, name))
				strvec_pushf(lines, "%s: allow", name);
		}
	for (size_t i = 0; i < N_RULES; i++) {
		CLEANUP_FREE char *condition = condition_text(&rules[i]);

		if (counts(&rules[i], spec) &&
			seccomp_syscall_resolve_name_arch(token, rules[i].name) >= 0)
			describe(spec, rules[i].name, rules[i].error, condition, lines);
	}
	if (spec->profile != FILTER_NONE)
		strvec_pushf(lines, "any call from number %d on: ENOSYS", NUMBERS_END);
	strvec_push(lines, "any other call: allow");
}
