/*
 * The caller's terminal, by whatever descriptor leads to it. A terminal of the sandbox's own is none: the caller's is told
 * by its device number, a fact.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tiocl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

/* The caller's terminal, or -1 with errno. */
static int terminal(void)
{
	static const char *const names[] = {"/dev/tty", "/proc/self/fd/0", "/proc/self/fd/1",
		"/proc/self/fd/2", "/dev/console", "/dev/pts/0", "/dev/pts/1", "/dev/pts/2"};
	int error = ENXIO;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct stat st;
		int fd = open(names[i], O_RDWR | O_NOCTTY | O_NONBLOCK);
		unsigned device = 0;

		if (fd < 0) {
			error = errno;
			continue;
		}
		/* /dev/tty has a device number of its own: the terminal's is asked for. */
		if (isatty(fd) && fstat(fd, &st) == 0 &&
			(st.st_rdev == strtoul(fact("terminal"), NULL, 10) ||
				(ioctl(fd, TIOCGDEV, &device) == 0 &&
					device == strtoul(fact("terminal"), NULL, 10))))
			return fd;
		close(fd);
	}
	errno = error;
	return -1;
}

static int got_terminal(void)
{
	int fd = terminal();

	signal(SIGTTOU, SIG_IGN);
	if (fd < 0)
		held("none");
	return fd;
}

static void opened(const char *unused)
{
	(void)unused;
	got_terminal();
	broke("the caller's terminal");
}

static void typed(const char *unused)
{
	(void)unused;
	judge(ioctl(got_terminal(), TIOCSTI, "\r"));
}

/* The upper half of the request's number is not the kernel's: a filter that compares all of it is passed by. */
static void typed_by_half(const char *unused)
{
	(void)unused;
	judge(syscall(SYS_ioctl, got_terminal(), TIOCSTI | 1UL << 32, "\r"));
}

static void pasted(const char *unused)
{
	char request[] = {TIOCL_GETSHIFTSTATE, 0};

	(void)unused;
	/* Of a terminal that is no console: the kernel has looked who asks by then. */
	if (ioctl(got_terminal(), TIOCLINUX, request) < 0 && errno != ENOTTY && errno != EINVAL)
		held_by_errno();
	broke("the call reaches the caller's terminal");
}

static void set(const char *unused)
{
	struct termios now;
	int fd = got_terminal();

	(void)unused;
	judge(tcgetattr(fd, &now) < 0 ? -1 : tcsetattr(fd, TCSANOW, &now));
}

static void resized(const char *unused)
{
	struct winsize size;
	int fd = got_terminal();

	(void)unused;
	judge(ioctl(fd, TIOCGWINSZ, &size) < 0 ? -1 : ioctl(fd, TIOCSWINSZ, &size));
}

static void taken_over(const char *unused)
{
	int fd = got_terminal();

	(void)unused;
	judge(tcsetpgrp(fd, getpgrp()));
}

/* On a terminal of its own it reaches nobody; but who may do it there may do it where another is found. */
static void own_terminal(unsigned long request, char *argument)
{
	int own = open("/dev/ptmx", O_RDWR | O_NOCTTY), fd;

	if (own < 0 || grantpt(own) < 0 || unlockpt(own) < 0)
		held_by_errno();
	setsid();
	fd = open(ptsname(own), O_RDWR | O_NOCTTY);
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0)
		held_by_errno();
	judge(syscall(SYS_ioctl, fd, request, argument));
}

static void own_typed(const char *unused)
{
	char byte = 'x';

	(void)unused;
	own_terminal(TIOCSTI, &byte);
}

static void own_typed_by_half(const char *unused)
{
	char byte = 'x';

	(void)unused;
	own_terminal(TIOCSTI | 1UL << 32, &byte);
}

const struct attack attacks_terminal[] = {
	{"terminal-open", "open the caller's terminal", "none", opened, .needs = NEEDS_TERMINAL},
	{"terminal-type", "type into it for the caller's shell (TIOCSTI)", "none", typed,
		.needs = NEEDS_TERMINAL},
	{"terminal-type-half", "the same by a request's number that has more bits", "none",
		typed_by_half, .needs = NEEDS_TERMINAL},
	{"terminal-paste", "paste into it (TIOCLINUX)", "none", pasted, .needs = NEEDS_TERMINAL},
	{"terminal-mode", "change its mode", "none", set, .needs = NEEDS_TERMINAL},
	{"terminal-size", "change its size", "none", resized, .needs = NEEDS_TERMINAL},
	{"terminal-foreground", "take the foreground from the caller", "none", taken_over,
		.needs = NEEDS_TERMINAL},
	{"tiocsti", "TIOCSTI on a terminal of its own", "EPERM", own_typed, .needs = NEEDS_FILTER},
	{"tiocsti-half", "the same by a request's number that has more bits", "EPERM",
		own_typed_by_half, .needs = NEEDS_FILTER},
	{0}};
