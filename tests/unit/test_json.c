/* The strict reader: one row for each way in which a lenient one, cJSON included, goes wrong. */
#include "base/json.h"
#include "base/mem.h"
#include "lib/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bad {
	const char *what;
	const char *text;
	size_t len; /* 0: strlen */
	const char *at;
	const char *message;
};

#define BYTES(s) s, sizeof(s) - 1

static const struct bad bad[] = {
	/* What cJSON lets through. */
	{"text after the document", BYTES("{} x"), "line 1, column 4", "text after"},
	{"a second document", BYTES("{}\n{}"), "line 2, column 1", "text after"},
	{"a NUL after the document", BYTES("{}\0"), "line 1, column 3", "text after"},
	{"a byte order mark", BYTES("\xef\xbb\xbf{}"), "line 1, column 1", "byte order mark"},
	{"a duplicate key", BYTES("{\"a\": {\"k\": 1, \"x\": 2, \"k\": 3}}"), "/a/k", "twice"},
	{"a duplicate key, once escaped", BYTES("[{\"ab\": 1, \"\\u0061b\": 2}]"), "/0/ab",
		"twice"},
	{"a duplicate key with ~ and /", BYTES("{\"a/~b\": 1, \"a/~b\": 2}"), "/a~1~0b", "twice"},
	{"\\u0000 in a string", BYTES("[\"a\\u0000b\"]"), "line 1, column 4", "\\u0000"},
	{"\\u0000 in a key", BYTES("{\"a\\u0000\": 1}"), "line 1, column 4", "\\u0000"},
	{"a NUL in a string", BYTES("[\"a\0b\"]"), "line 1, column 4", "control character"},
	{"a newline in a string", BYTES("[\"a\nb\"]"), "line 1, column 4", "control character"},
	{"a tab in a string", BYTES("[\"\t\"]"), "line 1, column 3", "control character"},
	{"invalid UTF-8", BYTES("[\"\xff\"]"), "line 1, column 3", "UTF-8"},
	{"overlong UTF-8 of two bytes", BYTES("[\"\xc0\xaf\"]"), "line 1, column 3", "UTF-8"},
	{"overlong UTF-8 of three bytes", BYTES("[\"\xe0\x80\xaf\"]"), "line 1, column 3", "UTF-8"},
	{"overlong UTF-8 of four bytes", BYTES("[\"\xf0\x80\x80\xaf\"]"), "line 1, column 3",
		"UTF-8"},
	{"a surrogate in UTF-8", BYTES("[\"\xed\xa0\x80\"]"), "line 1, column 3", "UTF-8"},
	{"UTF-8 beyond U+10FFFF", BYTES("[\"\xf4\x90\x80\x80\"]"), "line 1, column 3", "UTF-8"},
	{"cut UTF-8", BYTES("[\"\xe2\x82"), "line 1, column 3", "UTF-8"},
	{"UTF-8 without its rest", BYTES("[\"\xe2\x82\"]"), "line 1, column 3", "UTF-8"},
	{"a continuation byte alone", BYTES("[\"\x80\"]"), "line 1, column 3", "UTF-8"},
	{"a leading zero", BYTES("[01]"), "line 1, column 3", "leading zero"},
	{"a leading plus", BYTES("[+1]"), "line 1, column 2", "value was expected"},
	{"no digit before the point", BYTES("[.5]"), "line 1, column 2", "value was expected"},
	{"no digit after the point", BYTES("[1.]"), "line 1, column 4", "after the point"},
	{"no digit in the exponent", BYTES("[1e]"), "line 1, column 4", "exponent"},
	{"a sign alone in the exponent", BYTES("[1e-]"), "line 1, column 5", "exponent"},
	{"a minus alone", BYTES("[-]"), "line 1, column 3", "without digits"},
	{"two signs", BYTES("[--1]"), "line 1, column 3", "without digits"},
	{"hexadecimal", BYTES("[0x10]"), "line 1, column 3", "expected"},
	{"infinity", BYTES("[1e999]"), "line 1, column 2", "too large"},
	{"NaN", BYTES("[NaN]"), "line 1, column 2", "value was expected"},
	{"Infinity", BYTES("[Infinity]"), "line 1, column 2", "value was expected"},
	{"a number that would be cut",
		BYTES("[1000000000000000000000000000000000000000000000000000000000000000]"),
		"line 1, column 2", "too many digits"},
	{"a space that is none", BYTES("[\v1]"), "line 1, column 2", "value was expected"},
	{"a no-break space",
		BYTES("[\xc2\xa0"
		      "1]"),
		"line 1, column 2", "value was expected"},
	{"a NUL as space", BYTES("[\0 1]"), "line 1, column 2", "value was expected"},
	{"a lone first surrogate", BYTES("[\"\\ud800\"]"), "line 1, column 9", "surrogate"},
	{"a first surrogate and another escape", BYTES("[\"\\ud800\\n\"]"), "line 1, column 9",
		"surrogate"},
	{"two first surrogates", BYTES("[\"\\ud800\\ud800\"]"), "line 1, column 9", "surrogate"},
	{"a lone second surrogate", BYTES("[\"\\udc00\"]"), "line 1, column 3", "surrogate"},
	{"three hexadecimal digits", BYTES("[\"\\u12 4\"]"), "line 1, column 3", "hexadecimal"},
	{"a cut escape", BYTES("[\"\\u12"), "line 1, column 3", "hexadecimal"},
	/* The rest of the grammar. */
	{"an unknown escape", BYTES("[\"\\x41\"]"), "line 1, column 3", "no escape"},
	{"an escaped NUL", BYTES("[\"\\\0\"]"), "line 1, column 3", "no escape"},
	{"a backslash at the end", BYTES("[\"\\"), "line 1, column 3", "no escape"},
	{"nothing", BYTES(" "), "line 1, column 2", "too early"},
	{"a comment", BYTES("// x\n{}"), "line 1, column 1", "value was expected"},
	{"a comment inside", BYTES("{ /* x */ }"), "line 1, column 3", "string was expected"},
	{"a comma at the end of an array", BYTES("[1,]"), "line 1, column 4", "value was expected"},
	{"a comma at the end of an object", BYTES("{\"a\": 1,\n}"), "line 2, column 1",
		"string was expected"},
	{"a missing comma", BYTES("[1 2]"), "line 1, column 4", "\",\" or \"]\""},
	{"a missing comma in an object", BYTES("{\"a\": 1 \"b\": 2}"), "line 1, column 9",
		"\",\" or \"}\""},
	{"the wrong bracket", BYTES("[1}"), "line 1, column 3", "\",\" or \"]\""},
	{"a missing colon", BYTES("{\"a\" 1}"), "line 1, column 6", "\":\""},
	{"a key that is no string", BYTES("{a: 1}"), "line 1, column 2", "string was expected"},
	{"a number as key", BYTES("{1: 1}"), "line 1, column 2", "string was expected"},
	{"single quotes", BYTES("['a']"), "line 1, column 2", "value was expected"},
	{"an open array", BYTES("[1"), "line 1, column 3", "too early"},
	{"an open object", BYTES("{\"a\": 1"), "line 1, column 8", "too early"},
	{"an object that ends after a key", BYTES("{\"a\""), "line 1, column 5", "\":\""},
	{"an object that ends after its bracket", BYTES("{"), "line 1, column 2", "too early"},
	{"an open string", BYTES("[\"abc"), "line 1, column 6", "closing quote"},
	{"a word in capitals", BYTES("[True]"), "line 1, column 2", "value was expected"},
	{"a cut word", BYTES("[tru]"), "line 1, column 2", "value was expected"},
	{"a word with more", BYTES("[nullx]"), "line 1, column 6", "expected"},
	{"a fault in the third line", BYTES("{\n\"a\": 1,\r\n  \"b\": x}"), "line 3, column 8",
		"value"},
};

static void test_bad(void)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		/* A copy of the exact size: the sanitizer sees a read beyond it. */
		CLEANUP_FREE char *text = xmemdup(bad[i].text, bad[i].len);
		struct err err = {0};
		CLEANUP_JSON json *value = json_read(text, bad[i].len, &err);

		ok(!value && err.kind == ERR_POLICY, "%s: refused", bad[i].what);
		is_str(err.at, bad[i].at, "%s: place", bad[i].what);
		if (!ok(strstr(err.message, bad[i].message) != NULL, "%s: message", bad[i].what))
			diag("%s", err.message);
	}
}

static json *read_text(const char *text, struct err *err)
{
	return json_read(text, strlen(text), err);
}

/* An array in an array ..., n deep. */
static json *read_nested(size_t n, struct err *err)
{
	CLEANUP_FREE char *text = xcalloc(2 * n + 1, 1);

	memset(text, '[', n);
	memset(text + n, ']', n);
	return read_text(text, err);
}

static void test_depth(void)
{
	struct err err = {0};
	CLEANUP_JSON json *good = read_nested(64, &err);
	CLEANUP_JSON json *deep = read_nested(65, &err);
	CLEANUP_JSON json *abyss = NULL;

	ok(good != NULL, "64 levels are read");
	ok(!deep, "65 are not");
	ok(strstr(err.message, "deeper than 64") != NULL, "and it is said");
	is_str(err.at, "line 1, column 66", "with the place");
	abyss = read_nested(1000000, &err);
	ok(!abyss, "a million levels are refused");
}

static void test_size(void)
{
	struct err err = {0};
	CLEANUP_FREE char *text = xcalloc(JSON_MAX_SIZE + 1, 1);
	CLEANUP_JSON json *largest = NULL, *larger = NULL;

	memset(text, ' ', JSON_MAX_SIZE + 1);
	memcpy(text, "[]", 2);
	largest = json_read(text, JSON_MAX_SIZE, &err);
	ok(largest != NULL, "16 MiB are read");
	larger = json_read(text, JSON_MAX_SIZE + 1, &err);
	ok(!larger && strstr(err.message, "larger than 16 MiB"), "more is refused");
}

static void test_good(void)
{
	struct err err = {0};
	CLEANUP_JSON json *root = read_text(
		" {\"s\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\xf0\x9f\x98\x80\","
		"\r\n\t\"n\": [0, -0, 10, -1.5e+2, 1E3, 0.25e-1], \"t\": true, \"f\": false, "
		"\"z\": null,"
		"\"\": {}, \"S\": \"other case\", \"e\": []} ",
		&err);
	static const double numbers[] = {0, 0, 10, -150, 1000, 0.025};
	const json *v;
	size_t i = 0;

	if (!ok(root != NULL, "a document with everything"))
		return;
	is_str(json_string(json_get(root, "s")),
		"\"\\/\b\f\n\r\t\xc3\xa9\xf0\x9f\x98\x80\xf0\x9f\x98\x80", "escapes");
	is_str(json_string(json_get(root, "S")), "other case", "keys differ by case");
	ok(!json_get(root, "N"), "no member by another case");
	for (v = json_first(json_get(root, "n")); v; v = json_next(v), i++)
		ok(json_number(v) == numbers[i], "number %zu", i);
	is_int((long long)i, 6, "six numbers");
	ok(json_bool(json_get(root, "t")) && !json_bool(json_get(root, "f")), "true and false");
	is_int(json_type(root), JSON_OBJECT, "an object");
	is_int(json_type(json_get(root, "e")), JSON_ARRAY, "an array");
	is_int(json_type(json_get(root, "s")), JSON_STRING, "a string");
	is_int(json_type(json_get(root, "f")), JSON_BOOL, "a boolean");
	is_int(json_type(json_get(root, "z")), JSON_NULL, "null");
	is_str(json_key(json_first(root)), "s", "the first key");
	ok(!json_first(json_get(root, "e")), "an empty array has no first");
	ok(json_get(root, "") != NULL, "an empty key");
}

/* Many members must not take quadratic time: at 16 MiB this would be minutes. */
static void test_many(void)
{
	CLEANUP_FREE char *text = xcalloc(2, 1 << 20);
	struct err err = {0};
	size_t n = 0, len = 0;
	CLEANUP_JSON json *root = NULL;

	for (; len < (1 << 20); n++)
		len += (size_t)sprintf(text + len, "%c\"k%zu\":%zu", n ? ',' : '{', n, n);
	strcpy(text + len, "}");
	root = read_text(text, &err);
	ok(root != NULL, "%zu members", n);
	free(text);
	text = xasprintf("{\"a\": 1, \"b\": 2, \"c\": 3, \"a\": 4}");
	ok(!read_text(text, &err), "keys that are apart are compared too");
}

static void test_print(void)
{
	CLEANUP_JSON json *root = json_new_object();
	CLEANUP_FREE char *line = NULL, *pretty = NULL, *again = NULL;
	CLEANUP_JSON json *back = NULL;
	struct err err = {0};
	json *list;

	json_add_string(root, "text", "a\x01\"\xff\xc3\xa9");
	list = json_add(root, "list", json_new_array());
	json_add_number(list, NULL, 1234567890123.0);
	json_add_bool(list, NULL, true);
	json_add_null(list, NULL);
	json_add_string(root, "k\xff", "v");
	json_add_string(root, "gone", "x");
	json_remove(root, "gone");
	json_remove(root, "never there");
	line = json_print(root, false);
	is_str(line,
		"{\"text\":\"a\\u0001\\\"\xef\xbf\xbd\xc3\xa9\",\"list\":[1234567890123,true,null],"
		"\"k\xef\xbf\xbd\":\"v\"}",
		"one line, bad bytes replaced");
	pretty = json_print(root, true);
	ok(strstr(pretty, "{\n\t\"text\":") != NULL, "pretty: a member a line, tabs");
	back = read_text(pretty, &err);
	again = back ? json_print(back, false) : NULL;
	is_str(again, line, "what is printed is read back");
}

static void test_utf8(void)
{
	ok(utf8_valid("") && utf8_valid("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "valid UTF-8");
	ok(!utf8_valid("a\xc3") && !utf8_valid("\xed\xbf\xbf"), "invalid UTF-8");
	is_int((long long)utf8_length("\xf4\x8f\xbf\xbf", 4), 4, "U+10FFFF");
	is_int((long long)utf8_length("\xf0\x9f\x98\x80", 3), 0, "cut");
	is_int((long long)utf8_length("a", 0), 0, "nothing");
}

int main(void)
{
	test_bad();
	test_depth();
	test_size();
	test_good();
	test_many();
	test_print();
	test_utf8();
	return done_testing();
}
