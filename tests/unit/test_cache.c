/*
 * The cache of the probe's answer: what is read from a file, what it is filed under, and in which
 * directory it may lie.
 */
#include "base/mem.h"
#include "lib/tap.h"
#include "run/cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char key[] = "sbx-probe of nothing\nfact\n";

/* Everything works but a feature or two. */
static struct probe answer(int missing, enum cause cause)
{
	struct probe probe = {.has_version = true, .version = {0, 12, 3}};

	for (int i = 0; i < PROBE_FEATURES; i++)
		probe.features[i].works = true;
	if (missing < PROBE_FEATURES)
		probe.features[missing] = (struct probe_result){.cause = cause};
	return probe;
}

static bool same(const struct probe *a, const struct probe *b)
{
	bool is_same = a->has_version == b->has_version &&
		       memcmp(a->version, b->version, sizeof(a->version)) == 0;

	for (int i = 0; i < PROBE_FEATURES; i++)
		is_same = is_same && a->features[i].works == b->features[i].works &&
			  (a->features[i].works || a->features[i].cause == b->features[i].cause);
	return is_same;
}

static bool parses(const char *text, size_t len)
{
	struct probe probe;

	return cache_parse(&probe, key, text, len);
}

/* Whether text with the first from replaced is taken for an answer. */
static bool parses_with(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	CLEANUP_FREE char *changed =
		xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));

	return parses(changed, strlen(changed));
}

static void test_round_trip(void)
{
	struct probe back;

	for (int f = 0; f <= PROBE_FEATURES; f++) {
		struct probe probe = answer(f, CAUSE_PROC_MASKED);
		CLEANUP_FREE char *text = cache_format(key, &probe);

		ok(cache_parse(&back, key, text, strlen(text)) && same(&probe, &back) && back.kept,
			"what is written is read: without %s",
			f < PROBE_FEATURES ? probe_feature_name((enum probe_feature)f) : "nothing");
	}
	for (int c = 0; c < N_CAUSES; c++) {
		struct probe probe = answer(PROBE_NET, (enum cause)c);
		CLEANUP_FREE char *text = cache_format(key, &probe);

		ok(cache_parse(&back, key, text, strlen(text)) && same(&probe, &back),
			"and with cause %s", cause_name((enum cause)c));
	}
	struct probe unknown = answer(PROBE_FEATURES, CAUSE_UNKNOWN);
	CLEANUP_FREE char *text = NULL;

	unknown.has_version = false;
	memset(unknown.version, 0, sizeof(unknown.version));
	text = cache_format(key, &unknown);
	ok(cache_parse(&back, key, text, strlen(text)) && same(&unknown, &back),
		"and without a version");
}

static void test_refused(void)
{
	struct probe probe = answer(PROBE_NET, CAUSE_LOOPBACK), other;
	CLEANUP_FREE char *text = cache_format(key, &probe);
	CLEANUP_FREE char *longer = xasprintf("%s\n", text), *twice = xasprintf("%s%s", text, text);
	size_t len = strlen(text), n = 0;

	for (size_t i = 0; i < len; i++)
		n += parses(text, i);
	is_int((long long)n, 0, "nothing that is cut short is taken");
	ok(!parses(longer, len + 1) && !parses(twice, 2 * len), "nor with more after it");
	ok(!parses(text, len + 1), "nor with a NUL");
	ok(!cache_parse(&other, "sbx-probe of nothing\nfacts\n", text, len) &&
			!cache_parse(&other, "other", text, len),
		"nor for another key");
	ok(!parses_with(text, "user works", "user Works"), "works is one word");
	ok(!parses_with(text, "user works", "user  works"), "after one blank");
	ok(!parses_with(text, "net loopback", "net loopbacks"), "a cause is one of the table");
	ok(!parses_with(text, "net loopback", "net "), "and is there");
	ok(!parses_with(text, "net ", "nets "), "features have their names");
	ok(!parses_with(text, "user works\npid works\n", "pid works\nuser works\n"),
		"and their order");
	ok(!parses_with(text, "pid works\n", ""), "each is there");
	ok(!parses_with(text, "pid works\n", "pid works\npid works\n"), "once");
	ok(!parses_with(text, "0.12.3", "0.12"), "a version has three numbers");
	ok(!parses_with(text, "0.12.3", "0.12.3.4"), "and not four");
	ok(!parses_with(text, "0.12.3", "0.-1.3"), "none below zero");
	ok(!parses_with(text, "0.12.3", "0.99999999999.3"), "none without end");
	ok(!parses_with(text, "0.12.3", "0. 12.3"), "and nothing around them");
	ok(parses_with(text, "0.12.3", "1.0.0"), "(another version is one)");
}

/* Random changes: whatever is still taken is an answer in which every value is in its range. */
static void test_random(void)
{
	struct probe probe = answer(PROBE_NET, CAUSE_LOOPBACK), back;
	CLEANUP_FREE char *text = cache_format(key, &probe);
	size_t len = strlen(text), wrong = 0, taken = 0;

	srandom(7);
	for (int round = 0; round < 200000; round++) {
		CLEANUP_FREE char *changed = xmemdup(text, len);
		size_t n = len;

		for (long k = random() % 4; k >= 0; k--)
			changed[(size_t)random() % len] = (char)random();
		if (random() % 4 == 0)
			n = (size_t)random() % len;
		if (!cache_parse(&back, key, changed, n))
			continue;
		taken++;
		for (int f = 0; f < PROBE_FEATURES; f++)
			wrong += !back.features[f].works && back.features[f].cause >= N_CAUSES;
		for (int v = 0; v < 3; v++)
			wrong += back.version[v] > 9999999;
	}
	is_int((long long)wrong, 0, "no change makes a value out of its range (%zu were taken)",
		taken);
}

/* A change of any fact, and of bwrap, is another key. */
static void test_key(void)
{
	struct host host = {0}, other = {0}, unknown = {0};
	char path[] = "/tmp/sbx-test-cache.XXXXXX";
	int fd = mkstemp(path);
	CLEANUP_FREE char *first = NULL, *again = NULL, *facts = NULL, *longer = NULL,
			  *nothing = NULL, *none = NULL, *touched = NULL;
	const struct timespec times[] = {{1, 5}, {1, 5}}, later[] = {{1, 5}, {1, 6}};

	strvec_pushl(&host.facts, "a", "b", NULL);
	strvec_pushl(&other.facts, "a", "c", NULL);
	if (!ok(fd >= 0 && futimens(fd, times) == 0, "a file"))
		return;
	first = cache_key(path, &host);
	again = cache_key(path, &host);
	is_str(first, again, "a key");
	facts = cache_key(path, &other);
	ok(strcmp(first, facts) != 0, "is another for another host");
	ok(futimens(fd, later) == 0, "(a nanosecond later)");
	touched = cache_key(path, &host);
	ok(strcmp(first, touched) != 0, "and for a bwrap that was changed");
	ok(write(fd, "x", 1) == 1 && futimens(fd, times) == 0, "(a byte longer)");
	longer = cache_key(path, &host);
	ok(strcmp(first, longer) != 0, "whatever time it says");
	ok(strstr(first, SBX_VERSION), "it names our own release");
	nothing = cache_key(path, &unknown);
	ok(!nothing, "a host of which something is not known has none");
	close(fd);
	unlink(path);
	none = cache_key(path, &host);
	ok(!none, "nor has a bwrap that is not there");
	host_clear(&host);
	host_clear(&other);
}

/* Which answers another run may believe. */
static void test_sound(void)
{
	static const struct {
		int missing;
		enum cause cause;
		bool masked, restricted, seccomp;
		unsigned minor;
		bool sound;
		const char *name;
	} rows[] = {
		{PROBE_FEATURES, 0, false, false, false, 8, true, "everything works"},
		{PROBE_FEATURES, 0, true, false, false, 8, false,
			"everything works, but /proc is masked, in which no other can be mounted"},
		{PROBE_FRESH_PROC, CAUSE_PROC_MASKED, false, false, false, 8, false,
			"no fresh /proc for no reason"},
		{PROBE_BOUND_PROC, CAUSE_PROC_MASKED, true, false, false, 8, false,
			"no bound /proc, which a mask is no reason for"},
		{PROBE_OUTER_PID, CAUSE_APPARMOR, false, false, false, 8, false,
			"no outer pid namespace for no reason"},
		{PROBE_OUTER_PID, CAUSE_APPARMOR, false, true, false, 8, true,
			"AppArmor is a reason"},
		{PROBE_NET, CAUSE_APPARMOR, false, true, false, 8, false,
			"but not for what bwrap makes"},
		{PROBE_DISABLE_USERNS, CAUSE_OLD_BWRAP, false, false, false, 8, false,
			"no --disable-userns in 0.8"},
		{PROBE_DISABLE_USERNS, CAUSE_OLD_BWRAP, false, false, false, 7, true,
			"there was none in 0.7"},
		{PROBE_BIND_FD, CAUSE_OLD_BWRAP, false, false, false, 9, true,
			"nor --bind-fd in 0.9"},
		{PROBE_BIND_FD, CAUSE_OLD_BWRAP, false, false, false, 10, false,
			"there is in 0.10"},
		{PROBE_NET, CAUSE_UNKNOWN, false, false, false, 8, false, "no network namespaces"},
		{PROBE_USER, CAUSE_SECCOMP, false, false, true, 8, false, "no user namespaces"},
		{PROBE_HOSTNAME, CAUSE_HOSTNAME, true, true, false, 0, false, "no host name"},
		{PROBE_HOSTNAME, CAUSE_HOSTNAME, false, false, true, 8, true,
			"no host name under a filter"},
		{PROBE_DISABLE_USERNS, CAUSE_HOSTNAME, false, false, true, 8, false,
			"no --disable-userns under a filter"},
		/* A shortage passes, whatever would be a reason besides. */
		{PROBE_OUTER_PID, CAUSE_PROCESSES, false, true, false, 8, false,
			"no process to be had"},
		{PROBE_OUTER_PID, CAUSE_FILES, false, true, false, 8, false, "no descriptor"},
		{PROBE_HOSTNAME, CAUSE_PROCESSES, false, false, true, 8, false,
			"no process for a host name"},
		{PROBE_BIND_FD, CAUSE_FILE_SIZE, false, false, false, 8, false, "no memory file"},
		{PROBE_HOSTNAME, CAUSE_HANG, false, false, true, 8, false, "a hang"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct host host = {.proc_masked = rows[i].masked,
			.seccomp = rows[i].seccomp,
			.apparmor_restricts = rows[i].restricted ? 1 : -1};
		struct probe probe = answer(rows[i].missing, rows[i].cause);

		probe.version[1] = rows[i].minor;
		ok(probe_is_sound(&probe, &host) == rows[i].sound, "%s: %s", rows[i].name,
			rows[i].sound ? "kept" : "not kept");
	}
	struct host host = {.proc_masked = true};
	struct probe probe = answer(PROBE_FRESH_PROC, CAUSE_PROC_MASKED);

	ok(!probe_is_sound(&probe, &host), "a masked /proc lets no outer pid namespace be either");
	probe.features[PROBE_OUTER_PID] = probe.features[PROBE_FRESH_PROC];
	ok(probe_is_sound(&probe, &host), "without both it is what a container has");
	probe.features[PROBE_OUTER_PID].cause = CAUSE_PROCESSES;
	ok(!probe_is_sound(&probe, &host), "but not when one failed for want of a process");
	probe.has_version = false;
	host.proc_masked = false;
	probe = answer(PROBE_BIND_FD, CAUSE_OLD_BWRAP);
	probe.has_version = false;
	ok(!probe_is_sound(&probe, &host), "of an unknown release nothing is known");
}

/* Makes the file, as told; whether the answer in it is used. */
static bool used(const char *runtime, const char *text, mode_t mode)
{
	struct err err;
	struct probe probe;
	CLEANUP_CLOSE int dir = cache_open(runtime, false, &err);
	CLEANUP_CLOSE int fd = dir < 0 ? -1 : openat(dir, "probe", O_WRONLY | O_CREAT, 0600);

	return fd >= 0 && ftruncate(fd, 0) == 0 &&
	       write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0 &&
	       cache_read(dir, key, &probe);
}

/* Whether it is the directory at runtime's place, and not the other one, which is not made here. */
static bool opens(const char *runtime)
{
	CLEANUP_FREE char *place = xasprintf("%s/sbx", runtime);
	struct err err;
	CLEANUP_CLOSE int dir = cache_open(runtime, false, &err);
	struct stat a, b;

	return dir >= 0 && fstat(dir, &a) == 0 && stat(place, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

static void test_places(void)
{
	struct probe probe = answer(PROBE_FEATURES, CAUSE_UNKNOWN), back;
	CLEANUP_FREE char *text = cache_format(key, &probe);
	char runtime[] = "/tmp/sbx-test-cache.XXXXXX";
	CLEANUP_STRVEC struct strvec places = {0};
	struct err err;
	CLEANUP_CLOSE int dir = -1;

	cache_places("run", &places);
	is_int((long long)places.n, 1, "a relative XDG_RUNTIME_DIR is none");
	if (!ok(mkdtemp(runtime) && chdir(runtime) == 0, "a directory"))
		return;
	dir = cache_open(runtime, true, &err);
	ok(opens(runtime), "a private directory is made");
	ok(cache_write(dir, key, &probe, &err) == 0 && cache_read(dir, key, &back) &&
			same(&probe, &back),
		"an answer is kept");
	ok(close(openat(dir, ".sbx-new.0123456789abcdef", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) ==
				0 &&
			cache_write(dir, key, &probe, &err) == 0 &&
			access("sbx/.sbx-new.0123456789abcdef", F_OK) < 0,
		"and what a killed process has left beside it is removed");
	ok(used(runtime, text, 0600), "a file is used");
	ok(!used(runtime, text, 0644) && !used(runtime, text, 0620), "unless its mode is another");
	ok(used(runtime, text, 0600) && link("sbx/probe", "sbx/other") == 0 &&
			!cache_read(dir, key, &back),
		"or it has two names");
	ok(unlink("sbx/probe") == 0 && rename("sbx/other", "other") == 0 &&
			symlink("../other", "sbx/probe") == 0 && !cache_read(dir, key, &back),
		"or is a link");
	ok(cache_write(dir, key, &probe, &err) == 0 && cache_read(dir, key, &back),
		"which the next answer replaces");
	ok(unlink("sbx/probe") == 0 && mkfifo("sbx/probe", 0600) == 0 &&
			!cache_read(dir, key, &back),
		"a FIFO is not waited for");
	ok(unlink("sbx/probe") == 0 && mkdir("sbx/probe", 0700) == 0 &&
			!cache_read(dir, key, &back) && cache_write(dir, key, &probe, &err) < 0,
		"a directory is no file");
	ok(rmdir("sbx/probe") == 0, "(and nothing else is left there)");
	ok(chmod("sbx", 0750) == 0 && !opens(runtime), "a directory that others can list");
	ok(chmod("sbx", 01700) == 0 && !opens(runtime), "or with an odd mode");
	ok(rmdir("sbx") == 0 && mkdir("real", 0700) == 0 && symlink("real", "sbx") == 0 &&
			!opens(runtime),
		"or that is a link");
	ok(unlink("sbx") == 0 && rename("real", "sbx") == 0 && opens(runtime), "(the real one)");
	ok(chmod(".", 0770) == 0 && !opens(runtime), "or lies where a group can write");
	ok(chmod(".", 0700) == 0 && symlink(".", "link") == 0, "(a link to it)");
	CLEANUP_FREE char *link = xasprintf("%s/link", runtime);

	ok(!opens(link), "or behind a link");
	ok(unlink("link") == 0 && unlink("other") == 0 && rmdir("sbx") == 0 && chdir("/") == 0 &&
			rmdir(runtime) == 0,
		"nothing else is left");
}

int main(void)
{
	test_round_trip();
	test_refused();
	test_random();
	test_key();
	test_sound();
	test_places();
	return done_testing();
}
