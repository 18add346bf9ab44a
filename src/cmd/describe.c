#include "cmd/describe.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/quote.h"
#include "base/strvec.h"
#include "cmd/options.h"

#include <stdio.h>
#include <string.h>

const json *describe_report(const struct job_facts *facts, const char *key)
{
	return facts->report ? json_get(facts->report, key) : NULL;
}

/* How long it has run; -1 = not known. */
static int64_t duration_of(const struct job_facts *facts)
{
	const json *ms = describe_report(facts, "duration_ms");

	if (ms && json_type(ms) == JSON_NUMBER)
		return (int64_t)json_number(ms);
	return facts->alive && facts->started_ms >= 0 ? clock_ms(CLOCK_REALTIME) - facts->started_ms
						      : -1;
}

static void add_number(json *object, const char *key, int64_t number)
{
	if (number >= 0)
		json_add_number(object, key, (double)number);
	else
		json_add_null(object, key);
}

void describe_fields(json *object, const struct job *job, const struct job_facts *facts)
{
	const json *code = describe_report(facts, "exit_code"),
		   *outcome = describe_report(facts, "outcome");

	json_add_string(object, "id", job->id);
	json_add_string(object, "state", job_state_name(facts->state));
	if (outcome)
		json_add_string(object, "outcome", json_string(outcome));
	else
		json_add_null(object, "outcome");
	add_number(object, "exit_code", code ? (int64_t)json_number(code) : -1);
	add_number(object, "duration_ms", duration_of(facts));
}

/* The command for people, from a document that anybody may have written. */
static char *command_text(const struct job_facts *facts)
{
	const json *command = facts->meta ? json_get(facts->meta, "command") : NULL;
	CLEANUP_STRVEC struct strvec words = {0};

	if (!command || json_type(command) != JSON_ARRAY)
		return xstrdup("");
	for (const json *word = json_first(command); word; word = json_next(word))
		if (json_type(word) == JSON_STRING)
			strvec_take(&words, shell_quote(json_string(word)));
	return strvec_join(&words, " ");
}

static void add_strings(json *object, const char *key, const json *meta)
{
	const json *from = meta ? json_get(meta, key) : NULL;
	json *array = json_add(object, key, json_new_array());

	for (const json *s = from && json_type(from) == JSON_ARRAY ? json_first(from) : NULL; s;
		s = json_next(s))
		if (json_type(s) == JSON_STRING)
			json_add_string(array, NULL, json_string(s));
}

json *describe_as_json(const struct job *job, const struct job_facts *facts)
{
	json *object = json_new_object();
	const json *cwd = facts->meta ? json_get(facts->meta, "cwd") : NULL;

	describe_fields(object, job, facts);
	add_number(object, "created_ms", facts->meta ? facts->created_ms : -1);
	add_number(object, "started_ms", facts->meta ? facts->started_ms : -1);
	add_strings(object, "policies", facts->meta);
	add_strings(object, "flags", facts->meta);
	add_strings(object, "command", facts->meta);
	json_add_string(
		object, "cwd", cwd && json_type(cwd) == JSON_STRING ? json_string(cwd) : "");
	return object;
}

void describe_as_text(const struct job *job, const struct job_facts *facts)
{
	const json *code = describe_report(facts, "exit_code"),
		   *outcome = describe_report(facts, "outcome");
	CLEANUP_FREE char *command = command_text(facts);
	int64_t ms = duration_of(facts);

	printf("%s  %-8s  ", job->id, job_state_name(facts->state));
	if (code)
		printf("%3d  ", (int)json_number(code));
	else
		printf("  -  ");
	if (ms >= 0)
		printf("%8.1fs  ", (double)ms / 1000);
	else
		printf("%9s  ", "-");
	print_escaped(stdout, command);
	if (outcome && strcmp(json_string(outcome), "completed") != 0) {
		fputs("  (", stdout);
		print_escaped(stdout, json_string(outcome));
		putchar(')');
	}
	putchar('\n');
}
