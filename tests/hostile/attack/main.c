/*
 * attack list: the tables, a line each: name, what it needs (see list()), why there is no control or -, what
 *     it tries.
 * attack handle PATH: the file handle of a path, as a fact.
 * attack queue NAME | unqueue NAME: makes a POSIX message queue, or removes it.
 * attack NAME=VALUE... all | ATTACK...: tries them, a line each:
 *     NAME: contained: ERROR, NAME: BROKE OUT: WHAT, or NAME: unexpected: WHAT
 * attack euid: prints the effective user.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 10

static const struct attack *const tables[] = {attacks_read, attacks_write, attacks_mount,
	attacks_process, attacks_ipc, attacks_kernel, attacks_terminal};
static const struct attack *now;
static char **facts;
static int answer;

const char *fact(const char *name)
{
	size_t length = strlen(name);

	for (char **f = facts; *f; f++)
		if (strncmp(*f, name, length) == 0 && (*f)[length] == '=')
			return *f + length + 1;
	dprintf(answer, "unexpected: no fact \"%s\"\n", name);
	_exit(1);
}

const char *expand(const char *text)
{
	char *out = calloc(1, 8192), name[32];
	size_t n = 0;

	while (out && *text && n < 4096) {
		const char *end = *text == '{' ? strchr(text, '}') : NULL;

		if (!end) {
			out[n++] = *text++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(end - text - 1), text + 1);
		n += (size_t)snprintf(out + n, 4096, "%s", fact(name));
		text = end + 1;
	}
	return out;
}

_Noreturn void broke(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	dprintf(answer, "BROKE OUT: ");
	vdprintf(answer, format, args);
	dprintf(answer, "\n");
	_exit(0);
}

_Noreturn void held(const char *word)
{
	const char *at = now->sees;
	size_t length = strlen(word);
	int expected = 0;

	while (!expected && (at = strstr(at, word))) {
		expected = (at == now->sees || at[-1] == ' ') && strchr(" ", at[length]);
		at += length;
	}
	dprintf(answer, "%s: %s\n", expected ? "contained" : "unexpected", word);
	_exit(0);
}

_Noreturn void held_by_errno(void)
{
	held(strerrorname_np(errno));
}

_Noreturn void judge(long result)
{
	if (result == -1)
		held_by_errno();
	broke("it worked");
}

const char *secret_word(void)
{
	static char word[64];
	const char *drow = fact("drow");
	size_t length = strlen(drow);

	for (size_t i = 0; i < length && i < sizeof(word) - 1; i++)
		word[i] = drow[length - 1 - i];
	return word;
}

int has_secret(int fd)
{
	char text[65536];
	struct stat st;
	ssize_t n;

	/* Not from a pipe, which may be the one that this program's answers go through. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	n = read(fd, text, sizeof(text));
	return n > 0 && memmem(text, (size_t)n, secret_word(), strlen(secret_word()));
}

static void try(const struct attack *attack)
{
	char text[512];
	size_t n = 0;
	ssize_t got;
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		exit(99);
	pid = fork();
	if (pid == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(PATIENCE_S);
		now = attack;
		answer = fds[1];
		attack->run(attack->target ? expand(attack->target) : NULL);
		_exit(1);
	}
	close(fds[1]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(99);
	/* What the attack has left behind may keep the pipe open: one look. */
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	while (n < sizeof(text) - 1 && (got = read(fds[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	close(fds[0]);
	if (n == 0)
		snprintf(text, sizeof(text), "unexpected: no answer, status %#x\n",
			(unsigned)status);
	printf("%s: %s", attack->name, text);
	fflush(stdout);
}

static void list(void)
{
	static const char *const needs[] = {
		"-", "filter", "mode-filter", "lease-filter", "terminal"};

	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
		for (const struct attack *a = tables[t]; a->name; a++)
			printf("%s\t%s\t%s\t%s\n", a->name, needs[a->needs],
				a->no_control ? a->no_control : "-", a->tries);
}

static int print_handle(const char *path)
{
	union {
		struct file_handle handle;
		unsigned char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} to = {.handle.handle_bytes = MAX_HANDLE_SZ};
	int mount;

	if (name_to_handle_at(AT_FDCWD, path, &to.handle, &mount, 0) < 0)
		return 1;
	for (size_t i = 0; i < sizeof(struct file_handle) + to.handle.handle_bytes; i++)
		printf("%02x", to.bytes[i]);
	return 0;
}

int main(int argc, char **argv)
{
	char **word = argv + 1;
	int all;

	if (argc == 2 && strcmp(*word, "list") == 0)
		return list(), 0;
	if (argc == 2 && strcmp(*word, "euid") == 0)
		return printf("%u\n", (unsigned)geteuid()) < 0;
	if (argc == 3 && strcmp(*word, "handle") == 0)
		return print_handle(word[1]);
	if (argc == 3 && strcmp(*word, "queue") == 0)
		return mq_open(word[1], O_RDWR | O_CREAT, 0666, NULL) < 0;
	if (argc == 3 && strcmp(*word, "unqueue") == 0)
		return mq_unlink(word[1]) < 0;
	facts = word;
	while (*word && strchr(*word, '='))
		word++;
	all = *word && strcmp(*word, "all") == 0;
	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
		for (const struct attack *a = tables[t]; a->name; a++) {
			int asked = all;

			for (char **w = word; *w && !asked; w++)
				asked = strcmp(*w, a->name) == 0;
			if (asked)
				try(a);
		}
	return 0;
}
