/*
 * A plan in bwrap's words.
 */
#ifndef SBX_PLAN_BWRAP_H
#define SBX_PLAN_BWRAP_H

#include "base/err.h"
#include "base/strvec.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdio.h>

/* bwrap 0.8 takes at most this many words, --args and the command's own included (its MAX_ARGS). */
#define BWRAP_MAX_WORDS 9000

/* The descriptor of the first data in what is printed; others count on from it. */
#define BWRAP_DATA_FD 10

struct bwrap_options {
	bool disable_userns; /* pass --disable-userns (the probe says it works, or nobody asked) */
	bool new_session;    /* pass --new-session */
	bool hostname;       /* pass --hostname */
	bool label;          /* pass --uid and --gid: the command sees itself as uid and gid */
	uid_t uid;
	gid_t gid;
	bool bind_fd;        /* sources are handed over as descriptors: --bind-fd, --ro-bind-fd */
	const struct strvec *env; /* the command's variables, NAME=VALUE */
	struct {
		const void *data; /* borrowed; NULL = none */
		size_t len;
		bool closes_userns; /* it keeps the command from user namespaces */
		bool by_old_option; /* --seccomp, which takes one filter, not --add-seccomp-fd */
	} filter;                   /* of system calls */
};

/* An upstream release of bwrap: major, minor, patch. */
struct bwrap_version {
	unsigned part[3];
};

/* A source that the caller opens or checks right before the run, so that nobody can put something
 * else in its place after it was planned; or the bytes of a file or of the filter, for which the
 * caller makes a descriptor. The word is "" where it wants a descriptor's number. */
struct bwrap_source {
	size_t word;      /* index into words */
	const char *path; /* host path, borrowed from the plan; NULL = data */
	const char *data; /* borrowed from the plan, or the options */
	size_t len;
	bool fd; /* the word wants a descriptor's number */
};

/* All of bwrap's words but argv[0] and the command's; owned by the caller. */
struct bwrap_words {
	struct strvec words;
	struct bwrap_source *sources;
	size_t n_sources, alloc_sources;
};

/* Spells a plan. n_command is the number of the command's own words, for the limit. ERR_PLAN
 * when there are too many words: the message has the count and names the directory that costs
 * most. */
int bwrap_spell(struct bwrap_words *out, const struct plan *plan, const struct policy *policy,
	const struct bwrap_options *options, size_t n_command, struct err *err);
void bwrap_words_clear(struct bwrap_words *words);

/* "MAJOR.MINOR" or "MAJOR.MINOR.PATCH", decimal and nothing else; false when it is not. */
bool bwrap_version_parse(struct bwrap_version *version, const char *text);
/* Fits a proven plan and its options to a release of bwrap, so that bwrap_spell uses no option that
 * the release lacks. What the plan can do without is taken out, with a note in the plan: the
 * default sizes of tmpfs, and disable_userns; for the filter an older option does the same. Where
 * it cannot, ERR_PLAN names the option, the release that has it, and what needs it. */
int bwrap_fit(struct plan *plan, struct bwrap_options *options, const struct policy *policy,
	const struct bwrap_version *target, struct err *err);

/* Prints one option with its operands a line, shell-quoted, " \" at line ends, data as
 * here-documents on descriptors from BWRAP_DATA_FD on (what is no text by base64(1)), then the
 * command (NULL-terminated, may be empty), so that the text pasted after "bwrap " works in bash. A
 * variable that the policy calls a secret gets its value from the shell's, which has to have it; what
 * words have for it is not looked at. */
void bwrap_print(FILE *out, const struct bwrap_words *words, const struct policy *policy,
	char *const *command);

/* One op as bwrap_print writes it (data on descriptor 10); free with free(). */
char *bwrap_op_text(const struct op *op);

#endif
