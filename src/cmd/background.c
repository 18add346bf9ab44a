#include "cmd/background.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/execute.h"
#include "job/log.h"
#include "job/store.h"
#include "run/output.h"
#include "run/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Where a script is in the sandbox. */
#define SCRIPT_AT "/run/sbx-script"
#define SCRIPT_MAX (1U << 20)

/* More than a report without the output takes, but for one with very many violations. */
#define REPORT_ROOM (64L << 10)

/* In place of the exit code that is told: the command runs. */
#define STARTED 256

/* The supervisor's. */
struct background {
	struct output_sink sink; /* first: what is handed to sink_write is this */
	struct log_writer logs[2];
	const struct options *options;
	struct job job;
	struct job_facts self;
	int64_t created_ms;
	int told; /* where the caller listens; -1: it has been told */
};

/* Scripts */

/* Reads a whole script; NULL with an error. */
static char *read_script(const char *name, struct err *err)
{
	bool own = strcmp(name, "-") != 0;
	CLEANUP_CLOSE int opened = own ? open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
	CLEANUP_FREE char *text = xcalloc(SCRIPT_MAX + 1, 1);
	int fd = own ? opened : STDIN_FILENO;
	size_t len = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && len <= SCRIPT_MAX) {
		n = read(fd, text + len, SCRIPT_MAX + 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || n < 0)
		err_set(err, ERR_USAGE, "--script %s: %s", name, strerror(errno));
	else if (len > SCRIPT_MAX)
		err_set(err, ERR_USAGE, "--script %s: longer than 1 MiB", name);
	else if (strlen(text) < len || !utf8_valid(text))
		err_set(err, ERR_USAGE, "--script %s: not UTF-8 text", name);
	else
		return xstrdup(text);
	return NULL;
}

/* Appends what a script is run by: as the kernel reads its first line, else /bin/sh. */
static int add_interpreter(const char *text, struct strvec *words, struct err *err)
{
	CLEANUP_FREE char *line = xstrndup(text, strcspn(text, "\n"));
	size_t len = strlen(line);
	char *word = line + 2, *argument;

	if (strncmp(line, "#!", 2) != 0) {
		strvec_push(words, "/bin/sh");
		return 0;
	}
	while (len > 2 && strchr(" \t\r", line[len - 1]))
		line[--len] = '\0';
	word += strspn(word, " \t");
	argument = word + strcspn(word, " \t");
	if (*argument)
		*argument++ = '\0';
	argument += strspn(argument, " \t");
	if (*word != '/') {
		err_set(err, ERR_USAGE, "the script's first line names no interpreter: %s", line);
		return err_hint(err, "begin it with #! and a path, or leave #! out for /bin/sh");
	}
	strvec_push(words, word);
	if (*argument)
		strvec_push(words, argument);
	return 0;
}

/* Makes the script a file of the sandbox, and its interpreter the command. */
static int use_script(struct options *options, struct strvec *words, struct err *err)
{
	CLEANUP_FREE char *text = read_script(options->script, err);

	if (!text || add_interpreter(text, words, err) < 0)
		return -1;
	options_add_file(options, SCRIPT_AT, text, "--script");
	strvec_push(words, SCRIPT_AT);
	for (size_t i = 0; i < options->n_command; i++)
		strvec_push(words, options->command[i]);
	options->command = strvec_argv(words);
	options->n_command = words->n;
	return 0;
}

/* The supervisor */

static int sink_write(struct output_sink *sink, int stream, const void *data, size_t len)
{
	struct background *b = (struct background *)sink;

	return log_write(&b->logs[stream - 1], data, len);
}

static void add_strings(json *object, const char *key, char *const *strings, size_t n, size_t step)
{
	json *array = json_add(object, key, json_new_array());

	for (size_t i = step - 1; i < n; i += step)
		json_add_string(array, NULL, strings[i]);
}

/* What was asked, without the values of variables. */
static int write_meta(const struct background *b, int64_t started_ms, struct err *err)
{
	const struct options *o = b->options;
	CLEANUP_JSON json *meta = json_new_object();
	CLEANUP_FREE char *cwd = getcwd(NULL, 0);

	json_add_number(meta, "sbx", 1);
	add_strings(meta, "policies", o->policies.v, o->policies.n, 1);
	add_strings(meta, "flags", o->flag_names.v, o->flag_names.n, 2);
	add_strings(meta, "command", o->command, o->n_command, 1);
	json_add_string(meta, "cwd", cwd ? cwd : "");
	json_add_bool(meta, "split", o->split);
	json_add_number(meta, "log_limit", (double)o->log_limit);
	json_add_number(meta, "created_ms", (double)b->created_ms);
	if (started_ms >= 0)
		json_add_number(meta, "started_ms", (double)started_ms);
	json_add_number(meta, "pid", b->self.pid);
	json_add_number(meta, "pid_start", (double)b->self.pid_start);
	json_add_string(meta, "boot", b->self.boot);
	return job_write_meta(&b->job, meta, err);
}

/* Tells the caller how it went, who may be gone. */
static void tell(struct background *b, int what)
{
	write_all(b->told, &what, sizeof(what));
	close(b->told);
	b->told = -1;
}

static void started(void *arg)
{
	struct background *b = arg;
	CLEANUP_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct err ignored;

	/* It runs, whether this can be written down or not. */
	write_meta(b, clock_ms(CLOCK_REALTIME), &ignored);
	if (null >= 0) {
		dup2(null, 1);
		dup2(null, 2);
	}
	tell(b, STARTED);
}

/* What a command that was not executed has written is bwrap's message. */
static void print_log(const struct background *b)
{
	const struct log_place begin = {0, 1};
	struct log_view view;
	struct log_part part = {0};
	struct err ignored;

	for (int i = 0; i < 2; i++) {
		if (log_look(&view, b->job.dir, b->logs[i].name, &ignored) == 0 &&
			log_read(&view, &begin, 100, 65536, &part, &ignored) == 0)
			write_all(2, part.text, part.len);
		free(part.text);
		part.text = NULL;
		log_clear(&view);
	}
}

/* The report is to be written when the log has filled the disk, too: what is kept for it until then. */
static int reserve_room(const struct background *b, struct err *err)
{
	CLEANUP_CLOSE int fd = openat(
		b->job.dir, "reserve", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error = fd < 0 ? errno : posix_fallocate(fd, 0, REPORT_ROOM);

	if (error)
		return err_set(err, ERR_SYSTEM, "there is no room for the job's report: %s",
			strerror(error));
	return 0;
}

static int prepare(struct background *b, struct exec *e, struct err *err)
{
	CLEANUP_FREE char *self = xasprintf("/proc/self/fd/%d", b->job.dir);
	CLEANUP_FREE char *dir = realpath(self, NULL);

	if (!dir)
		return err_set(err, ERR_SYSTEM, "the job's directory has gone");
	if (job_facts_self(&b->self, err) < 0 || write_meta(b, -1, err) < 0 ||
		reserve_room(b, err) < 0)
		return -1;
	e->options.report = path_join(dir, "report.json");
	return 0;
}

static _Noreturn void supervise(struct background *b, struct options *options)
{
	struct exec e = {.tool = "sbx-job", EXEC_INIT};
	struct err err;
	int code;

	e.options = *options;
	e.sink = &b->sink;
	e.started = started;
	e.started_arg = b;
	/* cppcheck-suppress autoVariables; this function does not return */
	b->options = &e.options;
	b->sink = (struct output_sink){.split = options->split, .write = sink_write};
	log_begin(&b->logs[0], b->job.dir, options->split ? "stdout" : "log", options->log_limit);
	log_begin(&b->logs[1], b->job.dir, "stderr", options->log_limit);
	if (prepare(b, &e, &err) < 0)
		run_refuse(&e.result, PHASE_POLICY, &err);
	else
		exec_run(&e);
	if (b->told >= 0)
		print_log(b);
	unlinkat(b->job.dir, "reserve", 0);
	code = exec_conclude(&e);
	fsync(b->job.dir);
	if (b->told >= 0)
		tell(b, code);
	exec_clear(&e);
	log_end(&b->logs[0]);
	log_end(&b->logs[1]);
	_exit(0);
}

/* The caller */

/* Passes the supervisor's messages on until it has told how it went; what it told, or -1: it was
 * killed. */
static int listen_to(int messages, int told)
{
	struct pollfd fds[2] = {{.fd = messages, .events = POLLIN}, {.fd = told, .events = POLLIN}};
	char buf[4096];
	int what = -1;

	for (;;) {
		ssize_t n;

		if (poll(fds, 2, -1) < 0)
			continue;
		/* All that was written before it told. */
		while ((n = read(messages, buf, sizeof(buf))) > 0)
			write_all(STDERR_FILENO, buf, (size_t)n);
		if (n == 0)
			fds[0].fd = -1;
		if (fds[1].revents)
			break;
	}
	if (read(told, &what, sizeof(what)) != sizeof(what))
		what = -1;
	for (ssize_t n; (n = read(messages, buf, sizeof(buf))) > 0;)
		write_all(STDERR_FILENO, buf, (size_t)n);
	return what;
}

/* Opens what becomes the command's standard input. */
static int open_input(const char *file, struct err *err)
{
	int fd = open(file ? file : "/dev/null", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return err_set(err, ERR_USAGE, "--stdin %s: %s", file ? file : "", strerror(errno));
	if (!file || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return err_set(err, ERR_USAGE, "--stdin %s: not a regular file", file);
}

/* Two pipes, messages and told: the ends to read and to write. */
static int make_pipes(int messages[2], int told[2], struct err *err)
{
	if (pipe2(messages, O_CLOEXEC) < 0 || pipe2(told, O_CLOEXEC) < 0 ||
		fcntl(messages[0], F_SETFL, O_NONBLOCK) < 0)
		return err_set(err, ERR_SYSTEM, "cannot make a pipe: %s", strerror(errno));
	return 0;
}

/* Becomes the supervisor in a child's child, which is nobody's. The child's pid, or -1 with an error. */
static pid_t fork_supervisor(struct background *b, struct options *options, int input,
	const int messages[2], const int told[2], struct err *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return err_set(err, ERR_SYSTEM, "cannot make a process: %s", strerror(errno));
	if (pid)
		return pid;
	if (setsid() < 0 || (pid = fork()) < 0)
		_exit(1);
	if (pid)
		_exit(0);
	dup2(input, 0);
	dup2(messages[1], 1);
	dup2(messages[1], 2);
	close(input);
	close(messages[0]);
	close(messages[1]);
	close(told[0]);
	b->told = told[1];
	supervise(b, options);
}

/* With the job made: starts it, and waits until it runs. */
static int start(struct background *b, struct options *options, int input, struct err *err)
{
	int messages[2] = {-1, -1}, told[2] = {-1, -1};
	int status = 1, what = -1;
	pid_t pid = -1;

	if (make_pipes(messages, told, err) == 0)
		pid = fork_supervisor(b, options, input, messages, told, err);
	if (pid > 0) {
		waitpid(pid, &status, 0);
		close(messages[1]);
		close(told[1]);
		messages[1] = told[1] = -1;
		/* The lock is the supervisor's alone from here on. */
		close(b->job.lock);
		b->job.lock = -1;
		what = listen_to(messages[0], told[0]);
		if (what < 0)
			err_set(err, ERR_SYSTEM, "the job's supervisor was ended");
	}
	for (int i = 0; i < 2; i++) {
		if (messages[i] >= 0)
			close(messages[i]);
		if (told[i] >= 0)
			close(told[i]);
	}
	return what;
}

/* Waits for the supervisor's last step, which gives the lock back, and removes the job. */
static void remove_failed(const struct job *job, int store)
{
	const struct timespec moment = {.tv_nsec = 5000000};
	struct err ignored;

	for (int i = 0; i < 1000 && job_remove(store, job->id, &ignored) < 0; i++)
		nanosleep(&moment, NULL);
}

int background_start(struct options *options, const char *place, struct err *err)
{
	struct background b = {
		.options = options, .job = JOB_INIT, .created_ms = clock_ms(CLOCK_REALTIME)};
	CLEANUP_STRVEC struct strvec words = {0};
	CLEANUP_CLOSE int input = open_input(options->input, err);
	CLEANUP_CLOSE int store = -1;
	int what;

	if (input < 0 || (options->script && use_script(options, &words, err) < 0))
		return -1;
	if (options->n_command == 0) {
		err_set(err, ERR_USAGE, "no command");
		return err_hint(err, "usage: sbx-job start [OPTION...] [--] COMMAND [ARGUMENT...]");
	}
	if (!options->log_limit)
		options->log_limit = LOG_LIMIT;
	if (options->log_limit < LOG_LIMIT_MIN)
		return err_set(err, ERR_USAGE, "--log-limit: 64K at least");
	store = store_open(place, true, err);
	if (store < 0 || job_make(&b.job, store, err) < 0)
		return -1;
	what = start(&b, options, input, err);
	if (what == STARTED) {
		printf("%s\n", b.job.id);
		what = 0;
	} else {
		if (b.job.lock >= 0)
			close(b.job.lock);
		b.job.lock = -1;
		remove_failed(&b.job, store);
	}
	job_close(&b.job);
	return what;
}
