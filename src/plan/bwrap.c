#include "plan/bwrap.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/quote.h"
#include "plan/places.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Room for what a run adds: bwrap's name, --args, status and block descriptors, "--". */
#define RESERVED_WORDS 16

/* An option that is used here or for a run (run/launch.c). */
struct option {
	const char *name;
	size_t operands;
	struct bwrap_version since; /* the first upstream release that has it */
};

/* Facts from upstream's release notes (github.com/containers/bubblewrap/releases: 0.5.0, 0.7.0,
 * 0.8.0), and from the options that bubblewrap.c of 0.4.1, 0.8.0 and 0.12.0 takes. The descriptors
 * came with 0.10.0 (Debian's changelog of 0.8.0-2+deb12u1, which has them too), --add-seccomp-fd
 * (pull request 459) with 0.6.0. Up to 0.13.1 none was taken out. {{0}}: in 0.4.1, if not long before. When is of no account: for want of
 * --clearenv no plan can be carried out before 0.5.0. */
static const struct option options_known[] = {
	{"--add-seccomp-fd", 1, {{0, 6, 0}}},
	{"--args", 1, {{0}}},
	{"--bind", 2, {{0}}},
	{"--bind-fd", 2, {{0, 10, 0}}},
	{"--block-fd", 1, {{0}}},
	{"--cap-add", 1, {{0}}},
	{"--cap-drop", 1, {{0}}},
	{"--chdir", 1, {{0}}},
	{"--clearenv", 0, {{0, 5, 0}}},
	{"--dev", 1, {{0}}},
	{"--dev-bind", 2, {{0}}},
	{"--die-with-parent", 0, {{0}}},
	{"--dir", 1, {{0}}},
	{"--disable-userns", 0, {{0, 8, 0}}},
	{"--gid", 1, {{0}}},
	{"--hostname", 1, {{0}}},
	{"--json-status-fd", 1, {{0}}},
	{"--mqueue", 1, {{0}}},
	{"--new-session", 0, {{0}}},
	{"--perms", 1, {{0, 5, 0}}},
	{"--proc", 1, {{0}}},
	{"--remount-ro", 1, {{0}}},
	{"--ro-bind", 2, {{0}}},
	{"--ro-bind-data", 2, {{0}}},
	{"--ro-bind-fd", 2, {{0, 10, 0}}},
	{"--seccomp", 1, {{0}}},
	{"--setenv", 2, {{0}}},
	{"--size", 1, {{0, 7, 0}}},
	{"--symlink", 2, {{0}}},
	{"--tmpfs", 1, {{0}}},
	{"--uid", 1, {{0}}},
	{"--unshare-cgroup-try", 0, {{0}}},
	{"--unshare-ipc", 0, {{0}}},
	{"--unshare-net", 0, {{0}}},
	{"--unshare-pid", 0, {{0}}},
	{"--unshare-user", 0, {{0}}},
	{"--unshare-uts", 0, {{0}}},
};

static const struct option *find_option(const char *name)
{
	const struct option *o = options_known;

	while (strcmp(o->name, name) != 0) {
		o++;
		assert(o < options_known + sizeof(options_known) / sizeof(*options_known));
	}
	return o;
}

static void spell_perms(struct strvec *w, unsigned mode)
{
	strvec_push(w, "--perms");
	strvec_pushf(w, "%04o", mode);
}

static void add_source(struct bwrap_words *out, struct bwrap_source source)
{
	GROW(out->sources, out->n_sources, out->alloc_sources);
	out->sources[out->n_sources++] = source;
}

/* A bind by path, or by descriptor where the option has a form for it. Parts of /proc go by
 * path: the /proc around bwrap is not the one that a descriptor was opened in. */
static void spell_bind(struct bwrap_words *out, const char *by_path, const char *by_fd,
	const char *source, const char *dest)
{
	struct strvec *w = &out->words;

	if (path_within(source, "/proc"))
		by_fd = NULL;
	strvec_pushl(w, by_fd ? by_fd : by_path, by_fd ? "" : source, dest, NULL);
	add_source(
		out, (struct bwrap_source){.word = w->n - 2, .path = source, .fd = by_fd != NULL});
}

static void spell_op(struct bwrap_words *out, const struct op *op, bool fds)
{
	struct strvec *w = &out->words;

	switch (op->kind) {
	case OP_BIND_READ:
		spell_bind(out, "--ro-bind", fds ? "--ro-bind-fd" : NULL, op->source, op->dest);
		break;
	case OP_BIND_WRITE:
		spell_bind(out, "--bind", fds ? "--bind-fd" : NULL, op->source, op->dest);
		break;
	case OP_DEV_BIND:
		spell_bind(out, "--dev-bind", NULL, op->source, op->dest);
		break;
	case OP_TMPFS:
		spell_perms(w, op->mode);
		if (op->size) {
			strvec_push(w, "--size");
			strvec_pushf(w, "%" PRIu64, op->size);
		}
		strvec_pushl(w, "--tmpfs", op->dest, NULL);
		break;
	case OP_DIR:
		spell_perms(w, op->mode);
		strvec_pushl(w, "--dir", op->dest, NULL);
		break;
	case OP_SYMLINK:
		strvec_pushl(w, "--symlink", op->source, op->dest, NULL);
		break;
	case OP_FILE:
		spell_perms(w, 0444);
		strvec_pushl(w, "--ro-bind-data", "", op->dest, NULL);
		add_source(out, (struct bwrap_source){.word = w->n - 2,
					.data = op->data,
					.len = op->data_len,
					.fd = true});
		break;
	case OP_DENY_DIR:
		spell_perms(w, op->mode);
		strvec_pushl(w, op->scaffold ? "--dir" : "--tmpfs", op->dest, NULL);
		break;
	case OP_DENY_FILE:
		spell_bind(out, "--ro-bind", fds ? "--ro-bind-fd" : NULL, "/dev/null", op->dest);
		break;
	case OP_PROC:
		strvec_pushl(w, "--proc", op->dest, NULL);
		break;
	case OP_DEV:
		strvec_pushl(w, "--dev", op->dest, NULL);
		break;
	case OP_MQUEUE:
		strvec_pushl(w, "--mqueue", op->dest, NULL);
		break;
	case OP_SEAL:
		strvec_pushl(w, "--remount-ro", op->dest, NULL);
		break;
	}
}

static void spell_isolation(
	struct bwrap_words *out, const struct policy *policy, const struct bwrap_options *options)
{
	struct strvec *w = &out->words;

	/* An empty environment of bwrap's own is the caller's part; --clearenv is for pasted
	 * lines. Without a user namespace a bound /proc would give away the environment, memory
	 * and files of other processes, so there is no plan without. */
	strvec_pushl(w, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		"--unshare-cgroup-try", NULL);
	if (options->label) {
		strvec_push(w, "--uid");
		strvec_pushf(w, "%u", options->uid);
		strvec_push(w, "--gid");
		strvec_pushf(w, "%u", options->gid);
	}
	if (policy->network == NETWORK_NONE)
		strvec_push(w, "--unshare-net");
	strvec_push(w, "--die-with-parent");
	if (options->hostname)
		strvec_pushl(w, "--hostname", policy->hostname ? policy->hostname : "sbx", NULL);
	strvec_pushl(w, "--cap-drop", "ALL", NULL);
	for (size_t i = 0; i < policy->capabilities.n; i++)
		strvec_pushl(w, "--cap-add", policy->capabilities.v[i], NULL);
	if (options->disable_userns)
		strvec_push(w, "--disable-userns");
	if (options->new_session)
		strvec_push(w, "--new-session");
	if (options->filter.data) {
		const char *option =
			options->filter.by_old_option ? "--seccomp" : "--add-seccomp-fd";

		strvec_pushl(w, option, "", NULL);
		add_source(out, (struct bwrap_source){.word = w->n - 1,
					.data = options->filter.data,
					.len = options->filter.len,
					.fd = true});
	}
}

/* Where the command starts, and with which variables. */
static void spell_start(struct strvec *w, const char *cwd, const struct strvec *env)
{
	strvec_pushl(w, "--chdir", cwd, "--clearenv", NULL);
	for (size_t i = 0; i < env->n; i++) {
		const char *equals = strchr(env->v[i], '=');

		strvec_push(w, "--setenv");
		strvec_take(w, xstrndup(env->v[i], (size_t)(equals - env->v[i])));
		strvec_push(w, equals + 1);
	}
}

static int check_size(
	const struct bwrap_words *out, const struct plan *plan, size_t n_command, struct err *err)
{
	size_t n = out->words.n + n_command + RESERVED_WORDS;
	CLEANUP_FREE char *dir = NULL;
	size_t most;

	if (n <= BWRAP_MAX_WORDS)
		return 0;
	dir = plan_dearest_directory(plan, &most);
	err_set(err, ERR_PLAN,
		"the plan needs %zu words and bwrap takes %d: %zu of its %zu mounts lie in %s", n,
		BWRAP_MAX_WORDS, most, plan->n, dir);
	return err_hint(err,
		"deny the whole directory instead of many files in it, or create the names that"
		" rules need there on the host, so that it need not be opened");
}

int bwrap_spell(struct bwrap_words *out, const struct plan *plan, const struct policy *policy,
	const struct bwrap_options *options, size_t n_command, struct err *err)
{
	*out = (struct bwrap_words){0};
	spell_isolation(out, policy, options);
	for (size_t i = 0; i < plan->n; i++)
		spell_op(out, &plan->ops[i], options->bind_fd);
	spell_start(&out->words, plan->cwd, options->env);
	return check_size(out, plan, n_command, err);
}

void bwrap_words_clear(struct bwrap_words *words)
{
	strvec_clear(&words->words);
	free(words->sources);
	*words = (struct bwrap_words){0};
}

/* Releases of bwrap */

bool bwrap_version_parse(struct bwrap_version *version, const char *text)
{
	*version = (struct bwrap_version){0};
	for (size_t i = 0; i < 3; i++) {
		size_t len = strspn(text, "0123456789");

		if (len == 0 || len > 4 || (len > 1 && *text == '0'))
			return false;
		version->part[i] = (unsigned)strtoul(text, NULL, 10);
		text += len;
		if (!*text)
			return i > 0;
		if (*text++ != '.')
			return false;
	}
	return false;
}

/* Whether the one release came before the other. */
static bool is_older(const struct bwrap_version *v, const struct bwrap_version *other)
{
	for (size_t i = 0; i < 3; i++)
		if (v->part[i] != other->part[i])
			return v->part[i] < other->part[i];
	return false;
}

static char *version_text(const struct bwrap_version *v)
{
	return xasprintf("%u.%u.%u", v->part[0], v->part[1], v->part[2]);
}

/* What a release lacks, and for which step. */
struct lack {
	const struct bwrap_version *target;
	const struct option *option; /* NULL: nothing */
	const struct op *op;         /* NULL: no step in particular */
};

/* "bwrap 0.6.2 has no --size (0.7.0 has it)" */
static char *lack_text(const struct lack *lack)
{
	CLEANUP_FREE char *target = version_text(lack->target);
	CLEANUP_FREE char *since = version_text(&lack->option->since);

	return xasprintf("bwrap %s has no %s (%s has it)", target, lack->option->name, since);
}

/* NULL when the target has the option. */
static char *lack_of(const struct bwrap_version *target, const char *name)
{
	struct lack lack = {target, find_option(name), NULL};

	return is_older(target, &lack.option->since) ? lack_text(&lack) : NULL;
}

/* Looks through words for what is missing; of several the newest, so that whoever gets that gets
 * all. */
static void find_lack(struct lack *lack, const struct strvec *words, const struct op *op)
{
	for (size_t i = 0; i < words->n;) {
		const struct option *o = find_option(words->v[i]);

		if (is_older(lack->option ? &lack->option->since : lack->target, &o->since)) {
			lack->option = o;
			lack->op = op;
		}
		i += 1 + o->operands;
	}
}

static int err_lack(const struct lack *lack, struct err *err)
{
	CLEANUP_FREE char *text = lack_text(lack);
	CLEANUP_FREE char *step = lack->op ? bwrap_op_text(lack->op) : NULL;

	err_set(err, ERR_PLAN, "%s, and %s%s", text,
		step ? "the plan needs it: " : "no plan can do without it", step ? step : "");
	err_hint(err, "%s",
		lack->op && lack->op->why->size
			? "use that bwrap or a later one there, or take the size out of the rule"
			: "use that bwrap or a later one there");
	return lack->op ? err_rule(err, lack->op->why) : -1;
}

/* Capabilities are given in a second user namespace alone: in bwrap's first one they could
 * unmount every cover. */
static int err_capabilities(const char *lack, struct err *err)
{
	err_set(err, ERR_PLAN,
		"%s, and the policy gives capabilities: the command could undo the sandbox", lack);
	return err_hint(err,
		"use that bwrap or a later one there, or take process.capabilities out of the "
		"policy");
}

int bwrap_fit(struct plan *plan, struct bwrap_options *options, const struct policy *policy,
	const struct bwrap_version *target, struct err *err)
{
	CLEANUP_FREE char *no_userns = lack_of(target, "--disable-userns");
	CLEANUP_FREE char *no_size = lack_of(target, "--size");
	CLEANUP_FREE char *no_add = lack_of(target, "--add-seccomp-fd");
	struct bwrap_words rest = {0};
	struct lack lack = {.target = target};

	if (no_userns && policy->capabilities.n)
		return err_capabilities(no_userns, err);
	if (no_userns && options->disable_userns) {
		options->disable_userns = false;
		strvec_pushf(&plan->notes, "nested user namespaces are not disabled: %s; %s",
			no_userns,
			options->filter.closes_userns
				? "the system call filter alone keeps them off"
				: "in one, covers below something writable can be taken off");
	}
	for (size_t i = 0; i < plan->n; i++) {
		struct op *op = &plan->ops[i];
		struct bwrap_words words = {0};

		if (no_size && op->size && !op->why->size) {
			op->size = 0;
			strvec_pushf(&plan->notes, "%s is not bounded: %s", op->dest, no_size);
		}
		spell_op(&words, op, options->bind_fd);
		find_lack(&lack, &words.words, op);
		bwrap_words_clear(&words);
	}
	options->filter.by_old_option = no_add != NULL;
	spell_isolation(&rest, policy, options);
	spell_start(&rest.words, plan->cwd, options->env);
	find_lack(&lack, &rest.words, NULL);
	bwrap_words_clear(&rest);
	return lack.option ? err_lack(&lack, err) : 0;
}

/* Printing */

static void print_word(FILE *out, const char *word)
{
	CLEANUP_FREE char *quoted = shell_quote(word);

	fputs(quoted, out);
}

char *bwrap_op_text(const struct op *op)
{
	struct bwrap_words words = {0};
	char *text = NULL;

	spell_op(&words, op, false);
	for (size_t i = 0; i < words.words.n; i++) {
		const char *word = words.words.v[i];
		CLEANUP_FREE char *quoted =
			op->kind == OP_FILE && !*word ? xstrdup("10") : shell_quote(word);
		char *longer = text ? xasprintf("%s %s", text, quoted) : xstrdup(quoted);

		free(text);
		text = longer;
	}
	bwrap_words_clear(&words);
	return text;
}

/* A here-document holds whole lines only; other data comes from a process substitution. */
static bool is_lines(const struct bwrap_source *file)
{
	return file->len && file->data[file->len - 1] == '\n' &&
	       !memchr(file->data, '\0', file->len);
}

/* Whether an option's first operand is a descriptor with data. */
static bool takes_data(const char *option)
{
	return strcmp(option, "--ro-bind-data") == 0 || strcmp(option, "--add-seccomp-fd") == 0 ||
	       strcmp(option, "--seccomp") == 0;
}

static void print_redirection(FILE *out, const struct bwrap_source *file, size_t fd)
{
	if (is_lines(file)) {
		fprintf(out, "%zu<<'SBX_%zu'", fd, fd);
	} else if (memchr(file->data, '\0', file->len)) {
		CLEANUP_FREE char *text = json_base64(file->data, file->len);

		fprintf(out, "%zu< <(base64 -d <<<%s)", fd, text);
	} else {
		fprintf(out, "%zu< <(printf %%s ", fd);
		print_word(out, file->data);
		putc(')', out);
	}
	fputs(" \\\n", out);
}

void bwrap_print(FILE *out, const struct bwrap_words *words, const struct policy *policy,
	char *const *command)
{
	char *const *w = words->words.v;
	size_t n_files = 0, fd = BWRAP_DATA_FD;

	for (size_t i = 0; i < words->words.n;) {
		size_t n = find_option(w[i])->operands;
		bool secret = strcmp(w[i], "--setenv") == 0 && policy_is_secret(policy, w[i + 1]);

		fputs(w[i], out);
		for (size_t k = i + 1; k <= i + n; k++) {
			putc(' ', out);
			if (k == i + 1 && takes_data(w[i]))
				fprintf(out, "%zu", BWRAP_DATA_FD + n_files++);
			else if (secret && k == i + 2)
				fprintf(out, "\"${%s?}\"", w[i + 1]);
			else
				print_word(out, w[k]);
		}
		/* --perms and --size belong to the option that follows. */
		fputs(strcmp(w[i], "--perms") == 0 || strcmp(w[i], "--size") == 0 ? " " : " \\\n",
			out);
		i += n + 1;
	}
	for (size_t i = 0; i < words->n_sources; i++)
		if (words->sources[i].data)
			print_redirection(out, &words->sources[i], fd++);
	fputs("--", out);
	for (; *command; command++) {
		putc(' ', out);
		print_word(out, *command);
	}
	putc('\n', out);
	fd = BWRAP_DATA_FD;
	for (size_t i = 0; i < words->n_sources; i++) {
		const struct bwrap_source *file = &words->sources[i];

		if (file->data && is_lines(file))
			fprintf(out, "%sSBX_%zu\n", file->data, fd);
		fd += file->data != NULL;
	}
}
