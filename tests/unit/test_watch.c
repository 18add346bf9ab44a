/*
 * Watching, as far as it needs no sandbox: names, and what is moved aside, in a directory of the
 * test's own. Covers: tests/integration/run-watch.t.
 */
#include "base/mem.h"
#include "base/user.h"
#include "lib/tap.h"
#include "run/watch.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sbx-watch.XXXXXX", rule[] = "test";

/* A path below it, in a buffer that the next call uses again. */
static const char *in(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make(const char *name)
{
	close(open(in(name), O_WRONLY | O_CREAT, 0666));
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(in(name), &st) == 0;
}

/* One name that is watched, without mounts, from this process's root directory. */
struct one {
	struct watch_name name;
	struct watch_spec spec;
	struct run_result result;
	struct watch *watch;
};

static struct one *begin(const char *below, const char *link, bool quarantine)
{
	struct one *one = xcalloc(1, sizeof(*one));
	CLEANUP_CLOSE int root = open("/", O_PATH | O_DIRECTORY);

	one->name = (struct watch_name){.at = xstrdup(in(below)),
		.in = dir,
		.path = xstrdup(in(below)),
		.rule = rule,
		.link = link ? xstrdup(link) : NULL,
		.quarantine = quarantine};
	one->spec = (struct watch_spec){
		.names = &one->name, .n_names = 1, .user = user_new(geteuid(), getegid())};
	one->watch = watch_open(&one->spec, getpid(), root);
	return one;
}

/* Waits for events, and acts on them; false when none come. */
static bool step(struct one *one)
{
	struct pollfd fds[WATCH_FDS];

	watch_fds(one->watch, fds);
	if (poll(fds, WATCH_FDS, 0) <= 0)
		return false;
	watch_step(one->watch, fds, &one->result);
	return true;
}

static const char *message(const struct one *one, size_t i)
{
	return i < one->result.n_violations ? one->result.violations[i].message : NULL;
}

/* Where a message says that something was moved to; freed by the caller. */
static char *moved_to(const struct one *one, size_t i)
{
	const char *text = message(one, i);
	const char *to = text ? strstr(text, "and is now ") : NULL;

	return xstrdup(to ? to + strlen("and is now ") : "/nothing");
}

static void end(struct one *one)
{
	watch_close(one->watch);
	run_result_clear(&one->result);
	user_free((struct user *)one->spec.user);
	free(one->name.at);
	free(one->name.path);
	free(one->name.link);
	free(one);
}

static void test_nothing(void)
{
	struct watch_spec spec = {0};
	struct pollfd fds[WATCH_FDS];
	struct run_result result = {0};

	ok(!watch_open(&spec, getpid(), -1), "nothing to watch is no watch");
	watch_fds(NULL, fds);
	ok(fds[0].fd < 0 && fds[1].fd < 0, "it waits for nothing");
	is_int(watch_start(NULL, &result) + watch_step(NULL, fds, &result) +
			watch_end(NULL, &result),
		0, "and ends nothing");
	watch_close(NULL);
}

/* A name whose directories are made one after the other. */
static void test_chain(void)
{
	struct one *one = begin("a/b/c", NULL, false);
	CLEANUP_FREE char *want = xasprintf("%s was made while the command ran", in("a/b/c"));

	watch_start(one->watch, &one->result);
	make("other");
	while (step(one))
		;
	mkdir(in("a"), 0777);
	mkdir(in("a/b"), 0777);
	while (step(one))
		;
	is_int((long long)one->result.n_violations, 0, "directories on the way are no violation");
	make("a/b/other");
	make("a/b/c");
	while (step(one))
		;
	is_str(message(one, 0), want, "the name at the end of them is");
	watch_end(one->watch, &one->result);
	is_int((long long)one->result.n_violations, 1, "and told once");
	ok(is_there("a/b/c"), "it stays");
	end(one);
}

/* Without inotify, as in a run's first moments. */
static void test_last_look(void)
{
	struct one *one = begin("late", NULL, true);
	CLEANUP_FREE char *to = NULL;

	make("late");
	ok(!step(one), "nothing is waited for before the start");
	watch_end(one->watch, &one->result);
	to = moved_to(one, 0);
	ok(access(to, F_OK) == 0 && !is_there("late"), "a short run looks when it is over");
	end(one);
}

static void test_long_name(void)
{
	char name[NAME_MAX + 1];
	struct one *one;
	CLEANUP_FREE char *to = NULL;

	memset(name, 'x', NAME_MAX);
	name[NAME_MAX] = '\0';
	one = begin(name, NULL, true);
	make(name);
	watch_end(one->watch, &one->result);
	to = moved_to(one, 0);
	ok(access(to, F_OK) == 0 && !is_there(name), "the longest name is moved aside too");
	end(one);
}

static void test_hint(void)
{
	struct one *one = begin("it's $(odd)\n", NULL, true);
	CLEANUP_FREE char *script = NULL;
	const char *hint;

	make("it's $(odd)\n");
	watch_end(one->watch, &one->result);
	hint = one->result.n_violations ? strstr(one->result.violations[0].hint, "mv ") : NULL;
	setenv("SCRIPT", hint ? hint : "false", 1);
	script = xstrdup("bash -c \"$SCRIPT\"");
	ok(system(script) == 0 && is_there("it's $(odd)\n"), // NOLINT(cert-env33-c)
		"the command of the hint puts back what a shell would misread");
	end(one);
}

static void test_links(void)
{
	struct one *one;
	CLEANUP_FREE char *to = NULL;

	is_int(symlink("target", in("link")), 0, "(a link)");
	one = begin("link", "target", false);
	watch_start(one->watch, &one->result);
	unlink(in("link"));
	symlink("target", in("link"));
	while (step(one))
		;
	is_int((long long)one->result.n_violations, 0, "a link that says the same is the same");
	unlink(in("link"));
	watch_end(one->watch, &one->result);
	is_int((long long)one->result.n_violations, 0, "one that is gone says nothing");
	end(one);

	one = begin("way/x", NULL, true);
	mkdir(in("elsewhere"), 0777);
	make("elsewhere/x");
	symlink("elsewhere", in("way"));
	watch_end(one->watch, &one->result);
	to = moved_to(one, 0);
	ok(access(to, F_OK) == 0 && !is_there("way"), "a link on the way is moved aside");
	ok(is_there("elsewhere/x"), "what it leads to is left alone");
	end(one);
}

static void test_together(void)
{
	struct one *first = begin("shared", NULL, true), *second = begin("shared", NULL, true);

	watch_start(first->watch, &first->result);
	make("shared");
	while (step(first))
		;
	ok(is_there("shared"), "what two watch is not moved");
	is_int((long long)first->result.n_violations, 0, "nor told before the end");
	watch_end(first->watch, &first->result);
	ok(is_there("shared") && message(first, 0) && strstr(message(first, 0), "another run"),
		"the first that ends says why");
	watch_end(second->watch, &second->result);
	ok(!is_there("shared") && message(second, 0), "the last one moves it");
	end(first);
	end(second);
}

int main(void)
{
	CLEANUP_FREE char *remove = NULL;

	if (!mkdtemp(dir))
		return 1;
	test_nothing();
	test_chain();
	test_last_look();
	test_long_name();
	test_hint();
	test_links();
	test_together();
	remove = xasprintf("rm -rf %s", dir);
	is_int(system(remove), 0, "(cleared)"); // NOLINT(cert-env33-c)
	return done_testing();
}
