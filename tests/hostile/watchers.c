/*
 * Takes all instances of inotify that there are, says so, and waits for the end of its input.
 */
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

int main(void)
{
	char byte;

	while (inotify_init() >= 0)
		;
	puts("up");
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
