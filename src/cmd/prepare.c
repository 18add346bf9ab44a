#include "cmd/prepare.h"

#include "base/mem.h"
#include "base/path.h"
#include "plan/proof.h"
#include "plan/view.h"
#include "job/store.h"
#include "plan/variables.h"
#include "run/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

char *prepare_home(void)
{
	const char *home = getenv("HOME");

	return home && *home == '/' ? path_normalize(home) : identity_home(geteuid());
}

static void note_home(const struct prepared *p, struct strvec *notes)
{
	CLEANUP_FREE char *own = identity_home(p->identity.uid);

	if (own && p->home && strcmp(own, p->home) != 0 && strcmp(own, "/") != 0)
		strvec_pushf(notes,
			"~ is %s (%s): rules for it do not speak of %s, the home that "
			"/etc/passwd names for user %u",
			p->home, getenv("HOME") ? "$HOME" : "the caller's home", own,
			p->identity.uid);
}

static void note_label(const struct prepared *p, struct strvec *notes)
{
	const struct identity *id = &p->identity;

	if (id->label)
		strvec_pushf(notes,
			"the command sees itself as user %u, group %u: a label, as an ordinary "
			"user can become nobody else; to the host it is user %u",
			id->shown_uid, id->shown_gid, id->uid);
}

/* Where the caller's jobs are, or may come to be: written to by no sandbox, and hidden where there is a
 * directory that can hold jobs (store_open): another, or a link, may be what an earlier command left
 * there to have something else hidden. */
static void find_jobs(struct prepared *p)
{
	CLEANUP_STRVEC struct strvec places = {0};

	store_places(getenv("SBX_STATE"), getenv("XDG_STATE_HOME"), p->home, &places);
	for (size_t i = 0; i < places.n; i++) {
		CLEANUP_FREE char *above = path_parent(places.v[i]);
		CLEANUP_FREE char *real = realpath(above, NULL);
		CLEANUP_FREE char *at = real ? path_join(real, path_base(places.v[i])) : NULL;
		struct stat st;

		strvec_push(&p->own, places.v[i]);
		if (at && lstat(at, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
			(st.st_mode & 07777) == 0700)
			strvec_push(&p->hidden, at);
	}
}

static struct policy_context context_of(const struct prepared *p)
{
	return (struct policy_context){.home = p->home,
		.home_real = p->home_real,
		.cwd = p->cwd,
		.config_home = p->config_home,
		.own = p->own.v,
		.hidden = p->hidden.v};
}

int prepare_policy(struct prepared *p, const struct options *options, struct err *err)
{
	const char *config_home = getenv("XDG_CONFIG_HOME");
	struct policy_context context;

	p->home = prepare_home();
	p->home_real = p->home ? realpath(p->home, NULL) : NULL;
	p->cwd = getcwd(NULL, 0);
	/* "(unreachable)/..." is what getcwd says of a directory outside the root. */
	if (p->cwd && *p->cwd != '/') {
		free(p->cwd);
		p->cwd = NULL;
	}
	if (config_home && *config_home == '/')
		p->config_home = path_normalize(config_home);
	cache_places(getenv("XDG_RUNTIME_DIR"), &p->own);
	find_jobs(p);
	context = context_of(p);
	if (policy_load(&p->policy, &options->policies, options->flags, &options->flag_names,
		    &context, err) < 0)
		return -1;
	if (policy_check_image(&p->policy, environ, "/etc/sbx/image.json", err) < 0)
		return -1;
	if (policy_check_secrets(&p->policy, environ, err) < 0)
		return -1;
	if (filtering_init(&p->filter, &p->policy, err) < 0)
		return -1;
	return identity_find(&p->identity, &p->policy, p->policy.cwd ? p->policy.cwd : p->cwd, err);
}

struct probe_needs prepare_needs(const struct prepared *p)
{
	const struct policy *policy = &p->policy;

	return (struct probe_needs){
		.fresh = policy->proc == PROC_AUTO || policy->proc == PROC_FRESH,
		.bind = policy->proc == PROC_AUTO || policy->proc == PROC_BIND,
		.disable_userns = !policy->nested_userns,
		.filtered = filtering_closes_userns(&p->filter),
		.capabilities = policy->capabilities.n > 0,
		.network = policy->network == NETWORK_NONE,
		.hostname = policy->hostname,
	};
}

bool prepare_nests(const struct prepared *p, bool disabled)
{
	return !disabled && !filtering_closes_userns(&p->filter);
}

void prepare_bwrap_filter(const struct prepared *p, struct bwrap_options *bwrap)
{
	bwrap->filter.data = p->filter.program.data;
	bwrap->filter.len = p->filter.program.len;
	bwrap->filter.closes_userns = filtering_closes_userns(&p->filter);
}

enum proc_mode prepare_proc(enum probe_proc proc)
{
	static const enum proc_mode modes[] = {
		[PROBE_PROC_NONE] = PROC_NONE,
		[PROBE_PROC_FRESH] = PROC_FRESH,
		[PROBE_PROC_BIND] = PROC_BIND,
	};

	return modes[proc];
}

/* 0, or -errno as chdir would give it inside. */
static int look_at_cwd(const struct prepared *p)
{
	CLEANUP_VIEW_OBJECT struct view_object object = {0};
	int error = view_lookup(&p->plan, p->tree, p->plan.cwd, &object);
	struct tree_stat st;

	if (error)
		return error;
	if (object.access == ACCESS_DENY)
		return -EACCES;
	if (object.kind != TREE_DIR)
		return -ENOTDIR;
	if (object.host) {
		/* Any name will do: it is the directory's search permission that is asked for. */
		CLEANUP_FREE char *below = path_join(object.host, "x");

		return tree_lstat(p->tree, below, &st) == -EACCES ? -EACCES : 0;
	}
	return 0;
}

static int check_cwd(struct prepared *p, bool only_asking, struct err *err)
{
	int error = look_at_cwd(p);
	const struct rule *rule = error ? plan_hiding_rule(&p->plan, p->plan.cwd) : NULL;

	if (!error || error == -EINVAL) /* then the proof says why */
		return 0;
	if (only_asking) {
		strvec_pushf(&p->plan.notes,
			"the working directory %s cannot be used in the sandbox: %s", p->plan.cwd,
			strerror(-error));
		free(p->plan.cwd);
		p->plan.cwd = xstrdup("/");
		return 0;
	}
	err_set(err, ERR_PLAN, "the working directory %s cannot be used in the sandbox: %s",
		p->plan.cwd, strerror(-error));
	if (rule) {
		CLEANUP_FREE char *where = origin_text(&rule->origin);

		return err_hint(err, "the rule for %s (%s) hides it: go elsewhere with --chdir DIR",
			rule->path, where);
	}
	if (p->policy.cwd)
		return err_hint(err,
			"--chdir and process.cwd name a directory of the sandbox: see "
			"sbx-plan --explain %s",
			p->policy.cwd);
	return err_hint(err,
		"show it with --read ./ (the sandbox's /tmp is its own), or go elsewhere with "
		"--chdir DIR; sbx-plan --explain ./ tells more");
}

/* Who was taken for the owner of the working directory has to be who owns what the plan shows
 * there. */
static int check_owner(const struct prepared *p, struct err *err)
{
	CLEANUP_VIEW_OBJECT struct view_object object = {0};
	const struct identity *id = &p->identity;
	struct tree_stat st;

	if (p->policy.user.kind != USER_OWNER)
		return 0;
	if (view_lookup(&p->plan, p->tree, p->plan.cwd, &object) == 0 && object.host &&
		tree_lstat(p->tree, object.host, &st) == 0 && st.uid == id->shown_uid)
		return 0;
	err_set(err, ERR_PLAN, "the working directory %s does not belong to user %u inside",
		p->plan.cwd, id->shown_uid);
	err_hint(err, "name the user: --user UID:GID");
	return err_at(err, "%s", p->policy.user.where);
}

/* Whether the command's user may not write what a rule makes writable, nor change that as its
 * owner. */
static bool is_closed(const struct prepared *p, const struct op *op, struct tree_stat *st)
{
	return tree_lstat(p->tree, op->source, st) == 0 && st->uid != p->identity.uid &&
	       tree_access(p->tree, op->source, st->kind == TREE_DIR ? W_OK | X_OK : W_OK) ==
		       -EACCES;
}

/* The place of the host that a rule makes writable: the first of its ops, later ones are pins. */
static bool is_grant(const struct plan *plan, size_t i)
{
	if (plan->ops[i].kind != OP_BIND_WRITE)
		return false;
	for (size_t k = 0; k < i; k++)
		if (plan->ops[k].why == plan->ops[i].why && plan->ops[k].kind == OP_BIND_WRITE)
			return false;
	return true;
}

static int err_closed(
	const struct prepared *p, const struct op *op, const struct tree_stat *st, struct err *err)
{
	const struct identity *id = &p->identity;
	CLEANUP_FREE char *where = origin_text(&op->why->origin);

	err_set(err, ERR_PLAN,
		"user %u could not write to %s, nor to anything else that the policy makes "
		"writable: it belongs to user %u (mode %04o), and inside not even root passes "
		"modes",
		id->uid, op->source, st->uid, st->mode);
	if (st->uid == 0)
		err_hint(err, "chown it to %u:%u, or leave the user out (identity.user, --user)",
			id->uid, id->gid);
	else
		err_hint(err,
			"run the command as its owner (--user %u:%u, or --user owner in that "
			"directory; identity.user in a policy), or chown it",
			st->uid, st->gid);
	return err_at(err, "%s", where);
}

/* Root is used to writing anywhere. That it cannot here must not be found out by a command that ends
 * half-way; an ordinary user knows. */
static int check_grants(struct prepared *p, bool only_asking, struct err *err)
{
	const struct op *closed = NULL;
	struct tree_stat st, closed_st = {0};
	size_t n = 0, n_closed = 0;

	for (size_t i = 0; i < p->plan.n; i++) {
		const struct op *op = &p->plan.ops[i];

		if (!is_grant(&p->plan, i))
			continue;
		n++;
		if (!is_closed(p, op, &st))
			continue;
		strvec_pushf(&p->plan.notes,
			"user %u may not write to %s, which the policy makes writable: it belongs "
			"to user %u (mode %04o)",
			p->identity.uid, op->source, st.uid, st.mode);
		if (n_closed++ == 0) {
			closed = op;
			closed_st = st;
		}
	}
	if (n_closed == 0 || n_closed < n || only_asking || geteuid() != 0)
		return 0;
	return err_closed(p, closed, &closed_st, err);
}

/* Holds what the plan says. The number of names that were not held before, or -1. */
static int hold_names(struct prepared *p, struct err *err)
{
	int n = 0;

	for (size_t i = 0; i < p->plan.hold.n; i++) {
		const char *name = p->plan.hold.v[i];

		if (strvec_has(&p->held, name))
			continue;
		if (p->starts) {
			CLEANUP_USER const struct user *as = user_enter(p->identity.user);

			if (lease_take(&p->leases, name, err) < 0)
				return -1;
		}
		strvec_push(&p->held, name);
		n++;
	}
	return n;
}

/* Makes plans until one is made with all held that it wants to be held: each holds more names, and
 * no rule has more than one. */
static int make_plan(struct prepared *p, const struct plan_request *request, struct err *err)
{
	int n;

	do {
		prepared_plan_clear(p);
		p->tree = tree_live(p->identity.user);
		for (size_t i = 0; !p->starts && i < p->held.n; i++)
			tree_live_pretend(p->tree, p->held.v[i]);
		if (plan_make(&p->plan, &p->policy, p->tree, request, err) < 0)
			return -1;
		n = hold_names(p, err);
	} while (n > 0);
	return n;
}

int prepare_explainer(struct prepared *p, struct explainer *e, bool nested_userns, struct err *err)
{
	int n = geteuid() ? getgroups(0, NULL) : 0; /* a run drops root's */
	struct explain_user user = {p->identity.uid, p->identity.gid, NULL, (size_t)n};

	free(p->groups);
	user.groups = p->groups = xcalloc((size_t)n + 1, sizeof(*p->groups));
	if (n && getgroups(n, p->groups) != n) {
		err_set(err, ERR_SYSTEM, "cannot list the caller's groups");
		return -1;
	}
	explainer_init(e, &p->plan, p->tree, &user, nested_userns);
	return 0;
}

static int require_fresh_proc(const struct prepared *p, struct err *err)
{
	const struct policy *policy = &p->policy;
	const char *where = policy_requires(policy, "fresh-proc");

	if (!where || (policy->proc != PROC_NONE && p->plan.proc == PROC_FRESH))
		return 0;
	if (policy->proc == PROC_BIND || policy->proc == PROC_NONE) {
		err_set(err, ERR_PLAN,
			"filesystem.proc (--proc) is \"%s\", and the policy requires "
			"\"fresh-proc\"",
			policy->proc == PROC_BIND ? "bind" : "none");
		err_hint(err, "leave one of the two out");
	} else {
		err_set(err, ERR_PLAN,
			"a fresh /proc cannot be had here, and the policy requires \"fresh-proc\"");
		err_hint(err,
			"unmask /proc (docker: --security-opt systempaths=unconfined, podman: "
			"--security-opt unmask=ALL), or take \"fresh-proc\" out of \"require\"");
	}
	return err_at(err, "%s", where);
}

int prepare_required(struct prepared *p, bool nested_userns, struct err *err)
{
	struct explainer e;
	const struct rule *first = NULL;
	CLEANUP_FREE char *where = NULL;
	size_t n = 0;

	if (require_fresh_proc(p, err) < 0)
		return -1;
	if (!policy_requires(&p->policy, "protect"))
		return 0;
	if (prepare_explainer(p, &e, nested_userns, err) < 0)
		return -1;
	for (size_t i = 0; i < p->plan.rules.n; i++)
		if (rule_is_open(&e.rules[i])) {
			first = first ? first : e.rules[i].rule;
			n++;
		}
	explainer_clear(&e);
	if (!first)
		return 0;
	where = origin_text(&first->origin);
	err_set(err, ERR_PLAN,
		"protected names that nothing holds: %s%s, and the policy requires \"protect\"",
		first->path, n > 1 ? " and others" : "");
	err_hint(err,
		"\"missing\": \"enforce\" holds a name that does not exist; sbx-plan --rules shows "
		"what holds each");
	return err_at(err, "%s", where);
}

/* All are printed but the last, which err gets. */
static int check_fates(const struct explainer *e, const char *tool, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < e->plan->rules.n; i++) {
		const struct rule_fate *f = &e->rules[i];
		CLEANUP_FREE char *rule = rule_text(f->rule);
		CLEANUP_FREE char *origin = origin_text(&f->rule->origin);
		CLEANUP_FREE char *by = f->by ? origin_text(&f->by->origin) : NULL;
		struct err one = {0};

		if (f->fate == FATE_SHADOWED)
			err_set(&one, ERR_PLAN, "%s is shadowed: %s decides there", rule, by);
		else if (f->fate == FATE_IMPOSSIBLE)
			err_set(&one, ERR_PLAN,
				"%s is impossible: links that others can change lead to %s", rule,
				f->place);
		else if (f->fate == FATE_MISSING && f->open)
			err_set(&one, ERR_PLAN,
				"%s is not enforced: it does not exist, and the command could"
				" make it",
				rule);
		else
			continue;
		n++;
		err_at(&one, "%s", origin);
		err_hint(&one, "sbx-plan --rules shows what became of every rule");
		if (n > 1)
			print_err(tool, err);
		*err = one;
	}
	return n ? -1 : 0;
}

int prepare_strict(struct prepared *p, const char *tool, bool nested_userns, struct err *err)
{
	struct explainer e;
	int rc;

	if (prepare_explainer(p, &e, nested_userns, err) < 0)
		return -1;
	rc = check_fates(&e, tool, err);
	explainer_clear(&e);
	return rc;
}

int prepare_plan(struct prepared *p, enum proc_mode proc, bool only_asking, struct err *err)
{
	struct plan_request request = {.proc = proc, .cwd = p->cwd};
	struct policy_context context = context_of(p);
	CLEANUP_FREE char *home = p->identity.caller ? NULL : identity_home(p->identity.shown_uid);

	if (make_plan(p, &request, err) < 0)
		return -1;
	for (size_t i = 0; i < p->held.n; i++)
		strvec_pushf(&p->plan.notes,
			"%s does not exist: an empty placeholder holds the name during a run",
			p->held.v[i]);
	if (!p->identity.caller)
		context.home = home;
	policy_environment(&p->policy, environ, &context, p->starts, &p->env, &p->plan.notes);
	note_home(p, &p->plan.notes);
	note_label(p, &p->plan.notes);
	if (p->policy.proc != PROC_NONE && p->plan.proc == PROC_BIND)
		strvec_push(&p->plan.notes,
			"/proc is bound, not fresh: of processes outside the sandbox the command "
			"can read the command lines, mountinfo, network tables and cgroups");
	if (p->policy.propagation == PROPAGATION_SLAVE)
		strvec_push(&p->plan.notes,
			"what the host mounts later appears inside, too, as writable as the host "
			"mounts it (filesystem.propagation): no rule covers it, and no proof "
			"speaks of it");
	if (check_cwd(p, only_asking, err) < 0)
		return -1;
	if (proof_check(&p->plan, &p->policy, p->tree, err) < 0)
		return -1;
	variables_check(&p->plan, p->tree, &p->policy, &p->env, &p->plan.notes);
	if (!only_asking && check_owner(p, err) < 0)
		return -1;
	if (check_grants(p, only_asking, err) < 0)
		return -1;
	return tree_live_check(p->tree, err);
}

void prepare_end_leases(struct prepared *p, struct strvec *notes)
{
	if (!p->leases.n)
		return;
	CLEANUP_USER const struct user *as = user_enter(p->identity.user);

	leases_end(&p->leases, notes);
}

void prepared_plan_clear(struct prepared *p)
{
	tree_live_free(p->tree);
	p->tree = NULL;
	plan_clear(&p->plan);
	strvec_clear(&p->env);
}

void prepared_clear(struct prepared *p)
{
	prepared_plan_clear(p);
	strvec_clear(&p->held);
	strvec_clear(&p->own);
	strvec_clear(&p->hidden);
	identity_clear(&p->identity);
	filtering_clear(&p->filter);
	free(p->groups);
	policy_clear(&p->policy);
	free(p->home);
	free(p->home_real);
	free(p->cwd);
	free(p->config_home);
	*p = (struct prepared){0};
}
