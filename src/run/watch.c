#include "run/watch.h"

#include "base/mem.h"
#include "base/mounts.h"
#include "base/open.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/strvec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* What can happen to a name, or to the directory itself. */
#define EVENTS                                                                                     \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |     \
		IN_ONLYDIR)

/* Reads of events at most before something else gets its turn. */
#define READS 16

/* How often a name is moved aside while the command runs: whoever makes it again and again would
 * fill the directory. */
#define MOVES 3

/* The byte of the lock. */
#define LOCK_AT 0x736278

/* A bind in which something is watched. */
struct base {
	const char *at; /* in the sandbox */
	int fd;         /* its root directory, -1 when it cannot be opened */
	int watched;    /* 0, or why that is not watched */
	int lock;       /* the same directory, locked for quarantine; -1 = not */
};

struct cover {
	size_t base;
	bool seen;        /* it is in the table: */
	unsigned long id; /* so it has to stay, where it is */
	bool gone;        /* and what it covered is, too, which takes nothing away */
	bool lost;
};

struct name {
	size_t base;
	unsigned moves; /* how often it was moved aside */
};

struct watch {
	const struct watch_spec *spec;
	int inotify, table;
	int refused; /* why there is no inotify: an errno */
	struct base *bases;
	size_t n_bases, alloc_bases;
	struct cover *covers;     /* one for each of the mounts; unused without `over` */
	struct name *names;       /* one for each of the names */
	struct strvec components; /* of all that is watched, sorted */
	const char *unwatched;    /* a name that cannot be watched, the first of n_unwatched */
	size_t n_unwatched;
	int error; /* and why: an errno */
	int lost;  /* 1: a cover is, and the run is to be ended */
};

/* Directories on the way */

/* 0 or an errno. */
static int watch_directory(const struct watch *w, int dir)
{
	char self[64];

	if (w->inotify < 0)
		return w->refused;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", dir);
	return inotify_add_watch(w->inotify, self, EVENTS) < 0 ? errno : 0;
}

/* The index of a bind, which is opened if it is not yet. */
static size_t open_base(struct watch *w, const char *at, int root)
{
	struct base *base;

	for (size_t i = 0; i < w->n_bases; i++)
		if (strcmp(w->bases[i].at, at) == 0)
			return i;
	GROW(w->bases, w->n_bases, w->alloc_bases);
	base = &w->bases[w->n_bases];
	*base = (struct base){.at = at, .lock = -1};
	base->fd = open_exact(root, at[1] ? at + 1 : ".", O_PATH | O_DIRECTORY);
	return w->n_bases++;
}

static void lock_base(struct base *base)
{
	struct flock lock = {.l_type = F_RDLCK, .l_start = LOCK_AT, .l_len = 1};

	if (base->fd < 0 || base->lock >= 0)
		return;
	base->lock = openat(base->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base->lock >= 0 && fcntl(base->lock, F_OFD_SETLK, &lock) < 0) {
		close(base->lock);
		base->lock = -1;
	}
}

/* Where the way to a name ends. */
struct end {
	int dir;     /* the last directory that is there */
	bool own;    /* it is to be closed */
	char *entry; /* the next name, which is no directory to go on in; owned */
	size_t rest; /* the bytes that follow it */
	int error; /* 0: the entry is there; else why it is not: ENOENT, ENOTDIR, or cannot be seen */
	bool link;   /* it is a symbolic link */
	bool going;  /* it has been removed, and its name takes a moment longer */
	int watched; /* 0, or why not every directory down to it is watched */
};

static void end_clear(struct end *end)
{
	if (end->own)
		close(end->dir);
	free(end->entry);
}

#define CLEANUP_END __attribute__((cleanup(end_clear)))

/* Goes on in a directory. */
static void enter(const struct watch *w, struct end *end, int dir)
{
	int error = watch_directory(w, dir);

	if (end->own)
		close(end->dir);
	end->dir = dir;
	end->own = true;
	end->watched = end->watched ? end->watched : error;
}

/* Goes down to the name `below` in a bind, from directory to directory through no link. Each is
 * watched before it is looked into, so that nothing can be made there in between. */
static struct end walk(const struct watch *w, const struct base *base, const char *below)
{
	struct end end = {.dir = base->fd, .watched = base->watched};

	for (;;) {
		size_t len = strcspn(below, "/");
		struct stat st;
		int dir;

		free(end.entry);
		end.entry = xstrndup(below, len);
		end.rest = strlen(below + len);
		end.error = fstatat(end.dir, end.entry, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
		end.link = !end.error && S_ISLNK(st.st_mode);
		end.going = !end.error && st.st_nlink == 0;
		if (end.error || end.link || !below[len])
			return end;
		dir = openat(end.dir, end.entry, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0) {
			/* A file stands in the way, or what was there has just been replaced, of
			 * which an event tells. */
			end.error = errno == ELOOP ? ENOTDIR : errno;
			return end;
		}
		enter(w, &end, dir);
		below += len + 1;
	}
}

/* The mount table */

/* The table as it is now; nothing when it cannot be read, twice. 0 or -errno. */
static int read_table(const struct watch *w, struct mount_table *table)
{
	int error = w->table < 0 ? -EBADF : mount_table_read(table, w->table);

	if (error && w->table >= 0) {
		mount_table_clear(table);
		error = mount_table_read(table, w->table);
	}
	return error;
}

/* The mount of a cover, wherever it is now. */
static const struct mount_line *find_cover(
	const struct mount_table *table, const struct cover *cover)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->v[i].id == cover->id)
			return &table->v[i];
	return NULL;
}

/* line: where the mount is now; NULL: nowhere. */
static void report_lost(
	const struct expected_mount *m, const struct mount_line *line, struct run_result *result)
{
	CLEANUP_FREE char *message =
		line ? xasprintf("%s was renamed on the host: what protects it stands at %s now",
			       m->name, line->at)
		     : xasprintf("%s was replaced or removed on the host: nothing protects the "
				 "name any more",
			       m->name);

	run_violation(
		result, &(struct violation){"lost", m->name, m->rule, message,
				"it could be used until this was noticed: do not rename or "
				"replace it while a command runs (editors do when they save)"});
}

/* Whether nothing is there any more under the name that a cover stood on. */
static bool is_gone(const struct watch *w, size_t i)
{
	const struct expected_mount *m = &w->spec->mounts[i];
	CLEANUP_USER const struct user *as = user_enter(w->spec->user);
	CLEANUP_END struct end end =
		walk(w, &w->bases[w->covers[i].base], path_below(m->dest, m->over));

	return end.error == ENOENT || end.error == ENOTDIR || end.going;
}

/* Looks whether all covers are where they were. */
static void check_covers(struct watch *w, struct run_result *result)
{
	CLEANUP_MOUNT_TABLE struct mount_table table = {0};

	read_table(w, &table);
	for (size_t i = 0; i < w->spec->n_mounts; i++) {
		const struct expected_mount *m = &w->spec->mounts[i];
		struct cover *cover = &w->covers[i];
		const struct mount_line *line;

		if (!cover->seen || cover->lost)
			continue;
		line = find_cover(&table, cover);
		if (line && strcmp(line->at, m->dest) == 0)
			continue;
		cover->gone |= m->passing && !line;
		if (cover->gone && is_gone(w, i))
			continue;
		cover->lost = true;
		report_lost(m, line, result);
		w->lost |= !m->lost_report;
	}
}

/* Names */

static const char look_hint[] = "look at it before anything uses it";

/* Whether another run that moves aside works in a bind; also when that cannot be known. */
static bool is_shared(const struct base *base)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = LOCK_AT, .l_len = 1};

	return base->lock < 0 || fcntl(base->lock, F_OFD_GETLK, &lock) < 0 ||
	       lock.l_type != F_UNLCK;
}

/* Gives what is at the end of a way, in its directory, a name that no tool of the host's knows; that
 * name, or NULL with errno. */
static char *move_aside(const struct end *end)
{
	uint64_t random;
	char *to;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return NULL;
	to = xasprintf(".sbx-quarantine.%.200s.%016" PRIx64, end->entry, random);
	if (renameat2(end->dir, end->entry, end->dir, to, RENAME_NOREPLACE) == 0)
		return to;
	free(to);
	return NULL;
}

/* Whether a name is as it was when the command was started. */
static bool is_unchanged(const struct watch_name *name, const struct end *end)
{
	char text[PATH_MAX];
	ssize_t n;

	if (end->error)
		return true;
	if (!name->link || !end->link || end->rest)
		return false;
	n = readlinkat(end->dir, end->entry, text, sizeof(text));
	return n == (ssize_t)strlen(name->link) && memcmp(text, name->link, (size_t)n) == 0;
}

static void report_name(const struct watch_name *name, const char *path, const char *what,
	const char *hint, struct run_result *result)
{
	CLEANUP_FREE char *message = xasprintf(
		"%s was %s while the command ran%s", path, name->link ? "replaced" : "made", what);

	run_violation(result, &(struct violation){name->link ? "replaced" : "appeared", path,
				      name->rule, message, hint});
}

/* Moves what appeared aside; what cannot be moved is reported at the last look. */
static void quarantine(struct watch *w, size_t i, const struct base *base, const struct end *end,
	const char *path, bool last, struct run_result *result)
{
	const struct watch_name *name = &w->spec->names[i];
	CLEANUP_FREE char *to = NULL, *what = NULL;

	if (!last && (name->late || w->names[i].moves == MOVES))
		return;
	if (is_shared(base)) {
		what = xstrdup(base->lock < 0
				       ? ", and stays: whether another run works in this "
					 "folder cannot be known"
				       : ", and stays: another run works in this folder, and "
					 "moves it aside when it ends");
	} else {
		to = move_aside(end);
		if (!to && errno == ENOENT)
			return;
		if (!to)
			what = xasprintf(", and could not be moved aside: %s", strerror(errno));
	}
	if (to) {
		CLEANUP_FREE char *dir = path_parent(path), *moved = path_join(dir, to);
		CLEANUP_FREE char *from = shell_quote(moved), *back = shell_quote(path);
		CLEANUP_FREE char *hint = xasprintf(
			"look at it; if it is wanted, put it back: mv -nT -- %s %s", from, back);

		w->names[i].moves++;
		what = xasprintf(", and is now %s", moved);
		report_name(name, path, what, hint, result);
	} else if (last) {
		report_name(name, path, what, look_hint, result);
	}
}

static void look_at_name(struct watch *w, size_t i, bool last, struct run_result *result)
{
	const struct watch_name *name = &w->spec->names[i];
	const struct base *base = &w->bases[w->names[i].base];
	CLEANUP_END struct end end = walk(w, base, path_below(name->at, name->in));
	CLEANUP_FREE char *path = xstrndup(name->path, strlen(name->path) - end.rest);

	if (last && end.error && end.error != ENOENT && end.error != ENOTDIR) {
		CLEANUP_FREE char *message = xasprintf(
			"whether %s was made cannot be known: %s", name->path, strerror(end.error));

		run_violation(result,
			&(struct violation){"unknown", name->path, name->rule, message, look_hint});
	}
	if (is_unchanged(name, &end))
		return;
	if (name->quarantine)
		quarantine(w, i, base, &end, path, last, result);
	else
		report_name(name, path, "", look_hint, result);
}

static void look_at_names(struct watch *w, bool last, struct run_result *result)
{
	CLEANUP_USER const struct user *as = user_enter(w->spec->user);

	for (size_t i = 0; i < w->spec->n_names; i++)
		look_at_name(w, i, last, result);
}

/* The whole */

struct watch *watch_open(const struct watch_spec *spec, pid_t init, int root)
{
	CLEANUP_MOUNT_TABLE struct mount_table table = {0};
	CLEANUP_FREE char *path = xasprintf("/proc/%d/mountinfo", (int)init);
	struct watch *w;
	bool any = spec->n_names > 0;

	for (size_t i = 0; i < spec->n_mounts; i++)
		any = any || spec->mounts[i].over;
	if (!any)
		return NULL;
	w = xcalloc(1, sizeof(*w));
	*w = (struct watch){.spec = spec};
	/* Before the command could use up what there is. Without watches it costs nothing. */
	w->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	w->refused = errno;
	w->table = open(path, O_RDONLY | O_CLOEXEC);
	w->covers = xcalloc(spec->n_mounts + 1, sizeof(*w->covers));
	w->names = xcalloc(spec->n_names + 1, sizeof(*w->names));
	read_table(w, &table);

	CLEANUP_USER const struct user *as = user_enter(spec->user);

	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct expected_mount *m = &spec->mounts[i];
		const struct mount_line *line;

		if (!m->over)
			continue;
		w->covers[i].base = open_base(w, m->over, root);
		line = mount_table_at(&table, m->dest);
		w->covers[i].seen = line && strcmp(line->at, m->dest) == 0;
		w->covers[i].id = line ? line->id : 0;
	}
	for (size_t i = 0; i < spec->n_names; i++) {
		w->names[i].base = open_base(w, spec->names[i].in, root);
		if (spec->names[i].quarantine)
			lock_base(&w->bases[w->names[i].base]);
	}
	return w;
}

/* Takes notice of a name, and of what is on its way. */
static void begin(struct watch *w, size_t base, const char *at, const char *name)
{
	const char *below = path_below(at, w->bases[base].at);
	CLEANUP_END struct end end = walk(w, &w->bases[base], below);

	if (end.watched && w->n_unwatched++ == 0) {
		w->unwatched = name;
		w->error = end.watched;
	}
	while (*below) {
		size_t len = strcspn(below, "/");

		strvec_take(&w->components, xstrndup(below, len));
		below += len + (below[len] == '/');
	}
}

static void begin_all(struct watch *w)
{
	const struct watch_spec *spec = w->spec;
	CLEANUP_USER const struct user *as = user_enter(spec->user);

	for (size_t i = 0; i < w->n_bases; i++) {
		struct base *base = &w->bases[i];

		base->watched = base->fd < 0 ? -base->fd : watch_directory(w, base->fd);
	}
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].over)
			begin(w, w->covers[i].base, spec->mounts[i].dest, spec->mounts[i].name);
	for (size_t i = 0; i < spec->n_names; i++)
		begin(w, w->names[i].base, spec->names[i].at, spec->names[i].path);
	strvec_sort(&w->components);
}

int watch_start(struct watch *w, struct run_result *result)
{
	if (!w)
		return 0;
	begin_all(w);
	look_at_names(w, false, result);
	check_covers(w, result);
	return w->lost;
}

void watch_fds(const struct watch *w, struct pollfd fds[WATCH_FDS])
{
	fds[0] = (struct pollfd){.fd = w ? w->inotify : -1, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = w ? w->table : -1, .events = POLLPRI};
}

static bool is_relevant(const struct watch *w, const struct inotify_event *event)
{
	if (event->mask & (IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF))
		return true;
	return event->len && strvec_has_sorted(&w->components, event->name);
}

/* Takes what came; whether it may be about something that is watched. */
static bool read_events(struct watch *w)
{
	_Alignas(struct inotify_event) char buffer[1 << 16];
	bool relevant = false;
	ssize_t n;

	for (int i = 0; i < READS && (n = read(w->inotify, buffer, sizeof(buffer))) > 0; i++)
		for (char *p = buffer; p < buffer + n;) {
			const struct inotify_event *event = (const struct inotify_event *)p;

			relevant = relevant || is_relevant(w, event);
			p += sizeof(*event) + event->len;
		}
	return relevant;
}

int watch_step(struct watch *w, const struct pollfd fds[WATCH_FDS], struct run_result *result)
{
	bool names = w && fds[0].revents && read_events(w);

	if (names)
		look_at_names(w, false, result);
	if (names || (w && fds[1].revents))
		check_covers(w, result);
	return w ? w->lost : 0;
}

/* What could not be watched, and so may have come and gone. */
static void note_unwatched(const struct watch *w, struct strvec *notes)
{
	bool limit = w->error == ENOSPC || w->error == EMFILE;
	size_t unseen = 0;

	if (w->n_unwatched)
		strvec_pushf(notes,
			"not watched while the command ran, but looked at when it had ended: "
			"%s%s (%s%s)",
			w->unwatched, w->n_unwatched > 1 ? " and others" : "", strerror(w->error),
			limit ? ": see fs.inotify.max_user_watches and max_user_instances" : "");
	for (size_t i = 0; i < w->spec->n_mounts; i++)
		if (w->spec->mounts[i].over && !w->covers[i].seen)
			unseen++;
	if (unseen)
		strvec_pushf(notes,
			"if the host takes them away is not noticed: %zu mounts that the sandbox's "
			"mount table does not show",
			unseen);
}

int watch_end(struct watch *w, struct run_result *result)
{
	struct flock unlock = {.l_type = F_UNLCK, .l_start = LOCK_AT, .l_len = 1};

	if (!w)
		return 0;
	if (w->inotify >= 0)
		close(w->inotify);
	w->inotify = -1;
	/* Of runs that end together the last one has to see that it is. */
	for (size_t i = 0; i < w->n_bases; i++)
		if (w->bases[i].lock >= 0)
			fcntl(w->bases[i].lock, F_OFD_SETLK, &unlock);
	look_at_names(w, true, result);
	note_unwatched(w, &result->notes);
	check_covers(w, result);
	return w->lost;
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n_bases; i++) {
		if (w->bases[i].fd >= 0)
			close(w->bases[i].fd);
		if (w->bases[i].lock >= 0)
			close(w->bases[i].lock);
	}
	if (w->inotify >= 0)
		close(w->inotify);
	if (w->table >= 0)
		close(w->table);
	free(w->bases);
	free(w->covers);
	free(w->names);
	strvec_clear(&w->components);
	free(w);
}
