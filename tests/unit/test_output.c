/*
 * What is captured of a stream: head, tail and counts, and where it is cut.
 */
#include "base/json.h"
#include "base/mem.h"
#include "lib/tap.h"
#include "run/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The capture of a stream, added in pieces of the given length. */
static struct run_stream capture(size_t bound, const char *data, size_t len, size_t piece)
{
	struct capture c = {.bound = bound};
	struct run_stream stream = {.bytes = len};

	for (size_t at = 0; at < len; at += piece)
		capture_add(&c, data + at, len - at < piece ? len - at : piece);
	if (c.bytes != len || c.allocated > bound)
		diag("%llu bytes of %zu, %zu of %zu", (unsigned long long)c.bytes, len, c.allocated,
			bound);
	capture_take(&c, &stream);
	stream.omitted = len - stream.kept_len;
	return stream;
}

static void test_cuts(void)
{
	static const struct {
		size_t bound;
		const char *data, *kept;
		size_t head;
		bool is_text;
		const char *name;
	} rows[] = {
		{8, "", "", 0, true, "nothing"},
		{8, "abc", "abc", 3, true, "less than the bound"},
		{8, "abcdefgh", "abcdefgh", 8, true, "as much"},
		{8, "abcdefghi", "abcdfghi", 4, true, "one byte more"},
		{8, "abcd12345678efgh", "abcdefgh", 4, true, "twice as much"},
		{7, "abcd1234efgh", "abcefgh", 3, true, "a bound that is odd"},
		{1, "abc", "c", 0, true, "a bound of one"},
		{8, "abc\xc3\xa4.....efgh", "abcefgh", 3, true, "a character at the head's end"},
		{8, "ab\xe2\x82\xac.....efgh", "abefgh", 2, true, "one of three bytes"},
		{8, "a\xf0\x9f\x98\x80.....efgh", "aefgh", 1, true, "one of four"},
		{8, "ab\xc3\xa4.....efgh",
			"ab\xc3\xa4"
			"efgh",
			4, true, "one that ends there"},
		{8,
			"abcd.....\xc3\xa4"
			"bcd",
			"abcdbcd", 4, true, "the rest of one at the tail's start"},
		{8,
			"abcd.....\xe2\x82\xac"
			"cd",
			"abcdcd", 4, true, "two bytes of it"},
		{8,
			"abcd.....\xf0\x9f\x98\x80"
			"d",
			"abcdd", 4, true, "three"},
		{8, "abcd.....\xf0\x9f\x98\x80", "abcd\xf0\x9f\x98\x80", 4, true,
			"one that starts there"},
		{2, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", "", 0, true, "nothing but parts"},
		{8, "abc\xff.....efgh",
			"abc\xff"
			"efgh",
			4, false, "a byte that is in no character"},
		{8,
			"abc\xc3.\xa4.....\xa4"
			"fgh",
			"abcfgh", 3, true, "what looks like a cut one"},
		{8,
			"\xa4"
			"bc\xc3.....\xa4"
			"fgh",
			"\xa4"
			"bc\xc3\xa4"
			"fgh",
			4, false, "a cut in what is not UTF-8 takes nothing away"},
		{8, "abcd....\xa4\xa4\xa4\xa4", "abcd\xa4\xa4\xa4\xa4", 4, false,
			"more rests than a character has"},
		{8, "abc\xc3", "abc\xc3", 4, false, "a beginning at the end of the stream"},
		{8, "ab\xc0\x80", "ab\xc0\x80", 4, false, "an overlong form"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (size_t piece = 1; piece <= 5; piece += 2) {
			struct run_stream s =
				capture(rows[i].bound, rows[i].data, strlen(rows[i].data), piece);

			is_str(s.kept, rows[i].kept, "%s: kept", rows[i].name);
			is_int((long long)s.head_len, (long long)rows[i].head, "%s: the head",
				rows[i].name);
			is_int((long long)s.kept_len, (long long)strlen(rows[i].kept),
				"%s: the length", rows[i].name);
			is_int(s.is_text, rows[i].is_text, "%s: text or not", rows[i].name);
			free(s.kept);
		}
	}
}

static void test_nul(void)
{
	struct run_stream s = capture(8, "a\0b", 3, 3);

	ok(s.kept_len == 3 && memcmp(s.kept, "a\0b", 3) == 0 && !s.is_text,
		"NUL is kept, and no text");
	free(s.kept);
}

static unsigned seed = 1;

static unsigned any(unsigned below)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % below;
}

/* A random stream of whole characters, or of bytes. */
static size_t make_stream(char *data, size_t size, bool text)
{
	static const char *const chars[] = {
		"a", "\n", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	size_t want = any((unsigned)size - 4), len = 0;

	while (len < want) {
		const char *c = chars[any(5)];

		if (text) {
			memcpy(data + len, c, strlen(c));
			len += strlen(c);
		} else {
			data[len++] = (char)any(any(2) ? 256 : 2);
		}
	}
	return len;
}

static void test_random(void)
{
	bool exact = true, bytes_untouched = true, text_is_text = true, little = true;

	for (int round = 0; round < 20000; round++) {
		char data[256];
		bool text = any(2);
		size_t len = make_stream(data, sizeof(data), text), bound = 1 + any(80);
		struct run_stream s = capture(bound, data, len, 1 + any(40));
		size_t tail = s.kept_len - s.head_len, most = len < bound ? len : bound;

		exact = exact && s.head_len <= s.kept_len && s.kept_len <= most &&
			s.kept_len + s.omitted == len && memcmp(s.kept, data, s.head_len) == 0 &&
			memcmp(s.kept + s.head_len, data + len - tail, tail) == 0;
		bytes_untouched = bytes_untouched && (s.is_text || s.kept_len == most);
		text_is_text = text_is_text && (s.is_text ? utf8_valid(s.kept) : !text);
		little = little && s.kept_len + 6 >= most;
		free(s.kept);
	}
	ok(exact, "head, what is omitted and tail are the stream");
	ok(bytes_untouched, "of bytes all that fit are kept");
	ok(text_is_text, "what is captured of text is text");
	ok(little, "no more is left out than two parts of characters");
}

int main(void)
{
	test_cuts();
	test_nul();
	test_random();
	return done_testing();
}
