#include "count.h"

#include <ctype.h>

void count(struct counts *counts, const char *text, unsigned long len)
{
	int in_word = 0;

	for (unsigned long i = 0; i < len; i++) {
		int space = isspace((unsigned char)text[i]);

		counts->words += !space && !in_word;
		counts->lines += text[i] == '\n';
		in_word = !space;
	}
	counts->bytes += len;
}
