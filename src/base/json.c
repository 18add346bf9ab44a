#include "base/json.h"

#include "base/mem.h"

#include <cJSON.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64
/* cJSON keeps at most this many characters of a number. */
#define MAX_NUMBER 63

/* Where the reader stands in the text. */
struct reader {
	const char *start, *p, *end;
	unsigned depth;
	struct err *err;
};

static int read_value(struct reader *r);

static void *allocate(size_t n)
{
	return xcalloc(n, 1);
}

/* Makes cJSON end the program when memory runs out, as all of sbx does: it then never answers
 * NULL for that reason. */
static void use_own_memory(void)
{
	cJSON_InitHooks(&(cJSON_Hooks){allocate, free});
}

size_t utf8_length(const char *s, size_t n)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned long c;
	size_t len;

	if (n && u[0] < 0x80)
		return 1;
	if (n < 2 || u[0] < 0xc2 || u[0] > 0xf4)
		return 0;
	len = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	if (n < len)
		return 0;
	c = u[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (u[i] & 0x3f);
	}
	if ((len == 3 && c < 0x800) || (len == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	return c >= 0xd800 && c <= 0xdfff ? 0 : len;
}

bool utf8_valid(const char *s)
{
	size_t left = strlen(s);

	while (left) {
		size_t len = utf8_length(s, left);

		if (!len)
			return false;
		s += len;
		left -= len;
	}
	return true;
}

/* The fault is at r->p. */
static int fault(struct reader *r, const char *what)
{
	size_t line = 1, column = 1;

	for (const char *p = r->start; p < r->p; p++, column++)
		if (*p == '\n') {
			line++;
			column = 0;
		}
	err_set(r->err, ERR_POLICY, "not valid JSON: %s", what);
	return err_at(r->err, "line %zu, column %zu", line, column);
}

static void skip_space(struct reader *r)
{
	while (r->p < r->end && strchr(" \t\r\n", *r->p) && *r->p)
		r->p++;
}

static bool take(struct reader *r, char c)
{
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

/* The four digits after "\u"; -1 when they are not there. */
static long hex4(const struct reader *r, const char *p)
{
	char digits[5] = "";

	if (r->end - p < 4)
		return -1;
	memcpy(digits, p, 4);
	return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

/* r->p is at the backslash. */
static int read_escape(struct reader *r)
{
	const char *p = r->p + 1;
	long c, low;

	if (p == r->end || !*p || !strchr("\"\\/bfnrtu", *p))
		return fault(r, "a backslash that begins no escape");
	if (*p != 'u') {
		r->p += 2;
		return 0;
	}
	c = hex4(r, p + 1);
	if (c < 0)
		return fault(r, "\\u needs four hexadecimal digits");
	if (c == 0)
		return fault(r, "\\u0000 in a string");
	if (c >= 0xdc00 && c <= 0xdfff)
		return fault(r, "the second half of a surrogate pair without the first");
	r->p += 6;
	if (c < 0xd800 || c > 0xdbff)
		return 0;
	low = r->end - r->p >= 2 && memcmp(r->p, "\\u", 2) == 0 ? hex4(r, r->p + 2) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return fault(r, "the first half of a surrogate pair without the second");
	r->p += 6;
	return 0;
}

static int read_string(struct reader *r)
{
	if (!take(r, '"'))
		return fault(r, r->p == r->end ? "it ends too early" : "a string was expected");
	while (!take(r, '"')) {
		size_t len = utf8_length(r->p, (size_t)(r->end - r->p));

		if (r->p == r->end)
			return fault(r, "a string without its closing quote");
		if ((unsigned char)*r->p < 0x20)
			return fault(r, "a control character in a string");
		if (len == 0)
			return fault(r, "bytes that are not UTF-8");
		if (*r->p != '\\')
			r->p += len;
		else if (read_escape(r) < 0)
			return -1;
	}
	return 0;
}

static size_t digits(struct reader *r)
{
	const char *start = r->p;

	while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
		r->p++;
	return (size_t)(r->p - start);
}

static int read_number(struct reader *r)
{
	const char *start = r->p;
	char text[MAX_NUMBER + 1] = "";

	take(r, '-');
	if (!take(r, '0') && !digits(r))
		return fault(r, "a number without digits");
	if (r->p < r->end && *r->p >= '0' && *r->p <= '9')
		return fault(r, "a number with a leading zero");
	if (take(r, '.') && !digits(r))
		return fault(r, "a number without digits after the point");
	if (take(r, 'e') || take(r, 'E')) {
		if (!take(r, '+'))
			take(r, '-');
		if (!digits(r))
			return fault(r, "a number without digits in its exponent");
	}
	if (r->p - start > MAX_NUMBER) {
		r->p = start;
		return fault(r, "a number with too many digits");
	}
	memcpy(text, start, (size_t)(r->p - start));
	if (!isfinite(strtod(text, NULL))) {
		r->p = start;
		return fault(r, "a number too large");
	}
	return 0;
}

/* Members between the brackets of an array or object; r->p is after the opening one. */
static int read_members(struct reader *r, char close, bool keys)
{
	if (++r->depth > MAX_DEPTH)
		return fault(r, "nested deeper than 64 levels");
	skip_space(r);
	if (!take(r, close))
		for (;;) {
			skip_space(r);
			if (keys) {
				if (read_string(r) < 0)
					return -1;
				skip_space(r);
				if (!take(r, ':'))
					return fault(r, "\":\" was expected after a key");
			}
			if (read_value(r) < 0)
				return -1;
			skip_space(r);
			if (take(r, close))
				break;
			if (!take(r, ','))
				return fault(r, r->p == r->end ? "it ends too early"
						: keys         ? "\",\" or \"}\" was expected"
							       : "\",\" or \"]\" was expected");
		}
	r->depth--;
	return 0;
}

static int read_value(struct reader *r)
{
	static const char *const words[] = {"true", "false", "null"};

	skip_space(r);
	if (r->p == r->end)
		return fault(r, "it ends too early");
	if (take(r, '{'))
		return read_members(r, '}', true);
	if (take(r, '['))
		return read_members(r, ']', false);
	if (*r->p == '"')
		return read_string(r);
	if (*r->p == '-' || (*r->p >= '0' && *r->p <= '9'))
		return read_number(r);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(r->end - r->p) >= n && memcmp(r->p, words[i], n) == 0) {
			r->p += n;
			return 0;
		}
	}
	return fault(r, "a value was expected");
}

static int validate(const char *text, size_t len, struct err *err)
{
	struct reader r = {text, text, text + len, 0, err};

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		return fault(&r, "a byte order mark");
	if (read_value(&r) < 0)
		return -1;
	skip_space(&r);
	return r.p == r.end ? 0 : fault(&r, "text after the document");
}

static void print_place(FILE *out, const struct json_place *place)
{
	if (!place)
		return;
	print_place(out, place->up);
	if (!place->key) {
		fprintf(out, "/%zu", place->index);
		return;
	}
	putc('/', out);
	for (const char *key = place->key; *key; key++)
		if (*key == '~')
			fputs("~0", out);
		else if (*key == '/')
			fputs("~1", out);
		else
			putc(*key, out);
}

char *json_pointer(const struct json_place *place)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int failed;

	if (!out)
		out_of_memory();
	print_place(out, place);
	failed = ferror(out);
	if (fclose(out) || failed || !text)
		out_of_memory();
	return text;
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A key that object has twice, or NULL. */
static const char *duplicate_key(const json *object)
{
	CLEANUP_FREE const char **keys = NULL;
	const char *found = NULL;
	size_t n = 0, alloc = 0;

	for (const json *v = json_first(object); v; v = json_next(v)) {
		GROW(keys, n, alloc);
		keys[n++] = v->string;
	}
	if (n)
		qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 1; i < n && !found; i++)
		if (strcmp(keys[i - 1], keys[i]) == 0)
			found = keys[i];
	return found;
}

static int refuse_duplicates(const json *value, const struct json_place *up, struct err *err)
{
	struct json_place here = {up, NULL, 0};

	if (cJSON_IsObject(value) && (here.key = duplicate_key(value))) {
		CLEANUP_FREE char *pointer = json_pointer(&here);

		err_set(err, ERR_POLICY, "the key \"%s\" is there twice", here.key);
		err_hint(err, "keep one of the two");
		return err_at(err, "%s", pointer);
	}
	for (const json *v = json_first(value); v; v = json_next(v), here.index++) {
		here.key = v->string;
		if (refuse_duplicates(v, &here, err) < 0)
			return -1;
	}
	return 0;
}

json *json_read(const char *text, size_t len, struct err *err)
{
	json *root;

	if (len > JSON_MAX_SIZE) {
		err_set(err, ERR_POLICY, "the document is larger than %d MiB", JSON_MAX_SIZE >> 20);
		return NULL;
	}
	if (validate(text, len, err) < 0)
		return NULL;
	use_own_memory();
	root = cJSON_ParseWithLength(text, len);
	if (!root) {
		err_set(err, ERR_POLICY, "not valid JSON");
		return NULL;
	}
	if (refuse_duplicates(root, NULL, err) < 0) {
		json_free(root);
		return NULL;
	}
	return root;
}

void json_free(json *value)
{
	cJSON_Delete(value);
}

void json_cleanup(json **value)
{
	json_free(*value);
}

enum json_type json_type(const json *value)
{
	if (cJSON_IsObject(value))
		return JSON_OBJECT;
	if (cJSON_IsArray(value))
		return JSON_ARRAY;
	if (cJSON_IsString(value))
		return JSON_STRING;
	if (cJSON_IsNumber(value))
		return JSON_NUMBER;
	return cJSON_IsBool(value) ? JSON_BOOL : JSON_NULL;
}

const char *json_type_name(enum json_type type)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",
		[JSON_BOOL] = "true or false",
		[JSON_NUMBER] = "a number",
		[JSON_STRING] = "a string",
		[JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
	};

	return names[type];
}

const char *json_key(const json *value)
{
	return value->string;
}

const char *json_string(const json *value)
{
	return value->valuestring;
}

double json_number(const json *value)
{
	return value->valuedouble;
}

bool json_bool(const json *value)
{
	return cJSON_IsTrue(value);
}

const json *json_first(const json *value)
{
	return value->child;
}

const json *json_next(const json *value)
{
	return value->next;
}

const json *json_get(const json *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* s with U+FFFD for each byte that is no part of a character. */
static char *to_utf8(const char *s)
{
	size_t left = strlen(s), n = 0;
	char *out = xcalloc(left + 1, 3);

	while (left) {
		size_t len = utf8_length(s, left);

		memcpy(out + n, len ? s : "\xef\xbf\xbd", len ? len : 3);
		n += len ? len : 3;
		s += len ? len : 1;
		left -= len ? len : 1;
	}
	return out;
}

json *json_new_object(void)
{
	use_own_memory();
	return cJSON_CreateObject();
}

json *json_new_array(void)
{
	use_own_memory();
	return cJSON_CreateArray();
}

json *json_add(json *parent, const char *key, json *child)
{
	CLEANUP_FREE char *valid = key ? to_utf8(key) : NULL;

	if (valid)
		cJSON_AddItemToObject(parent, valid, child);
	else
		cJSON_AddItemToArray(parent, child);
	return child;
}

json *json_add_string(json *parent, const char *key, const char *s)
{
	CLEANUP_FREE char *valid = to_utf8(s);

	return json_add(parent, key, cJSON_CreateString(valid));
}

char *json_base64(const char *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)data;
	char *text = xcalloc((len + 2) / 3 * 4 + 1, 1), *out = text;

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t bits = (uint32_t)in[i] << 16 | (n > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
				(n > 2 ? in[i + 2] : 0);

		for (size_t k = 0; k < 4; k++)
			*out++ = k <= n ? digits[bits >> (18 - 6 * k) & 63] : '=';
	}
	return text;
}

json *json_add_base64(json *parent, const char *key, const void *data, size_t len)
{
	CLEANUP_FREE char *text = json_base64(data, len);

	return json_add_string(parent, key, text);
}

json *json_add_number(json *parent, const char *key, double number)
{
	return json_add(parent, key, cJSON_CreateNumber(number));
}

json *json_add_bool(json *parent, const char *key, bool b)
{
	return json_add(parent, key, cJSON_CreateBool(b));
}

json *json_add_null(json *parent, const char *key)
{
	return json_add(parent, key, cJSON_CreateNull());
}

void json_remove(json *object, const char *key)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, key);
}

char *json_print(const json *value, bool pretty)
{
	return pretty ? cJSON_Print(value) : cJSON_PrintUnformatted(value);
}
