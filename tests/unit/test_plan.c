/*
 * Properties of planner and proof on random trees and policies: whatever plans proves; the order of
 * rules does not matter; one more deny never shows more; a live socket that no rule names cannot be
 * reached; no rule for a name in a writable place shows more of what lies outside, whatever links an
 * earlier run has left there. SBX_ROUNDS and SBX_SEED change how many and which.
 */
#include "base/mem.h"
#include "base/path.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/plan.h"
#include "plan/proof.h"
#include "plan/view.h"
#include "plan/resolve.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

/* xorshift64*: the same numbers everywhere. */
static unsigned pick(unsigned n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (unsigned)((state * 2685821657736338717ULL >> 33) % n);
}

static const char *const names[] = {"a", "ab", "b", "c"};

/* A random path of one to four names below a top directory. */
static char *random_path(void)
{
	static const char *const tops[] = {"/srv", "/srv", "/home", "/etc", "/tmp"};
	char *path = xstrdup(tops[pick(5)]);

	for (unsigned n = pick(4); n > 0; n--) {
		char *longer = path_join(path, names[pick(4)]);

		free(path);
		path = longer;
	}
	return path;
}

/* A random directory that a tree has. */
static char *some_directory(const struct tree *tree)
{
	char *path = random_path();
	struct tree_stat st;

	while (tree_lstat(tree, path, &st) < 0 || st.kind != TREE_DIR) {
		char *up = path_parent(path);

		free(path);
		path = up;
	}
	return path;
}

/* A linked worktree and its repository, in which now and then something is wrong. Gives the path of
 * its file .git. */
static char *random_worktree(FILE *out, const struct tree *so_far, struct strvec *paths)
{
	static const char *const parts[] = {"HEAD", "objects", "refs", "worktrees", "worktrees/w",
		"worktrees/w/gitdir", "worktrees/w/commondir", "worktrees/w/modules"};
	CLEANUP_FREE char *checkout = some_directory(so_far);
	CLEANUP_FREE char *common = some_directory(so_far);
	char *git_file = path_join(checkout, ".git");

	if (strcmp(checkout, "/") != 0 && strcmp(common, "/") != 0) {
		fprintf(out, "f %s =gitdir: %s/worktrees/w\\n\n", git_file, common);
		fprintf(out, "f %s/HEAD\nd %s/refs\n", common, common);
		fprintf(out, pick(8) ? "d %s/objects\n" : "l %s/objects -> /etc\n", common);
		fprintf(out, "f %s/worktrees/w/gitdir =%s%s\\n\n", common, pick(8) ? "" : "/a",
			git_file);
		fprintf(out, "f %s/worktrees/w/commondir =../..\\n\n", common);
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (pick(4) == 0)
			strvec_take(paths, path_join(common, parts[i]));
	return git_file;
}

/* A socket, mostly a live one. */
static void random_socket(FILE *out, const char *path, struct strvec *sockets)
{
	fprintf(out, "s %s %s\n", path, pick(4) ? "0666" : "0600 1000 1000");
	if (pick(4))
		fprintf(out, "u %s\n", path);
	strvec_push(sockets, path);
}

static char *random_tree(struct strvec *paths, struct strvec *sockets, char **git_file)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct tree *so_far;

	fputs("c /dev/null 1:3\nd /proc/sys\nd /tmp 1777\nd /srv\nd /home\nd /etc\n", out);
	fprintf(out, "uid %d\n", pick(2) ? 1000 : 0);
	for (unsigned n = 5 + pick(20); n > 0; n--) {
		CLEANUP_FREE char *path = random_path();
		CLEANUP_FREE char *to = random_path();
		CLEANUP_FREE char *parent = path_parent(path);
		struct tree_stat st;
		unsigned kind = pick(12);

		/* Only what a real tree can hold: a new name in a directory. */
		fflush(out);
		so_far = faketree_parse(text);
		while (tree_lstat(so_far, parent, &st) < 0 && strcmp(parent, "/") != 0) {
			char *up = path_parent(parent);

			free(parent);
			parent = up;
		}
		if (st.kind == TREE_DIR && tree_lstat(so_far, path, &st) < 0) {
			const char *owner = pick(3) ? "0 0" : "1000 1000";

			if (kind < 6)
				fprintf(out, "d %s %s %s\n", path, pick(6) ? "0755" : "0775",
					owner);
			else if (kind < 8)
				fprintf(out, "f %s 0644 %s\n", path, owner);
			else if (kind < 9)
				fprintf(out, "l %s -> %s\n", path, to);
			else if (kind < 10)
				fprintf(out, "p %s\n", path);
			else
				random_socket(out, path, sockets);
			strvec_push(paths, path);
		}
		faketree_free(so_far);
	}
	if (pick(3) == 0) {
		fflush(out);
		so_far = faketree_parse(text);
		*git_file = random_worktree(out, so_far, paths);
		faketree_free(so_far);
	}
	if (paths->n > 1 && pick(3) == 0) {
		const char *from = paths->v[pick((unsigned)paths->n)];
		const char *at = paths->v[pick((unsigned)paths->n)];
		struct tree_stat x, y;

		fflush(out);
		so_far = faketree_parse(text);
		/* A bind mount of one directory on another that has nothing to do with it. */
		if (tree_lstat(so_far, from, &x) == 0 && tree_lstat(so_far, at, &y) == 0 &&
			x.kind == TREE_DIR && y.kind == TREE_DIR && !path_within(from, at) &&
			!path_within(at, from))
			fprintf(out, "a %s -> %s\n", at, from);
		faketree_free(so_far);
	}
	fclose(out);
	return text;
}

/* A random path that mostly exists. */
static char *some_path(const struct strvec *paths)
{
	return paths->n && pick(5) ? xstrdup(paths->v[pick((unsigned)paths->n)]) : random_path();
}

/* A path with some of its names, the first excepted, made into patterns. */
static char *some_pattern(const struct strvec *paths)
{
	static const char *const wild[] = {"*", "?", "a*", "[ab]", "**", "**"};
	CLEANUP_FREE char *path = some_path(paths);
	char *pattern = xstrdup("");
	bool first = true;

	for (const char *p = path + 1; *p; p += strspn(p, "/")) {
		size_t len = strcspn(p, "/");
		bool keep = first || pick(2);
		char *longer = xasprintf(
			"%s/%.*s", pattern, keep ? (int)len : 99, keep ? p : wild[pick(6)]);

		free(pattern);
		pattern = longer;
		first = false;
		p += len;
	}
	return pattern;
}

struct random_rules {
	struct strvec read, write, deny, connect, mounts;
	char *scratch; /* or NULL */
	bool root_read;
};

static void random_rules(struct random_rules *rules, const struct strvec *paths,
	const struct strvec *sockets, const char *git_file)
{
	CLEANUP_STRVEC struct strvec used = {0};

	if (git_file)
		strvec_pushf(&rules->write, "{\"path\": \"%s\", \"worktree\": true}", git_file);
	rules->root_read = pick(2);
	rules->scratch = pick(4) ? NULL : some_path(paths);
	for (unsigned n = 1 + pick(7); n > 0; n--) {
		unsigned kind = pick(10);
		bool pattern = kind < 8 && pick(4) == 0;
		static const char *const types[] = {
			", \"type\": \"file\"", ", \"type\": \"directory\"", "", "", "", ""};
		const char *type = types[pick(6)];
		CLEANUP_FREE char *path = pattern ? some_pattern(paths) : some_path(paths);
		struct strvec *list = kind < 4   ? &rules->deny
				      : kind < 6 ? &rules->read
						 : &rules->write;

		if (strvec_has(&used, path) || strcmp(path, "/tmp") == 0)
			continue;
		strvec_push(&used, path);
		if (strvec_has(sockets, path) && pick(2)) {
			strvec_pushf(&rules->connect, "\"%s\"", path);
		} else if (kind < 8) {
			strvec_pushf(list, "{\"path\": \"%s\"%s%s%s%s}", path,
				list == &rules->deny ? "" : ", \"optional\": true",
				list == &rules->deny || pick(2) ? "" : ", \"follow\": true",
				list != &rules->write && !*type && pick(4) == 0
					? ", \"missing\": \"enforce\""
					: "",
				type);
		} else {
			CLEANUP_FREE char *from = some_path(paths);

			CLEANUP_FREE char *in_scratch =
				xasprintf("%s/home/a", rules->scratch ? rules->scratch : "");
			bool scratch = rules->scratch && pick(2);

			strvec_pushf(&rules->mounts,
				"{\"at\": \"%s\", \"from\": \"%s\", \"access\": \"%s\", "
				"\"optional\": true, \"follow\": %s}",
				scratch ? in_scratch : path, from, pick(2) ? "write" : "read",
				pick(2) ? "true" : "false");
		}
	}
}

static void print_list(FILE *out, const char *key, const struct strvec *list, bool backwards)
{
	fprintf(out, ", \"%s\": [", key);
	for (size_t i = 0; i < list->n; i++)
		fprintf(out, "%s%s", i ? ", " : "", list->v[backwards ? list->n - 1 - i : i]);
	putc(']', out);
}

static char *policy_text(const struct random_rules *rules, bool backwards)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs("{\"sbx\": 1, \"process\": {\"cwd\": \"/\"}, ", out);
	if (rules->scratch)
		fprintf(out, "\"scratch\": {\"at\": \"%s\"}, ", rules->scratch);
	fprintf(out, "\"filesystem\": {\"root\": \"%s\"", rules->root_read ? "read" : "deny");
	print_list(out, "read", &rules->read, backwards);
	print_list(out, "write", &rules->write, backwards);
	print_list(out, "deny", &rules->deny, backwards);
	print_list(out, "connect", &rules->connect, backwards);
	print_list(out, "mounts", &rules->mounts, backwards);
	fputs("}}", out);
	fclose(out);
	return text;
}

/* A policy planned on a tree. */
struct planned {
	struct tree *tree; /* with placeholders for what the plan holds */
	struct policy policy;
	struct plan plan;
	struct err err;
	bool made;
};

/* Some rules are of a second layer: by how they are written, so that it is always the same ones. */
static void set_layers(struct policy *policy)
{
	for (size_t i = 0; i < policy->n_rules; i++)
		if (policy->rules[i].kind == RULE_PATH && policy->rules[i].origin.layer)
			policy->rules[i].origin.layer = 1 + strlen(policy->rules[i].path) % 3 / 2;
}

static void make(struct planned *p, const char *tree, const char *policy)
{
	struct policy_context context = {.home = "/home/a", .cwd = "/srv"};
	struct plan_request request = {.proc = PROC_FRESH, .cwd = "/"};

	CLEANUP_FREE char *text = xstrdup(tree);
	bool loaded;

	*p = (struct planned){0};
	loaded = policy_load_text(&p->policy, policy, strlen(policy), "test.json", NULL, &context,
			 &p->err) == 0;
	set_layers(&p->policy);
	for (char *held = text; loaded && held; held = faketree_hold(text, &p->plan.hold)) {
		if (held != text)
			free(text);
		text = held;
		plan_clear(&p->plan);
		if (p->tree)
			faketree_free(p->tree);
		p->tree = faketree_parse(text);
		p->made = plan_make(&p->plan, &p->policy, p->tree, &request, &p->err) == 0;
		if (!p->made)
			break;
	}
}

static void drop(struct planned *p)
{
	plan_clear(&p->plan);
	policy_clear(&p->policy);
	if (p->tree)
		faketree_free(p->tree);
}

static char *ops_text(const struct plan *plan)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < plan->n; i++) {
		const struct op *op = &plan->ops[i];

		fprintf(out, "%s %04o %s %s\n", op_kind_name(op->kind), op->mode, op->dest,
			op->source ? op->source : "");
	}
	fclose(out);
	return text;
}

/* What a process inside may do at a path: 0 nothing, 1 read, 2 write. */
static int reach(const struct planned *p, const char *path)
{
	struct view_object object = {0};
	int error = view_lookup(&p->plan, p->tree, path, &object);
	int access = error ? 0 : (int)object.access;

	view_object_clear(&object);
	return access;
}

/* Whether a rule other than a denial has an object for its own. */
static bool is_granted(const struct planned *p, const char *host)
{
	struct tree_stat st;
	bool granted = false;

	tree_lstat(p->tree, host, &st);
	for (size_t i = 0; i < p->plan.rules.n; i++) {
		const struct rule *rule = &p->plan.rules.v[i];
		struct target t = {.error = -1};

		if (rule->access != ACCESS_DENY && rule->path)
			resolve(p->tree, rule->path, &t);
		granted |= !t.error && t.st.ino == st.ino;
		target_clear(&t);
	}
	return granted;
}

/* Whether a live socket can be reached at a path and no rule has asked for it. */
static bool is_open_socket(const struct planned *p, const char *path)
{
	CLEANUP_STRVEC struct strvec live_names = {0};
	struct view_object o = {0};
	bool live = false, open;

	tree_sockets(p->tree, &live_names);
	open = view_lookup(&p->plan, p->tree, path, &o) == 0 && o.access != ACCESS_DENY && o.host &&
	       o.kind == TREE_SOCKET && tree_usable(p->tree, o.host);
	for (size_t i = 0; open && i < live_names.n; i++) {
		struct tree_stat x, y;

		live |= tree_lstat(p->tree, live_names.v[i], &x) == 0 &&
			tree_lstat(p->tree, o.host, &y) == 0 && x.ino == y.ino;
	}
	open = open && live && !is_granted(p, o.host);
	view_object_clear(&o);
	return open;
}

static unsigned unproven, reordered, raised, open_sockets, planned_count, opened;

static void explain(const char *what, const char *tree, const char *policy, const struct planned *p)
{
	CLEANUP_FREE char *ops = ops_text(&p->plan);
	char *state_of;
	const char *const parts[] = {tree, policy, ops, p->err.message};

	diag("%s", what);
	for (size_t i = 0; i < 4; i++) {
		CLEANUP_FREE char *copy = xstrdup(parts[i]);

		for (char *line = strtok_r(copy, "\n", &state_of); line;
			line = strtok_r(NULL, "\n", &state_of))
			diag("  %s", line);
	}
}

/* Whether a rule with "worktree" made the directory of a linked worktree writable. */
static bool opens_repository(const struct plan *plan)
{
	bool opens = false;

	for (size_t i = 0; i < plan->n; i++)
		opens |= plan->ops[i].kind == OP_BIND_WRITE && plan->ops[i].why->pattern &&
			 strcmp(path_base(plan->ops[i].dest), "w") == 0;
	return opens;
}

/* Looks for open sockets at all paths, and where mounts show them. */
static void look_for_sockets(const struct planned *p, const char *tree_text, const char *policy)
{
	CLEANUP_STRVEC struct strvec live_names = {0};

	tree_sockets(p->tree, &live_names);
	for (size_t i = 0; i < live_names.n; i++)
		for (size_t k = 0; k < p->policy.n_rules; k++) {
			const struct rule *rule = &p->policy.rules[k];
			bool image = rule->kind == RULE_MOUNT &&
				     path_within(live_names.v[i], rule->path);
			CLEANUP_FREE char *path =
				image ? path_join(rule->at, path_below(live_names.v[i], rule->path))
				      : xstrdup(live_names.v[i]);

			if (is_open_socket(p, path) && !open_sockets++) {
				diag("%s", path);
				explain("an open socket", tree_text, policy, p);
			}
		}
}

/* Whether every mount stands where it was written: one that passes a link stands elsewhere once
 * the link is denied. */
static bool mounts_stand(const struct planned *p)
{
	for (size_t i = 0; i < p->policy.n_rules; i++) {
		const struct rule *rule = &p->policy.rules[i];
		bool found = rule->kind != RULE_MOUNT;

		for (size_t k = 0; k < p->plan.n; k++)
			found |= rule->at && strcmp(p->plan.ops[k].dest, rule->at) == 0;
		if (!found)
			return false;
	}
	return true;
}

/* One more deny at a random path: no path may be reached further than before. (One more pattern
 * may close a directory before the walk finds a link in it, and what that leads to is then not
 * denied.) */
static void add_deny(struct random_rules *rules, const char *tree_text, const struct strvec *paths,
	const struct planned *before)
{
	CLEANUP_FREE char *denied = some_path(paths);
	CLEANUP_FREE char *policy = NULL;
	struct planned after;

	strvec_pushf(&rules->deny, "\"%s\"", denied);
	policy = policy_text(rules, false);
	make(&after, tree_text, policy);
	for (size_t i = 0; after.made && mounts_stand(before) && i < paths->n; i++)
		if (reach(&after, paths->v[i]) > reach(before, paths->v[i]) && !raised++) {
			diag("%s", paths->v[i]);
			explain("a deny showed more", tree_text, policy, &after);
		}
	drop(&after);
}

static void one_round(void)
{
	CLEANUP_STRVEC struct strvec paths = {0};
	CLEANUP_STRVEC struct strvec sockets = {0};
	CLEANUP_FREE char *git_file = NULL;
	CLEANUP_FREE char *tree_text = random_tree(&paths, &sockets, &git_file);
	struct random_rules rules = {0};
	CLEANUP_FREE char *forwards = NULL;
	CLEANUP_FREE char *backwards = NULL;
	struct planned first, second;

	random_rules(&rules, &paths, &sockets, git_file);
	forwards = policy_text(&rules, false);
	backwards = policy_text(&rules, true);
	make(&first, tree_text, forwards);
	make(&second, tree_text, backwards);
	if (first.made) {
		CLEANUP_FREE char *ops = ops_text(&first.plan);
		CLEANUP_FREE char *other = ops_text(&second.plan);

		planned_count++;
		opened += opens_repository(&first.plan);
		if (proof_check(&first.plan, &first.policy, first.tree, &first.err) < 0 &&
			!unproven++)
			explain("not proven", tree_text, forwards, &first);
		if (strcmp(ops, other) != 0 && !reordered++)
			explain("the order mattered", tree_text, backwards, &second);
		look_for_sockets(&first, tree_text, forwards);
		add_deny(&rules, tree_text, &paths, &first);
	}
	drop(&first);
	drop(&second);
	strvec_clear(&rules.read);
	strvec_clear(&rules.write);
	strvec_clear(&rules.deny);
	strvec_clear(&rules.connect);
	strvec_clear(&rules.mounts);
	free(rules.scratch);
}

/* What the command of an earlier run would like to see, and things to stumble over. */
static const char outside[] =
	"c /dev/null 1:3\nb /dev/sda 8:0\nd /dev/shm 1777\nd /proc/sys\nf /proc/1/environ\n"
	"d /tmp 1777\nf /tmp/file\nf /etc/passwd\nf /etc/secret 0600\nd /root 0700\n"
	"f /root/key 0600\nd /home/a 0755 1000 1000\nf /home/a/secret 0600 1000 1000\n"
	"f /home/a/file 0644 1000 1000\nd /home/a/vault 0700 1000 1000\n"
	"f /home/a/vault/key 0600 1000 1000\np /home/a/fifo\ns /run/x.sock\n"
	"d /srv/other 0755 1000 1000\nf /srv/other/file 0644 1000 1000\n"
	"d /srv/w 0755 1000 1000\n";
static const char *const outside_paths[] = {"/dev/sda", "/dev/shm", "/proc/1/environ", "/tmp/file",
	"/etc/passwd", "/etc/secret", "/root/key", "/home/a/secret", "/home/a/file",
	"/home/a/vault/key", "/home/a/fifo", "/run/x.sock", "/srv/other/file", "/w", "/m"};
static const char *const link_targets[] = {"/home/a/secret", "../../home/a/secret", "/home/a/vault",
	"/home/a", "/home/a/file", "/root", "/root/key", "/etc/secret", "/etc", "/dev/sda",
	"/dev/shm", "/run/x.sock", "/home/a/fifo", "/nosuch", "nosuch/x", "/", ".", "..", "/srv/w",
	"/srv/w/a", "../.envrc", ".envrc", ".vscode", "a/b", "/srv/w/.git", "/proc/1/environ",
	"/proc/self/environ", "/proc/self/root", "/tmp", "/tmp/file", "/srv/other",
	"/srv/other/file", "/srv/w/a/../../other", "/root/../etc"};
/* Of /srv/w. */
static const char *const held_names[] = {
	".git/hooks", ".git/config", ".envrc", ".vscode", "a/b/c", "a/b/d/e", "secret", "file"};

#define N(array) ((unsigned)(sizeof(array) / sizeof(*(array))))

/* What an earlier run may have left in place of names. */
enum left { LEFT_LINKS, LEFT_CLOSED };

/* Makes a name below /srv/w, or a link or closed directory in its place or that of a directory
 * above it, or nothing. Adds the paths that are there. */
static void plant(FILE *out, const char *name, enum left left, struct strvec *paths)
{
	CLEANUP_FREE char *whole = path_join("/srv/w", name);
	CLEANUP_FREE char *path = xstrdup("/srv/w");
	bool end = false;

	while (!end) {
		size_t n = strlen(path) + 1;
		unsigned kind = pick(10);

		free(path);
		n += strcspn(whole + n, "/");
		path = xstrndup(whole, n);
		end = !whole[n];
		if (strvec_has(paths, path))
			continue;
		if (kind == 0)
			return;
		strvec_push(paths, path);
		if (kind < 4 && left == LEFT_LINKS) {
			fprintf(out, "l %s -> %s\n", path, link_targets[pick(N(link_targets))]);
			end = true;
		} else {
			fprintf(out, "%c %s %s 1000 1000\n", end && kind > 6 ? 'f' : 'd', path,
				kind < 3 ? "0000" : "0755");
		}
	}
}

/* A policy from lines "LIST RULE". */
static char *lists_text(const struct strvec *lines)
{
	static const char *const lists[] = {"read", "write", "deny", "mounts"};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fprintf(out, "{\"sbx\": 1, \"process\": {\"cwd\": \"/\"}, \"filesystem\": {%s",
		lines->v[0]);
	for (size_t k = 0; k < N(lists); k++) {
		const char *before = "";

		fprintf(out, ", \"%s\": [", lists[k]);
		for (size_t i = 1; i < lines->n; i++) {
			size_t n = strlen(lists[k]);

			if (strncmp(lines->v[i], lists[k], n) != 0)
				continue;
			fprintf(out, "%s%s", before, lines->v[i] + n);
			before = ", ";
		}
		putc(']', out);
	}
	fputs("}}", out);
	fclose(out);
	return text;
}

/* Lets the command write /srv/w, at its own place, at /w or at both, and hides some of the rest. */
static void rules_outside(struct strvec *lines)
{
	static const char *const secrets[] = {"/home/a/secret", "/home/a/vault", "/etc/secret",
		"/root", "/run/x.sock", "/home/a/fifo", "/home/a"};
	unsigned writes = 1 + pick(3);

	strvec_pushf(lines, "\"root\": \"%s\"", pick(2) ? "read" : "deny");
	if (pick(2))
		strvec_push(lines, "read {\"path\": \"/etc\"}");
	if (writes & 1)
		strvec_push(lines, "write {\"path\": \"/srv/w\"}");
	if (writes & 2)
		strvec_push(lines, "mounts {\"at\": \"/w\", \"from\": \"/srv/w\","
				   " \"access\": \"write\"}");
	for (size_t i = 0; i < N(secrets); i++)
		if (pick(2))
			strvec_pushf(lines, "deny {\"path\": \"%s\"}", secrets[i]);
}

/* Rules for names in /srv/w. Says whether some of them grant. */
static bool rules_inside(struct strvec *lines)
{
	const char *name = held_names[pick(N(held_names))];
	unsigned grant = pick(6);

	for (size_t i = 0; i < N(held_names); i++)
		if (pick(5))
			strvec_pushf(lines,
				pick(2) ? "deny {\"path\": \"/srv/w/%s\"}"
					: "read {\"path\": \"/srv/w/%s\", \"optional\": true}",
				held_names[i]);
	if (pick(4) == 0)
		strvec_pushf(lines, "deny {\"path\": \"/srv/w/%s\"}",
			pick(2)   ? "**/e"
			: pick(2) ? "a/b/d/?"
				  : "*/b/c");
	if (grant == 0)
		strvec_pushf(lines, "write {\"path\": \"/srv/w/%s/x\", \"optional\": true}", name);
	if (grant == 1)
		strvec_pushf(lines,
			"mounts {\"at\": \"/m\", \"from\": \"/srv/w/%s\", \"access\": \"%s\","
			" \"optional\": true}",
			name, pick(2) ? "read" : "write");
	return grant < 2;
}

/* A workspace in which an earlier run was hostile, and a policy. */
struct hostile {
	char *tree_text, *policy;
	struct strvec paths;
	struct planned p;
	bool grants;
};

static unsigned hostile_count, hostile_unproven, kept_out, escaped, uncovered;

static void make_hostile(struct hostile *h, enum left left, struct strvec *lines)
{
	size_t size;
	FILE *out;

	*h = (struct hostile){0};
	out = open_memstream(&h->tree_text, &size);
	fprintf(out, "uid %d\n%s", left == LEFT_CLOSED || pick(2) ? 1000 : 0, outside);
	for (size_t i = 0; i < N(held_names); i++)
		plant(out, held_names[i], left, &h->paths);
	fclose(out);
	for (size_t i = 0; i < N(outside_paths); i++)
		strvec_push(&h->paths, outside_paths[i]);
	h->grants = rules_inside(lines);
	h->policy = lists_text(lines);
	make(&h->p, h->tree_text, h->policy);
	hostile_count += h->p.made;
	if (h->p.made && proof_check(&h->p.plan, &h->p.policy, h->p.tree, &h->p.err) < 0 &&
		!hostile_unproven++)
		explain("not proven", h->tree_text, h->policy, &h->p);
}

static void drop_hostile(struct hostile *h)
{
	drop(&h->p);
	strvec_clear(&h->paths);
	free(h->tree_text);
	free(h->policy);
}

/* Links: whatever of the host outside of /srv/w shows at a path shows so without the rules for
 * names in it, too; and those that only protect keep nobody from running. */
static void links_round(void)
{
	static const char *const below[] = {"", "/key", "/secret", "/a/secret"};
	CLEANUP_STRVEC struct strvec lines = {0};
	CLEANUP_FREE char *bare = NULL;
	struct planned without;
	struct hostile h;

	rules_outside(&lines);
	bare = lists_text(&lines);
	make_hostile(&h, LEFT_LINKS, &lines);
	make(&without, h.tree_text, bare);
	if (without.made && !h.p.made && !h.grants && !kept_out++)
		explain("links kept from running", h.tree_text, h.policy, &h.p);
	for (size_t i = 0; without.made && h.p.made && i < h.paths.n * N(below); i++) {
		CLEANUP_FREE char *path =
			xasprintf("%s%s", h.paths.v[i / N(below)], below[i % N(below)]);
		struct view_object o = {0};

		if (view_lookup(&h.p.plan, h.p.tree, path, &o) == 0 && o.host &&
			!path_within(o.host, "/srv/w") && (int)o.access > reach(&without, o.host) &&
			!escaped++) {
			diag("%s shows %s", path, o.host);
			explain("a link showed more", h.tree_text, h.policy, &h.p);
		}
		view_object_clear(&o);
	}
	drop(&without);
	drop_hostile(&h);
}

/* Closed directories: when the command opens them, no more is reached than had they been open. */
static void closed_round(void)
{
	CLEANUP_STRVEC struct strvec lines = {0};
	CLEANUP_FREE char *open_text = NULL;
	struct planned open, opened_later;
	struct hostile h;

	rules_outside(&lines);
	make_hostile(&h, LEFT_CLOSED, &lines);
	open_text = xstrdup(h.tree_text);
	for (char *p = open_text; (p = strstr(p, " 0000 "));)
		memcpy(p, " 0755 ", 6);
	make(&open, open_text, h.policy);
	opened_later = h.p;
	opened_later.tree = open.tree;
	for (size_t i = 0; h.p.made && open.made && i < h.paths.n; i++)
		if (reach(&opened_later, h.paths.v[i]) > reach(&open, h.paths.v[i]) &&
			!uncovered++) {
			diag("%s", h.paths.v[i]);
			explain("an opened directory showed more", h.tree_text, h.policy, &h.p);
		}
	drop(&open);
	drop_hostile(&h);
}

/* A plan of many mounts says what it costs. */
static void many_mounts(void)
{
	char *tree_text = NULL, *policy = NULL;
	size_t size;
	FILE *tree_out = open_memstream(&tree_text, &size);
	FILE *policy_out = open_memstream(&policy, &size);
	struct planned p;

	fputs("c /dev/null 1:3\nd /proc/sys\nd /tmp 1777\n", tree_out);
	fputs("{\"sbx\": 1, \"filesystem\": {\"root\": \"read\", \"deny\": [\"/srv\"", policy_out);
	for (int i = 0; i < 600; i++) {
		fprintf(tree_out, "f /etc/%d\n", i);
		fprintf(policy_out, ", \"/etc/%d\"", i);
	}
	fputs("]}}", policy_out);
	fclose(tree_out);
	fclose(policy_out);
	make(&p, tree_text, policy);
	is_str(p.plan.notes.n ? p.plan.notes.v[p.plan.notes.n - 1] : NULL,
		"609 mounts, 600 of them in /etc: every start takes bwrap some 0.3 s, growing "
		"with their square; a whole directory that is denied takes one",
		"a plan of many mounts says where they are and what they cost");
	drop(&p);
	free(tree_text);
	free(policy);
}

int main(void)
{
	unsigned rounds = getenv("SBX_ROUNDS") ? (unsigned)atoi(getenv("SBX_ROUNDS")) : 3000;

	state = getenv("SBX_SEED") ? strtoull(getenv("SBX_SEED"), NULL, 10) : 20240228;
	for (unsigned i = 0; i < rounds; i++)
		one_round();
	diag("%u of %u random policies could be planned", planned_count, rounds);
	ok(planned_count > rounds / 4, "a fair part of the random policies can be planned");
	ok(opened > rounds / 100, "some of them open the repository of a worktree (%u)", opened);
	is_int(unproven, 0, "every plan proves");
	is_int(reordered, 0, "the order of rules does not matter");
	is_int(raised, 0, "one more deny never shows more");
	is_int(open_sockets, 0, "no live socket is open that no rule names");
	for (unsigned i = 0; i < rounds / 10; i++) {
		links_round();
		closed_round();
	}
	diag("%u of %u policies for hostile workspaces could be planned", hostile_count,
		rounds / 10 * 2);
	ok(hostile_count > rounds / 10, "most policies for hostile workspaces can be planned");
	is_int(hostile_unproven, 0, "and prove");
	is_int(kept_out, 0, "links in a writable place keep nobody from running");
	is_int(escaped, 0, "and show nothing of what lies outside");
	is_int(uncovered, 0, "what is hidden by a closed directory is not found by opening it");
	many_mounts();
	return done_testing();
}
