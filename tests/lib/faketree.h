/*
 * A tree made from text, for tests that must not depend on the machine. One object a line, "#"
 * begins a comment; ids, modes and the number of hard links may be left out (0 0, 0755 for
 * directories, 0644 for the rest, 1):
 *
 *   d /etc 0755 0 0            directory (parents are made when missing)
 *   f /etc/passwd 0644 0 0 =x  file; what follows "=" is its content (\n is a newline)
 *   l /bin -> usr/bin          link
 *   s /run/x.sock              socket
 *   p /run/fifo                FIFO
 *   c /dev/null 1:3            character device
 *   b /dev/sda 8:0             block device
 *   ! /srv/dead                lstat of it fails with EACCES (a dead FUSE mount, say)
 *   a /mnt/src -> /srv/src     /srv/src shows at /mnt/src too (a bind mount)
 *   u /run/x.sock              a live socket has this name (what is there is said by other lines)
 *
 * A line "u" alone: the live sockets cannot be known. A socket that is mounted is live. Names are taken as they stand up to a blank; "\040" and other octal escapes and "\n" are undone. The
 * caller is uid 0 unless a line "uid N" says otherwise; for another uid directories without search
 * (or read, for list) permission answer -EACCES, as for the live tree.
 */
#ifndef SBX_TESTS_FAKETREE_H
#define SBX_TESTS_FAKETREE_H

#include "plan/tree.h"

/* NULL when the text is wrong (the fault goes to stderr). Free with faketree_free. */
struct tree *faketree_parse(const char *text);
void faketree_free(struct tree *tree);
/* The text of a tree with placeholders at the names that it lacks; NULL when it lacks none. Free with
 * free(). */
char *faketree_hold(const char *text, const struct strvec *names);

#endif
