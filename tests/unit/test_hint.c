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
#define HOST .max_user_namespaces = 15000, .unprivileged_userns = -1, .apparmor_restricts = -1
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
	{clone_0_12, {.unprivileged_userns = -1, .apparmor_restricts = 1}, CAUSE_APPARMOR},
	{clone_0_12, {.unprivileged_userns = -1, .apparmor_restricts = 1, .seccomp = true},
		CAUSE_SECCOMP},
	{clone_0_12, {HOST}, CAUSE_UNKNOWN},
	{enospc, {.max_user_namespaces = 0}, CAUSE_USERNS_OFF},
	{enospc, {HOST}, CAUSE_LIMIT},
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
	/* Ids. */
	{"bwrap: setting up uid map: Operation not permitted", {HOST, .root = true}, CAUSE_DROPPED},
	{"cannot map the ids of a user namespace: Operation not permitted", {HOST, .root = true},
		CAUSE_DROPPED},
	{"bwrap: setting up uid map: Permission denied", {.apparmor_restricts = 1}, CAUSE_APPARMOR},
	{"bwrap: setting up uid map: Permission denied", {HOST}, CAUSE_UNKNOWN},
	{"bwrap: setting up uid map: Read-only file system", {HOST}, CAUSE_PROC_READ_ONLY},
	{"cannot map the ids of a user namespace: Read-only file system", {HOST, .root = true},
		CAUSE_PROC_READ_ONLY},
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
		{.apparmor_restricts = 1, .confined = true}, CAUSE_MOUNTS},
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

/* Every cause has words and a remedy that fit into an error, and a name of its own. */
static void test_table(void)
{
	for (int i = 0; i < N_CAUSES; i++) {
		enum cause cause = (enum cause)i, back = N_CAUSES;
		struct err err;

		ok(cause_name(cause) && cause_words(cause) && *cause_words(cause) &&
				*cause_remedy(cause),
			"cause %d has words and a remedy", i);
		ok(cause_of_name(&back, cause_name(cause)) && back == cause,
			"%s is the name of one cause", cause_name(cause));
		err_set(&err, ERR_PROBE, "x");
		err_hint(&err, "%s: %s", cause_words(cause), cause_remedy(cause));
		ok(strlen(cause_words(cause)) + strlen(cause_remedy(cause)) + 2 == strlen(err.hint),
			"%s: the remedy is not cut", cause_name(cause));
	}
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
	is_int((long long)host.facts.n, 2, "and all of its mounts are facts");
	host_clear(&host);
	host = look(MOUNTS(mask, root, proc));
	ok(host.proc_masked, "in whatever order");
	host_clear(&host);
	host = look(MOUNTS(root, proc, binfmt, below));
	ok(!host.proc_masked, "a mount point of the kernel's own masks nothing");
	host_clear(&host);
	host = look(MOUNTS(root, proc, mask, again));
	ok(!host.proc_masked, "nor does a mask that a later /proc covers");
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

static void test_look(void)
{
	struct host host;

	host_look(&host, geteuid(), getegid());
	ok(host.facts.n > 10, "of this host something is known");
	host_clear(&host);
}

int main(void)
{
	test_causes();
	test_table();
	test_mounts();
	test_look();
	return done_testing();
}
