/*
 * Words for a shell.
 */
#ifndef SBX_BASE_QUOTE_H
#define SBX_BASE_QUOTE_H

/* A word as a POSIX shell reads it back, quoted when it needs it; bytes that are no printable
 * character are written as $'\ooo' so that nothing reaches a terminal raw. Free with free(). */
char *shell_quote(const char *word);

#endif
