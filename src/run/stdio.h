/*
 * What the command gets as 0, 1 and 2.
 *
 * A process reopens a file it was handed through /proc/self/fd with the rights of the mount that
 * the file was opened on: the host's. "cmd < ~/.bashrc" would let it rewrite the file. So a regular
 * file is handed on through a pipe that the supervisor pumps; a directory or an O_PATH descriptor
 * (both lead out of the view) or a block device is refused; everything else (pipes, sockets) passes as
 * it is, unless the output is to be captured, limited or put into files: then it is pumped as well
 * (run/output.h).
 *
 * A terminal is never handed on (run/tty.h): where there is a pty, that stands for standard output and
 * for every stream that is a terminal, and is pumped in both directions; without one, terminals are
 * pumped through pipes.
 */
#ifndef SBX_RUN_STDIO_H
#define SBX_RUN_STDIO_H

#include "base/err.h"
#include "run/output.h"
#include "run/tty.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Moves bytes from a file of the caller's into a pipe of the command's, or out of one. */
struct pump {
	int stream;        /* 0, 1 or 2 */
	int from, to;      /* one is our end of the pipe or the pty, not blocking; -1: nothing is read
	                      any more, nothing is passed on */
	const bool *keys;  /* from is a terminal, which is read only while this says so; or NULL */
	bool pty;          /* one end is it */
	struct output_sink *sink; /* takes what is read, in place of to; NULL = none */
	bool may_block;    /* to may be a pipe, terminal, socket ... */
	char *buf;
	size_t start, len; /* what of buf has been read and not yet written */
	uint64_t limit;    /* of what is passed on */
	uint64_t bytes;    /* read */
	uint64_t passed;   /* written */
	struct capture capture;
	int error;         /* errno that kept output from being written; 0 = none */
};

/* STDIO_INIT at first; ended by stdio_close. */
#define STDIO_INIT {.fds = {0, 1, 2}}
#define MAX_PUMPS 4
struct stdio {
	int fds[3]; /* what becomes 0, 1 and 2 of the command */
	struct pump pumps[MAX_PUMPS];
	size_t n_pumps;
	timer_t alarm; /* interrupts a write that blocks */
	bool has_alarm;
};

/* First thing in main: a closed 0, 1 or 2 becomes /dev/null opened the wrong way round, so that
 * using it fails with EBADF as on a closed one, here and in the command, but nothing opened
 * later lands there: neither a file of ours nor one of bwrap's (which keeps the host's /proc
 * open in the sandbox's pid 1). */
int stdio_reserve(struct err *err);

/* Looks at 0, 1 and 2 and makes the pipes that they, the pty and output call for; direct hands on
 * regular files as they are. tty stays the caller's. Where both streams go on to one file, or to a sink that does not split them, they share a pipe, so that the order of
 * their bytes is kept. For writes that may block SIGRTMIN gets a handler. ERR_SETUP. */
int stdio_open(struct stdio *io, bool direct, const struct output_spec *output,
	const struct tty *tty, struct err *err);
/* Lets a user other than the caller open the command's ends anew, as /dev/stdout and /dev/stderr do:
 * anonymous pipes among them change their owner, where that is allowed. */
void stdio_give(const struct stdio *io, uid_t uid, gid_t gid);
/* After the command has its copies: closes ours of its ends. */
void stdio_started(struct stdio *io);
void stdio_close(struct stdio *io);

/* Refuses a descriptor that would lead the command out of its view: not open, a directory,
 * O_PATH, a block device. what names it in the message: "standard input", "--pass-fd 5". */
int stdio_check(int fd, const char *what, struct err *err);

/* What to ask poll for. Nothing is read while something waits to be written. */
void pump_wait(const struct pump *pump, struct pollfd fds[2]);
/* Moves what can be moved without waiting, by poll's answer. Where nobody reads any more the pump
 * ends, and the command's next write fails as it would on the caller's own descriptor. A write to what
 * poll was wrong about (another process filled the pipe) waits for a tenth of a second at most. */
void pump_step(struct stdio *io, struct pump *pump, const struct pollfd fds[2]);
/* Whether nobody takes what is written to the pty any more. Its pumps have then ended. */
bool stdio_is_hung_up(struct stdio *io);
/* Lets the output go to the caller after all: it is bwrap's, and no command ran. */
void stdio_give_back(struct stdio *io);
/* After the command's end: takes what is in the pipes of output now, and not what a stray may write
 * later. */
void stdio_drain(struct stdio *io);
/* Whether something waits to be written; after stdio_drain: the last of the output. */
bool stdio_busy(const struct stdio *io);
/* Whether a stream has exceeded its limit. */
bool stdio_exceeded(const struct stdio *io);
/* Moves what became of the streams that were counted into the result. When both shared a pipe they
 * are one, out. */
void stdio_tell(struct stdio *io, const struct output_spec *output, struct run_result *result);

/* Writes everything, waiting where fd does not block. 0 or -errno. */
int write_all(int fd, const void *data, size_t len);

#endif
