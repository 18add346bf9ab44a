#include "base/path.h"

#include "base/mem.h"

#include <string.h>

char *path_normalize(const char *path)
{
	char *out = xcalloc(strlen(path) + 2, 1);
	size_t n = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			while (n && out[--n] != '/')
				;
		} else if (len && !(len == 1 && *path == '.')) {
			out[n++] = '/';
			memcpy(out + n, path, len);
			n += len;
		}
		path += len;
		path += strspn(path, "/");
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return out;
}

bool path_within(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1)
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

const char *path_below(const char *path, const char *dir)
{
	path += strlen(dir) == 1 ? 0 : strlen(dir);
	return path + (*path == '/');
}

char *path_join(const char *dir, const char *name)
{
	if (!*name)
		return xstrdup(dir);
	return xasprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
}

char *path_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
}

const char *path_base(const char *path)
{
	return strrchr(path, '/') + 1;
}

bool path_is_random(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && strlen(name) == len + 16 &&
	       strspn(name + len, "0123456789abcdef") == 16;
}

unsigned path_depth(const char *path)
{
	unsigned n = 0;

	if (strcmp(path, "/") == 0)
		return 0;
	for (; *path; path++)
		n += *path == '/';
	return n;
}
