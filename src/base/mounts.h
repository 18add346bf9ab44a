/*
 * Mount tables: /proc/PID/mountinfo, proc_pid_mountinfo(5). The names in them are whatever somebody
 * has called a directory; the kernel writes blanks, newlines and backslashes of theirs as \ooo.
 */
#ifndef SBX_BASE_MOUNTS_H
#define SBX_BASE_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One mount. */
struct mount_line {
	unsigned long id, parent;
	dev_t dev;           /* of the file system: on some (btrfs, overlay) not st_dev of its files */
	const char *root;    /* what of it shows: a path in it, or, of some kinds, other text */
	const char *at;      /* absolute, seen from the root directory of the process */
	const char *options; /* of the mount: "ro,nosuid" */
	const char *tags;    /* "shared:1 master:2", or "" */
	const char *type;    /* of the file system */
	const char *super;   /* its options */
};

/* Takes a line, without its end, apart in place; what line points to lies in text. False when it is
 * none. */
bool mount_line_parse(struct mount_line *line, char *text);
/* Whether options have a word. */
bool mount_has_option(const char *options, const char *word);

/* Zero-initialise; ended by mount_table_clear. */
struct mount_table {
	char *text;
	struct mount_line *v;
	size_t n, alloc;
	bool broken; /* something in it was no line, or its end is missing */
};

/* Fills an empty table with what text says; text is the table's afterwards. */
void mount_table_parse(struct mount_table *table, char *text);
/* The same with what can be read from a file's start on. 0 or -errno; -EFBIG: it has more than
 * 64 MiB. */
int mount_table_read(struct mount_table *table, int fd);
/* The mount in which a normal path, of the process's view, lies: what a later mount covers is not
 * seen. NULL: the table does not have the root directory. */
const struct mount_line *mount_table_at(const struct mount_table *table, const char *path);
void mount_table_clear(struct mount_table *table);

#define CLEANUP_MOUNT_TABLE __attribute__((cleanup(mount_table_clear)))

#endif
