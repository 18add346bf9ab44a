#include "plan/command.h"

#include "base/mem.h"
#include "base/path.h"
#include "plan/view.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Scripts whose interpreter is a script: as many as the kernel follows. */
#define MAX_INTERPRETERS 5

static int err_hidden(const struct plan *plan, const char *path, struct err *err)
{
	const struct rule *rule = plan_hiding_rule(plan, path);
	CLEANUP_FREE char *where = rule ? origin_text(&rule->origin) : NULL;

	if (rule)
		err_hint(err, "the rule for %s (%s) hides it", rule->path, where);
	else
		err_hint(err, "sbx-plan --explain %s tells more", path);
	return -1;
}

/* The interpreter that a script's first line names, or the loader that a program asks for; NULL:
 * neither. head is NUL-terminated beyond its n bytes. */
static char *interpreter_of(const char *head, size_t n)
{
	Elf64_Ehdr ehdr;

	if (n > 2 && memcmp(head, "#!", 2) == 0) {
		const char *name = head + 2 + strspn(head + 2, " \t");
		size_t len = strcspn(name, " \t\n");

		return len ? xstrndup(name, len) : NULL;
	}
	if (n < sizeof(ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0 || head[EI_CLASS] != ELFCLASS64)
		return NULL;
	memcpy(&ehdr, head, sizeof(ehdr));
	for (size_t i = 0; i < ehdr.e_phnum; i++) {
		Elf64_Phdr phdr;

		if (ehdr.e_phoff > n || (n - ehdr.e_phoff) / sizeof(phdr) <= i)
			return NULL;
		memcpy(&phdr, head + ehdr.e_phoff + i * sizeof(phdr), sizeof(phdr));
		if (phdr.p_type == PT_INTERP)
			return phdr.p_offset < n ? xstrdup(head + phdr.p_offset) : NULL;
	}
	return NULL;
}

static char *absolute(const struct plan *plan, const char *name)
{
	return *name == '/' ? xstrdup(name) : path_join(plan->cwd, name);
}

static int err_not_executable(const char *path, const char *what, const char *hint, struct err *err)
{
	err_set(err, ERR_NOT_EXECUTABLE, "%s cannot be executed: %s", path, what);
	return err_hint(err, "%s", hint);
}

static int check_executable(const struct plan *plan, const struct tree *tree, const char *path,
	unsigned depth, struct err *err);

/* Whether what a script or program is run by is there and can be executed. */
static int check_interpreter(const struct plan *plan, const struct tree *tree, const char *path,
	const char *host, unsigned depth, struct err *err)
{
	CLEANUP_FREE char *interpreter = NULL;
	CLEANUP_FREE char *whole = NULL;
	struct err why;
	char head[4097];
	ssize_t n = tree_head(tree, host, head, sizeof(head) - 1);

	if (n < 0)
		return 0; /* executable and not readable: the kernel will tell */
	head[n] = '\0';
	interpreter = interpreter_of(head, (size_t)n);
	if (!interpreter || depth == MAX_INTERPRETERS)
		return 0;
	whole = absolute(plan, interpreter);
	if (check_executable(plan, tree, whole, depth + 1, &why) == 0)
		return 0;
	err_set(err, ERR_NOT_EXECUTABLE,
		"%s cannot be executed: what runs it, %s, is not in the sandbox or not executable",
		path, interpreter);
	return err_hint(err, "%s", why.hint);
}

/* Whether what is at a sandbox path can be executed, with all it needs. */
static int check_executable(const struct plan *plan, const struct tree *tree, const char *path,
	unsigned depth, struct err *err)
{
	CLEANUP_VIEW_OBJECT struct view_object object = {0};
	int error = view_lookup(plan, tree, path, &object);
	struct tree_stat st;

	if (error == -ENOENT || error == -ENOTDIR) {
		err_set(err, ERR_NOT_FOUND, "%s is not in the sandbox", path);
		return err_hidden(plan, object.missing, err);
	}
	if (error || object.access == ACCESS_DENY) {
		err_set(err, ERR_NOT_EXECUTABLE, "%s cannot be executed: %s", path,
			strerror(error ? -error : EACCES));
		return err_hidden(plan, error ? object.missing : object.path, err);
	}
	if (object.kind != TREE_FILE)
		return err_not_executable(path,
			object.kind == TREE_DIR ? "it is a directory" : "it is no file",
			"name a program", err);
	if (!object.host || tree_lstat(tree, object.host, &st) < 0 || !(st.mode & 0111))
		return err_not_executable(path, "it has no execute permission",
			"chmod +x it, or name the interpreter in front of it", err);
	return check_interpreter(plan, tree, path, object.host, depth, err);
}

static const char *search_path(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return "/bin:/usr/bin"; /* glibc's when PATH is unset */
}

int command_check(const struct plan *plan, const struct tree *tree, const char *name,
	char *const *env, struct err *err)
{
	const char *dirs = search_path(env);
	struct err first = {0};

	if (strchr(name, '/')) {
		CLEANUP_FREE char *whole = absolute(plan, name);

		return check_executable(plan, tree, whole, 0, err);
	}
	for (const char *p = dirs; *name && *p; p += *p == ':') {
		size_t len = strcspn(p, ":");
		CLEANUP_FREE char *part = xstrndup(p, len);
		CLEANUP_FREE char *dir = absolute(plan, part);
		CLEANUP_FREE char *whole = path_join(dir, name);

		p += len;
		if (check_executable(plan, tree, whole, 0, err) == 0)
			return 0;
		/* As execvp: what is there and cannot be executed is remembered, and the search
		 * goes on. */
		if (err->kind == ERR_NOT_EXECUTABLE && first.kind == ERR_NONE)
			first = *err;
	}
	if (first.kind != ERR_NONE) {
		*err = first;
		return -1;
	}
	err_set(err, ERR_NOT_FOUND, "%s is not found in the sandbox (PATH=%s)", name, dirs);
	return err_hint(err, "name it by its path, or pass the PATH it is in: --inherit PATH");
}
