/* Counts what a text consists of. */
#ifndef COUNT_H
#define COUNT_H

struct counts {
	unsigned long bytes, words, lines;
};

void count(struct counts *counts, const char *text, unsigned long len);

#endif
