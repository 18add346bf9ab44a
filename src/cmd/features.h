/*
 * sbx-exec --probe: what bwrap can do on this host, for people or as JSON.
 */
#ifndef SBX_CMD_FEATURES_H
#define SBX_CMD_FEATURES_H

#include "base/err.h"
#include "base/strvec.h"
#include "run/limits.h"
#include "run/probe.h"

#include <stdbool.h>

/* All borrowed. */
struct features {
	const char *bwrap;           /* its path; NULL = none was found */
	const struct probe *probe;   /* NULL = nothing could be tried */
	enum probe_proc proc;        /* what a run with "proc": "auto" has */
	const struct limits *limits; /* of a run with all of them */
	const struct strvec *notes;
	const struct err *err; /* why commands cannot be isolated; NULL = they can */
};

/* Prints on standard output. */
void features_print(const struct features *f, bool as_json);

#endif
