/*
 * A job's directory in which anybody has written: a part that begins with "meta.json", "report.json"
 * or the name of a piece of a log, and a newline, is that file. Whatever they say, looking at the job
 * and reading its log end, with an answer or an error, and no more is read than is there.
 */
#include "fuzz/fuzz.h"
#include "job/log.h"
#include "job/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "0123abcd"
#define MAX_PARTS 24

static char place[] = "/dev/shm/sbx-fuzz-job.XXXXXX";
static int store = -1;

static void remove_store(void)
{
	unlinkat(store, ID, AT_REMOVEDIR);
	rmdir(place);
}

/* The job's directory, anew. */
static int open_job(void)
{
	if (store < 0) {
		PROMISE(mkdtemp(place), "%s", place);
		store = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		PROMISE(mkdirat(store, ID, 0700) == 0, "no directory");
		atexit(remove_store);
	}
	return openat(store, ID, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void write_file(int dir, const char *name, const char *text, size_t len)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	PROMISE(fd < 0 || write(fd, text, len) == (ssize_t)len, "%s", name);
}

static void empty(int dir)
{
	DIR *stream = fdopendir(dir);
	struct dirent *entry;

	while ((entry = readdir(stream)))
		if (*entry->d_name != '.')
			unlinkat(dir, entry->d_name, 0);
	closedir(stream);
}

static void read_log(int dir, const char *name, uint64_t written)
{
	struct log_view view = {0};
	struct err err = {0};
	uint64_t lines = 0, got = 0;

	if (log_look(&view, dir, name, &err) == 0 && log_lines(&view, &lines, &err) == 0) {
		const uint64_t asked[] = {1, 2, lines / 2, lines, lines + 1, UINT64_MAX};

		for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
			struct log_place at = {0};
			struct log_part part = {0};

			if (log_find(&view, asked[i], &at, &err) == 0 &&
				log_read(&view, &at, 3, 50, &part, &err) == 0)
				PROMISE(part.len <= written, "%zu bytes of %zu", part.len,
					(size_t)written);
			free(part.text);
		}
		/* All of it, in small parts: it comes to an end. */
		struct log_place at = {0};

		for (size_t n = 0; log_find(&view, 1, &at, &err) == 0; n++) {
			struct log_part part = {0};
			bool over =
				log_read(&view, &at, 1000, 64, &part, &err) < 0 || part.complete;

			got += part.len;
			PROMISE(over || part.end.offset > at.offset, "it does not go on");
			PROMISE(n < 100000, "no end");
			while (!over && part.end.offset > at.offset) {
				struct log_part more = {0};

				at = part.end;
				over = log_read(&view, &at, 1000, 64, &more, &err) < 0 ||
				       more.complete;
				got += more.len;
				PROMISE(over || more.end.offset > at.offset, "it does not go on");
				free(part.text);
				part = more;
			}
			free(part.text);
			break;
		}
		PROMISE(got <= written, "%zu bytes of %zu", (size_t)got, (size_t)written);
	}
	log_clear(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int dir = open_job();
	struct job_facts facts = {0};
	struct job job = JOB_INIT;
	struct err err = {0};
	uint64_t written = 0;

	write_file(dir, "lock", "", 0);
	for (unsigned i = 0; size && i < MAX_PARTS; i++) {
		size_t len, line;
		CLEANUP_FREE char *part = next_part(&data, &size, &len);

		line = strcspn(part, "\n");
		if (part[line] != '\n' || memchr(part, '/', line) || *part == '.' || !line)
			continue;
		part[line] = '\0';
		write_file(dir, part, part + line + 1, len - line - 1);
		written += len - line - 1;
	}
	if (job_open(&job, store, ID, &err) == 0) {
		int rc = job_look(&job, &facts, &err);

		PROMISE(rc == 0 || *err.message, "no word");
		PROMISE(rc < 0 || (facts.state == JOB_ENDED) == (facts.report != NULL), "state");
		if (rc == 0 && !facts.report)
			PROMISE(facts.state == JOB_LOST, "nobody holds the lock, but it lives");
		job_facts_clear(&facts);
	}
	job_close(&job);
	read_log(dir, "log", written);
	read_log(dir, "stdout", written);
	empty(dir);
	return 0;
}
