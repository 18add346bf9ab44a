/*
 * sbx-plan: shows the bwrap arguments that a policy leads to. It starts no process.
 */
#include "base/json.h"
#include "base/mem.h"
#include "cmd/options.h"
#include "cmd/prepare.h"
#include "plan/bwrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char tool[] = "sbx-plan";

static void print_nul(const struct bwrap_words *words)
{
	for (size_t i = 0; i < words->words.n; i++)
		fwrite(words->words.v[i], 1, strlen(words->words.v[i]) + 1, stdout);
}

static void add_rule(json *parent, const struct rule *rule)
{
	static const char *const kinds[] = {
		[RULE_ROOT] = "root",
		[RULE_PATH] = "path",
		[RULE_MOUNT] = "mount",
		[RULE_TMPFS] = "tmpfs",
		[RULE_FILE] = "file",
		[RULE_DEVICE] = "device",
		[RULE_PROC] = "proc",
		[RULE_DEV] = "dev",
	};
	json *object = json_add(parent, "rule", json_new_object());

	json_add_string(object, "kind", kinds[rule->kind]);
	if (rule->path)
		json_add_string(object, "path", rule->path);
	if (rule->at)
		json_add_string(object, "at", rule->at);
	if (rule->kind == RULE_ROOT || rule->kind == RULE_PATH || rule->kind == RULE_MOUNT)
		json_add_string(object, "access", access_name(rule->access));
	if (rule->name)
		json_add_string(object, "name", rule->name);
	if (rule->why)
		json_add_string(object, "why", rule->why);
	json_add_string(object, "file", rule->origin.file);
	json_add_string(object, "pointer", rule->origin.pointer);
}

static void add_op(json *parent, const struct op *op)
{
	json *object = json_add(parent, NULL, json_new_object());

	json_add_string(object, "op", op_kind_name(op->kind));
	if (op->source)
		json_add_string(object, "source", op->source);
	json_add_string(object, "dest", op->dest);
	if (op->kind == OP_TMPFS || op->kind == OP_DIR || op->kind == OP_DENY_DIR) {
		CLEANUP_FREE char *mode = xasprintf("%04o", op->mode);

		json_add_string(object, "mode", mode);
	}
	if (op->size)
		json_add_number(object, "size", (double)op->size);
	add_rule(object, op->why);
}

static void print_json(const struct prepared *p, const struct bwrap_words *words)
{
	CLEANUP_JSON json *document = json_new_object();
	CLEANUP_FREE char *text = NULL;
	json *ops, *notes;

	json_add_number(document, "sbx", 1);
	json_add_string(document, "cwd", p->plan.cwd);
	json_add_number(document, "words", (double)words->words.n);
	ops = json_add(document, "ops", json_new_array());
	for (size_t i = 0; i < p->plan.n; i++)
		add_op(ops, &p->plan.ops[i]);
	notes = json_add(document, "notes", json_new_array());
	for (size_t i = 0; i < p->plan.notes.n; i++)
		json_add_string(notes, NULL, p->plan.notes.v[i]);
	text = json_print(document, true);
	puts(text);
}

static int print_plan(const struct prepared *p, const struct options *options, struct err *err)
{
	struct bwrap_options bwrap = {
		.disable_userns = !p->policy.nested_userns, .new_session = true, .env = &p->env};
	struct bwrap_words words;
	int rc = bwrap_spell(&words, &p->plan, &p->policy, &bwrap, options->n_command, err);

	for (size_t i = 0; rc == 0 && options->output == OUTPUT_NUL && i < p->plan.n; i++)
		if (p->plan.ops[i].kind == OP_FILE) {
			err_set(err, ERR_PLAN,
				"-0 cannot carry the text of files, and the plan has one at %s",
				p->plan.ops[i].dest);
			rc = err_hint(err, "use --print, which writes them as here-documents");
		}
	if (rc == 0) {
		switch (options->output) {
		case OUTPUT_PRINT:
			bwrap_print(stdout, &words, options->command);
			break;
		case OUTPUT_NUL:
			print_nul(&words);
			break;
		case OUTPUT_JSON:
			print_json(p, &words);
			break;
		case OUTPUT_CHECK:
			printf("proven: %zu mounts, %zu words\n", p->plan.n, words.words.n);
			break;
		}
		if (fflush(stdout) != 0 || ferror(stdout))
			rc = err_set(err, ERR_SYSTEM, "cannot write the plan to standard output");
	}
	bwrap_words_clear(&words);
	return rc;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct prepared p = {0};
	struct err err = {0};
	int rc = options_parse(&options, TOOL_PLAN, argc, argv, &err);

	if (rc == 0)
		rc = prepare_policy(&p, &options, &err);
	/* No process is started here, so no bwrap is asked: a fresh /proc is what sbx-exec tries
	 * first. */
	if (rc == 0)
		rc = prepare_plan(&p, p.policy.proc == PROC_BIND ? PROC_BIND : PROC_FRESH, &err);
	if (rc == 0)
		rc = print_plan(&p, &options, &err);
	if (rc < 0)
		print_err(tool, &err);
	prepared_clear(&p);
	options_clear(&options);
	return rc >= 0 ? 0 : err.kind == ERR_USAGE ? 2 : 125;
}
