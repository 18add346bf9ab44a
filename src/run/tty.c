#include "run/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void tty_find(struct tty *tty)
{
	tty->terminal = isatty(0) ? 0 : isatty(1) ? 1 : -1;
}

int tty_open(struct tty *tty, uid_t uid, gid_t gid, struct err *err)
{
	struct termios settings;

	tty->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (tty->master < 0 || unlockpt(tty->master) < 0)
		goto fail;
	/* Not by its name, which may be another's in a mount namespace with an odd /dev/pts. */
	tty->slave = ioctl(tty->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (tty->slave < 0 || (uid != geteuid() && fchown(tty->slave, uid, gid) < 0))
		goto fail;
	if (tty->terminal >= 0 && tcgetattr(tty->terminal, &settings) == 0)
		tcsetattr(tty->slave, TCSANOW, &settings);
	tty_resize(tty);
	return 0;
fail:
	err_set(err, ERR_SETUP, "cannot make a terminal for the command: %s", strerror(errno));
	tty_hang_up(tty);
	return -1;
}

/* There is no foreground where the terminal is not that of our session. */
static bool in_foreground(const struct tty *tty)
{
	pid_t group = tcgetpgrp(tty->terminal);

	return group < 0 ? errno == ENOTTY : group == getpgrp();
}

/* Whether the command wants keys one by one, or unseen. */
static bool wants_keys(const struct tty *tty)
{
	const tcflag_t lines = ICANON | ECHO;
	struct termios settings;

	return tcgetattr(tty->master, &settings) == 0 && (settings.c_lflag & lines) != lines;
}

static void make_raw(struct tty *tty)
{
	struct termios raw;

	if (tcgetattr(tty->terminal, &tty->before) < 0)
		return;
	raw = tty->before;
	cfmakeraw(&raw);
	tty->raw = tcsetattr(tty->terminal, TCSANOW, &raw) == 0;
}

/* Of two terminals one makes a newline of two characters: the caller's while it is not raw. */
static void share_newlines(struct tty *tty)
{
	bool plain = !tty->raw && isatty(1);
	struct termios settings;

	if (plain == tty->plain || tcgetattr(tty->master, &settings) < 0 ||
		(plain && !(settings.c_oflag & OPOST)))
		return;
	settings.c_oflag = plain ? settings.c_oflag & ~(tcflag_t)OPOST : settings.c_oflag | OPOST;
	tty->plain = tcsetattr(tty->master, TCSANOW, &settings) == 0 ? plain : tty->plain;
}

void tty_look(struct tty *tty)
{
	bool foreground = tty->terminal >= 0 && in_foreground(tty);
	struct termios now;

	if (tty->master < 0) {
		tty->keys =
			foreground && tcgetattr(tty->terminal, &now) == 0 && now.c_lflag & ICANON;
		return;
	}
	if (foreground) {
		bool raw = tty->terminal == 0 || wants_keys(tty);

		if (raw && !tty->raw)
			make_raw(tty);
		else if (!raw)
			tty_restore(tty);
	}
	tty->keys = foreground && tty->raw;
	share_newlines(tty);
}

void tty_resume(struct tty *tty)
{
	struct termios now;

	if (tty->raw && tcgetattr(tty->terminal, &now) == 0 && now.c_lflag & ICANON)
		tty->raw = false;
	tty_resize(tty);
}

void tty_resize(const struct tty *tty)
{
	struct winsize size;

	if (tty->master >= 0 && tty->terminal >= 0 && ioctl(tty->terminal, TIOCGWINSZ, &size) == 0)
		ioctl(tty->master, TIOCSWINSZ, &size);
}

void tty_restore(struct tty *tty)
{
	if (tty->raw && in_foreground(tty))
		tcsetattr(tty->terminal, TCSANOW, &tty->before);
	tty->raw = false;
}

void tty_hang_up(struct tty *tty)
{
	if (tty->slave >= 0)
		close(tty->slave);
	if (tty->master >= 0)
		close(tty->master);
	tty->slave = tty->master = -1;
}
