#include "run/stdio.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define PUMP_SIZE 65536

static const char *const stream_names[] = {"standard input", "standard output", "standard error"};

int stdio_reserve(struct err *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is fd: those below it are open by now. */
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			return err_set(err, ERR_SYSTEM,
				"cannot open /dev/null in place of the closed %s: %s",
				stream_names[fd], strerror(errno));
	}
	return 0;
}

int stdio_check(int fd, const char *what, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_SETUP, "%s: not an open descriptor", what);
	if (flags & O_PATH || S_ISDIR(st.st_mode)) {
		err_set(err, ERR_SETUP, "%s is %s: the command could leave the sandbox through it",
			what, flags & O_PATH ? "an O_PATH descriptor" : "a directory");
		return err_hint(err,
			"hand over a file, a pipe or a socket, or grant the path in the policy");
	}
	if (S_ISBLK(st.st_mode)) {
		err_set(err, ERR_SETUP, "%s is a block device", what);
		return err_hint(err, "put a pipe in between: cat DEVICE | sbx-exec ...");
	}
	return 0;
}

/* Makes the pipe of one stream. */
static int add_pump(struct stdio *io, int stream, struct err *err)
{
	struct pump *pump = &io->pumps[io->n_pumps];
	int ours = stream == 0 ? 1 : 0;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[ours], F_SETFL, O_NONBLOCK) < 0)
		return err_set(err, ERR_SYSTEM, "cannot make a pipe for %s: %s",
			stream_names[stream], strerror(errno));
	pump->stream = stream;
	pump->pipe = fds[ours];
	pump->buf = xcalloc(PUMP_SIZE, 1);
	io->fds[stream] = fds[!ours];
	io->n_pumps++;
	return 0;
}

int stdio_open(struct stdio *io, bool direct, struct err *err)
{
	struct stat st[3];

	for (int i = 0; i <= 2; i++) {
		if (stdio_check(i, stream_names[i], err) < 0)
			return -1;
		if (fstat(i, &st[i]) < 0)
			return err_set(err, ERR_SYSTEM, "%s: %s", stream_names[i], strerror(errno));
		if (!S_ISREG(st[i].st_mode) || direct)
			continue;
		if (i == 2 && st[1].st_dev == st[2].st_dev && st[1].st_ino == st[2].st_ino)
			io->fds[2] = io->fds[1];
		else if (add_pump(io, i, err) < 0)
			return -1;
	}
	return 0;
}

void stdio_give(const struct stdio *io, uid_t uid, gid_t gid)
{
	struct statfs fs;

	for (int i = 0; i <= 2; i++)
		if (fstatfs(io->fds[i], &fs) == 0 && fs.f_type == PIPEFS_MAGIC &&
			fchown(io->fds[i], uid, gid) < 0)
			continue; /* it can be used all the same, but not opened anew */
}

void stdio_started(struct stdio *io)
{
	if (io->fds[2] == io->fds[1])
		io->fds[2] = 2;
	for (int i = 0; i <= 2; i++) {
		if (io->fds[i] != i)
			close(io->fds[i]);
		io->fds[i] = i;
	}
}

static void pump_end(struct pump *pump)
{
	if (pump->pipe >= 0)
		close(pump->pipe);
	pump->pipe = -1;
}

void stdio_close(struct stdio *io)
{
	stdio_started(io);
	for (size_t i = 0; i < io->n_pumps; i++) {
		pump_end(&io->pumps[i]);
		free(io->pumps[i].buf);
	}
	io->n_pumps = 0;
}

short pump_events(const struct pump *pump)
{
	return pump->stream == 0 ? POLLOUT : POLLIN;
}

static void pump_input(struct pump *pump)
{
	ssize_t n;

	if (pump->len == 0) {
		n = read(pump->stream, pump->buf, PUMP_SIZE);
		if (n <= 0) {
			pump_end(pump);
			return;
		}
		pump->start = 0;
		pump->len = (size_t)n;
	}
	n = write(pump->pipe, pump->buf + pump->start, pump->len);
	if (n >= 0) {
		pump->start += (size_t)n;
		pump->len -= (size_t)n;
	} else if (errno != EAGAIN && errno != EINTR) {
		pump_end(pump);
	}
}

/* The number of bytes moved; 0 when there are none. */
static size_t pump_output(struct pump *pump)
{
	ssize_t n = read(pump->pipe, pump->buf, PUMP_SIZE);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0)
		pump->error = -write_all(pump->stream, pump->buf, (size_t)n);
	if (n <= 0 || pump->error) {
		pump_end(pump);
		return 0;
	}
	return (size_t)n;
}

void pump_step(struct pump *pump)
{
	if (pump->stream == 0)
		pump_input(pump);
	else
		pump_output(pump);
}

void pump_drain(struct pump *pump)
{
	int left = 0;

	if (pump->stream == 0 || pump->pipe < 0 || ioctl(pump->pipe, FIONREAD, &left) < 0)
		return;
	while (left > 0) {
		size_t n = pump_output(pump);

		if (n == 0)
			return;
		left -= (int)n;
	}
}

int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			struct pollfd wait = {.fd = fd, .events = POLLOUT};

			poll(&wait, 1, -1);
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}
