#include "base/mem.h"
#include "base/path.h"
#include "lib/tap.h"

static void normalize(const char *path, const char *want)
{
	CLEANUP_FREE char *got = path_normalize(path);

	is_str(got, want, "normal form of %s", path);
}

static void join(const char *dir, const char *name, const char *want)
{
	CLEANUP_FREE char *got = path_join(dir, name);

	is_str(got, want, "%s joined with '%s'", dir, name);
}

static void parent(const char *path, const char *want)
{
	CLEANUP_FREE char *got = path_parent(path);

	is_str(got, want, "parent of %s", path);
}

int main(void)
{
	normalize("/", "/");
	normalize("//", "/");
	normalize("/a//b/", "/a/b");
	normalize("/a/./b/.", "/a/b");
	normalize("/a/../b", "/b");
	normalize("/../..", "/");
	normalize("/a/b/../../c/..", "/");
	normalize("/..a/b..", "/..a/b..");
	normalize("/a/.../b", "/a/.../b");
	ok(path_within("/a/b", "/a"), "/a/b is within /a");
	ok(path_within("/a", "/a"), "/a is within itself");
	ok(path_within("/a", "/"), "everything is within /");
	ok(!path_within("/a/bc", "/a/b"), "/a/bc is not within /a/b");
	ok(!path_within("/a", "/a/b"), "a parent is not within its child");
	is_str(path_below("/a/b/c", "/a"), "b/c", "below /a");
	is_str(path_below("/a", "/"), "a", "below /");
	is_str(path_below("/a", "/a"), "", "below itself");
	join("/", "a", "/a");
	join("/a", "b/c", "/a/b/c");
	join("/a", "", "/a");
	parent("/a/b", "/a");
	parent("/a", "/");
	parent("/", "/");
	is_str(path_base("/a/b"), "b", "last component");
	is_int(path_depth("/"), 0, "depth of /");
	is_int(path_depth("/a/b"), 2, "depth of /a/b");
	return done_testing();
}
