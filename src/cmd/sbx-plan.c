/*
 * sbx-plan: shows the bwrap arguments that a policy leads to, or answers questions about them. It
 * starts no process.
 */
#include "base/json.h"
#include "base/mem.h"
#include "base/quote.h"
#include "cmd/init.h"
#include "cmd/options.h"
#include "cmd/outline.h"
#include "cmd/prepare.h"
#include "plan/bwrap.h"
#include "plan/explain.h"
#include "plan/survey.h"
#include "policy/value.h"
#include "run/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char tool[] = "sbx-plan";

/* The notes from the one of that number on. */
static void say_notes(const struct strvec *notes, size_t from)
{
	for (size_t i = from; i < notes->n; i++) {
		fprintf(stderr, "%s: note: ", tool);
		print_escaped(stderr, notes->v[i]);
		putc('\n', stderr);
	}
}

/* Of data there is at most the filter: print_plan refuses the rest. */
static void print_nul(struct bwrap_words *words)
{
	for (size_t i = 0; i < words->n_sources; i++)
		if (words->sources[i].data) {
			char **word = &words->words.v[words->sources[i].word];

			free(*word);
			*word = xasprintf("%d", BWRAP_DATA_FD);
		}
	for (size_t i = 0; i < words->words.n; i++)
		fwrite(words->words.v[i], 1, strlen(words->words.v[i]) + 1, stdout);
}

static void add_rule(json *parent, const char *key, const struct rule *rule)
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
	json *object = json_add(parent, key, json_new_object());

	json_add_string(object, "kind", kinds[rule->kind]);
	if (rule->path)
		json_add_string(object, "path", rule->path);
	if (rule->at)
		json_add_string(object, "at", rule->at);
	if (rule->kind == RULE_ROOT || rule->kind == RULE_PATH || rule->kind == RULE_MOUNT)
		json_add_string(object, "access", access_name(rule->access));
	if (rule->connect)
		json_add_bool(object, "connect", true);
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
	add_rule(object, "rule", op->why);
}

static void print_document(const json *document)
{
	CLEANUP_FREE char *text = json_print(document, true);

	puts(text);
}

static void add_fate(json *answers, const struct rule_fate *f)
{
	json *object = json_add(answers, NULL, json_new_object());

	json_add_string(object, "fate", fate_name(f->fate));
	json_add_string(object, "strength", strength_name(f->strength));
	if (f->strength == STRENGTH_WATCHED)
		json_add_bool(object, "watched", f->watched);
	json_add_string(object, "place", f->place);
	if (f->fate == FATE_MISSING)
		json_add_bool(object, "can_be_made", f->open);
	if (f->by)
		add_rule(object, "by", f->by);
	add_rule(object, "rule", f->rule);
}

/* Nobody has written the rules for sockets, and most of them say nothing here. */
static bool is_listed(const struct rule_fate *f)
{
	return !f->rule->socket || f->fate == FATE_APPLIED;
}

static void print_json(
	const struct prepared *p, const struct bwrap_words *words, const struct explainer *e)
{
	CLEANUP_JSON json *document = json_new_object();
	json *ops, *rules, *notes;

	json_add_number(document, "sbx", 1);
	json_add_string(document, "cwd", p->plan.cwd);
	json_add_number(document, "words", (double)words->words.n);
	ops = json_add(document, "ops", json_new_array());
	for (size_t i = 0; i < p->plan.n; i++)
		add_op(ops, &p->plan.ops[i]);
	rules = json_add(document, "rules", json_new_array());
	for (size_t i = 0; i < p->plan.rules.n; i++)
		if (is_listed(&e->rules[i]))
			add_fate(rules, &e->rules[i]);
	notes = json_add(document, "notes", json_new_array());
	for (size_t i = 0; i < p->plan.notes.n; i++)
		json_add_string(notes, NULL, p->plan.notes.v[i]);
	print_document(document);
}

/* What is printed never has the value of a secret, and must not seem to be whole without. */
static int hide_secrets(struct prepared *p, const struct options *options, struct err *err)
{
	const struct policy *policy = &p->policy;

	if (policy->n_env_secrets && options->output == OUTPUT_NUL) {
		err_set(err, ERR_PLAN, "-0 would have to print the value of the secret %s",
			policy->env_secrets[0].name);
		err_hint(err, "use --print, whose text takes it from the shell that runs it");
		return err_at(err, "%s", policy->env_secrets[0].where);
	}
	for (size_t i = 0; i < policy->n_env_secrets; i++)
		strvec_pushf(&p->plan.notes,
			"the value of the secret %s is not printed: a run takes it from its "
			"caller's variable",
			policy->env_secrets[i].name);
	return 0;
}

static int print_plan(struct prepared *p, const struct options *options,
	const struct bwrap_options *bwrap, struct err *err)
{
	const struct identity *id = &p->identity;
	struct explainer e = {0};
	struct bwrap_words words;
	size_t n_notes = p->plan.notes.n;
	int rc = hide_secrets(p, options, err);

	if (rc < 0)
		return rc;
	rc = bwrap_spell(&words, &p->plan, &p->policy, bwrap, options->n_command, err);

	for (size_t i = 0; rc == 0 && options->output == OUTPUT_NUL && i < p->plan.n; i++)
		if (p->plan.ops[i].kind == OP_FILE) {
			err_set(err, ERR_PLAN,
				"-0 cannot carry the text of files, and the plan has one at %s",
				p->plan.ops[i].dest);
			rc = err_hint(err, "use --print, which writes them as here-documents");
		}
	if (rc == 0 && !id->caller && !id->label &&
		(options->output == OUTPUT_PRINT || options->output == OUTPUT_NUL))
		fprintf(stderr,
			"%s: note: for a bwrap run as that user: setpriv --reuid=%u --regid=%u "
			"--clear-groups bwrap ...\n",
			tool, id->uid, id->gid);
	if (rc == 0) {
		switch (options->output) {
		case OUTPUT_PRINT:
			bwrap_print(stdout, &words, &p->policy, options->command);
			say_notes(&p->plan.notes, n_notes);
			break;
		case OUTPUT_NUL:
			print_nul(&words);
			break;
		case OUTPUT_JSON:
			rc = prepare_explainer(p, &e, prepare_nests(p, bwrap->disable_userns), err);
			if (rc == 0)
				print_json(p, &words, &e);
			explainer_clear(&e);
			break;
		case OUTPUT_CHECK:
			printf("proven: %zu mounts, %zu words\n", p->plan.n, words.words.n);
			break;
		}
	}
	bwrap_words_clear(&words);
	return rc;
}

/* Answers */

/* A path on the command line, with ~ and ./ as in a policy; NULL with an error. */
static char *question_path(
	const struct prepared *p, const char *flag, const char *text, struct err *err)
{
	struct policy_context context = {.home = p->home, .cwd = p->cwd};
	struct path_value value;

	int rc = value_path(&value, text, NULL, &context, err);

	if (rc == 0 && value.pattern) {
		free(value.path);
		value_refuse_pattern(text, err);
		rc = -1;
	}
	if (rc < 0) {
		err->kind = ERR_USAGE;
		err_at(err, "%s", flag);
		return NULL;
	}
	if (!value.spelled)
		return value.path;
	free(value.path);
	return value.spelled;
}

static void print_line(const char *label, const char *text)
{
	printf("  %-10s", label);
	print_escaped(stdout, text);
	putchar('\n');
}

static const char *strength_text(enum strength strength, bool watched)
{
	return strength == STRENGTH_WATCHED && !watched ? "watched: no" : strength_name(strength);
}

static void print_explanation(const char *path, const struct explanation *x)
{
	CLEANUP_FREE char *rule = rule_text(x->rule);
	CLEANUP_FREE char *origin = origin_text(&x->rule->origin);
	CLEANUP_FREE char *op = x->op ? bwrap_op_text(x->op) : NULL;

	print_escaped(stdout, path);
	putchar('\n');
	print_line("access", found_name(x->found));
	if (x->has_kind)
		print_line("kind", tree_kind_name(x->kind));
	for (size_t i = 0; i < x->links.n; i += 2) {
		CLEANUP_FREE char *link = xasprintf("%s -> %s", x->links.v[i], x->links.v[i + 1]);

		print_line("link", link);
	}
	if (x->links.n)
		print_line("leads to", x->real);
	if (x->host)
		print_line("host", x->host);
	print_line("rule", rule);
	print_line("from", origin);
	if (x->rule->why)
		print_line("why", x->rule->why);
	if (op)
		print_line("op", op);
	print_line("strength", strength_text(x->strength, x->watched));
	for (size_t i = 0; i < x->because.n; i++)
		print_line(i ? "" : "because", x->because.v[i]);
}

static void add_string_or_null(json *object, const char *key, const char *text)
{
	if (text)
		json_add_string(object, key, text);
	else
		json_add_null(object, key);
}

static void add_explanation(json *answers, const char *path, const struct explanation *x)
{
	CLEANUP_FREE char *op = x->op ? bwrap_op_text(x->op) : NULL;
	json *object = json_add(answers, NULL, json_new_object());
	json *links, *because;

	json_add_string(object, "path", path);
	json_add_string(object, "access", found_name(x->found));
	add_string_or_null(object, "kind", x->has_kind ? tree_kind_name(x->kind) : NULL);
	json_add_string(object, "leads_to", x->real);
	links = json_add(object, "links", json_new_array());
	for (size_t i = 0; i < x->links.n; i += 2) {
		json *link = json_add(links, NULL, json_new_object());

		json_add_string(link, "path", x->links.v[i]);
		json_add_string(link, "text", x->links.v[i + 1]);
	}
	add_string_or_null(object, "host", x->host);
	add_rule(object, "rule", x->rule);
	add_string_or_null(object, "op", op);
	json_add_string(object, "strength", strength_name(x->strength));
	json_add_bool(object, "opened", x->opened);
	add_string_or_null(object, "pin", x->pin);
	if (x->found == FOUND_ABSENT) {
		json_add_bool(object, "can_be_made", x->create == 0);
		add_string_or_null(object, "error", x->create ? strerrorname_np(-x->create) : NULL);
	}
	because = json_add(object, "because", json_new_array());
	for (size_t i = 0; i < x->because.n; i++)
		json_add_string(because, NULL, x->because.v[i]);
}

/* Each of these adds to answers (JSON), or prints when that is NULL. */

static int answer_explain(const struct prepared *p, const struct explainer *e,
	const struct options *options, json *answers, struct err *err)
{
	for (size_t i = 0; i < options->questions.n; i++) {
		CLEANUP_FREE char *path =
			question_path(p, "--explain", options->questions.v[i], err);
		struct explanation x;

		if (!path)
			return -1;
		explain_path(e, path, &x);
		if (answers)
			add_explanation(answers, path, &x);
		else
			print_explanation(path, &x);
		explanation_clear(&x);
	}
	return 0;
}

static int answer_map(const struct prepared *p, const struct explainer *e,
	const struct options *options, json *answers, struct err *err)
{
	for (size_t i = 0; i < options->questions.n; i++) {
		const char *text = options->questions.v[i];
		bool of_host = strncmp(text, "host:", 5) == 0;
		CLEANUP_FREE char *path = question_path(p, "--map", text + (of_host ? 5 : 0), err);
		CLEANUP_STRVEC struct strvec found = {0};
		CLEANUP_FREE char *host = NULL;
		json *object, *list;

		if (!path || (of_host ? explain_to_view(e, path, &found, err)
				      : explain_to_host(e, path, &host, err)) < 0)
			return -1;
		if (host)
			strvec_push(&found, host);
		for (size_t k = 0; !answers && k < found.n; k++) {
			CLEANUP_FREE char *quoted = shell_quote(found.v[k]);

			puts(quoted);
		}
		if (!answers)
			continue;
		object = json_add(answers, NULL, json_new_object());
		json_add_string(object, of_host ? "host" : "path", path);
		if (host)
			json_add_string(object, "host", host);
		list = of_host ? json_add(object, "paths", json_new_array()) : NULL;
		for (size_t k = 0; list && k < found.n; k++)
			json_add_string(list, NULL, found.v[k]);
	}
	return 0;
}

static void answer_rules(const struct explainer *e, json *answers)
{
	if (!answers)
		printf("%-11s%-13s%s\n", "FATE", "STRENGTH", "RULE (FROM)");
	for (size_t i = 0; i < e->plan->rules.n; i++) {
		const struct rule_fate *f = &e->rules[i];
		CLEANUP_FREE char *rule = rule_text(f->rule);
		CLEANUP_FREE char *origin = origin_text(&f->rule->origin);
		CLEANUP_FREE char *by = f->by ? origin_text(&f->by->origin) : NULL;

		if (!is_listed(f))
			continue;
		if (answers) {
			add_fate(answers, f);
			continue;
		}
		printf("%-11s%-13s", fate_name(f->fate), strength_text(f->strength, f->watched));
		print_escaped(stdout, rule);
		fputs(" (", stdout);
		print_escaped(stdout, origin);
		fputs(by ? "), by: " : ")", stdout);
		print_escaped(stdout, by ? by : "");
		putchar('\n');
	}
}

static void add_end(json *answers, const struct loose_end *end)
{
	json *object = json_add(answers, NULL, json_new_object());

	json_add_string(object, "path", end->path);
	json_add_string(object, "host", end->host);
	json_add_string(object, "kind", tree_kind_name(end->kind));
	add_string_or_null(object, "danger", end->danger);
	add_rule(object, "rule", end->rule);
}

static void print_end(const struct loose_end *end)
{
	CLEANUP_FREE char *rule = rule_text(end->rule);
	CLEANUP_FREE char *origin = origin_text(&end->rule->origin);

	print_escaped(stdout, end->path);
	putchar('\n');
	print_line("kind", tree_kind_name(end->kind));
	if (strcmp(end->path, end->host) != 0)
		print_line("host", end->host);
	print_line("rule", rule);
	print_line("from", origin);
	if (end->danger)
		print_line("DANGER", end->danger);
}

static void answer_sockets(const struct explainer *e, json *answers)
{
	struct survey survey;

	survey_make(&survey, e);
	for (size_t i = 0; i < survey.n; i++)
		if (answers)
			add_end(answers, &survey.ends[i]);
		else
			print_end(&survey.ends[i]);
	for (size_t i = 0; i < survey.unlisted.n; i += 2) {
		const char *path = survey.unlisted.v[i], *error = survey.unlisted.v[i + 1];
		json *object = answers ? json_add(answers, NULL, json_new_object()) : NULL;

		if (object) {
			json_add_string(object, "unlisted", path);
			json_add_string(object, "error", error);
			continue;
		}
		print_escaped(stdout, path);
		printf("\n  %-10s%s: there may be more in it\n", "unlisted", error);
	}
	if (!answers && !survey.n && !survey.unlisted.n)
		puts("no socket or FIFO of the host is shown that the command could use");
	survey_clear(&survey);
}

static int answer_seccomp(
	const struct prepared *p, const struct options *options, json *answers, struct err *err)
{
	const struct filtering *f = &p->filter;
	CLEANUP_STRVEC struct strvec lines = {0};

	if (options->output == OUTPUT_NUL) {
		if (!f->program.data) {
			err_set(err, ERR_PLAN, "there is no filter of system calls here");
			return err_hint(err, "%s",
				filter_needed(&f->spec) ? "this kernel takes none"
							: "\"seccomp\" is \"none\" (--seccomp)");
		}
		fwrite(f->program.data, 1, f->program.len, stdout);
		return 0;
	}
	filter_describe(&f->spec, filter_native(), &lines);
	for (size_t i = 0; i < lines.n; i++)
		if (answers)
			json_add_string(answers, NULL, lines.v[i]);
		else
			puts(lines.v[i]);
	return 0;
}

/* As no-color.org has it. */
static bool wants_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* What was asked for instead of the plan. */
static int answer(
	struct prepared *p, const struct options *options, bool nested_userns, struct err *err)
{
	CLEANUP_JSON json *answers = options->output == OUTPUT_JSON ? json_new_array() : NULL;
	struct explainer e;
	int rc = 0;

	if (prepare_explainer(p, &e, nested_userns, err) < 0)
		return -1;
	if (options->answer == ANSWER_EXPLAIN)
		rc = answer_explain(p, &e, options, answers, err);
	if (options->answer == ANSWER_MAP)
		rc = answer_map(p, &e, options, answers, err);
	if (options->answer == ANSWER_RULES)
		answer_rules(&e, answers);
	if (options->answer == ANSWER_SOCKETS)
		answer_sockets(&e, answers);
	if (options->answer == ANSWER_SECCOMP)
		rc = answer_seccomp(p, options, answers, err);
	if (options->answer == ANSWER_TREE)
		outline_print(stdout, &e, wants_color());
	if (rc == 0 && answers)
		print_document(answers);
	explainer_clear(&e);
	return rc;
}

/* Fits the plan to --target-bwrap; what that costs must not go unseen. */
static int fit(struct plan *plan, struct bwrap_options *bwrap, const struct policy *policy,
	const struct options *options, struct err *err)
{
	size_t n = plan->notes.n;

	if (bwrap_fit(plan, bwrap, policy, options->target, err) < 0)
		return -1;
	if (options->output != OUTPUT_JSON)
		say_notes(&plan->notes, n);
	return 0;
}

/* What a run has on this host, as far as a run has found it out before; no process is started here.
 * Else what sbx-exec tries first. notes gets what is given up, or not known. */
static enum proc_mode recall(const struct options *options, const struct prepared *p,
	struct bwrap_options *bwrap, struct strvec *notes)
{
	const struct policy *policy = &p->policy;
	struct probe_needs needs = prepare_needs(p);
	CLEANUP_FREE char *path = NULL;
	struct probe_choice choice;
	struct probe probe;
	struct err err;

	if (!options->target && probe_find_bwrap(options->bwrap, getenv("SBX_BWRAP"),
					getenv("PATH"), &path, &err) == 0) {
		struct probe_request request = {
			path, getenv("XDG_RUNTIME_DIR"), p->identity.uid, p->identity.gid};

		if (probe_recall(&probe, &request) &&
			probe_choose(&choice, &probe, &needs, notes, &err) == 0) {
			bwrap->hostname = choice.hostname;
			bwrap->disable_userns = choice.disable_userns;
			return prepare_proc(choice.proc);
		}
	}
	strvec_clear(notes);
	bwrap->disable_userns = needs.disable_userns;
	if (policy->proc == PROC_AUTO)
		strvec_push(notes,
			"whether a fresh /proc can be mounted here is not known: the plan has one; "
			"sbx-exec --probe finds it out");
	return policy->proc == PROC_BIND ? PROC_BIND : PROC_FRESH;
}

/* Makes what was said on the command line, and what lies in the directory, the policy to prove. */
static int start_init(struct options *options, struct init *init, struct err *err)
{
	CLEANUP_FREE char *home = prepare_home();
	CLEANUP_FREE char *dir = NULL;
	struct user *user;
	struct tree *tree;

	if (options->n_command && chdir(options->command[0]) < 0)
		return err_set(err, ERR_USAGE, "cannot enter %s: %s", options->command[0],
			strerror(errno));
	dir = getcwd(NULL, 0);
	if (!dir || *dir != '/')
		return err_set(err, ERR_SYSTEM, "the working directory is not known");
	user = user_new(geteuid(), getegid());
	if (!user)
		return err_set(err, ERR_SYSTEM, "cannot look at files: %s", strerror(errno));
	tree = tree_live(user);
	init_policy(options, tree, dir, home, init);
	tree_live_free(tree);
	user_free(user);
	return 0;
}

/* The policy has been proven. */
static int finish_init(const struct options *options, const struct init *init, struct err *err)
{
	CLEANUP_FREE char *found = strvec_join(&init->found, ", ");

	if (init_write(options->flags, err) < 0)
		return -1;
	say_notes(&init->notes, 0);
	printf("wrote %s: %s%ssecrets denied: %zu\n", INIT_FILE, found, *found ? "; " : "",
		init->secrets);
	puts("look at it:  sbx-plan -p ./" INIT_FILE " --format tree\n"
	     "use it:      sbx-exec -p ./" INIT_FILE " -- COMMAND");
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct init init = {0};
	struct prepared p = {0};
	struct bwrap_options bwrap = {.hostname = true, .new_session = true, .env = &p.env};
	CLEANUP_STRVEC struct strvec notes = {0};
	struct err err = {0};
	bool nests;
	int rc = options_parse(&options, TOOL_PLAN, argc, argv, &err);

	if (rc == 0 && options.init)
		rc = start_init(&options, &init, &err);
	if (rc == 0)
		rc = prepare_policy(&p, &options, &err);
	if (rc == 0)
		rc = filtering_make(&p.filter, &err);
	if (rc == 0)
		rc = prepare_plan(&p, recall(&options, &p, &bwrap, &notes),
			options.answer != ANSWER_PLAN, &err);
	for (size_t i = 0; rc == 0 && i < notes.n; i++)
		strvec_push(&p.plan.notes, notes.v[i]);
	bwrap.label = p.identity.label;
	bwrap.uid = p.identity.shown_uid;
	bwrap.gid = p.identity.shown_gid;
	prepare_bwrap_filter(&p, &bwrap);
	if (rc == 0 && options.target)
		rc = fit(&p.plan, &bwrap, &p.policy, &options, &err);
	nests = prepare_nests(&p, bwrap.disable_userns);
	if (rc == 0)
		rc = prepare_required(&p, nests, &err);
	if (rc == 0 && options.strict)
		rc = prepare_strict(&p, tool, nests, &err);
	if (rc == 0 && options.answer != ANSWER_PLAN)
		rc = answer(&p, &options, nests, &err);
	if (rc == 0 && options.init)
		rc = finish_init(&options, &init, &err);
	else if (rc == 0 && options.answer == ANSWER_PLAN)
		rc = print_plan(&p, &options, &bwrap, &err);
	if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		rc = err_set(&err, ERR_SYSTEM, "cannot write to standard output");
	if (rc < 0)
		print_err(tool, &err);
	prepared_clear(&p);
	init_clear(&init);
	options_clear(&options);
	return rc >= 0 ? 0 : err.kind == ERR_USAGE ? 2 : 125;
}
