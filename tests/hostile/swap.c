/* Outside: exchanges two names again and again, MICROSECONDS apart. usage: swap A B MICROSECONDS */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	for (;;) {
		renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE);
		usleep((useconds_t)strtoul(argv[3], NULL, 10));
	}
}
