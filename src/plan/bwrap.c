#include "plan/bwrap.h"

#include "base/mem.h"
#include "base/path.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Room for what a run adds: bwrap's name, --args, status and block descriptors, "--". */
#define RESERVED_WORDS 16

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
	struct strvec *w, const struct policy *policy, const struct bwrap_options *options)
{
	/* An empty environment of bwrap's own is the caller's part; --clearenv is for pasted
	 * lines. */
	strvec_pushl(w, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		"--unshare-cgroup-try", NULL);
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
}

static void spell_environment(struct strvec *w, const struct strvec *env)
{
	strvec_push(w, "--clearenv");
	for (size_t i = 0; i < env->n; i++) {
		const char *equals = strchr(env->v[i], '=');

		strvec_push(w, "--setenv");
		strvec_take(w, xstrndup(env->v[i], (size_t)(equals - env->v[i])));
		strvec_push(w, equals + 1);
	}
}

/* The directory with the most ops right below it. */
static char *dearest_directory(const struct plan *plan, size_t *most)
{
	CLEANUP_STRVEC struct strvec parents = {0};
	size_t dearest = 0, start = 0;

	for (size_t i = 0; i < plan->n; i++)
		strvec_take(&parents, path_parent(plan->ops[i].dest));
	strvec_sort(&parents);
	*most = 0;
	for (size_t i = 0; i < parents.n; i++) {
		if (strcmp(parents.v[i], parents.v[start]) != 0)
			start = i;
		if (i - start + 1 > *most) {
			*most = i - start + 1;
			dearest = start;
		}
	}
	return xstrdup(parents.v[dearest]);
}

static int check_size(
	const struct bwrap_words *out, const struct plan *plan, size_t n_command, struct err *err)
{
	size_t n = out->words.n + n_command + RESERVED_WORDS;
	CLEANUP_FREE char *dir = NULL;
	size_t most;

	if (n <= BWRAP_MAX_WORDS)
		return 0;
	dir = dearest_directory(plan, &most);
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
	spell_isolation(&out->words, policy, options);
	for (size_t i = 0; i < plan->n; i++)
		spell_op(out, &plan->ops[i], options->bind_fd);
	strvec_pushl(&out->words, "--chdir", plan->cwd, NULL);
	spell_environment(&out->words, options->env);
	return check_size(out, plan, n_command, err);
}

void bwrap_words_clear(struct bwrap_words *words)
{
	strvec_clear(&words->words);
	free(words->sources);
	*words = (struct bwrap_words){0};
}

char *shell_quote(const char *word)
{
	bool plain = *word, printable = true;
	char *out, *p;

	for (const char *s = word; *s; s++) {
		plain = plain && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					"0123456789_@%+=:,./-",
					 *s);
		printable = printable && *s >= ' ' && *s <= '~';
	}
	if (plain)
		return xstrdup(word);
	p = out = xcalloc(strlen(word) * 4 + 4, 1);
	p = stpcpy(p, printable ? "'" : "$'");
	for (const char *s = word; *s; s++) {
		if (*s == '\'')
			p = stpcpy(p, printable ? "'\\''" : "\\'");
		else if (*s == '\\' && !printable)
			p = stpcpy(p, "\\\\");
		else if (*s < ' ' || *s > '~')
			p += sprintf(p, "\\%03o", (unsigned char)*s);
		else
			*p++ = *s;
	}
	*p = '\'';
	return out;
}

/* How many operands follow an option of those that spell_* writes. */
static size_t operands(const char *option)
{
	static const char *const two[] = {
		"--ro-bind", "--bind", "--dev-bind", "--symlink", "--ro-bind-data", "--setenv"};
	static const char *const none[] = {"--unshare-user", "--unshare-pid", "--unshare-ipc",
		"--unshare-uts", "--unshare-cgroup-try", "--unshare-net", "--die-with-parent",
		"--disable-userns", "--new-session", "--clearenv"};

	for (size_t i = 0; i < sizeof(two) / sizeof(*two); i++)
		if (strcmp(option, two[i]) == 0)
			return 2;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		if (strcmp(option, none[i]) == 0)
			return 0;
	return 1;
}

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
	return file->len && file->data[file->len - 1] == '\n';
}

static void print_redirection(FILE *out, const struct bwrap_source *file, size_t fd)
{
	if (is_lines(file)) {
		fprintf(out, "%zu<<'SBX_%zu'", fd, fd);
	} else {
		fprintf(out, "%zu< <(printf %%s ", fd);
		print_word(out, file->data);
		putc(')', out);
	}
	fputs(" \\\n", out);
}

void bwrap_print(FILE *out, const struct bwrap_words *words, char *const *command)
{
	char *const *w = words->words.v;
	size_t n_files = 0, fd = 10;

	for (size_t i = 0; i < words->words.n;) {
		size_t n = operands(w[i]);

		fputs(w[i], out);
		for (size_t k = i + 1; k <= i + n; k++) {
			putc(' ', out);
			if (strcmp(w[i], "--ro-bind-data") == 0 && k == i + 1)
				fprintf(out, "%zu", 10 + n_files++);
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
	fd = 10;
	for (size_t i = 0; i < words->n_sources; i++) {
		const struct bwrap_source *file = &words->sources[i];

		if (file->data && is_lines(file))
			fprintf(out, "%sSBX_%zu\n", file->data, fd);
		fd += file->data != NULL;
	}
}
