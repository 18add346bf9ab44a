/*
 * Attacks on a sandbox, from inside. Each is a row of a table: a function, what it is tried on, and what it must see.
 * It runs in a process of its own, and ends it by broke() or held(); an end without one, or a time of more than
 * ten seconds, is no answer and so a failure.
 *
 * What an attack has to know of the host (a path, a process, a word that is a secret) are facts: NAME=VALUE arguments of
 * the program. "{NAME}" in a row stands for one.
 */
#ifndef ATTACK_ATTACK_H
#define ATTACK_ATTACK_H

/* What keeps an attack out, where it is not the namespaces and mounts: the test judges it only once that is there. */
enum needs { NEEDS_NOTHING, NEEDS_FILTER, NEEDS_MODE_FILTER, NEEDS_LEASE_FILTER, NEEDS_TERMINAL };

struct attack {
	const char *name;
	const char *tries; /* in words, for the table of the documentation */
	const char *sees;  /* what may keep it out: names of errors and words of held(), a space between */
	void (*run)(const char *target);
	const char *target;	/* facts replaced; NULL = none */
	const char *no_control; /* why it cannot succeed without a sandbox either; NULL = it must */
	enum needs needs;
};

/* The tables: each ends with a row without a name. */
extern const struct attack attacks_read[], attacks_write[], attacks_mount[], attacks_process[], attacks_ipc[],
	attacks_kernel[], attacks_terminal[];

/* The fact's value; one that was not given is a mistake of the test's, and ends the attack without an answer. */
const char *fact(const char *name);
/* The text with its facts replaced; never freed. */
const char *expand(const char *text);

/* Ends the attack: it got at something. */
_Noreturn void broke(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the attack: what kept it. */
_Noreturn void held(const char *word);
_Noreturn void held_by_errno(void);
/* Ends the attack by the result of a system call: broke when it is not -1. */
_Noreturn void judge(long result);

/*
 * The word that is in every secret. It comes backwards, the fact "drow", since the words of this program's command line
 * are no secret: they are seen in other places.
 */
const char *secret_word(void);
/* Whether it is a file whose next bytes have the secret word in them. */
int has_secret(int fd);

#endif
