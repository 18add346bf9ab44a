#include "cmd/init.h"

#include "base/mem.h"
#include "base/path.h"
#include "policy/value.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEPTH = 8, MAX_ENTRIES = 20000, MAX_SECRETS = 256 };

/* What tools have downloaded is given read-only, also where they would like to write: builds on the
 * host take it from there too, unchecked. Without a network they have nothing to add. */
static const struct language {
	const char *name;
	const char *markers[6]; /* names of files that tell of it */
	const char *caches[4];  /* below the home */
	const char *variable;   /* what makes a tool that has to write do it in /tmp; or NULL */
	const char *value;
} languages[] = {
	{"Node.js", {"package.json"}, {".npm", ".cache/yarn", ".local/share/pnpm"}, NULL, NULL},
	{"Rust", {"Cargo.toml"}, {".cargo/registry", ".cargo/git"}, NULL, NULL},
	{"Go", {"go.mod"}, {"go/pkg/mod"}, "GOCACHE", "/tmp/go-build"},
	{"Python", {"pyproject.toml", "setup.py", "requirements.txt", "Pipfile"},
		{".cache/pip", ".cache/uv", ".cache/pypoetry"}, NULL, NULL},
	{"Java", {"pom.xml", "build.gradle", "build.gradle.kts"},
		{".m2/repository", ".gradle/caches"}, NULL, NULL},
	{"Ruby", {"Gemfile"}, {".gem", ".bundle/cache"}, NULL, NULL},
	{"PHP", {"composer.json"}, {".cache/composer"}, NULL, NULL},
	{"C or C++", {"CMakeLists.txt", "meson.build", "configure.ac", "configure"}, {NULL}, NULL,
		NULL},
	{"make", {"Makefile", "GNUmakefile", "makefile"}, {NULL}, NULL, NULL},
};
#define N_LANGUAGES (sizeof(languages) / sizeof(*languages))

/* Names of secrets; the first that matches counts. */
static const struct secret {
	const char *pattern;
	enum tree_kind kind;
	const char *text; /* what is in it, near its beginning; NULL: its name is enough */
	const char *why;  /* NULL: it is none */
	bool empty;       /* tools that read it fail where they may not: it looks empty */
} secrets[] = {
	{".env.example", TREE_FILE, NULL, NULL, false},
	{".env.sample", TREE_FILE, NULL, NULL, false},
	{".env.template", TREE_FILE, NULL, NULL, false},
	{".env.dist", TREE_FILE, NULL, NULL, false},
	{".env", TREE_FILE, NULL, "variables, often with passwords and keys", false},
	{".env.*", TREE_FILE, NULL, "variables, often with passwords and keys", false},
	{"*.env", TREE_FILE, NULL, "variables, often with passwords and keys", false},
	{"id_rsa", TREE_FILE, NULL, "a private key", false},
	{"id_dsa", TREE_FILE, NULL, "a private key", false},
	{"id_ecdsa", TREE_FILE, NULL, "a private key", false},
	{"id_ed25519", TREE_FILE, NULL, "a private key", false},
	{"*.pem", TREE_FILE, "PRIVATE KEY", "a private key", false},
	{"*.key", TREE_FILE, "PRIVATE KEY", "a private key", false},
	{"*.p12", TREE_FILE, NULL, "private keys", false},
	{"*.pfx", TREE_FILE, NULL, "private keys", false},
	{"*.jks", TREE_FILE, NULL, "private keys", false},
	{"*.kdbx", TREE_FILE, NULL, "passwords", false},
	{".netrc", TREE_FILE, NULL, "passwords", false},
	{".pgpass", TREE_FILE, NULL, "passwords", false},
	{".htpasswd", TREE_FILE, NULL, "passwords", false},
	{".git-credentials", TREE_FILE, NULL, "passwords", false},
	{".pypirc", TREE_FILE, NULL, "tokens of a package registry", false},
	{".npmrc", TREE_FILE, "_auth", "tokens of a package registry", true},
	{"*.json", TREE_FILE, "\"private_key\"", "the key of a service account", false},
	{"*.tfstate", TREE_FILE, NULL, "the state of an infrastructure, secrets included", false},
	{".aws", TREE_DIR, NULL, "keys", false},
	{".ssh", TREE_DIR, NULL, "keys", false},
	{".gnupg", TREE_DIR, NULL, "keys", false},
};

/* What tools put there, and may put back: it is not looked into. */
static const char *const skipped[] = {
	".git", "node_modules", "target", "vendor", "venv", ".venv", ".tox", "__pycache__", NULL};

struct search {
	const struct tree *tree;
	struct init *out;
	struct strvec paths;                     /* of secrets */
	const struct secret *kinds[MAX_SECRETS]; /* what each is */
	bool has[N_LANGUAGES];
	unsigned entries;
	bool cut; /* something was left out for the bounds */
};

static json *add_rule(struct options *options, const char *access, const char *path)
{
	json *rules = options_member(options, "filesystem", access, json_new_array);
	json *rule = json_add(rules, NULL, json_new_object());

	json_add_string(rule, "path", path);
	return rule;
}

/* A path below the directory as a policy names it. Bytes that no JSON has are matched by "?". */
static char *policy_path(const char *below)
{
	CLEANUP_FREE char *literal = value_escape(below);

	for (char *p = literal; *p;) {
		size_t len = utf8_length(p, strlen(p));

		if (!len)
			*p = '?';
		p += len ? len : 1;
	}
	return xasprintf("./%s", literal);
}

static bool has_text(const struct search *s, const char *path, const char *text)
{
	CLEANUP_FREE char *head = xcalloc(16384, 1);
	ssize_t n = tree_head(s->tree, path, head, 16384);

	return n > 0 && memmem(head, (size_t)n, text, strlen(text));
}

static const struct secret *find_secret(
	const struct search *s, const char *path, enum tree_kind kind)
{
	for (size_t i = 0; i < sizeof(secrets) / sizeof(*secrets); i++) {
		const struct secret *secret = &secrets[i];

		if (kind == secret->kind && fnmatch(secret->pattern, path_base(path), 0) == 0 &&
			(!secret->text || has_text(s, path, secret->text)))
			return secret->why ? secret : NULL;
	}
	return NULL;
}

static void look_at_file(struct search *s, const char *path)
{
	for (size_t i = 0; i < N_LANGUAGES; i++)
		for (const char *const *m = languages[i].markers; *m; m++)
			s->has[i] |= strcmp(*m, path_base(path)) == 0;
}

static void search(struct search *s, const char *dir, unsigned depth)
{
	CLEANUP_STRVEC struct strvec names = {0};
	int error = tree_list(s->tree, dir, &names);

	if (error)
		strvec_pushf(&s->out->notes, "%s was not looked into: %s", dir, strerror(-error));
	for (size_t i = 0; i < names.n; i++) {
		CLEANUP_FREE char *path = path_join(dir, names.v[i]);
		const struct secret *secret;
		struct tree_stat st;

		if (s->entries++ >= MAX_ENTRIES || s->paths.n == MAX_SECRETS) {
			s->cut = true;
			return;
		}
		if (tree_lstat(s->tree, path, &st) < 0)
			continue;
		secret = find_secret(s, path, st.kind);
		if (st.kind == TREE_FILE)
			look_at_file(s, path);
		if (secret) {
			s->kinds[s->paths.n] = secret;
			strvec_push(&s->paths, path);
		} else if (st.kind == TREE_DIR) {
			const char *const *skip = skipped;

			while (*skip && strcmp(*skip, names.v[i]) != 0)
				skip++;
			if (!*skip && depth < MAX_DEPTH)
				search(s, path, depth + 1);
			s->cut |= !*skip && depth >= MAX_DEPTH;
		}
	}
}

static void add_language(struct options *options, const struct tree *tree, const struct language *l,
	const char *home)
{
	for (const char *const *cache = l->caches; home && *cache; cache++) {
		CLEANUP_FREE char *path = path_join(home, *cache);
		CLEANUP_FREE char *name = xasprintf("~/%s", *cache);
		CLEANUP_FREE char *why = xasprintf(
			"what tools for %s have downloaded; not writable, as the host's builds use "
			"it too",
			l->name);
		struct tree_stat st;
		json *rule;

		if (tree_lstat(tree, path, &st) < 0 || st.kind != TREE_DIR)
			continue;
		rule = add_rule(options, "read", name);
		json_add_bool(rule, "optional", true);
		json_add_string(rule, "why", why);
	}
	if (l->variable) {
		json *variables = options_member(options, "environment", "set", json_new_object);

		if (!json_get(variables, l->variable))
			json_add_string(variables, l->variable, l->value);
	}
}

/* The top of the repository that a directory lies in, or NULL; freed by the caller. */
static char *find_repository(const struct tree *tree, const char *dir)
{
	char *top = xstrdup(dir);

	for (;;) {
		CLEANUP_FREE char *git = path_join(top, ".git");
		struct tree_stat st;
		char *parent;

		if (tree_lstat(tree, git, &st) == 0 &&
			(st.kind == TREE_DIR || st.kind == TREE_FILE))
			return top;
		parent = path_parent(top);
		free(top);
		if (strcmp(parent, "/") == 0) {
			free(parent);
			return NULL;
		}
		top = parent;
	}
}

static void add_secret(struct options *options, const char *path, const struct secret *secret)
{
	CLEANUP_FREE char *name = policy_path(path);
	json *rule = add_rule(options, "deny", name);

	if (secret->empty)
		json_add_string(rule, "mask", "empty");
	json_add_string(rule, "why", secret->why);
}

/* What the policy says of itself, and whom it extends. */
static void add_head(struct options *options, const struct strvec *found)
{
	CLEANUP_FREE char *list = strvec_join(found, ", ");
	CLEANUP_FREE char *description =
		xasprintf("what commands may do in this directory%s%s", *list ? ": " : "", list);
	json *extends = options_member(options, NULL, "extends", json_new_array);

	for (size_t i = 0; i < options->policies.n; i++)
		json_add_string(extends, NULL, options->policies.v[i]);
	strvec_clear(&options->policies);
	json_add_string(options->flags, "description", description);
}

void init_policy(struct options *options, const struct tree *tree, const char *dir,
	const char *home, struct init *out)
{
	struct search s = {.tree = tree, .out = out};
	CLEANUP_FREE char *top = find_repository(tree, dir);

	if (top && strcmp(top, dir) == 0)
		strvec_push(&out->found, "a git repository");
	else if (top)
		strvec_pushf(&out->notes,
			"%s is the top of the repository: a policy for that lets git commit", top);
	search(&s, dir, 0);
	if (s.cut)
		strvec_pushf(&out->notes,
			"not all was searched for secrets: at most %d entries, %d levels and %d "
			"secrets are",
			MAX_ENTRIES, MAX_DEPTH, MAX_SECRETS);
	for (size_t i = 0; i < N_LANGUAGES; i++)
		if (s.has[i])
			strvec_push(&out->found, languages[i].name);
	add_head(options, &out->found);
	out->secrets = s.paths.n;
	for (size_t i = 0; i < s.paths.n; i++)
		add_secret(options, path_below(s.paths.v[i], dir), s.kinds[i]);
	for (size_t i = 0; i < N_LANGUAGES; i++)
		if (s.has[i])
			add_language(options, tree, &languages[i], home);
	strvec_clear(&s.paths);
}

void init_clear(struct init *init)
{
	strvec_clear(&init->found);
	strvec_clear(&init->notes);
}

/* A line for each key and rule: what holds nothing that holds more is on one. Keys of others are the
 * language's own words. */
static void print_value(FILE *out, const json *value, int depth)
{
	bool object = json_type(value) == JSON_OBJECT, flat = true;

	for (const json *v = json_first(value); v; v = json_next(v))
		flat &= !json_first(v);
	if (flat) {
		CLEANUP_FREE char *text = json_print(value, false);

		fputs(text, out);
		return;
	}
	putc(object ? '{' : '[', out);
	for (const json *v = json_first(value); v; v = json_next(v)) {
		fprintf(out, "\n%.*s", depth + 1, "\t\t\t\t");
		if (object)
			fprintf(out, "\"%s\": ", json_key(v));
		print_value(out, v, depth + 1);
		fputs(json_next(v) ? "," : "", out);
	}
	fprintf(out, "\n%.*s%c", depth, "\t\t\t\t", object ? '}' : ']');
}

int init_write(const json *policy, struct err *err)
{
	int fd = open(INIT_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool written;

	if (!file && errno == EEXIST) {
		err_set(err, ERR_SYSTEM, "there is a %s already, which is left as it is",
			INIT_FILE);
		return err_hint(err, "move it away to have a new one");
	}
	if (!file) {
		err_set(err, ERR_SYSTEM, "cannot make %s: %s", INIT_FILE, strerror(errno));
		return err_hint(err, "a first policy lies in the directory that it is for");
	}
	print_value(file, policy, 0);
	putc('\n', file);
	written = !ferror(file);
	if (fclose(file) == 0 && written)
		return 0;
	err_set(err, ERR_SYSTEM, "cannot write %s: %s", INIT_FILE, strerror(errno));
	unlink(INIT_FILE);
	return -1;
}
