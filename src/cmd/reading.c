#include "cmd/reading.h"

#include "base/json.h"
#include "base/mem.h"
#include "cmd/describe.h"
#include "job/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINES 400
/* read: at most so much at once as JSON, and in memory. */
#define JSON_BYTES (4U << 20)
#define TEXT_BYTES (1U << 20)

/* What a part is about, and how it goes on. */
struct window {
	const struct job *job;
	struct job_facts facts;
	struct log_view view;
	uint64_t total;
};

static int look(struct window *w, const char *name, struct err *err)
{
	log_clear(&w->view);
	job_facts_clear(&w->facts);
	if (job_look(w->job, &w->facts, err) < 0)
		return -1;
	if (!name)
		name = w->facts.split ? "stdout" : "log";
	return log_look(&w->view, w->job->dir, name, err) < 0 ||
			       log_lines(&w->view, &w->total, err) < 0
		       ? -1
		       : 0;
}

static uint64_t count_lines(const struct log_part *part)
{
	uint64_t n = 0;

	for (const char *p = part->text, *end = p + part->len;
		(p = memchr(p, '\n', (size_t)(end - p))); p++)
		n++;
	return n;
}

/* The line that the last byte given is of. */
static uint64_t last_line(const struct log_part *part)
{
	return part->end.line - (part->len && part->text[part->len - 1] == '\n');
}

static int read_lines_as_json(struct window *w, uint64_t first, uint64_t lines, struct err *err)
{
	CLEANUP_JSON json *object = json_new_object();
	struct log_part part = {0};
	struct log_place from;
	int missing = log_find(&w->view, first, &from, err);
	bool unfinished;
	json *gap;

	if (missing < 0 ||
		log_read(&w->view, &from, missing ? 0 : lines, JSON_BYTES, &part, err) < 0) {
		free(part.text);
		return -1;
	}
	unfinished = part.len && part.text[part.len - 1] != '\n';
	describe_fields(object, w->job, &w->facts);
	json_add_bool(object, "running", w->facts.alive && !w->facts.report);
	json_add_number(object, "first", (double)(part.len ? part.begin.line : first));
	json_add_number(object, "last", (double)(part.len ? last_line(&part) : first - 1));
	json_add_number(object, "lines", (double)w->total);
	json_add_bool(object, "unfinished", unfinished);
	json_add_bool(object, "truncated",
		part.len && (last_line(&part) < w->total ||
				    (unfinished && !part.complete && part.len == JSON_BYTES)));
	if (part.gap_bytes) {
		gap = json_add(object, "gap", json_new_object());
		json_add_number(gap, "at", (double)part.gap_at);
		json_add_number(gap, "bytes", (double)part.gap_bytes);
		json_add_number(gap, "first", (double)part.gap_first);
		json_add_number(gap, "last", (double)part.gap_last);
	} else {
		json_add_null(object, "gap");
	}
	if (strlen(part.text) == part.len && utf8_valid(part.text))
		json_add_string(object, "text", part.text);
	else
		json_add_base64(object, "base64", part.text, part.len);
	CLEANUP_FREE char *text = json_print(object, true);

	puts(text);
	free(part.text);
	return 0;
}

/* To a terminal nothing goes that steers it. */
static void print_bytes(const char *data, size_t len)
{
	if (!isatty(STDOUT_FILENO)) {
		fwrite(data, 1, len, stdout);
		return;
	}
	while (len) {
		size_t n = 0;

		while (n < len && data[n] && data[n] != '\n' && data[n] != '\t')
			n++;
		CLEANUP_FREE char *text = xstrndup(data, n);

		print_escaped(stdout, text);
		if (n < len)
			fputs(data[n] == '\n' ? "\n" : data[n] == '\t' ? "\t" : "\\x00", stdout);
		n += n < len;
		data += n;
		len -= n;
	}
}

static void print_part(const struct log_part *part)
{
	print_bytes(part->text, part->gap_bytes ? part->gap_at : part->len);
	if (!part->gap_bytes)
		return;
	if (part->gap_at && part->text[part->gap_at - 1] != '\n')
		putchar('\n');
	printf("[%" PRIu64 " bytes, of lines %" PRIu64 " to %" PRIu64 ", are not kept]\n",
		part->gap_bytes, part->gap_first, part->gap_last);
	print_bytes(part->text + part->gap_at, part->len - part->gap_at);
}

/* Where the job stands, for whoever reads the text. */
static void print_status(const struct window *w, uint64_t first, uint64_t last)
{
	const json *code = describe_report(&w->facts, "exit_code");

	if (last >= first)
		fprintf(stderr, "sbx-job: %s: lines %" PRIu64 " to %" PRIu64 " of %" PRIu64 "; %s",
			w->job->id, first, last, w->total, job_state_name(w->facts.state));
	else
		fprintf(stderr, "sbx-job: %s: no more than %" PRIu64 " lines; %s", w->job->id,
			w->total, job_state_name(w->facts.state));
	if (code)
		fprintf(stderr, ", exit code %d", (int)json_number(code));
	putc('\n', stderr);
}

/* Prints from a line on; with follow, until the job has ended. */
static int read_lines_as_text(struct window *w, uint64_t first, uint64_t lines, const char *name,
	bool follow, struct err *err)
{
	struct log_place at;
	uint64_t begin = 0, last = 0;
	int missing = log_find(&w->view, first, &at, err);

	while (missing >= 0) {
		struct log_part part = {0};
		bool found = !missing;

		if (found && log_read(&w->view, &at, lines, TEXT_BYTES, &part, err) < 0) {
			free(part.text);
			return -1;
		}
		if (found) {
			print_part(&part);
			begin = begin ? begin : part.begin.line;
			last = part.len ? last_line(&part) : last;
			lines -= count_lines(&part);
			at = part.end;
			free(part.text);
		}
		if (found && !part.complete && lines)
			continue;
		if (!follow || !w->facts.alive)
			break;
		if (fflush(stdout) != 0)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
		if (look(w, name, err) < 0)
			return -1;
		if (missing)
			missing = log_find(&w->view, first, &at, err);
	}
	if (missing < 0)
		return -1;
	fflush(stdout);
	print_status(w, begin ? begin : first, last);
	return 0;
}

int reading_print(const struct job *job, const struct options *o, struct err *err)
{
	const char *name = o->errors ? "stderr" : NULL;
	uint64_t first = o->from ? o->from : 1;
	uint64_t lines = o->follow ? UINT64_MAX : o->lines ? o->lines : LINES;
	struct window w = {.job = job};
	int rc = look(&w, name, err);

	if (rc == 0 && o->errors && !w.facts.split) {
		err_set(err, ERR_USAGE, "job %s keeps both streams in one log", job->id);
		rc = err_hint(err, "leave out --stderr; sbx-job start --split keeps them apart");
	}
	if (rc == 0 && o->output == OUTPUT_JSON)
		rc = read_lines_as_json(&w, first, lines, err);
	else if (rc == 0)
		rc = read_lines_as_text(&w, first, lines, name, o->follow, err);
	log_clear(&w.view);
	job_facts_clear(&w.facts);
	return rc;
}
