/* The live and the fake tree are asked the same questions about the same files. */
#include "base/mem.h"
#include "base/path.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static char *base; /* the scratch directory, without links */
static struct user *self;

static char *in_base(const char *path)
{
	return path_join(base, path + 1);
}

/* A bound socket; its descriptor. */
static int bind_socket(const char *name, mode_t mode)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, name, strlen(name));
	if (bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(name, mode) < 0) {
		perror(name);
		exit(1);
	}
	return sock;
}

/* What the caller may use by its mode alone; root makes it. */
static void make_foreign(void)
{
	close(bind_socket("foreign-sock", 0600));
	close(bind_socket("shared-sock", 0622));
	if (mkfifo("foreign-fifo", 0600) < 0 || mkfifo("read-fifo", 0604) < 0 ||
		mkfifo("write-fifo", 0602) < 0)
		exit(1);
}

static void make_files(void)
{
	int fd;

	if (mkdir("dir", 0755) < 0 || mkdir("dir/sub", 01777) < 0 || mkdir("closed", 0000) < 0 ||
		symlink("dir/file", "link") < 0 || symlink("dir", "dirlink") < 0 ||
		symlink("gone", "dangling") < 0 || mkfifo("fifo", 0600) < 0) {
		perror(base);
		exit(1);
	}
	fd = open("dir/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10)
		exit(1);
	close(fd);
	close(bind_socket("sock", 0000)); /* the owner may change its mode */
}

static void print_entry(void *out, const char *name, enum tree_kind kind)
{
	strvec_pushf(out, "%s %d", name, kind);
}

static char *describe(const struct tree *tree, const char *path)
{
	CLEANUP_FREE char *target = NULL;
	CLEANUP_STRVEC struct strvec names = {0};
	CLEANUP_STRVEC struct strvec directories = {0};
	CLEANUP_STRVEC struct strvec entries = {0};
	char head[64] = "";
	struct tree_stat st;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int error = tree_lstat(tree, path, &st);

	if (error)
		fprintf(out, "lstat %d\n", error);
	else
		fprintf(out, "%s %04o nlink %d\n", tree_kind_name(st.kind), st.mode,
			st.kind == TREE_DIR ? 0 : (int)st.nlink);
	fprintf(out, "readlink %d %s\n", tree_readlink(tree, path, &target), target ? target : "");
	fprintf(out, "list %d", tree_list(tree, path, &names));
	for (size_t i = 0; i < names.n; i++)
		fprintf(out, " %s", names.v[i]);
	fprintf(out, "\ndirectories %d", tree_list_dirs(tree, path, &directories));
	for (size_t i = 0; i < directories.n; i++)
		fprintf(out, " %s", directories.v[i]);
	fprintf(out, "\nsearch %d", tree_may_search(tree, path));
	fprintf(out, "\nscan %d", tree_scan(tree, path, print_entry, &entries));
	strvec_sort(&entries);
	for (size_t i = 0; i < entries.n; i++)
		fprintf(out, " %s", entries.v[i]);
	if (!error && (st.kind == TREE_SOCKET || st.kind == TREE_FIFO))
		fprintf(out, "\nusable %d", tree_usable(tree, path));
	fprintf(out, "\nhead %s", tree_head(tree, path, head, 2) < 0 ? "fails" : head);
	fclose(out);
	return text;
}

/* What was looked at and is something else now is not opened. */
static void open_what_was_planned(const struct tree *live)
{
	CLEANUP_FREE char *file = in_base("/dir/file");
	CLEANUP_FREE char *sub = in_base("/dir/sub");
	CLEANUP_FREE char *fifo = in_base("/fifo");
	CLEANUP_FREE char *gone = in_base("/gone");
	CLEANUP_FREE char *dir = in_base("/dir");
	CLEANUP_STRVEC struct strvec before = {0};
	CLEANUP_STRVEC struct strvec after = {0};
	const char *const planned[] = {file, sub, fifo, gone};
	struct tree_stat st;
	int fd;

	tree_list(live, dir, &before);

	for (size_t i = 0; i < 4; i++)
		tree_lstat(live, planned[i], &st);
	fd = tree_live_open(live, file);

	ok(fd >= 0, "a file that is still there is opened");
	close(fd);
	if (rename("dir/sub", "dir/sub2") < 0 || symlink("/etc", "dir/sub") < 0 ||
		rename("fifo", "fifo2") < 0 || mkfifo("fifo", 0600) < 0)
		exit(1);
	tree_list(live, dir, &after);
	ok(before.n == after.n && strvec_has(&after, "sub") && !strvec_has(&after, "sub2"),
		"a directory is listed once");
	is_int(tree_live_open(live, sub), -ESTALE,
		"a link in place of a directory is not followed");
	is_int(tree_live_open(live, fifo), -ESTALE, "another object of the same kind is not taken");
	is_int(tree_live_open(live, gone), -ENOENT, "nothing is opened where nothing was");
}

static void ask(const struct tree *fake, const char *how)
{
	static const char *const questions[] = {"/", "/dir", "/dir/file", "/dir/sub", "/link",
		"/dirlink", "/dangling", "/fifo", "/sock", "/gone", "/gone/below",
		"/dir/file/below", "/dirlink/file", "/link/below", "/closed", "/closed/in",
		"/foreign-sock", "/shared-sock", "/foreign-fifo", "/read-fifo", "/write-fifo"};
	struct tree *live = tree_live(self);

	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		CLEANUP_FREE char *path = in_base(questions[i]);
		CLEANUP_FREE char *of_live = describe(live, path);
		CLEANUP_FREE char *of_fake = describe(fake, questions[i]);

		is_str(of_live, of_fake, "live and fake agree on %s%s", questions[i], how);
	}
	tree_live_free(live);
}

/* The names of live sockets: whole whatever is in them, once whatever else is there. */
static void find_sockets(void)
{
	static const char *const odd[] = {
		"/plain", "/with space", "/new\nline", "/a\n\nb", "/f\n1: 2 3 4 5 6 7 /forged"};
	static const char whole_line[] =
		"/g\n0000000000000000: 00000002 00000000 00010000 0001 01 1 /made";
	enum { N = sizeof(odd) / sizeof(*odd) };
	CLEANUP_STRVEC struct strvec names = {0};
	CLEANUP_STRVEC struct strvec later = {0};
	struct tree *live = tree_live(self), *second;
	CLEANUP_FREE char *line = in_base(whole_line);
	CLEANUP_FREE char *dir = path_parent(line);
	int socks[N], relative, sock;

	if (mkdir("f\n1: 2 3 4 5 6 7 ", 0755) < 0 || mkdir(dir, 0755) < 0)
		exit(1);
	for (size_t i = 0; i < N; i++) {
		CLEANUP_FREE char *path = in_base(odd[i]);

		socks[i] = bind_socket(path, 0600);
	}
	relative = bind_socket("relative", 0600);
	sock = bind_socket(line, 0600);
	is_int(tree_sockets(live, &names), 0, "the host says which sockets are live");
	for (size_t i = 0; i < N; i++) {
		CLEANUP_FREE char *path = in_base(odd[i]);

		ok(strvec_has(&names, path), "a live socket: %zu", i);
		close(socks[i]);
	}
	close(relative);
	close(sock);
	ok(strvec_has(&names, "/forged") && strvec_has(&names, "/made"),
		"made-up lines give names like any other");
	for (size_t i = 0; i < names.n; i++)
		if (names.v[i][0] != '/')
			ok(false, "no absolute name: %s", names.v[i]);
	tree_sockets(live, &later);
	is_int((long long)later.n, (long long)names.n, "they are asked for once");
	strvec_clear(&later);
	second = tree_live(self);
	tree_sockets(second, &later);
	for (size_t i = 0; i < later.n; i++)
		if (strncmp(later.v[i], base, strlen(base)) == 0)
			ok(false, "live without anyone who holds it: %s", later.v[i]);
	tree_live_free(second);
	tree_live_free(live);
}

/* As kernels before 5.6, and filters that do not know the call. */
static bool refuse_openat2(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(void)
{
	char scratch[] = "/tmp/sbx-test-XXXXXX";
	bool root = getuid() == 0;
	CLEANUP_FREE char *text = NULL;
	struct tree *live, *fake;

	base = realpath(mkdtemp(scratch), NULL);
	umask(0);
	if (chdir(base) < 0)
		return 1;
	if (root)
		make_foreign();
	/* As an ordinary user: root passes its own modes in a user namespace too, and the live
	 * tree is not asked to know that (it answers more narrowly than bwrap would). */
	if (root && (chown(base, 2001, 2001) < 0 || setresgid(2001, 2001, 2001) < 0 ||
			    setresuid(2001, 2001, 2001) < 0))
		return 1;
	self = user_new(geteuid(), getegid());
	make_files();
	text = xasprintf("%s%s",
		"uid 7\nd / 0700 7 7\nd /dir\nd /dir/sub 1777\nd /closed 0000 7 7\n"
		"f /dir/file 0640 =#!/bin/sh\\n\nl /link -> dir/file\nl /dirlink -> dir\n"
		"l /dangling -> gone\np /fifo 0600 7 7\ns /sock 0000 7 7\n",
		root ? "s /foreign-sock 0600\ns /shared-sock 0622\np /foreign-fifo 0600\n"
		       "p /read-fifo 0604\np /write-fifo 0602\n"
		     : "");
	fake = faketree_parse(text);
	ask(fake, "");
	if (ok(refuse_openat2(), "openat2 is refused from here on"))
		ask(fake, ", without openat2");
	find_sockets();
	live = tree_live(self);
	is_int(live->uid, user_uid(self), "the live tree answers the caller");
	is_int(fake->uid, 7, "the fake tree whom it says");
	open_what_was_planned(live);
	faketree_free(fake);
	tree_live_free(live);
	chmod("closed", 0700);
	if (chdir("/") == 0) {
		CLEANUP_FREE char *command = xasprintf(
			"rm -r %s/* && rmdir %s 2>&-; test ! -e %s/dir", base, base, base);

		ok(system(command) == 0, "cleaned up");
	}
	user_free(self);
	free(base);
	return done_testing();
}
