/*
 * Causes: which one a text of bwrap's, on such a host, leads to. Texts of 0.8 (Debian's), of 0.11 and
 * 0.12, and of run/launch.c.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/strvec.h"
#include "lib/tap.h"
#include "run/hint.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An ordinary host and user; what differs is named in each row. */
#define HOST                                                                                       \
	.max_user_namespaces = 15000, .max_other_namespaces = 15000, .unprivileged_userns = -1,    \
	.apparmor_restricts = -1
#define PROFILE HOST, .names = {.profile = "docker-default"}
#define LIKELY "likely because the kernel does not allow non-privileged user namespaces. "
#define ON_DEBIAN                                                                                  \
	"On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'."

static const char clone_0_8[] =
	"bwrap: No permissions to creating new namespace, " LIKELY ON_DEBIAN;
static const char clone_debian[] =
	"bwrap: No permissions to create new namespace, " LIKELY
	"See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>.";
static const char clone_0_12[] =
	"bwrap: No permissions to create a new namespace, " LIKELY ON_DEBIAN;
static const char clone_ours[] = "cannot make namespaces: Operation not permitted";
static const char enospc[] = "bwrap: Creating new namespace failed: nesting depth or "
			     "/proc/sys/user/max_*_namespaces exceeded (ENOSPC)";

static const struct {
	const char *said;
	struct host host;
	enum cause cause;
} rows[] = {
	/* One failure in the words of several releases has one cause. */
	{clone_0_8, {HOST, .seccomp = true}, CAUSE_SECCOMP},
	{clone_debian, {HOST, .seccomp = true}, CAUSE_SECCOMP},
	{clone_0_12, {HOST, .seccomp = true}, CAUSE_SECCOMP},
	{clone_ours, {HOST, .seccomp = true}, CAUSE_SECCOMP},
	{"bwrap: Creating new namespace failed: Function not implemented", {HOST, .seccomp = true},
		CAUSE_SECCOMP},
	{clone_debian, {HOST, .chroot = true}, CAUSE_CHROOT},
	{clone_0_12, {HOST, .chroot = true, .seccomp = true}, CAUSE_CHROOT},
	{clone_0_12, {HOST, .unmapped = true}, CAUSE_UNMAPPED},
	{clone_0_12, {.unprivileged_userns = 0}, CAUSE_USERNS_ROOT},
	{clone_0_12, {.unprivileged_userns = 0, .admin = true, .seccomp = true}, CAUSE_SECCOMP},
	/* In a user namespace that root made it is not root. */
	{clone_0_12, {.unprivileged_userns = 0, .admin = true}, CAUSE_USERNS_ROOT},
	{clone_0_8, {HOST, .mounts_beyond = 2}, CAUSE_CHROOT},
	{clone_debian, {HOST, .mounts_beyond = 20}, CAUSE_CHROOT},
	{clone_0_12, {HOST, .mounts_beyond = 1}, CAUSE_UNKNOWN},
	{clone_0_12, {HOST, .mounts_beyond = -1}, CAUSE_UNKNOWN},
	/* A root that was moved over another has mounts beyond it, too. */
	{clone_0_12, {HOST, .mounts_beyond = 20, .seccomp = true}, CAUSE_SECCOMP},
	{clone_0_12, {.unprivileged_userns = -1, .apparmor_restricts = 1}, CAUSE_APPARMOR},
	{clone_0_12, {.unprivileged_userns = -1, .apparmor_restricts = 1, .seccomp = true},
		CAUSE_SECCOMP},
	{clone_0_12, {HOST}, CAUSE_UNKNOWN},
	{enospc, {.max_user_namespaces = 0}, CAUSE_USERNS_OFF},
	{enospc, {HOST}, CAUSE_LIMIT},
	{enospc, {HOST, .nested = true}, CAUSE_NESTED},
	{enospc, {.max_user_namespaces = 0, .max_other_namespaces = 0, .nested = true},
		CAUSE_USERNS_OFF},
	{enospc, {.max_user_namespaces = 15000, .max_other_namespaces = 0, .nested = true},
		CAUSE_LIMIT},
	{"cannot make namespaces: No space left on device", {HOST, .nested = true}, CAUSE_NESTED},
	{"cannot make namespaces: No space left on device", {.max_user_namespaces = 0},
		CAUSE_USERNS_OFF},
	{"cannot make namespaces: No space left on device", {HOST}, CAUSE_LIMIT},
	{"bwrap: Creating new namespace failed, likely because the kernel does not support user "
	 "namespaces.  bwrap must be installed setuid on such systems.",
		{HOST}, CAUSE_USERNS_NONE},
	{"bwrap: Creating new namespace failed: Resource temporarily unavailable", {HOST},
		CAUSE_PROCESSES},
	{"bwrap: open /proc/7/ns/ns failed: Too many open files", {HOST}, CAUSE_FILES},
	{"cannot make pipes: Too many open files", {HOST}, CAUSE_FILES},
	{"cannot make pipes: No file descriptors available", {HOST}, CAUSE_FILES},
	{"the sandbox's first process cannot make the command's", {HOST}, CAUSE_PROCESSES},
	{"cannot write bwrap's words to memory: File too large", {HOST}, CAUSE_FILE_SIZE},
	/* Ids. */
	{"bwrap: setting up uid map: Operation not permitted", {HOST, .root = true}, CAUSE_DROPPED},
	{"cannot map the ids of a user namespace: Operation not permitted", {HOST, .root = true},
		CAUSE_DROPPED},
	{"bwrap: setting up uid map: Permission denied", {.apparmor_restricts = 1}, CAUSE_APPARMOR},
	{"bwrap: setting up uid map: Permission denied", {HOST}, CAUSE_UNKNOWN},
	{"bwrap: setting up uid map: Read-only file system", {HOST}, CAUSE_PROC_READ_ONLY},
	{"cannot map the ids of a user namespace: Read-only file system", {HOST, .root = true},
		CAUSE_PROC_READ_ONLY},
	/* A profile of AppArmor's: a file or an operation that it denies is EACCES, a capability
	 * is not. */
	{"bwrap: Creating new namespace failed: Permission denied", {PROFILE, .seccomp = true},
		CAUSE_PROFILE},
	{clone_0_8, {PROFILE}, CAUSE_PROFILE},
	{clone_debian, {PROFILE}, CAUSE_PROFILE},
	{clone_0_12, {PROFILE}, CAUSE_PROFILE},
	{clone_ours, {PROFILE}, CAUSE_PROFILE},
	{clone_0_12, {PROFILE, .seccomp = true}, CAUSE_SECCOMP},
	{"bwrap: setting up uid map: Permission denied", {PROFILE}, CAUSE_PROFILE},
	{"bwrap: setting up uid map: Permission denied", {PROFILE, .root = true}, CAUSE_PROFILE},
	{"bwrap: setting up uid map: Operation not permitted", {PROFILE, .root = true},
		CAUSE_DROPPED},
	{"cannot map the ids of a user namespace: Permission denied", {PROFILE}, CAUSE_PROFILE},
	{"bwrap: Failed to make / slave: Permission denied", {PROFILE}, CAUSE_PROFILE},
	{"bwrap: Failed to make / slave: Operation not permitted", {PROFILE, .seccomp = true},
		CAUSE_MOUNTS},
	{"cannot set up the mounts around bwrap: Permission denied", {PROFILE}, CAUSE_PROFILE},
	{"bwrap: Can't mount proc on /newroot/proc: Permission denied", {PROFILE}, CAUSE_PROFILE},
	{"bwrap: pivot_root: Permission denied", {PROFILE}, CAUSE_PROFILE},
	{"bwrap: pivot_root(/newroot): Permission denied", {PROFILE}, CAUSE_PROFILE},
	{"bwrap: pivot_root: Operation not permitted", {PROFILE, .seccomp = true},
		CAUSE_PIVOT_ROOT},
	{"bwrap: loopback: Failed RTM_NEWADDR: No child processes", {PROFILE}, CAUSE_PROFILE},
	/* Keys. */
	{"cannot leave the caller's session keyring (/proc/key-users has the quotas): Permission "
	 "denied",
		{HOST, .seccomp = true}, CAUSE_KEYCTL},
	{"cannot leave the caller's session keyring (/proc/key-users has the quotas): Permission "
	 "denied",
		{HOST, .gvisor = true}, CAUSE_GVISOR},
	{"cannot leave the caller's session keyring (/proc/key-users has the quotas): Disk quota "
	 "exceeded",
		{HOST}, CAUSE_KEY_QUOTA},
	/* bwrap itself. */
	{"bwrap: Unexpected capabilities but not setuid, old file caps config?", {HOST},
		CAUSE_CAPABLE},
	{"bwrap: The --size option is not permitted in setuid mode", {HOST}, CAUSE_SETUID},
	{"bwrap: Unknown option --ro-bind-fd", {HOST}, CAUSE_OLD_BWRAP},
	{"bwrap: Can't read /proc/sys/kernel/overflowuid: No such file or directory", {HOST},
		CAUSE_PROC_MISSING},
	{"bwrap: Can't open /proc: No such file or directory", {HOST}, CAUSE_PROC_MISSING},
	{"bwrap: Can't read /proc/sys/kernel/overflowuid: No such file or directory",
		{HOST, .gvisor = true}, CAUSE_GVISOR},
	/* Mounts. */
	{"bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
		{HOST, .proc_masked = true, .seccomp = true}, CAUSE_PROC_MASKED},
	{"cannot mount a /proc for the process namespace around bwrap: Operation not permitted",
		{HOST, .proc_masked = true}, CAUSE_PROC_MASKED},
	{"bwrap: Can't mount proc on /newroot/proc: Permission denied", {HOST}, CAUSE_MOUNTS},
	{"bwrap: cannot open /proc/sys/user/max_user_namespaces: Read-only file system",
		{HOST, .proc_masked = true}, CAUSE_PROC_MASKED},
	{"bwrap: cannot open /proc/sys/user/max_user_namespaces: Read-only file system", {HOST},
		CAUSE_PROC_READ_ONLY},
	{"bwrap: pivot_root: Operation not permitted", {HOST, .seccomp = true}, CAUSE_PIVOT_ROOT},
	{"bwrap: Failed to make / slave: Permission denied", {HOST}, CAUSE_MOUNTS},
	{"bwrap: Failed to make / slave: Permission denied",
		{.apparmor_restricts = 1, .names = {.profile = "x"}}, CAUSE_PROFILE},
	{"bwrap: unmount old root: Operation not permitted", {HOST, .seccomp = true}, CAUSE_MOUNTS},
	{"cannot set up the mounts around bwrap: Permission denied", {.apparmor_restricts = 1},
		CAUSE_APPARMOR},
	{"cannot set up the mounts around bwrap: Operation not permitted",
		{.apparmor_restricts = 1, .admin = true}, CAUSE_MOUNTS},
	{"bwrap: Failed to mount tmpfs: Permission denied", {HOST}, CAUSE_MOUNTS},
	{"bwrap: Can't bind mount /oldroot/null on /newroot/null: Unable to mount source on "
	 "destination: Operation not permitted",
		{HOST}, CAUSE_MOUNTS},
	/* 0.8, and 0.9 and later. */
	{"bwrap: Can't mount tmpfs on /newroot/size: No space left on device", {HOST},
		CAUSE_MOUNT_LIMIT},
	{"bwrap: Can't mount tmpfs on /newroot/size: Limit exceeded (ENOSPC). (Hint: Check that "
	 "/proc/sys/fs/mount-max is sufficient, typically 100000)",
		{HOST}, CAUSE_MOUNT_LIMIT},
	/* The rest. */
	{"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", {HOST}, CAUSE_LOOPBACK},
	{"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", {.apparmor_restricts = 1},
		CAUSE_APPARMOR},
	{"bwrap: Can't set hostname to sbx: Operation not permitted", {HOST}, CAUSE_HOSTNAME},
	{PROBE_SAYS_HANG, {HOST, .seccomp = true}, CAUSE_HANG},
	{PROBE_SAYS_KILLED, {HOST, .seccomp = true}, CAUSE_KILLED},
	{"", {HOST}, CAUSE_UNKNOWN},
	{"something else entirely", {HOST, .seccomp = true, .chroot = true}, CAUSE_UNKNOWN},
};

static void test_causes(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		is_str(cause_name(hint_cause(&rows[i].host, rows[i].said)),
			cause_name(rows[i].cause), "\"%.70s\" (row %zu)", rows[i].said, i);
}

/* Every cause has words and a remedy that fit into an error, with the longest names and the other way
 * out that the longest of run/probe.c is, and a name of its own. */
static void test_table(void)
{
	struct host_names names;

	memset(&names, 'x', sizeof(names));
	names.covers[sizeof(names.covers) - 1] = names.profile[sizeof(names.profile) - 1] = '\0';
	for (int i = 0; i < N_CAUSES; i++) {
		enum cause cause = (enum cause)i, back = N_CAUSES;
		CLEANUP_FREE char *remedy = cause_remedy(cause, &names);
		struct err err;

		ok(cause_name(cause) && cause_words(cause) && *cause_words(cause) && *remedy,
			"cause %d has words and a remedy", i);
		ok(cause_of_name(&back, cause_name(cause)) && back == cause,
			"%s is the name of one cause", cause_name(cause));
		err_set(&err, ERR_PROBE, "x");
		err_hint(&err, "%s: %s%80s", cause_words(cause), remedy, "");
		ok(strlen(cause_words(cause)) + strlen(remedy) + 82 == strlen(err.hint),
			"%s: the remedy is not cut", cause_name(cause));
	}
	CLEANUP_FREE char *masked =
		cause_remedy(CAUSE_PROC_MASKED, &(struct host_names){.covers = "/proc/uptime"});
	CLEANUP_FREE char *profile =
		cause_remedy(CAUSE_PROFILE, &(struct host_names){.profile = "docker-default"});

	ok(strstr(masked, ": umount /proc/uptime"), "what covers /proc is named");
	ok(strstr(profile, ": docker-default"), "and so is a profile");
	ok(!cause_of_name(&(enum cause){0}, "works"), "no cause is called as what works is");
	ok(!cause_of_name(&(enum cause){0}, ""), "none is without a name");
}

#define MOUNTS(...)                                                                                \
	(char *[])                                                                                 \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static struct host look(char **lines)
{
	struct host host = {0};

	host_read_mounts(&host, lines);
	return host;
}

static void test_mounts(void)
{
	char root[] = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw";
	char proc[] = "22 27 0:21 / /proc rw,nosuid - proc proc rw";
	char read_only[] = "22 27 0:21 / /proc ro,nosuid - proc proc rw";
	char relatime[] = "22 27 0:21 / /proc rorschach - proc proc rw";
	char mask[] = "30 22 0:9 / /proc/kcore rw - devtmpfs devtmpfs rw";
	char binfmt[] = "31 22 0:40 / /proc/sys/fs/binfmt_misc rw - binfmt_misc binfmt_misc rw";
	char below[] = "33 31 0:41 / /proc/sys/fs/binfmt_misc rw - autofs x rw";
	char again[] = "40 22 0:50 / /proc rw - proc proc rw";
	char elsewhere[] = "41 27 0:50 / /process rw - tmpfs tmpfs rw";
	struct host host = look(MOUNTS(root, proc, elsewhere));

	ok(!host.proc_masked && !host.proc_read_only && !host.chroot, "a plain /proc");
	is_int((long long)host.facts.n, 1, "of which only /proc is a fact");
	host_clear(&host);
	host = look(MOUNTS(root, proc, mask));
	ok(host.proc_masked, "a masked /proc");
	is_str(host.names.covers, "/proc/kcore", "by what");
	is_int((long long)host.facts.n, 2, "and all of its mounts are facts");
	host_clear(&host);
	host = look(MOUNTS(mask, root, proc));
	ok(host.proc_masked, "in whatever order");
	host_clear(&host);
	host = look(MOUNTS(root, proc, binfmt, below));
	ok(!host.proc_masked, "a mount point of the kernel's own masks nothing");
	host_clear(&host);
	host = look(MOUNTS(root, proc, mask, again));
	ok(!host.proc_masked && !*host.names.covers, "nor does a mask that a later /proc covers");
	host_clear(&host);
	host = look(MOUNTS(root, read_only));
	ok(host.proc_read_only && !host.proc_masked, "a read-only /proc");
	host_clear(&host);
	host = look(MOUNTS(root, relatime));
	ok(!host.proc_read_only, "options are whole words");
	host_clear(&host);
	host = look(MOUNTS(proc, mask));
	ok(host.chroot, "no mount at the root: a chroot");
	host_clear(&host);
	host = look(MOUNTS((char[]){"x"}, (char[]){""}, (char[]){"1 2 3 4 /proc"}));
	ok(!host.proc_masked && host.facts.n == 0, "lines that are none");
	host_clear(&host);
}

/* The list of covers ends where it is full, with a sign. */
static void test_covers(void)
{
	char proc[] = "22 27 0:21 / /proc rw,nosuid - proc proc rw";
	char lines[32][64], *mounts[34] = {proc};
	struct host host;

	for (int i = 0; i < 32; i++) {
		snprintf(lines[i], sizeof(lines[i]), "%d 22 0:9 / /proc/file%02d rw - t t rw",
			30 + i, i);
		mounts[1 + i] = lines[i];
	}
	mounts[3] = NULL;
	host = look(mounts);
	is_str(host.names.covers, "/proc/file00 /proc/file01", "two covers");
	host_clear(&host);
	mounts[3] = lines[2];
	host = look(mounts);
	is_str(strstr(host.names.covers, "/proc/file12"), "/proc/file12 /proc/file13 ...",
		"the first of many");
	host_clear(&host);
}

static void test_labels(void)
{
	static const struct {
		const char *label, *profile;
	} labels[] = {
		{"docker-default (enforce)", "docker-default"},
		{"/usr/bin/a (b) (enforce)", "/usr/bin/a (b)"},
		{"a//&b (mixed)", "a//&b"},
		{"x (kill)", "x"},
		{"unconfined", ""},
		{"bwrap (unconfined)", ""},
		{"x (complain)", ""},
		/* SELinux's */
		{"system_u:system_r:container_t:s0:c1,c2", ""},
		{"unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023", ""},
		{"(enforce)", ""},
		{"", ""},
	};
	char longer[300];
	struct host host = {0};

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		host = (struct host){0};
		host_read_label(&host, labels[i].label);
		is_str(host.names.profile, labels[i].profile, "\"%s\"", labels[i].label);
	}
	memset(longer, 'x', sizeof(longer));
	memcpy(longer + sizeof(longer) - 11, " (enforce)", 11);
	host_read_label(&host, longer);
	is_int((long long)strlen(host.names.profile), sizeof(host.names.profile) - 1,
		"a profile's name is cut where it is too long");
}

static void test_nodes(void)
{
	struct err err = {0};

	ok(host_check_nodes(HOST_NODES, &err) == 0, "the device nodes are here: %s", err.message);
}

static void test_look(void)
{
	struct host host;

	host_look(&host, geteuid(), getegid());
	ok(host.facts.n > 10, "of this host something is known");
	ok(host.mounts_beyond >= -1 && host.max_other_namespaces >= 0, "and of its namespaces");
	host_clear(&host);
}

int main(void)
{
	test_causes();
	test_table();
	test_mounts();
	test_covers();
	test_labels();
	test_nodes();
	test_look();
	return done_testing();
}
