#include "count.h"

#include <stdio.h>

int main(void)
{
	static char text[1 << 20];
	struct counts counts = {0};

	count(&counts, text, fread(text, 1, sizeof(text), stdin));
	printf("%lu %lu %lu\n", counts.lines, counts.words, counts.bytes);
	return 0;
}
