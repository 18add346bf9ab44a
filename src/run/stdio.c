#include "run/stdio.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
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

static void ignore(int sig)
{
	(void)sig;
}

/* A timer and not alarm(2), which a caller may have set for us; a signal that interrupts. */
static int make_alarm(struct stdio *io, struct err *err)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	struct sigaction action = {.sa_handler = ignore};
	sigset_t set;

	if (io->has_alarm)
		return 0;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	if (sigaction(SIGRTMIN, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0 ||
		timer_create(CLOCK_MONOTONIC, &event, &io->alarm) < 0)
		return err_set(err, ERR_SYSTEM, "cannot make a timer: %s", strerror(errno));
	io->has_alarm = true;
	return 0;
}

/* A copy, for what will close it. */
static int dup_own(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static struct pump *new_pump(struct stdio *io, int stream, int from, int to)
{
	struct pump *pump = &io->pumps[io->n_pumps++];

	*pump = (struct pump){
		.stream = stream,
		.from = from,
		.to = to,
		.buf = xcalloc(PUMP_SIZE, 1),
		.limit = UINT64_MAX,
	};
	return pump;
}

/* Makes the pipe of one stream; what it goes on to, or comes from, is the caller's so far. */
static struct pump *add_pump(struct stdio *io, int stream, struct err *err)
{
	int ours = stream == 0 ? 1 : 0;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[ours], F_SETFL, O_NONBLOCK) < 0) {
		err_set(err, ERR_SYSTEM, "cannot make a pipe for %s: %s", stream_names[stream],
			strerror(errno));
		return NULL;
	}
	io->fds[stream] = fds[!ours];
	return new_pump(io, stream, stream == 0 ? 0 : fds[ours], stream == 0 ? fds[ours] : stream);
}

/* The pump of what is typed. */
static struct pump *add_keys(struct stdio *io, const struct tty *tty, struct err *err)
{
	struct pump *pump;

	if (make_alarm(io, err) < 0)
		return NULL;
	pump = tty->master < 0 ? add_pump(io, 0, err)
			       : new_pump(io, 0, tty->terminal, dup_own(tty->master));
	if (pump) {
		pump->keys = &tty->keys;
		pump->pty = tty->master >= 0;
	}
	return pump;
}

/* The pump of standard output or error, from there or, for -1, a new pipe; regular: the caller's own is
 * such a file. */
static int add_output(struct stdio *io, int stream, int from, bool regular,
	const struct output_spec *output, struct err *err)
{
	struct pump *pump =
		from < 0 ? add_pump(io, stream, err) : new_pump(io, stream, from, stream);

	if (!pump || make_alarm(io, err) < 0)
		return -1;
	pump->may_block = !regular;
	pump->pty = from >= 0;
	if (output->capture) {
		pump->to = -1;
		pump->capture.bound = CAPTURE_DEFAULT;
	}
	if (output->sink) {
		pump->to = -1;
		pump->sink = output->sink;
	}
	if (output->files) {
		pump->to = output->files[stream - 1].fd;
		pump->may_block = false;
	}
	if (output->limit) {
		pump->limit = output->limit;
		if (output->capture)
			pump->capture.bound =
				output->limit < CAPTURE_MAX ? output->limit : CAPTURE_MAX;
	}
	return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether a stream of the command's is the pty. */
static bool takes_pty(int stream, const struct stat st[3])
{
	return stream == 1 ||
	       (stream == 0 ? isatty(0) : same_file(&st[1], &st[2]) || (isatty(1) && isatty(2)));
}

int stdio_open(struct stdio *io, bool direct, const struct output_spec *output,
	const struct tty *tty, struct err *err)
{
	bool elsewhere = output->capture || output->files || output->sink;
	struct stat st[3];

	if (tty->master >= 0 && tty->terminal >= 0 && !add_keys(io, tty, err))
		return -1;
	for (int i = 0; i <= 2; i++) {
		bool regular, terminal = isatty(i);

		if (stdio_check(i, stream_names[i], err) < 0)
			return -1;
		if (fstat(i, &st[i]) < 0)
			return err_set(err, ERR_SYSTEM, "%s: %s", stream_names[i], strerror(errno));
		regular = S_ISREG(st[i].st_mode);
		if (tty->master >= 0 && takes_pty(i, st)) {
			io->fds[i] = i == 2 ? io->fds[1] : dup_own(tty->slave);
			if (i == 1 &&
				add_output(io, 1, dup_own(tty->master), regular, output, err) < 0)
				return -1;
			continue;
		}
		if (i == 0) {
			if (terminal ? !add_keys(io, tty, err)
				     : regular && !direct && !add_pump(io, 0, err))
				return -1;
			continue;
		}
		/* One that was closed, so that it cannot be written, is left so. */
		if (!elsewhere && !terminal && (!regular || direct) &&
			(!output->limit || (fcntl(i, F_GETFL) & O_ACCMODE) == O_RDONLY))
			continue;
		if (i == 2 && tty->master < 0 &&
			(output->sink ? !output->sink->split
				      : !elsewhere && io->fds[1] != 1 && same_file(&st[1], &st[2])))
			io->fds[2] = io->fds[1];
		else if (add_output(io, i, -1, regular, output, err) < 0)
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
	int pipe = pump->stream == 0 ? pump->to : pump->from;

	if (pipe >= 0)
		close(pipe);
	pump->from = pump->to = -1;
	pump->len = 0;
}

void stdio_close(struct stdio *io)
{
	stdio_started(io);
	for (size_t i = 0; i < io->n_pumps; i++) {
		pump_end(&io->pumps[i]);
		free(io->pumps[i].buf);
		free(io->pumps[i].capture.data);
	}
	io->n_pumps = 0;
	if (io->has_alarm)
		timer_delete(io->alarm);
	io->has_alarm = false;
}

void pump_wait(const struct pump *pump, struct pollfd fds[2])
{
	bool reads = !pump->len && (!pump->keys || *pump->keys);

	fds[0] = (struct pollfd){.fd = reads ? pump->from : -1, .events = POLLIN};
	/* Also when there is nothing to write: the end of the reader is told without. */
	fds[1] = (struct pollfd){.fd = pump->to, .events = pump->len ? POLLOUT : 0};
}

/* From here on a call that blocks is interrupted, or no longer. */
static void set_alarm(struct stdio *io, bool on)
{
	const struct timespec tenth = {.tv_nsec = on ? 100000000 : 0};
	int error = errno;

	timer_settime(io->alarm, 0, &(struct itimerspec){tenth, tenth}, NULL);
	errno = error;
}

/* Reads behind what waits to be written; buf has room for size bytes there. */
static void pump_read(struct stdio *io, struct pump *pump, size_t size)
{
	char *data = pump->buf + pump->start + pump->len;
	ssize_t n;
	uint64_t room = pump->bytes < pump->limit ? pump->limit - pump->bytes : 0;

	/* Another process may have read what was typed. */
	if (pump->keys)
		set_alarm(io, true);
	n = read(pump->from, data, size);
	if (pump->keys)
		set_alarm(io, false);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		/* All that have the other end of a pty have closed it. */
		bool end = n == 0 || (pump->pty && errno == EIO);

		pump->error = end || pump->stream == 0 ? 0 : errno;
		pump_end(pump);
		return;
	}
	capture_add(&pump->capture, data, (size_t)n);
	pump->bytes += (uint64_t)n;
	if ((uint64_t)n < room)
		room = (uint64_t)n;
	if (pump->to >= 0)
		pump->len += (size_t)room;
	if (!pump->sink)
		return;
	pump->error = -pump->sink->write(pump->sink, pump->stream, data, (size_t)room);
	if (pump->error)
		pump_end(pump);
	else
		pump->passed += room;
}

/* write(2), which gives up soon when fd blocks. */
static ssize_t write_briefly(struct stdio *io, int fd, const void *data, size_t len)
{
	ssize_t n;

	set_alarm(io, true);
	n = write(fd, data, len);
	set_alarm(io, false);
	return n;
}

static void pump_write(struct stdio *io, struct pump *pump)
{
	const char *data = pump->buf + pump->start;
	/* So much a pipe takes at once that poll says can be written. */
	ssize_t n = pump->may_block ? write_briefly(io, pump->to, data,
					      pump->len < PIPE_BUF ? pump->len : PIPE_BUF)
				    : write(pump->to, data, pump->len);

	if (n >= 0) {
		pump->start += (size_t)n;
		pump->len -= (size_t)n;
		pump->passed += (uint64_t)n;
	} else if (errno != EAGAIN && errno != EINTR) {
		pump->error = pump->stream == 0 || errno == EPIPE ? 0 : errno;
		pump_end(pump);
	}
}

void pump_step(struct stdio *io, struct pump *pump, const struct pollfd fds[2])
{
	if (fds[1].revents & (POLLERR | POLLHUP)) {
		int left = 0;

		/* What nobody will read was written all the same. */
		if (pump->stream != 0 && ioctl(pump->from, FIONREAD, &left) == 0)
			pump->bytes += (uint64_t)left;
		pump_end(pump);
	} else if (fds[1].revents) {
		pump_write(io, pump);
	} else if (fds[0].revents) {
		pump->start = 0;
		pump_read(io, pump, PUMP_SIZE);
	}
}

void stdio_give_back(struct stdio *io)
{
	for (size_t i = 0; i < io->n_pumps; i++) {
		struct pump *pump = &io->pumps[i];

		if (pump->stream == 0)
			continue;
		pump->to = pump->stream;
		pump->sink = NULL;
		pump->may_block = true;
		pump->limit = UINT64_MAX;
		pump->capture.bound = 0;
	}
}

/* How much there is the kernel does not say, but it is less than a buffer. */
static void drain_pty(struct stdio *io, struct pump *pump)
{
	uint64_t before, first = pump->bytes;

	if (pump->from < 0)
		return;
	pump->buf = xreallocarray(pump->buf, pump->start + pump->len + PUMP_SIZE, 1);
	do {
		before = pump->bytes;
		pump_read(io, pump, PUMP_SIZE - (size_t)(before - first));
	} while (pump->bytes > before && pump->bytes - first < PUMP_SIZE);
}

bool stdio_is_hung_up(struct stdio *io)
{
	bool hung_up = false;

	for (size_t i = 0; i < io->n_pumps; i++)
		hung_up = hung_up ||
			  (io->pumps[i].pty && io->pumps[i].stream && io->pumps[i].from < 0);
	for (size_t i = 0; hung_up && i < io->n_pumps; i++)
		if (io->pumps[i].pty)
			pump_end(&io->pumps[i]);
	return hung_up;
}

void stdio_drain(struct stdio *io)
{
	for (size_t i = 0; i < io->n_pumps; i++) {
		struct pump *pump = &io->pumps[i];
		int left = 0;

		if (pump->stream == 0 ||
			(!pump->pty && pump->from >= 0 && ioctl(pump->from, FIONREAD, &left) < 0))
			pump_end(pump);
		else if (pump->pty)
			drain_pty(io, pump);
		if (left > 0) {
			pump->buf =
				xreallocarray(pump->buf, pump->start + pump->len + (size_t)left, 1);
			pump_read(io, pump, (size_t)left);
		}
		if (pump->from >= 0)
			close(pump->from);
		pump->from = -1;
	}
}

bool stdio_busy(const struct stdio *io)
{
	for (size_t i = 0; i < io->n_pumps; i++)
		if (io->pumps[i].len)
			return true;
	return false;
}

bool stdio_exceeded(const struct stdio *io)
{
	for (size_t i = 0; i < io->n_pumps; i++)
		if (io->pumps[i].bytes > io->pumps[i].limit)
			return true;
	return false;
}

void stdio_tell(struct stdio *io, const struct output_spec *output, struct run_result *result)
{
	for (size_t i = 0; i < io->n_pumps && output_piped(output); i++) {
		struct pump *pump = &io->pumps[i];
		struct run_stream *stream = pump->stream == 1 ? &result->out : &result->errors;

		if (pump->stream == 0)
			continue;
		stream->counted = true;
		stream->bytes = pump->bytes;
		if (output->capture)
			capture_take(&pump->capture, stream);
		stream->omitted = pump->bytes - (output->capture ? stream->kept_len : pump->passed);
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
