#include "run/cgplace.h"

#include "base/mem.h"
#include "base/mounts.h"
#include "base/open.h"
#include "base/path.h"
#include "base/read.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* How often all processes of a group are moved, as new ones come. */
#define ATTEMPTS 100

#define INIT_NAME "sbx-init"

const char *const controller_names[CG_CONTROLLERS] = {"memory", "pids", "cpuacct"};

void cgplace_clear(struct cgplace *place)
{
	free(place->at);
	free(place->below);
}

int64_t cg_number(const char *text, const char *key)
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

static bool find_in_mount(
	const char *line, const char *controller, const char *own, struct cgplace *place)
{
	CLEANUP_FREE char *text = xstrdup(line);
	struct mount_line m;

	if (!mount_line_parse(&m, text) ||
		(controller ? strcmp(m.type, "cgroup") != 0 ||
					!mount_has_option(m.super, controller)
			    : strcmp(m.type, "cgroup2") != 0) ||
		!path_within(own, m.root))
		return false;
	*place = (struct cgplace){!controller, xstrdup(m.at), xstrdup(path_below(own, m.root))};
	return true;
}

bool cgplace_find(
	char *const *groups, char *const *mounts, const char *controller, struct cgplace *place)
{
	const char *own = own_path(groups, controller);
	CLEANUP_FREE char *normal = own ? path_normalize(own) : NULL;

	/* Seen from a cgroup namespace, what lies outside begins with "/..". */
	if (!own || strcmp(own, normal) != 0)
		return false;
	for (char *const *line = mounts; *line; line++)
		if (find_in_mount(*line, controller, own, place))
			return true;
	return false;
}

/* cpu.stat is the longest, with some hundred bytes. */
#define FILE_SIZE 4096

int64_t cg_read(int dir, const char *name, const char *key)
{
	char text[FILE_SIZE];

	return read_text(dir, name, text, sizeof(text)) < 0 ? -1 : cg_number(text, key);
}

bool cg_has(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int cg_write(int dir, const char *name, const char *text)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static bool lists(int dir, const char *name, const char *word)
{
	char text[FILE_SIZE];

	return read_text(dir, name, text, sizeof(text)) >= 0 && has_word(text, ' ', word);
}

const char *cgplace_limited(int dir)
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

int cgplace_open(const struct cgplace *place, char **why)
{
	CLEANUP_FREE char *path = path_join(place->at, place->below);
	int dir = open_exact(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	struct statfs fs;

	if (dir >= 0 && fstatfs(dir, &fs) == 0 &&
		fs.f_type == (place->v2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC))
		return dir;
	*why = xasprintf("the caller's own group cannot be opened (%s: %s)", path,
		dir < 0 ? strerror(-dir) : "something else is mounted there");
	if (dir >= 0)
		close(dir);
	return -1;
}

/* Enables the controllers of a set for the groups below dir, as far as it can; those that are. */
static unsigned enable(int dir, unsigned wanted)
{
	unsigned enabled = 0;

	for (enum controller c = CG_MEMORY; c <= CG_PIDS; c++) {
		CLEANUP_FREE char *text = xasprintf("+%s", controller_names[c]);

		if (wanted & 1U << c && !lists(dir, "cgroup.subtree_control", controller_names[c]))
			cg_write(dir, "cgroup.subtree_control", text);
		if (lists(dir, "cgroup.subtree_control", controller_names[c]))
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

/* Why a leaf beside the caller's own group, of that name, would not do; NULL: it would. */
static char *refuse_beside(int own, int parent, const char *name)
{
	const char *limit = cgplace_limited(own);
	char text[2];

	if (limit)
		return xasprintf("a group beside it would escape its limit (%s)", limit);
	if (parent < 0)
		return xstrdup("the group above it cannot be seen");
	if (read_text(parent, "cgroup.procs", text, sizeof(text)) != 0)
		return xstrdup("the group above it holds processes too");
	if (!is_ours(own) || !is_ours(parent))
		return xstrdup("the group above it belongs to somebody else");
	/* An ordinary user's groups have none, nor has one that we made. */
	if (geteuid() == 0 && strcmp(name, INIT_NAME) != 0 && has_programs(own))
		return xstrdup("a group beside it might escape its BPF programs");
	return NULL;
}

/* Moves everything from one group to another, until nothing is left; 0 or -errno. */
static int move_all(int from, int to)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		CLEANUP_STRVEC struct strvec pids = {0};
		CLEANUP_FREE char *path = xasprintf("/proc/self/fd/%d/cgroup.procs", from);

		read_lines(path, &pids);
		if (pids.n == 0)
			return 0;
		for (size_t p = 0; p < pids.n; p++) {
			/* 0: not to be seen from here; to the kernel it is the writer. */
			int result = strcmp(pids.v[p], "0") == 0
					     ? -EPERM
					     : cg_write(to, "cgroup.procs", pids.v[p]);

			if (result < 0 && result != -ESRCH)
				return result;
		}
	}
	return -EAGAIN;
}

/* Moves the processes of the caller's own group to one below it; 0, or -errno and all is as before. */
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

	for (enum controller c = CG_MEMORY; c <= CG_PIDS; c++)
		if (wanted & 1U << c && lists(dir, "cgroup.controllers", controller_names[c]))
			set |= 1U << c;
	return set;
}

int cgplace_choose(const struct cgplace *own, int own_dir, const struct cgneeds *needs,
	struct cgplace *place, char **why, struct strvec *notes)
{
	CLEANUP_CLOSE int parent =
		*own->below ? openat(own_dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	CLEANUP_FREE char *refused = NULL;
	char *last;
	unsigned here = available(own_dir, needs->wanted);

	*place = (struct cgplace){true, xstrdup(own->at), xstrdup(own->below)};
	if (!cg_has(own_dir, "cgroup.type")) { /* the real root */
		enable(own_dir, here);
		return fcntl(own_dir, F_DUPFD_CLOEXEC, 3);
	}
	last = strrchr(place->below, '/');
	refused = refuse_beside(own_dir, parent, last ? last + 1 : place->below);
	if (!refused && enable(parent, needs->wanted) & (needs->wanted | needs->useful)) {
		*(last ? last : place->below) = '\0';
		return fcntl(parent, F_DUPFD_CLOEXEC, 3);
	}
	if (here && needs->manage) {
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
	} else if (here && refused) {
		*why = xasprintf("the caller's own group %s/%s holds processes, and so can have no "
				 "groups with limits below it; %s",
			own->at, own->below, refused);
	}
	return fcntl(own_dir, F_DUPFD_CLOEXEC, 3);
}
