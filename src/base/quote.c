#include "base/quote.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

char *shell_quote(const char *word)
{
	bool plain = *word, printable = true;
	char *out, *p;

	for (const char *s = word; *s; s++) {
		plain = plain && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					"0123456789_@%+=:,./-",
					 *s);
		printable = printable && *s >= ' ' && *s <= '~';
	}
	if (plain)
		return xstrdup(word);
	p = out = xcalloc(strlen(word) * 4 + 4, 1);
	p = stpcpy(p, printable ? "'" : "$'");
	for (const char *s = word; *s; s++) {
		if (*s == '\'')
			p = stpcpy(p, printable ? "'\\''" : "\\'");
		else if (*s == '\\' && !printable)
			p = stpcpy(p, "\\\\");
		else if (*s < ' ' || *s > '~')
			p += sprintf(p, "\\%03o", (unsigned char)*s);
		else
			*p++ = *s;
	}
	*p = '\'';
	return out;
}
