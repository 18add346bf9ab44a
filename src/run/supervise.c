/*
 * Theory of operation.
 *
 * The processes: sbx-exec (here) -> the shim (pid 1 of the outer pid namespace) -> bwrap -> bwrap's
 * child (pid 1 of the sandbox; leader of a session and process group of its own) -> the command, in
 * that group. One poll loop sees everything: the shim's pidfd, a signalfd, bwrap's status pipe, the
 * pumps (run/stdio.h), what is watched (run/watch.h), and a timeout to the next deadline.
 *
 * What ends a run. The first cause wins and is never replaced:
 *  - the command ends: bwrap writes {"exit-code": N} on the status pipe. The shim is killed at
 *    once, and with it whatever the command left in the background; nobody waits for pipes that
 *    strays hold.
 *  - the wall limit, and the limit of output where it is to end the run: TERM to the command's
 *    group, a grace of a second, then KILL of everything.
 *  - the limit of processor time: the same with XCPU, as where the kernel holds it for each process.
 *  - the limit of memory, where it is held by looking: KILL of everything at once, as the kernel
 *    does. Where looking fails, too: the limit is not held any more, and the run is "lost".
 *  - TERM or HUP to sbx-exec: the same with that signal. The outcome is "cancelled" and the exit
 *    code 128+n, whatever the command makes of the signal.
 *  - a cover is lost (run/watch.h): everything is killed at once. The outcome is "violation", also
 *    when it is seen only after the command's own end.
 *  - INT or QUIT (a terminal's keys): passed on, and the run goes on, as an interpreter at its
 *    prompt does. It counts as cancelled when the command then ends with 128+n. A second INT within
 *    the grace kills.
 * Killing is the shim's work. It can be stopped by the user that it runs as, on the host; so what is
 * not done in five seconds is done without it.
 * A cause that comes before the command was let go (see "hold") kills at once: there is nobody to
 * ask.
 *
 * How a run ended is judged by facts alone, never by bwrap's messages:
 *  - exit-code 0..255: the command was executed and ended so. Another number: a process inside has
 *    written to the eventfd of the sandbox's pid 1, which it may trace; the outcome is "lost". What
 *    it ended by may have been a limit that the kernel holds: see limits_judge.
 *  - no exit-code, bwrap ended by a signal, the byte of --block-fd taken: "lost".
 *  - no exit-code, bwrap ended by itself, the byte of --block-fd taken: all mounts were made, and
 *    executing the command failed. No process inside can make it look so: the descriptors on which
 *    bwrap learns of the exec are closed by it, and in pid 1 before it (run/hold.h). Where pid 1 was
 *    seen to end without a fork it was that which failed, a part of the set-up.
 *  - the byte not taken: the set-up failed.
 *
 * The hold. bwrap's child reads a byte from --block-fd after all mounts are made and before it
 * executes the command. What has to be done from outside (run/hold.h) is done when bwrap reports
 * the child's pid; then the byte is sent.
 *
 * Signals go to the command's group, never to bwrap. The group's leader is, without a pty, the
 * sandbox's pid 1, protected by the kernel from all but KILL and STOP. Its pid here is found as the
 * child of bwrap (what bwrap reports is a pid of the outer namespace). TSTP is passed on as STOP: the
 * group is an orphaned one, in which the kernel drops TSTP.
 *
 * With a pty (run/tty.h) the shim leads a session of its own, whose terminal that is; bwrap and the
 * sandbox's pid 1 are a group of it, and the command leads another, in the foreground, as a shell's job.
 * What keys are to signal, the kernel does there. When the command has stopped, this process does
 * too, with its own job, as a shell expects; as nobody holds the limits then, all processes inside
 * are stopped meanwhile.
 */
#include "run/supervise.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/open.h"
#include "base/read.h"
#include "run/launch.h"
#include "run/procs.h"
#include "run/progress.h"
#include "run/stdio.h"
#include "run/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS 1000
/* How long making the mounts may take: so long, and so much for each. */
#define HOLD_MS 30000
#define HOLD_MOUNT_MS 100
#define TTY_STEP_MS 100
/* How long killing may take: long, for thousands of processes on a loaded machine. */
#define SWEEP_MS 5000
#define NEVER INT64_MAX

enum exit_state { EXIT_UNKNOWN, EXIT_KNOWN, EXIT_ODD };

struct run {
	const struct run_spec *spec;
	struct run_result *result;
	struct stdio io;
	struct child child;
	int signal_fd;
	char status[1024]; /* an unfinished line of bwrap's status */
	size_t status_len;
	long child_pid; /* as bwrap says it; 0 = not yet */
	bool pty;       /* the command has one, and a group of its own */
	enum exit_state exit_state;
	int exit_code;
	pid_t command;          /* its first process, by its pid here; 0: pid 1 ended without having
				   made it; negative: not known */
	struct err err;         /* with SETUP_FAILED and LOST: why */
	struct watch *watch;    /* from the hold on; NULL: there is nothing to watch */
	bool ending;            /* a cause to end has been decided */
	enum run_outcome cause; /* COMPLETED: the command, or bwrap, has ended by itself */
	bool executed;          /* spec->started was called, if there is one */
	int64_t grace;          /* between asking the command to end and killing all, ms */
	int cancelled;          /* with CANCELLED: the signal */
	int keyed;              /* INT or QUIT that was passed on last */
	int64_t keyed_at;
	int passed;         /* the last signal that was passed on and can end the command */
	pid_t init;         /* the sandbox's pid 1, by its pid here; 0 = not known yet */
	int64_t hold_until; /* by then all mounts have to be made */
	/* CLOCK_MONOTONIC, ms; NEVER */
	int64_t start, wall_at, kill_at, sweep_until, watch_at, progress_at, tty_at;
};

static int64_t now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

/* A child of parent, or 0. */
static pid_t child_of(pid_t parent)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/task/%d/children", (int)parent, (int)parent);
	char text[64];

	return read_text(AT_FDCWD, path, text, sizeof(text)) > 0 ? (pid_t)strtol(text, NULL, 10)
								 : 0;
}

/* The sandbox's pid 1, by the pid that it has here; 0 = none. */
static pid_t leader_of(struct run *run)
{
	if (!run->init && !run->child.outer) {
		run->init = (pid_t)run->child_pid;
	} else if (!run->init) {
		pid_t bwrap = child_of(run->child.pid);

		run->init = bwrap ? child_of(bwrap) : 0;
	}
	return run->init;
}

/* Sends a signal to the command's group; false when there is none yet. */
static bool signal_command(struct run *run, int sig)
{
	pid_t leader;

	if (!run->child.released || !run->child_pid)
		return false;
	leader = run->pty ? run->command : leader_of(run);
	/* Before its setsid it is still in bwrap's group. */
	if (leader <= 0 || getpgid(leader) != leader || kill(-leader, sig) < 0)
		return false;
	if (sig != SIGWINCH && sig != SIGCONT && sig != SIGSTOP)
		run->passed = sig;
	return true;
}

/* Decides why the run ends: everything is killed at once. */
static void kill_run(struct run *run, enum run_outcome cause)
{
	run->ending = true;
	run->cause = cause;
	run->kill_at = 0;
}

/* The same, but the command is asked to end first. */
static void end_run(struct run *run, enum run_outcome cause, int sig)
{
	kill_run(run, cause);
	if (signal_command(run, sig))
		run->kill_at = now_ms() + run->grace;
}

static void handle_key(struct run *run, int sig)
{
	int64_t now = now_ms();
	bool again = sig == SIGINT && run->keyed == SIGINT && now - run->keyed_at <= GRACE_MS;

	run->keyed = sig;
	run->keyed_at = now;
	if (signal_command(run, sig) && !again)
		return;
	run->cancelled = sig;
	kill_run(run, OUTCOME_CANCELLED);
}

/* TERM with a grace: that of an end that has begun is only made shorter. */
static void handle_stop(struct run *run, int grace)
{
	int64_t now = now_ms();

	run->grace = grace;
	if (run->ending && run->kill_at != NEVER && run->kill_at > now + grace)
		run->kill_at = now + grace;
}

/* Whether the command's first process is stopped. */
static bool is_stopped(struct run *run)
{
	struct proc_stat stat;

	return run->command > 0 && procs_stat(run->command, &stat) > 0 && stat.state == 'T' &&
	       stat.parent == leader_of(run);
}

/* Stops everything and this process until it is continued: at once, or as the command was, with all of
 * its job, which the kernel does not do where no shell would continue it. */
static void suspend(struct run *run, bool at_once)
{
	sigset_t set;

	launch_stop(&run->child);
	tty_restore(run->spec->tty);
	if (at_once) {
		raise(SIGSTOP);
	} else {
		sigemptyset(&set);
		sigaddset(&set, SIGTSTP);
		kill(0, SIGTSTP);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	tty_resume(run->spec->tty);
	launch_continue(&run->child);
	/* So that this stop is not taken for the next. */
	for (int i = 0; i < 1000 && is_stopped(run); i++)
		poll(NULL, 0, 1);
}

/* The caller's terminal, and whether the command has stopped, are only to be had by looking. */
static void look_at_tty(struct run *run, int64_t now)
{
	run->tty_at = now + TTY_STEP_MS;
	if (run->pty && !run->ending && is_stopped(run))
		suspend(run, false);
}

static void handle_signal(struct run *run, const struct signalfd_siginfo *info)
{
	int sig = (int)info->ssi_signo;

	if (sig == SIGTERM && info->ssi_code == SI_QUEUE && info->ssi_int >= 0)
		handle_stop(run, info->ssi_int);
	if (sig == SIGTSTP && run->pty) {
		suspend(run, true);
	} else if (sig == SIGWINCH && run->pty) {
		tty_resize(run->spec->tty);
	} else if (sig == SIGTSTP) {
		signal_command(run, SIGSTOP);
		raise(SIGSTOP);
	} else if (sig == SIGTERM || sig == SIGHUP) {
		if (run->ending)
			return;
		run->cancelled = sig;
		end_run(run, OUTCOME_CANCELLED, sig);
	} else if (sig == SIGINT || sig == SIGQUIT) {
		if (!run->ending)
			handle_key(run, sig);
		else if (sig == SIGINT)
			run->kill_at = 0;
	} else {
		if (sig == SIGCONT)
			tty_resume(run->spec->tty);
		signal_command(run, sig);
	}
}

/* What the command can fill with memory: its own file systems there. */
static void add_memory_mounts(struct run *run, int root)
{
	for (size_t i = 0; root >= 0 && i < run->spec->watch->n_mounts; i++) {
		const struct expected_mount *m = &run->spec->watch->mounts[i];
		int fd = m->object || m->read_only ? -1 : open_exact(root, m->dest + 1, O_PATH);
		struct statfs fs;

		if (fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC)
			limits_add_memory(run->spec->limits, fd);
		else if (fd >= 0)
			close(fd);
	}
}

/* Compares the mounts, sets the limits and lets the command go; 0 or -1. */
static int release(struct run *run, pid_t init, int root, struct err *err)
{
	const struct watch_spec *watch = run->spec->watch;
	struct strvec *notes = &run->result->notes;
	int attached;

	if (root >= 0)
		run->watch = watch_open(watch, init, root);
	if (root >= 0 && hold_verify_names(watch->mounts, watch->n_mounts, watch->user, err) < 0)
		return -1;
	if (root >= 0 && hold_verify(root, watch->mounts, watch->n_mounts, err) < 0)
		return -1;
	if (limits_bind(run->spec->limits, init, err) < 0)
		return -1;
	add_memory_mounts(run, root);
	if (root == -EACCES || root == -EPERM)
		strvec_push(notes,
			"the sandbox's mounts could not be compared with the plan from "
			"outside; neither they nor names that are not there are watched");
	attached = hold_attach(init);
	if (attached < 0 && attached != -ESRCH && run->pty)
		return err_set(err, ERR_SETUP,
			"the command cannot be given its terminal (ptrace): %s",
			strerror(-attached));
	if (attached < 0 && attached != -ESRCH && run->spec->uid == 0) {
		err_set(err, ERR_SETUP, "the command's start cannot be watched (ptrace): %s",
			strerror(-attached));
		return err_hint(err,
			"allow root ptrace (kernel.yama.ptrace_scope below 3, no seccomp "
			"filter against it, no tracer around sbx-exec), or run it as an "
			"ordinary user (--user)");
	}
	if (attached < 0 && attached != -ESRCH)
		strvec_pushf(notes,
			"the command's start cannot be watched (ptrace: %s): for a moment it can "
			"see the processes around the sandbox, and make itself look not executed",
			strerror(-attached));
	tty_look(run->spec->tty);
	launch_release(&run->child);
	run->watch_at = run->watch ? now_ms() + WATCH_DELAY_MS : NEVER;
	if (run->spec->tty->terminal >= 0)
		run->tty_at = now_ms();
	return attached < 0 ? 0 : hold_gate(init, run->pty, &run->command, err);
}

static int err_unsealed(struct err *err)
{
	err_set(err, ERR_SETUP,
		"the sandbox is not what was planned: /: it is not a read-only file system of its "
		"own");
	return err_hint(err, "bwrap did something else than it was told, or takes too long: "
			     "nothing was run");
}

/* The hold: looks whether all is mounted, and goes on when it is. */
static void hold(struct run *run)
{
	pid_t init = leader_of(run);
	/* Asked first: what is then seen does not change any more. */
	bool last = now_ms() >= run->hold_until || (init > 0 && hold_is_done(init));
	CLEANUP_CLOSE int root = init > 0 ? hold_root(init) : -EAGAIN;
	int rc = 0;

	/* Gone, it has failed: the end of bwrap will tell. */
	if (root == -ENOENT || root == -ESRCH || (root == -EAGAIN && !last))
		return;
	if (root == -EAGAIN)
		rc = err_unsealed(&run->err);
	else if (run->spec->table)
		rc = hold_compare(init, run->spec->table, &run->err);
	if (rc < 0 && !last)
		return;
	if (rc < 0 || release(run, init, root, &run->err) < 0)
		kill_run(run, OUTCOME_SETUP_FAILED);
}

static void tell_started(struct run *run)
{
	run->executed = true;
	run->spec->started(run->spec->started_arg);
}

/* Whether somebody waits to be told that the command has been executed. */
static bool is_awaited(const struct run *run)
{
	return run->spec->started && run->child.released && !run->executed && !run->ending;
}

static void look_started(struct run *run)
{
	pid_t init = leader_of(run), command = init > 0 ? child_of(init) : 0;
	struct proc_stat stat;

	if (command && procs_stat(command, &stat) > 0 && stat.executed)
		tell_started(run);
}

static bool is_holding(const struct run *run)
{
	return run->child_pid && !run->child.released && !run->ending;
}

/* One line of bwrap's status: {"child-pid": N, ...} or {"exit-code": N}. */
static void handle_status(struct run *run, const char *line, size_t len)
{
	struct err ignored;
	CLEANUP_JSON json *doc = json_read(line, len, &ignored);
	const json *pid = doc ? json_get(doc, "child-pid") : NULL;
	const json *code = doc ? json_get(doc, "exit-code") : NULL;

	if (pid && json_type(pid) == JSON_NUMBER) {
		run->child_pid = (long)json_number(pid);
		run->hold_until =
			now_ms() + HOLD_MS + HOLD_MOUNT_MS * (int64_t)run->spec->watch->n_mounts;
	}
	if (code && json_type(code) == JSON_NUMBER) {
		double n = json_number(code);

		run->exit_state = n >= 0 && n <= 255 ? EXIT_KNOWN : EXIT_ODD;
		run->exit_code = run->exit_state == EXIT_KNOWN ? (int)n : -1;
		kill_run(run, run->ending ? run->cause : OUTCOME_COMPLETED);
	}
}

static void read_status(struct run *run)
{
	char *end;
	ssize_t n;

	while ((n = read(run->child.status, run->status + run->status_len,
			sizeof(run->status) - run->status_len)) > 0) {
		run->status_len += (size_t)n;
		while ((end = memchr(run->status, '\n', run->status_len))) {
			size_t line = (size_t)(end - run->status) + 1;

			handle_status(run, run->status, line);
			run->status_len -= line;
			memmove(run->status, run->status + line, run->status_len);
		}
	}
}

static void read_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signal_fd, &info, sizeof(info)) == sizeof(info))
		handle_signal(run, &info);
}

/* Looks at what the command uses. */
static void look(struct run *run, int64_t now)
{
	int hit = limits_look(run->spec->limits, now, run->child.pid, &run->err);

	if (hit < 0)
		kill_run(run, OUTCOME_LOST);
	else if (hit == LIMIT_CPU)
		end_run(run, OUTCOME_CPU, SIGXCPU);
	else if (hit == LIMIT_MEMORY)
		kill_run(run, OUTCOME_MEMORY);
}

static void act_on_watch(struct run *run, bool lost)
{
	if (lost && !run->ending)
		kill_run(run, OUTCOME_VIOLATION);
}

/* The milliseconds until a moment as poll takes them: perhaps fewer. */
static int poll_time(int64_t now, int64_t then)
{
	if (then == NEVER)
		return -1;
	then = then > now ? then - now : 0;
	return then < 3600000 ? (int)then : 3600000;
}

static void show_progress(struct run *run, int64_t now)
{
	int64_t memory, processes;

	limits_usage(run->spec->limits, run->child.pid, &memory, &processes);
	progress_show(now - run->start, memory, processes);
	run->progress_at = now + PROGRESS_STEP_MS;
}

/* Acts on deadlines; the milliseconds until the next for poll. */
static int check_time(struct run *run)
{
	int64_t now = now_ms(), next;

	if (!run->ending && now >= run->watch_at) {
		run->watch_at = NEVER;
		act_on_watch(run, watch_start(run->watch, run->result));
	}
	if (!run->ending && now >= run->wall_at)
		end_run(run, OUTCOME_TIMEOUT, SIGTERM);
	if (!run->ending && run->child.released)
		look(run, now);
	if (!run->ending && now >= run->progress_at)
		show_progress(run, now);
	if (now >= run->kill_at) {
		run->kill_at = NEVER;
		if (run->exit_state == EXIT_UNKNOWN)
			limits_measure(run->spec->limits, run->child.pid);
		launch_kill(&run->child);
		if (run->sweep_until == NEVER)
			run->sweep_until = now + SWEEP_MS;
	}
	if (now >= run->sweep_until) {
		run->sweep_until = NEVER;
		launch_kill_shim(&run->child);
	}
	if (now >= run->tty_at)
		look_at_tty(run, now);
	if (is_holding(run) || is_awaited(run))
		return 1;
	next = run->kill_at < run->tty_at ? run->kill_at : run->tty_at;
	next = run->sweep_until < next ? run->sweep_until : next;
	if (!run->ending && run->wall_at < next)
		next = run->wall_at;
	if (!run->ending && run->watch_at < next)
		next = run->watch_at;
	if (!run->ending && run->progress_at < next)
		next = run->progress_at;
	if (!run->ending && run->child.released && run->spec->limits->next < next)
		next = run->spec->limits->next;
	return poll_time(now, next);
}

/* Ends a run whose output has exceeded a limit that is to end it. */
static void check_output(struct run *run)
{
	if (!run->ending && run->spec->output.kill && stdio_exceeded(&run->io))
		end_run(run, OUTCOME_OUTPUT, SIGTERM);
}

/* Until the shim, and so everything, has ended. */
static void loop(struct run *run)
{
	struct pollfd fds[3 + WATCH_FDS + 2 * MAX_PUMPS] = {
		{.fd = run->child.pidfd, .events = POLLIN},
		{.fd = run->signal_fd, .events = POLLIN},
		{.fd = run->child.status, .events = POLLIN},
	};
	struct pollfd *const watched = &fds[3], *const pumps = &fds[3 + WATCH_FDS];

	while (!fds[0].revents) {
		/* Nothing is taken from the caller's files for a command that may never start. */
		size_t n_pumps = run->child.released ? run->io.n_pumps : 0;

		int timeout = check_time(run); /* which may change what is watched */

		watch_fds(run->watch, watched);
		if (n_pumps)
			tty_look(run->spec->tty);
		for (size_t i = 0; i < n_pumps; i++)
			pump_wait(&run->io.pumps[i], &pumps[2 * i]);
		if (poll(fds, 3 + WATCH_FDS + 2 * n_pumps, timeout) < 0)
			continue;
		for (size_t i = 0; i < n_pumps; i++)
			pump_step(&run->io, &run->io.pumps[i], &pumps[2 * i]);
		if (stdio_is_hung_up(&run->io))
			tty_hang_up(run->spec->tty);
		/* The status first: an end that has come is a cause before a signal that comes
		 * with it. */
		if (fds[2].revents)
			read_status(run);
		if (fds[2].revents & (POLLHUP | POLLERR))
			fds[2].fd = -1;
		check_output(run);
		if (fds[1].revents)
			read_signals(run);
		act_on_watch(run, watch_step(run->watch, watched, run->result));
		if (is_holding(run))
			hold(run);
		if (is_awaited(run))
			look_started(run);
	}
	read_status(run);
	if (run->spec->started && !run->executed && run->exit_state != EXIT_UNKNOWN)
		tell_started(run);
}

/* A signal that ends the run, when one has come after the command's end; else 0. */
static int last_signal(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGTERM || sig == SIGHUP || sig == SIGINT || sig == SIGQUIT)
			return sig;
		if (sig == SIGTSTP) {
			tty_restore(run->spec->tty);
			raise(SIGSTOP);
		}
	}
	return 0;
}

/* Waits until the last of the output is delivered: 0; or until a signal ends that, which is returned;
 * or a moment: -1. */
static int wait_for_readers(struct run *run, int64_t until)
{
	struct pollfd fds[1 + 2 * MAX_PUMPS] = {{.fd = run->signal_fd, .events = POLLIN}};

	while (stdio_busy(&run->io)) {
		int64_t now = now_ms();
		int sig;

		if (now >= until)
			return -1;
		for (size_t i = 0; i < run->io.n_pumps; i++)
			pump_wait(&run->io.pumps[i], &fds[1 + 2 * i]);
		if (poll(fds, 1 + 2 * run->io.n_pumps, poll_time(now, until)) < 0)
			continue;
		for (size_t i = 0; i < run->io.n_pumps; i++)
			pump_step(&run->io, &run->io.pumps[i], &fds[1 + 2 * i]);
		sig = fds[0].revents ? last_signal(run) : 0;
		if (sig)
			return sig;
	}
	return 0;
}

/* The last of the output, at the pace of those who read it: as if the command were still writing,
 * so that a deadline and a signal count. A run that was ended by one has a moment left. */
static void deliver(struct run *run)
{
	bool ended = run->cause == OUTCOME_TIMEOUT || run->cause == OUTCOME_CANCELLED;
	bool by_itself = run->cause == OUTCOME_COMPLETED && run->exit_state != EXIT_UNKNOWN;
	int given_up;

	if (!launch_taken(&run->child))
		stdio_give_back(&run->io);
	stdio_drain(&run->io);
	if (by_itself && run->spec->output.kill && stdio_exceeded(&run->io)) {
		run->cause = OUTCOME_OUTPUT;
		by_itself = false;
	}
	given_up = wait_for_readers(run, ended ? now_ms() + GRACE_MS : run->wall_at);
	if (!given_up || !by_itself)
		return;
	run->cause = given_up > 0 ? OUTCOME_CANCELLED : OUTCOME_TIMEOUT;
	if (given_up > 0)
		run->cancelled = given_up;
	strvec_pushf(&run->result->notes,
		"the command had ended by itself (exit code %d), but its output was not read",
		run->exit_code);
}

static void finish(struct run *run, enum run_outcome outcome, int exit_code)
{
	run->result->phase = run->child.released ? PHASE_RUN : PHASE_SETUP;
	run->result->outcome = outcome;
	run->result->exit_code = exit_code;
}

/* The command ended, or bwrap did, with nobody asking. */
static void judge_natural(struct run *run, const struct child_end *end)
{
	const struct output_spec *output = &run->spec->output;
	struct run_result *result = run->result;
	struct err err = {0};

	if (run->exit_state == EXIT_KNOWN) {
		bool keyed = run->keyed && run->exit_code == 128 + run->keyed;

		finish(run, keyed ? OUTCOME_CANCELLED : OUTCOME_COMPLETED, run->exit_code);
	} else if (run->exit_state == EXIT_ODD) {
		finish(run, OUTCOME_LOST, 125);
		err_set(&result->err, ERR_SYSTEM, "the command's exit code was tampered with");
	} else if (end->killed && !launch_taken(&run->child)) {
		err_set(&err, ERR_SETUP, "bwrap was ended by signal %d while it made the sandbox",
			end->status);
		err_hint(&err, "it was killed from outside, or memory ran out");
		run_refuse(result, PHASE_SETUP, &err);
	} else if (end->killed) {
		finish(run, OUTCOME_LOST, 125);
		err_set(&result->err, ERR_SYSTEM, "bwrap was ended by signal %d", end->status);
		err_hint(&result->err, "it was killed from outside, or memory ran out");
	} else if (launch_taken(&run->child) && run->passed) {
		/* It came between the command's start and its exec, which bwrap cannot tell
		 * apart. */
		finish(run, run->passed == run->keyed ? OUTCOME_CANCELLED : OUTCOME_COMPLETED,
			128 + run->passed);
	} else if (run->command == 0 && end->status == 1) {
		err_set(&err, ERR_SETUP, "the sandbox's first process cannot make the command's");
		run_refuse(result, PHASE_SETUP, &err);
	} else if (launch_taken(&run->child)) {
		err_set(&err, ERR_NOT_EXECUTABLE, "%s could not be executed in the sandbox",
			run->spec->command[0]);
		err_hint(&err, "bwrap's own message is %s",
			output->files     ? "in the file stderr"
			: output->capture ? "in the report's stderr"
					  : "above");
		run_refuse(result, PHASE_EXEC, &err);
	} else {
		err_set(&err, ERR_SETUP, "bwrap could not make the sandbox (exit code %d)",
			end->status);
		err_hint(&err, "bwrap's own message is above");
		run_refuse(result, PHASE_SETUP, &err);
	}
}

static void judge_violated(struct run *run)
{
	finish(run, OUTCOME_VIOLATION, 125);
	err_set(&run->result->err, ERR_SYSTEM,
		"a mount that protects files was taken away or moved on the host: the command was "
		"ended");
	err_hint(&run->result->err, "\"violations\" of the report names the files");
}

/* A part of the output is not where it belongs; another error counts more. */
static void lose(struct run *run, const struct err *err)
{
	if (run->result->err.kind != ERR_NONE)
		return;
	finish(run, OUTCOME_LOST, 125);
	run->result->err = *err;
}

/* What became of the output. */
static void judge_output(struct run *run)
{
	struct newfile *files = run->spec->output.files;
	struct err err;

	if (run->result->phase == PHASE_SETUP)
		return;
	stdio_tell(&run->io, &run->spec->output, run->result);
	run_hits(run->result, "output", stdio_exceeded(&run->io));
	for (size_t i = 0; i < run->io.n_pumps; i++) {
		const struct pump *pump = &run->io.pumps[i];

		if (!pump->error)
			continue;
		err_set(&err, ERR_SYSTEM, "cannot write to %s%s: %s",
			files                    ? "the file of "
			: run->spec->output.sink ? "the log of "
						 : "",
			pump->stream == 1 ? "standard output" : "standard error",
			strerror(pump->error));
		lose(run, &err);
	}
	for (int i = 0; files && i < 2; i++)
		if (newfile_name(&files[i], &err) < 0)
			lose(run, &err);
}

static void judge(struct run *run)
{
	static const int exit_codes[] = {
		[OUTCOME_TIMEOUT] = 124,
		[OUTCOME_CPU] = 137,
		[OUTCOME_MEMORY] = 137,
		[OUTCOME_OUTPUT] = 137,
		[OUTCOME_LOST] = 125,
	};
	struct run_result *result = run->result;
	struct child_end end;

	launch_wait(&run->child, &end);
	result->duration_ms = now_ms() - run->start;
	result->cpu_ms = end.cpu_ms;
	result->max_rss_bytes = end.max_rss;
	if (run->child.released && watch_end(run->watch, result) && run->cause == OUTCOME_COMPLETED)
		run->cause = OUTCOME_VIOLATION;
	if (run->cause == OUTCOME_SETUP_FAILED) {
		run_refuse(result, PHASE_SETUP, &run->err);
	} else if (run->cause == OUTCOME_CANCELLED) {
		finish(run, OUTCOME_CANCELLED, 128 + run->cancelled);
	} else if (run->cause == OUTCOME_VIOLATION) {
		judge_violated(run);
	} else if (run->cause != OUTCOME_COMPLETED) {
		finish(run, run->cause, exit_codes[run->cause]);
		result->err = run->err;
	} else {
		judge_natural(run, &end);
	}
	limits_judge(run->spec->limits, result);
	run_hits(result, "wall", result->outcome == OUTCOME_TIMEOUT);
	judge_output(run);
}

/* Blocks and listens to what is passed on. */
static int take_signals(struct run *run, struct err *err)
{
	static const int always[] = {SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
	static const int unless_ignored[] = {SIGINT, SIGHUP, SIGQUIT};
	sigset_t set, background;
	struct sigaction action;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		sigaddset(&set, always[i]);
	for (size_t i = 0; i < sizeof(unless_ignored) / sizeof(unless_ignored[0]); i++)
		if (sigaction(unless_ignored[i], NULL, &action) == 0 &&
			action.sa_handler != SIG_IGN)
			sigaddset(&set, unless_ignored[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* The terminal is restored from the background too. */
	sigemptyset(&background);
	sigaddset(&background, SIGTTOU);
	sigprocmask(SIG_BLOCK, &background, NULL);
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run->signal_fd < 0)
		return err_set(err, ERR_SYSTEM, "cannot listen to signals: %s", strerror(errno));
	return 0;
}

static int start(struct run *run, struct err *err)
{
	const struct run_spec *spec = run->spec;
	struct launch_spec launched = {
		.bwrap = spec->bwrap,
		.words = spec->words,
		.command = spec->command,
		.stdio = run->io.fds,
		.keep = spec->keep,
		.n_keep = spec->n_keep,
		.uid = spec->uid,
		.gid = spec->gid,
		.outer = spec->outer,
		.slave = spec->slave,
		.leaf = spec->limits->leaf,
		.hold = true,
		.tty = spec->tty->slave,
	};

	/* Without it the sandbox's first process could not be found. */
	if (access("/proc/thread-self/children", R_OK) < 0) {
		err_set(err, ERR_SETUP, "/proc/thread-self/children cannot be read: %s",
			strerror(errno));
		return err_hint(
			err, "use a kernel with CONFIG_PROC_CHILDREN, as distributions' are");
	}
	if (stdio_open(&run->io, spec->direct, &spec->output, spec->tty, err) < 0)
		return -1;
	if (spec->uid != geteuid())
		stdio_give(&run->io, spec->uid, spec->gid);
	run->pty = spec->tty->slave >= 0;
	run->start = now_ms();
	run->wall_at = spec->wall_ms && spec->wall_ms < INT64_MAX / 2
			       ? run->start + (int64_t)spec->wall_ms
			       : NEVER;
	run->kill_at = run->sweep_until = run->watch_at = run->tty_at = NEVER;
	run->progress_at = spec->progress ? run->start + PROGRESS_DELAY_MS : NEVER;
	if (launch(&run->child, &launched, &run->result->notes, err) < 0)
		return -1;
	stdio_started(&run->io);
	return 0;
}

void run_supervised(const struct run_spec *spec, struct run_result *result)
{
	struct run run = {.spec = spec,
		.result = result,
		.cause = OUTCOME_COMPLETED,
		.command = -1,
		.grace = GRACE_MS,
		.io = STDIO_INIT,
		.signal_fd = -1};
	struct err err = {0};

	if (take_signals(&run, &err) < 0 || start(&run, &err) < 0) {
		run_refuse(result, PHASE_SETUP, &err);
	} else {
		loop(&run);
		deliver(&run);
		tty_restore(spec->tty);
		if (spec->progress)
			progress_clear();
		judge(&run);
	}
	child_close(&run.child);
	watch_close(run.watch);
	stdio_close(&run.io);
	if (run.signal_fd >= 0)
		close(run.signal_fd);
}
