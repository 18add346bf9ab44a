/*
 * Properties of planner and proof on random trees and policies: whatever plans proves; the order of
 * rules does not matter; one more deny never shows more. SBX_ROUNDS and SBX_SEED change how many
 * and which.
 */
#include "base/mem.h"
#include "base/path.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/plan.h"
#include "plan/proof.h"

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

static char *random_tree(struct strvec *paths)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct tree *so_far;

	fputs("c /dev/null 1:3\nd /proc/sys\nd /tmp 1777\nd /srv\nd /home\nd /etc\n", out);
	for (unsigned n = 5 + pick(20); n > 0; n--) {
		CLEANUP_FREE char *path = random_path();
		CLEANUP_FREE char *to = random_path();
		CLEANUP_FREE char *parent = path_parent(path);
		struct tree_stat st;
		unsigned kind = pick(10);

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
				fprintf(out, "d %s 0755 %s\n", path, owner);
			else if (kind < 8)
				fprintf(out, "f %s 0644 %s\n", path, owner);
			else if (kind < 9)
				fprintf(out, "l %s -> %s\n", path, to);
			else
				fprintf(out, "s %s\n", path);
			strvec_push(paths, path);
		}
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
	struct strvec read, write, deny, mounts;
	bool root_read;
};

static void random_rules(struct random_rules *rules, const struct strvec *paths)
{
	CLEANUP_STRVEC struct strvec used = {0};

	rules->root_read = pick(2);
	for (unsigned n = 1 + pick(7); n > 0; n--) {
		unsigned kind = pick(10);
		bool pattern = kind < 8 && pick(4) == 0;
		CLEANUP_FREE char *path = pattern ? some_pattern(paths) : some_path(paths);
		struct strvec *list = kind < 4   ? &rules->deny
				      : kind < 6 ? &rules->read
						 : &rules->write;

		if (strvec_has(&used, path) || strcmp(path, "/tmp") == 0)
			continue;
		strvec_push(&used, path);
		if (kind < 8) {
			strvec_pushf(list, "{\"path\": \"%s\"%s%s}", path,
				list == &rules->deny ? "" : ", \"optional\": true",
				list != &rules->write && pick(4) == 0 ? ", \"missing\": \"enforce\""
								      : "");
		} else {
			CLEANUP_FREE char *from = some_path(paths);

			strvec_pushf(&rules->mounts,
				"{\"at\": \"%s\", \"from\": \"%s\", \"access\": \"%s\", "
				"\"optional\": true}",
				path, from, pick(2) ? "write" : "read");
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

	fprintf(out,
		"{\"sbx\": 1, \"process\": {\"cwd\": \"/\"}, \"filesystem\": {\"root\": \"%s\"",
		rules->root_read ? "read" : "deny");
	print_list(out, "read", &rules->read, backwards);
	print_list(out, "write", &rules->write, backwards);
	print_list(out, "deny", &rules->deny, backwards);
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

static void make(struct planned *p, const char *tree, const char *policy)
{
	struct policy_context context = {.home = "/home/a", .cwd = "/srv"};
	struct plan_request request = {.proc = PROC_FRESH, .cwd = "/"};

	CLEANUP_FREE char *text = xstrdup(tree);
	bool loaded;

	*p = (struct planned){0};
	loaded = policy_load_text(&p->policy, policy, strlen(policy), "test.json", NULL, &context,
			 &p->err) == 0;
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

static unsigned unproven, reordered, raised, planned_count;

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
	CLEANUP_FREE char *tree_text = random_tree(&paths);
	struct random_rules rules = {0};
	CLEANUP_FREE char *forwards = NULL;
	CLEANUP_FREE char *backwards = NULL;
	struct planned first, second;

	random_rules(&rules, &paths);
	forwards = policy_text(&rules, false);
	backwards = policy_text(&rules, true);
	make(&first, tree_text, forwards);
	make(&second, tree_text, backwards);
	if (first.made) {
		CLEANUP_FREE char *ops = ops_text(&first.plan);
		CLEANUP_FREE char *other = ops_text(&second.plan);

		planned_count++;
		if (proof_check(&first.plan, &first.policy, first.tree, &first.err) < 0 &&
			!unproven++)
			explain("not proven", tree_text, forwards, &first);
		if (strcmp(ops, other) != 0 && !reordered++)
			explain("the order mattered", tree_text, backwards, &second);
		add_deny(&rules, tree_text, &paths, &first);
	}
	drop(&first);
	drop(&second);
	strvec_clear(&rules.read);
	strvec_clear(&rules.write);
	strvec_clear(&rules.deny);
	strvec_clear(&rules.mounts);
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

	state = getenv("SBX_SEED") ? strtoull(getenv("SBX_SEED"), NULL, 10) : 20240229;
	for (unsigned i = 0; i < rounds; i++)
		one_round();
	diag("%u of %u random policies could be planned", planned_count, rounds);
	ok(planned_count > rounds / 4, "a fair part of the random policies can be planned");
	is_int(unproven, 0, "every plan proves");
	is_int(reordered, 0, "the order of rules does not matter");
	is_int(raised, 0, "one more deny never shows more");
	many_mounts();
	return done_testing();
}
