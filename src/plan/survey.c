/*
 * Each bind is walked by itself, from its source, and whatever stands at a place of its own in it
 * is left to the op that stands there. So everything that the view shows of the host is come by
 * once, and no place has to be looked up in the view.
 */
#include "plan/survey.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* By the names that their programs give them: the last components of a path. */
static const struct {
	const char *pattern, *danger;
} dangers[] = {
	{"docker.sock*", "a container engine: it gives the whole host"},
	{"containerd.sock*", "a container engine: it gives the whole host"},
	{"podman.sock", "a container engine: it runs commands outside of the sandbox"},
	{"crio.sock", "a container engine: it gives the whole host"},
	{"buildkitd.sock", "a container engine: it gives the whole host"},
	{"k3s/*", "a container engine: it gives the whole host"},
	{"lxd*/unix.socket*", "a container engine: it gives the whole host"},
	{"incus/unix.socket*", "a container engine: it gives the whole host"},
	{"ssh-*/agent.*", "an agent: it signs with the caller's keys"},
	{"ssh-agent*", "an agent: it signs with the caller's keys"},
	{".ssh/agent*", "an agent: it signs with the caller's keys"},
	{"openssh_agent", "an agent: it signs with the caller's keys"},
	{"keyring/*", "an agent: it signs with the caller's keys"},
	{"gcr/ssh", "an agent: it signs with the caller's keys"},
	{"S.gpg-agent*", "an agent: it signs with the caller's keys"},
	{"system_bus_socket", "the system bus: services that act as root"},
	{"user/*/bus", "the session bus: it starts programs outside of the sandbox"},
	{"dbus-*", "the session bus: it starts programs outside of the sandbox"},
	{"systemd/private", "systemd: it starts programs outside of the sandbox"},
	{"systemd/io.systemd.*", "systemd: it starts programs outside of the sandbox"},
	{"initctl", "init: it changes what the machine runs"},
	{".X11-unix/X*", "the X server: it reads the screen and types"},
	{"wayland-[0-9]*", "the display: windows, and what is copied"},
	{"pulse/native", "sound: it hears the microphone"},
	{"pipewire-[0-9]*", "sound and cameras"},
	{"snapd*.socket", "snapd: it installs programs"},
	{"libvirt/*-sock*", "virtual machines: they can be given the host's disks"},
	{"tmux-*/*", "a terminal multiplexer: it runs commands outside of the sandbox"},
	{"screen*/S-*/*", "a terminal multiplexer: it runs commands outside of the sandbox"},
	{"vscode-*.sock", "an editor: it runs commands outside of the sandbox"},
	{"emacs*/server", "an editor: it runs commands outside of the sandbox"},
	{".s.PGSQL.*", "a database"},
	{"mysql*.sock", "a database"},
	{"mariadb*.sock", "a database"},
	{"redis*.sock", "a database"},
	{"mongodb-*.sock", "a database"},
};

struct surveyor {
	struct survey *out;
	const struct explainer *e;
	struct strvec places; /* of ops, sorted */
};

/* A directory on the walk. */
struct dir {
	struct surveyor *s;
	const char *host, *place;
	struct strvec below; /* names of directories in it */
};

/* Whether as many of a path's last components as a pattern has match it. */
static bool ends_like(const char *path, const char *pattern)
{
	const char *end = path + strlen(path);

	for (const char *p = pattern; p; p = strchr(p + 1, '/'))
		end = end > path ? memrchr(path, '/', (size_t)(end - path)) : path;
	return fnmatch(pattern, end + 1, FNM_PATHNAME) == 0;
}

static const char *danger_of(const char *host)
{
	for (size_t i = 0; i < sizeof(dangers) / sizeof(*dangers); i++)
		if (ends_like(host, dangers[i].pattern))
			return dangers[i].danger;
	return NULL;
}

static void add_end(struct surveyor *s, const char *host, const char *place, enum tree_kind kind)
{
	struct survey *out = s->out;

	if ((kind != TREE_SOCKET && kind != TREE_FIFO) || !tree_usable(s->e->tree, host))
		return;
	GROW(out->ends, out->n, out->alloc);
	out->ends[out->n++] = (struct loose_end){.path = xstrdup(place),
		.host = xstrdup(host),
		.kind = kind,
		.rule = explain_rule(s->e, place),
		.danger = danger_of(host)};
}

static void visit(void *data, const char *name, enum tree_kind kind)
{
	struct dir *dir = data;
	CLEANUP_FREE char *place = path_join(dir->place, name);

	if (strvec_has_sorted(&dir->s->places, place))
		return;
	if (kind == TREE_DIR) {
		strvec_push(&dir->below, name);
	} else {
		CLEANUP_FREE char *host = path_join(dir->host, name);

		add_end(dir->s, host, place, kind);
	}
}

/* What cannot be listed may still hold a name that somebody knows, unless it cannot be passed. */
static void note_unlisted(struct surveyor *s, const char *host, const char *place, int error)
{
	CLEANUP_FREE char *below = path_join(host, "x"); /* any name will do */
	struct tree_stat st;

	if (tree_lstat(s->e->tree, below, &st) != -EACCES)
		strvec_pushl(&s->out->unlisted, place, strerrorname_np(-error), NULL);
}

static void walk(struct surveyor *s, const char *host, const char *place)
{
	struct dir dir = {.s = s, .host = host, .place = place};
	int error;

	if (path_within(host, "/proc"))
		return;
	error = tree_scan(s->e->tree, host, visit, &dir);
	if (error)
		note_unlisted(s, host, place, error);
	for (size_t i = 0; i < dir.below.n; i++) {
		CLEANUP_FREE char *host_below = path_join(host, dir.below.v[i]);
		CLEANUP_FREE char *place_below = path_join(place, dir.below.v[i]);

		walk(s, host_below, place_below);
	}
	strvec_clear(&dir.below);
}

static int compare_ends(const void *a, const void *b)
{
	return strcmp(((const struct loose_end *)a)->path, ((const struct loose_end *)b)->path);
}

void survey_make(struct survey *out, const struct explainer *e)
{
	struct surveyor s = {.out = out, .e = e};

	*out = (struct survey){0};
	for (size_t i = 0; i < e->plan->n; i++)
		strvec_push(&s.places, e->plan->ops[i].dest);
	strvec_sort(&s.places);
	for (size_t i = 0; i < e->plan->n; i++) {
		const struct op *op = &e->plan->ops[i];
		struct tree_stat st;

		if (!op_is_bind(op) || tree_lstat(e->tree, op->source, &st) < 0)
			continue;
		if (st.kind == TREE_DIR)
			walk(&s, op->source, op->dest);
		else
			add_end(&s, op->source, op->dest, st.kind);
	}
	strvec_clear(&s.places);
	if (out->n)
		qsort(out->ends, out->n, sizeof(*out->ends), compare_ends);
}

void survey_clear(struct survey *survey)
{
	for (size_t i = 0; i < survey->n; i++) {
		free(survey->ends[i].path);
		free(survey->ends[i].host);
	}
	free(survey->ends);
	strvec_clear(&survey->unlisted);
	*survey = (struct survey){0};
}
