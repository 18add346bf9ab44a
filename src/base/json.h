/*
 * JSON, strictly: RFC 8259 and nothing more lenient. cJSON keeps the tree (json.c is its only
 * includer); what cJSON would let through is refused here before it gets there: a byte order mark,
 * invalid UTF-8, text after the document, duplicate keys, "\u0000", lone surrogates, control
 * characters in strings, odd number forms, nesting deeper than 64.
 */
#ifndef SBX_BASE_JSON_H
#define SBX_BASE_JSON_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Larger documents are refused unread. */
#define JSON_MAX_SIZE (16 << 20)

/* A value of a document. The root owns all below it: only the root is given to json_free. */
typedef struct cJSON json;

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* Reads a document of len bytes. NULL on error, with kind ERR_POLICY, a message that names the
 * fault and at = "line L, column C" (both from 1, columns in bytes), or, for a duplicate key,
 * its JSON pointer. The caller frees the result with json_free. */
json *json_read(const char *text, size_t len, struct err *err);
void json_free(json *value);
void json_cleanup(json **value);
#define CLEANUP_JSON __attribute__((cleanup(json_cleanup)))

enum json_type json_type(const json *value);
/* "an object", "a string" ...: for messages. */
const char *json_type_name(enum json_type type);
/* The key under which an object holds value; NULL elsewhere. */
const char *json_key(const json *value);
const char *json_string(const json *value);
double json_number(const json *value);
bool json_bool(const json *value);
/* Members of an array or object in order: for (v = json_first(a); v; v = json_next(v)). */
const json *json_first(const json *value);
const json *json_next(const json *value);
/* A member by exact (case-sensitive) key, or NULL. */
const json *json_get(const json *object, const char *key);

/* One step of the way from the root (NULL) to a value. Lives on the stack of whoever walks a
 * document. */
struct json_place {
	const struct json_place *up;
	const char *key; /* in an object; NULL: index counts */
	size_t index;    /* in an array */
};

/* The JSON pointer (RFC 6901) of a place, "" for the root; free with free(). */
char *json_pointer(const struct json_place *place);

/* Building. json_add and its kin append to an object, or to an array when key is NULL; the parent
 * takes ownership of child. Each returns the value added. Strings that are not valid UTF-8 are
 * written with U+FFFD for each byte that is not part of a character. */
json *json_new_object(void);
json *json_new_array(void);
json *json_add(json *parent, const char *key, json *child);
json *json_add_string(json *parent, const char *key, const char *s);
/* Any bytes, as base64 (RFC 4648, padded). */
char *json_base64(const char *data, size_t len); /* free with free() */
json *json_add_base64(json *parent, const char *key, const void *data, size_t len);
json *json_add_number(json *parent, const char *key, double number);
json *json_add_bool(json *parent, const char *key, bool b);
json *json_add_null(json *parent, const char *key);
/* Takes a member out of an object and frees it; nothing happens when there is none. */
void json_remove(json *object, const char *key);
/* The document as text, pretty (tabs, one member a line) or on one line; free with free(). */
char *json_print(const json *value, bool pretty);

/* The length in bytes (1 to 4) of the UTF-8 character (RFC 3629) at the start of the n bytes at
 * s; 0 when there is none. */
size_t utf8_length(const char *s, size_t n);
bool utf8_valid(const char *s);

#endif
