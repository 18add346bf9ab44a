#include "plan/alias.h"

#include "base/mem.h"
#include "base/path.h"

#include <string.h>
#include <sys/sysmacros.h>

/* The mount that a path lies on: the deepest, of two at one place the later. */
static const struct tree_mount *mount_of(
	const struct tree_mount *mounts, size_t n, const char *path)
{
	const struct tree_mount *found = NULL;

	for (size_t i = 0; i < n; i++)
		if (path_within(path, mounts[i].at) &&
			(!found || strlen(mounts[i].at) >= strlen(found->at)))
			found = &mounts[i];
	return found;
}

bool same_object(const struct tree *tree, const char *a, const char *b)
{
	struct tree_stat x, y;

	return tree_lstat(tree, a, &x) == 0 && tree_lstat(tree, b, &y) == 0 && x.dev == y.dev &&
	       x.ino == y.ino;
}

/* A container's engine covers names of /proc with the null device. A rule for such a name is not
 * one for the device. */
static bool is_cover(const struct tree *tree, const char *path)
{
	struct tree_stat st;

	return tree_lstat(tree, path, &st) == 0 && st.kind == TREE_CHAR && st.rdev == makedev(1, 3);
}

void find_aliases(const struct tree *tree, const char *path, struct strvec *out)
{
	size_t n;
	const struct tree_mount *mounts = tree_mounts(tree, &n);
	const struct tree_mount *own = mount_of(mounts, n, path);
	CLEANUP_FREE char *inner = own ? path_join(own->root, path_below(path, own->at)) : NULL;

	for (size_t i = 0; own && !is_cover(tree, path) && i < n; i++) {
		const struct tree_mount *m = &mounts[i];
		CLEANUP_FREE char *part = NULL;
		CLEANUP_FREE char *alias = NULL;

		if (m == own || m->dev != own->dev)
			continue;
		if (path_within(inner, m->root)) {
			part = xstrdup(path);
			alias = path_join(m->at, path_below(inner, m->root));
		} else if (path_within(m->root, inner)) {
			part = path_join(path, path_below(m->root, inner));
			alias = xstrdup(m->at);
		}
		/* The table also has mounts that others cover: what really shows there decides. */
		if (alias && strcmp(alias, path) != 0 && same_object(tree, part, alias))
			strvec_push(out, alias);
	}
}
