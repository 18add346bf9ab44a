/* What is left to talk to: every socket and FIFO that a plan on a fake tree shows to its user. */
#include "base/mem.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/proof.h"
#include "plan/survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char tree_text[] =
	"uid 1000\nc /dev/null 1:3\nd /tmp 1777\nd /dev\nd /proc/sys\np /proc/fifo 0666\n"
	"s /srv/dead.sock 0666\ns /srv/live.sock 0666\nu /srv/live.sock\ns /srv/others.sock 0600\n"
	"p /srv/read.fifo 0604\np /srv/write.fifo 0602\np /srv/others.fifo 0600\nf /srv/file\n"
	"l /srv/link -> dead.sock\ns /srv/app/a/b/c/deep.sock 0666\n"
	"s /srv/app/hidden/h.sock 0666\ns /srv/app/a/denied.sock 0666\n"
	"d /srv/pass 0711\ns /srv/pass/known.sock 0666\nd /srv/shut 0700\ns /srv/shut/x.sock 0666\n"
	"s /home/u/w/mine.sock 0600 1000 1000\np /etc/open/fifo 0666\nf /etc/open/f\n"
	"s /run/user/1000/bus 0666\nu /run/user/1000/bus\ns /run/docker.sock 0666\n"
	"u /run/docker.sock\np /tmp/fifo 0666\ns /opt/one.sock 0666\n";

static const char policy_text[] =
	"{\"sbx\": 1, \"filesystem\": {\"root\": \"read\", \"write\": [\"/home/u/w\"],"
	" \"deny\": [\"/srv/app/hidden\", \"/srv/app/a/denied.sock\"],"
	" \"connect\": [\"/run/user/1000/bus\"], \"tmpfs\": [{\"at\": \"/run\"}],"
	" \"mounts\": [{\"at\": \"/m\", \"from\": \"/srv/app\"}, {\"at\": \"/n\", \"from\": "
	"\"/opt/one.sock\"},"
	"  {\"at\": \"/run/docker\", \"from\": \"/run/docker.sock\"},"
	"  {\"at\": \"/etc/open/new\", \"from\": \"/home/u/w\"}]},"
	" \"process\": {\"cwd\": \"/\"}}";

static const char want[] =
	"/etc/open/new/mine.sock a socket of /home/u/w/mine.sock: /filesystem/mounts/3\n"
	"/home/u/w/mine.sock a socket of /home/u/w/mine.sock: /filesystem/write/0\n"
	"/m/a/b/c/deep.sock a socket of /srv/app/a/b/c/deep.sock: /filesystem/mounts/0\n"
	"/n a socket of /opt/one.sock: /filesystem/mounts/1\n"
	"/opt/one.sock a socket of /opt/one.sock: /filesystem/root\n"
	"/run/docker a socket of /run/docker.sock: /filesystem/mounts/2 DANGER container\n"
	"/run/user/1000/bus a socket of /run/user/1000/bus: /filesystem/connect/0 DANGER session\n"
	"/srv/app/a/b/c/deep.sock a socket of /srv/app/a/b/c/deep.sock: /filesystem/root\n"
	"/srv/dead.sock a socket of /srv/dead.sock: /filesystem/root\n"
	"/srv/read.fifo a FIFO of /srv/read.fifo: /filesystem/root\n"
	"/srv/write.fifo a FIFO of /srv/write.fifo: /filesystem/root\n"
	"unlisted /srv/pass EACCES\n";

static char *describe(const struct survey *survey)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < survey->n; i++) {
		const struct loose_end *end = &survey->ends[i];

		fprintf(out, "%s %s of %s: %s", end->path, tree_kind_name(end->kind), end->host,
			end->rule->origin.pointer);
		if (end->danger)
			fprintf(out, " DANGER %s",
				strstr(end->danger, "session")     ? "session"
				: strstr(end->danger, "container") ? "container"
								   : end->danger);
		putc('\n', out);
	}
	for (size_t i = 0; i < survey->unlisted.n; i += 2)
		fprintf(out, "unlisted %s %s\n", survey->unlisted.v[i], survey->unlisted.v[i + 1]);
	fclose(out);
	return text;
}

/* A world with one socket that is shown, and what is said of its name. */
static const char *danger_of(const char *path)
{
	CLEANUP_FREE char *text = xasprintf("s %s 0666\n", path);
	struct tree *tree = faketree_parse(text);
	struct rule root = {.kind = RULE_ROOT, .access = ACCESS_READ, .path = (char *)"/"};
	struct op op = {
		.kind = OP_BIND_READ, .source = (char *)"/", .dest = (char *)"/", .why = &root};
	struct plan plan = {.rules = {.v = &root, .n = 1}, .ops = &op, .n = 1};
	struct explain_user user = {1000, 1000, NULL, 0};
	struct explainer e;
	struct survey survey;
	const char *danger;

	explainer_init(&e, &plan, tree, &user, true);
	survey_make(&survey, &e);
	danger = survey.n == 1 ? survey.ends[0].danger : "not found";
	survey_clear(&survey);
	explainer_clear(&e);
	faketree_free(tree);
	return danger;
}

static void test_dangers(void)
{
	static const struct {
		const char *path, *says;
	} rows[] = {
		{"/var/run/docker.sock", "container engine"},
		{"/home/u/.docker/run/docker.sock", "container engine"},
		{"/run/containerd/containerd.sock", "container engine"},
		{"/run/k3s/containerd/containerd.sock.ttrpc", "container engine"},
		{"/run/user/1000/podman/podman.sock", "container engine"},
		{"/run/crio/crio.sock", "container engine"},
		{"/run/buildkit/buildkitd.sock", "container engine"},
		{"/var/snap/lxd/common/lxd/unix.socket", "container engine"},
		{"/var/lib/incus/unix.socket", "container engine"},
		{"/tmp/ssh-XXXXabcd/agent.12", "keys"},
		{"/home/u/.ssh/agent.sock", "keys"},
		{"/run/user/1000/keyring/ssh", "keys"},
		{"/home/u/.gnupg/S.gpg-agent.ssh", "keys"},
		{"/run/dbus/system_bus_socket", "system bus"},
		{"/run/user/1000/bus", "session bus"},
		{"/tmp/dbus-AbCd", "session bus"},
		{"/run/systemd/private", "systemd"},
		{"/run/user/1000/systemd/private", "systemd"},
		{"/tmp/.X11-unix/X0", "X server"},
		{"/run/user/1000/wayland-0", "display"},
		{"/run/user/1000/pulse/native", "microphone"},
		{"/run/user/1000/pipewire-0", "sound"},
		{"/run/snapd.socket", "snapd"},
		{"/run/libvirt/libvirt-sock-ro", "virtual machines"},
		{"/tmp/tmux-1000/default", "multiplexer"},
		{"/var/run/postgresql/.s.PGSQL.5432", "database"},
		{"/run/mysqld/mysqld.sock", "database"},
		{"/run/redis/redis-server.sock", "database"},
		{"/srv/app/web.sock", NULL},
		{"/home/docker.sockets/x", NULL},
		{"/srv/business", NULL},
		{"/srv/dbus-x/y", NULL},
		{"/bus", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *danger = danger_of(rows[i].path);

		if (!ok(rows[i].says ? danger && strstr(danger, rows[i].says) : !danger, "%s: %s",
			    rows[i].path, rows[i].says ? rows[i].says : "no known name"))
			diag("%s", danger ? danger : "(no danger)");
	}
}

int main(void)
{
	struct policy_context context = {.home = "/home/u", .cwd = "/"};
	struct plan_request request = {.proc = PROC_BIND, .cwd = "/"};
	struct explain_user user = {1000, 1000, NULL, 0};
	struct tree *tree = faketree_parse(tree_text);
	struct policy policy = {0};
	struct plan plan = {0};
	struct err err = {0};

	if (ok(policy_load_text(&policy, policy_text, sizeof(policy_text) - 1, "t.json", NULL,
		       &context, &err) == 0 &&
			    plan_make(&plan, &policy, tree, &request, &err) == 0 &&
			    proof_check(&plan, &policy, tree, &err) == 0,
		    "a plan")) {
		struct explainer e;
		struct survey survey;
		CLEANUP_FREE char *got = NULL;

		explainer_init(&e, &plan, tree, &user, true);
		survey_make(&survey, &e);
		got = describe(&survey);
		is_str(got, want, "all that is shown and usable, and nothing else");
		survey_clear(&survey);
		explainer_clear(&e);
	} else {
		diag("%s: %s", err.at, err.message);
	}
	plan_clear(&plan);
	policy_clear(&policy);
	faketree_free(tree);
	test_dangers();
	return done_testing();
}
