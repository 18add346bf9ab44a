#include "run/probe.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "run/cache.h"
#include "run/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A trial takes some 10 ms; one that takes longer than this hangs. */
#define TRIAL_MS 10000
/* All of them together. */
#define TRIALS_MS 30000

/* The remedy of a cause that needs no names. */
static int hint_remedy(struct err *err, enum cause cause)
{
	CLEANUP_FREE char *remedy = cause_remedy(cause, &(struct host_names){0});

	return err_hint(err, "%s", remedy);
}

/* Finding bwrap */

/* Whether others than root (own: and the caller) could put something else in a place: its owner, or
 * whoever its mode lets write. In a directory with the sticky bit others can change only what is
 * theirs. */
static bool is_changeable(const char *path, bool own)
{
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st) < 0 || statvfs(path, &fs) < 0)
		return true;
	if (fs.f_flag & ST_RDONLY)
		return false;
	return (st.st_uid != 0 && !(own && st.st_uid == geteuid()) &&
		       !host_is_unmapped(st.st_uid)) ||
	       (st.st_mode & (S_IWGRP | S_IWOTH) && !(S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX));
}

/* The part of a path, itself or a directory on its way, that is changeable; NULL when none is. */
static char *changeable_part(const char *path, bool own)
{
	char *at = xstrdup(path);

	while (!is_changeable(at, own)) {
		char *parent = strcmp(at, "/") != 0 ? path_parent(at) : NULL;

		free(at);
		at = parent;
		if (!at)
			break;
	}
	return at;
}

/* Whether a file, which was found by name, is a bwrap that nobody else could have put there. */
static int check_bwrap(const char *path, const char *name, struct err *err)
{
	CLEANUP_FREE char *dir = path_parent(path), *plain = path_normalize(name);
	CLEANUP_FREE char *above = path_parent(plain);
	CLEANUP_FREE char *changeable = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(err, ERR_PROBE, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return err_set(err, ERR_PROBE, "%s cannot be executed", path);
	if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		err_set(err, ERR_PROBE, "%s is writable for others than its owner", path);
		return err_hint(err, "chmod go-w %s", path);
	}
	if (st.st_uid != 0 && st.st_uid != geteuid() && !host_is_unmapped(st.st_uid)) {
		err_set(err, ERR_PROBE, "%s belongs to uid %u, neither root nor you", path,
			st.st_uid);
		return err_hint(err, "name one to trust with --bwrap PATH");
	}
	changeable = changeable_part(dir, true);
	/* The links that lead there, too. */
	if (!changeable)
		changeable = changeable_part(above, true);
	if (!changeable)
		return 0;
	err_set(err, ERR_PROBE, "%s could be replaced: others than root and you can change %s",
		path, changeable);
	return err_hint(err,
		"name one with --bwrap PATH whose directories only root and you can change, or "
		"chmod go-w %s",
		changeable);
}

/* The bwrap that somebody named. */
static int named_bwrap(const char *name, const char *who, char **path, struct err *err)
{
	if (*name != '/')
		return err_set(err, ERR_PROBE, "%s: %s is not an absolute path", who, name);
	*path = realpath(name, NULL);
	if (!*path)
		return err_set(err, ERR_PROBE, "%s: %s: %s", who, name, strerror(errno));
	return check_bwrap(*path, name, err);
}

/* dir/bwrap with links followed, NULL when there is none. */
static char *bwrap_in(const char *dir)
{
	CLEANUP_FREE char *name = path_join(dir, "bwrap");

	return access(name, X_OK) == 0 ? realpath(name, NULL) : NULL;
}

/* Whether root alone could have put a file where it is. A caller's PATH may name directories
 * that others, or an earlier command in the sandbox, can write. */
static bool is_of_system(const char *path)
{
	CLEANUP_FREE char *changeable = changeable_part(path, false);

	return !changeable;
}

/* root's PATH says nothing: what root owns may have been made by root's commands in the sandbox. */
static char *search_bwrap(const char *search)
{
	CLEANUP_FREE char *self = realpath("/proc/self/exe", NULL);
	CLEANUP_FREE char *copy =
		xasprintf("%s:/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin",
			search && geteuid() != 0 ? search : "");
	char *next = copy, *dir, *path = NULL;

	if (self) {
		CLEANUP_FREE char *beside = path_parent(self);

		path = bwrap_in(beside);
	}
	while (!path && (dir = strsep(&next, ":"))) {
		path = *dir == '/' ? bwrap_in(dir) : NULL;
		if (path && !is_of_system(path)) {
			free(path);
			path = NULL;
		}
	}
	return path;
}

int probe_find_bwrap(const char *option, const char *environment, const char *search, char **path,
	struct err *err)
{
	int result;

	*path = NULL;
	if (option) {
		result = named_bwrap(option, "--bwrap", path, err);
	} else if (environment) {
		result = named_bwrap(environment, "$SBX_BWRAP", path, err);
	} else if ((*path = search_bwrap(search))) {
		result = check_bwrap(*path, *path, err);
	} else {
		err_set(err, ERR_PROBE, "%s: no directory of PATH has one that is root's",
			cause_words(CAUSE_NOT_INSTALLED));
		result = hint_remedy(err, CAUSE_NOT_INSTALLED);
	}
	if (result < 0) {
		free(*path);
		*path = NULL;
	}
	return result;
}

/* Trials */

#define BIT(feature) (1U << (feature))
#define ALL (BIT(PROBE_FEATURES) - 1)
/* What no sandbox can do without. */
#define BARE (BIT(PROBE_USER) | BIT(PROBE_PID) | BIT(PROBE_JSON_STATUS_FD))
#define OUTER (BIT(PROBE_OUTER_MOUNTS) | BIT(PROBE_OUTER_PID))
/* What goes where /proc is masked. */
#define PROC (BIT(PROBE_FRESH_PROC) | BIT(PROBE_OUTER_PID) | BIT(PROBE_DISABLE_USERNS))

static const struct {
	const char *name;
	const char *words[4]; /* of bwrap; "" is a descriptor of /dev/null */
	unsigned rests_on;    /* features */
	unsigned since[2];    /* the release of bwrap that brought it, where that matters */
} features[PROBE_FEATURES] = {
	[PROBE_USER] = {"user", {"--unshare-user"}, 0, {0}},
	[PROBE_PID] = {"pid", {"--unshare-pid"}, BIT(PROBE_USER), {0}},
	/* launch passes it always. */
	[PROBE_JSON_STATUS_FD] = {"json-status-fd", {NULL}, BIT(PROBE_USER), {0}},
	[PROBE_OUTER_MOUNTS] = {"outer-mounts", {NULL}, BARE, {0}},
	[PROBE_OUTER_PID] = {"outer-pid", {NULL}, BIT(PROBE_OUTER_MOUNTS), {0}},
	[PROBE_IPC] = {"ipc", {"--unshare-ipc"}, BARE, {0}},
	[PROBE_UTS] = {"uts", {"--unshare-uts"}, BARE, {0}},
	[PROBE_CGROUP] = {"cgroup", {"--unshare-cgroup-try"}, BARE, {0}},
	[PROBE_NET] = {"net", {"--unshare-net"}, BARE, {0}},
	[PROBE_PERMS] = {"perms", {"--perms", "0755", "--dir", "/perms"}, BARE, {0, 5}},
	[PROBE_SIZE] = {"size", {"--size", "4096", "--tmpfs", "/size"}, BARE, {0, 7}},
	[PROBE_FRESH_PROC] = {"fresh-proc", {"--proc", "/proc"}, BARE, {0}},
	[PROBE_BOUND_PROC] = {"bound-proc", {"--ro-bind", "/proc", "/bound"}, BARE, {0}},
	[PROBE_DISABLE_USERNS] = {"disable-userns", {"--disable-userns"}, BARE, {0, 8}},
	[PROBE_HOSTNAME] = {"hostname", {"--hostname", "sbx"}, BIT(PROBE_UTS), {0}},
	[PROBE_BIND_FD] = {"bind-fd", {"--ro-bind-fd", "", "/null"}, BARE, {0, 10}},
};

const char *probe_feature_name(enum probe_feature feature)
{
	return features[feature].name;
}

/* A series of trials. */
struct trials {
	const char *bwrap;
	uid_t uid; /* who bwrap runs as */
	gid_t gid;
	int64_t end;                                         /* CLOCK_MONOTONIC, ms */
	char said[sizeof(((struct probe_result *)0)->said)]; /* the reason of the last to fail */
};

/* An empty sandbox whose command does not exist: all that matters comes before its execution. */
static void spell(struct strvec *words, unsigned set, int null)
{
	const size_t n_words = sizeof(features[0].words) / sizeof(features[0].words[0]);

	strvec_pushl(words, "--die-with-parent", "--new-session", NULL);
	for (int f = 0; f < PROBE_FEATURES; f++)
		for (size_t i = 0; set & BIT(f) && i < n_words && features[f].words[i]; i++)
			if (*features[f].words[i])
				strvec_push(words, features[f].words[i]);
			else
				strvec_pushf(words, "%d", null);
	strvec_pushl(words, "--remount-ro", "/", NULL);
}

static enum outer outer_of(unsigned set)
{
	return set & BIT(PROBE_OUTER_PID)      ? OUTER_ALL
	       : set & BIT(PROBE_OUTER_MOUNTS) ? OUTER_MOUNTS
					       : OUTER_NONE;
}

/* Whether what has ended was killed by a filter, or tells so of its child. */
static bool was_filtered(struct child *child)
{
	struct child_end end;

	launch_wait(child, &end);
	return end.status == (end.killed ? SIGSYS : 128 + SIGSYS);
}

/* Runs bwrap with words and waits for its end, for a time. Whether it has come to its command; text
 * gets the first line of what it printed on fd (1 or 2), or why it could not be started. */
static bool run_bwrap(struct trials *t, const struct strvec *words, enum outer outer, int null,
	int fd, char *text, size_t size)
{
	CLEANUP_CLOSE int output = memfd_create("bwrap-says", MFD_CLOEXEC);
	CLEANUP_STRVEC struct strvec notes = {0};
	char *const command[] = {(char[]){"/nothing"}, NULL};
	const int stdio[] = {null, fd == 1 ? output : null, fd == 2 ? output : null};
	struct launch_spec spec = {
		.bwrap = t->bwrap,
		.uid = t->uid,
		.gid = t->gid,
		.words = words,
		.command = command,
		.stdio = stdio,
		.keep = &null,
		.n_keep = 1,
		.outer = outer,
		.tty = -1,
	};
	int64_t left = t->end - clock_ms(CLOCK_MONOTONIC);
	struct child child = {0};
	struct err err = {0};
	bool ended, taken, killed = false;
	ssize_t n;

	if (left <= 0) {
		snprintf(text, size, PROBE_SAYS_HANG);
		return false;
	}
	if (launch(&child, &spec, &notes, &err) < 0) {
		snprintf(text, size, "%.*s", (int)size - 1, err.message);
		return false;
	}
	ended = poll(&(struct pollfd){.fd = child.pidfd, .events = POLLIN}, 1,
			left < TRIAL_MS ? (int)left : TRIAL_MS) == 1;
	taken = ended && launch_taken(&child);
	if (ended)
		killed = was_filtered(&child);
	child_close(&child);
	n = pread(output, text, size - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (killed)
		snprintf(text, size, PROBE_SAYS_KILLED);
	else if (!ended && !*text)
		snprintf(text, size, PROBE_SAYS_HANG);
	return taken;
}

/* One trial: whether all of a set works together. */
static bool trial(struct trials *t, unsigned set)
{
	CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	CLEANUP_STRVEC struct strvec words = {0};

	spell(&words, set, null);
	return run_bwrap(t, &words, outer_of(set), null, 2, t->said, sizeof(t->said));
}

/* bwrap prints "bubblewrap 0.8.0". */
static void ask_version(struct trials *t, struct probe *probe)
{
	CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	CLEANUP_STRVEC struct strvec words = {0};
	static const char name[] = "bubblewrap ";
	char text[64], *at = text + sizeof(name) - 1;

	strvec_push(&words, "--version");
	run_bwrap(t, &words, OUTER_NONE, null, 1, text, sizeof(text));
	probe->has_version = strncmp(text, name, sizeof(name) - 1) == 0;
	for (int i = 0; probe->has_version && i < 3; i++) {
		char *end;

		probe->version[i] = (unsigned)strtoul(at, &end, 10);
		probe->has_version =
			*at >= '0' && *at <= '9' && end - at <= 4 && *end == (i < 2 ? '.' : '\0');
		at = end + 1;
	}
}

static int exit_at_once(void *arg)
{
	(void)arg;
	_exit(0);
}

/* Whether a filter kills whoever makes a namespace. That would be us: so a child tries first. */
static bool filter_kills(void)
{
	_Alignas(16) char stack[4096];
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 0); /* no core file */
		clone(exit_at_once, stack + sizeof(stack),
			CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | SIGCHLD, NULL);
		wait(NULL);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

/* The first set of these that works is what is built on: everything; what the filters of container
 * engines leave, without a masked /proc and with one; what is left where bwrap alone may make
 * namespaces; then as little as possible. */
static bool find_start(struct trials *t, unsigned *set)
{
	static const unsigned starts[] = {ALL, ALL & ~BIT(PROBE_HOSTNAME),
		ALL & ~BIT(PROBE_HOSTNAME) & ~PROC, ALL & ~BIT(PROBE_HOSTNAME) & ~OUTER,
		BARE | OUTER, BARE | BIT(PROBE_OUTER_MOUNTS), BARE};

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (trial(t, starts[i])) {
			*set = starts[i];
			return true;
		}
	return false;
}

static void try_all(struct trials *t, struct probe *probe, const struct host *host)
{
	unsigned set = 0;

	if (filter_kills())
		snprintf(t->said, sizeof(t->said), PROBE_SAYS_KILLED);
	else if (!find_start(t, &set) && trial(t, BIT(PROBE_USER)))
		set = BIT(PROBE_USER);
	for (int f = 0; f < PROBE_FEATURES; f++) {
		struct probe_result *result = &probe->features[f];
		unsigned missing = features[f].rests_on & ~set;

		result->works = set & BIT(f) || (set && !missing && trial(t, set | BIT(f)));
		if (result->works) {
			set |= BIT(f);
		} else if (missing) {
			*result = probe->features[__builtin_ctz(missing)];
		} else {
			memcpy(result->said, t->said, sizeof(t->said));
			result->cause = hint_cause(host, t->said);
		}
	}
}

/* What the answer is good for */

/* Whether the host, or bwrap's release, says that this cannot work, and it was for that. A passing
 * shortage, say, is another cause. */
static bool is_explained(
	const struct probe *probe, const struct host *host, enum probe_feature feature)
{
	const unsigned *v = probe->version, *since = features[feature].since;
	enum cause cause = probe->features[feature].cause;

	if (cause == CAUSE_PROC_MASKED)
		return BIT(feature) & PROC && host->proc_masked;
	if (cause == CAUSE_APPARMOR)
		return BIT(feature) & OUTER && host->apparmor_restricts > 0 && !host->admin;
	/* Most filters forbid it, and little is lost by it. */
	if (cause == CAUSE_HOSTNAME)
		return feature == PROBE_HOSTNAME && host->seccomp;
	return cause == CAUSE_OLD_BWRAP && probe->has_version &&
	       (v[0] < since[0] || (v[0] == since[0] && v[1] < since[1]));
}

bool probe_is_sound(const struct probe *probe, const struct host *host)
{
	for (int f = 0; f < PROBE_FEATURES; f++) {
		const struct probe_result *result = &probe->features[f];

		if (!result->works && !is_explained(probe, host, (enum probe_feature)f))
			return false;
	}
	/* The kernel mounts no /proc that shows more than the one that is there. */
	return !host->proc_masked || (!probe->features[PROBE_FRESH_PROC].works &&
					     !probe->features[PROBE_OUTER_PID].works);
}

/* Without these no run can be made. */
#define NEEDED                                                                                     \
	(BARE | BIT(PROBE_IPC) | BIT(PROBE_UTS) | BIT(PROBE_CGROUP) | BIT(PROBE_PERMS) |           \
		BIT(PROBE_SIZE))

/* The first feature of a set that does not work, or NULL. */
static const struct probe_result *first_missing(const struct probe *probe, unsigned set)
{
	for (int f = 0; f < PROBE_FEATURES; f++)
		if (set & BIT(f) && !probe->features[f].works)
			return &probe->features[f];
	return NULL;
}

/* Fills err for what cannot be done: bwrap's reason, and the remedy. instead is another way out, or
 * "". */
static int refuse(struct err *err, const struct probe *probe, const char *what,
	const struct probe_result *result, const char *instead)
{
	CLEANUP_FREE char *remedy = cause_remedy(result->cause, &probe->names);

	err_set(err, ERR_PROBE, "%s: %s", what,
		*result->said ? result->said : cause_words(result->cause));
	return err_hint(err, "%s: %s%s", cause_words(result->cause), remedy, instead);
}

/* Says what is given up, and why; and once for each cause what to do about it. */
static void note(struct strvec *notes, const struct probe *probe, const char *what,
	const struct probe_result *result)
{
	const char *words = cause_words(result->cause);
	CLEANUP_FREE char *remedy = cause_remedy(result->cause, &probe->names);
	CLEANUP_FREE char *line = xasprintf("%s: %s", words, remedy);

	strvec_pushf(notes, "%s (%s)", what, words);
	if (!strvec_has(notes, line))
		strvec_push(notes, line);
}

static int choose_proc(struct probe_choice *choice, const struct probe *probe,
	const struct probe_needs *needs, struct strvec *notes, struct err *err)
{
	const struct probe_result *fresh = &probe->features[PROBE_FRESH_PROC],
				  *bound = &probe->features[PROBE_BOUND_PROC];

	choice->proc = PROBE_PROC_NONE;
	if (needs->fresh && fresh->works)
		choice->proc = PROBE_PROC_FRESH;
	else if (needs->bind && bound->works)
		choice->proc = PROBE_PROC_BIND;
	else if (needs->fresh && needs->bind)
		return refuse(err, probe, "no /proc can be had (fresh, bound)", fresh,
			"; or run without: --proc none");
	else if (needs->fresh)
		return refuse(err, probe, "no /proc can be had (fresh)", fresh,
			bound->works ? "; or see this /proc read-only, the host's processes "
				       "included: --proc bind"
				     : "");
	else if (needs->bind)
		return refuse(err, probe, "no /proc can be had (bound)", bound,
			"; or run without: --proc none");
	if (needs->fresh && choice->proc == PROBE_PROC_BIND)
		note(notes, probe,
			"a fresh /proc cannot be mounted: /proc is the caller's, read-only, and "
			"shows the caller's processes",
			fresh);
	return 0;
}

/* What the sandbox is without what lies around bwrap. */
static void choose_outer(
	struct probe_choice *choice, const struct probe *probe, struct strvec *notes)
{
	const struct probe_result *mounts = &probe->features[PROBE_OUTER_MOUNTS],
				  *pid = &probe->features[PROBE_OUTER_PID];

	choice->outer = pid->works ? OUTER_ALL : mounts->works ? OUTER_MOUNTS : OUTER_NONE;
	if (!pid->works)
		note(notes, probe,
			"no process namespace can be made around bwrap: a guard process ends the "
			"run's processes",
			pid);
	if (!mounts->works)
		note(notes, probe,
			"no mount namespace can be made around bwrap: file systems mounted on the "
			"host during the run can appear inside, and a command that owns the device "
			"nodes or bwrap can change their modes",
			mounts);
}

int probe_choose(struct probe_choice *choice, const struct probe *probe,
	const struct probe_needs *needs, struct strvec *notes, struct err *err)
{
	const struct probe_result *missing = first_missing(probe, NEEDED),
				  *net = &probe->features[PROBE_NET],
				  *hostname = &probe->features[PROBE_HOSTNAME],
				  *userns = &probe->features[PROBE_DISABLE_USERNS];

	*choice = (struct probe_choice){
		.bind_fd = probe->features[PROBE_BIND_FD].works,
		.hostname = hostname->works,
		.disable_userns = needs->disable_userns && userns->works,
		.kept = probe->kept,
	};
	if (missing)
		return refuse(err, probe, "bwrap cannot make a sandbox here", missing, "");
	if (needs->network && !net->works)
		return refuse(err, probe, "a network namespace cannot be made", net,
			"; or run with the host's network: --net host");
	if (needs->hostname && !hostname->works)
		return refuse(err, probe, "the policy sets a host name, which is not allowed here",
			hostname, "; or take identity.hostname out of the policy");
	/* In bwrap's first user namespace a capability could unmount every cover. */
	if (needs->capabilities && !choice->disable_userns)
		return refuse(err, probe,
			"the policy gives capabilities, and nested user namespaces cannot be "
			"disabled here: the command could undo the sandbox",
			userns, "; or take process.capabilities out of the policy");
	if (choose_proc(choice, probe, needs, notes, err) < 0)
		return -1;
	choose_outer(choice, probe, notes);
	if (!hostname->works)
		note(notes, probe, "the host name cannot be set: the command sees the host's",
			hostname);
	if (needs->disable_userns && !userns->works)
		note(notes, probe,
			needs->filtered ? "nested user namespaces cannot be disabled: the system "
					  "call filter alone keeps them off"
					: "nested user namespaces cannot be disabled: covers below "
					  "writable places can be undone",
			userns);
	return 0;
}

/* Asking, or knowing already */

/* Processes are named by their files in /proc here; in another namespace's they would be others. */
static int check_proc(struct err *err)
{
	enum cause cause;
	char self[32] = "";

	if (readlink("/proc/self", self, sizeof(self) - 1) < 0)
		cause = CAUSE_PROC_MISSING;
	else if (strtol(self, NULL, 10) != getpid())
		cause = CAUSE_PROC_FOREIGN;
	else
		return 0;
	err_set(err, ERR_PROBE, "%s", cause_words(cause));
	return hint_remedy(err, cause);
}

/* Keeps an answer that another run may believe; else there is none for this place any more. key is
 * from before the trials: a bwrap that was replaced during them has another. */
static void keep(const struct probe *probe, const char *key, const struct probe_request *request,
	const struct host *host, struct strvec *notes)
{
	bool keeps = key && probe_is_sound(probe, host);
	struct err err = {0};
	CLEANUP_CLOSE int dir = cache_open(request->runtime_dir, keeps, &err);

	if (dir >= 0 && key && !keeps)
		cache_remove(dir);
	if (!key)
		err_set(&err, ERR_PROBE,
			"this process has a system call filter of its own, or /proc does not tell");
	if (!key || (keeps && (dir < 0 || cache_write(dir, key, probe, &err) < 0)))
		strvec_pushf(notes,
			"what this host allows cannot be kept, and is found out anew by every run: "
			"%s",
			err.message);
}

int probe_run(struct probe *probe, const struct probe_request *request, struct strvec *notes,
	struct err *err)
{
	__attribute__((cleanup(host_clear))) struct host host = {0};
	struct trials trials = {.bwrap = request->bwrap,
		.uid = request->uid,
		.gid = request->gid,
		.end = clock_ms(CLOCK_MONOTONIC) + TRIALS_MS};
	CLEANUP_FREE char *key = NULL;

	*probe = (struct probe){0};
	if (check_proc(err) < 0 || host_check_nodes(1, err) < 0)
		return -1;
	host_look(&host, request->uid, request->gid);
	probe->names = host.names;
	key = cache_key(request->bwrap, &host);
	try_all(&trials, probe, &host);
	ask_version(&trials, probe);
	keep(probe, key, request, &host, notes);
	return 0;
}

bool probe_recall(struct probe *probe, const struct probe_request *request)
{
	__attribute__((cleanup(host_clear))) struct host host = {0};
	CLEANUP_FREE char *key = NULL;
	struct err err;
	CLEANUP_CLOSE int dir = cache_open(request->runtime_dir, false, &err);

	if (dir < 0 || check_proc(&err) < 0 || host_check_nodes(1, &err) < 0)
		return false;
	host_look(&host, request->uid, request->gid);
	key = cache_key(request->bwrap, &host);
	if (!key || !cache_read(dir, key, probe) || !probe_is_sound(probe, &host))
		return false;
	probe->names = host.names;
	return true;
}

void probe_forget(const struct probe_request *request)
{
	struct err err;
	CLEANUP_CLOSE int dir = cache_open(request->runtime_dir, false, &err);

	if (dir >= 0)
		cache_remove(dir);
}

int probe_for(struct probe_choice *choice, const struct probe_request *request,
	const struct probe_needs *needs, struct strvec *notes, struct err *err)
{
	CLEANUP_STRVEC struct strvec said = {0};
	struct probe probe;

	if (!probe_recall(&probe, request) || probe_choose(choice, &probe, needs, &said, err) < 0) {
		strvec_clear(&said);
		if (probe_run(&probe, request, &said, err) < 0 ||
			probe_choose(choice, &probe, needs, &said, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < said.n; i++)
		strvec_push(notes, said.v[i]);
	return 0;
}

void probe_explain(struct err *err, const struct probe_request *request)
{
	__attribute__((cleanup(host_clear))) struct host host = {0};
	CLEANUP_FREE char *remedy = NULL;
	enum cause cause;

	host_look(&host, request->uid, request->gid);
	cause = hint_cause(&host, err->message);
	if (cause == CAUSE_UNKNOWN)
		return;
	remedy = cause_remedy(cause, &host.names);
	err_hint(err, "%s: %s", cause_words(cause), remedy);
}
