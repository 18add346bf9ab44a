#include "plan/proof_parts.h"

#include "base/mem.h"
#include "base/placeholder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The parts of a fresh /proc that reach the whole machine. */
static const char *const machine_parts[] = {
	"/proc/acpi",
	"/proc/bus",
	"/proc/driver",
	"/proc/fs",
	"/proc/irq",
	"/proc/mtrr",
	"/proc/scsi",
	"/proc/sys",
	"/proc/sysrq-trigger",
};

/* The directories that the command finds in its scratch. */
static const char *const scratch_dirs[] = {"/home", "/tmp"};

/* Claims: which rule stands where */

/* Whether some rule makes a host path of this name writable, even if another takes that back: a
 * link there must not raise anything. */
static bool name_may_be_written(const struct proof *pr, const char *path)
{
	for (size_t i = 0; i < pr->n_claims; i++) {
		const struct claim *c = &pr->claims[i];

		if ((c->rule->kind == RULE_PATH || c->rule->kind == RULE_MOUNT) &&
			c->rule->access == ACCESS_WRITE && view_tail(path, c->object))
			return true;
	}
	return false;
}

bool proof_may_be_written(const struct proof *pr, const char *path)
{
	size_t n;
	const struct tree_mount *mounts = tree_mounts(pr->tree, &n);
	CLEANUP_FREE char *in_fs = NULL;
	const struct tree_mount *own = proof_mount_of(pr, path, &in_fs);

	for (size_t i = 0; own && i < n; i++) {
		const char *rest =
			mounts[i].dev == own->dev ? view_tail(in_fs, mounts[i].root) : NULL;
		CLEANUP_FREE char *name = rest ? view_graft(mounts[i].at, rest) : NULL;

		if (name && name_may_be_written(pr, name) && proof_same_object(pr, path, name))
			return true;
	}
	return name_may_be_written(pr, path);
}

/* Whether nobody but root and, if it follows, the caller, and nothing inside, can put another link
 * in a link's place: all directories above it are theirs, and nobody else may write in its own;
 * above that, in a sticky one, others cannot move what is theirs. */
static bool link_trusted(const struct proof *pr, const char *link, bool follow)
{
	CLEANUP_FREE char *dir = xstrdup(link);
	struct tree_stat st;

	view_cut_last(dir);
	if (proof_may_be_written(pr, dir))
		return false;
	for (bool above = false;; above = true, view_cut_last(dir)) {
		if (tree_lstat(pr->tree, dir, &st) < 0)
			return false;
		if (st.uid != 0 && (!follow || st.uid != pr->tree->uid))
			return false;
		if ((st.mode & 022) && !(above && (st.mode & S_ISVTX)))
			return false;
		if (!dir[1])
			return true;
	}
}

static bool links_trusted(const struct proof *pr, const struct claim *c)
{
	for (size_t i = 0; i < c->links.n; i++)
		if (!link_trusted(pr, c->links.v[i], c->rule->follow))
			return false;
	return true;
}

static int claim_resolve(struct proof *pr, struct claim *c)
{
	const struct rule *rule = c->rule;
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *other = NULL;

	if (!rule->path)
		return 0;
	c->error = view_walk(&pr->host, rule->path, &c->links, &c->object);
	if (rule->spelled) {
		view_walk(&pr->host, rule->spelled, &links, &other);
		if (strcmp(other, c->object) != 0)
			return proof_fault(pr->err, rule, "%s and %s are not the same",
				rule->spelled, rule->path);
	}
	c->off = c->error == INTO_PROC || c->error == -ELOOP ||
		 (c->error && (rule->kind != RULE_PATH || rule->access != ACCESS_DENY));
	return 0;
}

static const struct claim *host_claim(const struct proof *pr, const char *path)
{
	const struct view_place *place = view_place_above(&pr->view, path);

	while (!place->path_claim)
		place = place->parent;
	return place->path_claim;
}

static int grant_fault(struct proof *pr, const struct claim *c, const char *what)
{
	return proof_fault(
		pr->err, c->rule, "%s %s: %s", proof_rule_words(c->rule), c->rule->path, what);
}

/* Whether a rule keeps an object of the host's from being written. */
static bool is_never_written(const struct proof *pr, const char *path)
{
	for (size_t i = 0; i < pr->n_claims; i++)
		if (pr->claims[i].rule->kind == RULE_PATH && pr->claims[i].access != ACCESS_WRITE &&
			strcmp(pr->claims[i].object, path) == 0)
			return true;
	return false;
}

/* Whether what a link leads to holds sbx's own files, or lies among them. Where no link is on the
 * way, the policy sees to them. */
static bool opens_own(const struct proof *pr, const struct claim *c)
{
	for (size_t i = 0; i < pr->policy->own.n; i++) {
		CLEANUP_STRVEC struct strvec links = {0};
		CLEANUP_FREE char *own = NULL;

		view_walk(&pr->host, pr->policy->own.v[i], &links, &own);
		if (view_tail(c->object, own) ||
			(view_tail(own, c->object) && !is_never_written(pr, own)))
			return true;
	}
	return false;
}

/* A grant that cannot be one. */
static int check_grant(struct proof *pr, const struct claim *c)
{
	const struct rule *rule = c->rule;
	bool path = rule->kind == RULE_PATH && rule->access != ACCESS_DENY && c->error != INTO_PROC;

	if (path && (view_tail(c->object, "/proc") || view_tail(c->object, "/dev")))
		return grant_fault(pr, c, "nothing of the host's /proc or /dev can be shown");
	/* A denied one may lead there through a link: what shows is the sandbox's own. */
	if (rule->kind == RULE_PATH && rule->access != ACCESS_DENY &&
		strcmp(c->object, "/tmp") == 0)
		return grant_fault(pr, c, "/tmp is the sandbox's own");
	if (rule->kind == RULE_MOUNT && pr->plan->proc == PROC_FRESH &&
		(view_tail(c->object, "/proc") || !c->object[1]))
		return grant_fault(pr, c, "it would show the host's /proc");
	if (rule->kind == RULE_MOUNT && !c->trusted &&
		host_claim(pr, c->object)->access < rule->access)
		return grant_fault(pr, c, "a link that others can change may not raise access");
	if ((rule->kind == RULE_PATH || rule->kind == RULE_MOUNT) && rule->access == ACCESS_WRITE &&
		c->links.n && opens_own(pr, c))
		return grant_fault(pr, c, "sbx's own files would be writable");
	if (rule->kind == RULE_DEVICE && !c->trusted)
		return grant_fault(pr, c, "a link that others can change leads to it");
	return 0;
}

/* Lets a PATH rule stand at its object; of two rules at one object the lower holds. */
static void stand_path(struct proof *pr, struct claim *c)
{
	struct view_place *place = view_place_get(&pr->view, c->object);
	const struct claim *old = place->path_claim;

	if (!old || old->rule->kind == RULE_ROOT || c->access < old->access)
		place->path_claim = c;
}

/* Lets the PATH rules of one access stand, those whose links can be trusted or the others. Through
 * a link that others can change a rule only lowers access; which is seen before any of its kind
 * stands, so that none depends on another. */
static void stand_paths(struct proof *pr, enum access access, bool trusted)
{
	struct claim *const end = pr->claims + pr->n_claims;

	for (struct claim *c = pr->claims; c < end; c++)
		if (c->rule->kind == RULE_PATH && c->access == access && !c->trusted && !trusted)
			c->off |= access != ACCESS_DENY &&
				  access >= host_claim(pr, c->object)->access;
	for (struct claim *c = pr->claims; c < end; c++)
		if (c->rule->kind == RULE_PATH && c->access == access && c->trusted == trusted &&
			!c->off)
			stand_path(pr, c);
}

/* Lets a rule with a place of its own stand there. */
static int stand_at(struct proof *pr, struct claim *c)
{
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *where = NULL;
	struct view_place *place;

	if (c->rule->at)
		view_walk(&pr->view, c->rule->at, &links, &where);
	for (size_t i = 0; i < links.n; i++) {
		CLEANUP_SEEN struct seen s;

		view_look(&pr->view, links.v[i], &s);
		if (!link_trusted(pr, s.host ? s.host : links.v[i], false))
			return proof_fault(pr->err, c->rule,
				"%s is reached through %s, a link that others can change",
				c->rule->at, links.v[i]);
	}
	assert(where || c->object); /* a rule without an at names an object */
	place = view_place_get(&pr->view, where ? where : c->object);
	if (place->at_claim)
		return proof_fault(pr->err, c->rule, "two rules stand at %s", place->path);
	place->at_claim = c;
	c->stands = place;
	return 0;
}

int proof_make_claims(struct proof *pr)
{
	proof_make_rules(pr);
	pr->claims = xcalloc(pr->n_rules, sizeof(*pr->claims));
	for (; pr->n_claims < pr->n_rules; pr->n_claims++) {
		struct claim *c = &pr->claims[pr->n_claims];

		c->rule = pr->rules[pr->n_claims];
		c->access = c->rule->access;
		if (claim_resolve(pr, c) < 0) {
			pr->n_claims++;
			return -1;
		}
	}
	for (size_t i = 0; i < pr->n_claims; i++)
		pr->claims[i].trusted = links_trusted(pr, &pr->claims[i]);
	for (size_t i = 0; i < pr->n_claims; i++)
		if (pr->claims[i].rule->kind == RULE_ROOT)
			pr->view.top->path_claim = &pr->claims[i];
	if (!pr->view.top->path_claim)
		return proof_fault(pr->err, NULL, "the policy says nothing of the root");
	pr->unowned = (struct claim){.rule = pr->view.top->path_claim->rule, .access = ACCESS_DENY};
	return 0;
}

/* Whether a mount gives more than access to a host path. */
static bool mount_shows_more(const struct proof *pr, const char *path, enum access access)
{
	for (size_t i = 0; i < pr->n_claims; i++)
		if (pr->claims[i].rule->kind == RULE_MOUNT && !pr->claims[i].error &&
			pr->claims[i].access > access && view_tail(path, pr->claims[i].object))
			return true;
	return false;
}

/* Whether a rule makes the directory of a host path writable: at its own place, or in a mount. */
static bool below_write(const struct proof *pr, const char *path)
{
	for (const struct view_place *p = view_place_get(&pr->view, path)->parent; p; p = p->parent)
		if (p->path_claim && p->path_claim->access == ACCESS_WRITE)
			return true;
	return mount_shows_more(pr, path, ACCESS_READ);
}

bool proof_protects(const struct proof *pr, const struct claim *c)
{
	return c->rule->kind == RULE_PATH &&
	       (c->access == ACCESS_DENY ||
		       (c->access == ACCESS_READ && below_write(pr, c->object)));
}

/* Lets a claim stand at another name too, with access at most, unless there is no more there, and
 * no mount that would show more. */
static void add_alias(struct proof *pr, const struct claim *c, const char *name, enum access access)
{
	enum access now = host_claim(pr, name)->access;
	struct view_place *place = view_place_get(&pr->view, name);
	struct claim *alias;

	if (now <= access && (place->path_claim || !mount_shows_more(pr, name, access)))
		return;
	access = now < access ? now : access;
	alias = xcalloc(1, sizeof(*alias));
	*alias = (struct claim){
		.rule = c->rule, .access = access, .object = xstrdup(name), .trusted = true};
	GROW(pr->aliases, pr->n_aliases, pr->alloc_aliases);
	pr->aliases[pr->n_aliases++] = alias;
	place->path_claim = alias;
}

/* What is enforced may be held by a placeholder above its own name, which has to stay. */
static void stand_placeholder(struct proof *pr, const struct claim *c)
{
	CLEANUP_FREE char *name = xstrdup(c->object);
	struct tree_stat st;

	if (c->rule->missing != MISSING_ENFORCE || c->error != -ENOTDIR)
		return;
	while (tree_lstat(pr->tree, name, &st) < 0)
		view_cut_last(name);
	if (st.kind == TREE_FILE && st.size == 0 && st.mode == PLACEHOLDER_MODE)
		add_alias(pr, c, name, ACCESS_READ);
}

/* The host's mount table may show a denied or protected object at more than one place. */
static void stand_aliases(struct proof *pr, const struct claim *c)
{
	CLEANUP_STRVEC struct strvec names = {0};
	struct tree_stat st;

	/* The null device masks names of a container's /proc: whatever else is it is no secret. */
	if (tree_lstat(pr->tree, c->object, &st) == 0 && st.kind == TREE_CHAR &&
		st.rdev == makedev(1, 3))
		return;
	proof_other_names(pr, c->object, &names);
	for (size_t i = 0; i < names.n; i++)
		add_alias(pr, c, names.v[i], c->access);
}

bool proof_is_planted(const struct proof *pr, const struct claim *c)
{
	for (size_t i = 0; i < c->links.n; i++) {
		CLEANUP_FREE char *dir = xstrdup(c->links.v[i]);

		view_cut_last(dir);
		if (proof_may_be_written(pr, dir))
			return true;
	}
	return false;
}

int proof_place_claims(struct proof *pr)
{
	static const char *const own[] = {"/proc", "/dev", "/tmp"};
	CLEANUP_FREE bool *follows = xcalloc(pr->n_claims, sizeof(*follows));

	/* The sandbox's own /dev is not what such a link could take away. */
	for (size_t i = 0; i < pr->n_claims; i++)
		if (pr->claims[i].access == ACCESS_DENY && pr->claims[i].links.n &&
			view_tail(pr->claims[i].object, "/dev"))
			pr->claims[i].off |= proof_is_planted(pr, &pr->claims[i]);
	/* Direct rules, and those through links that can be trusted, then the others. */
	for (int i = 0; i < 6; i++)
		stand_paths(pr, (enum access)(i % 3), i < 3);
	for (size_t i = 0; i < pr->n_claims; i++)
		if (pr->claims[i].rule->kind == RULE_PATH && proof_protects(pr, &pr->claims[i]))
			stand_placeholder(pr, &pr->claims[i]);
	/* Each by what stood there before, so that no alias keeps another claim from having its own. */
	for (size_t i = 0; i < pr->n_claims; i++) {
		const struct claim *c = &pr->claims[i];

		follows[i] = c->rule->kind == RULE_PATH && !c->off && !c->error &&
			     c->access != ACCESS_WRITE &&
			     view_place_get(&pr->view, c->object)->path_claim == c;
	}
	for (size_t i = 0; i < pr->n_claims; i++)
		if (follows[i])
			stand_aliases(pr, &pr->claims[i]);
	for (size_t i = 0; i < pr->n_claims; i++) {
		struct claim *c = &pr->claims[i];
		bool at = c->rule->kind != RULE_ROOT && c->rule->kind != RULE_PATH;

		if (c->off)
			continue;
		if ((c->object && check_grant(pr, c) < 0) || (at && stand_at(pr, c) < 0))
			return -1;
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		struct view_place *place = view_place_get(&pr->view, own[i]);

		if (!place->at_claim)
			place->at_claim = &pr->unowned;
	}
	return 0;
}

/* Live sockets that nobody has asked for */

/* Whether a rule speaks of the very socket. A denial holds for its own object, a grant for the
 * socket under any name; one through a link that others can change grants nothing. */
static bool speaks_of(const struct proof *pr, const struct claim *c, const char *socket)
{
	if ((c->rule->kind != RULE_PATH && c->rule->kind != RULE_MOUNT) || c->error)
		return false;
	if (c->access == ACCESS_DENY)
		return strcmp(c->object, socket) == 0;
	return c->trusted && proof_same_object(pr, c->object, socket);
}

int proof_find_sockets(struct proof *pr)
{
	CLEANUP_STRVEC struct strvec names = {0};

	if (tree_sockets(pr->tree, &names) < 0)
		return proof_fault(pr->err, NULL, "it is not known which sockets the host has");
	for (size_t i = 0; i < names.n; i++) {
		CLEANUP_STRVEC struct strvec links = {0};
		CLEANUP_STRVEC struct strvec others = {0};
		CLEANUP_FREE char *object = NULL;
		struct tree_stat st;
		bool asked = false;

		if (view_walk(&pr->host, names.v[i], &links, &object) != 0 ||
			tree_lstat(pr->tree, object, &st) < 0 || st.kind != TREE_SOCKET ||
			!tree_usable(pr->tree, object))
			continue;
		for (size_t k = 0; k < pr->n_claims; k++)
			asked |= speaks_of(pr, &pr->claims[k], object);
		if (asked)
			continue;
		proof_other_names(pr, object, &others);
		strvec_push(&pr->sockets, object);
		for (size_t k = 0; k < others.n; k++)
			strvec_push(&pr->sockets, others.v[k]);
	}
	strvec_sort(&pr->sockets);
	return 0;
}

static bool is_barred(const struct proof *pr, const char *host)
{
	return strvec_has_sorted(&pr->sockets, host);
}

void proof_add_sockets(const struct proof *pr)
{
	for (size_t i = 0; i < pr->plan->n; i++) {
		const struct op *op = &pr->plan->ops[i];

		for (size_t k = 0; view_is_bind(op) && k < pr->sockets.n; k++) {
			const char *rest = view_tail(pr->sockets.v[k], op->source);
			CLEANUP_FREE char *place = rest ? view_graft(op->dest, rest) : NULL;

			if (place)
				view_place_get(&pr->view, place);
		}
	}
}

/* Puts the places where a mount shows what PATH rules stand at into the tree. */
static void add_images(const struct proof *pr, const struct claim *mount)
{
	for (size_t i = 0; i < pr->n_claims + pr->n_aliases; i++) {
		const struct claim *c =
			i < pr->n_claims ? &pr->claims[i] : pr->aliases[i - pr->n_claims];

		if (c->rule->kind != RULE_PATH || c->off ||
			!view_strictly_below(c->object, mount->object))
			continue;
		CLEANUP_FREE char *image =
			view_graft(mount->stands->path, view_tail(c->object, mount->object));

		view_place_get(&pr->view, image);
	}
}

void proof_add_places(const struct proof *pr)
{
	for (size_t i = 0; i < pr->n_claims; i++) {
		const struct claim *c = &pr->claims[i];
		bool grant = c->rule->kind == RULE_DEVICE ||
			     (c->rule->kind == RULE_PATH && c->rule->access != ACCESS_DENY);

		for (size_t j = 0; grant && j < c->links.n; j++)
			view_place_get(&pr->view, c->links.v[j])->link = true;
		if (c->rule->kind == RULE_MOUNT && !c->off)
			add_images(pr, c);
		for (size_t j = 0; c->rule->scratch && j < 2; j++) {
			CLEANUP_FREE char *dir = view_graft(c->stands->path, scratch_dirs[j]);

			view_place_get(&pr->view, dir);
		}
	}
	for (size_t i = 0; i < sizeof(machine_parts) / sizeof(*machine_parts); i++)
		view_place_get(&pr->view, machine_parts[i]);
	view_place_get(&pr->view, "/dev/shm");
	view_place_get(&pr->view, "/dev/mqueue");
}

/* What the policy wants */

/* What a mount shows at rest below its place: PATH rules strictly below the source follow the
 * object. / */
static void want_mount(
	const struct proof *pr, const struct claim *m, const char *rest, struct want *w)
{
	const struct view_place *place;
	bool deepest = true;

	w->shows = WANT_HOST;
	w->host = view_graft(m->object, rest);
	for (place = view_place_above(&pr->view, w->host);
		place && view_strictly_below(place->path, m->object); place = place->parent) {
		const struct claim *c = place->path_claim;

		if (!c)
			continue;
		if (deepest && c->access == ACCESS_DENY) {
			*w = (struct want){.rule = c->rule, .host = w->host, .named = true};
			return;
		}
		if (c->access == ACCESS_READ && w->access == ACCESS_WRITE) {
			w->rule = c->rule;
			w->access = ACCESS_READ;
			w->guarded = deepest;
		}
		/* A grant inside what is denied does not follow; it may be shown. */
		w->optional |= c->access == ACCESS_DENY;
		deepest = false;
	}
}

static void want_proc(
	const struct proof *pr, const struct view_place *place, const char *rest, struct want *w)
{
	bool machine = false;

	for (size_t i = 0; i < sizeof(machine_parts) / sizeof(*machine_parts); i++)
		machine |= view_tail(place->path, machine_parts[i]) != NULL;
	w->access = ACCESS_READ;
	w->shows = WANT_PROC;
	if (pr->plan->proc == PROC_BIND || machine) {
		w->shows = WANT_HOST;
		w->host = view_graft("/proc", rest);
	}
}

static void want_dev(const char *rest, struct want *w)
{
	const char *shm = view_tail(rest, "/shm"), *mqueue = view_tail(rest, "/mqueue");
	CLEANUP_SEEN struct seen made = {0};

	view_look_dev(&made, rest);
	w->shows = shm ? WANT_TMPFS : mqueue ? WANT_MQUEUE : made.error ? WANT_NOTHING : WANT_DEV;
	w->access = shm || mqueue ? ACCESS_WRITE : ACCESS_READ;
	if ((shm && *shm) || (mqueue && *mqueue))
		w->shows = WANT_NOTHING;
}

const struct view_place *proof_decider(const struct view_place *place)
{
	while (!place->at_claim && !place->path_claim)
		place = place->parent;
	return place;
}

static bool is_scratch_dir(const struct rule *rule, const char *rest)
{
	return rule->scratch &&
	       (strcmp(rest, scratch_dirs[0]) == 0 || strcmp(rest, scratch_dirs[1]) == 0);
}

/* By the deepest rule; of two at one place the one with a place of its own shows. */
static void want_by_rule(const struct proof *pr, const struct view_place *place, struct want *w)
{
	const struct view_place *q = proof_decider(place);
	const struct claim *c = q->at_claim ? q->at_claim : q->path_claim;
	const char *rest = view_tail(place->path, q->path);

	*w = (struct want){.rule = c->rule, .access = c->access};
	switch (c->rule->kind) {
	case RULE_ROOT:
	case RULE_PATH:
		w->named = c->rule->kind == RULE_PATH;
		w->guarded = w->named && c->access == ACCESS_READ;
		w->shows = c->access == ACCESS_DENY ? WANT_NOTHING : WANT_HOST;
		w->host = c->access == ACCESS_DENY ? NULL : xstrdup(place->path);
		return;
	case RULE_MOUNT:
		want_mount(pr, c, rest, w);
		return;
	case RULE_TMPFS:
		w->shows = !*rest                          ? WANT_TMPFS
			   : is_scratch_dir(c->rule, rest) ? WANT_DIR
							   : WANT_NOTHING;
		return;
	case RULE_FILE:
		w->access = ACCESS_READ;
		w->shows = *rest ? WANT_NOTHING : WANT_DATA;
		return;
	case RULE_DEVICE:
		w->access = ACCESS_WRITE;
		w->shows = *rest ? WANT_NOTHING : WANT_HOST;
		w->host = view_graft(c->object, rest);
		w->usable = true;
		return;
	case RULE_PROC:
		want_proc(pr, place, rest, w);
		return;
	case RULE_DEV:
		want_dev(rest, w);
		return;
	}
}

void proof_want(const struct proof *pr, const struct view_place *place, struct want *w)
{
	struct tree_stat st;
	int error;

	want_by_rule(pr, place, w);
	if (w->shows == WANT_HOST && is_barred(pr, w->host)) {
		w->shows = WANT_NOTHING;
		w->access = ACCESS_DENY;
		w->rule = &pr->no_socket;
		w->named = true;
	} else if (w->shows == WANT_HOST) {
		error = tree_lstat(pr->tree, w->host, &st);
		if (error == -ENOENT || error == -ENOTDIR || error == -ENAMETOOLONG) {
			w->shows = WANT_NOTHING;
			w->named = false;
		}
	} else if (w->shows == WANT_NOTHING && place->link) {
		w->shows = WANT_LINK;
		free(w->host);
		w->host = xstrdup(place->path);
	}
}

void want_clear(struct want *w)
{
	free(w->host);
}
