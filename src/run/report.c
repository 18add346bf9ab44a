#include "run/report.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "run/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const phase_names[] = {
	[PHASE_POLICY] = "policy",
	[PHASE_PLAN] = "plan",
	[PHASE_PROBE] = "probe",
	[PHASE_SETUP] = "setup",
	[PHASE_EXEC] = "exec",
	[PHASE_RUN] = "run",
};

static const char *const outcome_names[] = {
	[OUTCOME_REFUSED] = "refused",
	[OUTCOME_NOT_FOUND] = "not-found",
	[OUTCOME_NOT_EXECUTABLE] = "not-executable",
	[OUTCOME_SETUP_FAILED] = "setup-failed",
	[OUTCOME_COMPLETED] = "completed",
	[OUTCOME_TIMEOUT] = "timeout",
	[OUTCOME_CPU] = "cpu",
	[OUTCOME_MEMORY] = "memory",
	[OUTCOME_OUTPUT] = "output",
	[OUTCOME_CANCELLED] = "cancelled",
	[OUTCOME_VIOLATION] = "violation",
	[OUTCOME_LOST] = "lost",
};

static const char *const oom_names[] = {
	[OOM_NONE] = "none",
	[OOM_OWN] = "own",
	[OOM_SHARED] = "shared",
};

void run_result_clear(struct run_result *result)
{
	for (size_t i = 0; i < result->n_enforcement; i++)
		free(result->enforcement[i].requested);
	result->n_enforcement = 0;
	free(result->out.kept);
	free(result->errors.kept);
	free(result->oom.advice);
	for (size_t i = 0; i < result->n_violations; i++) {
		const struct violation *v = &result->violations[i];

		free((char *)v->path);
		free((char *)v->rule);
		free((char *)v->message);
		free((char *)v->hint);
	}
	free(result->violations);
	result->violations = NULL;
	result->n_violations = result->alloc_violations = result->more_violations = 0;
	strvec_clear(&result->notes);
}

void run_violation(struct run_result *result, const struct violation *violation)
{
	for (size_t i = 0; i < result->n_violations; i++) {
		const struct violation *v = &result->violations[i];

		if (strcmp(v->kind, violation->kind) == 0 &&
			strcmp(v->path, violation->path) == 0 &&
			strcmp(v->rule, violation->rule) == 0 &&
			strcmp(v->message, violation->message) == 0)
			return;
	}
	if (result->n_violations == VIOLATIONS_MAX) {
		result->more_violations++;
		return;
	}
	GROW(result->violations, result->n_violations, result->alloc_violations);
	result->violations[result->n_violations++] = (struct violation){
		.kind = violation->kind,
		.path = xstrdup(violation->path),
		.rule = xstrdup(violation->rule),
		.message = xstrdup(violation->message),
		.hint = xstrdup(violation->hint),
	};
}

void run_enforce(struct run_result *result, const char *name, const char *requested, bool enforced,
	const char *by)
{
	result->enforcement[result->n_enforcement++] = (struct enforcement){
		.name = name,
		.requested = xstrdup(requested),
		.enforced = enforced,
		.by = by,
		.hits = -1,
	};
}

static struct enforcement *find_enforcement(struct run_result *result, const char *name)
{
	for (size_t i = 0; i < result->n_enforcement; i++)
		if (strcmp(result->enforcement[i].name, name) == 0)
			return &result->enforcement[i];
	return NULL;
}

void run_hits(struct run_result *result, const char *name, int64_t hits)
{
	struct enforcement *e = find_enforcement(result, name);

	if (e)
		e->hits = hits;
}

void run_withdraw(struct run_result *result, const char *name)
{
	struct enforcement *e = find_enforcement(result, name);

	if (e) {
		e->enforced = false;
		e->by = NULL;
	}
}

void run_refuse(struct run_result *result, enum run_phase phase, const struct err *err)
{
	result->phase = phase;
	result->err = *err;
	result->exit_code = 125;
	result->outcome = phase == PHASE_SETUP ? OUTCOME_SETUP_FAILED : OUTCOME_REFUSED;
	if (err->kind == ERR_USAGE) {
		result->exit_code = 2;
	} else if (err->kind == ERR_NOT_FOUND) {
		result->exit_code = 127;
		result->outcome = OUTCOME_NOT_FOUND;
	} else if (err->kind == ERR_NOT_EXECUTABLE) {
		result->exit_code = 126;
		result->outcome = OUTCOME_NOT_EXECUTABLE;
	}
}

static void add_text(json *object, const char *key, const char *text)
{
	if (text && *text)
		json_add_string(object, key, text);
	else
		json_add_null(object, key);
}

/* RFC 4648, with padding; free with free(). */
static void add_stream(json *root, const char *key, const struct run_stream *stream)
{
	json *object;

	if (!stream->counted) {
		json_add_null(root, key);
		return;
	}
	object = json_add(root, key, json_new_object());
	if (stream->kept) {
		if (stream->is_text)
			json_add_string(object, "text", stream->kept);
		else
			json_add_base64(object, "base64", stream->kept, stream->kept_len);
		json_add_number(object, "head_bytes", (double)stream->head_len);
	}
	json_add_number(object, "bytes", (double)stream->bytes);
	json_add_number(object, "omitted", (double)stream->omitted);
	json_add_bool(object, "truncated", stream->omitted > 0);
}

/* Counts and sizes: negative ones are not known. */
static void add_count(json *object, const char *key, int64_t count)
{
	if (count >= 0)
		json_add_number(object, key, (double)count);
	else
		json_add_null(object, key);
}

static void add_oom(json *root, const struct run_oom *oom)
{
	json *object;

	if (oom->source == OOM_UNKNOWN) {
		json_add_null(root, "out_of_memory");
		return;
	}
	object = json_add(root, "out_of_memory", json_new_object());
	json_add_string(object, "source", oom_names[oom->source]);
	json_add_number(object, "kills", (double)oom->kills);
	add_count(object, "limit_bytes", oom->limit_bytes);
	add_count(object, "peak_bytes", oom->peak_bytes);
	json_add_bool(object, "retryable", oom->retryable);
	add_text(object, "advice", oom->advice);
}

static void add_enforcement(json *root, const struct run_result *result)
{
	json *all = json_add(root, "enforcement", json_new_object());

	for (size_t i = 0; i < result->n_enforcement; i++) {
		const struct enforcement *e = &result->enforcement[i];
		json *one = json_add(all, e->name, json_new_object());

		json_add_string(one, "requested", e->requested);
		json_add_bool(one, "enforced", e->enforced);
		add_text(one, "by", e->by);
		add_count(one, "hits", e->hits);
	}
}

static void add_violations(json *root, const struct run_result *result)
{
	json *all = json_add(root, "violations", json_new_array());

	for (size_t i = 0; i < result->n_violations; i++) {
		const struct violation *v = &result->violations[i];
		json *one = json_add(all, NULL, json_new_object());

		json_add_string(one, "kind", v->kind);
		json_add_string(one, "path", v->path);
		json_add_string(one, "rule", v->rule);
		json_add_string(one, "message", v->message);
		json_add_string(one, "hint", v->hint);
	}
}

static void add_error(json *root, const struct err *err)
{
	json *object;

	if (err->kind == ERR_NONE) {
		json_add_null(root, "error");
		return;
	}
	object = json_add(root, "error", json_new_object());
	json_add_string(object, "kind", err_kind_name(err->kind));
	json_add_string(object, "message", err->message);
	add_text(object, "hint", err_hint_text(err));
	add_text(object, "at", err->at);
}

char *report_text(const struct run_result *result)
{
	CLEANUP_JSON json *root = json_new_object();
	int signal = result->exit_code - 128;
	CLEANUP_FREE char *text = NULL;
	json *notes;

	json_add_number(root, "sbx", 1);
	json_add_string(root, "phase", phase_names[result->phase]);
	json_add_string(root, "outcome", outcome_names[result->outcome]);
	json_add_number(root, "exit_code", result->exit_code);
	if (signal > 0 && signal <= SIGRTMAX)
		json_add_number(root, "signal", signal);
	else
		json_add_null(root, "signal");
	json_add_number(root, "duration_ms", (double)result->duration_ms);
	add_count(root, "cpu_ms", result->cpu_ms);
	add_count(root, "max_rss_bytes", result->max_rss_bytes);
	add_stream(root, "stdout", &result->out);
	add_stream(root, "stderr", &result->errors);
	add_oom(root, &result->oom);
	add_enforcement(root, result);
	add_violations(root, result);
	notes = json_add(root, "notes", json_new_array());
	for (size_t i = 0; i < result->notes.n; i++)
		json_add_string(notes, NULL, result->notes.v[i]);
	if (result->more_violations) {
		CLEANUP_FREE char *more =
			xasprintf("%zu more violations are not listed", result->more_violations);

		json_add_string(notes, NULL, more);
	}
	add_error(root, &result->err);
	text = json_print(root, true);
	return xasprintf("%s\n", text);
}

/* "memory, tmpfs": what was run into, or is not enforced. */
static char *names_of(const struct run_result *result, bool (*is)(const struct enforcement *e))
{
	CLEANUP_STRVEC struct strvec names = {0};

	for (size_t i = 0; i < result->n_enforcement; i++)
		if (is(&result->enforcement[i]))
			strvec_push(&names, result->enforcement[i].name);
	return strvec_join(&names, ", ");
}

static bool was_hit(const struct enforcement *e)
{
	return e->hits > 0;
}

static bool is_open(const struct enforcement *e)
{
	/* The host's network is what was asked for. */
	return !e->enforced && strcmp(e->requested, "host") != 0;
}

char *report_summary(const struct run_result *result)
{
	CLEANUP_FREE char *hit = names_of(result, was_hit), *open = names_of(result, is_open);
	CLEANUP_STRVEC struct strvec parts = {0};

	strvec_pushf(&parts, "%s, exit code %d", outcome_names[result->outcome], result->exit_code);
	if (result->duration_ms)
		strvec_pushf(&parts, "%.2f s", (double)result->duration_ms / 1000);
	if (result->cpu_ms >= 0)
		strvec_pushf(&parts, "%.2f s of processor time", (double)result->cpu_ms / 1000);
	if (result->max_rss_bytes >= 0)
		strvec_pushf(&parts, "%.0f MiB", (double)result->max_rss_bytes / 1048576);
	if (*hit)
		strvec_pushf(&parts, "limits reached: %s", hit);
	if (*open)
		strvec_pushf(&parts, "not enforced: %s", open);
	if (result->oom.kills)
		strvec_pushf(&parts, "%" PRIu64 " killed for want of memory", result->oom.kills);
	return strvec_join(&parts, "; ");
}

static int open_fd(struct newfile *report, const char *number, const int *pass_fds,
	size_t n_pass_fds, struct err *err)
{
	struct stat st, passed;
	char *end;
	long fd = strtol(number, &end, 10);
	int flags = *number >= '0' && *number <= '9' && !*end && fd <= INT_MAX
			    ? fcntl((int)fd, F_GETFL)
			    : -1;

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)
		return err_set(err, ERR_USAGE, "--report fd:%s: not a descriptor open for writing",
			number);
	if (fstat((int)fd, &st) < 0)
		return err_set(err, ERR_USAGE, "--report fd:%s: %s", number, strerror(errno));
	/* Also by another number. */
	for (size_t i = 0; i < n_pass_fds; i++)
		if (fstat(pass_fds[i], &passed) == 0 && passed.st_dev == st.st_dev &&
			passed.st_ino == st.st_ino)
			return err_set(err, ERR_USAGE,
				"--report fd:%s: the command has it too (--pass-fd)", number);
	if (fd <= 2) {
		err_set(err, ERR_USAGE, "--report fd:%s: the command has it too", number);
		return err_hint(err, "use another descriptor: --report fd:3 3>FILE");
	}
	report->fd = (int)fd;
	/* A file or a FIFO that has a name the command might write to. */
	if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)) {
		CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%ld", fd);

		report->path = realpath(link, NULL);
	}
	return 0;
}

int report_open(struct newfile *report, const char *place, const int *pass_fds, size_t n_pass_fds,
	struct err *err)
{
	CLEANUP_FREE char *what = xasprintf("--report %s", place);

	if (strncmp(place, "fd:", 3) == 0)
		return open_fd(report, place + 3, pass_fds, n_pass_fds, err);
	return newfile_open(report, place, what, err);
}

int report_write(struct newfile *report, const struct run_result *result, struct err *err)
{
	CLEANUP_FREE char *text = report_text(result);
	int error = write_all(report->fd, text, strlen(text));

	if (error < 0)
		return err_set(err, ERR_SYSTEM, "cannot write the report: %s", strerror(-error));
	return report->name ? newfile_name(report, err) : 0;
}
