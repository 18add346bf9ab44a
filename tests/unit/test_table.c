/*
 * The mount table against the plan: one table that agrees, and what is noticed of changes to it.
 */
#include "base/mem.h"
#include "lib/tap.h"
#include "run/table.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define EXT " - ext4 /dev/sda rw\n"
#define TMPFS " - tmpfs tmpfs rw\n"

/* The host: /home is a file system of its own, and /usr/share, /usr/lib/x, /sys/fs/cgroup/memory. */
static const char host_text[] =
	"20 1 8:1 / / rw,relatime shared:1" EXT "21 20 8:2 / /home rw,relatime shared:2" EXT
	"22 20 8:3 / /usr/share rw,relatime shared:3" EXT
	"23 20 0:30 /../.. /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	"24 20 0:4 net:[4026531840] /run/net rw - nsfs nsfs rw\n"
	"25 20 0:5 / /mnt rw,relatime" TMPFS;

static const char sandbox_text[] =
	"40 9 0:50 /newroot / ro,nosuid,nodev,relatime" TMPFS
	"41 40 8:1 /usr /usr ro,nosuid,nodev,relatime" EXT
	"42 41 8:3 / /usr/share ro,nosuid,nodev,relatime" EXT
	"43 40 0:51 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
	"44 43 0:51 /irq /proc/irq ro,nosuid,nodev,noexec - proc proc rw\n"
	"45 44 0:40 /irq /proc/irq ro,nosuid,nodev,noexec - proc proc rw\n"
	"46 43 0:40 /sys /proc/sys ro,nosuid,nodev,noexec - proc proc rw\n"
	"47 40 0:52 / /dev ro,nosuid,nodev - tmpfs tmpfs rw,mode=755\n"
	"48 47 0:6 /null /dev/null ro,nosuid - devtmpfs devtmpfs rw\n"
	"49 47 0:53 / /dev/pts rw,nosuid,noexec - devpts devpts rw\n"
	"50 40 8:2 /u /home/u rw,nosuid,nodev,relatime" EXT
	"51 50 0:54 / /home/u/.ssh ro,nosuid,nodev - tmpfs  rw,mode=000\n"
	"52 50 8:2 /u/\\134a\\040b\\012c /home/u/\\134a\\040b\\012c ro,nosuid,nodev,relatime" EXT
	"53 40 0:30 /../.. /cgroup ro,nosuid,nodev - cgroup cgroup rw,memory\n"
	"54 40 0:4 net:[4026531840] /net ro,nosuid,nodev - nsfs nsfs rw\n"
	"55 40 0:55 / /tmp rw,nosuid,nodev" TMPFS;

#define NAME "/home/u/\\a b\nc"
#define RO .read_only = true, .nosuid = true, .nodev = true
#define RW .nosuid = true, .nodev = true
static char strings[][32] = {"/", "/usr", "/usr/share", "/proc", "/proc/irq", "/irq", "/proc/sys",
	"/sys", "/dev", "/dev/null", "/null", "/dev/pts", "/home/u", "/u", "/home/u/.ssh", NAME,
	"/u/\\a b\nc", "/cgroup", "/net", "net:[4026531840]", "/tmp", "/dev/console"};

/* Its string, since a plan owns what it has. */
static char *s(const char *text)
{
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		if (strcmp(strings[i], text) == 0)
			return strings[i];
	abort();
}

#define DEV(major, minor) .dev = makedev(major, minor)
#define N_PLANNED 17
static void plan(struct table_mount planned[N_PLANNED])
{
	const struct table_mount mounts[N_PLANNED] = {
		{s("/"), .needed = true, .own = true, .type = "tmpfs", RO},
		{s("/usr"), .needed = true, .root = s("/usr"), DEV(8, 1), RO},
		{s("/usr/share"), .root = s("/"), DEV(8, 3), RO},
		{s("/proc"), .needed = true, .own = true, .type = "proc", .root = s("/"), RW},
		{s("/proc/irq"), .type = "proc", .root = s("/irq"), RO},
		{s("/proc/irq"), .needed = true, .type = "proc", .root = s("/irq"), RO},
		{s("/proc/sys"), .needed = true, .type = "proc", .root = s("/sys"), RO},
		{s("/dev"), .needed = true, .own = true, .type = "tmpfs", .root = s("/"), RO},
		{s("/dev/null"), .needed = true, .root = s("/null"), DEV(0, 6), .read_only = true,
			.nosuid = true},
		{s("/dev/pts"), .needed = true, .own = true, .type = "devpts", .root = s("/"),
			.nosuid = true},
		{s("/dev/console"), .type = "devpts", .nosuid = true},
		{s("/home/u"), .needed = true, .root = s("/u"), DEV(8, 2), RW},
		{s("/home/u/.ssh"), .needed = true, .own = true, .type = "tmpfs", .root = s("/"),
			RO},
		{s(NAME), .needed = true, .root = s("/u/\\a b\nc"), DEV(8, 2), RO},
		{s("/cgroup"), .needed = true, .root = s("/"), DEV(0, 30), RO},
		{s("/net"), .needed = true, .root = s("net:[4026531840]"), DEV(0, 4), RO},
		{s("/tmp"), .needed = true, .own = true, .type = "tmpfs", .root = s("/"), RW},
	};

	memcpy(planned, mounts, sizeof(mounts));
}

/* What the table is compared with in a row that asks for something else. */
enum twist { AS_PLANNED, CONNECTED, SHARE_COVERED };

static const struct row {
	const char *name, *from, *to; /* what is replaced in the table, once; to the end: "" */
	const char *verdict;          /* in the message; NULL: it agrees */
	enum twist twist;
} rows[] = {
	{"as planned", "", "", NULL, 0},
	{"a parent that is not there", "43 40 0:51", "143 40 0:51", "/proc/irq", 0},
	/* Missing */
	{"no cover", "51 50 0:54 / /home/u/.ssh ro,nosuid,nodev - tmpfs  rw,mode=000\n", "",
		"/home/u/.ssh: the plan has a new tmpfs, / (ro,nosuid,nodev); there: no mount", 0},
	{"no bind", "41 40 8:1 /usr /usr ro,nosuid,nodev,relatime" EXT, "",
		"/usr: the plan has /usr of 8:1", 0},
	{"no device node", "48 47 0:6 /null /dev/null ro,nosuid - devtmpfs devtmpfs rw\n", "",
		"/dev/null: the plan has /null of 0:6", 0},
	{"no part of /proc", "46 43 0:40 /sys /proc/sys ro,nosuid,nodev,noexec - proc proc rw\n",
		"", "/proc/sys: the plan has proc, /sys", 0},
	{"no name with blanks",
		"52 50 8:2 /u/\\134a\\040b\\012c /home/u/\\134a\\040b\\012c "
		"ro,nosuid,nodev,relatime" EXT,
		"", NAME ": the plan has", 0},
	{"what may be missing is", "42 41 8:3 / /usr/share ro,nosuid,nodev,relatime" EXT, "", NULL,
		0},
	{"so is what bwrap need not cover",
		"44 43 0:51 /irq /proc/irq ro,nosuid,nodev,noexec - proc proc rw\n45 44", "45 43",
		NULL, 0},
	/* Moved */
	{"a cover elsewhere", "/ /home/u/.ssh ro", "/ /home/u/.shh ro",
		"/home/u/.ssh: the plan has", 0},
	{"a cover in another directory", "/ /home/u/.ssh ro", "/ /home/v/.ssh ro",
		"/home/u/.ssh: the plan has", 0},
	{"a cover below its place", "/ /home/u/.ssh ro", "/ /home/u/.ssh/x ro",
		"/home/u/.ssh: the plan has", 0},
	{"a cover above its place", "/ /home/u/.ssh ro", "/ /home ro", "/home/u: the plan has", 0},
	{"a name that begins alike", "/usr /usr ro", "/usr /usrx ro", "/usr: the plan has", 0},
	{"an escape that is none", "/home/u/\\134a\\040b", "/home/u/\\134a\\0400b", NAME, 0},
	{"a newline that is none", "b\\012c ro", "b\\134012c ro", NAME, 0},
	{"a mount point that was removed", "/ /home/u/.ssh ro", "/ /home/u/.ssh//deleted ro",
		"/home/u/.ssh: the plan has", 0},
	/* Flags */
	{"a bind that can be written", "/usr ro,nosuid,nodev", "/usr rw,nosuid,nodev",
		"(ro,nosuid,nodev); there: ext4, /usr of 8:1 (rw,nosuid,nodev,relatime)", 0},
	{"read-only as a file system alone", "/home/u/.ssh ro,nosuid,nodev - tmpfs  rw",
		"/home/u/.ssh rw,nosuid,nodev - tmpfs  ro", "/home/u/.ssh: the plan has", 0},
	{"a root that can be written", "/newroot / ro", "/newroot / rw", ": /: the plan has", 0},
	{"a word that begins with ro", "/proc/sys ro,", "/proc/sys root,rox,", "/proc/sys", 0},
	{"a bind with set-user-ID", "/usr ro,nosuid,", "/usr ro,", "/usr: the plan has", 0},
	{"a bind with devices", "/usr ro,nosuid,nodev", "/usr ro,nosuid", "/usr: the plan has", 0},
	{"no flags at all", "/ /tmp rw,nosuid,nodev", "/ /tmp rw", "/tmp: the plan has", 0},
	{"a mount that came along and can be written", "/usr/share ro,", "/usr/share rw,",
		"/usr/share: the plan has / of 8:3 (ro,nosuid,nodev); there", 0},
	{"one without nosuid", "/usr/share ro,nosuid,", "/usr/share ro,", "/usr/share", 0},
	{"flags in another order", "/usr/share ro,nosuid,nodev,relatime",
		"/usr/share relatime,nodev,nosuid,ro", NULL, 0},
	{"more flags than are asked for", "/ /tmp rw,", "/ /tmp ro,noexec,nosymfollow,", NULL, 0},
	/* Sources */
	{"another directory", "8:1 /usr /usr", "8:1 /etc /usr", "there: ext4, /etc of 8:1", 0},
	{"another file system", "8:1 /usr /usr", "8:2 /usr /usr", "there: ext4, /usr of 8:2", 0},
	{"a directory below", "8:1 /usr /usr", "8:1 /usr/local /usr", "/usr: the plan has", 0},
	{"the host's tmpfs for a new one", "0:55 / /tmp", "0:5 / /tmp",
		"/tmp: the plan has a new tmpfs, / (nosuid,nodev); there: tmpfs, / of 0:5", 0},
	{"another kind", "/proc rw,nosuid,nodev,noexec,relatime - proc",
		"/proc rw,nosuid,nodev,noexec,relatime - sysfs", "/proc: the plan has a new proc",
		0},
	{"a kind that begins alike", "- tmpfs  rw,mode=000", "- tmpfsx  rw,mode=000",
		"/home/u/.ssh", 0},
	{"a part for a whole", "0:55 / /tmp", "0:55 /x /tmp", "/tmp: the plan has", 0},
	{"another part of /proc", "0:40 /sys /proc/sys", "0:40 /fs /proc/sys", "/proc/sys", 0},
	{"what came along is another", "8:3 / /usr/share", "8:1 / /usr/share",
		"/usr/share: the plan has no mount", 0},
	{"an object with a name of the kernel's", "net:[4026531840] /net", "net:[1] /net", "/net",
		0},
	{"a cgroup of elsewhere", "/../.. /cgroup", "/../../x /cgroup", "/cgroup", 0},
	/* Extra */
	{"a mount that nobody planned", "55 40", "60 41 0:60 / /usr/x ro" TMPFS "55 40",
		"/usr/x: the plan has no mount; there: tmpfs, / of 0:60 (ro)", 0},
	{"one on the root directory", "55 40", "60 40 0:60 / / ro" TMPFS "55 40",
		"/: the plan has no mount; there", 0},
	{"one that others cover", "50 40 8:2", "60 40 8:1 /etc /home/u ro" EXT "50 60 8:2",
		"/home/u: the plan has no mount; there: ext4, /etc of 8:1", 0},
	{"one over a planned one", "55 40", "60 51 0:60 / /home/u/.ssh ro" TMPFS "55 40",
		"/home/u/.ssh: the plan has a new tmpfs, / (ro,nosuid,nodev); there: tmpfs, / of "
		"0:60 (ro)",
		0},
	{"one above a planned one", "55 40", "60 40 0:60 / /home ro" TMPFS "55 40",
		"/home/u: the plan has /u of 8:2", 0},
	{"a second one like a planned one", "55 40",
		"60 55 0:60 / /tmp rw,nosuid,nodev" TMPFS "55 40",
		"/tmp: the plan has no mount; there: tmpfs, / of 0:55", 0},
	{"a name with a newline", "55 40", "60 41 0:60 / /usr/a\\012b ro" TMPFS "55 40",
		"/usr/a\nb: the plan has no mount", 0},
	{"a terminal", "55 40", "60 47 0:26 /3 /dev/console rw,nosuid - devpts devpts rw\n55 40",
		NULL, 0},
	{"a terminal that is none", "55 40", "60 47 8:1 /x /dev/console rw,nosuid" EXT "55 40",
		"/dev/console: the plan has no mount", 0},
	{"what bwrap covers itself, uncovered and writable",
		"/irq /proc/irq ro,nosuid,nodev,noexec - proc proc rw\n45 44 0:40 /irq /proc/irq "
		"ro",
		"/irq /proc/irq ro,nosuid,nodev,noexec - proc proc rw\n45 44 0:40 /irq /proc/irq "
		"rw",
		"/proc/irq", 0},
	/* Over-mounts */
	{"the order of lines says nothing",
		"44 43 0:51 /irq /proc/irq ro,nosuid,nodev,noexec - proc proc rw\n"
		"45 44 0:40 /irq /proc/irq ro,nosuid,nodev,noexec - proc proc rw\n",
		"45 44 0:40 /irq /proc/irq ro,nosuid,nodev,noexec - proc proc rw\n"
		"44 43 0:51 /irq /proc/irq rw,nosuid,nodev,noexec - proc proc rw\n",
		NULL, 0},
	{"a place that was mounted over first", "44 43 0:51 /irq /proc/irq ro",
		"44 43 0:51 /irq /proc/irq rw", NULL, 0},
	{"what is to be covered is not", "", "", "/usr/share: the plan has no mount",
		SHARE_COVERED},
	{"it is, by one above", "42 41 8:3 / /usr/share", "42 9 8:3 / /usr/share", NULL,
		SHARE_COVERED},
	{"and then its flags are of no account", "42 41 8:3 / /usr/share ro,nosuid,nodev",
		"42 9 8:3 / /usr/share rw", NULL, SHARE_COVERED},
	{"parents that go round", "50 40 8:2 /u /home/u", "50 51 8:2 /u /home/u",
		"/home/u: the plan has", 0},
	{"a mount that is its own parent", "50 40 8:2 /u /home/u", "50 50 8:2 /u /home/u",
		"/home/u: the plan has", 0},
	{"a root that is its own parent", "40 9 0:50", "40 40 0:50", NULL, 0},
	/* Propagation */
	{"a mount that follows the host's", "/ /tmp rw,nosuid,nodev -",
		"/ /tmp rw,nosuid,nodev master:1 -",
		"/tmp: the plan has no mount; there: tmpfs, / of 0:55 (rw,nosuid,nodev master:1)",
		0},
	{"one that is shared", "/ /tmp rw,nosuid,nodev -",
		"/ /tmp rw,nosuid,nodev unbindable shared:4 -", "/tmp", 0},
	{"unless it may", "/ /tmp rw,nosuid,nodev -", "/ /tmp rw,nosuid,nodev master:1 -", NULL,
		CONNECTED},
	{"what is unbindable is not connected", "/ /tmp rw,nosuid,nodev -",
		"/ /tmp rw,nosuid,nodev unbindable -", NULL, 0},
	/* Texts */
	{"nothing", sandbox_text, "", ": /: the plan has", 0},
	{"an end that is missing", "/ /tmp rw,nosuid,nodev" TMPFS, "/ /tmp rw,nosuid,nodev - tmpfs",
		"cannot be understood", 0},
	{"a line's end that is missing", "nsfs nsfs rw\n55 40", "nsfs nsfs rw55 40",
		"/tmp: the plan has", 0},
	{"an empty line", "55 40", "\n55 40", "cannot be understood", 0},
	{"a line without numbers", "55 40 0:55", "x y 0:55", "cannot be understood", 0},
	{"a number that is none", "55 40 0:55", "-55 40 0:55", "cannot be understood", 0},
	{"a number that is too great", "55 40", "99999999999999999999999 40",
		"cannot be understood", 0},
	{"a device that is none", "55 40 0:55", "55 40 55", "cannot be understood", 0},
	{"a place that is none", "/ /tmp rw", "/ tmp rw", "cannot be understood", 0},
	{"a line that ends early", "/ /tmp rw,nosuid,nodev - tmpfs tmpfs rw", "/ /tmp rw,nosuid",
		"cannot be understood", 0},
	{"text that goes on after it", "- tmpfs tmpfs rw\n41 40", "- tmpfs tmpfs rw - x y z\n41 40",
		NULL, 0},
};

#define N_ROWS (sizeof(rows) / sizeof(*rows))

/* text with one thing replaced, which has to be in it. */
static char *edit(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);

	if (!at)
		return NULL;
	return xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void test_rows(void)
{
	struct mount_table host = {0};

	mount_table_parse(&host, xstrdup(host_text));
	ok(!host.broken && host.n == 6, "(the host's table)");
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct row *row = &rows[i];
		struct table_mount planned[N_PLANNED];
		struct table_spec spec = {.v = planned,
			.n = N_PLANNED,
			.host = &host,
			.connected = row->twist == CONNECTED};
		struct mount_table table = {0};
		struct err err = {0};
		char *text = edit(sandbox_text, row->from, row->to);
		int rc;

		if (!ok(text, "%s: (what is replaced is there)", row->name))
			continue;
		plan(planned);
		planned[2].covered = row->twist == SHARE_COVERED;
		mount_table_parse(&table, text);
		rc = table_compare(&spec, &table, &err);
		if (!row->verdict)
			ok(rc == 0, "%s: agrees", row->name);
		else
			ok(rc < 0 && err.kind == ERR_SETUP && strstr(err.message, row->verdict),
				"%s: differs", row->name);
		if (rc < 0)
			diag("%s", err.message);
		mount_table_clear(&table);
	}
	mount_table_clear(&host);
}

/* A table in a file: 0, or why it cannot be read. */
static int read_back(struct mount_table *table, const char *text, size_t n, size_t times)
{
	int fd = memfd_create("table", MFD_CLOEXEC), rc;

	for (size_t i = 0; i < times; i++)
		if (write(fd, text, n) != (ssize_t)n)
			abort();
	rc = mount_table_read(table, fd);
	close(fd);
	return rc;
}

static void test_reading(void)
{
	size_t n = strlen(host_text);
	struct mount_table table = {0};

	is_int(read_back(&table, host_text, n, 1), 0, "a table is read");
	ok(table.n == 6 && !table.broken, "whole");
	is_str(table.v[3].root, "/../..", "(its fields)");
	is_str(table.v[0].tags, "shared:1", "(and tags)");
	is_str(table.v[3].super, "rw,memory", "(and the rest)");
	mount_table_clear(&table);
	is_int(read_back(&table, host_text, n, 20000), 0, "one with many lines, too");
	is_int((long long)table.n, 120000, "all of them");
	mount_table_clear(&table);
	ok(read_back(&table, host_text, n, 250000) < 0, "one that is huge is refused");
	is_int((long long)table.n, 0, "and leaves nothing");
	mount_table_clear(&table);
	is_int(read_back(&table, host_text, n + 1, 1), 0, "a NUL can be read");
	ok(table.broken, "but is no table");
	mount_table_clear(&table);
	ok(mount_table_read(&table, -1) < 0 && table.n == 0, "what is not open is no table");
	mount_table_clear(&table);
}

int main(void)
{
	test_rows();
	test_reading();
	return done_testing();
}
