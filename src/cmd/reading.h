/*
 * sbx-job read: a part of a job's log, as text or as JSON.
 */
#ifndef SBX_CMD_READING_H
#define SBX_CMD_READING_H

#include "base/err.h"
#include "cmd/options.h"
#include "job/store.h"

/* Prints the lines that the options name: from, lines, follow, errors, output. As text they are what the
 * command wrote, and standard error gets a line on where the job stands. 0, or -1 with ERR_USAGE (the
 * job was removed, or has no such log) or ERR_SYSTEM. */
int reading_print(const struct job *job, const struct options *options, struct err *err);

#endif
