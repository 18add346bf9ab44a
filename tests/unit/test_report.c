/*
 * The report: what it says, and where it may stand.
 */
#include "base/json.h"
#include "base/mem.h"
#include "lib/tap.h"
#include "run/report.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static json *read_report(const struct run_result *result)
{
	CLEANUP_FREE char *text = report_text(result);
	struct err err;

	return json_read(text, strlen(text), &err);
}

static const char *text_of(const json *object, const char *key)
{
	const json *value = object ? json_get(object, key) : NULL;

	return value && json_type(value) == JSON_STRING ? json_string(value) : NULL;
}

static void test_text(void)
{
	static const char *const unknown[] = {
		"cpu_ms", "max_rss_bytes", "stdout", "stderr", "out_of_memory"};
	struct run_result result = RUN_RESULT_INIT;
	CLEANUP_JSON json *doc = NULL, *refused = NULL;
	const json *network;
	struct err err;

	result.phase = PHASE_RUN;
	result.outcome = OUTCOME_COMPLETED;
	result.exit_code = 137;
	run_enforce(&result, "network", "none", true, "network namespace");
	strvec_push(&result.notes, "bytes \xff\x1b[0m \"quoted\"");
	doc = read_report(&result);
	ok(doc != NULL, "a report is valid JSON, whatever bytes a note has");
	is_str(text_of(doc, "outcome"), "completed", "outcome");
	is_str(text_of(doc, "phase"), "run", "phase");
	is_int((int)json_number(json_get(doc, "signal")), 9, "137 is likely signal 9");
	ok(json_type(json_get(doc, "error")) == JSON_NULL, "no error");
	network = json_get(json_get(doc, "enforcement"), "network");
	is_str(text_of(network, "by"), "network namespace", "enforced, and by what");
	ok(json_bool(json_get(network, "enforced")), "enforced");
	ok(json_type(json_get(network, "hits")) == JSON_NULL, "hits that nobody counts are null");
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		ok(json_type(json_get(doc, unknown[i])) == JSON_NULL,
			"%s is null when it is not known", unknown[i]);

	err_set(&err, ERR_NOT_FOUND, "x is not found");
	err_hint(&err, "look elsewhere");
	run_refuse(&result, PHASE_EXEC, &err);
	refused = read_report(&result);
	is_str(text_of(refused, "outcome"), "not-found", "a command that is missing");
	is_int((int)json_number(json_get(refused, "exit_code")), 127, "127");
	is_str(text_of(json_get(refused, "error"), "hint"), "look elsewhere", "with the hint");
	ok(json_type(json_get(refused, "signal")) == JSON_NULL, "127 is no signal");
	run_result_clear(&result);
}

/* The stream as a report prints it. */
static json *read_stream(struct run_stream stream)
{
	struct run_result result = RUN_RESULT_INIT;

	stream.counted = true;
	result.out = stream;
	return read_report(&result);
}

static void test_streams(void)
{
	static struct {
		char kept[8];
		const char *base64;
	} rows[] = {{"", ""}, {"\xff", "/w=="}, {"\xff\xfe", "//4="}, {"\xff\xfe\xfd", "//79"},
		{"\xff\xfe\xfd\1", "//79AQ=="}};
	CLEANUP_JSON json *text = read_stream((struct run_stream){.bytes = 5000000000,
		.omitted = 4999999993,
		.kept = (char[]){"a\n\"\x1b\xc3\xa4"},
		.kept_len = 6,
		.head_len = 3,
		.is_text = true});
	CLEANUP_JSON json *counted = read_stream((struct run_stream){.bytes = 3});
	const json *out = json_get(text, "stdout");

	is_str(text_of(out, "text"), "a\n\"\x1b\xc3\xa4", "text is as it was");
	ok(json_get(out, "base64") == NULL, "and not there twice");
	is_int((long long)json_number(json_get(out, "bytes")), 5000000000, "all bytes are counted");
	is_int((long long)json_number(json_get(out, "omitted")), 4999999993, "those left out too");
	is_int((int)json_number(json_get(out, "head_bytes")), 3, "where they were is said");
	ok(json_bool(json_get(out, "truncated")), "it is truncated");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t len = strlen(rows[i].kept);
		CLEANUP_JSON json *doc = read_stream((struct run_stream){
			.bytes = len, .kept = rows[i].kept, .kept_len = len, .head_len = len});

		out = json_get(doc, "stdout");
		is_str(text_of(out, "base64"), rows[i].base64, "%zu bytes in base64", len);
		ok(!json_get(out, "text") && !json_bool(json_get(out, "truncated")),
			"are no text, and whole");
	}
	out = json_get(counted, "stdout");
	ok(out && !json_get(out, "text") && !json_get(out, "base64") &&
			json_number(json_get(out, "bytes")) == 3,
		"a stream that was not captured has its counts only");
}

static void test_oom(void)
{
	struct run_result result = RUN_RESULT_INIT;
	CLEANUP_JSON json *doc = NULL;
	const json *oom;

	result.cpu_ms = 0;
	result.oom = (struct run_oom){.source = OOM_SHARED,
		.kills = 2,
		.limit_bytes = -1,
		.peak_bytes = 4096,
		.advice = xstrdup("wait")};
	doc = read_report(&result);
	oom = json_get(doc, "out_of_memory");
	is_str(text_of(oom, "source"), "shared", "whose kills they were");
	is_int((int)json_number(json_get(oom, "kills")), 2, "kills");
	ok(json_type(json_get(oom, "limit_bytes")) == JSON_NULL, "a limit that is not known");
	is_int((int)json_number(json_get(oom, "peak_bytes")), 4096, "peak");
	ok(!json_bool(json_get(oom, "retryable")), "retryable");
	is_str(text_of(oom, "advice"), "wait", "advice");
	ok(json_type(json_get(doc, "cpu_ms")) == JSON_NUMBER, "no time is a number");
	run_result_clear(&result);
}

static void test_violations(void)
{
	struct run_result result = {.phase = PHASE_RUN, .outcome = OUTCOME_VIOLATION};
	struct violation v = {"lost", "/p/\033[2J\xff", "policy: /x", "it is gone", "look"};
	CLEANUP_JSON json *doc = NULL;
	const json *all, *one;
	size_t n = 0;

	run_violation(&result, &v);
	run_violation(&result, &v);
	is_int((long long)result.n_violations, 1, "a violation is told once");
	v.message = "it is gone again";
	run_violation(&result, &v);
	for (int i = 0; i < 2 * VIOLATIONS_MAX; i++) {
		CLEANUP_FREE char *path = xasprintf("/p/%d", i);

		v.path = path;
		run_violation(&result, &v);
	}
	doc = read_report(&result);
	all = json_get(doc, "violations");
	one = json_first(all);
	is_str(text_of(doc, "outcome"), "violation", "outcome");
	is_str(text_of(one, "kind"), "lost", "kind");
	is_str(text_of(one, "path"), "/p/\033[2J\xef\xbf\xbd", "any bytes are a path");
	is_str(text_of(one, "rule"), "policy: /x", "rule");
	is_str(text_of(one, "message"), "it is gone", "message");
	is_str(text_of(one, "hint"), "look", "hint");
	is_str(text_of(json_next(one), "message"), "it is gone again",
		"another message is another");
	for (; one; one = json_next(one))
		n++;
	is_int((long long)n, VIOLATIONS_MAX, "no more than the first are told");
	is_str(json_string(json_first(json_get(doc, "notes"))),
		"102 more violations are not listed", "the rest is counted");
	run_result_clear(&result);
}

static void test_exit_codes(void)
{
	static const struct {
		enum err_kind kind;
		enum run_phase phase;
		int exit_code;
		enum run_outcome outcome;
	} rows[] = {
		{ERR_USAGE, PHASE_POLICY, 2, OUTCOME_REFUSED},
		{ERR_POLICY, PHASE_POLICY, 125, OUTCOME_REFUSED},
		{ERR_PLAN, PHASE_PLAN, 125, OUTCOME_REFUSED},
		{ERR_PROBE, PHASE_PROBE, 125, OUTCOME_REFUSED},
		{ERR_SETUP, PHASE_SETUP, 125, OUTCOME_SETUP_FAILED},
		{ERR_NOT_EXECUTABLE, PHASE_EXEC, 126, OUTCOME_NOT_EXECUTABLE},
		{ERR_NOT_FOUND, PHASE_EXEC, 127, OUTCOME_NOT_FOUND},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run_result result = RUN_RESULT_INIT;
		struct err err;

		err_set(&err, rows[i].kind, "message");
		run_refuse(&result, rows[i].phase, &err);
		is_int(result.exit_code, rows[i].exit_code, "exit code of %s",
			err_kind_name(rows[i].kind));
		is_int(result.outcome, rows[i].outcome, "outcome of %s",
			err_kind_name(rows[i].kind));
	}
}

/* 0 when the place can be opened, -1 for a usage error. */
static int try_place(const char *place, const int *pass_fds, size_t n)
{
	struct newfile report = NEWFILE_INIT;
	struct err err = {0};
	int result = report_open(&report, place, pass_fds, n, &err);

	newfile_close(&report);
	return result < 0 && err.kind != ERR_USAGE ? -2 : result;
}

static void test_places(void)
{
	struct run_result result = RUN_RESULT_INIT;
	struct newfile report = NEWFILE_INIT;
	char dir[] = "/tmp/sbx-test-report.XXXXXX";
	CLEANUP_FREE char *number = NULL;
	struct err err = {0};
	struct stat st;
	int fds[2];

	if (!ok(mkdtemp(dir) && chdir(dir) == 0 && mkdir("real", 0755) == 0 &&
			    symlink("real", "link") == 0 && symlink("/nowhere", "dangling") == 0 &&
			    mkfifo("fifo", 0600) == 0 && pipe(fds) == 0,
		    "a directory to test in"))
		return;
	number = xasprintf("fd:%d", fds[1]);
	is_int(try_place("real/r", NULL, 0), 0, "a new file in a directory");
	is_int(try_place("./real/../r", NULL, 0), 0, "dots on the way");
	is_int(try_place("link/r", NULL, 0), -1, "a link on the way");
	is_int(try_place("dangling", NULL, 0), -1, "a link at the end");
	is_int(try_place("fifo", NULL, 0), -1, "a FIFO");
	is_int(try_place("real", NULL, 0), -1, "a directory");
	is_int(try_place("real/", NULL, 0), -1, "no name");
	is_int(try_place("none/r", NULL, 0), -1, "no directory");
	is_int(try_place("fd:1", NULL, 0), -1, "the command's own output");
	is_int(try_place("fd:", NULL, 0), -1, "no number");
	is_int(try_place("fd:999", NULL, 0), -1, "not open");
	is_int(try_place("fd:4294967299", NULL, 0), -1, "a number out of range");
	is_int(try_place(number, &fds[1], 1), -1, "a descriptor that the command has too");

	is_int(report_open(&report, "real/r", NULL, 0, &err), 0, "opened");
	is_int(lstat("real/r", &st), -1, "the name is not there before the end");
	is_int(report_write(&report, &result, &err), 0, "written");
	ok(lstat("real/r", &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0,
		"then it is, and whole");
	newfile_close(&report);
	ok(unlink("real/r") == 0 && rmdir("real") == 0, "and nothing else is left beside it");
	ok(unlink("link") == 0 && unlink("dangling") == 0 && unlink("fifo") == 0 && rmdir(dir) == 0,
		"nor above");

	is_int(report_open(&report, number, NULL, 0, &err), 0, "a descriptor");
	is_int(report_write(&report, &result, &err), 0, "is written to");
	newfile_close(&report);
	close(fds[0]);
}

/* From here on no file without a name can be made, as on some file systems. */
static void without_tmpfile(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ||
		open(".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600) >= 0)
		_exit(2);
}

static int exit_code(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool make_file(const char *name)
{
	CLEANUP_CLOSE int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	return fd >= 0;
}

/* What killed processes have left, and what only looks like it. */
static void test_leftovers(void)
{
	static const char *const stay[] = {".sbx-new.link", ".sbx-new.0123456789abcdeF",
		".sbx-new.0123456789abcdef0", "sbx-new.0123456789abcdef",
		".sbx-new.1111111111111111", ".sbx-new.2222222222222222",
		".sbx-new.3333333333333333", ".sbx-new.4444444444444444"};
	char dir[] = "/tmp/sbx-test-report.XXXXXX";
	struct newfile living = NEWFILE_INIT;
	CLEANUP_FREE char *self = NULL;
	struct err err = {0};
	struct stat st;
	pid_t pids[4];
	int lock;

	if (!ok(mkdtemp(dir) && chdir(dir) == 0 && make_file(".sbx-new.0123456789abcdef") &&
			    make_file(stay[0]) && make_file(stay[1]) && make_file(stay[2]) &&
			    make_file(stay[3]) && symlink(stay[0], stay[4]) == 0 &&
			    mkdir(stay[5], 0700) == 0 && mkfifo(stay[6], 0600) == 0 &&
			    make_file(stay[7]) && make_file(".sbx-new.5555555555555555"),
		    "files of killed processes, and others"))
		return;
	lock = open(stay[7], O_WRONLY | O_CLOEXEC);
	is_int(flock(lock, LOCK_EX), 0, "(one is locked)");
	if (geteuid() == 0)
		is_int(chown(".sbx-new.5555555555555555", 65534, 65534), 0, "(one is another's)");
	is_int(try_place("r", NULL, 0), 0, "a new file");
	is_int(lstat(".sbx-new.0123456789abcdef", &st), -1, "what was left is removed");
	for (size_t i = 0; i < sizeof(stay) / sizeof(*stay); i++)
		is_int(lstat(stay[i], &st), 0, "%s stays", stay[i]);
	is_int(lstat(".sbx-new.5555555555555555", &st), geteuid() == 0 ? 0 : -1,
		"nor is another user's removed");
	unlink(".sbx-new.5555555555555555");
	close(lock);
	is_int(try_place("r", NULL, 0), 0, "(once more)");
	is_int(lstat(stay[7], &st), -1, "what is no longer locked is removed");
	for (size_t i = 0; i < sizeof(stay) / sizeof(*stay); i++)
		if (unlink(stay[i]) < 0)
			rmdir(stay[i]);

	/* Just before it is renamed. */
	is_int(newfile_open(&living, "r", "r", &err), 0, "a file of a living process");
	self = xasprintf("/proc/self/fd/%d", living.fd);
	ok(living.named || linkat(AT_FDCWD, self, AT_FDCWD, living.temp, AT_SYMLINK_FOLLOW) == 0,
		"that has a name on the way");
	living.named = true;
	is_int(try_place("other", NULL, 0), 0, "another process's");
	is_int(newfile_name(&living, &err), 0, "does not take it away");
	newfile_close(&living);

	/* The same where it has that name from the start: then it is there before it is locked. */
	for (size_t p = 0; p < 4; p++) {
		pids[p] = fork();
		if (pids[p] != 0)
			continue;
		without_tmpfile();
		for (int i = 0; i < 500; i++) {
			struct newfile file = NEWFILE_INIT;

			if (newfile_open(&file, "r", "r", &err) < 0 || !file.named ||
				newfile_name(&file, &err) < 0)
				_exit(1);
			newfile_close(&file);
		}
		/* As if it was killed. */
		_exit(newfile_open(&living, "r", "r", &err) < 0 ? 3 : 0);
	}
	for (size_t p = 0; p < 4; p++)
		is_int(exit_code(pids[p]), 0, "where every file has a name, none is lost");
	is_int(try_place("r", NULL, 0), 0, "what they have left");
	ok(unlink("r") == 0 && rmdir(dir) == 0, "is removed");
}

static void test_summary(void)
{
	struct run_result result = RUN_RESULT_INIT;
	char *text;

	result.outcome = OUTCOME_REFUSED;
	result.exit_code = 125;
	text = report_summary(&result);
	is_str(text, "refused, exit code 125", "the summary of what never started");
	free(text);

	result.outcome = OUTCOME_MEMORY;
	result.exit_code = 137;
	result.duration_ms = 1234;
	result.cpu_ms = 560;
	result.max_rss_bytes = 34 << 20;
	result.oom.kills = 2;
	run_enforce(&result, "network", "host", false, NULL);
	run_enforce(&result, "memory", "1", true, "x");
	run_enforce(&result, "processes", "1", false, NULL);
	run_enforce(&result, "tmpfs", "1", true, "x");
	run_hits(&result, "memory", 2);
	run_hits(&result, "tmpfs", 1);
	run_hits(&result, "cpu", 1);
	text = report_summary(&result);
	is_str(text,
		"memory, exit code 137; 1.23 s; 0.56 s of processor time; 34 MiB; limits reached: "
		"memory, tmpfs; not enforced: processes; 2 killed for want of memory",
		"the summary of all that there is to say");
	free(text);
	run_withdraw(&result, "memory");
	ok(!result.enforcement[1].enforced && !result.enforcement[1].by, "a claim is withdrawn");
	run_result_clear(&result);
}

int main(void)
{
	test_text();
	test_streams();
	test_oom();
	test_summary();
	test_violations();
	test_exit_codes();
	test_places();
	test_leftovers();
	return done_testing();
}
