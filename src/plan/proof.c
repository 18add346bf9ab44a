/*
 * How the proof works.
 *
 * One tree of sandbox names ("places") carries two things that were made apart from each other:
 * what the ops have put there (replay: place->op), and which rules stand there (claims:
 * place->path_claim, place->at_claim). For a place, view_look() says what a process inside finds and
 * proof_want() what the policy wants it to find. They are compared at every place of the tree: every
 * destination, every place a rule stands at, every place where a mount shows an object that a rule
 * protects, every entry of a directory that was opened.
 *
 * That is enough for all other places. Let q be one that is not in the tree and p the deepest one
 * above it that is. Between p and q there is neither an op nor a rule, so both view_look() and proof_want() at
 * q are what they are at p, with the same names appended to the host object. Where p is a directory
 * of the sandbox's own there is nothing at q; p stands for a host directory only when it was
 * opened, and then its entries are in the tree.
 *
 * Live sockets that must not be reached are no rules here. The host paths of each are found by
 * name and by the mount table, every bind is asked whether it would show one, and such places are
 * put into the tree; wherever a host object is wanted that is one of them, nothing is.
 *
 * Links need no care of their own: places are names without links, and a process that follows a
 * link inside ends at some place. The rules' own paths are walked as well, to see that they lead
 * where they should.
 */
#include "plan/proof.h"

#include "base/mem.h"
#include "plan/proof_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int place_fault(const struct proof *pr, const struct view_place *place, const struct want *w,
	const char *what)
{
	return proof_fault(pr->err, w->rule, "%s %s (%s %s)", place->path, what,
		proof_rule_words(w->rule), proof_rule_place(w->rule));
}

static int unjustified(const struct proof *pr, const struct op *op)
{
	return proof_fault(pr->err, op->why, "op %s at %s is not justified by any rule",
		op_kind_name(op->kind), op->dest);
}

/* Whether a note says that the entry could not be shown. What a rule names cannot be left out. */
static bool left_out(const struct proof *pr, const struct view_place *place)
{
	CLEANUP_FREE char *prefix = xasprintf("left out: %s:", place->path);

	if (place->at_claim || place->path_claim)
		return false;
	for (size_t i = 0; i < pr->plan->notes.n; i++)
		if (strncmp(pr->plan->notes.v[i], prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

static bool same_link(const struct proof *pr, const char *host, const struct seen *s)
{
	CLEANUP_FREE char *text = NULL;

	return tree_readlink(pr->tree, host, &text) == 0 && s->text && strcmp(s->text, text) == 0;
}

/* A name that cannot be renamed away: below a writable bind, each directory down to a protected
 * name is a mount point. */
static int check_pins(const struct proof *pr, const struct view_place *place, const struct want *w)
{
	for (const struct view_place *q = place->parent; q; q = q->parent)
		if (!q->op && view_place_maker(q)->op->kind == OP_BIND_WRITE)
			return proof_fault(pr->err, w->rule,
				"%s is not pinned: %s could be replaced", q->path, place->path);
	return 0;
}

/* A directory of the host's that was made anew: all its entries become places. */
static int check_opened(const struct proof *pr, struct view_place *place, const struct want *w)
{
	CLEANUP_STRVEC struct strvec names = {0};
	struct tree_stat st;

	if (w->access != ACCESS_READ)
		return place_fault(
			pr, place, w, "is a directory that may be written and was opened");
	if (tree_lstat(pr->tree, w->host, &st) < 0 || st.kind != TREE_DIR)
		return place_fault(pr, place, w, "is no directory on the host and was opened");
	if (place->parent && (st.mode & 0777) != (place->op->mode & 0777))
		return place_fault(pr, place, w, "was opened with another mode");
	if (tree_list(pr->tree, w->host, &names) < 0)
		return place_fault(pr, place, w, "was opened, and cannot be listed");
	for (size_t i = 0; i < names.n; i++) {
		CLEANUP_FREE char *path = view_entry(place->path, names.v[i], strlen(names.v[i]));

		view_place_get(&pr->view, path);
	}
	place->opened = true;
	return 0;
}

/* Whether a place is an entry of an opened directory that no rule names, and a socket or FIFO on
 * the host: whoever sees it could use its other end. */
static bool is_loose_end(
	const struct proof *pr, const struct view_place *place, const struct want *w)
{
	struct tree_stat st;

	return place->parent && place->parent->opened && !place->path_claim && !place->at_claim &&
	       tree_lstat(pr->tree, w->host, &st) == 0 &&
	       (st.kind == TREE_SOCKET || st.kind == TREE_FIFO);
}

static int check_host(const struct proof *pr, struct view_place *place, const struct want *w,
	const struct seen *s)
{
	const struct op *op = s->by->op;

	if (is_loose_end(pr, place, w))
		return s->exact && op->kind == OP_DENY_FILE
			       ? 0
			       : place_fault(pr, place, w,
					 "is a socket or FIFO that no rule names, and not covered");
	if (s->host && strcmp(s->host, w->host) == 0) {
		if (w->usable && op->kind != OP_DEV_BIND)
			return place_fault(pr, place, w, "is not usable as a device");
		if (!w->usable && op->kind == OP_DEV_BIND)
			return unjustified(pr, op);
		if (s->access < w->access)
			return place_fault(pr, place, w, "is not writable");
		if (s->access > w->access)
			return place_fault(pr, place, w, "is writable");
		return w->guarded ? check_pins(pr, place, w) : 0;
	}
	if (s->error || (s->access == ACCESS_DENY && op->kind != OP_DENY_DIR)) {
		if (w->optional || left_out(pr, place))
			return 0;
		return place_fault(pr, place, w, "was left out");
	}
	if (s->exact && op->kind == OP_SYMLINK && same_link(pr, w->host, s))
		return 0;
	if (w->optional && s->exact && op->kind == OP_DENY_DIR)
		return 0;
	if (s->exact && (op->kind == OP_DIR || op->kind == OP_TMPFS)) {
		if (s->access == ACCESS_WRITE)
			return place_fault(pr, place, w, "is not sealed");
		return check_opened(pr, place, w);
	}
	return place_fault(pr, place, w, "shows something else");
}

/* A file system of the rule's own, or the sandbox's /dev/shm. */
static bool is_tmpfs_of(const struct op *op, const struct rule *rule)
{
	if (op->kind == OP_DIR)
		return rule->kind == RULE_TMPFS && rule->access == ACCESS_READ;
	if (op->kind != OP_TMPFS)
		return false;
	if (rule->kind == RULE_DEV)
		return op->mode == 01777;
	if (rule->scratch && (op->mode != 0700 || op->size == 0))
		return false;
	return rule->size == 0 || op->size == rule->size;
}

static int check_own(const struct proof *pr, const struct view_place *place, const struct want *w,
	const struct seen *s)
{
	const struct op *op = s->by->op;
	bool held = false;

	switch (w->shows) {
	case WANT_TMPFS:
		held = s->exact && is_tmpfs_of(op, w->rule);
		break;
	case WANT_DIR:
		held = s->exact && op->kind == OP_DIR && op->mode == 0700;
		break;
	case WANT_DATA:
		held = s->exact && op->kind == OP_FILE && op->data_len == w->rule->text_len &&
		       (op->data_len == 0 || memcmp(op->data, w->rule->text, op->data_len) == 0);
		break;
	case WANT_PROC:
		held = op->kind == OP_PROC;
		break;
	case WANT_DEV:
		held = op->kind == OP_DEV;
		break;
	case WANT_MQUEUE:
		held = s->exact && op->kind == OP_MQUEUE;
		break;
	case WANT_NOTHING:
	case WANT_HOST:
	case WANT_LINK:
		return 0;
	}
	if (!held)
		return place_fault(
			pr, place, w, s->error ? "is not there" : "is not what the rule says");
	if (s->exact && s->access < w->access)
		return place_fault(pr, place, w, "is not writable");
	if (s->exact && s->access > w->access)
		return place_fault(pr, place, w, "is not sealed");
	return 0;
}

/* The entry that the place would show if the rule that denies it were not there: its kind, or
 * false. A directory that shows the host's lists what is denied in it, too. */
static bool denied_entry(const struct proof *pr, const struct view_place *place,
	const struct want *w, enum tree_kind *kind)
{
	CLEANUP_WANT struct want above = {0};
	CLEANUP_FREE char *path = NULL;
	struct tree_stat st;

	if (!w->named || !place->parent)
		return false;
	proof_want(pr, place->parent, &above);
	if (above.shows != WANT_HOST || above.optional)
		return false;
	path = view_graft(above.host, strrchr(place->path, '/'));
	if (tree_lstat(pr->tree, path, &st) < 0)
		return false;
	*kind = st.kind;
	return true;
}

/* Nothing is shown here, or a directory that leads to what is shown below. */
static int check_nothing(const struct proof *pr, const struct view_place *place,
	const struct want *w, const struct seen *s, bool shown_below)
{
	const struct op *op = s->by->op;
	enum tree_kind kind;

	if (denied_entry(pr, place, w, &kind) &&
		(s->error || (kind == TREE_DIR) != (s->kind == TREE_DIR)))
		return place_fault(pr, place, w, "does not look denied");
	if (s->error || !place->parent)
		return 0;
	if (!s->exact)
		return place_fault(pr, place, w, "can be reached");
	if (s->access == ACCESS_WRITE && w->access != ACCESS_WRITE)
		return view_is_own_dir(op) ? place_fault(pr, place, w, "is not sealed")
					   : unjustified(pr, op);
	if (w->named && !shown_below &&
		(op->kind == OP_DENY_FILE || (op->kind == OP_DENY_DIR && (op->mode & 0777) == 0) ||
			(op->kind == OP_FILE && op->data_len == 0 && w->rule->mask == MASK_EMPTY)))
		return check_pins(pr, place, w);
	if (!shown_below || !view_is_own_dir(op) || op->kind == OP_DEV)
		return w->named ? place_fault(pr, place, w, "is not denied") : unjustified(pr, op);
	if (w->access == ACCESS_DENY && (op->mode & 0777) != 0555)
		return place_fault(
			pr, place, w, "leads to what is shown below and has not mode 0555");
	return w->named ? check_pins(pr, place, w) : 0;
}

/* Under a root deny, a link in "/" may be shown as it is on the host. */
static bool is_root_link(const struct proof *pr, const struct view_place *place,
	const struct want *w, const struct seen *s)
{
	return w->rule->kind == RULE_ROOT && place->parent == pr->view.top && s->exact &&
	       s->by->op->kind == OP_SYMLINK && same_link(pr, place->path, s);
}

/* Compares a place and all below it. *shown: something of what rules show is there. */
static int check_place(const struct proof *pr, struct view_place *place, bool *shown)
{
	CLEANUP_WANT struct want w;
	CLEANUP_SEEN struct seen s;
	bool below = false, kid_shown;

	proof_want(pr, place, &w);
	view_look(&pr->view, place->path, &s);
	if (w.shows == WANT_LINK && !(s.exact && same_link(pr, w.host, &s)))
		w.shows = WANT_NOTHING;
	if (w.shows == WANT_HOST && check_host(pr, place, &w, &s) < 0)
		return -1;
	if (w.shows != WANT_HOST && check_own(pr, place, &w, &s) < 0)
		return -1;
	for (size_t i = 0; i < place->n_kids; i++) {
		if (check_place(pr, place->kids[i], &kid_shown) < 0)
			return -1;
		below |= kid_shown;
	}
	*shown = !s.error && s.access != ACCESS_DENY;
	if (w.shows != WANT_NOTHING || is_root_link(pr, place, &w, &s))
		return 0;
	*shown = *shown && below;
	return check_nothing(pr, place, &w, &s, below);
}

/* Rules' own paths, walked inside */

static int check_denied_walk(const struct proof *pr, const struct claim *c)
{
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *end = NULL;
	CLEANUP_WANT struct want w = {0};
	struct view_place *place;

	if (c->off || view_walk(&pr->view, c->rule->path, &links, &end) < 0)
		return 0;
	place = view_place_get(&pr->view, end);
	proof_want(pr, place, &w);
	if (w.shows == WANT_NOTHING || place->at_claim)
		return 0;
	return proof_fault(
		pr->err, c->rule, "deny %s leads to %s, which is shown", c->rule->path, end);
}

/* Whether the view shows the rule's links: not where a mount has put something else above them. */
static bool shows_links(const struct proof *pr, const struct claim *c)
{
	for (size_t i = 0; i < c->links.n; i++) {
		const struct view_place *q =
			proof_decider(view_place_above(&pr->view, c->links.v[i]));

		if (q->at_claim && q->at_claim->rule->kind != RULE_TMPFS)
			return false;
	}
	return true;
}

static int check_granted_walk(const struct proof *pr, const struct claim *c)
{
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *end = NULL;
	CLEANUP_WANT struct want w = {0};
	CLEANUP_SEEN struct seen s = {0};
	int error;

	if (!shows_links(pr, c) || (c->off && c->error != INTO_PROC) || c->error < 0)
		return 0;
	error = view_walk(&pr->view, c->rule->path, &links, &end);
	if (c->error == INTO_PROC) {
		if (links.n && strcmp(links.v[0], c->links.v[0]) == 0)
			return 0;
		return proof_fault(pr->err, c->rule, "the link %s is not there", c->links.v[0]);
	}
	proof_want(pr, view_place_get(&pr->view, c->object), &w);
	if (w.shows != WANT_HOST || strcmp(w.host, c->object) != 0)
		return 0;
	if (error)
		return proof_fault(pr->err, c->rule, "%s %s leads nowhere",
			proof_rule_words(c->rule), c->rule->path);
	view_look(&pr->view, end, &s);
	if (strcmp(end, c->object) != 0 || s.access != w.access)
		return proof_fault(pr->err, c->rule, "%s %s leads to %s", proof_rule_words(c->rule),
			c->rule->path, end);
	return 0;
}

static bool is_noted(const struct proof *pr, const struct claim *c)
{
	for (size_t i = 0; i < pr->plan->notes.n; i++)
		if (strstr(pr->plan->notes.v[i], c->rule->path) ||
			strstr(pr->plan->notes.v[i], c->object))
			return true;
	return false;
}

/* A protected name that the host does not have, at one of its places: what is enforced cannot
 * appear there, and of others that the command could make a note has to speak. */
static int check_absence(const struct proof *pr, const struct claim *c, const char *path)
{
	CLEANUP_FREE char *place = xstrdup(path);
	CLEANUP_FREE char *first = NULL; /* the first name that is missing */
	CLEANUP_SEEN struct seen s;
	bool enforced = c->rule->missing == MISSING_ENFORCE;
	int error;

	view_look(&pr->view, place, &s);
	if (!s.error)
		return 0; /* something else stands there */
	while (s.error && place[1]) {
		seen_clear(&s);
		free(first);
		first = xstrdup(place);
		view_cut_last(place);
		view_look(&pr->view, place, &s);
	}
	if (!view_is_bind(s.by->op) ||
		(s.access != ACCESS_WRITE && (!enforced || s.kind != TREE_DIR)))
		return 0;
	error = s.access == ACCESS_WRITE && s.kind == TREE_DIR
			? tree_access(pr->tree, s.host, W_OK | X_OK)
			: 0;
	if (error == -EACCES || error == -EROFS)
		return enforced ? check_pins(pr, view_place_get(&pr->view, first),
					  &(struct want){.rule = c->rule})
				: 0; /* nor can the caller make it */
	if (enforced && s.kind == TREE_DIR)
		return proof_fault(pr->err, c->rule, "%s could appear at %s", c->object, path);
	return is_noted(pr, c) ? 0
			       : proof_fault(pr->err, c->rule,
					 "%s can be made inside, and no note says so", path);
}

/* What is missing on the host: a grant has to say that it may be. */
static int check_missing(const struct proof *pr, const struct claim *c)
{
	if (!proof_protects(pr, c))
		return c->rule->optional ? 0
					 : proof_fault(pr->err, c->rule, "%s %s is not there",
						   proof_rule_words(c->rule), c->rule->path);
	if (c->error != -ENOENT && c->error != -ENOTDIR)
		return 0;
	if (check_absence(pr, c, c->object) < 0)
		return -1;
	for (size_t i = 0; i < pr->n_claims; i++) {
		const struct claim *m = &pr->claims[i];

		if (m->rule->kind != RULE_MOUNT || m->off ||
			!view_strictly_below(c->object, m->object))
			continue;
		CLEANUP_FREE char *image =
			view_graft(m->stands->path, view_tail(c->object, m->object));

		if (check_absence(pr, c, image) < 0)
			return -1;
	}
	return 0;
}

/* What is hidden by a directory's mode stays so: the command may not change that. It could where the
 * directory lies in a writable place and its owner, who may be the caller, has taken rights from
 * themselves. */
static int check_closed(
	const struct proof *pr, const struct rule *rule, const char *dir, mode_t rights)
{
	struct tree_stat st;

	if (tree_lstat(pr->tree, dir, &st) < 0 || (st.mode & rights) == rights ||
		!proof_may_be_written(pr, dir))
		return 0;
	return proof_fault(pr->err, rule, "%s is out of reach, and %s could be opened from inside",
		rule->path, dir);
}

static int check_out_of_reach(const struct proof *pr, const struct claim *c)
{
	CLEANUP_FREE char *dir = xstrdup(c->object);

	proof_cut_to_closed(pr, dir);
	return proof_is_planted(pr, c) ? 0 : check_closed(pr, c->rule, dir, 0100);
}

static bool is_socket(const struct proof *pr, const struct claim *c)
{
	struct tree_stat st;

	return c->error != INTO_PROC && tree_lstat(pr->tree, c->object, &st) == 0 &&
	       st.kind == TREE_SOCKET;
}

static int check_rule(const struct proof *pr, const struct claim *c)
{
	if (!c->object)
		return 0;
	if (c->error == -EACCES && c->access == ACCESS_DENY && check_out_of_reach(pr, c) < 0)
		return -1;
	if (c->error < 0 && check_missing(pr, c) < 0)
		return -1;
	if (c->rule->connect && c->error >= 0 && !is_socket(pr, c))
		return proof_fault(pr->err, c->rule, "connect %s: it is no socket", c->rule->path);
	if (c->rule->kind == RULE_PATH && c->rule->access == ACCESS_DENY)
		return check_denied_walk(pr, c);
	if (c->rule->kind == RULE_PATH || c->rule->kind == RULE_DEVICE)
		return check_granted_walk(pr, c);
	return 0;
}

static int check_cwd(const struct proof *pr)
{
	struct view_object object = {0};
	const char *cwd = pr->plan->cwd;
	bool fine = view_is_normal(cwd) && view_lookup(pr->plan, pr->tree, cwd, &object) == 0 &&
		    object.kind == TREE_DIR && object.access != ACCESS_DENY;

	view_object_clear(&object);
	return fine ? 0
		    : proof_fault(pr->err, NULL, "the working directory %s is not there",
			      cwd ? cwd : "");
}

static int prove(struct proof *pr)
{
	bool shown;

	if (pr->policy->proc != PROC_NONE && pr->plan->proc != PROC_BIND &&
		pr->plan->proc != PROC_FRESH)
		return proof_fault(pr->err, NULL, "the plan does not say which /proc it has");
	if (pr->policy->proc == PROC_FRESH && pr->plan->proc != PROC_FRESH)
		return proof_fault(pr->err, NULL, "the policy wants a fresh /proc");
	if (view_replay(&pr->view, pr->plan, pr->err) < 0 || proof_make_claims(pr) < 0 ||
		proof_place_claims(pr) < 0 || proof_find_sockets(pr) < 0)
		return -1;
	proof_add_places(pr);
	proof_add_sockets(pr);
	if (!view_place_is_sealed(pr->view.top))
		return proof_fault(pr->err, pr->unowned.rule, "/ is not sealed");
	if (check_place(pr, pr->view.top, &shown) < 0)
		return -1;
	for (size_t i = 0; i < pr->n_claims; i++)
		if (check_rule(pr, &pr->claims[i]) < 0)
			return -1;
	for (size_t i = 0; i < pr->n_unseen; i++)
		if (check_closed(pr, pr->unseen[i].rule, pr->unseen[i].dir, 0500) < 0)
			return -1;
	return check_cwd(pr);
}

int proof_check(const struct plan *plan, const struct policy *policy, const struct tree *tree,
	struct err *err)
{
	struct proof pr = {.plan = plan,
		.policy = policy,
		.tree = tree,
		.no_socket = {.kind = RULE_PATH,
			.access = ACCESS_DENY,
			.path = (char *)"every live socket",
			.origin = {(char *)"default", (char *)"", 0}},
		.err = err};
	int result;

	view_init(&pr.view, tree, false);
	view_init(&pr.host, tree, true);
	result = prove(&pr);
	for (size_t i = 0; i < pr.n_claims; i++) {
		free(pr.claims[i].object);
		strvec_clear(&pr.claims[i].links);
	}
	free(pr.claims);
	for (size_t i = 0; i < pr.n_unseen; i++)
		free(pr.unseen[i].dir);
	free(pr.unseen);
	for (size_t i = 0; i < pr.n_aliases; i++) {
		free(pr.aliases[i]->object);
		free(pr.aliases[i]);
	}
	free(pr.aliases);
	for (size_t i = 0; i < pr.n_rules; i++) {
		free(pr.rules[i]->path);
		free(pr.rules[i]);
	}
	free(pr.rules);
	strvec_clear(&pr.sockets);
	view_clear(&pr.view);
	view_clear(&pr.host);
	return result;
}
