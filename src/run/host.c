#include "run/host.h"

#include "base/mem.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/read.h"
#include "run/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Of Linux 6.12 (linux/nsfs.h). */
struct mount_ns_info {
	uint32_t size, nr_mounts;
	uint64_t id;
};
#define MOUNT_NS_INFO _IOR(0xb7, 10, struct mount_ns_info)

/* What the kernel gives its first user namespace (PROC_USER_INIT_INO). */
#define FIRST_USER_NS 0xEFFFFFFDU

const char *const host_nodes[HOST_NODES] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"};

int host_check_nodes(size_t n, struct err *err)
{
	static const char *const numbers[HOST_NODES] = {"1 3", "1 5", "1 7", "1 8", "1 9", "5 0"};

	for (size_t i = 0; i < n; i++) {
		/* What is on a mount with nodev is there, and opens for nobody. */
		CLEANUP_CLOSE int fd = open(host_nodes[i], (i == 0 ? O_RDWR : O_PATH) | O_CLOEXEC);
		struct stat st;

		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode))
			continue;
		err_set(err, ERR_PROBE, "bwrap needs %s: %s", host_nodes[i],
			fd < 0 ? strerror(errno) : "it is no device node");
		return err_hint(err,
			"as root: mount -t devtmpfs dev /dev, or, in a chroot, mount --rbind the "
			"host's /dev there, or mknod -m 666 %s c %s%s",
			host_nodes[i], numbers[i],
			i == 0 ? "" : "; or do without a /dev: filesystem.dev: none in the policy");
	}
	return 0;
}

/* The number in a file of /proc/sys; -1 when it is not there. */
static long setting(const char *path)
{
	CLEANUP_STRVEC struct strvec lines = {0};

	read_lines(path, &lines);
	return lines.n ? strtol(lines.v[0], NULL, 10) : -1;
}

bool host_is_unmapped(unsigned uid)
{
	CLEANUP_STRVEC struct strvec lines = {0};

	read_lines("/proc/self/uid_map", &lines);
	/* "FIRST OUTSIDE COUNT": the initial namespace maps all 2^32 - 1 of them. */
	if (lines.n == 1 && strstr(lines.v[0], " 4294967295"))
		return false;
	return uid == (unsigned)setting("/proc/sys/kernel/overflowuid");
}

/* The value of a line "NAME:\tVALUE" of a status; NULL when there is none. */
static const char *field(const struct strvec *status, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < status->n; i++)
		if (strncmp(status->v[i], name, len) == 0 && status->v[i][len] == ':')
			return status->v[i] + len + 1 + strspn(status->v[i] + len + 1, "\t ");
	return NULL;
}

static bool same_field(const struct strvec *a, const struct strvec *b, const char *name)
{
	const char *x = field(a, name), *y = field(b, name);

	return x && y && strcmp(x, y) == 0;
}

/* Whether it is known what the filter allows: there is none, or it is the one that the whole pid
 * namespace has, as in a container. Filters cannot be read, but they can be counted. */
static bool filter_is_known(const struct strvec *own)
{
	CLEANUP_STRVEC struct strvec first = {0};
	const char *mode = field(own, "Seccomp");

	if (mode && strcmp(mode, "0") == 0)
		return true;
	read_lines("/proc/1/status", &first);
	return same_field(own, &first, "Seccomp") && same_field(own, &first, "Seccomp_filters");
}

/* "DEVICE:INODE" of what a path leads to, as a fact; false when there is nothing. */
static bool add_object(struct strvec *facts, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	strvec_pushf(facts, "%s %ju:%ju", path, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return true;
}

/* When the pid namespace's init was started, as a fact: numbers of namespaces are used again. Where
 * others' processes cannot be seen there is none. */
static void add_init(struct strvec *facts)
{
	struct proc_stat stat;

	if (procs_stat(1, &stat) > 0)
		strvec_pushf(facts, "init %" PRIu64, stat.start);
}

/* Adds a name to a list of names, or the sign that there are more than it holds. */
static void add_cover(struct host_names *names, const char *name)
{
	size_t len = strlen(names->covers), size = sizeof(names->covers), left = size - len;

	if (len && names->covers[len - 1] == '.')
		return;
	if (strlen(name) + sizeof("  ...") > left)
		name = "...";
	snprintf(names->covers + len, left, "%s%s", len ? " " : "", name);
}

void host_read_mounts(struct host *host, char *const *lines)
{
	/* What the kernel itself has set aside as mount points, which hide nothing. */
	static const char *const harmless[] = {"/proc/sys/fs/binfmt_misc", "/proc/fs/nfsd"};
	CLEANUP_STRVEC struct strvec of_proc = {0};
	unsigned long proc = 0; /* the mount at /proc that is seen: the last one */

	host->chroot = true;
	for (char *const *text = lines; *text; text++) {
		CLEANUP_FREE char *copy = xstrdup(*text);
		struct mount_line line;

		if (!mount_line_parse(&line, copy))
			continue;
		if (strcmp(line.at, "/") == 0)
			host->chroot = false;
		else if (path_within(line.at, "/proc"))
			strvec_push(&of_proc, *text);
		if (strcmp(line.at, "/proc") == 0) {
			proc = line.id;
			host->proc_read_only = mount_has_option(line.options, "ro");
		}
	}
	for (size_t i = 0; i < of_proc.n; i++) {
		CLEANUP_FREE char *copy = xstrdup(of_proc.v[i]);
		struct mount_line line;
		bool hides = mount_line_parse(&line, copy) && line.parent == proc &&
			     strcmp(line.at, "/proc") != 0;

		for (size_t k = 0; hides && k < sizeof(harmless) / sizeof(*harmless); k++)
			hides = strcmp(line.at, harmless[k]) != 0;
		host->proc_masked = host->proc_masked || hides;
		if (hides)
			add_cover(&host->names, line.at);
		strvec_push(&host->facts, of_proc.v[i]);
	}
}

void host_read_label(struct host *host, const char *label)
{
	/* "NAME (MODE)", or "unconfined". */
	const char *mode = strrchr(label, '(');

	if (!mode || mode < label + 2 || mode[-1] != ' ' || strcmp(mode, "(unconfined)") == 0 ||
		strcmp(mode, "(complain)") == 0)
		return;
	snprintf(host->names.profile, sizeof(host->names.profile), "%.*s", (int)(mode - 1 - label),
		label);
}

/* The mounts of this namespace less those in the mountinfo, which has what the root leads to. */
static long mounts_beyond(const struct strvec *mountinfo)
{
	CLEANUP_CLOSE int ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	struct mount_ns_info info = {.size = sizeof(info)};

	return ns < 0 || ioctl(ns, MOUNT_NS_INFO, &info) < 0
		       ? -1
		       : (long)info.nr_mounts - (long)mountinfo->n;
}

/* Adds the lines of a file as facts; false when there are none. */
static bool add_file(struct strvec *facts, const char *path)
{
	CLEANUP_STRVEC struct strvec lines = {0};

	read_lines(path, &lines);
	for (size_t i = 0; i < lines.n; i++)
		strvec_pushf(facts, "%s %s", path, lines.v[i]);
	return lines.n > 0;
}

/* Ids, capabilities and filters of this process. */
static bool look_at_process(struct host *host)
{
	static const char *const names[] = {"Uid", "Gid", "CapInh", "CapPrm", "CapEff", "CapBnd",
		"CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters"};
	CLEANUP_STRVEC struct strvec status = {0};
	const char *effective, *seccomp;

	read_lines("/proc/self/status", &status);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = field(&status, names[i]);

		if (value)
			strvec_pushf(&host->facts, "%s %s", names[i], value);
	}
	effective = field(&status, "CapEff");
	seccomp = field(&status, "Seccomp");
	host->admin = effective && strtoull(effective, NULL, 16) >> CAP_SYS_ADMIN & 1;
	host->seccomp = seccomp && strcmp(seccomp, "0") != 0;
	return status.n && filter_is_known(&status);
}

static long add_setting(struct strvec *facts, const char *path)
{
	long value = setting(path);

	strvec_pushf(facts, "%s %ld", path, value);
	return value;
}

void host_look(struct host *host, uid_t uid, gid_t gid)
{
	static const char *const others[] = {"pid", "mnt", "net", "ipc", "uts", "cgroup"};
	CLEANUP_STRVEC struct strvec mounts = {0}, label = {0};
	struct utsname name;
	struct stat st;
	bool known;

	*host = (struct host){.root = uid == 0};
	known = add_file(&host->facts, "/proc/sys/kernel/random/boot_id") &&
		add_object(&host->facts, "/proc/self/ns/user") &&
		add_object(&host->facts, "/proc/self/ns/mnt") &&
		add_object(&host->facts, "/proc/self/ns/pid") && add_object(&host->facts, "/");
	add_init(&host->facts);
	strvec_pushf(&host->facts, "bwrap runs as %u %u", uid, gid);
	known = look_at_process(host) && known;
	host->nested = stat("/proc/self/ns/user", &st) == 0 && st.st_ino != FIRST_USER_NS;
	/* SELinux's or AppArmor's; nothing, or an error, without them. Where there are both, the
	 * second file is AppArmor's. */
	read_lines("/proc/self/attr/current", &label);
	read_lines("/proc/self/attr/apparmor/current", &label);
	for (size_t i = 0; i < label.n; i++) {
		strvec_pushf(&host->facts, "label %s", label.v[i]);
		host_read_label(host, label.v[i]);
	}
	host->max_user_namespaces = add_setting(&host->facts, "/proc/sys/user/max_user_namespaces");
	host->max_other_namespaces = LONG_MAX;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		CLEANUP_FREE char *path = xasprintf("/proc/sys/user/max_%s_namespaces", others[i]);
		long max = add_setting(&host->facts, path);

		if (max >= 0 && max < host->max_other_namespaces)
			host->max_other_namespaces = max;
	}
	host->unprivileged_userns =
		add_setting(&host->facts, "/proc/sys/kernel/unprivileged_userns_clone");
	host->apparmor_restricts =
		add_setting(&host->facts, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	read_lines("/proc/self/mountinfo", &mounts);
	host_read_mounts(host, strvec_argv(&mounts));
	host->mounts_beyond = mounts_beyond(&mounts);
	host->unmapped = host_is_unmapped(uid);
	/* The one that gVisor has given itself since its beginning. */
	host->gvisor = uname(&name) == 0 && strstr(name.version, "Jan 10 15:06:54 PST 2016");
	if (!known)
		strvec_clear(&host->facts);
}

void host_clear(struct host *host)
{
	strvec_clear(&host->facts);
}
