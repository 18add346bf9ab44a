#include "run/probe.h"

#include "base/mem.h"
#include "base/path.h"
#include "run/hint.h"
#include "run/host.h"
#include "run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A trial takes some 10 ms; one that takes longer than this hangs. */
#define TRIAL_MS 10000

/* The number in a file of /proc/sys; -1 when it is not there. */
static long setting(const char *path)
{
	FILE *file = fopen(path, "re");
	char text[32];
	long value = -1;

	if (!file)
		return -1;
	if (fgets(text, sizeof(text), file))
		value = strtol(text, NULL, 10);
	fclose(file);
	return value;
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
		result = err_hint(err, "%s", cause_remedy(CAUSE_NOT_INSTALLED));
	}
	if (result < 0) {
		free(*path);
		*path = NULL;
	}
	return result;
}

/* An empty sandbox whose command does not exist: all that matters comes before its execution.
 * null is a descriptor of /dev/null. */
static void trial_words(struct strvec *words, const struct probe *try, bool network, int null)
{
	strvec_pushl(words, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		"--unshare-cgroup-try", "--die-with-parent", "--new-session", NULL);
	if (network)
		strvec_push(words, "--unshare-net");
	if (try->disable_userns)
		strvec_push(words, "--disable-userns");
	if (try->hostname)
		strvec_pushl(words, "--hostname", "sbx", NULL);
	if (try->proc == PROBE_PROC_FRESH)
		strvec_pushl(words, "--proc", "/proc", NULL);
	if (try->proc == PROBE_PROC_BIND)
		strvec_pushl(words, "--ro-bind", "/proc", "/proc", NULL);
	if (try->bind_fd) {
		strvec_push(words, "--ro-bind-fd");
		strvec_pushf(words, "%d", null);
		strvec_push(words, "/null");
	}
	strvec_pushl(words, "--remount-ro", "/", NULL);
}

/* Runs one trial; whether it worked. said gets the first line of what bwrap printed. */
static bool trial(
	const char *bwrap, const struct probe *try, bool network, char *said, size_t said_size)
{
	CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	CLEANUP_CLOSE int output = memfd_create("bwrap-says", MFD_CLOEXEC);
	CLEANUP_STRVEC struct strvec words = {0}, notes = {0};
	char *const command[] = {(char[]){"/nothing"}, NULL};
	const int stdio[] = {null, null, output};
	struct launch_spec spec = {
		.bwrap = bwrap,
		.words = &words,
		.command = command,
		.stdio = stdio,
		.keep = &null,
		.n_keep = 1,
		.outer = try->outer,
	};
	struct child child = {0};
	struct err err = {0};
	bool worked = false;
	ssize_t n;

	trial_words(&words, try, network, null);
	if (launch(&child, &spec, &notes, &err) < 0) {
		snprintf(said, said_size, "%.500s", err.message);
		return false;
	}
	if (poll(&(struct pollfd){.fd = child.pidfd, .events = POLLIN}, 1, TRIAL_MS) == 1)
		worked = launch_taken(&child);
	child_close(&child);
	n = pread(output, said, said_size - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	said[strcspn(said, "\n")] = '\0';
	return worked;
}

/* Tries all at once; where that fails, one thing after the other, each together with what has
 * worked so far. false when what the run cannot do without does not work; said is then bwrap's
 * reason. */
static bool find_working(struct probe *probe, const struct probe_request *request, bool network,
	char *said, size_t said_size)
{
	bool *const extras[] = {&probe->bind_fd, &probe->hostname, &probe->disable_userns};
	size_t n_extras = request->disable_userns ? 3 : 2;
	char ignored[512];

	*probe = (struct probe){
		.outer = OUTER_ALL,
		.proc = request->fresh  ? PROBE_PROC_FRESH
			: request->bind ? PROBE_PROC_BIND
					: PROBE_PROC_NONE,
		.bind_fd = true,
		.hostname = true,
		.disable_userns = request->disable_userns,
	};
	if (trial(request->bwrap, probe, network, said, said_size))
		return true;
	*probe = (struct probe){.outer = OUTER_ALL};
	while (!trial(request->bwrap, probe, network, said, said_size))
		if (probe->outer-- == OUTER_NONE)
			return false;
	if (request->fresh) {
		probe->proc = PROBE_PROC_FRESH;
		if (!trial(request->bwrap, probe, network, said, said_size))
			probe->proc = PROBE_PROC_NONE;
	}
	if (request->bind && probe->proc == PROBE_PROC_NONE) {
		probe->proc = PROBE_PROC_BIND;
		if (!trial(request->bwrap, probe, network, ignored, sizeof(ignored)))
			probe->proc = PROBE_PROC_NONE;
	}
	if ((request->fresh || request->bind) && probe->proc == PROBE_PROC_NONE)
		return false;
	for (size_t i = 0; i < n_extras; i++) {
		*extras[i] = true;
		*extras[i] = trial(request->bwrap, probe, network, ignored, sizeof(ignored));
	}
	return true;
}

/* Whether something is mounted over parts of /proc, as container engines do. */
static bool proc_is_masked(void)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	CLEANUP_FREE char *line = NULL;
	bool masked = false;
	size_t size = 0;

	while (file && !masked && getline(&line, &size, file) > 0)
		masked = strstr(line, " /proc/") && !strstr(line, " /proc/sys/fs/binfmt_misc ");
	if (file)
		fclose(file);
	return masked;
}

static void hint(struct err *err)
{
	if (setting("/proc/sys/user/max_user_namespaces") == 0)
		err_hint(err,
			"user namespaces are turned off: sysctl -w user.max_user_namespaces=15000");
	else if (geteuid() != 0 && setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		err_hint(err, "user namespaces are for root only: sysctl -w "
			      "kernel.unprivileged_userns_clone=1");
	else if (geteuid() != 0 &&
		 setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		err_hint(err, "AppArmor keeps user namespaces from programs without a profile: "
			      "give bwrap one "
			      "(\"userns,\" in /etc/apparmor.d/bwrap), or sysctl -w "
			      "kernel.apparmor_restrict_unprivileged_userns=0");
	else if (proc_is_masked() || access("/.dockerenv", F_OK) == 0 ||
		 access("/run/.containerenv", F_OK) == 0)
		err_hint(err,
			"the container forbids it: start it with --security-opt seccomp=unconfined "
			"(or a "
			"profile that allows namespaces and mounts) and, for a fresh /proc, "
			"--security-opt systempaths=unconfined (docker) or unmask=ALL (podman)");
	else
		err_hint(err, "user namespaces and mounts must be allowed for you: a seccomp "
			      "filter, a security "
			      "module or a chroot forbids them");
}

/* Why the best did not work, and what is needed did not either. */
static int refuse(const struct probe_request *request, const char *said, struct err *err)
{
	struct probe_request less = *request;
	char ignored[512] = "";
	struct probe probe;

	less.fresh = less.bind = false;
	if (request->network && find_working(&probe, request, false, ignored, sizeof(ignored))) {
		err_set(err, ERR_PROBE, "a network namespace cannot be made: %s", said);
		return err_hint(err,
			"allow network namespaces, or run with the host's network: --net host");
	}
	if ((request->fresh || request->bind) &&
		find_working(&probe, &less, request->network, ignored, sizeof(ignored))) {
		err_set(err, ERR_PROBE, "no /proc can be had (%s%s%s): %s",
			request->fresh ? "fresh" : "",
			request->fresh && request->bind ? ", bound" : "",
			request->bind && !request->fresh ? "bound" : "", said);
		if (request->fresh && !request->bind)
			return err_hint(err,
				"parts of /proc are masked here: --proc bind shows this /proc "
				"read-only, host processes included; or unmask it (docker: "
				"--security-opt "
				"systempaths=unconfined, podman: --security-opt unmask=ALL)");
		return err_hint(err, "run without: --proc none");
	}
	err_set(err, ERR_PROBE, "bwrap cannot make a sandbox here: %s", said);
	hint(err);
	return -1;
}

int probe_run(struct probe *probe, const struct probe_request *request, struct strvec *notes,
	struct err *err)
{
	char said[512] = "";
	char self[32] = "";

	/* Processes are named by their files in /proc here; in another namespace's they would be
	 * others. */
	if (readlink("/proc/self", self, sizeof(self) - 1) < 0 ||
		strtol(self, NULL, 10) != getpid()) {
		err_set(err, ERR_PROBE,
			*self ? "/proc is that of another process namespace"
			      : "/proc is not mounted");
		return err_hint(err, "mount the one of this namespace: mount -t proc proc /proc");
	}
	if (!find_working(probe, request, request->network, said, sizeof(said)))
		return refuse(request, said, err);
	if (probe->outer != OUTER_ALL)
		strvec_push(notes, "no process namespace can be made around bwrap: a guard process "
				   "ends the run's processes");
	if (probe->outer == OUTER_NONE)
		strvec_push(notes,
			"no mount namespace can be made around bwrap: file systems mounted on the "
			"host during the run can appear inside, and a command that owns the device "
			"nodes or bwrap can change their modes");
	if (request->fresh && request->bind && probe->proc == PROBE_PROC_BIND)
		strvec_push(notes, "a fresh /proc cannot be mounted: /proc is the caller's, "
				   "read-only, and shows "
				   "the caller's processes");
	if (!probe->hostname)
		strvec_push(notes, "the host name cannot be set: the command sees the host's");
	if (request->disable_userns && !probe->disable_userns)
		strvec_push(notes, "nested user namespaces cannot be disabled: covers below "
				   "writable places can "
				   "be undone");
	return 0;
}
