#include "job/store.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/private.h"
#include "base/read.h"
#include "run/procs.h"
#include "run/stdio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOCK "lock"
#define META "meta.json"
#define META_NEW ".meta.json.new"
#define REPORT "report.json"
/* Directories on the way to and from their names. */
#define UNNAMED ".job-"

static void add_place(struct strvec *places, const char *dir, const char *below)
{
	CLEANUP_FREE char *normal = dir && *dir == '/' ? path_normalize(dir) : NULL;

	if (normal && normal[1])
		strvec_take(places, path_join(normal, below));
}

void store_places(
	const char *state, const char *state_home, const char *home, struct strvec *places)
{
	add_place(places, state, "");
	add_place(places, state_home, "sbx/jobs");
	add_place(places, home, ".local/state/sbx/jobs");
}

/* Makes the directories above a place that are missing. */
static void make_parents(const char *place)
{
	CLEANUP_FREE char *path = xstrdup(place);

	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

int store_open(const char *place, bool make, struct err *err)
{
	CLEANUP_FREE char *above = path_parent(place), *real = NULL, *at = NULL;
	CLEANUP_CLOSE int parent = -1;
	int dir;

	if (make)
		make_parents(place);
	real = realpath(above, NULL);
	if (!real && errno == ENOENT && !make)
		return -ENOENT;
	if (!real)
		return err_set(err, ERR_SYSTEM, "cannot keep jobs in %s: %s: %s", place, above,
			strerror(errno));
	at = path_join(real, path_base(place));
	parent = private_parent(at);
	if (parent < 0) {
		err_set(err, ERR_SYSTEM, "cannot keep jobs in %s: others may change %s", place,
			real);
		return err_hint(err, "name a place of your own: SBX_STATE=DIR");
	}
	dir = private_open(parent, path_base(at), make);
	if (dir >= 0 || (dir == -ENOENT && !make))
		return dir;
	if (dir != -EPERM)
		return err_set(
			err, ERR_SYSTEM, "cannot keep jobs in %s: %s", place, strerror(-dir));
	err_set(err, ERR_SYSTEM, "cannot keep jobs in %s: it is not yours alone (owner, mode 0700)",
		place);
	return err_hint(err, "name another place, SBX_STATE=DIR, or chmod 0700 this one");
}

static bool is_id(const char *name)
{
	return strlen(name) == JOB_ID_LEN && strspn(name, "0123456789abcdef") == JOB_ID_LEN;
}

static int random_id(char id[JOB_ID_LEN + 1], struct err *err)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_set(err, ERR_SYSTEM, "cannot get random bytes: %s", strerror(errno));
	snprintf(id, JOB_ID_LEN + 1, "%08" PRIx32, random);
	return 0;
}

/* Makes the directory under a name that is no id, locks it, and gives it the id: it holds a file then,
 * so that nothing that has the name is replaced. */
static int make_named(struct job *job, int store)
{
	CLEANUP_FREE char *unnamed = xasprintf(UNNAMED "%s", job->id);

	job->dir = -1;
	if (mkdirat(store, unnamed, 0700) < 0)
		return -errno;
	job->dir = private_open(store, unnamed, false);
	if (job->dir < 0)
		return job->dir;
	job->lock =
		openat(job->dir, LOCK, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (job->lock >= 0 && flock(job->lock, LOCK_EX | LOCK_NB) == 0 &&
		renameat(store, unnamed, store, job->id) == 0)
		return 0;
	return -errno;
}

int job_make(struct job *job, int store, struct err *err)
{
	for (int attempt = 0; attempt < 100; attempt++) {
		int error;

		if (random_id(job->id, err) < 0)
			return -1;
		error = make_named(job, store);
		if (error == 0)
			return 0;
		job_close(job);
		if (error == -EEXIST || error == -ENOTEMPTY)
			continue;
		store_tidy(store);
		return err_set(
			err, ERR_SYSTEM, "cannot make a job's directory: %s", strerror(-error));
	}
	return err_set(err, ERR_SYSTEM, "cannot find a free id for a job");
}

static int err_none(const char *id, struct err *err)
{
	return err_set(err, ERR_USAGE, "there is no job %s", id);
}

int job_open(struct job *job, int store, const char *id, struct err *err)
{
	int dir = is_id(id) ? private_open(store, id, false) : -ENOENT;

	if (dir == -ENOENT)
		return err_none(id, err);
	if (dir == -EPERM)
		return err_set(err, ERR_SYSTEM,
			"job %s: its directory is not yours alone (owner, mode 0700)", id);
	if (dir < 0)
		return err_set(err, ERR_SYSTEM, "job %s: %s", id, strerror(-dir));
	*job = (struct job)JOB_INIT;
	memcpy(job->id, id, JOB_ID_LEN + 1);
	job->dir = dir;
	return 0;
}

void job_close(struct job *job)
{
	if (job->lock >= 0)
		close(job->lock);
	if (job->dir >= 0)
		close(job->dir);
	job->dir = job->lock = -1;
}

/* The names in a directory that a filter wants. 0 or -errno. */
static int list_names(int dir, bool (*wanted)(const char *), struct strvec *names)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int error = -errno;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return error;
	}
	while ((entry = readdir(stream)))
		if (wanted(entry->d_name))
			strvec_push(names, entry->d_name);
	closedir(stream);
	return 0;
}

int store_list(int store, struct strvec *ids, struct err *err)
{
	int error = list_names(store, is_id, ids);

	if (error)
		return err_set(err, ERR_SYSTEM, "cannot list the jobs: %s", strerror(-error));
	return 0;
}

static bool is_entry(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* A job's directory holds files alone: one that holds a directory is not removed. 0 or -errno. */
static int remove_dir(int store, const char *name)
{
	CLEANUP_STRVEC struct strvec names = {0};
	CLEANUP_CLOSE int dir = private_open(store, name, false);

	if (dir >= 0)
		list_names(dir, is_entry, &names);
	for (size_t i = 0; i < names.n; i++)
		unlinkat(dir, names.v[i], 0);
	return unlinkat(store, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

/* Whether the supervisor lives. A job without a lock never was one. */
static int is_alive(int dir, bool *alive)
{
	CLEANUP_CLOSE int lock =
		openat(dir, LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (lock < 0 || fstat(lock, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*alive = flock(lock, LOCK_SH | LOCK_NB) < 0;
	return *alive && errno != EWOULDBLOCK ? -errno : 0;
}

int job_remove(int store, const char *id, struct err *err)
{
	struct job job = JOB_INIT;
	CLEANUP_FREE char *unnamed = xasprintf(UNNAMED "%s.%d", id, (int)getpid());
	bool alive = false;
	int error;

	if (job_open(&job, store, id, err) < 0)
		return err->kind == ERR_USAGE ? 0 : -1;
	/* Whatever else is wrong with it: it can be removed, unless it is alive. */
	is_alive(job.dir, &alive);
	job_close(&job);
	if (alive) {
		err_set(err, ERR_USAGE, "job %s is running", id);
		return err_hint(err, "sbx-job stop %s ends it", id);
	}
	if (renameat(store, id, store, unnamed) < 0)
		error = errno == ENOENT ? 0 : -errno;
	else
		error = remove_dir(store, unnamed);
	if (error)
		return err_set(
			err, ERR_SYSTEM, "job %s cannot be removed: %s", id, strerror(-error));
	return 0;
}

static bool is_unnamed(const char *name)
{
	return strncmp(name, UNNAMED, strlen(UNNAMED)) == 0;
}

void store_tidy(int store)
{
	CLEANUP_STRVEC struct strvec names = {0};

	list_names(store, is_unnamed, &names);
	for (size_t i = 0; i < names.n; i++) {
		CLEANUP_CLOSE int dir = private_open(store, names.v[i], false);
		struct stat st;
		bool alive = false;

		/* One being made has no lock for a moment. */
		if (dir >= 0 && fstat(dir, &st) == 0 && time(NULL) - st.st_mtime > 60 &&
			(is_alive(dir, &alive) < 0 || !alive))
			remove_dir(store, names.v[i]);
	}
}

int job_write_meta(const struct job *job, const json *meta, struct err *err)
{
	CLEANUP_FREE char *text = json_print(meta, true);
	CLEANUP_CLOSE int fd = openat(
		job->dir, META_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error = fd < 0 ? -errno : write_all(fd, text, strlen(text));

	if (error == 0 && (fsync(fd) < 0 || renameat(job->dir, META_NEW, job->dir, META) < 0 ||
				  fsync(job->dir) < 0))
		error = -errno;
	if (error)
		return err_set(
			err, ERR_SYSTEM, "cannot write down job %s: %s", job->id, strerror(-error));
	return 0;
}

const char *job_state_name(enum job_state state)
{
	static const char *const names[] = {
		[JOB_STARTING] = "starting",
		[JOB_RUNNING] = "running",
		[JOB_ENDED] = "ended",
		[JOB_LOST] = "lost",
	};

	return names[state];
}

/* Reads an object from a file of a job's: NULL with no error when there is none. */
static int read_object(const struct job *job, const char *name, json **object, struct err *err)
{
	CLEANUP_CLOSE int fd =
		openat(job->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	CLEANUP_FREE char *text = NULL;
	struct err fault;
	struct stat st;
	size_t len = 0;
	ssize_t n;

	*object = NULL;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_SYSTEM, "job %s: cannot read its %s: %s", job->id, name,
			strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > JSON_MAX_SIZE)
		return err_set(err, ERR_SYSTEM, "job %s: its %s is none", job->id, name);
	text = xcalloc((size_t)st.st_size + 1, 1);
	while (len < (size_t)st.st_size && (n = read(fd, text + len, (size_t)st.st_size - len)) > 0)
		len += (size_t)n;
	*object = json_read(text, len, &fault);
	if (*object && json_type(*object) == JSON_OBJECT)
		return 0;
	json_free(*object);
	*object = NULL;
	return err_set(err, ERR_SYSTEM, "job %s: its %s is damaged", job->id, name);
}

/* A whole number of an object, or -1. */
static int64_t get_number(const json *object, const char *key)
{
	const json *value = json_get(object, key);
	double n = value && json_type(value) == JSON_NUMBER ? json_number(value) : -1;

	return n >= 0 && n < 9e15 ? (int64_t)n : -1;
}

static int read_meta(const struct job *job, struct job_facts *facts, struct err *err)
{
	const json *boot, *split;
	int64_t pid, start;

	if (read_object(job, META, &facts->meta, err) < 0)
		return -1;
	facts->created_ms = facts->started_ms = -1;
	if (!facts->meta)
		return 0;
	facts->created_ms = get_number(facts->meta, "created_ms");
	facts->started_ms = get_number(facts->meta, "started_ms");
	pid = get_number(facts->meta, "pid");
	start = get_number(facts->meta, "pid_start");
	boot = json_get(facts->meta, "boot");
	split = json_get(facts->meta, "split");
	if (facts->created_ms < 0 || pid <= 1 || pid > INT32_MAX || start < 0 || !boot ||
		json_type(boot) != JSON_STRING || !split || json_type(split) != JSON_BOOL)
		return err_set(err, ERR_SYSTEM, "job %s: its " META " is damaged", job->id);
	facts->pid = (pid_t)pid;
	facts->pid_start = (uint64_t)start;
	facts->split = json_bool(split);
	snprintf(facts->boot, sizeof(facts->boot), "%s", json_string(boot));
	return 0;
}

static int read_report(const struct job *job, struct job_facts *facts, struct err *err)
{
	const json *outcome;

	if (read_object(job, REPORT, &facts->report, err) < 0)
		return -1;
	outcome = facts->report ? json_get(facts->report, "outcome") : NULL;
	if (facts->report && (!outcome || json_type(outcome) != JSON_STRING ||
				     get_number(facts->report, "exit_code") < 0 ||
				     get_number(facts->report, "exit_code") > 255))
		return err_set(err, ERR_SYSTEM, "job %s: its " REPORT " is damaged", job->id);
	return 0;
}

/* Whether a job that was opened has been removed since, or is being removed. */
static bool is_removed(const struct job *job)
{
	CLEANUP_FREE char *name = xasprintf("../%s", job->id);
	struct stat st;

	return fstatat(job->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static int look(const struct job *job, struct job_facts *facts, struct err *err)
{
	/* First: what has been written when it is gone is all that there will be. */
	int error = is_alive(job->dir, &facts->alive);

	if (error)
		return err_set(err, ERR_SYSTEM, "job %s: its " LOCK " cannot be used: %s", job->id,
			strerror(-error));
	if (read_report(job, facts, err) < 0 || read_meta(job, facts, err) < 0)
		return -1;
	facts->state = facts->report            ? JOB_ENDED
		       : !facts->alive          ? JOB_LOST
		       : facts->started_ms >= 0 ? JOB_RUNNING
						: JOB_STARTING;
	return 0;
}

int job_look(const struct job *job, struct job_facts *facts, struct err *err)
{
	int rc;

	*facts = (struct job_facts){0};
	rc = look(job, facts, err);
	/* The files may have gone between two looks. */
	if (is_removed(job))
		rc = err_none(job->id, err);
	if (rc < 0)
		job_facts_clear(facts);
	return rc;
}

void job_facts_clear(struct job_facts *facts)
{
	json_free(facts->meta);
	json_free(facts->report);
	*facts = (struct job_facts){0};
}

static bool read_boot(char boot[64])
{
	ssize_t n = read_text(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, 64);

	if (n > 0)
		boot[strcspn(boot, "\n")] = '\0';
	return n > 0;
}

int job_facts_self(struct job_facts *facts, struct err *err)
{
	struct proc_stat stat;

	if (procs_stat(getpid(), &stat) <= 0 || !read_boot(facts->boot))
		return err_set(err, ERR_SYSTEM, "/proc does not say when this process started");
	facts->pid = stat.pid;
	facts->pid_start = stat.start;
	return 0;
}

int job_supervisor(const struct job_facts *facts)
{
	char boot[64];
	struct proc_stat stat;
	int fd;

	if (facts->pid <= 1 || !read_boot(boot) || strcmp(boot, facts->boot) != 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, facts->pid, 0);
	/* Looked at when the descriptor is there: what it stands for is still this process, or has
	 * ended. */
	if (fd >= 0 && procs_stat(facts->pid, &stat) > 0 && stat.start == facts->pid_start)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}
