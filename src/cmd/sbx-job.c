/*
 * sbx-job: runs in the background, and what became of them. There is no daemon: each job has a
 * supervisor of its own (cmd/background.h), and all else is on disk (job/store.h).
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "cmd/background.h"
#include "cmd/describe.h"
#include "cmd/identity.h"
#include "cmd/options.h"
#include "cmd/reading.h"
#include "job/store.h"
#include "run/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char tool[] = "sbx-job";

/* What a supervisor has, beyond the grace, to end the run and write down how it went. */
#define STOP_MS 10000

struct call {
	struct options options;
	char *place;
	int store; /* -ENOENT: there is none yet */
};

static void pause_ms(long ms)
{
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* The one place that counts. */
static int find_place(struct call *call, struct err *err)
{
	CLEANUP_STRVEC struct strvec places = {0};
	const char *state = getenv("SBX_STATE"), *home = getenv("HOME");
	CLEANUP_FREE char *own = home && *home == '/' ? NULL : identity_home(geteuid());

	if (state && *state != '/')
		return err_set(err, ERR_USAGE, "SBX_STATE is no absolute path");
	store_places(state, getenv("XDG_STATE_HOME"), own ? own : home, &places);
	if (!places.n) {
		err_set(err, ERR_USAGE, "there is no place to keep jobs in");
		return err_hint(err, "name one: SBX_STATE=DIR");
	}
	call->place = xstrdup(places.v[0]);
	return 0;
}

/* Opens a job; where there is none of that id, says which there are. */
static int open_job(const struct call *call, const char *id, struct job *job, struct err *err)
{
	CLEANUP_STRVEC struct strvec ids = {0};
	CLEANUP_FREE char *list = NULL;
	struct err ignored;

	if (call->store >= 0 && job_open(job, call->store, id, err) == 0)
		return 0;
	if (call->store >= 0 && err->kind != ERR_USAGE)
		return -1;
	if (call->store >= 0)
		store_list(call->store, &ids, &ignored);
	strvec_sort(&ids);
	list = strvec_join(&ids, ", ");
	err_set(err, ERR_USAGE, "there is no job %s", id);
	return ids.n ? err_hint(err, "there %s %s", ids.n > 1 ? "are" : "is", list)
		     : err_hint(err, "there are no jobs in %s", call->place);
}

/* Waits until a job's supervisor has gone, or for so many milliseconds (-1 = for ever), and looks. 1 when
 * it is still there, 0, or -1 with an error. */
static int await(const struct job *job, int64_t ms, struct job_facts *facts, struct err *err)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC), until = ms < 0 ? INT64_MAX : now + ms;

	while (job_look(job, facts, err) == 0) {
		CLEANUP_CLOSE int pidfd = facts->alive ? job_supervisor(facts) : -1;
		struct pollfd end = {.fd = pidfd, .events = POLLIN};
		int64_t left = until - clock_ms(CLOCK_MONOTONIC);

		if (!facts->alive)
			return 0;
		if (left <= 0)
			return 1;
		job_facts_clear(facts);
		/* For want of a pidfd, and after its end, the lock is looked at again soon. */
		if (pidfd < 0 || poll(&end, 1, left < INT_MAX ? (int)left : INT_MAX) > 0)
			pause_ms(left < 5 ? (long)left : 5);
	}
	return -1;
}

/* list */

/* When a job was started; of one that is only being made the end of time, of a damaged one 0. */
static int64_t start_of(const struct call *call, const char *id)
{
	struct job job = JOB_INIT;
	struct job_facts facts = {0};
	struct err ignored;
	int64_t ms = 0;

	if (job_open(&job, call->store, id, &ignored) == 0 && job_look(&job, &facts, &ignored) == 0)
		ms = facts.meta ? facts.created_ms : INT64_MAX;
	job_facts_clear(&facts);
	job_close(&job);
	return ms;
}

/* The ids of all jobs, by the time of their start. */
static int list_by_start(const struct call *call, struct strvec *ids, struct err *err)
{
	CLEANUP_STRVEC struct strvec all = {0}, sorted = {0};

	if (call->store >= 0 && store_list(call->store, &all, err) < 0)
		return -1;
	/* As texts of one length, which sort as the numbers that they begin with. */
	for (size_t i = 0; i < all.n; i++)
		strvec_pushf(&sorted, "%020" PRId64 "%s", start_of(call, all.v[i]), all.v[i]);
	strvec_sort(&sorted);
	for (size_t i = 0; i < sorted.n; i++)
		strvec_push(ids, sorted.v[i] + 20);
	return 0;
}

static int run_list(struct call *call, struct err *err)
{
	CLEANUP_JSON json *array = call->options.output == OUTPUT_JSON ? json_new_array() : NULL;
	CLEANUP_STRVEC struct strvec ids = {0};

	if (list_by_start(call, &ids, err) < 0)
		return -1;
	for (size_t i = 0; i < ids.n; i++) {
		struct job job = JOB_INIT;
		struct job_facts facts = {0};
		struct err one;

		if (job_open(&job, call->store, ids.v[i], &one) == 0 &&
			job_look(&job, &facts, &one) == 0) {
			if (array)
				json_add(array, NULL, describe_as_json(&job, &facts));
			else
				describe_as_text(&job, &facts);
		} else if (one.kind == ERR_USAGE) {
			/* Removed since. */
		} else if (array) {
			json *object = json_add(array, NULL, json_new_object());

			json_add_string(object, "id", ids.v[i]);
			json_add_string(object, "state", "damaged");
			json_add_string(object, "error", one.message);
		} else {
			printf("%s  damaged   ", ids.v[i]);
			print_escaped(stdout, one.message);
			putchar('\n');
		}
		job_facts_clear(&facts);
		job_close(&job);
	}
	if (array) {
		CLEANUP_FREE char *text = json_print(array, true);

		puts(text);
	}
	return 0;
}

/* read */

static int run_read(struct call *call, struct err *err)
{
	struct job job = JOB_INIT;
	int rc = open_job(call, call->options.ids.v[0], &job, err);

	rc = rc < 0 ? rc : reading_print(&job, &call->options, err);
	job_close(&job);
	return rc;
}

/* wait, report */

static int err_lost(const struct job *job, struct err *err)
{
	err_set(err, ERR_SYSTEM,
		"job %s is lost: its supervisor has gone without a report, and with it all that "
		"ran",
		job->id);
	return err_hint(err,
		"it was killed, or could not write to the disk; sbx-job read %s has what the "
		"job wrote until then",
		job->id);
}

static int run_wait(struct call *call, struct err *err)
{
	uint64_t ms = UINT64_MAX;
	struct job_facts facts = {0};
	struct job job = JOB_INIT;
	int rc = open_job(call, call->options.ids.v[0], &job, err);

	if (call->options.timeout)
		options_time(call->options.timeout, &ms);
	if (rc == 0)
		rc = await(&job, ms > INT64_MAX / 2 ? -1 : (int64_t)ms, &facts, err);
	if (rc > 0) {
		fprintf(stderr, "%s: job %s has not ended yet\n", tool, job.id);
		rc = 124;
	} else if (rc == 0 && facts.state == JOB_LOST) {
		rc = err_lost(&job, err);
	} else if (rc == 0) {
		rc = (int)json_number(describe_report(&facts, "exit_code"));
	}
	job_facts_clear(&facts);
	job_close(&job);
	return rc;
}

static int run_report(struct call *call, struct err *err)
{
	struct job_facts facts = {0};
	struct job job = JOB_INIT;
	int rc = open_job(call, call->options.ids.v[0], &job, err);

	rc = rc < 0 ? rc : job_look(&job, &facts, err);
	if (rc == 0 && facts.report) {
		CLEANUP_FREE char *text = json_print(facts.report, true);

		puts(text);
	} else if (rc == 0 && facts.state == JOB_LOST) {
		rc = err_lost(&job, err);
	} else if (rc == 0) {
		err_set(err, ERR_USAGE, "job %s has not ended yet", job.id);
		rc = err_hint(err, "sbx-job wait %s waits for it", job.id);
	}
	job_facts_clear(&facts);
	job_close(&job);
	return rc;
}

/* stop, rm */

typedef int each_fn(const struct call *call, const struct job *job, struct err *err);

static int exit_code(const struct err *err)
{
	return err->kind == ERR_USAGE ? 2 : 125;
}

/* Does something to each job that was asked for, or, with every, to all that there are. What cannot be
 * done to one is said, unless quiet, and the rest go on. The exit code. */
static int for_each(const struct call *call, bool every, bool quiet, each_fn *each)
{
	CLEANUP_STRVEC struct strvec all = {0};
	const struct strvec *ids = every ? &all : &call->options.ids;
	struct err err = {0};
	int code = 0;

	if (every && call->store >= 0 && store_list(call->store, &all, &err) < 0) {
		print_err(tool, &err);
		return exit_code(&err);
	}
	for (size_t i = 0; i < ids->n; i++) {
		struct job job = JOB_INIT;
		int rc = open_job(call, ids->v[i], &job, &err);

		if (rc == 0)
			rc = each(call, &job, &err);
		job_close(&job);
		/* Of all, one may have been removed since. */
		if (rc == 0 || (every && err.kind == ERR_USAGE))
			continue;
		if (!quiet)
			print_err(tool, &err);
		code = exit_code(&err);
	}
	return code;
}

static int64_t grace_of(const struct call *call)
{
	uint64_t ms = 1000;

	if (call->options.grace)
		options_time(call->options.grace, &ms);
	return ms < INT_MAX ? (int64_t)ms : INT_MAX;
}

/* Sends a signal to the supervisor of a job that runs, with a number. One that was just begun has not
 * written down yet who it is. */
static int signal_job(const struct job *job, int sig, int number, struct err *err)
{
	siginfo_t info = {.si_signo = sig, .si_code = SI_QUEUE};
	struct job_facts facts;

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = number;
	for (int i = 0; i < STOP_MS / 5; i++) {
		CLEANUP_CLOSE int pidfd = -1;
		bool alive;

		if (job_look(job, &facts, err) < 0)
			return -1;
		alive = facts.alive;
		pidfd = alive ? job_supervisor(&facts) : -1;
		job_facts_clear(&facts);
		if (!alive)
			return 0;
		if (pidfd >= 0 && (syscall(SYS_pidfd_send_signal, pidfd, sig, &info, 0) == 0 ||
					  errno == ESRCH))
			return 0;
		pause_ms(5);
	}
	return err_set(err, ERR_SYSTEM, "job %s: its supervisor cannot be found", job->id);
}

static int ask_to_stop(const struct call *call, const struct job *job, struct err *err)
{
	return signal_job(job, SIGTERM, (int)grace_of(call), err);
}

static int stop_one(const struct call *call, const struct job *job, struct err *err)
{
	struct job_facts facts = {0};
	int rc = ask_to_stop(call, job, err);

	if (rc == 0)
		rc = await(job, grace_of(call) + STOP_MS, &facts, err);
	job_facts_clear(&facts);
	if (rc <= 0)
		return rc;
	/* All of the run ends with its supervisor. */
	if (signal_job(job, SIGKILL, 0, err) < 0)
		return -1;
	rc = await(job, STOP_MS, &facts, err);
	job_facts_clear(&facts);
	if (rc >= 0)
		err_set(err, ERR_SYSTEM, "job %s: its supervisor did not answer, and was killed",
			job->id);
	return -1;
}

static int run_stop(struct call *call, struct err *err)
{
	(void)err;
	/* All at once; that one is asked again makes no difference. */
	for_each(call, call->options.all, true, ask_to_stop);
	return for_each(call, call->options.all, false, stop_one);
}

/* By id, whatever is wrong with it. */
static int remove_one(const struct call *call, const struct job *job, struct err *err)
{
	struct job_facts facts = {0};
	struct err ignored;

	/* One that has written its report is about to go. */
	if (job_look(job, &facts, &ignored) == 0 && facts.report) {
		job_facts_clear(&facts);
		await(job, STOP_MS, &facts, &ignored);
	}
	job_facts_clear(&facts);
	return job_remove(call->store, job->id, err);
}

static int remove_ended(const struct call *call, const struct job *job, struct err *err)
{
	struct job_facts facts = {0};
	uint64_t ms = 0;
	struct stat st;
	bool over;

	if (call->options.older)
		options_time(call->options.older, &ms);
	if (job_look(job, &facts, err) < 0)
		return -1;
	over = facts.state == JOB_ENDED || facts.state == JOB_LOST;
	job_facts_clear(&facts);
	/* The directory was last changed when the report got its name. */
	if (!over || fstat(job->dir, &st) < 0 ||
		clock_ms(CLOCK_REALTIME) - (int64_t)st.st_mtim.tv_sec * 1000 < (int64_t)ms)
		return 0;
	return remove_one(call, job, err);
}

static int run_rm(struct call *call, struct err *err)
{
	bool ended = call->options.ended;

	(void)err;
	if (call->store >= 0)
		store_tidy(call->store);
	return for_each(call, ended, false, ended ? remove_ended : remove_one);
}

static int run_start(struct call *call, struct err *err)
{
	return background_start(&call->options, call->place, err);
}

static const struct command {
	const char *name;
	enum tool tool;
	int (*run)(struct call *call, struct err *err); /* the exit code, or -1 with an error */
	const char *help;
} commands[] = {
	{"start", TOOL_START, run_start, "run a command in the background"},
	{"list", TOOL_LIST, run_list, "say which jobs there are"},
	{"read", TOOL_READ, run_read, "print a part of what a job has written"},
	{"wait", TOOL_WAIT, run_wait, "wait for a job's end"},
	{"stop", TOOL_STOP, run_stop, "end jobs"},
	{"rm", TOOL_RM, run_rm, "remove jobs that do not run"},
	{"report", TOOL_REPORT, run_report, "print a job's report"},
};

#define N_COMMANDS (sizeof(commands) / sizeof(*commands))

static void print_help(void)
{
	printf("usage: %s command [options]\nRuns commands in sandboxes in the background.\n\n",
		tool);
	for (size_t i = 0; i < N_COMMANDS; i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].help);
	printf("\n%s command --help lists the options of one. See %s(1).\n", tool, tool);
}

/* As options_parse answers --completion. */
static void print_completion(void)
{
	puts("command [options]");
	for (size_t i = 0; i < N_COMMANDS; i++)
		printf("%s\t%s\n", commands[i].name, commands[i].help);
	puts("-h --help\tlist the commands\n--version\tshow the version\n"
	     "--completion\tshow the commands for a shell to complete");
}

/* The command that a word names; NULL with an error. */
static const struct command *find_command(const char *word, struct err *err)
{
	const char *names[N_COMMANDS], *near;

	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (word && strcmp(word, commands[i].name) == 0)
			return &commands[i];
		names[i] = commands[i].name;
	}
	near = word ? nearest(word, names, N_COMMANDS) : NULL;
	err_set(err, ERR_USAGE, word ? "unknown command %s" : "no command%s", word ? word : "");
	if (near)
		err_hint(err, "did you mean %s?", near);
	else
		err_hint(err, "%s --help lists the commands", tool);
	return NULL;
}

static int run_command(struct call *call, int argc, char **argv, struct err *err)
{
	const struct command *command = find_command(argv[1], err);
	int rc;

	if (!command)
		return -1;
	rc = options_parse(&call->options, command->tool, argc - 1, argv + 1, err);
	if (rc != 0)
		return rc > 0 ? 0 : -1;
	if (find_place(call, err) < 0)
		return -1;
	call->store = -ENOENT;
	if (command->tool != TOOL_START)
		call->store = store_open(call->place, false, err);
	return call->store == -1 ? -1 : command->run(call, err);
}

int main(int argc, char **argv)
{
	struct call call = {.store = -1};
	struct err err = {0};
	int rc = stdio_reserve(&err);

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	/* A job must hold nothing of its caller's. */
	close_range(3, ~0U, 0);
	if (rc == 0 && argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		print_help();
	else if (rc == 0 && argc > 1 && strcmp(argv[1], "--completion") == 0)
		print_completion();
	else if (rc == 0 && argc > 1 && strcmp(argv[1], "--version") == 0)
		printf("%s %s\n", tool, SBX_VERSION);
	else if (rc == 0)
		rc = run_command(&call, argc, argv, &err);
	if (rc >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
		rc = err_set(&err, ERR_SYSTEM, "cannot write to standard output");
	if (rc < 0) {
		print_err(tool, &err);
		rc = exit_code(&err);
	}
	if (call.store >= 0)
		close(call.store);
	free(call.place);
	options_clear(&call.options);
	return rc;
}
