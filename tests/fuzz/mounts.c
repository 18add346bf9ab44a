/* Mount tables: one of a sandbox, one of the host, and what the plan wants, a line each: the place and
 * letters (n needed, c covered, o own, r read-only, s nosuid, d nodev). */
#include "fuzz/fuzz.h"
#include "run/table.h"

/* Any path is in some mount, or in none; and a table says what it says. */
static void look(const struct mount_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct mount_line *m = &table->v[i], *at;
		CLEANUP_FREE char *below = xasprintf("%s/x", m->at);

		PROMISE(*m->at == '/', "%s", m->at);
		at = mount_table_at(table, below);
		PROMISE(!at || (at >= table->v && at < table->v + table->n), "a mount of nowhere");
		mount_has_option(m->options, "ro");
		mount_has_option(m->super, "");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len;
	struct mount_table inside = {0}, host = {0};
	struct table_spec spec = {.host = &host};
	CLEANUP_FREE char *wanted = NULL;
	char *next, *line;
	struct err err = {0};

	mount_table_parse(&inside, next_part(&data, &size, &len));
	mount_table_parse(&host, next_part(&data, &size, &len));
	next = wanted = next_part(&data, &size, &len);
	while (next && (line = strsep(&next, "\n"))) {
		char *blank = strchr(line, ' ');

		if (*line != '/')
			continue;
		if (blank)
			*blank++ = '\0';
		table_add(&spec, &(struct table_mount){.at = xstrdup(line),
					 .needed = blank && strchr(blank, 'n'),
					 .covered = blank && strchr(blank, 'c'),
					 .own = blank && strchr(blank, 'o'),
					 .read_only = blank && strchr(blank, 'r'),
					 .nosuid = blank && strchr(blank, 's'),
					 .nodev = blank && strchr(blank, 'd')});
	}
	look(&inside);
	look(&host);
	if (table_compare(&spec, &inside, &err) < 0)
		PROMISE(*err.message, "no word");
	else
		PROMISE(!inside.broken, "a broken table is as planned");
	table_clear(&spec);
	mount_table_clear(&inside);
	mount_table_clear(&host);
	return 0;
}
