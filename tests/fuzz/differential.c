/*
 * Policies against the kernel: differential SECONDS SEED BWRAP LOOK. A random tree is made in a
 * private tmpfs at /srv, a random policy is planned on it, the plan is proven and run by real bwrap
 * with tests/hostile/look inside, and what that could read and write of each object is compared with
 * what the policy says of the object. What it says is found out here, from the merged rules and
 * realpath(3) alone: neither planner nor proof is asked.
 *
 * Nothing may be more open than the policy says, also after everything that can be renamed has been.
 * Where it names no link and no mount, everything has to be as open as it says, too. What a rule that
 * came through a link may do depends on more than it is worth to know here: both readings count.
 *
 * A finding prints seed, tree, policy and difference; the end prints how many trees were run.
 */
#include "base/mem.h"
#include "base/path.h"
#include "lib/world.h"
#include "plan/bwrap.h"
#include "plan/proof.h"
#include "policy/value.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TOP "/srv"
#define MAX_OBJECTS 256

static const struct policy_context context = {.home = "/home/a", .cwd = TOP};

struct object {
	char *path;
	ino_t ino;
	bool is_dir, is_link;
};

/* A rule, or a match, that leads to an object. */
struct said {
	char *target;
	enum access access;
	bool linked, match;
	bool mount; /* it shows the object elsewhere */
};

struct run {
	uint64_t seed;
	struct world world;
	struct policy policy;
	struct object objects[MAX_OBJECTS];
	size_t n_objects;
	dev_t dev;
	struct said *said;
	size_t n_said, alloc;
	bool mounts, linked;
};

/* nftw(3) has no data. */
static struct run *current;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void find(const struct run *r, const char *what, const char *path)
{
	printf("seed %llu: %s: %s\n%s%s\n", (unsigned long long)r->seed, what, path, r->world.tree,
		r->world.policy);
	fflush(stdout);
}

static void make_object(const char *line)
{
	char path[PATH_MAX], to[PATH_MAX];
	int fd;

	if (sscanf(line, "d %4095s", path) == 1) {
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			die(path);
	} else if (sscanf(line, "f %4095s", path) == 1) {
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			die(path);
		close(fd);
	} else if (sscanf(line, "l %4095s -> %4095s", path, to) == 2 && symlink(to, path) < 0) {
		die(path);
	}
}

static int add_object(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct object *o = &current->objects[current->n_objects];

	(void)type;
	(void)at;
	if (current->n_objects == MAX_OBJECTS)
		return 1;
	*o = (struct object){xstrdup(path), st->st_ino, S_ISDIR(st->st_mode), S_ISLNK(st->st_mode)};
	current->n_objects++;
	current->dev = st->st_dev;
	return 0;
}

static void make_tree(struct run *r)
{
	CLEANUP_FREE char *text = xstrdup(r->world.tree);
	char *next = text, *line;

	if (mount("none", TOP, "tmpfs", 0, "mode=755") < 0)
		die(TOP);
	while ((line = strsep(&next, "\n")))
		make_object(line);
	current = r;
	nftw(TOP, add_object, 16, FTW_PHYS);
}

/* Whether something else is mounted at a path. */
static bool is_taken(const struct run *r, const char *path)
{
	for (size_t i = 0; i < r->policy.n_rules; i++)
		if (r->policy.rules[i].kind == RULE_MOUNT &&
			strcmp(r->policy.rules[i].at, path) == 0)
			return true;
	return false;
}

/* What a path leads to is what the rule is about. A match gives way to a rule that is written for the
 * very path. */
static void say(struct run *r, const struct rule *rule, const char *path, bool linked)
{
	CLEANUP_FREE char *target = realpath(path, NULL);
	struct stat st;

	if (!target || stat(target, &st) < 0 ||
		(rule->pattern && rule->access != ACCESS_DENY && is_taken(r, path)) ||
		(rule->type == TYPE_FILE && !S_ISREG(st.st_mode)) ||
		(rule->type == TYPE_DIRECTORY && !S_ISDIR(st.st_mode)))
		return;
	GROW(r->said, r->n_said, r->alloc);
	r->said[r->n_said++] = (struct said){xstrdup(target), rule->access,
		linked || strcmp(target, path) != 0, rule->pattern, rule->kind == RULE_MOUNT};
	r->linked |= r->said[r->n_said - 1].linked;
}

static void say_pattern(struct run *r, const struct rule *rule)
{
	CLEANUP_FREE char *base = value_pattern_base(rule->path);
	CLEANUP_FREE char *real = realpath(base, NULL), *pattern = NULL;

	if (!real)
		return;
	pattern = xasprintf("%s%s", strcmp(real, "/") == 0 ? "" : real,
		rule->path + (strcmp(base, "/") == 0 ? 0 : strlen(base)));
	for (size_t i = 0; i < r->n_objects; i++)
		if (pattern_matches(pattern, r->objects[i].path, r->objects[i].is_dir))
			say(r, rule, r->objects[i].path, strcmp(real, base) != 0);
}

/* What the policy says of an object by itself, strictly below a path ("": anywhere); none: there is no
 * such rule. */
static enum access access_of(
	const struct run *r, const char *path, const char *above, enum access none, bool loose)
{
	const struct said *best = NULL;
	enum access access;

	for (size_t i = 0; i < r->n_said; i++) {
		const struct said *s = &r->said[i];

		if (s->mount || s->linked || !path_within(path, s->target) ||
			(*above &&
				(!path_within(s->target, above) || strcmp(s->target, above) == 0)))
			continue;
		if (!best || strlen(s->target) > strlen(best->target) ||
			(strcmp(s->target, best->target) == 0 &&
				(s->match < best->match ||
					(s->match == best->match && s->access < best->access))))
			best = s;
	}
	access = best ? best->access : none;
	for (size_t i = 0; loose && i < r->n_said; i++)
		if (!r->said[i].mount && r->said[i].linked &&
			path_within(path, r->said[i].target) && r->said[i].access > access &&
			(!best || strlen(r->said[i].target) >= strlen(best->target)))
			access = r->said[i].access;
	return access;
}

/* The most that the policy gives of an object, at whatever place. */
static enum access most(const struct run *r, const char *path)
{
	enum access access = ACCESS_DENY;

	for (size_t i = 0; i < r->policy.n_rules; i++)
		if (r->policy.rules[i].kind == RULE_ROOT)
			access = r->policy.rules[i].access;
	access = access_of(r, path, "", access, true);
	for (size_t i = 0; i < r->n_said; i++) {
		const struct said *s = &r->said[i];
		enum access shown;

		if (!s->mount || !path_within(path, s->target))
			continue;
		shown = access_of(r, path, s->target, s->access, false);
		shown = shown < s->access ? shown : s->access;
		access = shown > access ? shown : access;
	}
	return access;
}

/* Runs the plan; what look says. */
static char *run(struct bwrap_words *words, char **argv)
{
	extern char **environ;
	CLEANUP_STRVEC struct strvec all = {0};
	posix_spawn_file_actions_t actions;
	char *text = NULL;
	size_t size;
	FILE *from, *to;
	int fds[2], c, status;
	pid_t pid;

	strvec_pushl(&all, "bwrap", "--ro-bind", argv[4], "/,look", NULL);
	for (size_t i = 0; i < words->words.n; i++)
		strvec_push(&all, words->words.v[i]);
	strvec_pushl(&all, "--", "/,look", TOP, "/m", NULL);
	if (pipe2(fds, O_CLOEXEC) < 0)
		die("pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	if (posix_spawn(&pid, argv[3], &actions, NULL, strvec_argv(&all), environ))
		die(argv[3]);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	from = fdopen(fds[0], "r");
	to = open_memstream(&text, &size);
	while ((c = getc(from)) != EOF)
		putc(c, to);
	fclose(from);
	fclose(to);
	waitpid(pid, &status, 0);
	return text;
}

/* What becomes of a world, if not a number of differences. */
enum { REFUSED = -1, FAILED = -2 };

/* Compares; the number of differences, or FAILED. */
static int compare(const struct run *r, char *text, bool exact)
{
	enum access seen[MAX_OBJECTS] = {ACCESS_DENY};
	char *next = text, *line;
	bool ended = false;
	int findings = 0;

	while ((line = strsep(&next, "\n"))) {
		unsigned long long dev, ino;
		char rights[4], path[PATH_MAX];
		int round;

		ended |= strcmp(line, "end") == 0;
		if (sscanf(line, "%d %llu %llu %3s %4095s", &round, &dev, &ino, rights, path) !=
				5 ||
			dev != r->dev)
			continue;
		for (size_t i = 0; i < r->n_objects; i++) {
			const struct object *o = &r->objects[i];
			enum access access = strchr(rights, 'w')   ? ACCESS_WRITE
					     : strchr(rights, 'r') ? ACCESS_READ
								   : ACCESS_DENY;

			if (o->ino != ino)
				continue;
			if (access > most(r, o->path) && ++findings)
				find(r, "more than the policy says", line);
			if (round == 1 && strcmp(path, o->path) == 0)
				seen[i] = access;
		}
	}
	if (!ended)
		return FAILED;
	for (size_t i = 0; exact && i < r->n_objects; i++)
		if (!r->objects[i].is_link && seen[i] < most(r, r->objects[i].path) && ++findings)
			find(r, "less than the policy says", r->objects[i].path);
	return findings;
}

/* One world. */
static int one(uint64_t seed, struct user *user, char **argv)
{
	struct plan_request request = {.proc = PROC_FRESH, .cwd = "/"};
	struct bwrap_options options = {0};
	struct strvec env = {0};
	struct bwrap_words words = {0};
	struct run r = {.seed = seed};
	struct plan plan = {0};
	struct tree *tree = NULL;
	struct err err = {0};
	uint64_t state = seed * 2685821657736338717ULL + 1;
	uint8_t data[256];
	struct bytes bytes = {data, sizeof(data)};
	int result = REFUSED;
	bool exact;

	for (size_t i = 0; i < sizeof(data); i++) {
		state ^= state >> 12;
		state ^= state << 25;
		state ^= state >> 27;
		data[i] = (uint8_t)(state * 2685821657736338717ULL >> 56);
	}
	world_make(&r.world, &bytes, true);
	make_tree(&r);
	if (policy_load_text(&r.policy, r.world.policy, strlen(r.world.policy), "p", NULL, &context,
		    &err) == 0) {
		tree = tree_live(user);
		/* Nothing here is about the network, and making one is most of the cost of a run. */
		r.policy.network = NETWORK_HOST;
		if (plan_make(&plan, &r.policy, tree, &request, &err) == 0)
			result = 0;
	}
	if (result == 0 && proof_check(&plan, &r.policy, tree, &err) < 0) {
		result = world_known_fault(err.message) ? REFUSED : 1;
		if (result > 0)
			find(&r, "our own plan does not prove", err.message);
	} else if (result == 0) {
		CLEANUP_FREE char *text = NULL;

		for (size_t i = 0; i < r.policy.n_rules; i++) {
			const struct rule *rule = &r.policy.rules[i];

			r.mounts |= rule->kind == RULE_MOUNT;
			if (rule->kind == RULE_PATH && rule->pattern)
				say_pattern(&r, rule);
			else if (rule->kind == RULE_PATH || rule->kind == RULE_MOUNT)
				say(&r, rule, rule->path, false);
		}
		exact = !r.mounts && !r.linked;
		for (size_t i = 0; i < plan.notes.n; i++)
			exact &= strncmp(plan.notes.v[i], "left out", 8) != 0;
		options.env = &env;
		if (bwrap_spell(&words, &plan, &r.policy, &options, 4, &err) < 0)
			die(err.message);
		text = run(&words, argv);
		result = compare(&r, text, exact);
		bwrap_words_clear(&words);
	}
	plan_clear(&plan);
	tree_live_free(tree);
	policy_clear(&r.policy);
	world_clear(&r.world);
	for (size_t i = 0; i < r.n_objects; i++)
		free(r.objects[i].path);
	for (size_t i = 0; i < r.n_said; i++)
		free(r.said[i].target);
	free(r.said);
	if (umount2(TOP, MNT_DETACH) < 0)
		die(TOP);
	return result;
}

static void write_text(const char *path, const char *text)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
}

/* A mount namespace of our own, in which what we mount goes nowhere; for a user in a user namespace. */
static void go_private(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	CLEANUP_FREE char *users = xasprintf("%u %u 1", uid, uid);
	CLEANUP_FREE char *groups = xasprintf("%u %u 1", gid, gid);

	if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0)
		die("unshare");
	if (uid) {
		write_text("/proc/self/setgroups", "deny");
		write_text("/proc/self/uid_map", users);
		write_text("/proc/self/gid_map", groups);
	}
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		die("making mounts private");
}

int main(int argc, char **argv)
{
	unsigned long runs = 0, refused = 0, findings = 0;
	struct user *user;
	uint64_t seed;
	time_t end;

	if (argc != 5) {
		fprintf(stderr, "usage: %s SECONDS SEED BWRAP LOOK\n", argv[0]);
		return 2;
	}
	end = time(NULL) + atol(argv[1]);
	seed = strtoull(argv[2], NULL, 10);
	go_private();
	umask(022);
	user = user_new(getuid(), getgid());
	if (!user)
		die("user");
	do {
		int result = one(seed, user, argv);

		/* A live socket of the host may have gone since the plan was made. */
		for (int again = 0; result == FAILED && again < 3; again++)
			result = one(seed, user, argv);
		if (result == FAILED)
			printf("seed %llu: the run failed\n", (unsigned long long)seed);
		seed++;
		result = result == FAILED ? 1 : result;
		refused += result < 0;
		runs += result >= 0;
		findings += result > 0;
	} while (time(NULL) < end && findings < 20);
	user_free(user);
	printf("%lu trees run, %lu policies refused, %lu findings; the next seed is %llu\n", runs,
		refused, findings, (unsigned long long)seed);
	return findings || !runs;
}
