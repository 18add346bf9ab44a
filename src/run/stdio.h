/*
 * What the command gets as 0, 1 and 2.
 *
 * A process reopens a file it was handed through /proc/self/fd with the rights of the mount that
 * the file was opened on: the host's. "cmd < ~/.bashrc" would let it rewrite the file. So a regular
 * file is handed on through a pipe that the supervisor pumps; a directory or an O_PATH descriptor
 * (both lead out of the view) or a block device is refused; everything else (terminals, pipes,
 * sockets) passes as it is.
 */
#ifndef SBX_RUN_STDIO_H
#define SBX_RUN_STDIO_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Moves bytes between a regular file of the caller's and a pipe of the command's. */
struct pump {
	int stream; /* 0, 1 or 2: the caller's descriptor */
	int pipe;   /* our end, not blocking; -1 when the pump has ended */
	char *buf;
	size_t start, len; /* what of buf has been read and not yet written */
	int error;         /* errno that kept output from being written; 0 = none */
};

/* STDIO_INIT at first; ended by stdio_close. */
#define STDIO_INIT {.fds = {0, 1, 2}}
struct stdio {
	int fds[3]; /* what becomes 0, 1 and 2 of the command */
	struct pump pumps[3];
	size_t n_pumps;
};

/* First thing in main: a closed 0, 1 or 2 becomes /dev/null opened the wrong way round, so that
 * using it fails with EBADF as on a closed one, here and in the command, but nothing opened
 * later lands there: neither a file of ours nor one of bwrap's (which keeps the host's /proc
 * open in the sandbox's pid 1). */
int stdio_reserve(struct err *err);

/* Looks at 0, 1 and 2 and makes the pipes; direct hands on regular files as they are. Where 1
 * and 2 are the same file they share a pipe, so that the order of their bytes is kept.
 * ERR_SETUP. */
int stdio_open(struct stdio *io, bool direct, struct err *err);
/* Lets a user other than the caller open the command's ends anew, as /dev/stdout and /dev/stderr do:
 * anonymous pipes among them change their owner, where that is allowed. */
void stdio_give(const struct stdio *io, uid_t uid, gid_t gid);
/* After the command has its copies: closes ours of its ends. */
void stdio_started(struct stdio *io);
void stdio_close(struct stdio *io);

/* Refuses a descriptor that would lead the command out of its view: not open, a directory,
 * O_PATH, a block device. what names it in the message: "standard input", "--pass-fd 5". */
int stdio_check(int fd, const char *what, struct err *err);

/* poll's events for the pump's pipe. */
short pump_events(const struct pump *pump);
/* Moves what can be moved without waiting for the command. */
void pump_step(struct pump *pump);
/* After the command's end: moves what is in the pipe now, and not what a stray may write later. */
void pump_drain(struct pump *pump);

/* Writes everything, waiting where fd does not block. 0 or -errno. */
int write_all(int fd, const void *data, size_t len);

#endif
