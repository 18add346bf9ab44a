/*
 * sbx-exec: runs a command in the sandbox that a policy describes, and says how it went.
 */
#include "cmd/execute.h"
#include "cmd/features.h"
#include "run/stdio.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const char tool[] = "sbx-exec";

/* --probe: asks anew, and prints the answer; the exit status. */
static int print_probe(struct exec *e)
{
	/* What a run under the policy "default" needs. */
	const struct probe_needs needs = {.fresh = true,
		.bind = true,
		.disable_userns = true,
		.filtered = filter_works(),
		.network = true};
	/* Any that a run could have. */
	static const struct run_limits limits = {.values = {[LIMIT_CPU] = 1000,
							 [LIMIT_MEMORY] = 1U << 30,
							 [LIMIT_PROCESSES] = 1000,
							 [LIMIT_FILE_SIZE] = 1U << 30,
							 [LIMIT_OPEN_FILES] = 1000}};
	struct features f = {.limits = &e->limits, .notes = &e->result.notes};
	struct probe probe;
	struct err err;

	if (exec_find_bwrap(e, &err) == 0 &&
		probe_run(&probe, &e->request, &e->result.notes, &err) == 0)
		f.probe = &probe;
	if (!f.probe || probe_choose(&e->probe, &probe, &needs, &e->result.notes, &err) < 0)
		f.err = &err;
	f.bwrap = e->bwrap;
	f.proc = f.err ? PROBE_PROC_NONE : e->probe.proc;
	limits_open(&e->limits, &limits, geteuid(), &e->result.notes);
	features_print(&f, e->options.output == OUTPUT_JSON || !isatty(STDOUT_FILENO));
	if (f.err)
		print_err(tool, f.err);
	limits_close(&e->limits, &e->result.notes);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return f.err ? 125 : 0;
	err_set(&err, ERR_SYSTEM, "cannot write to standard output");
	print_err(tool, &err);
	return 125;
}

int main(int argc, char **argv)
{
	struct exec e = {.tool = tool, EXEC_INIT};
	struct err err = {0};
	int rc = stdio_reserve(&err);

	/* A write then fails instead: into a pipe that nobody reads, or beyond the limit of file
	 * sizes, which counts in memory too. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* Ignored, as a caller may have left it, nothing would tell of a child's end. */
	signal(SIGCHLD, SIG_DFL);
	if (rc == 0)
		rc = options_parse(&e.options, TOOL_EXEC, argc, argv, &err);
	if (rc == 0 && e.options.probe) {
		rc = print_probe(&e);
	} else if (rc > 0) {
		rc = 0;
	} else {
		if (rc == 0)
			exec_run(&e);
		else
			run_refuse(&e.result, PHASE_POLICY, &err);
		rc = exec_conclude(&e);
	}
	exec_clear(&e);
	return rc;
}
