/*
 * What went wrong, for whoever has to tell it. A function that can fail returns 0, or -1 with a
 * struct err filled in; only main prints. message says what was wanted and what happened, hint what
 * to do about it, at names the place (a policy file and JSON pointer, a flag, a path).
 */
#ifndef SBX_BASE_ERR_H
#define SBX_BASE_ERR_H

enum err_kind {
	ERR_NONE,
	ERR_USAGE,          /* the command line is wrong: exit 2 */
	ERR_POLICY,         /* a policy cannot be read or contradicts itself */
	ERR_PLAN,           /* the policy cannot be carried out on this host, or was not proven */
	ERR_PROBE,          /* this host or this bwrap cannot isolate */
	ERR_SETUP,          /* the sandbox could not be made */
	ERR_NOT_FOUND,      /* the command is not in the sandbox: exit 127 */
	ERR_NOT_EXECUTABLE, /* it is there and cannot be executed: exit 126 */
	ERR_SYSTEM,         /* a system call that should not fail did */
};

struct err {
	enum err_kind kind;
	char message[2048];
	char hint[1024]; /* "" = none */
	char at[1024];   /* "" = none */
};

/* Each fills its field (too long a text loses its middle) and returns -1, so that callers can return it.
 * err_set clears hint and at; err_hint and err_at add to what err_set said. */
int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_at(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The hint, or, for an error that came without one, where its kind is explained. */
const char *err_hint_text(const struct err *err);

/* The word for a kind in reports: "policy", "plan", "not-found" ... */
const char *err_kind_name(enum err_kind kind);

#endif
