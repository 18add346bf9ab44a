#include "run/table.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/strvec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

struct table_mount *table_add(struct table_spec *spec, const struct table_mount *mount)
{
	GROW(spec->v, spec->n, spec->alloc);
	spec->v[spec->n] = *mount;
	return &spec->v[spec->n++];
}

void table_clear(struct table_spec *spec)
{
	for (size_t i = 0; i < spec->n; i++) {
		free(spec->v[i].at);
		free(spec->v[i].root);
	}
	free(spec->v);
	*spec = (struct table_spec){0};
}

/* What cgroups say of what lies outside their namespace ("/../..") is no normal path. */
static bool same_root(const char *planned, const char *there)
{
	CLEANUP_FREE char *normal = *there == '/' ? path_normalize(there) : xstrdup(there);

	return strcmp(planned, there) == 0 || strcmp(planned, normal) == 0;
}

static bool is_host_device(const struct table_spec *spec, dev_t dev)
{
	for (size_t i = 0; spec->host && i < spec->host->n; i++)
		if (spec->host->v[i].dev == dev)
			return true;
	return false;
}

static bool shows(
	const struct table_spec *spec, const struct table_mount *m, const struct mount_line *line)
{
	if (m->type && strcmp(m->type, line->type) != 0)
		return false;
	if (m->root && !same_root(m->root, line->root))
		return false;
	if (m->root && !m->own && !m->type && m->dev != line->dev)
		return false;
	return !m->own || !is_host_device(spec, line->dev);
}

static bool has_flags(const struct table_mount *m, const struct mount_line *line)
{
	return (!m->read_only || mount_has_option(line->options, "ro")) &&
	       (!m->nosuid || mount_has_option(line->options, "nosuid")) &&
	       (!m->nodev || mount_has_option(line->options, "nodev"));
}

static bool is_connected(const struct mount_line *line)
{
	return strstr(line->tags, "shared:") || strstr(line->tags, "master:");
}

/* "ext4, /etc of 254:0 (ro,nosuid,nodev)" */
static char *planned_text(const struct table_mount *m)
{
	CLEANUP_STRVEC struct strvec flags = {0};
	CLEANUP_FREE char *of = NULL, *words = NULL;

	if (m->read_only)
		strvec_push(&flags, "ro");
	if (m->nosuid)
		strvec_push(&flags, "nosuid");
	if (m->nodev)
		strvec_push(&flags, "nodev");
	words = strvec_join(&flags, ",");
	if (m->root && !m->own && !m->type)
		of = xasprintf("%s of %u:%u", m->root, major(m->dev), minor(m->dev));
	else
		of = xasprintf("%s%s%s%s", m->own ? "a new " : "", m->type ? m->type : "something",
			m->root ? ", " : "", m->root ? m->root : "");
	return xasprintf("%s (%s)", of, words);
}

static char *line_text(const struct mount_line *line)
{
	return xasprintf("%s, %s of %u:%u (%s%s%s)", line->type, line->root, major(line->dev),
		minor(line->dev), line->options, *line->tags ? " " : "", line->tags);
}

/* m is what the plan has, line what stands there; each can be NULL. */
static int differ(
	const char *at, const struct table_mount *m, const struct mount_line *line, struct err *err)
{
	CLEANUP_FREE char *planned = m ? planned_text(m) : xstrdup("no mount");
	CLEANUP_FREE char *there = line ? line_text(line) : xstrdup("no mount is seen");

	err_set(err, ERR_SETUP,
		"the sandbox's mount table is not what was planned: %s: the plan has %s; there: "
		"%s",
		at, planned, there);
	return err_hint(err,
		"files or mounts of the host changed while the sandbox was made, or bwrap did "
		"something else than it was told: nothing was run; try again when nobody changes "
		"them");
}

/* Whether a mount that need not be there is known. If not, *nearest is what it would be but for its
 * flags, or left alone. */
static bool is_known(const struct table_spec *spec, const struct mount_line *line, bool seen,
	const struct table_mount **nearest)
{
	for (size_t i = 0; i < spec->n; i++) {
		const struct table_mount *m = &spec->v[i];

		if (m->needed || strcmp(m->at, line->at) != 0 || !shows(spec, m, line))
			continue;
		if (!seen || (!m->covered && has_flags(m, line)))
			return true;
		*nearest = m->covered ? *nearest : m;
	}
	return false;
}

int table_compare(const struct table_spec *spec, const struct mount_table *table, struct err *err)
{
	CLEANUP_FREE bool *planned = xcalloc(table->n + 1, sizeof(*planned));

	if (table->broken)
		return err_set(err, ERR_SETUP, "the sandbox's mount table cannot be understood");
	for (size_t i = 0; i < spec->n; i++) {
		const struct table_mount *m = &spec->v[i];
		const struct mount_line *line = m->needed ? mount_table_at(table, m->at) : NULL;

		if (!m->needed)
			continue;
		if (!line || strcmp(line->at, m->at) != 0)
			return differ(m->at, m, NULL, err);
		if (!shows(spec, m, line) || !has_flags(m, line))
			return differ(m->at, m, line, err);
		planned[line - table->v] = true;
	}
	for (size_t i = 0; i < table->n; i++) {
		const struct mount_line *line = &table->v[i];
		bool seen = mount_table_at(table, line->at) == line;
		const struct table_mount *nearest = NULL;

		if (is_connected(line) && !spec->connected)
			return differ(line->at, NULL, line, err);
		if (!planned[i] && !is_known(spec, line, seen, &nearest))
			return differ(line->at, nearest, line, err);
	}
	return 0;
}
