/*
 * Jobs on disk: what state a job is in, and that nothing which is half-written, foreign or hostile is
 * taken for one.
 */
#include "base/mem.h"
#include "base/path.h"
#include "job/store.h"
#include "lib/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char place[] = "/tmp/sbx-test-store.XXXXXX";
static char *state;

static const char report[] = "{\"sbx\":1,\"outcome\":\"completed\",\"exit_code\":3}";

static void put(const struct job *job, const char *name, const char *text, size_t len)
{
	int fd = openat(job->dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		diag("cannot write %s", name);
	close(fd);
}

/* The name of the state that a job is in, or the beginning of the error's text behind its id. */
static const char *state_of(const struct job *job)
{
	static char text[64];
	struct job_facts facts = {0};
	struct err err;

	if (job_look(job, &facts, &err) < 0)
		snprintf(text, sizeof(text), "%.60s", err.message + strlen("job 12345678: "));
	else
		snprintf(text, sizeof(text), "%s", job_state_name(facts.state));
	job_facts_clear(&facts);
	return text;
}

static char *meta_text(bool started, const struct job_facts *self)
{
	return xasprintf("{\"sbx\":1,\"created_ms\":5,%s\"pid\":%d,\"pid_start\":%llu,"
			 "\"boot\":\"%s\",\"split\":false}",
		started ? "\"started_ms\":6," : "", (int)self->pid,
		(unsigned long long)self->pid_start, self->boot);
}

static int store_for(const char *dir, bool make, struct err *err)
{
	*err = (struct err){0};
	return store_open(dir, make, err);
}

static void test_places(void)
{
	CLEANUP_STRVEC struct strvec places = {0};
	CLEANUP_FREE char *all = NULL, *deep = path_join(place, "a/b/c"), *link = NULL;
	struct err err;
	struct stat st;
	int fd;

	store_places("/x//y", "relative", "/home/u", &places);
	store_places("/", "/s", NULL, &places);
	all = strvec_join(&places, " ");
	is_str(all, "/x/y /home/u/.local/state/sbx/jobs /s/sbx/jobs", "where jobs may be");

	is_int(store_for(deep, false, &err), -ENOENT, "none is there, and none made");
	fd = store_for(deep, true, &err);
	ok(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0700,
		"it is made, with those above, for its owner alone");
	close(fd);
	chmod(deep, 0750);
	ok(store_for(deep, true, &err) == -1 && strstr(err.message, "not yours alone"),
		"others may not look into it");
	rmdir(deep);
	link = path_join(place, "a/link");
	if (symlink(place, link) < 0)
		diag("no link");
	ok(store_for(link, true, &err) == -1, "it is no link");
	unlink(link);
	CLEANUP_FREE char *b = path_join(place, "a/b");
	chmod(b, 0777);
	ok(store_for(deep, true, &err) == -1 && strstr(err.message, "others may change"),
		"nor in a directory of which others can change the names");
	chmod(b, 01777);
	fd = store_for(deep, true, &err);
	ok(fd >= 0, "... but as in /tmp");
	close(fd);
	rmdir(deep);
	rmdir(b);
	CLEANUP_FREE char *a = path_join(place, "a");
	rmdir(a);
}

static void test_states(int store)
{
	struct job job = JOB_INIT, seen = JOB_INIT;
	struct job_facts self = {0}, facts = {0};
	CLEANUP_FREE char *starting = NULL, *running = NULL;
	struct err err = {0};
	int pidfd, status;
	pid_t pid;

	ok(job_facts_self(&self, &err) == 0, "this process knows when it started");
	starting = meta_text(false, &self);
	running = meta_text(true, &self);
	ok(job_make(&job, store, &err) == 0 && strlen(job.id) == JOB_ID_LEN, "a job is made");
	ok(job_open(&seen, store, job.id, &err) == 0, "... and found");
	is_str(state_of(&seen), "starting", "nothing is written down yet");
	put(&job, "meta.json", starting, strlen(starting));
	is_str(state_of(&seen), "starting", "it is written down");
	put(&job, "meta.json", running, strlen(running));
	is_str(state_of(&seen), "running", "it has started");
	ok(job_remove(store, job.id, &err) < 0 && strstr(err.message, "is running"),
		"one that runs is not removed");

	ok(job_look(&seen, &facts, &err) == 0, "it can be looked at");
	pidfd = job_supervisor(&facts);
	ok(pidfd >= 0, "its supervisor is found");
	close(pidfd);
	facts.pid_start++;
	is_int(job_supervisor(&facts), -1, "another process of that pid is not");
	facts.pid_start--;
	facts.boot[0] = 'x';
	is_int(job_supervisor(&facts), -1, "... nor one of another boot");
	job_facts_clear(&facts);

	/* The lock is held as long as any process has it, which a fork gives on. */
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	close(job.lock);
	job.lock = -1;
	is_str(state_of(&seen), "running", "its maker goes, the supervisor stays");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	is_str(state_of(&seen), "lost", "the supervisor was killed");
	put(&job, "report.json", report, sizeof(report) - 1);
	is_str(state_of(&seen), "ended", "there is a report");
	ok(job_remove(store, job.id, &err) == 0, "it is removed");
	ok(job_open(&job, store, seen.id, &err) < 0 && err.kind == ERR_USAGE, "... and gone");
	ok(job_look(&seen, &facts, &err) < 0 && err.kind == ERR_USAGE,
		"whoever still has it open is told so");
	job_close(&seen);
}

/* Each byte short, each byte changed: a right answer, or an error. */
static void test_torn(int store)
{
	struct job job = JOB_INIT;
	struct job_facts self = {0};
	CLEANUP_FREE char *meta = NULL, *bad = NULL;
	size_t wrong = 0, refused = 0;
	struct err err;

	job_facts_self(&self, &err);
	meta = meta_text(true, &self);
	bad = xstrdup(meta);
	job_make(&job, store, &err);
	for (size_t len = 0; len < strlen(meta); len++) {
		put(&job, "meta.json", meta, len);
		wrong += strcmp(state_of(&job), "its meta.json is damaged") != 0;
	}
	for (size_t i = 0; i < strlen(meta) * 4; i++) {
		size_t at = i / 4;

		bad[at] = (char)random();
		put(&job, "meta.json", bad, strlen(meta));
		refused += strcmp(state_of(&job), "running") != 0;
		bad[at] = meta[at];
	}
	put(&job, "meta.json", meta, strlen(meta));
	for (size_t len = 0; len < sizeof(report) - 1; len++) {
		put(&job, "report.json", report, len);
		wrong += strcmp(state_of(&job), "its report.json is damaged") != 0;
	}
	ok(!wrong, "what is not whole is an error");
	ok(refused > 100, "... and so is what makes no sense");
	put(&job, "report.json", "{\"outcome\":7,\"exit_code\":3}", 27);
	is_str(state_of(&job), "its report.json is damaged", "a report of the wrong types");
	put(&job, "report.json", "{\"outcome\":\"x\",\"exit_code\":300}", 31);
	is_str(state_of(&job), "its report.json is damaged", "a report with an odd exit code");
	put(&job, "report.json", "[]", 2);
	is_str(state_of(&job), "its report.json is damaged", "a report that is none");
	unlinkat(job.dir, "report.json", 0);
	if (symlinkat("/etc/passwd", job.dir, "report.json") == 0)
		ok(strstr(state_of(&job), "cannot read its report.json"),
			"a report that is a link");
	unlinkat(job.dir, "report.json", 0);
	mkfifoat(job.dir, "report.json", 0600);
	is_str(state_of(&job), "its report.json is none", "a report that is a FIFO");
	close(job.lock);
	job.lock = -1;
	ok(job_remove(store, job.id, &err) == 0, "whatever it is, it is removed");
	job_close(&job);
}

static void test_foreign(int store)
{
	CLEANUP_STRVEC struct strvec ids = {0};
	struct job job = JOB_INIT;
	struct err err;

	mkdirat(store, "0000000a", 0700);
	mkdirat(store, "0000000b", 0755);
	mkdirat(store, "0000000G", 0700);
	mkdirat(store, "12345", 0700);
	close(openat(store, "0000000c", O_WRONLY | O_CREAT, 0600));
	if (symlinkat("0000000a", store, "0000000d") < 0)
		diag("no link");
	ok(store_list(store, &ids, &err) == 0, "a directory with foreign names is listed");
	is_int((long long)ids.n, 4, "names that are no ids are left out");
	ok(job_open(&job, store, "0000000a", &err) == 0, "an empty directory can be opened");
	is_str(state_of(&job), "its lock cannot be used: No such file or directory",
		"... and is no job");
	job_close(&job);
	ok(job_open(&job, store, "0000000b", &err) < 0 && strstr(err.message, "yours alone"),
		"a directory that others can read is none");
	ok(job_open(&job, store, "0000000c", &err) < 0 && err.kind == ERR_SYSTEM, "nor is a file");
	ok(job_open(&job, store, "0000000d", &err) < 0 && err.kind == ERR_SYSTEM, "nor a link");
	ok(job_open(&job, store, "../store", &err) < 0 && err.kind == ERR_USAGE,
		"an id names nothing elsewhere");
	ok(job_open(&job, store, "0000000", &err) < 0 && err.kind == ERR_USAGE,
		"the beginning of an id is none");
	unlinkat(store, "0000000a", AT_REMOVEDIR);
	unlinkat(store, "0000000b", AT_REMOVEDIR);
	unlinkat(store, "0000000G", AT_REMOVEDIR);
	unlinkat(store, "12345", AT_REMOVEDIR);
	unlinkat(store, "0000000c", 0);
	unlinkat(store, "0000000d", 0);
}

static void test_tidy(int store)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct stat st;

	mkdirat(store, ".job-1", 0700);
	mkdirat(store, ".job-2", 0700);
	utimensat(store, ".job-1", old, 0);
	store_tidy(store);
	ok(fstatat(store, ".job-1", &st, 0) < 0, "what a killed start left is removed");
	ok(fstatat(store, ".job-2", &st, 0) == 0, "... and not what may be being made");
	unlinkat(store, ".job-2", AT_REMOVEDIR);
}

int main(void)
{
	struct err err;
	int store;

	if (!mkdtemp(place))
		return 1;
	test_places();
	state = path_join(place, "store");
	store = store_open(state, true, &err);
	test_states(store);
	test_torn(store);
	test_foreign(store);
	test_tidy(store);
	close(store);
	ok(rmdir(state) == 0 && rmdir(place) == 0, "nothing is left");
	free(state);
	return done_testing();
}
