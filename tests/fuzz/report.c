/* Reports of arbitrary bytes: each reads back as JSON, and what was captured comes out of it byte
 * for byte. Texts, too: what is read as JSON prints as JSON, twice the same. */
#include "fuzz/fuzz.h"
#include "base/json.h"
#include "run/output.h"
#include "run/report.h"

static unsigned value_of(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = strchr(digits, c);

	return at && c ? (unsigned)(at - digits) : 64;
}

static char *decode(const char *text, size_t *len)
{
	char *data = xcalloc(strlen(text) + 1, 1);
	unsigned bits = 0, n_bits = 0;

	*len = 0;
	for (; *text && *text != '='; text++) {
		PROMISE(value_of(*text) < 64, "no base64");
		bits = bits << 6 | value_of(*text);
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			data[(*len)++] = (char)(bits >> n_bits);
		}
	}
	return data;
}

/* The bytes of a stream in a report. */
static void check_stream(const json *stream, const struct run_stream *want)
{
	const json *text = json_get(stream, "text");
	const char *given = json_string(text ? text : json_get(stream, "base64"));
	size_t len = strlen(given);
	CLEANUP_FREE char *got = text ? xmemdup(given, len + 1) : decode(given, &len);

	PROMISE(len == want->kept_len && memcmp(got, want->kept, len) == 0, "other bytes");
}

/* Captures bytes that come in two pieces: what is kept are the first and the last of them. */
static void capture(struct run_stream *stream, const char *bytes, size_t len, size_t bound)
{
	struct capture c = {.bound = bound};

	capture_add(&c, bytes, len / 3);
	capture_add(&c, bytes + len / 3, len - len / 3);
	capture_take(&c, stream);
	stream->counted = true;
	stream->bytes = len;
	stream->omitted = len - stream->kept_len;
	PROMISE(stream->kept_len <= len && stream->head_len <= stream->kept_len, "more than came");
	PROMISE(memcmp(stream->kept, bytes, stream->head_len) == 0, "another head");
	if (stream->omitted)
		PROMISE(len - stream->kept_len <= len - (bound < len ? bound : len) + 6,
			"more left out than a character at either side");
}

static void check_text(const uint8_t *data, size_t size)
{
	struct err err;
	CLEANUP_JSON json *value = json_read((const char *)data, size, &err), *again = NULL;
	CLEANUP_FREE char *text = NULL, *twice = NULL;

	if (!value)
		return;
	text = json_print(value, false);
	again = json_read(text, strlen(text), &err);
	PROMISE(again, "%s: %s", err.message, text);
	twice = json_print(again, false);
	PROMISE(strcmp(text, twice) == 0, "%s: %s", text, twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run_result result = RUN_RESULT_INIT;
	CLEANUP_FREE char *text = NULL, *line = NULL, *bytes = xcalloc(size + 1, 1);
	CLEANUP_JSON json *report = NULL;
	struct err err;

	check_text(data, size);
	if (size)
		memcpy(bytes, data, size);
	result.phase = PHASE_RUN;
	result.outcome = (enum run_outcome)(size % (OUTCOME_LOST + 1));
	result.exit_code = (int)(size % 256);
	capture(&result.out, bytes, size, size + 1);
	capture(&result.errors, bytes, size, size / 2 + 1);
	strvec_push(&result.notes, bytes);
	run_enforce(&result, "network", bytes, true, "x");
	run_violation(&result, &(struct violation){"lost", bytes, bytes, bytes, bytes});
	err_set(&result.err, ERR_SETUP, "%s", bytes);
	err_hint(&result.err, "%s", bytes);
	err_at(&result.err, "%s", bytes);
	text = report_text(&result);
	report = json_read(text, strlen(text), &err);
	PROMISE(report, "%s (%s): %s", err.message, err.at, text);
	check_stream(json_get(report, "stdout"), &result.out);
	check_stream(json_get(report, "stderr"), &result.errors);
	line = report_summary(&result);
	for (const char *p = line; *p; p++)
		PROMISE((unsigned char)*p >= ' ' && *p != 127, "a summary can steer a terminal: %s",
			line);
	run_result_clear(&result);
	return 0;
}
