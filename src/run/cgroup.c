#include "run/cgroup.h"

#include "base/mem.h"
#include "base/open.h"
#include "base/path.h"
#include "base/read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libcgroup.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* Waiting is done in steps of 10 ms, a second in all. */
#define STEP_NS 10000000L
#define STEPS 100

/* What the names of leaves look like. */
#define NAME_PREFIX "sbx-"
#define NAME_DIGITS 16
#define INIT_NAME "sbx-init"

enum controller { MEMORY, PIDS, CPU, CONTROLLERS };

/* v2 counts CPU time in every group, without a controller. */
static const char *const names_v1[] = {"memory", "pids", "cpuacct"};
static const char *const names_v2[] = {"memory", "pids", NULL};

/* The leaf's group in one hierarchy. */
struct group {
	bool v2;
	char name[sizeof(NAME_PREFIX) + NAME_DIGITS];
	char *at, *below; /* as in struct cgroup_place */
	int parent, dir;  /* the latter with a shared flock */
	int procs;        /* its cgroup.procs, for writing */
};

struct leaf {
	struct leaf_limits asked;
	struct group groups[CONTROLLERS + 1];
	size_t n_groups;
	const struct group *of[CONTROLLERS]; /* that counts for a controller; NULL = none */
	const char *by[LEAF_GIFTS];
	char *why[CONTROLLERS];
	/* The caller's own group that counts memory, -1 = none, and what it said at the start. */
	int own_memory;
	int64_t own_oom_kills;
	bool own_v2;
};

static const enum controller controller_of[LEAF_GIFTS] = {
	[LEAF_MEMORY] = MEMORY,
	[LEAF_TASKS] = PIDS,
	[LEAF_CPU] = CPU,
	[LEAF_OOM] = MEMORY,
	[LEAF_KILL] = CPU,
};

static void pause_step(void)
{
	nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

/* ---- texts ---- */

int64_t cgroup_number(const char *text, const char *key)
{
	size_t len = key ? strlen(key) : 0;
	char *end;
	long long n;

	while (key && !(strncmp(text, key, len) == 0 && text[len] == ' ')) {
		text = strchr(text, '\n');
		if (!text)
			return -1;
		text++;
	}
	if (key)
		text += len + 1;
	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	n = strtoll(text, &end, 10);
	return errno == 0 && (*end == '\n' || *end == '\0') ? n : -1;
}

/* Whether a list of words with one separator has a word. */
static bool has_word(const char *list, char separator, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at; at = strchr(at, separator), at = at ? at + 1 : NULL)
		if (strncmp(at, word, len) == 0 &&
			(at[len] == separator || at[len] == '\0' || at[len] == '\n'))
			return true;
	return false;
}

/* Undoes the escapes of mountinfo in place: a backslash and three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
			from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* The caller's path in a hierarchy; NULL: none. A line is "ID:CONTROLLERS:PATH", of v2 "0::PATH". */
static const char *own_path(char *const *groups, const char *controller)
{
	for (char *const *line = groups; *line; line++) {
		const char *list = strchr(*line, ':');
		const char *path = list ? strchr(list + 1, ':') : NULL;
		CLEANUP_FREE char *controllers = NULL;

		if (!path || path[1] != '/')
			continue;
		controllers = xstrndup(list + 1, (size_t)(path - list - 1));
		if (controller ? has_word(controllers, ',', controller)
			       : strncmp(*line, "0::", 3) == 0)
			return path + 1;
	}
	return NULL;
}

/* One line of mountinfo: "ID PARENT MAJOR:MINOR ROOT AT OPTIONS TAG... - TYPE SOURCE OPTIONS". */
static bool find_in_mount(
	const char *line, const char *controller, const char *own, struct cgroup_place *place)
{
	CLEANUP_FREE char *text = xstrdup(line);
	char *next = text, *fields[5], *tail[3];

	for (size_t i = 0; i < 5; i++)
		if (!(fields[i] = strsep(&next, " ")))
			return false;
	next = next ? strstr(next, " - ") : NULL;
	next = next ? next + 3 : NULL;
	for (size_t i = 0; i < 3; i++)
		if (!(tail[i] = strsep(&next, " ")))
			return false;
	if (controller ? strcmp(tail[0], "cgroup") != 0 || !has_word(tail[2], ',', controller)
		       : strcmp(tail[0], "cgroup2") != 0)
		return false;
	unescape(fields[3]);
	unescape(fields[4]);
	/* Seen from a cgroup namespace, what lies outside begins with "/..". */
	if (strncmp(fields[3], "/..", 3) == 0 || !path_within(own, fields[3]))
		return false;
	place->at = xstrdup(fields[4]);
	place->below = xstrdup(path_below(own, fields[3]));
	return true;
}

bool cgroup_find(char *const *groups, char *const *mounts, const char *controller,
	struct cgroup_place *place)
{
	const char *own = own_path(groups, controller);

	if (!own || strncmp(own, "/..", 3) == 0)
		return false;
	for (char *const *line = mounts; *line; line++)
		if (find_in_mount(*line, controller, own, place))
			return true;
	return false;
}

/* ---- files of a group ---- */

/* cpu.stat is the longest, with some hundred bytes. */
#define FILE_SIZE 4096

static int64_t read_number(int dir, const char *name, const char *key)
{
	char text[FILE_SIZE];

	return read_text(dir, name, text, sizeof(text)) < 0 ? -1 : cgroup_number(text, key);
}

static bool has_file(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Writes a text at once; 0 or -errno. */
static int write_text(int dir, const char *name, const char *text)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static bool lists(int dir, const char *name, const char *word)
{
	char text[FILE_SIZE];

	return read_text(dir, name, text, sizeof(text)) >= 0 && has_word(text, ' ', word);
}

const char *cgroup_limited(int dir)
{
	static const struct {
		const char *file, *none;
	} limits[] = {{"memory.max", "max\n"}, {"memory.high", "max\n"},
		{"memory.swap.max", "max\n"}, {"memory.swap.high", "max\n"},
		{"memory.zswap.max", "max\n"}, {"pids.max", "max\n"}, {"cpu.max", "max "},
		{"cpuset.cpus", "\n"}, {"cpuset.mems", "\n"}, {"io.max", ""}};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		char text[FILE_SIZE];
		ssize_t n = read_text(dir, limits[i].file, text, sizeof(text));

		if (n == -ENOENT)
			continue;
		if (n < 0 || (*limits[i].none ? strncmp(text, limits[i].none,
							strlen(limits[i].none)) != 0
					      : n > 0))
			return limits[i].file;
	}
	return NULL;
}

/* ---- the leaf's group in one hierarchy ---- */

static bool is_leaf_name(const char *name)
{
	size_t len = strlen(NAME_PREFIX);

	return strncmp(name, NAME_PREFIX, len) == 0 && strlen(name) == len + NAME_DIGITS &&
	       strspn(name + len, "0123456789abcdef") == NAME_DIGITS;
}

/* Removes what killed supervisors have left in a group. One that has anything in it stays. */
static void sweep(int parent)
{
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		CLEANUP_CLOSE int leaf = -1;
		struct stat st;

		if (!is_leaf_name(entry->d_name))
			continue;
		leaf = openat(
			parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (leaf >= 0 && fstat(leaf, &st) == 0 && st.st_uid == geteuid() &&
			flock(leaf, LOCK_EX | LOCK_NB) == 0)
			unlinkat(parent, entry->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* Makes a directory of a new name and locks it: the descriptor, or -errno. */
static int make_locked(int parent, char name[static sizeof(NAME_PREFIX) + NAME_DIGITS])
{
	/* Between the two a sweep may lock it, and remove it. */
	for (int i = 0; i < STEPS; i++) {
		CLEANUP_CLOSE int dir = -1;
		uint64_t random;
		struct stat own, there;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return -errno;
		snprintf(name, sizeof(NAME_PREFIX) + NAME_DIGITS, NAME_PREFIX "%0*" PRIx64,
			NAME_DIGITS, random);
		if (mkdirat(parent, name, 0755) < 0) {
			if (errno == EEXIST)
				continue;
			return -errno;
		}
		dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir >= 0 && flock(dir, LOCK_SH | LOCK_NB) == 0 && fstat(dir, &own) == 0 &&
			fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
			own.st_ino == there.st_ino) {
			int locked = dir;

			dir = -1;
			return locked;
		}
		unlinkat(parent, name, AT_REMOVEDIR);
	}
	return -EBUSY;
}

static void group_close(struct group *group)
{
	cleanup_close(&group->procs);
	cleanup_close(&group->dir);
	cleanup_close(&group->parent);
	free(group->at);
	free(group->below);
}

/* The directory of a group, or -1; *why gets the reason. */
static int open_place(const struct cgroup_place *place, bool v2, char **why)
{
	CLEANUP_FREE char *path = path_join(place->at, place->below);
	int dir = open_exact(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	struct statfs fs;

	if (dir >= 0 && fstatfs(dir, &fs) == 0 &&
		fs.f_type == (v2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC))
		return dir;
	*why = xasprintf("the caller's own group cannot be opened (%s: %s)", path,
		dir < 0 ? strerror(-dir) : "something else is mounted there");
	if (dir >= 0)
		close(dir);
	return -1;
}

/* What is wrong with a new group, as errno; 0 = nothing. */
static int check_group(struct group *group)
{
	char type[64];

	group->procs = openat(group->dir, "cgroup.procs", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (group->procs < 0)
		return errno;
	if (!group->v2)
		return 0;
	/* A group below a threaded one takes no processes. Nor can they be moved by somebody who may
	 * not write to the group that has both where they are and where they go. */
	if (read_text(group->dir, "cgroup.type", type, sizeof(type)) < 0 ||
		strcmp(type, "domain\n") != 0)
		return EOPNOTSUPP;
	return faccessat(group->parent, "cgroup.procs", W_OK, AT_EACCESS) < 0 ? errno : 0;
}

/* Makes the leaf's group below the one at a place; NULL with the reason. */
static const struct group *make_group(
	struct leaf *leaf, const struct cgroup_place *place, int parent, bool v2, char **why)
{
	struct group *group = &leaf->groups[leaf->n_groups];
	int error;

	*group = (struct group){.v2 = v2, .procs = -1};
	group->parent = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	sweep(parent);
	group->dir = make_locked(parent, group->name);
	error = group->dir < 0 ? -group->dir : check_group(group);
	if (error == 0) {
		group->at = xstrdup(place->at);
		group->below =
			xasprintf("%s%s%s", place->below, *place->below ? "/" : "", group->name);
		leaf->n_groups++;
		return group;
	}
	*why = xasprintf("no group can be made in %s%s%s: %s", place->at, *place->below ? "/" : "",
		place->below, strerror(error));
	if (group->dir >= 0)
		unlinkat(parent, group->name, AT_REMOVEDIR);
	group_close(group);
	return NULL;
}

/* ---- v1 ---- */

/* Before Linux 5.11 a group of the memory controller could be asked not to count what is below it: its
 * limit would be escaped there. */
static bool counts_below(int own)
{
	int64_t limit = read_number(own, "memory.limit_in_bytes", NULL);

	return read_number(own, "memory.use_hierarchy", NULL) != 0 || limit > INT64_MAX / 2;
}

static void make_v1(struct leaf *leaf, enum controller c, const struct cgroup_place *own)
{
	CLEANUP_CLOSE int dir = -1;

	for (size_t i = 0; i < leaf->n_groups && !leaf->of[c]; i++)
		if (strcmp(leaf->groups[i].at, own->at) == 0)
			leaf->of[c] = &leaf->groups[i];
	if (leaf->of[c])
		return;
	dir = open_place(own, false, &leaf->why[c]);
	if (dir < 0)
		return;
	if (c == MEMORY) {
		leaf->own_memory = fcntl(dir, F_DUPFD_CLOEXEC, 3);
		leaf->own_v2 = false;
	}
	if (c == MEMORY && !counts_below(dir))
		leaf->why[c] = xstrdup("the limit of the caller's own group does not bind groups "
				       "below it (memory.use_hierarchy is 0)");
	else
		leaf->of[c] = make_group(leaf, own, dir, false, &leaf->why[c]);
}

/* ---- v2 ---- */

/* Enables the controllers of a set for the groups below dir, as far as it can; those that are. */
static unsigned enable(int dir, unsigned wanted)
{
	unsigned enabled = 0;

	for (enum controller c = MEMORY; c <= PIDS; c++) {
		CLEANUP_FREE char *text = xasprintf("+%s", names_v2[c]);

		if (wanted & 1U << c && !lists(dir, "cgroup.subtree_control", names_v2[c]))
			write_text(dir, "cgroup.subtree_control", text);
		if (lists(dir, "cgroup.subtree_control", names_v2[c]))
			enabled |= 1U << c;
	}
	return enabled;
}

/* Whether a BPF program is attached to a group (a firewall, a list of devices), or may be. */
static bool has_programs(int dir)
{
	static const enum bpf_attach_type types[] = {BPF_CGROUP_INET_INGRESS,
		BPF_CGROUP_INET_EGRESS, BPF_CGROUP_INET_SOCK_CREATE, BPF_CGROUP_SOCK_OPS,
		BPF_CGROUP_DEVICE, BPF_CGROUP_INET4_BIND, BPF_CGROUP_INET6_BIND,
		BPF_CGROUP_INET4_CONNECT, BPF_CGROUP_INET6_CONNECT, BPF_CGROUP_INET4_POST_BIND,
		BPF_CGROUP_INET6_POST_BIND, BPF_CGROUP_UDP4_SENDMSG, BPF_CGROUP_UDP6_SENDMSG,
		BPF_CGROUP_SYSCTL, BPF_CGROUP_UDP4_RECVMSG, BPF_CGROUP_UDP6_RECVMSG,
		BPF_CGROUP_GETSOCKOPT, BPF_CGROUP_SETSOCKOPT};
	CLEANUP_CLOSE int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		union bpf_attr attr = {
			.query = {.target_fd = (unsigned)fd, .attach_type = types[i]}};
		long result = syscall(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof(attr));

		/* EINVAL: a kernel that does not know the type. */
		if (result < 0 ? errno != EINVAL && errno != ENOSYS : attr.query.prog_cnt > 0)
			return true;
	}
	return false;
}

static bool is_ours(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && st.st_uid == geteuid();
}

/* Why a leaf beside the caller's own group would not do; NULL: it would. */
static char *refuse_beside(int own, int parent)
{
	const char *limit = cgroup_limited(own);
	char text[2];

	if (limit)
		return xasprintf("a group beside it would escape its limit (%s)", limit);
	if (parent < 0)
		return xstrdup("the group above it cannot be seen");
	if (read_text(parent, "cgroup.procs", text, sizeof(text)) != 0)
		return xstrdup("the group above it holds processes too");
	if (!is_ours(own) || !is_ours(parent))
		return xstrdup("the group above it belongs to somebody else");
	if (geteuid() == 0 && has_programs(own))
		return xstrdup("a group beside it would escape its BPF programs");
	return NULL;
}

/* Moves everything from one group to another, until nothing is left; 0 or -errno. */
static int move_all(int from, int to)
{
	for (int i = 0; i < STEPS; i++) {
		CLEANUP_STRVEC struct strvec pids = {0};
		CLEANUP_FREE char *path = xasprintf("/proc/self/fd/%d/cgroup.procs", from);

		read_lines(path, &pids);
		if (pids.n == 0)
			return 0;
		for (size_t p = 0; p < pids.n; p++) {
			int result = write_text(to, "cgroup.procs", pids.v[p]);

			if (result < 0 && result != -ESRCH)
				return result;
		}
	}
	return -EAGAIN;
}

/* Moves the processes of the caller's own group to one below it; 0 or -errno, all being as before. */
static int manage(int own, unsigned wanted)
{
	bool made = mkdirat(own, INIT_NAME, 0755) == 0;
	CLEANUP_CLOSE int init = openat(own, INIT_NAME, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int result = init < 0 ? -errno : move_all(own, init);

	if (result == 0 && (enable(own, wanted) & wanted) != wanted)
		result = -EBUSY;
	if (result < 0 && made) {
		move_all(init, own);
		unlinkat(own, INIT_NAME, AT_REMOVEDIR);
	}
	return result;
}

/* The subset of wanted that a group has to give. */
static unsigned available(int dir, unsigned wanted)
{
	unsigned set = 0;

	for (enum controller c = MEMORY; c <= PIDS; c++)
		if (wanted & 1U << c && lists(dir, "cgroup.controllers", names_v2[c]))
			set |= 1U << c;
	return set;
}

/* Takes the last component off a path without slashes at its ends. */
static void cut_last(char *below)
{
	char *slash = strrchr(below, '/');

	*(slash ? slash : below) = '\0';
}

/* Decides where the leaf is to be made: place, which is the caller's own group, becomes it. wanted are
 * the controllers that limits need, useful those that are taken where they are enabled anyway. The
 * directory; *why gets the reason when it is one where not all that is wanted will be there. */
static int choose(const struct cgroup_place *own, int own_dir, unsigned wanted, unsigned useful,
	bool may_manage, struct cgroup_place *place, char **why, struct strvec *notes)
{
	CLEANUP_CLOSE int parent =
		*own->below ? openat(own_dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	CLEANUP_FREE char *refused = NULL;
	unsigned here = available(own_dir, wanted);

	*place = (struct cgroup_place){xstrdup(own->at), xstrdup(own->below)};
	if (!has_file(own_dir, "cgroup.type")) { /* the real root */
		enable(own_dir, here);
		return fcntl(own_dir, F_DUPFD_CLOEXEC, 3);
	}
	refused = refuse_beside(own_dir, parent);
	if (!refused && enable(parent, wanted) & (wanted | useful)) {
		cut_last(place->below);
		return fcntl(parent, F_DUPFD_CLOEXEC, 3);
	}
	if (here && may_manage) {
		int result = manage(own_dir, here);

		if (result == 0)
			strvec_pushf(notes,
				"the processes of the caller's own group %s/%s were "
				"moved to its new group " INIT_NAME " and stay there",
				own->at, own->below);
		else
			*why = xasprintf("the processes of the caller's own group cannot be moved "
					 "out of the way: %s",
				strerror(-result));
	} else if (here) {
		*why = xasprintf("the caller's own group %s/%s holds processes, and so can have no "
				 "groups with limits below it; %s",
			own->at, own->below,
			refused ? refused : "the one above it has no such controllers either");
	}
	return fcntl(own_dir, F_DUPFD_CLOEXEC, 3);
}

/* v1[c]: the controller is v1's. */
static void make_v2(struct leaf *leaf, const struct cgroup_place *own,
	const struct leaf_limits *limits, const bool *v1, struct strvec *notes)
{
	CLEANUP_FREE char *why = NULL;
	CLEANUP_CLOSE int own_dir = open_place(own, true, &why);
	CLEANUP_CLOSE int dir = -1;
	unsigned wanted = (limits->memory && !v1[MEMORY] ? 1U << MEMORY : 0) |
			  (limits->tasks && !v1[PIDS] ? 1U << PIDS : 0);
	const struct group *group = NULL;
	struct cgroup_place place = {0};

	if (own_dir >= 0 && !v1[MEMORY]) {
		leaf->own_memory = fcntl(own_dir, F_DUPFD_CLOEXEC, 3);
		leaf->own_v2 = true;
	}
	if (own_dir >= 0)
		dir = choose(own, own_dir, wanted, v1[MEMORY] ? 0 : 1U << MEMORY, limits->manage,
			&place, &why, notes);
	if (dir >= 0) {
		char *failed = NULL;

		group = make_group(leaf, &place, dir, true, &failed);
		if (failed) {
			free(why);
			why = failed;
		}
	}
	free(place.at);
	free(place.below);
	for (enum controller c = MEMORY; c < CONTROLLERS; c++) {
		bool given =
			group &&
			(c == CPU || has_file(group->dir, c == MEMORY ? "memory.max" : "pids.max"));

		if (c < CPU && v1[c])
			continue;
		if (given)
			leaf->of[c] = group;
		else if (!leaf->why[c])
			leaf->why[c] = why ? xstrdup(why)
					   : xasprintf("the caller's own group %s/%s does not have "
						       "the controller %s",
						     own->at, own->below, names_v1[c]);
	}
}

/* ---- limits ---- */

struct value {
	const char *file;
	uint64_t number;
};

/* Lets libcgroup write the values of a controller. */
static bool write_values(
	const struct group *group, const char *controller, const struct value *values, size_t n)
{
	CLEANUP_FREE char *at = NULL;
	struct cgroup *cgroup = NULL;
	struct cgroup_controller *own = NULL;
	bool written = false;

	/* It looks for the mount by itself, and cuts what is too long for it. */
	if (cgroup_get_subsys_mount_point(controller, &at) != 0 || strcmp(at, group->at) != 0 ||
		strlen(at) + strlen(group->below) > FILENAME_MAX / 2)
		return false;
	cgroup = cgroup_new_cgroup(group->below);
	own = cgroup ? cgroup_add_controller(cgroup, controller) : NULL;
	written = own != NULL;
	for (size_t i = 0; written && i < n; i++)
		written = cgroup_add_value_uint64(own, values[i].file, values[i].number) == 0;
	written = written && cgroup_modify_cgroup(cgroup) == 0;
	cgroup_free(&cgroup);
	return written;
}

/* Sets the limit of a controller: values, of which the first is it, in the files that are there. */
static void set_limit(struct leaf *leaf, enum leaf_gift gift, const struct value *values, size_t n,
	uint64_t unit, const char *by)
{
	enum controller c = controller_of[gift];
	const struct group *group = leaf->of[c];
	bool holds = write_values(group, names_v1[c], values, n);

	for (size_t i = 0; holds && i < n; i++) {
		int64_t is = read_number(group->dir, values[i].file, NULL);

		holds = is >= 0 && (uint64_t)is == values[i].number - values[i].number % unit;
	}
	if (holds)
		leaf->by[gift] = by;
	else
		leaf->why[c] = xasprintf(
			"%s was written and does not read back as it should", values[0].file);
}

static void limit_memory(struct leaf *leaf, uint64_t limit, struct strvec *notes)
{
	const struct group *group = leaf->of[MEMORY];
	struct value values[2] = {
		{group->v2 ? "memory.max" : "memory.limit_in_bytes", limit},
		{group->v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes",
			group->v2 ? 0 : limit},
	};
	bool swap = has_file(group->dir, values[1].file);
	struct sysinfo info;

	set_limit(leaf, LEAF_MEMORY, values, swap ? 2 : 1, (uint64_t)sysconf(_SC_PAGESIZE),
		group->v2 ? "cgroup v2 memory.max" : "cgroup v1 memory.limit_in_bytes");
	if (leaf->by[LEAF_MEMORY] && !swap && (sysinfo(&info) < 0 || info.totalswap))
		strvec_push(notes, "what is swapped out is not limited: this kernel's memory "
				   "controller does not count swap");
}

/* libcgroup's own logger writes to standard output. */
static void no_log(void *data, int level, const char *format, va_list arguments)
{
	(void)data, (void)level, (void)format, (void)arguments;
}

/* 0 where there are cgroups. */
static int library_init(void)
{
	cgroup_set_logger(no_log, CGROUP_LOG_ERROR, NULL);
	return cgroup_init();
}

/* ---- what the header promises ---- */

static int64_t own_oom_kills(const struct leaf *leaf)
{
	if (leaf->own_memory < 0)
		return -1;
	if (!leaf->own_v2)
		return read_number(leaf->own_memory, "memory.oom_control", "oom_kill");
	/* Those of the group itself, since Linux 5.2; else those below it too. */
	return read_number(leaf->own_memory,
		has_file(leaf->own_memory, "memory.events.local") ? "memory.events.local"
								  : "memory.events",
		"oom_kill");
}

static void make_groups(struct leaf *leaf, const struct leaf_limits *limits, struct strvec *notes)
{
	CLEANUP_STRVEC struct strvec groups = {0}, mounts = {0};
	struct cgroup_place own[CONTROLLERS] = {0}, unified = {0};
	bool v1[CONTROLLERS], v2;

	read_lines("/proc/self/cgroup", &groups);
	read_lines("/proc/self/mountinfo", &mounts);
	for (enum controller c = MEMORY; c < CONTROLLERS; c++)
		v1[c] = cgroup_find(
			strvec_argv(&groups), strvec_argv(&mounts), names_v1[c], &own[c]);
	v2 = cgroup_find(strvec_argv(&groups), strvec_argv(&mounts), NULL, &unified);
	/* What counts without a limit is made for memory alone, and for CPU time where v2 does not. */
	if (v1[MEMORY])
		make_v1(leaf, MEMORY, &own[MEMORY]);
	if (v1[PIDS] && limits->tasks)
		make_v1(leaf, PIDS, &own[PIDS]);
	if (v2)
		make_v2(leaf, &unified, limits, v1, notes);
	if (v1[CPU] && !leaf->of[CPU]) {
		free(leaf->why[CPU]);
		leaf->why[CPU] = NULL;
		make_v1(leaf, CPU, &own[CPU]);
	}
	for (enum controller c = MEMORY; c < CONTROLLERS; c++) {
		if (!leaf->of[c] && !leaf->why[c])
			leaf->why[c] = xasprintf("no mounted cgroup hierarchy shows the caller's "
						 "own group of the controller %s",
				names_v1[c]);
		free(own[c].at);
		free(own[c].below);
	}
	free(unified.at);
	free(unified.below);
}

struct leaf *leaf_make(const struct leaf_limits *limits, struct strvec *notes)
{
	struct leaf *leaf = xcalloc(1, sizeof(*leaf));
	const struct group *group;

	leaf->asked = *limits;
	leaf->own_memory = -1;
	if (library_init() != 0)
		for (enum controller c = MEMORY; c < CONTROLLERS; c++)
			leaf->why[c] = xstrdup("no cgroup file system is mounted");
	else
		make_groups(leaf, limits, notes);
	if (limits->memory && leaf->of[MEMORY])
		limit_memory(leaf, limits->memory, notes);
	if (limits->tasks && leaf->of[PIDS])
		set_limit(leaf, LEAF_TASKS, &(struct value){"pids.max", limits->tasks}, 1, 1,
			leaf->of[PIDS]->v2 ? "cgroup v2 pids.max" : "cgroup v1 pids.max");
	group = leaf->of[CPU];
	if (group)
		leaf->by[LEAF_CPU] = group->v2 ? "cgroup v2 cpu.stat" : "cgroup v1 cpuacct.usage";
	group = leaf->of[MEMORY];
	if (group)
		leaf->by[LEAF_OOM] =
			group->v2 ? "cgroup v2 memory.events" : "cgroup v1 memory.oom_control";
	for (size_t i = 0; i < leaf->n_groups; i++)
		leaf->by[LEAF_KILL] = has_file(leaf->groups[i].dir, "cgroup.kill")
					      ? "cgroup v2 cgroup.kill"
				      : leaf->groups[i].v2 ? "cgroup v2 cgroup.procs"
							   : "cgroup v1 cgroup.procs";
	leaf->own_oom_kills = own_oom_kills(leaf);
	return leaf;
}

const char *leaf_by(const struct leaf *leaf, enum leaf_gift gift)
{
	return leaf->by[gift];
}

const char *leaf_why(const struct leaf *leaf, enum leaf_gift gift)
{
	if (leaf->by[gift] || (gift == LEAF_MEMORY && !leaf->asked.memory) ||
		(gift == LEAF_TASKS && !leaf->asked.tasks))
		return NULL;
	return leaf->why[controller_of[gift]];
}

int leaf_enter(const struct leaf *leaf, pid_t pid)
{
	char text[16], *at = text + sizeof(text);

	do {
		*--at = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid);
	for (size_t i = 0; i < leaf->n_groups; i++)
		if (write(leaf->groups[i].procs, at, (size_t)(text + sizeof(text) - at)) < 0)
			return -errno;
	return 0;
}

void leaf_read(const struct leaf *leaf, struct leaf_counts *counts)
{
	static const struct {
		enum controller controller;
		size_t offset;
		const char *v1, *v1_key, *v2, *v2_key;
	} sources[] = {
		{CPU, offsetof(struct leaf_counts, cpu_us), "cpuacct.usage", NULL, "cpu.stat",
			"usage_usec"},
		{MEMORY, offsetof(struct leaf_counts, memory), "memory.usage_in_bytes", NULL,
			"memory.current", NULL},
		{MEMORY, offsetof(struct leaf_counts, memory_peak), "memory.max_usage_in_bytes",
			NULL, "memory.peak", NULL},
		{MEMORY, offsetof(struct leaf_counts, memory_hits), "memory.failcnt", NULL,
			"memory.events", "max"},
		{MEMORY, offsetof(struct leaf_counts, oom_kills), "memory.oom_control", "oom_kill",
			"memory.events", "oom_kill"},
		{PIDS, offsetof(struct leaf_counts, tasks), "pids.current", NULL, "pids.current",
			NULL},
		{PIDS, offsetof(struct leaf_counts, task_hits), "pids.events", "max", "pids.events",
			"max"},
	};
	const struct group *memory = leaf->of[MEMORY], *cpu = leaf->of[CPU];

	*counts = (struct leaf_counts){0};
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		const struct group *group = leaf->of[sources[i].controller];
		int64_t number = -1;

		if (group && group->v2)
			number = read_number(group->dir, sources[i].v2, sources[i].v2_key);
		else if (group)
			number = read_number(group->dir, sources[i].v1, sources[i].v1_key);
		memcpy((char *)counts + sources[i].offset, &number, sizeof(number));
	}
	if (cpu && !cpu->v2 && counts->cpu_us > 0)
		counts->cpu_us /= 1000; /* ns */
	if (memory && !memory->v2 && counts->memory_hits == 0) {
		/* With both v1 limits the same it is the one that includes swap that is hit, and newer
		 * kernels do not count that. */
		int64_t limit = read_number(memory->dir, "memory.memsw.limit_in_bytes", NULL);

		counts->memory_hits =
			limit > 0 &&
			limit <= read_number(memory->dir, "memory.memsw.max_usage_in_bytes", NULL);
	}
	if (!memory && leaf->own_oom_kills >= 0) {
		int64_t now = own_oom_kills(leaf);

		counts->oom_kills = now < 0 ? -1 : now - leaf->own_oom_kills;
		counts->oom_shared = true;
	}
}

/* Kills a process if it is in the leaf: by a descriptor, as a number may have become another's. */
static void kill_member(const struct group *group, pid_t pid)
{
	CLEANUP_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	CLEANUP_FREE char *path = xasprintf("/proc/%d/cgroup", (int)pid);
	CLEANUP_STRVEC struct strvec lines = {0};

	read_lines(path, &lines);
	for (size_t i = 0; fd >= 0 && i < lines.n; i++)
		if (strstr(lines.v[i], group->name))
			syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

int leaf_kill(const struct leaf *leaf)
{
	bool left = true;

	for (size_t i = 0; i < leaf->n_groups; i++)
		if (leaf->groups[i].v2 && write_text(leaf->groups[i].dir, "cgroup.kill", "1") == 0)
			return 0;
	for (int step = 0; left && step < STEPS; step++) {
		left = false;
		if (step > 0)
			pause_step();
		for (size_t i = 0; i < leaf->n_groups; i++) {
			CLEANUP_STRVEC struct strvec pids = {0};
			CLEANUP_FREE char *path =
				xasprintf("/proc/self/fd/%d/cgroup.procs", leaf->groups[i].dir);

			read_lines(path, &pids);
			for (size_t p = 0; p < pids.n; p++)
				kill_member(&leaf->groups[i], (pid_t)strtol(pids.v[p], NULL, 10));
			left |= pids.n > 0;
		}
	}
	return left ? -1 : 0;
}

void leaf_end(struct leaf *leaf, struct strvec *notes)
{
	for (size_t i = 0; i < leaf->n_groups; i++) {
		struct group *group = &leaf->groups[i];
		int result = -1;

		for (int step = 0; step < STEPS; step++) {
			result = unlinkat(group->parent, group->name, AT_REMOVEDIR);
			if (result == 0 || errno != EBUSY)
				break;
			pause_step();
		}
		if (result < 0)
			strvec_pushf(notes, "the cgroup %s/%s could not be removed: %s", group->at,
				group->below, strerror(errno));
		group_close(group);
	}
	for (enum controller c = MEMORY; c < CONTROLLERS; c++)
		free(leaf->why[c]);
	cleanup_close(&leaf->own_memory);
	free(leaf);
}
