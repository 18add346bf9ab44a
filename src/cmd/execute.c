#include "cmd/execute.h"

#include "base/mem.h"
#include "base/path.h"
#include "cmd/verifying.h"
#include "plan/alias.h"
#include "plan/command.h"
#include "plan/view.h"
#include "run/hold.h"
#include "run/host.h"
#include "run/stdio.h"
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Descriptors that a run needs besides one for each source. */
#define SPARE_FDS 64

/* How often the host may change while the sandbox is made. */
#define MAX_ATTEMPTS 5

/* What stands at N of --pass-fd now is the caller's: nothing of ours is open yet. */
static int check_fds(const struct options *options, struct err *err)
{
	for (size_t i = 0; i < options->n_pass_fds; i++) {
		CLEANUP_FREE char *what = xasprintf("--pass-fd %d", options->pass_fds[i]);

		if (stdio_check(options->pass_fds[i], what, err) < 0) {
			err->kind = ERR_USAGE;
			return -1;
		}
	}
	return 0;
}

static int open_output(struct exec *e, struct err *err)
{
	const char *dir = e->options.output_dir;
	CLEANUP_FREE char *what = dir ? xasprintf("--output-dir %s", dir) : NULL;

	for (int i = 0; dir && i < 2; i++) {
		CLEANUP_FREE char *place = path_join(dir, i ? "stderr" : "stdout");

		if (newfile_open(&e->output[i], place, what, err) < 0)
			return -1;
	}
	return 0;
}

static int check_command_line(struct exec *e, struct err *err)
{
	const struct options *options = &e->options;
	int fds = check_fds(options, err);
	struct err report_err;

	/* Also when the fds are wrong: the report says so. */
	if (options->report &&
		report_open(&e->report, options->report, options->pass_fds, options->n_pass_fds,
			&report_err) < 0 &&
		fds == 0) {
		*err = report_err;
		return -1;
	}
	if (fds < 0 || open_output(e, err) < 0)
		return -1;
	if (options->n_command == 0) {
		err_set(err, ERR_USAGE, "no command");
		return err_hint(err, "usage: sbx-exec [OPTION...] [--] COMMAND [ARGUMENT...]");
	}
	return 0;
}

int exec_find_bwrap(struct exec *e, struct err *err)
{
	if (probe_find_bwrap(
		    e->options.bwrap, getenv("SBX_BWRAP"), getenv("PATH"), &e->bwrap, err) < 0)
		return -1;
	e->request = (struct probe_request){.bwrap = e->bwrap,
		.runtime_dir = getenv("XDG_RUNTIME_DIR"),
		.uid = geteuid(),
		.gid = getegid()};
	return 0;
}

static int probe_host(struct exec *e, struct err *err)
{
	struct probe_needs needs = prepare_needs(&e->prepared);

	if (exec_find_bwrap(e, err) < 0)
		return -1;
	e->request.uid = e->prepared.identity.uid;
	e->request.gid = e->prepared.identity.gid;
	return probe_for(&e->probe, &e->request, &needs, &e->notes, err);
}

/* Whether the plan lets the command write a host directory by this name. */
static bool lets_write_name(const struct exec *e, const char *dir)
{
	const struct plan *plan = &e->prepared.plan;

	for (size_t i = 0; i < plan->n; i++) {
		const struct op *op = &plan->ops[i];
		struct view_object object = {0};
		bool writable;

		if ((op->kind != OP_BIND_WRITE && op->kind != OP_DEV_BIND) ||
			!path_within(dir, op->source))
			continue;
		CLEANUP_FREE char *inside = path_join(op->dest, path_below(dir, op->source));

		writable = view_lookup(plan, e->prepared.tree, inside, &object) == 0 &&
			   object.access == ACCESS_WRITE && object.host &&
			   strcmp(object.host, dir) == 0;
		view_object_clear(&object);
		if (writable)
			return true;
	}
	return false;
}

/* Whether the plan lets the command write a host directory, by any name in the host's mount
 * table. */
static bool lets_write(const struct exec *e, const char *dir)
{
	CLEANUP_STRVEC struct strvec names = {0};
	bool writable = false;

	strvec_push(&names, dir);
	find_aliases(e->prepared.tree, dir, &names);
	for (size_t i = 0; i < names.n; i++)
		writable = writable || lets_write_name(e, names.v[i]);
	return writable;
}

/* Whether the command could write where the file of an option is to stand. */
static int check_place(
	const struct exec *e, const char *option, const char *arg, const char *dir, struct err *err)
{
	if (!dir || !lets_write(e, dir))
		return 0;
	err_set(err, ERR_PLAN, "%s %s: the command could write there", option, arg);
	return err_hint(err, "choose a place that the policy does not make writable");
}

/* What the command could replace must not be trusted: the places of the report and of the output,
 * and the bwrap of the next run. */
static int check_places(struct exec *e, struct err *err)
{
	const struct options *options = &e->options;
	CLEANUP_FREE char *bwrap_dir = path_parent(e->bwrap);

	if (lets_write(e, bwrap_dir)) {
		err_set(err, ERR_PLAN, "the command could replace %s", e->bwrap);
		return err_hint(err,
			"use a bwrap elsewhere (--bwrap PATH), or take its directory out "
			"of what is writable");
	}
	if (check_place(e, "--report", options->report, e->report.path, err) < 0) {
		newfile_close(&e->report);
		return -1;
	}
	for (int i = 0; i < 2; i++)
		if (check_place(e, "--output-dir", options->output_dir, e->output[i].path, err) < 0)
			return -1;
	return 0;
}

/* bwrap could only say in its own words what it misses. */
static int check_nodes(const struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->ops[i].kind == OP_DEV)
			return host_check_nodes(HOST_NODES, err);
	return 0;
}

static rlim_t fd_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

static int make_plan(struct exec *e, struct err *err)
{
	struct prepared *p = &e->prepared;
	struct bwrap_options bwrap = {.hostname = e->probe.hostname,
		.disable_userns = e->probe.disable_userns,
		.new_session = e->tty.master < 0,
		.label = p->identity.label,
		.uid = p->identity.shown_uid,
		.gid = p->identity.shown_gid,
		.env = &p->env};
	bool nests = prepare_nests(p, e->probe.disable_userns);

	prepare_bwrap_filter(p, &bwrap);
	if (prepare_plan(p, prepare_proc(e->probe.proc), false, err) < 0 ||
		prepare_required(p, nests, err) < 0)
		return -1;
	if (e->options.strict && prepare_strict(p, e->tool, nests, err) < 0)
		return -1;
	if (check_places(e, err) < 0 || check_nodes(&p->plan, err) < 0)
		return -1;
	bwrap.bind_fd = e->probe.bind_fd && p->plan.n + SPARE_FDS < fd_limit();
	return bwrap_spell(&e->words, &p->plan, &p->policy, &bwrap, e->options.n_command, err);
}

static int file_in_memory(const struct bwrap_source *file)
{
	int fd = memfd_create("sbx-file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error;

	if (fd < 0)
		return -errno;
	error = write_all(fd, file->data, file->len);
	if (error == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
		fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) ==
			0)
		return fd;
	close(fd);
	return error ? error : -EIO;
}

/* Whether what was planned is still at a host path. */
static bool stays(const struct exec *e, const char *path)
{
	int fd = tree_live_open(e->prepared.tree, path);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Whether the covered sockets are still there: bwrap cannot mount over a name that is gone, and
 * sockets come and go more than files do. */
static bool sockets_stay(const struct exec *e)
{
	const struct plan *plan = &e->prepared.plan;

	for (size_t i = 0; i < plan->n; i++)
		if (plan->ops[i].why->socket && !stays(e, plan->ops[i].why->path))
			return false;
	return true;
}

/* Whether what bwrap binds is: an open descriptor does not keep a name. */
static bool sources_stay(const struct exec *e)
{
	for (size_t i = 0; i < e->words.n_sources; i++)
		if (e->words.sources[i].path && !stays(e, e->words.sources[i].path))
			return false;
	return true;
}

/* Opens what words stand for, makes sure that each source is still what was planned, and lists what
 * stays open. 0, 1 when something changed since, or -1 with an error. */
static int open_sources(struct exec *e, struct err *err)
{
	const struct options *options = &e->options;

	e->fds = xreallocarray(e->fds, options->n_pass_fds + e->words.n_sources, sizeof(*e->fds));
	e->n_fds = 0;
	for (size_t i = 0; i < options->n_pass_fds; i++)
		e->fds[e->n_fds++] = options->pass_fds[i];
	for (size_t i = 0; i < e->words.n_sources; i++) {
		const struct bwrap_source *source = &e->words.sources[i];
		int fd = source->path ? tree_live_open(e->prepared.tree, source->path)
				      : file_in_memory(source);

		if (fd == -ESTALE || fd == -ENOENT || fd == -ENOTDIR)
			return 1;
		if (fd < 0)
			return err_set(err, ERR_SETUP, "cannot open %s: %s",
				source->path ? source->path : "a file in memory", strerror(-fd));
		if (!source->fd) {
			close(fd);
			continue;
		}
		e->fds[e->n_fds++] = fd;
		free(e->words.words.v[source->word]);
		e->words.words.v[source->word] = xasprintf("%d", fd);
	}
	return sockets_stay(e) ? 0 : 1;
}

static void close_sources(struct exec *e)
{
	for (size_t i = e->options.n_pass_fds; i < e->n_fds; i++)
		close(e->fds[i]);
	e->n_fds = 0;
}

static void forget_plan(struct exec *e)
{
	close_sources(e);
	bwrap_words_clear(&e->words);
	prepared_plan_clear(&e->prepared);
	watching_clear(&e->watch);
	table_clear(&e->table);
}

/* What the kernel keeps from being exceeded, or a look at it. */
static void say_limits(struct exec *e)
{
	const struct limits *l = &e->limits;

	for (int i = 0; i < LIMITS; i++) {
		CLEANUP_FREE char *value =
			xasprintf("%" PRIu64 "%s", l->asked.values[i], i == LIMIT_CPU ? "ms" : "");

		if (l->asked.values[i] || i == LIMIT_CORE)
			run_enforce(
				&e->result, limit_name((enum limit)i), value, l->by[i], l->by[i]);
		if (l->why[i])
			strvec_pushf(&e->result.notes, "limits.%s is not enforced: %s",
				limit_name((enum limit)i), l->why[i]);
	}
}

/* What the command can fill with memory, and how far. */
static void say_sizes(struct exec *e)
{
	const struct plan *plan = &e->prepared.plan;
	CLEANUP_STRVEC struct strvec sizes = {0};

	for (size_t i = 0; i < plan->n; i++)
		if (plan->ops[i].kind == OP_TMPFS && plan->ops[i].size)
			strvec_pushf(&sizes, "%s %" PRIu64, plan->ops[i].dest, plan->ops[i].size);
	if (sizes.n) {
		CLEANUP_FREE char *text = strvec_join(&sizes, ", ");

		run_enforce(&e->result, "tmpfs", text, true, "tmpfs size");
	}
}

static void say_what_holds(struct exec *e)
{
	const struct policy *policy = &e->prepared.policy;
	bool isolated = policy->network == NETWORK_NONE;
	const struct filtering *filter = &e->prepared.filter;
	struct run_result *result = &e->result;

	run_enforce(result, "filesystem", "policy", true, "mounts");
	/* Or there is no run. */
	if (e->table.n)
		run_enforce(result, "verify", "mounts", true, "mount table");
	run_enforce(result, "network", isolated ? "none" : "host", isolated,
		isolated ? "network namespace" : NULL);
	if (policy->user.kind != USER_CALLER) {
		const struct identity *id = &e->prepared.identity;
		CLEANUP_FREE char *user = xasprintf("%u:%u", id->shown_uid, id->shown_gid);

		run_enforce(result, "user", user, !id->label, id->label ? NULL : "user id");
	}
	if (!policy->nested_userns)
		run_enforce(result, "nested_userns", "none",
			!prepare_nests(&e->prepared, e->probe.disable_userns),
			e->probe.disable_userns           ? "user namespace limit"
			: filtering_closes_userns(filter) ? "seccomp filter"
							  : NULL);
	run_enforce(result, "seccomp", filter_profile_name(filter->spec.profile), filter->on,
		filter->on ? "seccomp filter" : NULL);
	if (!filter->on && filter_needed(&filter->spec))
		strvec_push(&result->notes,
			"system calls are not filtered: this kernel, or a filter around sbx-exec, "
			"takes no filter (prctl PR_SET_SECCOMP)");
	if (policy->limits.wall_ms) {
		CLEANUP_FREE char *wall = xasprintf("%" PRIu64 "ms", policy->limits.wall_ms);

		run_enforce(result, "wall", wall, true, "supervisor");
	}
	if (policy->limits.output) {
		CLEANUP_FREE char *output = xasprintf("%" PRIu64 ", %s", policy->limits.output,
			policy->limits.output_kill ? "kill" : "drop");

		run_enforce(result, "output", output, true, "supervisor");
	}
	say_limits(e);
	say_sizes(e);
}

/* Whether all that the policy requires is held; what a plan alone decides is not asked here
 * (prepare_required). */
static int check_required(const struct exec *e, struct err *err)
{
	for (size_t i = 0; i < e->result.n_enforcement; i++) {
		const struct enforcement *held = &e->result.enforcement[i];
		const char *where = policy_requires(&e->prepared.policy, held->name);

		if (!where || held->enforced)
			continue;
		err_set(err, ERR_PROBE,
			"nothing can enforce \"%s\" here, which the policy requires", held->name);
		err_hint(err,
			"sbx-exec --probe says what is missing, and what helps; or take \"%s\" out "
			"of \"require\"",
			held->name);
		return err_at(err, "%s", where);
	}
	return 0;
}

/* The kernel takes no longer string than 32 pages (MAX_ARG_STRLEN), and together with the
 * pointers a quarter of the stack's limit; bwrap could only say so in its own words. */
static int check_sizes(const struct exec *e, struct err *err)
{
	const size_t longest = 32UL * 4096;
	struct rlimit stack;
	size_t total = 0;

	for (size_t i = 0; i < e->prepared.env.n; i++) {
		const char *variable = e->prepared.env.v[i];

		total += strlen(variable) + 1 + sizeof(char *);
		if (strlen(variable) < longest)
			continue;
		err_set(err, ERR_NOT_EXECUTABLE, "the variable %.*s is too long: %zu bytes",
			(int)strcspn(variable, "="), variable, strlen(variable));
		return err_hint(err,
			"a variable holds at most %zu bytes with its name: hand it over in a "
			"file",
			longest - 1);
	}
	for (size_t i = 0; i < e->options.n_command; i++)
		total += strlen(e->options.command[i]) + 1 + sizeof(char *);
	if (getrlimit(RLIMIT_STACK, &stack) < 0 || total < stack.rlim_cur / 4)
		return 0;
	err_set(err, ERR_NOT_EXECUTABLE,
		"the command's words and variables are too long: %zu bytes", total);
	return err_hint(
		err, "at most a quarter of the stack's limit (ulimit -s) may be used for them");
}

/* Plans, and looks the command up. */
static int plan_command(struct exec *e, enum run_phase *phase, struct err *err)
{
	*phase = PHASE_PLAN;
	if (make_plan(e, err) < 0)
		return -1;
	/* bwrap will search as this does; what is not to be found is known before anything runs. */
	*phase = PHASE_EXEC;
	if (command_check(&e->prepared.plan, e->prepared.tree, e->options.command[0],
		    strvec_argv(&e->prepared.env), err) < 0)
		return -1;
	return check_sizes(e, err);
}

/* Plans, and opens the sources of the plan; anew when the host changed in between. */
static int plan_and_open(struct exec *e, enum run_phase *phase, struct err *err)
{
	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
		int rc = plan_command(e, phase, err);

		/* Also when it failed: that may be what it failed by. */
		if ((e->prepared.tree && tree_live_check(e->prepared.tree, err) < 0) || rc < 0)
			return -1;
		*phase = PHASE_SETUP;
		rc = open_sources(e, err);
		if (rc <= 0)
			return rc;
		forget_plan(e);
	}
	err_set(err, ERR_PLAN, "the files of the plan change faster than it can be carried out");
	return err_hint(err, "try again when whatever replaces them is done");
}

static struct run_limits limits_of(const struct exec *e)
{
	const struct policy *policy = &e->prepared.policy;
	const struct policy_limits *l = &policy->limits;

	return (struct run_limits){
		.values =
			{
				[LIMIT_CPU] = l->cpu_ms,
				[LIMIT_MEMORY] = l->memory,
				[LIMIT_PROCESSES] = l->processes,
				[LIMIT_FILE_SIZE] = l->file_size,
				[LIMIT_OPEN_FILES] = l->open_files,
				[LIMIT_CORE] = l->core,
			},
		.manage = policy->cgroup_manage,
		.reaches_cgroups = e->prepared.identity.uid == 0 &&
				   (prepare_nests(&e->prepared, e->probe.disable_userns) ||
					   policy->capabilities.n),
	};
}

/* bwrap sets the filter last of all, and cannot tell whether it was that or the command that failed. */
static void explain_filter(struct exec *e)
{
	const struct filtering *filter = &e->prepared.filter;
	struct err err;

	if (e->result.outcome != OUTCOME_NOT_EXECUTABLE || !filter->on ||
		filter_loads(&filter->program))
		return;
	err_set(&err, ERR_SETUP, "the system call filter cannot be set: nothing was run");
	err_hint(&err, "there may be too many filters around sbx-exec, or one that forbids more of "
		       "them");
	run_refuse(&e->result, PHASE_SETUP, &err);
}

/* One run from the plan on. */
static int attempt(struct exec *e, enum run_phase *phase, struct err *err)
{
	const struct policy *policy = &e->prepared.policy;
	struct run_limits limits;
	CLEANUP_STRVEC struct strvec repositories = {0};
	size_t n_entries;
	struct run_spec spec;

	if (plan_and_open(e, phase, err) < 0)
		return -1;
	for (size_t i = 0; i < e->prepared.plan.notes.n; i++)
		strvec_push(&e->result.notes, e->prepared.plan.notes.v[i]);
	*phase = PHASE_PROBE;
	limits_close(&e->limits, &e->result.notes);
	limits = limits_of(e);
	limits_open(&e->limits, &limits, e->prepared.identity.uid, &e->result.notes);
	if (verifying_needed(&e->prepared))
		verifying_make(&e->table, &e->prepared, e->bwrap, e->probe.outer);
	say_what_holds(e);
	if (check_required(e, err) < 0)
		return -1;
	*phase = PHASE_SETUP;
	watching_make(&e->watch, &e->prepared);
	spec = (struct run_spec){
		.bwrap = e->bwrap,
		.words = &e->words.words,
		.command = e->options.command,
		.watch = &e->watch,
		.table = e->table.n ? &e->table : NULL,
		.keep = e->fds,
		.n_keep = e->n_fds,
		.uid = e->prepared.identity.uid,
		.gid = e->prepared.identity.gid,
		.outer = e->probe.outer,
		.slave = policy->propagation == PROPAGATION_SLAVE,
		.tty = &e->tty,
		.direct = policy->stdio == STDIO_DIRECT,
		.output = {.capture = e->options.capture,
			.files = e->options.output_dir ? e->output : NULL,
			.sink = e->sink,
			.limit = policy->limits.output,
			.kill = policy->limits.output_kill},
		.wall_ms = policy->limits.wall_ms,
		.limits = &e->limits,
		.started = e->started,
		.started_arg = e->started_arg,
		.progress = e->options.progress && isatty(STDERR_FILENO) &&
			    (e->options.capture || e->options.output_dir),
	};
	if (find_repositories(&e->prepared, &repositories, &n_entries, err) < 0 ||
		tree_live_check(e->prepared.tree, err) < 0)
		return -1;
	run_supervised(&spec, &e->result);
	explain_filter(e);
	if (e->result.phase == PHASE_RUN)
		note_repositories(&e->prepared, &repositories, n_entries, &e->result.notes);
	if (e->result.outcome == OUTCOME_SETUP_FAILED && e->probe.kept) {
		probe_forget(&e->request);
		strvec_push(&e->result.notes,
			"what was known of this host may have changed: the next run asks anew");
	}
	return 0;
}

/* Whether the command is to have a terminal: asked for, or the caller sees its output on one. */
static bool wants_tty(const struct exec *e)
{
	const struct options *o = &e->options;

	if (e->sink || o->tty != TTY_AUTO)
		return !e->sink && o->tty == TTY_ALWAYS;
	return isatty(STDOUT_FILENO) && !o->capture && !o->output_dir &&
	       !e->prepared.policy.limits.output;
}

/* Makes the command's terminal. One that was not asked for is left out where it cannot be had. */
static int open_tty(struct exec *e, struct err *err)
{
	int error;

	tty_find(&e->tty);
	if (!wants_tty(e))
		return 0;
	if (e->probe.outer != OUTER_ALL)
		err_set(err, ERR_PROBE,
			"the command cannot have a terminal: there is no process "
			"namespace around bwrap");
	else if ((error = hold_try_tty()) < 0)
		err_set(err, ERR_PROBE, "the command cannot have a terminal (ptrace): %s",
			strerror(-error));
	else if (tty_open(&e->tty, e->prepared.identity.uid, e->prepared.identity.gid, err) == 0)
		return 0;
	if (e->options.tty == TTY_ALWAYS)
		return err_hint(err, "leave out --tty: it then sees pipes");
	strvec_pushf(&e->notes, "%s: it sees pipes", err->message);
	return 0;
}

static int run(struct exec *e, enum run_phase *phase, struct err *err)
{
	int rc;

	*phase = PHASE_POLICY;
	if (check_command_line(e, err) < 0 || prepare_policy(&e->prepared, &e->options, err) < 0)
		return -1;
	*phase = PHASE_SETUP;
	if (filtering_make(&e->prepared.filter, err) < 0)
		return -1;
	*phase = PHASE_PROBE;
	rc = probe_host(e, err);
	if (rc == 0)
		rc = open_tty(e, err);
	for (int left = MAX_ATTEMPTS;; left--) {
		for (size_t i = 0; i < e->notes.n; i++)
			strvec_push(&e->result.notes, e->notes.v[i]);
		if (rc == 0)
			rc = attempt(e, phase, err);
		if (rc < 0 || e->result.outcome != OUTCOME_SETUP_FAILED || left == 1 ||
			(sockets_stay(e) && sources_stay(e) &&
				tree_live_mounts_stay(e->prepared.tree)))
			return rc;
		forget_plan(e);
		run_result_clear(&e->result);
		e->result = (struct run_result)RUN_RESULT_INIT;
		strvec_push(&e->notes,
			"made anew: a file, socket or mount of the host changed while the sandbox "
			"was made (bwrap's message is about that)");
	}
}

void exec_run(struct exec *e)
{
	enum run_phase phase = PHASE_POLICY;
	struct err err;

	if (run(e, &phase, &err) < 0)
		run_refuse(&e->result, phase, &err);
}

static void print_summary(const struct exec *e)
{
	CLEANUP_FREE char *text = report_summary(&e->result);

	fprintf(stderr, "%s: ", e->tool);
	print_escaped(stderr, text);
	fputc('\n', stderr);
}

int exec_conclude(struct exec *e)
{
	struct err err;

	limits_close(&e->limits, &e->result.notes);
	prepare_end_leases(&e->prepared, &e->result.notes);
	if (e->result.err.kind == ERR_SETUP && !*e->result.err.hint)
		probe_explain(&e->result.err, &e->request);
	for (size_t i = 0; i < e->result.n_violations; i++) {
		const struct violation *v = &e->result.violations[i];

		err_set(&err, ERR_SYSTEM, "%s", v->message);
		err_hint(&err, "%s", v->hint);
		err_at(&err, "%s", v->rule);
		print_err(e->tool, &err);
	}
	if (e->options.strict && e->result.n_violations)
		e->result.exit_code = 125;
	if (e->result.err.kind != ERR_NONE)
		print_err(e->tool, &e->result.err);
	if (e->options.summary)
		print_summary(e);
	if (e->report.fd >= 0 && report_write(&e->report, &e->result, &err) < 0)
		print_err(e->tool, &err);
	return e->result.exit_code;
}

void exec_clear(struct exec *e)
{
	tty_hang_up(&e->tty);
	newfile_close(&e->report);
	newfile_close(&e->output[0]);
	newfile_close(&e->output[1]);
	run_result_clear(&e->result);
	strvec_clear(&e->notes);
	bwrap_words_clear(&e->words);
	watching_clear(&e->watch);
	table_clear(&e->table);
	free(e->fds);
	free(e->bwrap);
	prepared_clear(&e->prepared);
	options_clear(&e->options);
}
