/*
 * What sbx-job says of a job. The documents that it comes from may have been written by anybody.
 */
#ifndef SBX_CMD_DESCRIBE_H
#define SBX_CMD_DESCRIBE_H

#include "base/json.h"
#include "job/store.h"

/* A field of the report (borrowed); NULL when there is none, or no report. */
const json *describe_report(const struct job_facts *facts, const char *key);
/* Adds to an object the fields that list and read share: who it is, and how it goes or went. */
void describe_fields(json *object, const struct job *job, const struct job_facts *facts);
/* What list says: an object (owned), or a line on standard output. */
json *describe_as_json(const struct job *job, const struct job_facts *facts);
void describe_as_text(const struct job *job, const struct job_facts *facts);

#endif
