/* Looking at files as another user, and being oneself again. Most of it takes root. */
#include "base/mem.h"
#include "base/user.h"
#include "lib/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Who the kernel takes this process for. */
static char *state(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	gid_t groups[8];
	int n = getgroups(8, groups), death_signal;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	syscall(SYS_capget, &header, data);
	prctl(PR_GET_PDEATHSIG, &death_signal, 0, 0, 0);
	fprintf(out, "uid %u gid %u caps %x%x signal %d groups", geteuid(), getegid(),
		data[1].effective, data[0].effective, death_signal);
	for (int i = 0; i < n; i++)
		fprintf(out, " %u", groups[i]);
	fclose(out);
	return text;
}

/* What opening a file of the scratch directory gives: 0 or an errno. */
static int opens(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void make(int dir, const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0)
		exit(1);
	close(fd);
}

static void as_another(int dir)
{
	struct user *user = user_new(2001, 2002);
	CLEANUP_FREE char *before = state();
	CLEANUP_FREE char *after = NULL;
	struct stat st;

	if (!ok(user != NULL, "root can be another user"))
		return;
	errno = ENOTTY;
	user_enter(user);
	is_int(errno, ENOTTY, "errno is kept");
	is_int(opens(dir, "root", O_RDONLY), EACCES, "root's file cannot be read");
	is_int(opens(dir, "group", O_RDONLY), EACCES, "nor one of root's other groups");
	is_int(opens(dir, "user", O_RDONLY), 0, "the user's can");
	is_int(opens(dir, "made", O_WRONLY | O_CREAT), 0, "and one be made");
	errno = ENOTTY;
	user_leave(user);
	is_int(errno, ENOTTY, "errno is kept again");
	after = state();
	is_str(after, before, "ids, groups, capabilities and the death signal are as they were");
	ok(fstatat(dir, "made", &st, 0) == 0 && st.st_uid == 2001 && st.st_gid == 2002,
		"what was made is the user's");
	is_int(opens(dir, "user", O_RDONLY), 0, "and root is root");
	is_int(user_uid(user), 2001, "uid");
	is_int(user_gid(user), 2002, "gid");
	user_free(user);
}

static void as_root(int dir)
{
	struct user *user = user_new(0, 0);
	CLEANUP_FREE char *before = state();
	CLEANUP_FREE char *after = NULL;

	user_enter(user);
	is_int(opens(dir, "user", O_RDONLY), EACCES, "root passes no modes");
	is_int(opens(dir, "group", O_RDONLY), EACCES, "and has no other groups");
	is_int(opens(dir, "root", O_RDONLY), 0, "but reads what is its own");
	user_leave(user);
	after = state();
	is_str(after, before, "and is as it was");
	is_int(opens(dir, "user", O_RDONLY), 0, "with all its rights");
	user_free(user);
}

static void as_ordinary(int dir)
{
	struct user *user;
	CLEANUP_FREE char *before = NULL;
	CLEANUP_FREE char *after = NULL;

	if (getuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(2001, 2001, 2001) < 0 ||
				     setresuid(2001, 2001, 2001) < 0))
		exit(1);
	before = state();
	user = user_new(getuid() + 1, getgid());
	ok(!user && errno == EPERM, "an ordinary user cannot be another");
	user = user_new(getuid(), getgid() + 1);
	ok(!user && errno == EPERM, "nor of another group");
	user = user_new(getuid(), getgid());
	if (!ok(user != NULL, "but itself"))
		return;
	user_enter(user);
	is_int(opens(dir, "root", O_RDONLY), EACCES, "and has no more rights than before");
	user_leave(user);
	after = state();
	is_str(after, before, "nor less");
	user_free(user);
}

/* Is another user until its parent, who waits for the byte, has died. */
static _Noreturn void outlive_parent(int ready)
{
	pid_t parent = getppid();
	struct user *user;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	user = user_new(2001, 2001);
	user_enter(user);
	if (write(ready, "", 1) != 1)
		_exit(1);
	while (getppid() == parent)
		sched_yield();
	user_leave(user);
	_exit(0);
}

static void orphaned(void)
{
	int status = 0, pipes[2];
	pid_t parent;
	char byte;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (pipe2(pipes, O_CLOEXEC) < 0 || (parent = fork()) < 0)
		exit(1);
	if (parent == 0) {
		if (fork() == 0)
			outlive_parent(pipes[1]);
		_exit(read(pipes[0], &byte, 1) != 1);
	}
	waitpid(parent, NULL, 0);
	waitpid(-1, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		"that the parent died meanwhile is not missed");
	close(pipes[0]);
	close(pipes[1]);
}

int main(void)
{
	char scratch[] = "/tmp/sbx-test-XXXXXX";
	bool root = getuid() == 0;
	int dir;

	if (!mkdtemp(scratch))
		return 1;
	dir = open(scratch, O_DIRECTORY | O_PATH | O_CLOEXEC);
	if (root) {
		setgroups(2, (gid_t[]){0, 2003});
		prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
		chmod(scratch, 0777);
		make(dir, "root", 0600, 0, 0);
		make(dir, "group", 0040, 2004, 2003);
		make(dir, "user", 0400, 2001, 2002);
		as_another(dir);
		as_root(dir);
		orphaned();
		unlinkat(dir, "user", 0);
		unlinkat(dir, "group", 0);
		unlinkat(dir, "made", 0);
		chown(scratch, 2001, 2001);
	} else {
		skip("needs root", "being another user");
		make(dir, "root", 0, getuid(), getgid());
	}
	as_ordinary(dir);
	unlinkat(dir, "root", 0);
	close(dir);
	ok(rmdir(scratch) == 0, "cleaned up");
	return done_testing();
}
