#include "job/log.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A piece is looked through to find a line, and one more or less is kept. */
#define PIECES 16
#define PIECE_MAX (4U << 20)

#define CHUNK 65536

static char *piece_name(const char *name, const struct log_piece *piece)
{
	return xasprintf("%s.%" PRIu64 ".%" PRIu64 ".%" PRIu64, name, piece->offset, piece->line,
		piece->column);
}

/* Goes on in a stream over what was written. */
static void advance(struct log_piece *at, const char *data, size_t len)
{
	const char *end = data + len, *newline;

	at->offset += len;
	while ((newline = memchr(data, '\n', (size_t)(end - data)))) {
		at->line++;
		at->column = 0;
		data = newline + 1;
	}
	at->column += (uint64_t)(end - data);
}

void log_begin(struct log_writer *log, int dir, const char *name, uint64_t limit)
{
	uint64_t size = limit / PIECES < PIECE_MAX ? limit / PIECES : PIECE_MAX;

	*log = (struct log_writer){.dir = dir,
		.name = name,
		.piece_size = size,
		.head = limit / size / 2 * size,
		.fd = -1,
		.at = {.line = 1}};
	log->tail = limit / size * size - log->head;
}

/* Begins a piece at the stream's place, and first makes room for all of it. */
static int next_piece(struct log_writer *log)
{
	CLEANUP_FREE char *name = piece_name(log->name, &log->at);

	if (log->fd >= 0)
		close(log->fd);
	if (log->at.offset >= log->head) {
		if (log->n >= log->tail / log->piece_size) {
			CLEANUP_FREE char *oldest = piece_name(log->name, &log->pieces[0]);

			unlinkat(log->dir, oldest, 0);
			log->n--;
			memmove(log->pieces, log->pieces + 1, log->n * sizeof(*log->pieces));
		}
		GROW(log->pieces, log->n, log->alloc);
		log->pieces[log->n++] = log->at;
	}
	log->fd =
		openat(log->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return log->fd < 0 ? -errno : 0;
}

int log_write(struct log_writer *log, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		uint64_t room = log->piece_size - log->at.offset % log->piece_size;
		int error = log->fd < 0 || room == log->piece_size ? next_piece(log) : 0;
		ssize_t n;

		if (error)
			return error;
		n = write(log->fd, p, room < len ? (size_t)room : len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		advance(&log->at, p, (size_t)n);
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

void log_end(struct log_writer *log)
{
	if (log->fd >= 0)
		close(log->fd);
	free(log->pieces);
	*log = (struct log_writer){.fd = -1};
}

/* The piece that a file's name stands for; false when it is none of this log. */
static bool parse_name(const char *file, const char *name, struct log_piece *piece)
{
	uint64_t *const numbers[] = {&piece->offset, &piece->line, &piece->column};
	size_t len = strlen(name);
	const char *at = file + len;
	CLEANUP_FREE char *again = NULL;

	if (strncmp(file, name, len) != 0)
		return false;
	for (int i = 0; i < 3; i++) {
		char *end;

		if (*at != '.')
			return false;
		*numbers[i] = strtoull(at + 1, &end, 10);
		at = end;
	}
	/* Whatever else that number could have been read from. */
	again = piece_name(name, piece);
	return piece->line > 0 && piece->offset < INT64_MAX && strcmp(again, file) == 0;
}

static int compare(const void *a, const void *b)
{
	const struct log_piece *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int err_damaged(const struct log_view *view, struct err *err)
{
	return err_set(err, ERR_SYSTEM, "the log \"%s\" is damaged: its pieces do not fit together",
		view->name);
}

int log_look(struct log_view *view, int dir, const char *name, struct err *err)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct log_piece piece;
	struct dirent *entry;

	*view = (struct log_view){.dir = dir, .name = name};
	if (!stream) {
		err_set(err, ERR_SYSTEM, "cannot list the job's directory: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while ((entry = readdir(stream)))
		if (parse_name(entry->d_name, name, &piece)) {
			GROW(view->pieces, view->n, view->alloc);
			view->pieces[view->n++] = piece;
		}
	closedir(stream);
	if (view->n)
		qsort(view->pieces, view->n, sizeof(*view->pieces), compare);
	for (size_t i = 1; i < view->n; i++)
		if (view->pieces[i].offset == view->pieces[i - 1].offset ||
			view->pieces[i].line < view->pieces[i - 1].line)
			return err_damaged(view, err);
	return 0;
}

void log_clear(struct log_view *view)
{
	free(view->pieces);
	*view = (struct log_view){0};
}

/* Opens a piece: its size at this moment in size; -ENOENT as descriptor when it has been removed. */
static int open_piece(const struct log_view *view, size_t i, uint64_t *size, struct err *err)
{
	CLEANUP_FREE char *name = piece_name(view->name, &view->pieces[i]);
	int fd = openat(view->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	*size = 0;
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0)
		return err_set(err, ERR_SYSTEM, "cannot read %s: %s", name, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		*size = (uint64_t)st.st_size;
		if (i + 1 == view->n ||
			*size <= view->pieces[i + 1].offset - view->pieces[i].offset)
			return fd;
	}
	close(fd);
	return err_damaged(view, err);
}

/* One chunk of a piece from an offset in it, up to size; 0 at its end. */
static ssize_t read_chunk(int fd, char *buf, uint64_t at, uint64_t size, struct err *err)
{
	size_t want = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
	ssize_t n = want ? pread(fd, buf, want, (off_t)at) : 0;

	if (n < 0)
		return err_set(err, ERR_SYSTEM, "cannot read the log: %s", strerror(errno));
	return n;
}

/* The piece to look for a line in: the last that can hold its first byte, else the first of all. */
static size_t piece_of_line(const struct log_view *view, uint64_t line)
{
	size_t found = 0;

	for (size_t i = 0; i < view->n; i++)
		if (view->pieces[i].line < line ||
			(view->pieces[i].line == line && view->pieces[i].column == 0))
			found = i;
	return found;
}

/* Goes on in a piece to where a line begins, at most to its end. 0, -ENOENT, or -1 with an error. */
static int seek_line(
	const struct log_view *view, size_t i, uint64_t line, struct log_place *at, struct err *err)
{
	CLEANUP_FREE char *buf = xcalloc(CHUNK, 1);
	uint64_t size;
	CLEANUP_CLOSE int fd = open_piece(view, i, &size, err);
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	*at = (struct log_place){view->pieces[i].offset, view->pieces[i].line};
	while (at->line < line &&
		(n = read_chunk(fd, buf, at->offset - view->pieces[i].offset, size, err)) > 0) {
		const char *p = buf, *end = buf + n, *newline;

		while (at->line < line && (newline = memchr(p, '\n', (size_t)(end - p)))) {
			at->line++;
			p = newline + 1;
		}
		at->offset += (uint64_t)((at->line < line ? end : p) - buf);
	}
	return n < 0 ? -1 : 0;
}

int log_find(const struct log_view *view, uint64_t line, struct log_place *place, struct err *err)
{
	size_t i = piece_of_line(view, line);
	struct log_place at;

	*place = (struct log_place){0, 1};
	for (size_t first = i; i < view->n; i++) {
		int rc = seek_line(view, i, line, &at, err);

		if (rc == -1)
			return -1;
		if (rc < 0)
			continue;
		/* Behind a gap, which is to be told. */
		if (at.offset == view->pieces[i].offset && place->offset < at.offset &&
			(i > first || first == 0))
			return 0;
		*place = at;
		if (at.line >= line)
			return 0;
	}
	return line > 1;
}

/* What is being read. */
struct reading {
	const struct log_view *view;
	struct log_part *part;
	uint64_t lines; /* still wanted */
	size_t bytes;
};

/* Adds what of a chunk is wanted; false when that is enough. */
static bool add_chunk(struct reading *r, const char *data, size_t len)
{
	struct log_part *part = r->part;
	const char *p = data, *end = data + (len < r->bytes ? len : r->bytes), *newline;
	size_t n;

	while (r->lines && (newline = memchr(p, '\n', (size_t)(end - p)))) {
		part->end.line++;
		r->lines--;
		p = newline + 1;
	}
	n = (size_t)((r->lines ? end : p) - data);
	part->text = xreallocarray(part->text, part->len + n + 1, 1);
	memcpy(part->text + part->len, data, n);
	part->len += n;
	part->text[part->len] = '\0';
	part->end.offset += n;
	r->bytes -= n;
	return r->lines && r->bytes;
}

/* Goes on where the next piece begins, over what may be missing before it; false when there has been a
 * gap already. */
static bool cross_gap(struct reading *r, const struct log_piece *next)
{
	struct log_part *part = r->part;

	if (next->offset <= part->end.offset)
		return true;
	if (part->gap_bytes)
		return false;
	part->gap_at = part->len;
	part->gap_bytes = next->offset - part->end.offset;
	part->gap_first = part->end.line;
	/* A line whose beginning is lost counts, one that begins here does not. */
	part->gap_last = next->column ? next->line : next->line - 1;
	part->end = (struct log_place){next->offset, next->line};
	if (!part->len)
		part->begin = part->end;
	return true;
}

/* Reads on in one piece: 1 to go on with the next, 0 when that is enough, -1 on error. */
static int read_piece(struct reading *r, size_t i, char *buf, struct err *err)
{
	const struct log_piece *piece = &r->view->pieces[i];
	uint64_t size;
	CLEANUP_CLOSE int fd = open_piece(r->view, i, &size, err);
	ssize_t n = 0;

	if (fd == -1)
		return -1;
	if (fd < 0 || r->part->end.offset >= piece->offset + size)
		return 1;
	if (!cross_gap(r, piece))
		return 0;
	while ((n = read_chunk(fd, buf, r->part->end.offset - piece->offset, size, err)) > 0)
		if (!add_chunk(r, buf, (size_t)n))
			return 0;
	return n < 0 ? -1 : 1;
}

int log_read(const struct log_view *view, const struct log_place *from, uint64_t lines,
	size_t bytes, struct log_part *part, struct err *err)
{
	CLEANUP_FREE char *buf = xcalloc(CHUNK, 1);
	struct reading r = {view, part, lines, bytes};
	int rc = 1;

	*part = (struct log_part){.text = xcalloc(1, 1), .begin = *from, .end = *from};
	for (size_t i = 0; i < view->n && rc > 0 && lines && bytes; i++)
		if (i + 1 == view->n || view->pieces[i + 1].offset > part->end.offset)
			rc = read_piece(&r, i, buf, err);
	part->complete = rc > 0;
	return rc < 0 ? -1 : 0;
}

int log_lines(const struct log_view *view, uint64_t *lines, struct err *err)
{
	CLEANUP_FREE char *buf = xcalloc(CHUNK, 1);

	*lines = 0;
	/* The last that is still there; none newer can vanish before it. */
	for (size_t i = view->n; i-- > 0;) {
		struct log_piece at = view->pieces[i];
		uint64_t size;
		CLEANUP_CLOSE int fd = open_piece(view, i, &size, err);
		ssize_t n = 0;

		if (fd == -1)
			return -1;
		if (fd < 0)
			continue;
		while ((n = read_chunk(fd, buf, at.offset - view->pieces[i].offset, size, err)) > 0)
			advance(&at, buf, (size_t)n);
		if (n < 0)
			return -1;
		*lines = at.column ? at.line : at.line - 1;
		return 0;
	}
	return 0;
}
