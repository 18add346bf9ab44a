/*
 * The filter of system calls: which are refused, and the program for the kernel that refuses them.
 *
 * A filter is a list of what is denied: what docker's and flatpak's lists deny and ordinary programs
 * do not need. All else is allowed, but for calls that are newer than this list. A denial is an errno
 * that programs know how to take, never the end of the process unless that is asked for:
 *
 *   EPERM         not allowed
 *   ENOSYS        as if the kernel did not have it: programs then do without, or call an older one
 *   EAFNOSUPPORT  as if it did not have this kind of socket
 *
 * The caller's architecture is the only one: calls of others (int 0x80, a 32-bit program) and of x32
 * answer ENOSYS as in a kernel built without them. Whoever starts a program for one sees it end at its
 * first steps, by its own doing.
 *
 * The only includer of libseccomp, and of no policy. It is also linked into the program that makes the
 * built-in filters when sbx is built (src/cmd/seccomp-builtin.c).
 */
#ifndef SBX_RUN_SECCOMP_H
#define SBX_RUN_SECCOMP_H

#include "base/err.h"
#include "base/strvec.h"

#include <stdbool.h>
#include <stddef.h>

struct sock_filter;

enum filter_profile {
	FILTER_NONE,    /* nothing but what deny names */
	FILTER_DEFAULT, /* what ordinary programs do not need */
	FILTER_STRICT,  /* also sockets that reach further than the sandbox, and programs in memory */
	FILTER_PROFILES,
};

struct filter_spec {
	enum filter_profile profile;
	bool nested_userns; /* what namespaces are made of, and mounts in them, is allowed */
	bool network;       /* STRICT: sockets of the network can be made */
	bool kill;          /* what would be EPERM, or is a foreign architecture's, kills the process */
	const struct strvec *allow, *deny; /* names of calls that exist; of a call in both, deny
					      holds. NULL = none */
};

/* The architectures that there are filters for. */
enum filter_arch { FILTER_X86_64, FILTER_AARCH64, FILTER_ARCHES };
/* This program's own; FILTER_ARCHES: neither. */
enum filter_arch filter_native(void);

/* "none", "default", "strict"; "x86_64", "aarch64". */
const char *filter_profile_name(enum filter_profile profile);
const char *filter_arch_name(enum filter_arch arch);

/* Whether the kernel has filters, and lets this process set one. */
bool filter_works(void);
/* Whether a name is that of a system call, of this architecture or another. */
bool filter_knows(const char *name);
/* The call that a name looks like, or NULL; free with free(). */
char *filter_nearest(const char *name);
/* Whether there is anything to filter. */
bool filter_needed(const struct filter_spec *spec);
/* Whether no user namespace can be made, or entered, under the filter. */
bool filter_closes_userns(const struct filter_spec *spec);

/* A program of the kernel's (struct sock_filter each), in bytes. Zero-initialise; ended by
 * filter_program_clear. */
struct filter_program {
	void *data;
	size_t len;
};

/* Makes the filter for this program's architecture: a built-in one where there are no lists and no
 * kill, else by libseccomp. ERR_SETUP: there is none, and nothing may be run. */
int filter_make(struct filter_program *program, const struct filter_spec *spec, struct err *err);
/* The same by libseccomp always, for any of the architectures. */
int filter_build(struct filter_program *program, const struct filter_spec *spec,
	enum filter_arch arch, struct err *err);
void filter_program_clear(struct filter_program *program);
/* Whether the kernel takes it from this process: a child tries, and is gone. */
bool filter_loads(const struct filter_program *program);

/* A filter that was made when sbx was built. */
struct filter_builtin {
	enum filter_profile profile;
	bool nested_userns, network;
	const struct sock_filter *code;
	size_t len; /* bytes */
};
/* Those for this architecture, ended by one without code. */
extern const struct filter_builtin filter_builtins[];

/* The filter in words, a line each: appended to lines. arch is not looked at where none is needed. */
void filter_describe(
	const struct filter_spec *spec, enum filter_arch arch, struct strvec *lines);

#endif
