/*
 * Where the answer of the probe is kept: the file "probe" in a private directory of the caller's,
 * $XDG_RUNTIME_DIR/sbx, else /tmp/sbx-UID.
 *
 * What keeps it from others is the directory alone: opened through no link, ours, mode 0700. The
 * file begins with the key, everything by which the answer can be told to be about this bwrap on
 * this host (run/host.h), and is ignored where a byte of it differs. What follows is read as if
 * anybody had written it: one form, every value in its range, nothing more and nothing less.
 */
#ifndef SBX_RUN_CACHE_H
#define SBX_RUN_CACHE_H

#include "base/err.h"
#include "base/strvec.h"
#include "run/host.h"
#include "run/probe.h"

#include <stdbool.h>
#include <stddef.h>

/* The two places, best first; paths that need not exist. */
void cache_places(const char *runtime_dir, struct strvec *places);
/* Opens the directory at the first place above which nobody else can change a name of ours; make:
 * makes it where it is missing. A descriptor, or -1 with ERR_PROBE. */
int cache_open(const char *runtime_dir, bool make, struct err *err);

/* What the answer of this bwrap on this host is filed under; NULL when it cannot be told from that
 * of another host. free with free(). */
char *cache_key(const char *bwrap, const struct host *host);
/* The text of a file, and back; false when it is none, or none for this key. */
char *cache_format(const char *key, const struct probe *probe);
bool cache_parse(struct probe *probe, const char *key, const char *text, size_t len);

/* Reads the file in an opened directory; false when there is none to be used. */
bool cache_read(int dir, const char *key, struct probe *probe);
/* Replaces it, whatever it is now. 0 or -1 with ERR_PROBE. */
int cache_write(int dir, const char *key, const struct probe *probe, struct err *err);
void cache_remove(int dir);

#endif
