#include "cmd/outline.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/quote.h"
#include "cmd/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Columns of names and of what can be done, and all. */
enum { NAME_WIDTH = 38, WORD_WIDTH = 6, WIDTH = 80 };
/* So many alike entries of a directory, or links, share a line; so many lines their names. */
enum { FOLD = 5, FOLD_LINKS = 12, FOLD_LINES = 6 };

/* A place of the view that is looked at: where an op stands, and the directories above. */
struct place {
	const char *path;    /* borrowed */
	const struct op *op; /* stands here; NULL: none does */
	struct explanation x;
	const char *word; /* what can be done; "" for a link */
	char *detail;     /* what it has to say of itself, or NULL */
	char *rule;       /* why that can be done */
	bool leaf, shown;
};

struct outline {
	FILE *out;
	const struct explainer *e;
	bool color;
	struct place *places; /* sorted by path */
	size_t n;
};

static bool is_link(const struct place *p)
{
	return p->op && p->op->kind == OP_SYMLINK;
}

static const char *word_of(const struct place *p)
{
	const struct explanation *x = &p->x;
	bool host = x->host || (p->op && p->op->kind == OP_FILE);
	bool own = p->op && p->op->kind != OP_DIR && p->op->kind != OP_DENY_DIR;

	if (is_link(p))
		return "";
	return x->found == FOUND_READ && !host && !own ? "list" : found_name(x->found);
}

/* What the place itself has to say: the size of a directory in memory, the object of a mount. */
static char *detail_of(const struct place *p)
{
	static const char units[] = "KMGT";
	uint64_t size = p->op && p->op->kind == OP_TMPFS ? p->op->size : 0;
	CLEANUP_FREE char *source = shell_quote(p->op && p->op->source ? p->op->source : "");
	const char *unit = "";

	if (p->op && op_is_bind(p->op) && p->op->why->kind == RULE_MOUNT &&
		strcmp(p->op->dest, p->op->why->at) == 0)
		return xasprintf("the host's %s", source);
	if (!size)
		return NULL;
	for (size_t i = 0; units[i] && size % 1024 == 0; i++) {
		unit = &units[i];
		size /= 1024;
	}
	return xasprintf("in memory, %" PRIu64 "%.1s", size, unit);
}

/* Whether it is not the rule that denies a place. */
static bool is_closed(const struct place *p)
{
	return p->x.found == FOUND_DENY && p->x.rule->access != ACCESS_DENY;
}

/* The rule, as short as it can be told: --explain has all of it. */
static char *rule_of(const struct place *p)
{
	static const char builtin[] = "built-in policy ";
	const struct rule *rule = p->x.rule;
	const char *file = rule->origin.file,
		   *label = *rule->origin.pointer ? rule->origin.pointer : NULL;

	if (is_closed(p))
		return xstrdup(p->op && p->op->kind == OP_DENY_FILE
				       ? "a socket or FIFO without a rule"
				       : "closed on the host");
	label = rule->name ? rule->name : label;
	label = rule->why ? rule->why : label;
	if (strncmp(file, builtin, strlen(builtin)) == 0)
		file += strlen(builtin);
	else if (*file == '/')
		file = path_base(file);
	else if (strcmp(file, "default") == 0)
		file = "built in";
	return label ? xasprintf("%s (%s)", label, file) : xstrdup(file);
}

static void look(struct outline *o, struct strvec *paths)
{
	const struct plan *plan = o->e->plan;

	strvec_push(paths, "/");
	for (size_t i = 0; i < plan->n; i++) {
		CLEANUP_FREE char *path = xstrdup(plan->ops[i].dest);

		while (!strvec_has(paths, path)) {
			char *parent = path_parent(path);

			strvec_take(paths, path);
			path = parent;
		}
	}
	strvec_sort(paths);
	o->places = xcalloc(paths->n, sizeof(*o->places));
	for (o->n = 0; o->n < paths->n; o->n++) {
		struct place *p = &o->places[o->n];

		p->path = paths->v[o->n];
		p->op = plan_op_at(plan, p->path, false);
		if (p->op && strcmp(p->op->dest, p->path) != 0)
			p->op = NULL;
		explain_path(o->e, p->path, &p->x);
		p->word = word_of(p);
		p->detail = detail_of(p);
		p->rule = rule_of(p);
	}
}

static bool is_kid(const struct place *parent, const struct place *p)
{
	return p != parent && path_within(p->path, parent->path) &&
	       !strchr(path_below(p->path, parent->path), '/');
}

/* The only place right below one; NULL when there are none or several. */
static struct place *only_kid(const struct outline *o, const struct place *parent)
{
	struct place *found = NULL;

	for (struct place *p = o->places; p < o->places + o->n; p++) {
		if (!is_kid(parent, p))
			continue;
		if (found)
			return NULL;
		found = p;
	}
	return found;
}

static char *escaped(const char *text)
{
	char *out = NULL;
	size_t size;
	FILE *stream = open_memstream(&out, &size);
	int failed;

	if (!stream)
		out_of_memory();
	print_escaped(stream, text);
	failed = ferror(stream);
	if (fclose(stream) || failed || !out)
		out_of_memory();
	return out;
}

/* Characters of UTF-8. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

/* The name of a place below a directory, as it is printed. */
static char *name_of(const struct place *p, const char *above)
{
	const char *below = path_below(p->path, above);
	CLEANUP_FREE char *name = shell_quote(*below ? below : p->path);
	CLEANUP_FREE char *target = is_link(p) ? shell_quote(p->op->source) : NULL;

	if (target)
		return xasprintf("%s -> %s", name, target);
	return xasprintf("%s%s", name, *below && p->x.has_kind && p->x.kind == TREE_DIR ? "/" : "");
}

static const char *color_of(const char *word)
{
	return strcmp(word, "write") == 0  ? "\033[33m"
	       : strcmp(word, "deny") == 0 ? "\033[31m"
	       : strcmp(word, "list") == 0 ? "\033[2m"
	       : !*word                    ? "\033[36m"
					   : "";
}

/* One line; reason may be NULL. */
static void print_line(const struct outline *o, size_t depth, const char *name, const char *word,
	const char *reason)
{
	size_t used = 2 * depth + width(name);
	int pad = used < NAME_WIDTH ? (int)(NAME_WIDTH - used) : 0;
	CLEANUP_FREE char *text = reason ? escaped(reason) : NULL;
	const char *on = o->color ? color_of(word) : "", *off = *on ? "\033[0m" : "";
	size_t left, cut = 0, n = 0;

	used += (size_t)pad + 1 + WORD_WIDTH;
	left = used < WIDTH - 10 ? WIDTH - used : 10;
	fprintf(o->out, "%*s%s%s%s", (int)(2 * depth), "", on, name, off);
	if (*word)
		fprintf(o->out, "%*s %s%s%s", pad, "", on, word, off);
	if (text) {
		bool fits = width(text) <= left;

		for (; text[cut] && (fits || n < left - 3); cut++)
			n += (text[cut + 1] & 0xc0) != 0x80;
		fprintf(o->out, "%*s%.*s%s",
			*word ? WORD_WIDTH - (int)strlen(word) : pad + 1 + WORD_WIDTH, "", (int)cut,
			text, fits ? "" : "...");
	}
	putc('\n', o->out);
}

/* Why a place is as it is, when that is not what the one above says. */
static char *reason_of(const struct place *p, const struct place *above)
{
	const char *rule = !above || p->x.rule != above->x.rule || is_closed(p) ? p->rule : NULL;

	if (is_link(p) || (!p->detail && !rule))
		return NULL;
	return xasprintf("%s%s%s", p->detail ? p->detail : "", p->detail && rule ? ": " : "",
		rule ? rule : "");
}

/* Whether two entries of a directory can share a line. */
static bool alike(const struct place *a, const struct place *b)
{
	if (b->shown || !a->leaf || !b->leaf || a->detail || b->detail ||
		strcmp(a->word, b->word) != 0)
		return false;
	return is_link(a) ? is_link(b) : !is_link(b) && strcmp(a->rule, b->rule) == 0;
}

/* Names of alike places, in a few lines, of which the first says what they are. */
static void show_folded(const struct outline *o, struct place *const *kids, size_t n, size_t depth,
	const struct place *dir)
{
	CLEANUP_FREE char *reason = reason_of(kids[0], dir);
	CLEANUP_FREE char *line = xstrdup("");
	size_t lines = 0;

	for (size_t i = 0; i < n; i++) {
		CLEANUP_FREE char *name = name_of(kids[i], dir->path);
		size_t cut =
			is_link(kids[i]) ? (size_t)(strstr(name, " -> ") - name) : strlen(name);
		char *longer = xasprintf("%s%s%.*s", line, *line ? " " : "", (int)cut, name);

		if (*line && 2 * depth + width(longer) > NAME_WIDTH) {
			print_line(
				o, depth, line, lines ? "" : kids[0]->word, lines ? NULL : reason);
			lines++;
			free(longer);
			longer = lines == FOLD_LINES ? xasprintf("and %zu more", n - i)
						     : xstrndup(name, cut);
			i = lines == FOLD_LINES ? n : i;
		}
		free(line);
		line = longer;
	}
	print_line(o, depth, line, lines ? "" : kids[0]->word, lines ? NULL : reason);
}

static void show(struct outline *o, struct place *p, size_t depth, const char *dir,
	const struct place *above);

static void show_kids(struct outline *o, struct place *dir, size_t depth)
{
	CLEANUP_FREE struct place **kids = xcalloc(o->n, sizeof(*kids));
	CLEANUP_FREE struct place **same = xcalloc(o->n, sizeof(*same));
	size_t n = 0;

	for (struct place *p = o->places; p < o->places + o->n; p++)
		if (is_kid(dir, p))
			kids[n++] = p;
	for (size_t i = 0; i < n; i++) {
		size_t n_same = 0;

		for (size_t k = i; k < n; k++)
			if (alike(kids[i], kids[k]))
				same[n_same++] = kids[k];
		if (n_same < (is_link(kids[i]) ? FOLD_LINKS : FOLD))
			n_same = 0;
		for (size_t k = 0; k < n_same; k++)
			same[k]->shown = true;
		if (n_same)
			show_folded(o, same, n_same, depth, dir);
		else if (!kids[i]->shown)
			show(o, kids[i], depth, dir->path, dir);
	}
}

/* Whether a place only leads to what is below it: a directory of the sandbox's own, or one that is as
 * what is above it, be it bound onto itself so that it cannot be renamed. */
static bool only_leads(const struct place *p, const struct place *above)
{
	if (p->op && p->op->kind == OP_DIR)
		return true;
	return (!p->op || p->op->kind == OP_BIND_WRITE) && p->x.rule == above->x.rule &&
	       strcmp(p->word, above->word) == 0;
}

static void show(struct outline *o, struct place *p, size_t depth, const char *dir,
	const struct place *above)
{
	struct place *kid = only_kid(o, p);
	CLEANUP_FREE char *name = NULL;
	CLEANUP_FREE char *reason = NULL;

	p->shown = true;
	if (kid && above && p->x.found != FOUND_DENY && only_leads(p, above)) {
		show(o, kid, depth, dir, above);
		return;
	}
	name = name_of(p, dir);
	reason = reason_of(p, above);
	print_line(o, depth, name, p->word, reason);
	show_kids(o, p, depth + 1);
}

void outline_print(FILE *out, const struct explainer *e, bool color)
{
	struct outline o = {.out = out, .e = e, .color = color};
	CLEANUP_STRVEC struct strvec paths = {0};

	look(&o, &paths);
	for (size_t i = 0; i < o.n; i++) {
		o.places[i].leaf = true;
		for (size_t k = 0; k < o.n && o.places[i].leaf; k++)
			o.places[i].leaf = !is_kid(&o.places[i], &o.places[k]);
	}
	show(&o, &o.places[0], 0, "/", NULL);
	for (size_t i = 0; i < o.n; i++) {
		explanation_clear(&o.places[i].x);
		free(o.places[i].detail);
		free(o.places[i].rule);
	}
	free(o.places);
}
