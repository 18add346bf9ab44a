/*
 * The policy: what a run may see, change and use, as one merged list of rules and a few scalars.
 *
 * A policy comes from layers: policies named with -p (each preceded by what it extends, left to
 * right), then the command line. A later layer overrides an earlier one at the same path; lists
 * append, scalars replace. What nobody sets takes the safest value: root deny, network none,
 * environment minimal, no capability, system calls filtered as by "default", a /tmp of the sandbox's
 * own.
 *
 * Everything here is text: no path of the host is looked at (only policy files are read, and the
 * file of environment.file).
 */
#ifndef SBX_POLICY_POLICY_H
#define SBX_POLICY_POLICY_H

#include "base/err.h"
#include "base/json.h"
#include "base/strvec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a path may be used for; each includes the ones before it. */
enum access { ACCESS_DENY, ACCESS_READ, ACCESS_WRITE };

/* "deny", "read", "write". */
const char *access_name(enum access access);

enum rule_kind {
	RULE_ROOT,   /* filesystem.root: the access of every path no other rule covers; path "/" */
	RULE_PATH,   /* filesystem.read, write, deny, connect: path names a host object */
	RULE_MOUNT,  /* filesystem.mounts: the host object path shown at the sandbox path at */
	RULE_TMPFS,  /* filesystem.tmpfs: a directory of the sandbox's own at at */
	RULE_FILE,   /* filesystem.files: a small read-only file with text at at */
	RULE_DEVICE, /* filesystem.devices: the device node path, usable as one */
	RULE_PROC,   /* filesystem.proc: at "/proc" */
	RULE_DEV,    /* filesystem.dev: at "/dev" */
};

/* What HOME and TMPDIR are in scratch. */
#define SCRATCH_HOME "home"
#define SCRATCH_TMP "tmp"

/* How a denied file looks: open fails with EACCES, or it is empty and read-only. */
enum mask { MASK_EACCES, MASK_EMPTY };

/* What becomes of a protected name that the host does not have. */
enum missing {
	MISSING_WATCH,      /* nothing is put on the host; a run watches the name */
	MISSING_QUARANTINE, /* the same, and what appears is moved aside */
	MISSING_ENFORCE,    /* it cannot appear: a placeholder is held there, or its directory does
			       not show what the host adds */
};
/* What the object that a rule leads to has to be, or the rule does not count. */
enum rule_type { TYPE_ANY, TYPE_FILE, TYPE_DIRECTORY };

/* Where a rule was written. */
struct origin {
	char *file;     /* a path, "built-in policy NAME", "command line" or "default" */
	char *pointer;  /* JSON pointer ("/filesystem/deny/2") or flag ("--read /x"); "" = none */
	unsigned layer; /* 0 = the language's own defaults; later layers have greater numbers */
};

/* "FILE: POINTER", as err->at has it; "FILE" without a pointer. Free with free(). */
char *origin_text(const struct origin *origin);

struct rule {
	enum rule_kind kind;
	enum access access; /* ROOT, PATH, MOUNT; TMPFS: write, or read for a sealed one */
	char *path;         /* ROOT, PATH, MOUNT (source), DEVICE: normal host path; else NULL */
	char *at;           /* MOUNT, TMPFS, FILE, PROC, DEV: normal sandbox path; else NULL */
	bool pattern;       /* PATH: path is a pattern (policy/value.h), what "~", "./" ... stand for
			       escaped; plan/glob.h puts what it matches in its place */
	char *spelled;      /* the host path before ".." was taken out, when it has one; else NULL:
			       the planner checks that no link makes the two differ */
	char *name;         /* for "off"; NULL = none */
	char *why;          /* the policy's own words; NULL = none */
	char *text;         /* FILE: contents (text_len bytes, also NUL-terminated); else NULL */
	size_t text_len;
	uint64_t size;      /* TMPFS: bytes; 0 = the default */
	bool scratch;       /* TMPFS: for the command's user alone, with SCRATCH_HOME and
			       SCRATCH_TMP made in it; one rule at most */
	enum mask mask;     /* PATH with ACCESS_DENY */
	enum missing missing; /* PATH with ACCESS_DENY or READ */
	enum rule_type type; /* PATH: FILE is a regular file. Where the path leads to an object of
				another type, the rule is as if it were not written */
	bool lost_report;   /* PATH with ACCESS_DENY or READ: when its cover is stripped during a
			       run, that is only reported; else it ends the run */
	bool optional;      /* PATH, MOUNT, DEVICE: may be missing on the host */
	bool follow;        /* PATH read and write, MOUNT: links in the caller's own directories may
			       raise access, as root's do */
	bool final;         /* PATH: no later layer raises access in path, or mounts from it */
	bool relative;      /* written as "./..." */
	bool worktree;      /* PATH with ACCESS_WRITE: path is the .git of a checkout; plan/worktree.h
			       puts what a linked worktree needs in its place */
	bool connect;       /* PATH with ACCESS_READ: path has to be a socket */
	bool socket;        /* PATH with ACCESS_DENY: made by the planner for a live socket that no
			       rule names (plan/places.h); in no policy */
	struct strvec grants; /* final: normal host paths below path that later layers may use */
	struct origin origin;
};

/* "deny /x", "mount /x at /y (read)": for people. Free with free(). */
char *rule_text(const struct rule *rule);

enum network { NETWORK_NONE, NETWORK_HOST };
enum proc_mode { PROC_AUTO, PROC_FRESH, PROC_BIND, PROC_NONE };
enum dev_mode { DEV_MINIMAL, DEV_NONE };
/* Whether what the host mounts, or takes away, during a run does so inside. */
enum propagation { PROPAGATION_PRIVATE, PROPAGATION_SLAVE };
enum env_base { ENV_MINIMAL, ENV_NONE, ENV_FILE };
/* How regular files reach the command as 0, 1 and 2. */
enum stdio_mode { STDIO_PIPE, STDIO_DIRECT };

/* identity.user. */
struct policy_user {
	enum { USER_CALLER, USER_NUMBER, USER_OWNER } kind;
	uid_t uid;    /* NUMBER */
	gid_t gid;    /* NUMBER with has_gid */
	bool has_gid;
	char *where;  /* where it was written, as err->at has it; NULL = nowhere */
};

/* limits: what a run may use; 0 = no limit, except in core. Nothing here says whether a host can
 * enforce one. */
struct policy_limits {
	uint64_t wall_ms;    /* from start to end */
	uint64_t cpu_ms;     /* processor time of all processes together */
	uint64_t memory;     /* bytes, of all together: LIMIT_MIN_MEMORY or more */
	uint64_t processes;  /* threads count, and three around the command: LIMIT_MIN_PROCESSES
				or more */
	uint64_t output;     /* bytes, of stdout and of stderr each */
	bool output_kill;    /* more output ends the run; else it is dropped */
	uint64_t file_size;  /* bytes of one file */
	uint64_t open_files; /* descriptors of one process */
	uint64_t core;       /* bytes of one core file; 0 = none is written, the default */
};
#define LIMIT_MIN_MEMORY (1ULL << 20)
#define LIMIT_MIN_PROCESSES 4

/* seccomp: which system calls are refused. Nothing here knows their names. */
struct policy_seccomp {
	enum { PROFILE_NONE = -1, PROFILE_DEFAULT, PROFILE_STRICT } profile; /* by strength */
	bool kill;                 /* a refused call kills; else it fails */
	struct strvec allow, deny; /* pairs: a name as written, where it was written */
};

/* NAME=VALUE of environment.set, or of environment.file. */
struct env_set {
	char *name, *value;
};

/* A name of environment.secrets and the place where it was written ("FILE: POINTER"). */
struct env_secret {
	char *name, *where;
};

/* environment.prepend: what comes before the value of a variable that is a list with colons. */
struct env_prepend {
	char *name;
	struct strvec dirs; /* normal sandbox paths without a colon */
};

/* What the image that a run is started in has to be called, and where that was written. */
struct image_name {
	char *wanted; /* NULL = anything */
	char *where;  /* "FILE: POINTER" */
};

/* The merged policy. Owned by the caller, who fills it with policy_load and ends it with
 * policy_clear; everything in it is owned by it. */
struct policy {
	char *description; /* of the last layer that has one, or NULL */
	struct rule *rules;  /* one for each place and type; includes exactly one ROOT, and PROC,
				DEV and the TMPFS at /tmp unless the policy turns them off or
				replaces them */
	size_t n_rules;
	enum network network;
	enum proc_mode proc; /* NONE: there is no PROC rule */
	enum dev_mode dev;   /* NONE: there is no DEV rule */
	bool verify;         /* the sandbox's mount table is compared with the plan, always */
	enum propagation propagation;
	struct policy_user user;
	char *hostname;      /* NULL = "sbx" */
	enum env_base env_base;
	char *env_file;           /* with ENV_FILE: a normal host path */
	struct env_set *env_given; /* with ENV_FILE: what is in it; the names are not checked */
	size_t n_env_given;
	struct strvec env_inherit; /* names or PREFIX* */
	struct env_set *env_set;
	size_t n_env_set;
	struct env_secret *env_secrets; /* none of them is set or prepended to as well */
	size_t n_env_secrets;
	struct env_prepend *env_prepend;
	size_t n_env_prepend;
	char *cwd;                   /* normal sandbox path; NULL = the caller's */
	bool nested_userns;
	struct strvec capabilities;  /* "CAP_..." names, checked */
	enum stdio_mode stdio;
	struct policy_seccomp seccomp;
	struct policy_limits limits;
	bool cgroup_manage;          /* the caller's own processes may be moved into a leaf of
					their cgroup, so that it can have controllers */
	struct image_name image_build, image_base;
	struct strvec require;       /* pairs: what has to hold, where it was written; see
					policy_requires */
	struct strvec own;           /* normal paths of sbx's own files and those that it was
					loaded from, which nothing may make writable: for what
					patterns match the planner sees to it */
};

/* What "~", "./" and names of policies mean for one caller. Borrowed strings. */
struct policy_context {
	const char *home;        /* absolute; NULL = unknown: "~" is then an error */
	const char *home_real;   /* home with its links followed; NULL = the same. To refuse "./" in
				    it: cwd never has links */
	const char *cwd;         /* absolute, canonical; NULL = unknown: "./" is then an error */
	const char *config_home; /* $XDG_CONFIG_HOME, or NULL: ~/.config */
	char *const *hidden;     /* those of them that no sandbox shows, in the same way */
	char *const *own;        /* more places of sbx's own, absolute, ended by NULL; or NULL */
};

/* Loads and merges. names: policies in order, each a NAME (no slash: built-in, else
 * CONFIG_HOME/sbx/policies/NAME.json, else /etc/sbx/policies/NAME.json; a built-in name cannot
 * be shadowed) or a FILE (has a slash). flags: the command line's layer as a policy document
 * (borrowed; may be NULL), whose rules get the origin "command line"; flag_names maps its JSON
 * pointers to flags (pairs: pointer, flag; may be NULL) for messages. Errors have kind
 * ERR_POLICY (a flag whose value is misspelled: ERR_USAGE) and name the file and JSON pointer,
 * both places when two contradict each other. After an error the policy is empty. */
int policy_load(struct policy *policy, const struct strvec *names, const json *flags,
	const struct strvec *flag_names, const struct policy_context *context, struct err *err);
void policy_clear(struct policy *policy);

/* One policy document that is already in memory as text (file names it in messages; dir is what
 * @policy means, NULL = an error). For tests and fuzzing: policy_load without files. */
int policy_load_text(struct policy *policy, const char *text, size_t len, const char *file,
	const char *dir, const struct policy_context *context, struct err *err);

/* Whether two rules for one place stand beside each other: a denied host object, and what the
 * sandbox shows there instead. */
bool policy_coexist(const struct rule *a, const struct rule *b);
/* Whether a rule of a later layer leaves to a final rule what is final, as far as the text of two
 * literal paths says: 0, or -1 with ERR_POLICY and both places. */
int policy_check_final(const struct rule *rule, const struct rule *final, struct err *err);

/* Whether the image is the one that the policy wants, as far as SBX_IMAGE_BUILD and SBX_IMAGE_BASE of
 * caller_env, or else "build" and "base" of file, say what it is: 0, or -1 with ERR_POLICY. file has
 * to be one that only root and the caller can change; it need not be there. */
int policy_check_image(const struct policy *policy, char *const *caller_env, const char *file,
	struct err *err);
/* Where the policy requires what name says ("FILE: POINTER", borrowed), or NULL: it does not. Names
 * are "protect" (no protected name is left to the command), "fresh-proc" (/proc is the sandbox's
 * own), and those of enforcement in a report: what they name is then asked for by the policy, and
 * whoever runs it refuses where it cannot be enforced. */
const char *policy_requires(const struct policy *policy, const char *name);
/* Those names, NULL-terminated. */
const char *const *policy_require_names(void);
/* Whether caller_env has all secrets: 0, or -1 with ERR_POLICY. */
int policy_check_secrets(const struct policy *policy, char *const *caller_env, struct err *err);
bool policy_is_secret(const struct policy *policy, const char *name);

/* The command's environment, NAME=VALUE each, built from nothing: base, then inherit (from
 * caller_env, first of duplicates wins), then HOME and TMPDIR of scratch, then set, then secrets,
 * then prepend. HOME of the base comes from context. Without with_secrets the values of secrets are empty. What was skipped and why is
 * appended to notes. */
void policy_environment(const struct policy *policy, char *const *caller_env,
	const struct policy_context *context, bool with_secrets, struct strvec *out,
	struct strvec *notes);

/* The names of the built-in policies, NULL-terminated, and the text of one (NULL = no such
 * name). */
const char *const *policy_builtin_names(void);
const char *policy_builtin_text(const char *name);

#endif
