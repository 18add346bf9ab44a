#include "base/mounts.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAX_TEXT (64U << 20)

/* Undoes the escapes in place: a backslash and three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
			from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* A decimal number that ends at the given byte; text is moved behind that. */
static bool take_number(char **text, char end, unsigned long *number)
{
	char *rest;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*number = strtoul(*text, &rest, 10);
	if (errno || *rest != end)
		return false;
	*text = rest + 1;
	return true;
}

/* "ID PARENT MAJOR:MINOR ROOT AT OPTIONS TAG... - TYPE SOURCE OPTIONS"; the source can be empty. */
bool mount_line_parse(struct mount_line *line, char *text)
{
	unsigned long major_number, minor_number;
	char *root, *at, *options, *tail, *type;

	if (!take_number(&text, ' ', &line->id) || !take_number(&text, ' ', &line->parent) ||
		!take_number(&text, ':', &major_number) || !take_number(&text, ' ', &minor_number))
		return false;
	root = strsep(&text, " ");
	at = strsep(&text, " ");
	tail = text ? strstr(text, " - ") : NULL;
	if (!tail || *at != '/')
		return false;
	*tail = '\0';
	tail += strlen(" - ");
	options = strsep(&text, " ");
	type = strsep(&tail, " ");
	if (!strsep(&tail, " ") || !tail) /* the source is not asked for */
		return false;
	unescape(root);
	unescape(at);
	unescape(type);
	*line = (struct mount_line){
		.id = line->id,
		.parent = line->parent,
		.dev = makedev((unsigned)major_number, (unsigned)minor_number),
		.root = root,
		.at = at,
		.options = options,
		.tags = text ? text : "",
		.type = type,
		.super = tail,
	};
	return true;
}

bool mount_has_option(const char *options, const char *word)
{
	size_t len = strlen(word);

	for (;;) {
		size_t n = strcspn(options, ",");

		if (n == len && strncmp(options, word, n) == 0)
			return true;
		if (!options[n])
			return false;
		options += n + 1;
	}
}

void mount_table_parse(struct mount_table *table, char *text)
{
	char *line, *end;

	*table = (struct mount_table){.text = text};
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		GROW(table->v, table->n, table->alloc);
		if (mount_line_parse(&table->v[table->n], line))
			table->n++;
		else
			table->broken = true;
	}
	table->broken = table->broken || *line;
}

int mount_table_read(struct mount_table *table, int fd)
{
	size_t size = 0, alloc = 1 << 14;
	char *text = xcalloc(alloc, 1);
	off_t start = lseek(fd, 0, SEEK_SET);
	int error = start < 0 ? -errno : 0;
	bool broken;

	while (!error) {
		ssize_t n = read(fd, text + size, alloc - size - 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			error = -errno;
		if (n <= 0)
			break;
		size += (size_t)n;
		if (size > MAX_TEXT)
			error = -EFBIG;
		else if (size + 1 == alloc)
			text = xreallocarray(text, alloc *= 2, 1);
	}
	text[size] = '\0';
	broken = memchr(text, '\0', size) != NULL;
	if (error)
		*text = '\0';
	mount_table_parse(table, text);
	table->broken = table->broken || broken;
	return error;
}

static bool has_id(const struct mount_table *table, unsigned long id)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->v[i].id == id)
			return true;
	return false;
}

/* What the root directory is on: of mounts at "/" the one below all. What is mounted over it, no
 * absolute path leads to. */
static const struct mount_line *find_root(const struct mount_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct mount_line *line = &table->v[i];

		if (strcmp(line->at, "/") == 0 &&
			(line->parent == line->id || !has_id(table, line->parent)))
			return line;
	}
	return NULL;
}

/* As the kernel walks: from each mount into the first on the way that is mounted in it. */
const struct mount_line *mount_table_at(const struct mount_table *table, const char *path)
{
	const struct mount_line *root = find_root(table), *here = root;

	for (size_t step = 0; here && step < table->n; step++) {
		const struct mount_line *next = NULL;

		for (size_t i = 0; i < table->n; i++) {
			const struct mount_line *line = &table->v[i];

			if (line->parent == here->id && line != here && line->at[1] &&
				path_within(path, line->at) &&
				(!next || strlen(line->at) <= strlen(next->at)))
				next = line;
		}
		if (!next)
			return here;
		here = next;
	}
	return here;
}

void mount_table_clear(struct mount_table *table)
{
	free(table->text);
	free(table->v);
	*table = (struct mount_table){0};
}
