/*
 * Links that raise access: which ones may, on whose word, and what is said of the others. Where
 * something plans it is proven, too.
 */
#include "base/mem.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/plan.h"
#include "plan/proof.h"
#include "plan/view.h"

#include <stdio.h>
#include <string.h>

/* The tree is HOST and what a row adds. want: "ACCESS PATH" of a view, or a part of
 * "MESSAGE (PLACE) HINT". */
struct row {
	const char *what, *tree, *filesystem, *want;
};

/* The caller's home, with a link to a directory that no rule shows unless it says so. */
#define HOST                                                                                       \
	"uid 1000\nc /dev/null 1:3\nd /tmp 1777\nd /proc/sys\nd /home/me 0755 1000 1000\n"         \
	"l /home/me/src -> /data/src\nf /data/src/x\nl /home/them/src -> /data/src\n"              \
	"d /home/me/w 0755 1000 1000\nl /home/me/w/src -> /data/src\n"
#define FOLLOW(path) "{\"path\": \"" path "\", \"follow\": true}"
#define READ(path) "\"read\": [" FOLLOW(path) "]"
#define WRITE(path) "\"write\": [" FOLLOW(path) "]"
#define MOUNT(from, access)                                                                        \
	"\"mounts\": [{\"at\": \"/m\", \"from\": \"" from "\", \"access\": \"" access              \
	"\", \"follow\": true}]"
#define NO_KEY "(p: /filesystem/read/0) a link that others, or the command, could change grants"

static const struct row rows[] = {
	/* The caller's own links, on the rule's word. */
	{"a rule that follows", "", READ("/home/me/src"), "read /data/src/x"},
	{"the link itself", "", READ("/home/me/src"), "read /home/me/src/x"},
	{"a path beyond the link", "", READ("/home/me/src/x"), "read /home/me/src/x"},
	{"writing", "", WRITE("/home/me/src"), "write /home/me/src/x"},
	{"under a deny", "", "\"root\": \"read\", \"deny\": [\"/data\"], " READ("/home/me/src"),
		"read /data/src/x"},
	{"a mount", "", MOUNT("/home/me/src", "read"), "read /m/x"},
	{"a writable mount", "", MOUNT("/home/me/src/", "write"), "write /m/x"},
	{"what a pattern matches", "", READ("/home/me/s*"), "read /data/src/x"},
	{"a pattern behind a link", "", READ("/home/me/src/*"), "read /home/me/src/x"},
	{"root's link on the way to one's own", "l /h -> /home\n", READ("/h/me/src"),
		"read /h/me/src/x"},
	{"one's own link to another", "l /home/me/b -> src\n", READ("/home/me/b"),
		"read /home/me/b/x"},
	{"below a sticky directory",
		"d /var/t 1777\nd /var/t/a 0700 1000 1000\n"
		"l /var/t/a/l -> /data/src\n",
		READ("/var/t/a/l"), "read /data/src/x"},
	{"a writable directory beside", "", "\"write\": [\"/home/me/w\"], " READ("/home/me/src"),
		"read /data/src/x"},
	{"root's own directory, for root", "uid 0\nd /r 0755 0 0\nl /r/l -> /data/src\n",
		READ("/r/l"), "read /data/src/x"},
	{"of two matches in one layer, one without it", "",
		"\"read\": [\"/home/me/sr?\", " FOLLOW("/home/me/s*") "]",
		"the directory /home/me is owned by uid 1000 (p: /filesystem/read/0)"},

	/* Without the key; what to do. */
	{"no key", "", "\"read\": [\"/home/me/src\"]",
		"/home/me/src leads through the symbolic link /home/me/src to /data/src, which no"
		" rule makes readable; the link cannot: the directory /home/me is owned by uid 1000"
		" (p: /filesystem/read/0) name /data/src itself; or, where all links in that"
		" directory are your own, add \"follow\": true to the rule"},
	{"no key, writing", "", "\"write\": [{\"path\": \"/home/me/src\", \"follow\": false}]",
		"which no rule makes writable; the link cannot: the directory /home/me is owned"},
	{"no key, a mount", "", "\"mounts\": [{\"at\": \"/m\", \"from\": \"/home/me/src\"}]",
		"add \"follow\": true"},
	{"a device", "c /data/kvm 1:9\nl /home/me/kvm -> /data/kvm\n",
		"\"devices\": [\"/home/me/kvm\"]",
		"(p: /filesystem/devices/0) a link that others, or the command, could change"},

	/* Directories that others can change. */
	{"another's directory", "d /home/them 0755 1001 1001\n", READ("/home/them/src"),
		"the directory /home/them is owned by uid 1001 " NO_KEY},
	{"another's directory, no key", "d /home/them 0755 1001 1001\n",
		"\"read\": [\"/home/them/src\"]", "owned by uid 1001 " NO_KEY},
	{"the caller's directory, for root", "uid 0\n", READ("/home/me/src"),
		"the directory /home/me is owned by uid 1000 " NO_KEY},
	{"a group", "d /home/me 0775 1000 1000\n", READ("/home/me/src"),
		"the directory /home/me is writable by others of its group " NO_KEY},
	{"all", "d /home/me 0757 1000 1000\n", READ("/home/me/src"),
		"the directory /home/me is writable by others " NO_KEY},
	{"all, with a sticky bit", "d /home/me 1777 1000 1000\n", READ("/home/me/src"),
		"the directory /home/me is writable by others " NO_KEY},
	{"a directory above", "d /home 0755 1001 1001\n", READ("/home/me/src"),
		"the directory /home is owned by uid 1001 " NO_KEY},
	{"a group, above", "d /home 0775\n", READ("/home/me/src"),
		"the directory /home is writable by others of its group " NO_KEY},
	{"the second link", "d /home/them 0755 1001 1001\nl /home/me/b -> ../them/src\n",
		"\"read\": [\"/home/me/b\"]",
		"/home/me/b leads through the symbolic link /home/them/src to /data/src, which no"
		" rule makes readable; the link cannot: the directory /home/them is owned by uid"
		" 1001 " NO_KEY},
	{"a mount", "d /home/them 0755 1001 1001\n", MOUNT("/home/them/src", "read"),
		"the directory /home/them is owned by uid 1001 (p: /filesystem/mounts/0)"},
	{"a place through one's own link", "",
		"\"tmpfs\": [{\"at\": \"/home/me/src\"}], \"root\":"
		" \"read\", " READ("/home/me/src/x"),
		"the place /home/me/src passes through the symbolic link"},

	/* Directories that the command can change. */
	{"a write rule", "", "\"write\": [\"/home/me/w\"], " READ("/home/me/w/src"),
		"the directory /home/me/w is made writable by p: /filesystem/write/0 " NO_KEY},
	{"a write rule above", "", "\"write\": [\"/home\"], " READ("/home/me/w/src"),
		"the directory /home/me/w is made writable by p: /filesystem/write/0 " NO_KEY},
	{"a write rule that another takes back", "",
		"\"write\": [\"/home/me\"], \"read\": [" FOLLOW(
			"/home/me/w/src") ", \"/home/me/w\"]",
		"the directory /home/me/w is made writable by p: /filesystem/write/0 " NO_KEY},
	{"the rule itself", "l /home/me/w/up -> ..\n", WRITE("/home/me/w/up"),
		"the directory /home/me/w is made writable by p: /filesystem/write/0 (p: "
		"/filesystem/write/0)"},
	{"a write rule through another link", "l /home/me/to -> w\n",
		WRITE("/home/me/to") ", " READ("/home/me/w/src"),
		"the directory /home/me/w is made writable by p: /filesystem/write/0 " NO_KEY},
	{"a pattern that writes", "", "\"write\": [\"/home/me/?\"], " READ("/home/me/w/src"),
		"the directory /home/me/w is made writable by p: /filesystem/write/0 " NO_KEY},
	{"a writable mount of it", "",
		"\"mounts\": [{\"at\": \"/m\", \"from\": \"/home/me/w\", \"access\": "
		"\"write\"}], " READ("/home/me/w/src"),
		"the directory /home/me/w is made writable by p: /filesystem/mounts/0 " NO_KEY},
	{"a write rule for another name of it", "d /mnt/w\na /mnt/w -> /home/me/w\n",
		"\"write\": [\"/mnt/w\"], " READ("/home/me/w/src"),
		"the directory /home/me/w is made writable by p: /filesystem/write/0 " NO_KEY},
	{"a mount from it", "", "\"write\": [\"/home/me/w\"], " MOUNT("/home/me/w/src", "read"),
		"the directory /home/me/w is made writable by p: /filesystem/write/0"},
	{"a write rule for another name of a part of it",
		"d /home/me/w/part\nd /mnt/w\na /mnt/w -> /home/me/w/part\n",
		"\"write\": [\"/mnt/w\"], " READ("/home/me/w/src"), "read /data/src/x"},

	/* Protections only lower. */
	{"a protection inside", "",
		"\"write\": [\"/home/me/w\", \"/data\"], " READ("/home/me/w/src"),
		"read /data/src/x"},
	{"a denial", "", "\"root\": \"read\", \"deny\": [\"/home/me/src\"]", "deny /data/src"},

	/* sbx's own files. */
	{"a link to sbx's own", "d /home/me/.config/sbx/p\nl /home/me/c -> .config/sbx/p\n",
		WRITE("/home/me/c"),
		"/home/me/c leads to /home/me/.config/sbx/p, and /home/me/.config/sbx would be"
		" writable: sbx keeps its own policies and state there (p: /filesystem/write/0)"
		" give it \"read\""},
	{"a link to what holds them", "d /home/me/.config/sbx\nl /home/me/c -> .config\n",
		WRITE("/home/me/c"),
		"/home/me/.config/sbx would be writable: sbx keeps its own policies and state there"
		" (p: /filesystem/write/0) add \"read\": [\"/home/me/.config/sbx\"]"},
	{"a link to where they would be", "d /home/me/.config\nl /home/me/c -> .config\n",
		WRITE("/home/me/c"), "/home/me/.config/sbx would be writable"},
	{"a mount of what holds them", "d /home/me/.cache/sbx\nl /home/me/c -> .cache\n",
		MOUNT("/home/me/c", "write"), "/home/me/.cache/sbx would be writable"},
	{"root's link to what holds them", "l /h -> home/me\n", "\"write\": [\"/h\"]",
		"/home/me/.config/sbx would be writable"},
	{"a link to them, read", "f /home/me/.config/sbx/p\nl /home/me/c -> .config\n",
		READ("/home/me/c"), "read /home/me/.config/sbx/p"},
	{"a link to what holds them, kept", "f /home/me/.config/sbx/p\nl /home/me/c -> .config\n",
		WRITE("/home/me/c") ", \"read\": [\"~/.config/sbx\"]", "read /home/me/c/sbx/p"},
	{"a mount of what holds them, kept", "f /home/me/.cache/sbx/p\nl /home/me/c -> .cache\n",
		MOUNT("/home/me/c", "write") ", \"read\": [\"~/.cache/sbx\"]", "read /m/sbx/p"},
	{"and what is beside them", "f /home/me/.config/x\nl /home/me/c -> .config\n",
		WRITE("/home/me/c") ", \"deny\": [\"~/.config/sbx\"]", "write /home/me/c/x"},

	/* Where no link leads, whoever made it. */
	{"a link to /", "l /home/me/all -> /\n", READ("/home/me/all"),
		"/home/me/all leads to /, for which another rule says something else (default)"},
	{"a denied object", "", "\"deny\": [\"/data/src\"], " READ("/home/me/src"),
		"/home/me/src leads to /data/src, for which another rule says something else"},
	{"a link into /proc", "f /proc/1/root\nl /home/me/p -> /proc/1\n",
		MOUNT("/home/me/p", "read"), "would show the host's own /proc or /dev"},
};

static void check(const struct row *row)
{
	CLEANUP_FREE char *policy_text =
		xasprintf("{\"sbx\": 1, \"process\": {\"cwd\": \"/\"}, \"filesystem\": {%s}}",
			row->filesystem);
	CLEANUP_FREE char *tree_text = xasprintf("%s%s", HOST, row->tree);
	CLEANUP_FREE char *got = NULL;
	const struct policy_context context = {.home = "/home/me", .cwd = "/"};
	const struct plan_request request = {.proc = PROC_FRESH, .cwd = "/"};
	struct tree *tree = faketree_parse(tree_text);
	struct policy policy = {0};
	struct plan plan = {0};
	struct err err = {0};
	struct view_object object = {0};
	const char *path = strchr(row->want, ' ') + 1;

	if (policy_load_text(
		    &policy, policy_text, strlen(policy_text), "p", NULL, &context, &err) == 0 &&
		plan_make(&plan, &policy, tree, &request, &err) == 0 &&
		proof_check(&plan, &policy, tree, &err) == 0) {
		bool there = view_lookup(&plan, tree, path, &object) == 0;

		got = xasprintf("%s %s", access_name(there ? object.access : ACCESS_DENY), path);
	} else {
		got = xasprintf("%s (%s) %s", err.message, err.at, err.hint);
	}
	if (!ok(strstr(got, row->want) != NULL, "%s", row->what))
		diag("got \"%s\", wanted \"%s\"", got, row->want);
	view_object_clear(&object);
	plan_clear(&plan);
	policy_clear(&policy);
	faketree_free(tree);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check(&rows[i]);
	return done_testing();
}
