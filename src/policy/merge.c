#include "policy/merge.h"
#include "policy/value.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

void merge_clear(struct merge *merge)
{
	for (size_t i = 0; i < N_SETTINGS; i++) {
		free(merge->where[i]);
		free(merge->final[i]);
	}
	strvec_clear(&merge->dropped);
}

/* An error about rule, which other contradicts; both places are named. */
static int conflict(
	struct err *err, const struct rule *rule, const char *what, const struct rule *other)
{
	CLEANUP_FREE char *where = origin_text(&rule->origin);
	CLEANUP_FREE char *there = origin_text(&other->origin);

	err_set(err, ERR_POLICY, "%s %s (%s)", rule_place(rule), what, there);
	return err_at(err, "%s", where);
}

bool policy_coexist(const struct rule *a, const struct rule *b)
{
	bool deny_a = a->kind == RULE_PATH && a->access == ACCESS_DENY;
	bool deny_b = b->kind == RULE_PATH && b->access == ACCESS_DENY;

	return (deny_a && b->at) || (deny_b && a->at);
}

static bool same_place(const struct rule *a, const struct rule *b)
{
	return a->pattern == b->pattern && a->worktree == b->worktree &&
	       strcmp(rule_place(a), rule_place(b)) == 0 && !policy_coexist(a, b);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_meaning(const struct rule *a, const struct rule *b)
{
	if (a->kind != b->kind || a->access != b->access || a->mask != b->mask ||
		a->missing != b->missing || a->lost_report != b->lost_report ||
		a->type != b->type || a->size != b->size || a->scratch != b->scratch ||
		a->optional != b->optional || a->follow != b->follow || a->final != b->final ||
		a->connect != b->connect || a->grants.n != b->grants.n)
		return false;
	for (size_t i = 0; i < a->grants.n; i++)
		if (strcmp(a->grants.v[i], b->grants.v[i]) != 0)
			return false;
	return same_text(a->path, b->path) && same_text(a->spelled, b->spelled) &&
	       same_text(a->text, b->text) && same_text(a->name, b->name);
}

/* off */

static int unknown_name(const struct policy *p, const struct layer *layer, size_t i,
	const char *file, struct err *err)
{
	CLEANUP_FREE const char **names = NULL;
	size_t n = 0, alloc = 0;
	const char *near;

	for (size_t j = 0; j < p->n_rules; j++)
		if (p->rules[j].name) {
			GROW(names, n, alloc);
			names[n++] = p->rules[j].name;
		}
	near = nearest(layer->off.v[i], names, n);
	err_set(err, ERR_POLICY, "no earlier layer has a rule named \"%s\"", layer->off.v[i]);
	if (near)
		err_hint(err, "did you mean \"%s\"?", near);
	else
		err_hint(err,
			"\"off\" drops rules of the policies in \"extends\" by their \"name\"");
	return err_at(err, "%s: /off/%zu", file, i);
}

static int drop_named(struct merge *m, const struct layer *layer, size_t i, struct err *err)
{
	struct policy *p = m->policy;
	const char *name = layer->off.v[i];
	size_t kept = 0, n = p->n_rules;

	for (size_t j = 0; j < n; j++)
		if (p->rules[j].final && same_text(p->rules[j].name, name)) {
			CLEANUP_FREE char *where = origin_text(&p->rules[j].origin);

			err_set(err, ERR_POLICY,
				"the rule \"%s\" is final and cannot be dropped (%s)", name, where);
			return err_at(err, "%s: /off/%zu", layer->file, i);
		}
	for (size_t j = 0; j < n; j++)
		if (same_text(p->rules[j].name, name))
			rule_clear(&p->rules[j]);
		else
			p->rules[kept++] = p->rules[j];
	p->n_rules = kept;
	if (kept < n)
		strvec_push(&m->dropped, name);
	return kept < n || strvec_has(&m->dropped, name)
		       ? 0
		       : unknown_name(p, layer, i, layer->file, err);
}

/* final */

static bool granted(const struct rule *final, const char *path)
{
	for (size_t i = 0; i < final->grants.n; i++)
		if (path_within(path, final->grants.v[i]))
			return true;
	return false;
}

int policy_check_final(const struct rule *rule, const struct rule *final, struct err *err)
{
	const char *place = rule_place(rule), *what = NULL;

	if (path_within(place, final->path) && !granted(final, place) &&
		(rule->at || rule->access > final->access))
		what = "lies at or below a final rule, which later layers may not loosen";
	if (rule->kind == RULE_MOUNT && path_within(rule->path, final->path) &&
		!granted(final, rule->path))
		what = "is mounted from a place at or below a final rule";
	if (rule->kind == RULE_MOUNT && rule->access == ACCESS_WRITE &&
		final->access == ACCESS_READ && path_within(final->path, rule->path))
		what = "would make writable what a final rule keeps read-only";
	if (!what)
		return 0;
	conflict(err, rule, what, final);
	if (final->grants.n)
		return err_hint(err, "the final rule leaves only its grants to later layers: %s%s",
			final->grants.v[0], final->grants.n > 1 ? " ..." : "");
	return err_hint(err, "change the policy that has the final rule, or leave this rule out");
}

/* ./ */

/* The rule that decides about a host path: the deepest PATH rule at or above it; NULL = none.
 * What patterns match is seen by the planner. */
static const struct rule *deciding_rule(const struct policy *p, const char *path)
{
	const struct rule *found = NULL;

	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *rule = &p->rules[i];

		if (rule->kind == RULE_PATH && !rule->pattern && !rule->worktree &&
			path_within(path, rule->path) &&
			(!found || path_within(rule->path, found->path)))
			found = rule;
	}
	return found;
}

/* What a directory is to the caller that must not be made writable by accident; NULL = nothing. */
static const char *sensitive(const char *path, const char *home)
{
	if (strcmp(path, "/") == 0)
		return "the whole file system";
	if (strcmp(path, "/tmp") == 0)
		return "/tmp";
	if (!home || !path_within(home, path))
		return NULL;
	return strcmp(path, home) == 0 ? "the home directory" : "a directory above the home";
}

/* "./" is wherever the caller stands: as a write rule it must not open a place by accident.
 * Where the home is a link, cwd is below what it leads to, and the rules of earlier layers are
 * below the link. */
static int check_written_out(const struct policy *earlier, const struct rule *rule,
	const struct policy_context *context, struct err *err)
{
	const char *real = context->home_real ? context->home_real : context->home;
	CLEANUP_FREE char *path =
		rule->pattern ? value_pattern_base(rule->path) : xstrdup(rule->path);
	const char *what = sensitive(path, real);
	const struct rule *deny = deciding_rule(earlier, path);

	if (real && path_within(path, real) && (!deny || deny->access != ACCESS_DENY)) {
		CLEANUP_FREE char *alias = path_join(context->home, path_below(path, real));

		deny = deciding_rule(earlier, alias);
	}
	if (what) {
		CLEANUP_FREE char *where = origin_text(&rule->origin);

		err_set(err, ERR_POLICY, "\"./\" would make %s writable: here it is %s", what,
			path);
		err_at(err, "%s", where);
	} else if (deny && deny->access == ACCESS_DENY) {
		conflict(err, rule, "is \"./\" here, and an earlier layer denies it", deny);
	} else {
		return 0;
	}
	return err_hint(err,
		"change to the directory that is meant, or write the path out (\"%s\", or "
		"--write %s) in place of \"./\"",
		rule->path, rule->path);
}

/* Rules */

static int check_rule(const struct merge *m, const struct rule *rule,
	const struct policy_context *context, struct err *err)
{
	/* What it stands for opens nothing that another rule closes: plan/worktree.c sees to it. */
	if (rule->worktree)
		return 0;
	for (size_t i = 0; i < m->policy->n_rules; i++) {
		const struct rule *other = &m->policy->rules[i];
		bool literal = !rule->pattern && !other->pattern;

		/* What patterns match is not known here: plan/glob.c asks again. */
		if (other->final && (literal || same_place(rule, other)) &&
			policy_check_final(rule, other, err) < 0)
			return -1;
	}
	if (rule->relative && rule->access == ACCESS_WRITE)
		return check_written_out(m->policy, rule, context, err);
	return 0;
}

/* Whether one object can be of the types of two rules. */
static bool may_both_count(const struct rule *a, const struct rule *b)
{
	return a->type == b->type || a->type == TYPE_ANY || b->type == TYPE_ANY;
}

/* Whether a rule is the repetition of an earlier one of its layer: 1, 0, or -1 when they
 * contradict. */
static int repeats(const struct policy *layer, size_t n, struct err *err)
{
	const struct rule *rule = &layer->rules[n];

	for (size_t i = 0; i < n; i++) {
		const struct rule *other = &layer->rules[i];

		if (!rule_place(other) || !same_place(rule, other) || !may_both_count(rule, other))
			continue;
		if (same_meaning(rule, other))
			return 1;
		conflict(err, rule, "has another rule in the same policy", other);
		return err_hint(err, "keep one of the two");
	}
	return 0;
}

/* Moves a rule into the policy, where it replaces those of earlier layers at its place; the planner
 * sees which of two for different types counts. A final rule stays final: one that lowers it
 * inherits that, one that says the same gives way to it. */
static void add_rule(struct policy *p, struct rule *rule)
{
	size_t kept = 0;

	for (struct rule *old = p->rules; old && old < p->rules + p->n_rules; old++) {
		if (!same_place(old, rule) || old->type != rule->type) {
			p->rules[kept++] = *old;
			continue;
		}
		if (old->final && old->access == rule->access) {
			rule_clear(rule);
			*rule = *old;
			continue;
		}
		if (old->final) {
			rule->final = true;
			rule->lost_report &= old->lost_report;
			strvec_clear(&rule->grants);
			rule->grants = old->grants;
			old->grants = (struct strvec){0};
		}
		rule_clear(old);
	}
	p->rules = xreallocarray(p->rules, kept + 1, sizeof(*p->rules));
	p->rules[kept] = *rule;
	p->n_rules = kept + 1;
	*rule = (struct rule){0};
}

/* There is one scratch: a later layer's takes the place of an earlier one's, wherever that is. */
static void drop_scratch(struct policy *p)
{
	size_t kept = 0, n = p->n_rules;

	for (size_t i = 0; i < n; i++)
		if (p->rules[i].scratch)
			rule_clear(&p->rules[i]);
		else
			p->rules[kept++] = p->rules[i];
	p->n_rules = kept;
}

static int merge_rules(struct merge *m, struct policy *layer, const struct policy_context *context,
	struct err *err)
{
	for (size_t i = 0; i < layer->n_rules; i++) {
		int repeated = repeats(layer, i, err);

		if (repeated < 0 || check_rule(m, &layer->rules[i], context, err) < 0)
			return -1;
		if (repeated)
			rule_clear(&layer->rules[i]);
	}
	for (size_t i = 0; i < layer->n_rules; i++)
		if (rule_place(&layer->rules[i]))
			add_rule(m->policy, &layer->rules[i]);
	return 0;
}

/* Settings */

static bool same_user(const struct policy_user *a, const struct policy_user *b)
{
	return a->kind == b->kind && a->uid == b->uid && a->has_gid == b->has_gid &&
	       a->gid == b->gid;
}

/* Whether one list of pairs has the calls of another. */
static bool has_calls(const struct strvec *old, const struct strvec *new)
{
	for (size_t i = 0; i < new->n; i += 2) {
		bool has = false;

		for (size_t k = 0; k < old->n; k += 2)
			has = has || strcmp(old->v[k], new->v[i]) == 0;
		if (!has)
			return false;
	}
	return true;
}

/* What "final" calls a setting of the layer, which it does by the first of a group. */
static enum setting final_group(enum setting setting)
{
	/* Nested namespaces need what the filter refuses. */
	if (setting == SET_SECCOMP_ALLOW || setting == SET_SECCOMP_VIOLATION ||
		setting == SET_NESTED_USERNS)
		return SET_SECCOMP;
	return setting < SET_LIMITS ? setting : SET_LIMITS;
}

/* Whether a setting of the layer loosens what "final" can hold. */
static bool loosens(struct policy *old, struct policy *new, enum setting setting)
{
	if (setting == SET_NETWORK)
		return old->network == NETWORK_NONE && new->network == NETWORK_HOST;
	if (setting == SET_USER)
		return !same_user(&old->user, &new->user);
	if (setting == SET_VERIFY)
		return old->verify && !new->verify;
	if (setting == SET_PROPAGATION)
		return old->propagation == PROPAGATION_PRIVATE &&
		       new->propagation == PROPAGATION_SLAVE;
	if (setting == SET_NESTED_USERNS)
		return !old->nested_userns && new->nested_userns;
	if (setting == SET_SECCOMP)
		return new->seccomp.profile < old->seccomp.profile;
	if (setting == SET_SECCOMP_ALLOW)
		return !has_calls(&old->seccomp.allow, &new->seccomp.allow);
	if (setting == SET_SECCOMP_VIOLATION)
		return old->seccomp.kill && !new->seccomp.kill;
	if (setting == SET_OUTPUT_THEN)
		return old->limits.output_kill && !new->limits.output_kill;
	if (setting == SET_CGROUP_MANAGE)
		return old->cgroup_manage && !new->cgroup_manage;

	uint64_t was = *limit_value(&old->limits, setting);

	return (was || setting == SET_CORE) && *limit_value(&new->limits, setting) > was;
}

static int check_final_settings(const struct merge *m, struct layer *layer, struct err *err)
{
	static const char *const kept[] = {
		[SET_NETWORK] = "the network is final",
		[SET_USER] = "the user is final",
		[SET_VERIFY] = "verifying is final",
		[SET_PROPAGATION] = "the propagation of mounts is final",
		[SET_SECCOMP] = "seccomp is final: no later layer allows more calls",
		[SET_LIMITS] = "limits are final and can only be lowered",
	};

	for (enum setting s = 0; s < N_SETTINGS; s++) {
		enum setting group = final_group(s);

		if (!m->final[group] || !layer->where[s] || !loosens(m->policy, &layer->policy, s))
			continue;
		err_set(err, ERR_POLICY, "%s (%s)", kept[group], m->final[group]);
		err_hint(err, "leave it out, or change the policy that makes it final");
		return err_at(err, "%s", layer->where[s]);
	}
	return 0;
}

/* Moves a string from a layer, when it has it. */
static void take_text(char **to, char **from)
{
	if (!*from)
		return;
	free(*to);
	*to = *from;
	*from = NULL;
}

static void take_list(struct strvec *to, const struct strvec *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (!strvec_has(to, from->v[i]))
			strvec_push(to, from->v[i]);
}

/* What a layer names, each with its place. */
static void take_pairs(struct strvec *to, const struct strvec *from)
{
	for (size_t i = 0; i < from->n; i++)
		strvec_push(to, from->v[i]);
}

static void set_variable(struct policy *p, const struct env_set *set)
{
	size_t i = 0;

	while (i < p->n_env_set && strcmp(p->env_set[i].name, set->name) != 0)
		i++;
	if (i == p->n_env_set) {
		p->env_set = xreallocarray(p->env_set, ++p->n_env_set, sizeof(*p->env_set));
		p->env_set[i] = (struct env_set){xstrdup(set->name), NULL};
	}
	free(p->env_set[i].value);
	p->env_set[i].value = xstrdup(set->value);
}

static void take_secret(struct policy *p, struct env_secret *secret)
{
	if (policy_is_secret(p, secret->name))
		return;
	p->env_secrets =
		xreallocarray(p->env_secrets, p->n_env_secrets + 1, sizeof(*p->env_secrets));
	p->env_secrets[p->n_env_secrets++] = *secret;
	*secret = (struct env_secret){0};
}

/* What a later layer puts before a variable comes before what earlier ones do. */
static void take_prepend(struct policy *p, struct env_prepend *prepend)
{
	size_t i = 0;

	while (i < p->n_env_prepend && strcmp(p->env_prepend[i].name, prepend->name) != 0)
		i++;
	if (i == p->n_env_prepend) {
		p->env_prepend =
			xreallocarray(p->env_prepend, ++p->n_env_prepend, sizeof(*p->env_prepend));
		p->env_prepend[i] = (struct env_prepend){.name = xstrdup(prepend->name)};
	}
	take_list(&prepend->dirs, &p->env_prepend[i].dirs);
	strvec_clear(&p->env_prepend[i].dirs);
	p->env_prepend[i].dirs = prepend->dirs;
	prepend->dirs = (struct strvec){0};
}

static void merge_settings(struct merge *m, struct layer *layer)
{
	struct policy *p = m->policy, *new = &layer->policy;

	take_text(&p->description, &new->description);
	take_text(&p->hostname, &new->hostname);
	take_text(&p->cwd, &new->cwd);
	if (layer->where[SET_USER]) {
		free(p->user.where);
		p->user = new->user;
		new->user.where = NULL;
	}
	if (layer->where[SET_NETWORK])
		p->network = new->network;
	if (layer->where[SET_PROC])
		p->proc = new->proc;
	if (layer->where[SET_DEV])
		p->dev = new->dev;
	if (layer->where[SET_VERIFY])
		p->verify = new->verify;
	if (layer->where[SET_PROPAGATION])
		p->propagation = new->propagation;
	if (layer->where[SET_ENV_BASE])
		p->env_base = new->env_base;
	take_text(&p->env_file, &new->env_file);
	take_text(&p->image_build.wanted, &new->image_build.wanted);
	take_text(&p->image_build.where, &new->image_build.where);
	take_text(&p->image_base.wanted, &new->image_base.wanted);
	take_text(&p->image_base.where, &new->image_base.where);
	if (layer->where[SET_NESTED_USERNS])
		p->nested_userns = new->nested_userns;
	if (layer->where[SET_STDIO])
		p->stdio = new->stdio;
	if (layer->where[SET_SECCOMP])
		p->seccomp.profile = new->seccomp.profile;
	if (layer->where[SET_SECCOMP_VIOLATION])
		p->seccomp.kill = new->seccomp.kill;
	take_pairs(&p->seccomp.allow, &new->seccomp.allow);
	take_pairs(&p->seccomp.deny, &new->seccomp.deny);
	for (enum setting s = SET_LIMITS; s <= SET_CORE; s++)
		if (layer->where[s])
			*limit_value(&p->limits, s) = *limit_value(&new->limits, s);
	if (layer->where[SET_OUTPUT_THEN])
		p->limits.output_kill = new->limits.output_kill;
	if (layer->where[SET_CGROUP_MANAGE])
		p->cgroup_manage = new->cgroup_manage;
	take_pairs(&p->require, &new->require);
	take_list(&p->capabilities, &new->capabilities);
	take_list(&p->env_inherit, &new->env_inherit);
	for (size_t i = 0; i < new->n_env_set; i++)
		set_variable(p, &new->env_set[i]);
	for (size_t i = 0; i < new->n_env_secrets; i++)
		take_secret(p, &new->env_secrets[i]);
	for (size_t i = 0; i < new->n_env_prepend; i++)
		take_prepend(p, &new->env_prepend[i]);
	for (size_t i = 0; i < N_SETTINGS; i++) {
		take_text(&m->where[i], &layer->where[i]);
		take_text(&m->final[i], &layer->final[i]);
	}
}

int merge_layer(struct merge *merge, struct layer *layer, const struct policy_context *context,
	struct err *err)
{
	for (size_t i = 0; i < layer->off.n; i++)
		if (drop_named(merge, layer, i, err) < 0)
			return -1;
	if (layer->where[SET_SCRATCH])
		drop_scratch(merge->policy);
	if (check_final_settings(merge, layer, err) < 0 ||
		merge_rules(merge, &layer->policy, context, err) < 0)
		return -1;
	merge_settings(merge, layer);
	return 0;
}

/* The whole */

/* The rule at a place that counts whatever is there. */
static const struct rule *rule_at(const struct policy *p, const char *place)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (!p->rules[i].pattern && p->rules[i].type == TYPE_ANY &&
			strcmp(rule_place(&p->rules[i]), place) == 0)
			return &p->rules[i];
	return NULL;
}

/* A rule of the language's own; rule has the fields that differ from zero. path and at are
 * copied. */
static void add_default(struct policy *p, struct rule rule)
{
	rule.path = rule.path ? xstrdup(rule.path) : NULL;
	rule.at = rule.at ? xstrdup(rule.at) : NULL;
	rule.why = rule.why ? xstrdup(rule.why) : NULL;
	rule.origin = (struct origin){xstrdup("default"), xstrdup(""), 0};
	add_rule(p, &rule);
}

static void add_defaults(struct policy *p)
{
	if (!rule_at(p, "/"))
		add_default(p,
			(struct rule){
				.kind = RULE_ROOT, .access = ACCESS_DENY, .path = (char[]){"/"}});
	if (!rule_at(p, "/proc"))
		add_default(p, (struct rule){.kind = RULE_PROC,
				       .access = ACCESS_WRITE,
				       .at = (char[]){"/proc"}});
	if (!rule_at(p, "/dev"))
		add_default(p,
			(struct rule){
				.kind = RULE_DEV, .access = ACCESS_WRITE, .at = (char[]){"/dev"}});
	if (!rule_at(p, "/tmp"))
		add_default(p, (struct rule){.kind = RULE_TMPFS,
				       .access = ACCESS_WRITE,
				       .at = (char[]){"/tmp"}});
}

/* A PROC or DEV rule that says "none" has done its work when it has replaced the default one. */
static void drop_none(struct policy *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n_rules; i++)
		if ((p->rules[i].kind == RULE_PROC && p->proc == PROC_NONE) ||
			(p->rules[i].kind == RULE_DEV && p->dev == DEV_NONE))
			rule_clear(&p->rules[i]);
		else
			p->rules[kept++] = p->rules[i];
	p->n_rules = kept;
}

/* Whether a rule names one place of the host's, which it shows. */
static bool names_place(const struct rule *rule)
{
	return !rule->pattern && !rule->worktree &&
	       (rule->kind == RULE_PATH || rule->kind == RULE_MOUNT);
}

/* The default rule for a place of sbx's own. */
static void add_own(struct policy *p, const char *own, enum access access, const char *why)
{
	add_default(p, (struct rule){.kind = RULE_PATH,
			       .access = access,
			       .path = (char *)own,
			       .why = (char *)why,
			       .optional = true,
			       .final = true});
}

/* sbx's own files, those of this policy among them, would let a run write the policy of the next
 * one. A rule that makes one of them writable is an error; under one that makes a directory above
 * writable they are kept read-only. PATH read follows the object only where a PATH write covers
 * it, so under a mount they are denied. */
static int protect_own(struct policy *p, const char *own, struct err *err)
{
	bool covered = false, mounted = false, kept = false;

	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *rule = &p->rules[i];

		if (rule->access != ACCESS_WRITE || !names_place(rule))
			continue;
		if (path_within(rule->path, own)) {
			CLEANUP_FREE char *where = origin_text(&rule->origin);

			err_set(err, ERR_POLICY,
				"%s would be writable: sbx keeps its own policies and state "
				"in %s",
				rule->path, own);
			err_hint(err, "give it \"read\", or leave it out");
			return err_at(err, "%s", where);
		}
		covered |= path_within(own, rule->path);
		mounted |= rule->kind == RULE_MOUNT && path_within(own, rule->path);
	}
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].kind == RULE_PATH && !p->rules[i].pattern &&
			strcmp(p->rules[i].path, own) == 0) {
			if (mounted)
				p->rules[i].access = ACCESS_DENY;
			kept |= p->rules[i].type == TYPE_ANY;
		}
	if (!kept && covered && (mounted || !rule_at(p, own)))
		add_own(p, own, mounted ? ACCESS_DENY : ACCESS_READ, "sbx's own files");
	return 0;
}

/* What of them no sandbox may show: whatever would is refused, and the rest of the policy goes round
 * it. */
static int hide_own(struct policy *p, const char *own, struct err *err)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		struct rule *rule = &p->rules[i];

		if (rule->access == ACCESS_DENY || !names_place(rule) ||
			!path_within(rule->path, own))
			continue;
		if (rule->final && strcmp(rule->origin.file, "default") == 0) {
			rule->access = ACCESS_DENY; /* of protect_own */
			continue;
		}
		CLEANUP_FREE char *where = origin_text(&rule->origin);

		err_set(err, ERR_POLICY,
			"%s would be visible: sbx keeps its jobs in %s, which it shows "
			"to none",
			rule->path, own);
		err_hint(err, "leave it out");
		return err_at(err, "%s", where);
	}
	if (!rule_at(p, own))
		add_own(p, own, ACCESS_DENY, "sbx's jobs");
	return 0;
}

static int protect_all_own(struct policy *p, const struct policy_context *context, struct err *err)
{
	static const char *const below_home[] = {".config/sbx", ".local/state/sbx", ".cache/sbx"};
	CLEANUP_STRVEC struct strvec own = {0};

	strvec_push(&own, "/etc/sbx");
	if (context->config_home && *context->config_home == '/')
		strvec_pushf(&own, "%s/sbx", context->config_home);
	for (size_t i = 0; context->home && i < sizeof(below_home) / sizeof(*below_home); i++) {
		strvec_pushf(&own, "%s/%s", context->home, below_home[i]);
		if (context->home_real && strcmp(context->home_real, context->home) != 0)
			strvec_pushf(&own, "%s/%s", context->home_real, below_home[i]);
	}
	for (char *const *more = context->own; more && *more; more++)
		strvec_push(&own, *more);
	for (size_t i = 0; i < own.n; i++)
		strvec_take(&p->own, path_normalize(own.v[i]));
	for (size_t i = 0; i < p->own.n; i++)
		if (protect_own(p, p->own.v[i], err) < 0)
			return -1;
	for (char *const *hidden = context->hidden; hidden && *hidden; hidden++)
		if (hide_own(p, *hidden, err) < 0)
			return -1;
	return 0;
}

/* A secret is what the caller has: nothing of the policy's may stand in its place or be put before
 * it, where it would be printed with the rest. */
static int check_secrets(const struct policy *p, struct err *err)
{
	for (size_t i = 0; i < p->n_env_secrets; i++) {
		const struct env_secret *secret = &p->env_secrets[i];
		const char *other = NULL;

		for (size_t k = 0; k < p->n_env_set; k++)
			if (strcmp(p->env_set[k].name, secret->name) == 0)
				other = "\"set\" (--env)";
		for (size_t k = 0; k < p->n_env_prepend; k++)
			if (strcmp(p->env_prepend[k].name, secret->name) == 0)
				other = "\"prepend\"";
		if (!other)
			continue;
		err_set(err, ERR_POLICY, "%s is a secret, and %s changes it", secret->name, other);
		err_hint(err, "leave one of the two out");
		return err_at(err, "%s", secret->where);
	}
	return 0;
}

/* What is required has to be asked for: nothing else could be enforced. */
static int check_required(const struct policy *p, struct err *err)
{
	const struct policy_limits *l = &p->limits;
	const struct {
		const char *name;
		bool asked;
		const char *hint;
	} names[] = {
		{"network", p->network == NETWORK_NONE, "\"network\" is \"host\" (--net)"},
		{"wall", l->wall_ms, "set limits.wall (--timeout)"},
		{"cpu", l->cpu_ms, "set limits.cpu (--cpu)"},
		{"memory", l->memory, "set limits.memory (--memory)"},
		{"processes", l->processes, "set limits.processes (--processes)"},
		{"output", l->output, "set limits.output (--output-limit)"},
		{"file_size", l->file_size, "set limits.file_size"},
		{"open_files", l->open_files, "set limits.open_files"},
		{"nested_userns", !p->nested_userns, "process.nested_userns is true"},
		{"user", p->user.kind != USER_CALLER, "set identity.user (--user)"},
		{"seccomp", p->seccomp.profile != PROFILE_NONE || p->seccomp.deny.n,
			"\"seccomp\" is \"none\" (--seccomp)"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *where = policy_requires(p, names[i].name);

		if (!where || names[i].asked)
			continue;
		err_set(err, ERR_POLICY, "\"%s\" is required, and the policy does not ask for it",
			names[i].name);
		err_hint(err, "%s, or leave \"%s\" out of \"require\"", names[i].hint,
			names[i].name);
		return err_at(err, "%s", where);
	}
	return 0;
}

int merge_finish(struct merge *merge, const struct policy_context *context, struct err *err)
{
	struct policy *p = merge->policy;

	if (p->capabilities.n && p->nested_userns) {
		err_set(err, ERR_POLICY,
			"capabilities together with nested user namespaces (%s): the command "
			"could take off what covers denied places",
			merge->where[SET_CAPABILITIES]);
		err_hint(err, "leave one of the two out");
		return err_at(err, "%s", merge->where[SET_NESTED_USERNS]);
	}
	if (check_secrets(p, err) < 0 || check_required(p, err) < 0)
		return -1;
	if (p->n_rules > MERGE_MAX_RULES)
		return err_set(err, ERR_POLICY, "more than %d rules in all policies together",
			MERGE_MAX_RULES);
	add_defaults(p);
	drop_none(p);
	return protect_all_own(p, context, err);
}
