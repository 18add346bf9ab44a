/*
 * The command's terminal: a pty between the caller's terminal and the sandbox.
 *
 * A terminal of the caller's never reaches the command: whoever has it open reads what is typed
 * into it later, for a shell or a password prompt, changes its settings and opens it anew. With a
 * pty the command has a terminal of its own, made on the host and the controlling one of the shim's
 * session (run/launch.h), and what is typed and written is carried between the two.
 *
 * The caller's terminal is raw while what is typed is the command's: all keys go through, and the
 * pty makes of them what its settings say (signals, echo, lines). Only while this process is in the
 * terminal's foreground is anything read from it or set.
 */
#ifndef SBX_RUN_TTY_H
#define SBX_RUN_TTY_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

/* TTY_INIT at first; ended by tty_restore and tty_hang_up. */
#define TTY_INIT                                                                                   \
	{                                                                                          \
		.terminal = -1, .master = -1, .slave = -1                                          \
	}
struct tty {
	int terminal; /* the caller's: 0 or 1; -1: neither is one */
	int master;   /* of the pty, does not block; -1: there is none */
	int slave;    /* kept open: without any the master could not be read */
	bool keys;    /* what is typed is to be read now */
	bool raw;     /* the caller's terminal is so, and was as before says */
	struct termios before;
	bool plain;   /* the pty leaves newlines as they are: the caller's terminal makes them */
};

/* Finds the caller's terminal. */
void tty_find(struct tty *tty);
/* Makes the pty, with the settings and the size of the caller's terminal, owned by whom the command
 * runs as. 0, or -1 with ERR_SETUP. */
int tty_open(struct tty *tty, uid_t uid, gid_t gid, struct err *err);
/* Looks who is in the foreground, and makes the terminal raw or not. Without a pty lines are read
 * as the terminal's own settings make them, and none while another program has set it up for itself
 * (a pager behind the same pipe). With a pty, where standard input is no terminal, keys are read
 * only while the command's settings ask for single ones (a pager again). */
void tty_look(struct tty *tty);
/* After this process was stopped: its shell may have set the terminal. Passes the size on, too. */
void tty_resume(struct tty *tty);
/* Passes the size of the terminal on; the kernel tells the foreground of the pty (WINCH). */
void tty_resize(const struct tty *tty);
/* Makes the terminal what it was. */
void tty_restore(struct tty *tty);
/* Gives the pty up: when nothing else has its master open, those who use it get HUP. */
void tty_hang_up(struct tty *tty);

#endif
