#include "plan/resolve.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void fail(struct target *out, char **done, const char *next, const char *rest, int error)
{
	CLEANUP_FREE char *whole = path_join(next, rest);

	out->error = error;
	out->blocked = xstrdup(next);
	free(*done);
	*done = path_normalize(whole);
}

/* Notes the link at path and gives what is left to walk once it is followed; NULL = no more
 * links. */
static char *follow(const struct tree *tree, const char *path, const char *rest, struct target *out)
{
	char *text;

	if (out->n_hops == RESOLVE_MAX_LINKS) {
		out->error = -ELOOP;
		return NULL;
	}
	out->error = tree_readlink(tree, path, &text);
	if (out->error)
		return NULL;
	out->hops = xreallocarray(out->hops, out->n_hops + 1, sizeof(*out->hops));
	out->hops[out->n_hops++] = (struct hop){xstrdup(path), text};
	return xasprintf("%s/%s", text, rest);
}

void resolve(const struct tree *tree, const char *path, struct target *out)
{
	char *done = xstrdup("/");
	CLEANUP_FREE char *todo = xstrdup(path);
	char *p = todo;

	*out = (struct target){0};
	for (p += strspn(p, "/"); *p; p += strspn(p, "/")) {
		size_t len = strcspn(p, "/");
		CLEANUP_FREE char *name = xstrndup(p, len);
		bool self = strcmp(name, ".") == 0, up = strcmp(name, "..") == 0;
		CLEANUP_FREE char *next = self ? xstrdup(done)
					  : up ? path_parent(done)
					       : path_join(done, name);
		const char *rest = p + len + strspn(p + len, "/");
		int error = tree_lstat(tree, next, &out->st);
		char *more;

		if ((self || up) && !tree_may_search(tree, done)) {
			CLEANUP_FREE char *blocked = path_join(done, name);

			fail(out, &done, blocked, rest, -EACCES);
			break;
		}
		if (error || (*rest && out->st.kind != TREE_DIR && out->st.kind != TREE_LINK)) {
			fail(out, &done, next, rest, error ? error : -ENOTDIR);
			break;
		}
		if (out->st.kind != TREE_LINK) {
			free(done);
			done = xstrdup(next);
			if (out->n_hops && path_within(done, "/proc")) {
				out->into_proc = true;
				break;
			}
			p += len;
			continue;
		}
		if (path_within(next, "/proc")) {
			/* /proc/self and its like name whoever asks. */
			out->into_proc = true;
			fail(out, &done, next, rest, -ELOOP);
			break;
		}
		more = follow(tree, next, rest, out);
		if (!more) {
			fail(out, &done, next, rest, out->error);
			break;
		}
		if (*more == '/') {
			free(done);
			done = xstrdup("/");
		}
		free(todo);
		p = todo = more;
	}
	if (!out->error && !out->into_proc)
		tree_lstat(tree, done, &out->st);
	if (out->into_proc && out->n_hops && !out->error) {
		free(done);
		done = xstrdup(out->hops[out->n_hops - 1].path);
	}
	out->path = done;
}

void target_clear(struct target *target)
{
	for (size_t i = 0; i < target->n_hops; i++) {
		free(target->hops[i].path);
		free(target->hops[i].text);
	}
	free(target->hops);
	free(target->path);
	free(target->blocked);
	*target = (struct target){0};
}

char *hop_changed_in(const struct tree *tree, const struct hop *hop, bool with_caller)
{
	char *dir = path_parent(hop->path);
	bool above = false;

	for (;;) {
		struct tree_stat st;
		char *parent;

		if (tree_lstat(tree, dir, &st) < 0)
			return dir;
		if (st.uid != 0 && !(with_caller && st.uid == tree->uid))
			return dir;
		if ((st.mode & 0022) && !(above && (st.mode & S_ISVTX)))
			return dir;
		if (strcmp(dir, "/") == 0)
			break;
		above = true;
		parent = path_parent(dir);
		free(dir);
		dir = parent;
	}
	free(dir);
	return NULL;
}
