/*
 * A job's log: whatever is written, its head and its newest part read back exactly, with the size of the
 * gap; what is torn or foreign is a gap, a shorter end or an error.
 */
#include "base/mem.h"
#include "job/log.h"
#include "lib/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX 20000

static char place[] = "/tmp/sbx-test-log.XXXXXX";
static int dir;

/* A random number below n. */
static size_t below(size_t n)
{
	return n ? (size_t)random() % n : 0;
}

/* The size of all files together; they are removed unless keep. */
static uint64_t clean(bool keep)
{
	DIR *stream = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY));
	struct dirent *entry;
	struct stat st;
	uint64_t sum = 0;

	while ((entry = readdir(stream))) {
		if (*entry->d_name == '.')
			continue;
		fstatat(dir, entry->d_name, &st, 0);
		sum += (uint64_t)st.st_size;
		if (!keep && unlinkat(dir, entry->d_name, 0) < 0)
			unlinkat(dir, entry->d_name, AT_REMOVEDIR);
	}
	closedir(stream);
	return sum;
}

/* Random bytes, of which one in about `line` is a newline. */
static void fill(char *data, size_t len, size_t line)
{
	for (size_t i = 0; i < len; i++)
		data[i] = below(line) == 0 ? '\n' : (char)random();
}

static uint64_t lines_in(const char *data, size_t len)
{
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += data[i] == '\n' || i + 1 == len;
	return n;
}

static void write_log(const char *data, size_t len, uint64_t limit)
{
	struct log_writer log;

	log_begin(&log, dir, "log", limit);
	for (size_t done = 0, n; done < len; done += n) {
		n = 1 + below(len - done < 3 * limit ? len - done : (size_t)(3 * limit));
		n = n > len - done ? len - done : n;
		if (log_write(&log, data + done, n) != 0)
			diag("a write failed");
	}
	log_end(&log);
}

/* What reading from a place on, in small parts, gives of the stream: whether each byte is the stream's at
 * that offset, where kept ones begin and end, and how many were missing. */
struct seen {
	bool right, failed;
	uint64_t given, missing, end;
};

static struct seen read_all(const char *data, const struct log_place *from)
{
	struct seen seen = {.right = true};
	struct log_place at = *from;
	struct log_view view;
	struct err err = {0};
	bool complete = false;

	if (log_look(&view, dir, "log", &err) < 0)
		return (struct seen){.failed = true};
	while (!complete && !seen.failed) {
		struct log_part part = {0};

		if (log_read(&view, &at, 1 + below(20), 1 + below(300), &part, &err) < 0) {
			seen.failed = true;
		} else {
			size_t first = part.gap_bytes ? part.gap_at : part.len;

			seen.right &=
				memcmp(part.text, data + at.offset, first) == 0 &&
				memcmp(part.text + first, data + at.offset + first + part.gap_bytes,
					part.len - first) == 0 &&
				part.end.offset == at.offset + part.len + part.gap_bytes;
			seen.given += part.len;
			seen.missing += part.gap_bytes;
			complete = part.complete;
			at = part.end;
		}
		free(part.text);
	}
	seen.end = at.offset;
	log_clear(&view);
	return seen;
}

static const struct log_place beginning = {0, 1};

static void test_round_trips(void)
{
	static char data[MAX];
	size_t wrong = 0, unbounded = 0, short_head = 0, short_tail = 0, miscounted = 0, gaps = 0;

	for (int round = 0; round < 300; round++) {
		uint64_t limit = 16 + below(3000), lines = 0;
		size_t len = below(MAX);
		struct seen seen;
		struct log_view view;
		struct err err;

		fill(data, len, 1 + below(200));
		write_log(data, len, limit);
		seen = read_all(data, &beginning);
		wrong += seen.failed || !seen.right || seen.end != len ||
			 seen.given + seen.missing != len;
		gaps += seen.missing > 0;
		unbounded += clean(true) > limit;
		/* One piece less of the tail, as the next one has no room yet. */
		short_head += seen.given < len && seen.given < limit - limit / 16 - limit / 8 - 1;
		if (log_look(&view, dir, "log", &err) == 0 && view.n) {
			/* The tail begins behind the only gap. */
			short_tail += seen.missing && view.pieces[0].offset != 0;
		}
		if (log_lines(&view, &lines, &err) < 0 || lines != lines_in(data, len))
			miscounted++;
		log_clear(&view);
		clean(false);
	}
	ok(!wrong, "head, gap and tail are the stream's bytes, and all of them");
	ok(gaps > 100, "... where there were gaps, too");
	ok(!unbounded, "never more than the limit is kept");
	ok(!short_head, "... and not much less");
	ok(!short_tail, "the head stays");
	ok(!miscounted, "the lines are counted, lost ones too");
}

/* Where a line begins in the stream. */
static size_t line_at(const char *data, size_t len, uint64_t line)
{
	size_t at = 0;

	for (; line > 1 && at < len; at++)
		line -= data[at] == '\n';
	return at;
}

static void test_find(void)
{
	static char data[MAX];
	size_t wrong = 0, lost = 0;

	for (int round = 0; round < 200; round++) {
		size_t len = 1 + below(MAX);
		struct log_place place_of = {0, 0};
		struct log_view view;
		struct err err;

		fill(data, len, 1 + below(60));
		write_log(data, len, 100 + below(MAX));
		log_look(&view, dir, "log", &err);
		for (int i = 0; i < 20; i++) {
			uint64_t line = 1 + below((size_t)lines_in(data, len));
			size_t at = line_at(data, len, line);

			if (log_find(&view, line, &place_of, &err) != 0 || place_of.offset > len) {
				wrong++;
			} else if (place_of.offset != at) {
				/* Then no piece holds its first byte. */
				bool kept = false;

				for (size_t k = 0; k < view.n; k++)
					kept |= view.pieces[k].offset <= at &&
						(k + 1 == view.n ||
							view.pieces[k].offset +
									(view.pieces[1].offset) >
								at);
				struct log_part part = {0};

				if (log_read(&view, &place_of, 1, 1, &part, &err) < 0 ||
					part.gap_at || !part.gap_bytes || part.begin.line < line)
					wrong++;
				free(part.text);
				wrong += kept;
				lost++;
			}
		}
		log_clear(&view);
		clean(false);
	}
	ok(!wrong, "a line that is kept is found where it begins");
	ok(lost > 20, "... and one that is lost is not: what follows is given");
}

static void test_growing(void)
{
	static char data[MAX];
	struct log_place at = beginning;
	struct log_writer log;
	size_t wrong = 0;

	fill(data, MAX, 30);
	log_begin(&log, dir, "log", 4 * MAX);
	for (size_t done = 0, n; done < MAX; done += n) {
		struct log_view view;
		struct log_part part = {0};
		struct err err;

		n = 1 + below(MAX - done < 500 ? MAX - done : 500);
		log_write(&log, data + done, n);
		log_look(&view, dir, "log", &err);
		wrong += log_read(&view, &at, UINT64_MAX, MAX, &part, &err) < 0 || part.len != n ||
			 memcmp(part.text, data + done, n) != 0 || part.gap_bytes || !part.complete;
		at = part.end;
		free(part.text);
		log_clear(&view);
	}
	log_end(&log);
	clean(false);
	ok(!wrong, "a log that grows is followed byte by byte");
}

/* Cuts, removes and empties pieces at random: the rest must still be the stream's. */
static void test_torn(void)
{
	static char data[MAX];
	size_t wrong = 0, missing = 0;

	for (int round = 0; round < 300; round++) {
		size_t len = 1 + below(MAX);
		struct log_view view;
		struct seen seen;
		struct err err;

		fill(data, len, 1 + below(60));
		write_log(data, len, 100 + below(MAX));
		log_look(&view, dir, "log", &err);
		for (int i = 0; i < 3 && view.n; i++) {
			const struct log_piece *p = &view.pieces[below(view.n)];
			CLEANUP_FREE char *name = xasprintf("log.%" PRIu64 ".%" PRIu64 ".%" PRIu64,
				p->offset, p->line, p->column);
			struct stat st;
			int fd;

			if (below(2)) {
				unlinkat(dir, name, 0);
				continue;
			}
			fd = openat(dir, name, O_WRONLY);
			if (fd < 0)
				continue;
			if (fstat(fd, &st) == 0 &&
				ftruncate(fd, (off_t)below((size_t)st.st_size + 1)) < 0)
				diag("cannot cut");
			close(fd);
		}
		log_clear(&view);
		seen = read_all(data, &beginning);
		wrong += seen.failed || !seen.right || seen.end > len;
		missing += seen.missing > 0;
		clean(false);
	}
	ok(!wrong, "what is left of a torn log is the stream's, in its place");
	ok(missing > 100, "... and what is not is a gap");
}

static void test_foreign(void)
{
	static const char *const names[] = {"log.", "log.0", "log.0.0.0", "log.0.1.0.1",
		"log.01.1.0", "log.-1.1.0", "log.0.1.0 ", "logs.0.1.0",
		"log.99999999999999999999.1.0", "log.0x1.1.0"};
	struct log_view view;
	struct log_part part = {0};
	struct err err;
	uint64_t lines;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		close(openat(dir, names[i], O_WRONLY | O_CREAT, 0600));
	ok(log_look(&view, dir, "log", &err) == 0 && view.n == 0, "other names are no pieces");
	ok(log_read(&view, &beginning, 10, 10, &part, &err) == 0 && part.complete && !part.len &&
			log_lines(&view, &lines, &err) == 0 && lines == 0,
		"a log without pieces is empty");
	free(part.text);
	part.text = NULL;
	log_clear(&view);
	clean(false);

	mkdirat(dir, "log.0.1.0", 0700);
	log_look(&view, dir, "log", &err);
	ok(log_read(&view, &beginning, 10, 10, &part, &err) < 0 && strstr(err.message, "damaged"),
		"a directory as a piece is an error");
	free(part.text);
	log_clear(&view);
	clean(false);

	if (symlinkat("/etc/passwd", dir, "log.0.1.0") == 0)
		log_look(&view, dir, "log", &err);
	ok(log_lines(&view, &lines, &err) < 0, "a link as a piece is an error");
	log_clear(&view);
	clean(false);

	close(openat(dir, "log.0.1.0", O_WRONLY | O_CREAT, 0600));
	close(openat(dir, "log.0.7.0", O_WRONLY | O_CREAT, 0600));
	ok(log_look(&view, dir, "log", &err) < 0, "two pieces of one place are an error");
	log_clear(&view);
	clean(false);
}

static void test_no_room(void)
{
	struct log_writer log;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	log_begin(&log, dir, "log", 1600);
	log_write(&log, "x", 1);
	dup2(full, log.fd);
	ok(log_write(&log, "y", 1) == -ENOSPC, "no room is an error");
	log_end(&log);
	close(full);
	clean(false);
}

int main(void)
{
	srandom(20);
	if (!mkdtemp(place) || (dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 1;
	test_round_trips();
	test_find();
	test_growing();
	test_torn();
	test_foreign();
	test_no_room();
	close(dir);
	rmdir(place);
	return done_testing();
}
