#include "lib/world.h"

#include "base/mem.h"
#include "base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) ((unsigned)(sizeof(array) / sizeof(*(array))))

unsigned bytes_pick(struct bytes *bytes, unsigned n)
{
	if (!bytes->n)
		return 0;
	bytes->n--;
	return *bytes->data++ % n;
}

/* Of zero to four names below a top directory. */
static char *random_path(struct bytes *b, bool real)
{
	static const char *const tops[] = {"/srv", "/srv", "/home", "/etc", "/tmp"};
	static const char *const names[] = {"a", "ab", "b", ".c"};
	char *path = xstrdup(tops[real ? 0 : bytes_pick(b, N(tops))]);

	for (unsigned n = bytes_pick(b, 5); n > 0; n--) {
		char *longer = path_join(path, names[bytes_pick(b, N(names))]);

		free(path);
		path = longer;
	}
	return path;
}

/* One that is mostly there. */
static char *some_path(struct bytes *b, const struct strvec *paths, bool real)
{
	return paths->n && bytes_pick(b, 6) ? xstrdup(paths->v[bytes_pick(b, (unsigned)paths->n)])
					    : random_path(b, real);
}

/* A path with some of its names, the first excepted, made into patterns. */
static char *some_pattern(struct bytes *b, const struct strvec *paths, bool real)
{
	static const char *const wild[] = {"*", "?", "a*", "[ab]", "**", "[!a]*"};
	CLEANUP_FREE char *path = some_path(b, paths, real);
	char *pattern = xstrdup("");
	const char *p = path + 1;

	for (bool first = true; *p; first = false, p += strspn(p, "/")) {
		size_t len = strcspn(p, "/");
		char *longer = first || bytes_pick(b, 2)
				       ? xasprintf("%s/%.*s", pattern, (int)len, p)
				       : xasprintf("%s/%s", pattern, wild[bytes_pick(b, N(wild))]);

		free(pattern);
		pattern = longer;
		p += len;
	}
	return pattern;
}

static void make_tree(struct world *w, struct bytes *b, bool real)
{
	CLEANUP_STRVEC struct strvec dirs = {0};
	size_t size;
	FILE *out = open_memstream(&w->tree, &size);

	if (!real)
		fputs("c /dev/null 1:3\nd /proc/sys\nd /tmp 1777\nd /home\nd /etc\n", out);
	if (!real)
		fprintf(out, "uid %d\n", bytes_pick(b, 2) ? 1000 : 0);
	fputs("d /srv\n", out);
	strvec_pushl(&dirs, "/", "/srv", NULL);
	if (!real)
		strvec_pushl(&dirs, "/home", "/etc", "/tmp", NULL);
	for (unsigned n = 3 + bytes_pick(b, 24); n > 0; n--) {
		CLEANUP_FREE char *path = random_path(b, real);
		CLEANUP_FREE char *parent = path_parent(path);
		unsigned kind = bytes_pick(b, real ? 10 : 13);
		const char *owner = real ? "" : bytes_pick(b, 3) ? " 0 0" : " 1000 1000";

		if (strvec_has(&w->paths, path) || strvec_has(&dirs, path))
			continue;
		/* The names that are missing on the way, unless one is no directory. */
		if (!strvec_has(&dirs, parent)) {
			if (strvec_has(&w->paths, parent))
				continue;
			free(path);
			path = xstrdup(parent);
			free(parent);
			parent = path_parent(path);
			if (!strvec_has(&dirs, parent))
				continue;
			kind = 0;
		}
		if (kind < 5) {
			fprintf(out, "d %s %s%s\n", path,
				real || bytes_pick(b, 6) ? "0755" : "0777", owner);
			strvec_push(&dirs, path);
		} else if (kind < 8) {
			fprintf(out, "f %s 0644%s\n", path, owner);
		} else if (kind < 10) {
			CLEANUP_FREE char *to = random_path(b, real);

			fprintf(out, "l %s -> %s\n", path, bytes_pick(b, 4) ? to : "../a");
		} else if (kind < 11) {
			fprintf(out, "p %s\n", path);
		} else {
			fprintf(out, "s %s %s\n", path,
				bytes_pick(b, 4) ? "0666" : "0600 1000 1000");
			if (bytes_pick(b, 4))
				fprintf(out, "u %s\n", path);
		}
		strvec_push(&w->paths, path);
	}
	if (!real && bytes_pick(b, 3) == 1) {
		const char *from = dirs.v[bytes_pick(b, (unsigned)dirs.n)];
		const char *at = dirs.v[bytes_pick(b, (unsigned)dirs.n)];

		if (!path_within(from, at) && !path_within(at, from))
			fprintf(out, "a %s -> %s\n", at, from);
	}
	fclose(out);
}

static void make_policy(struct world *w, struct bytes *b, bool real)
{
	static const char *const keys[] = {"read", "write", "deny", "connect", "mounts"};
	static const char *const types[] = {
		"", "", "", "", ", \"type\": \"file\"", ", \"type\": \"directory\""};
	CLEANUP_STRVEC struct strvec used = {0};
	struct strvec lists[N(keys)] = {0};
	size_t size;
	FILE *out = open_memstream(&w->policy, &size);

	fprintf(out,
		"{\"sbx\": 1, \"process\": {\"cwd\": \"/\"}, \"filesystem\": {\"root\": \"%s\"",
		bytes_pick(b, 2) ? "read" : "deny");
	if (real)
		fprintf(out, ", \"proc\": \"none\", \"dev\": \"%s\"",
			bytes_pick(b, 8) ? "none" : "minimal");
	for (unsigned n = 1 + bytes_pick(b, 8); n > 0; n--) {
		unsigned kind = bytes_pick(b, real ? 10 : 11);
		bool pattern = kind < 8 && bytes_pick(b, 4) == 1;
		CLEANUP_FREE char *path =
			pattern ? some_pattern(b, &w->paths, real) : some_path(b, &w->paths, real);
		unsigned list = kind < 4 ? 2 : kind < 6 ? 0 : kind < 8 ? 1 : kind < 10 ? 4 : 3;

		if (strvec_has(&used, path))
			continue;
		strvec_push(&used, path);
		if (list == 4) {
			CLEANUP_FREE char *from = some_path(b, &w->paths, real);
			bool outside = bytes_pick(b, 2);

			strvec_pushf(&lists[4],
				"{\"at\": \"%s%s\", \"from\": \"%s\", \"access\": \"%s\","
				" \"optional\": true, \"follow\": %s}",
				outside ? "/m" : "", path, from,
				bytes_pick(b, 2) ? "write" : "read",
				bytes_pick(b, 2) ? "true" : "false");
		} else if (list == 3) {
			strvec_pushf(&lists[3], "\"%s\"", path);
		} else {
			strvec_pushf(&lists[list], "{\"path\": \"%s\"%s%s%s%s}", path,
				list == 2 ? "" : ", \"optional\": true",
				list == 2 || bytes_pick(b, 2) ? "" : ", \"follow\": true",
				!real && list != 1 && bytes_pick(b, 4) == 1
					? ", \"missing\": \"enforce\""
					: "",
				types[bytes_pick(b, N(types))]);
		}
	}
	for (unsigned k = 0; k < N(keys); k++) {
		CLEANUP_FREE char *joined = lists[k].n ? strvec_join(&lists[k], ", ") : NULL;

		if (joined)
			fprintf(out, ", \"%s\": [%s]", keys[k], joined);
		strvec_clear(&lists[k]);
	}
	fputs("}}", out);
	fclose(out);
}

void world_make(struct world *world, struct bytes *bytes, bool real)
{
	*world = (struct world){0};
	make_tree(world, bytes, real);
	make_policy(world, bytes, real);
}

void world_clear(struct world *world)
{
	free(world->tree);
	free(world->policy);
	strvec_clear(&world->paths);
}

bool world_known_fault(const char *message)
{
	return strncmp(message, "not proven: deny ", 17) == 0 &&
	       strstr(message, ", which is shown");
}

/* "[...]" at p against a byte; *end is what comes after it. NULL in *end: it is no set. */
static bool set_has(const char *p, unsigned char byte, const char **end)
{
	bool not = p[1] == '!' || p[1] == '^', has = false;
	const char *q = p + 1 + not, *first = q;

	for (; *q && *q != '/' && (*q != ']' || q == first); q++) {
		unsigned char low, high;

		if (*q == '[' && strchr(":.=", q[1]) && q[1])
			break; /* classes: not for this */
		if (*q == '\\' && q[1])
			q++;
		low = high = (unsigned char)*q;
		if (q[1] == '-' && q[2] && q[2] != ']' && q[2] != '/') {
			q += q[2] == '\\' && q[3] ? 3 : 2;
			high = (unsigned char)*q;
		}
		has |= low <= byte && byte <= high;
	}
	*end = *q == ']' ? q + 1 : NULL;
	return has != not ;
}

/* One name, as bytes. */
static bool name_matches(const char *p, size_t p_len, const char *name, size_t len)
{
	CLEANUP_FREE char *own = xstrndup(p, p_len);
	const char *end;

	p = own;
	if (!*p)
		return !len;
	if (*p == '*')
		return name_matches(p + 1, strlen(p + 1), name, len) ||
		       (len && name_matches(p, strlen(p), name + 1, len - 1));
	if (!len)
		return false;
	if (*p == '[') {
		bool has = set_has(p, (unsigned char)*name, &end);

		if (end)
			return has && name_matches(end, strlen(end), name + 1, len - 1);
	}
	if (*p == '\\' && p[1])
		p++;
	else if (*p == '?')
		return name_matches(p + 1, strlen(p + 1), name + 1, len - 1);
	return *p == *name && name_matches(p + 1, strlen(p + 1), name + 1, len - 1);
}

bool pattern_matches(const char *pattern, const char *path, bool is_dir)
{
	size_t p_len, len;

	pattern += strspn(pattern, "/");
	path += strspn(path, "/");
	if (!*pattern)
		return !*path;
	p_len = strcspn(pattern, "/");
	len = strcspn(path, "/");
	if (p_len == 2 && strncmp(pattern, "**", 2) == 0) {
		return pattern_matches(pattern + p_len, path, is_dir) ||
		       (*path && (path[len] || is_dir) &&
			       pattern_matches(pattern, path + len, is_dir));
	}
	return *path && name_matches(pattern, p_len, path, len) &&
	       pattern_matches(pattern + p_len, path + len, is_dir);
}
