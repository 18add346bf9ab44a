#include "run/output.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool output_piped(const struct output_spec *spec)
{
	return spec->capture || spec->files || spec->sink || spec->limit;
}

/* Where the byte at this offset of the stream is kept: the same place for all before the bound. */
static size_t place_of(const struct capture *c, uint64_t offset)
{
	size_t head = c->bound / 2;

	return offset < head ? offset : head + (offset - head) % (c->bound - head);
}

void capture_add(struct capture *c, const char *data, size_t len)
{
	while (c->bound && len) {
		size_t at = place_of(c, c->bytes);
		size_t n = c->bound - at < len ? c->bound - at : len;

		if (at + n > c->allocated) {
			size_t more = 2 * c->allocated > at + n ? 2 * c->allocated : at + n;

			c->allocated = more < c->bound ? more : c->bound;
			c->data = xreallocarray(c->data, c->allocated, 1);
		}
		memcpy(c->data + at, data, n);
		c->bytes += n;
		data += n;
		len -= n;
	}
}

/* Whether the bytes are UTF-8 without NUL. */
static bool is_text(const char *s, size_t len)
{
	while (len) {
		size_t n = *s ? utf8_length(s, len) : 0;

		if (n == 0)
			return false;
		s += n;
		len -= n;
	}
	return true;
}

/* Whether these bytes (1 to 3) are the beginning of a character, and not all of it. */
static bool begins_character(const char *s, size_t len)
{
	char lowest[4], highest[4];

	memset(lowest, 0x80, sizeof(lowest));
	memset(highest, 0xbf, sizeof(highest));
	memcpy(lowest, s, len);
	memcpy(highest, s, len);
	return utf8_length(lowest, sizeof(lowest)) > len ||
	       utf8_length(highest, sizeof(highest)) > len;
}

/* The length of the head without the beginning of a character at its end. */
static size_t whole_head(const char *s, size_t len)
{
	for (size_t n = 1; n <= 3 && n <= len; n++)
		if (begins_character(s + len - n, n))
			return len - n;
	return len;
}

/* The number of bytes at the start of the tail that are the rest of a character. */
static size_t cut_rest(const char *s, size_t len)
{
	size_t n = 0;

	while (n < 3 && n < len && ((unsigned char)s[n] & 0xc0) == 0x80)
		n++;
	return n;
}

void capture_take(struct capture *c, struct run_stream *stream)
{
	size_t len = c->bytes < c->bound ? (size_t)c->bytes : c->bound;
	size_t head = len < c->bytes ? c->bound / 2 : len;
	size_t oldest = place_of(c, c->bytes); /* of the tail, where bytes were omitted */
	char *kept = xcalloc(len + 1, 1);

	if (head < len) {
		char *tail = kept + head;
		size_t rest, whole = whole_head(c->data, head);

		memcpy(kept, c->data, head);
		memcpy(tail, c->data + oldest, c->bound - oldest);
		memcpy(tail + (c->bound - oldest), c->data + head, oldest - head);
		rest = cut_rest(tail, len - head);
		stream->is_text = is_text(kept, whole) && is_text(tail + rest, len - head - rest);
		if (stream->is_text) {
			memmove(kept + whole, tail + rest, len - head - rest);
			len -= head - whole + rest;
			head = whole;
		}
	} else {
		if (len)
			memcpy(kept, c->data, len);
		stream->is_text = is_text(kept, len);
	}
	kept[len] = '\0';
	stream->kept = kept;
	stream->kept_len = len;
	stream->head_len = head;
	free(c->data);
	*c = (struct capture){0};
}
