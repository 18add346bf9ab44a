/*
 * use WHAT N: uses up something. Exit status: 0 = all of it was to be had, 11 = it was refused.
 *
 *   memory N     N MiB, one each 2 ms, and says so on standard output; "memory N keep": and then waits
 *   memfd N      N MiB in a memfd, one each 2 ms, which is not mapped, and says so
 *   mapped N     N MiB in a file in /tmp, mapped and written, for half a second
 *   fork N       N MiB, which four children share with their parent for half a second
 *   vfork N      N MiB, which a child has as if they were its own for half a second
 *   cpu N        N milliseconds of processor time
 *   processes N  N children, which wait
 *   threads N    N threads, which wait; "threads N keep": and so does the first
 *   signal N     itself, by signal N (a shell may ignore some)
 *   bomb 0       children, all of which do the same, until it is killed
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define STACK 16384 /* PTHREAD_STACK_MIN */

static int use_memory(long n, int keep)
{
	for (long i = 0; i < n; i++) {
		char *p =
			mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return 11;
		memset(p, 1, MIB);
		usleep(2000);
	}
	printf("%ld MiB\n", n);
	fflush(stdout);
	while (keep)
		pause();
	return 0;
}

static int use_memfd(long n)
{
	static char block[MIB];
	int fd = memfd_create("use", 0);

	for (long i = 0; i < n; i++) {
		if (write(fd, block, MIB) != (ssize_t)MIB)
			return 11;
		usleep(2000);
	}
	printf("%ld MiB\n", n);
	return 0;
}

static int use_mapped(long n)
{
	char path[] = "/tmp/use.XXXXXX", *p;
	int fd = mkstemp(path);

	if (fd < 0 || ftruncate(fd, n * (long)MIB) < 0)
		return 11;
	p = mmap(NULL, (size_t)n * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 11;
	memset(p, 1, (size_t)n * MIB);
	usleep(500000);
	return 0;
}

static int use_shared(long n, int forks)
{
	char *p = malloc((size_t)n * MIB);
	pid_t pid;

	if (!p)
		return 11;
	memset(p, 1, (size_t)n * MIB);
	for (int i = 0; i < forks; i++) {
		pid = fork();
		if (pid < 0)
			return 11;
		if (pid == 0) {
			usleep(500000);
			_exit(p[0] != 1);
		}
	}
	pid = forks ? 0 : vfork();
	if (pid == 0 && !forks) {
		usleep(500000);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	return pid < 0 ? 11 : 0;
}

static int use_cpu(long ms)
{
	while (clock() < ms * (CLOCKS_PER_SEC / 1000))
		;
	return 0;
}

static int use_processes(long n)
{
	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 11;
		if (pid == 0)
			for (;;)
				pause();
	}
	return 0;
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int use_threads(long n, int keep)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (long i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attr, wait_for_ever, NULL) != 0)
			return 11;
	}
	while (keep)
		pause();
	return 0;
}

static _Noreturn void bomb(void)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;)
		fork();
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	if (strcmp(what, "memory") == 0)
		return use_memory(n, argc > 3);
	if (strcmp(what, "memfd") == 0)
		return use_memfd(n);
	if (strcmp(what, "mapped") == 0)
		return use_mapped(n);
	if (strcmp(what, "fork") == 0)
		return use_shared(n, 4);
	if (strcmp(what, "vfork") == 0)
		return use_shared(n, 0);
	if (strcmp(what, "cpu") == 0)
		return use_cpu(n);
	if (strcmp(what, "processes") == 0)
		return use_processes(n);
	if (strcmp(what, "threads") == 0)
		return use_threads(n, argc > 3);
	if (strcmp(what, "signal") == 0) {
		signal((int)n, SIG_DFL);
		return raise((int)n);
	}
	if (strcmp(what, "bomb") == 0)
		bomb();
	return 2;
}
