#include "cmd/verifying.h"

#include "base/mem.h"
#include "base/path.h"
#include "run/host.h"

#include <errno.h>
#include <string.h>

/* What it is made of. */
struct make {
	struct table_spec *out;
	const struct plan *plan;
	const struct tree *tree;
	const char *bwrap;
	enum outer outer;
};

/* Whether an op makes a mount at its destination. */
static bool is_mount(const struct op *op)
{
	return op->kind != OP_DIR && op->kind != OP_SYMLINK && op->kind != OP_SEAL &&
	       !(op->kind == OP_DENY_DIR && op->scaffold);
}

bool verifying_needed(const struct prepared *p)
{
	bool needed = p->policy.verify;

	for (size_t i = 0; i < p->plan.n && !needed; i++) {
		const struct op *op = &p->plan.ops[i];
		const struct op *above = is_mount(op) ? plan_op_at(&p->plan, op->dest, true) : NULL;

		needed = above && (above->kind == OP_BIND_WRITE || above->kind == OP_DEV_BIND);
	}
	return needed;
}

/* What stands at the same place so far, a node of bwrap's /dev under a device, is covered by it. */
static void add(struct make *m, char *at, const struct table_mount *as)
{
	for (size_t i = 0; as->needed && i < m->out->n; i++) {
		struct table_mount *other = &m->out->v[i];

		if (other->needed && strcmp(other->at, at) == 0) {
			other->needed = false;
			other->covered = true;
		}
	}
	table_add(m->out, as)->at = at;
}

/* Takes what the host's table says of a host path; nothing where it says nothing. */
static void find_source(const struct make *m, const char *path, struct table_mount *mount)
{
	const struct mount_line *line = mount_table_at(tree_live_table(m->tree), path);
	CLEANUP_FREE char *root = NULL;

	if (!line)
		return;
	/* The /proc around bwrap is another than the one that was planned on, with the same parts,
	 * but for what is mounted over them. */
	if (path_within(path, "/proc") && strcmp(line->at, "/proc") == 0)
		mount->type = "proc";
	else if (path_within(path, "/proc"))
		return;
	mount->dev = line->dev;
	root = path_join(line->root, path_below(path, line->at));
	mount->root = *root == '/' ? path_normalize(root) : xstrdup(root);
}

/* Mounts below the source of a bind that are bound with it. */
static void add_submount(
	struct make *m, const struct op *op, const char *path, const struct table_mount *as)
{
	CLEANUP_FREE char *at = NULL;
	struct table_mount mount = *as;
	struct tree_stat st;

	if (!path_within(path, op->source) || strcmp(path, op->source) == 0)
		return;
	at = path_join(op->dest, path_below(path, op->source));
	/* bwrap cannot change the flags of what the user cannot reach. */
	if (tree_lstat(m->tree, path, &st) != -EACCES) {
		mount.nosuid = true;
		mount.nodev = op->kind != OP_DEV_BIND;
		mount.read_only = op->kind == OP_BIND_READ;
	}
	mount.covered = plan_op_at(m->plan, at, false) != op;
	add(m, xstrdup(at), &mount);
}

/* The shim's own (run/launch.c). */
static void add_shim_mount(struct make *m, const struct op *op, const char *path)
{
	struct table_mount mount = {0};

	if (path_within(path, op->source) && strcmp(path, op->source) != 0) {
		find_source(m, path, &mount);
		add_submount(m, op, path, &mount);
	}
}

static void add_bind(struct make *m, const struct op *op)
{
	const struct mount_table *host = tree_live_table(m->tree);
	struct table_mount mount = {.needed = true,
		.nosuid = true,
		.nodev = op->kind != OP_DEV_BIND,
		.read_only = op->kind == OP_BIND_READ};

	find_source(m, op->source, &mount);
	add(m, xstrdup(op->dest), &mount);
	for (size_t i = 0; i < host->n; i++) {
		const struct mount_line *line = &host->v[i];

		if (!path_within(line->at, op->source))
			continue;
		mount = (struct table_mount){.dev = line->dev};
		mount.root = *line->root == '/' ? path_normalize(line->root) : xstrdup(line->root);
		add_submount(m, op, line->at, &mount);
	}
	add_shim_mount(m, op, m->bwrap);
	for (size_t i = 0; i < HOST_NODES; i++)
		add_shim_mount(m, op, host_nodes[i]);
}

/* A file system of the sandbox's own. */
static void add_own(struct make *m, const char *at, const char *type, const char *root)
{
	bool flags = strcmp(type, "mqueue") != 0;

	add(m, xstrdup(at),
		&(struct table_mount){.needed = true,
			.own = true,
			.type = type,
			.root = root ? xstrdup(root) : NULL,
			.nosuid = flags,
			.nodev = flags && strcmp(type, "devpts") != 0});
}

/* bwrap covers these itself where they look writable. */
static void add_proc(struct make *m, const char *at)
{
	static const char *const parts[] = {"/bus", "/irq", "/sys", "/sysrq-trigger"};

	add_own(m, at, "proc", "/");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		add(m, path_join(at, parts[i] + 1),
			&(struct table_mount){.type = "proc",
				.root = xstrdup(parts[i]),
				.read_only = true,
				.nosuid = true,
				.nodev = true});
}

static void add_dev(struct make *m, const char *at)
{
	/* The terminal that is standard output, where it is one. */
	static const char *const terminals[] = {"devpts", "devtmpfs"};
	CLEANUP_FREE char *pts = path_join(at, "pts");

	add_own(m, at, "tmpfs", "/");
	for (size_t i = 0; i < HOST_NODES; i++) {
		struct table_mount node = {
			.needed = true, .nosuid = true, .read_only = m->outer != OUTER_NONE};

		find_source(m, host_nodes[i], &node);
		add(m, path_join(at, path_base(host_nodes[i])), &node);
	}
	add_own(m, pts, "devpts", "/");
	for (size_t i = 0; i < sizeof(terminals) / sizeof(*terminals); i++)
		add(m, path_join(at, "console"),
			&(struct table_mount){.type = terminals[i], .nosuid = true});
}

/* The mount at a place becomes read-only. */
static void seal(struct make *m, const char *at)
{
	for (size_t i = 0; i < m->out->n; i++)
		if (m->out->v[i].needed && strcmp(m->out->v[i].at, at) == 0)
			m->out->v[i].read_only = true;
}

static void add_op(struct make *m, const struct op *op)
{
	struct table_mount null = {
		.needed = true, .read_only = true, .nosuid = true, .nodev = true};

	switch (op->kind) {
	case OP_DIR:
	case OP_SYMLINK:
		break;
	case OP_BIND_READ:
	case OP_BIND_WRITE:
	case OP_DEV_BIND:
		add_bind(m, op);
		break;
	case OP_DENY_FILE:
		find_source(m, "/dev/null", &null);
		add(m, xstrdup(op->dest), &null);
		break;
	case OP_FILE:
		add_own(m, op->dest, "tmpfs", NULL);
		seal(m, op->dest);
		break;
	case OP_DENY_DIR:
		if (!op->scaffold)
			add_own(m, op->dest, "tmpfs", "/");
		break;
	case OP_TMPFS:
		add_own(m, op->dest, "tmpfs", "/");
		break;
	case OP_PROC:
		add_proc(m, op->dest);
		break;
	case OP_DEV:
		add_dev(m, op->dest);
		break;
	case OP_MQUEUE:
		add_own(m, op->dest, "mqueue", "/");
		break;
	case OP_SEAL:
		seal(m, op->dest);
		break;
	}
}

void verifying_make(
	struct table_spec *out, const struct prepared *p, const char *bwrap, enum outer outer)
{
	struct make m = {out, &p->plan, p->tree, bwrap, outer};

	out->host = tree_live_table(p->tree);
	out->connected = outer == OUTER_NONE || p->policy.propagation == PROPAGATION_SLAVE;
	add_own(&m, "/", "tmpfs", NULL);
	for (size_t i = 0; i < p->plan.n; i++)
		add_op(&m, &p->plan.ops[i]);
}
