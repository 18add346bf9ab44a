/* Changing what is mounted, by the old calls and the new, and namespaces where that would be allowed. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void remounted(const char *path)
{
	judge(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL));
}

static void unmounted(const char *path)
{
	if (umount2(path, MNT_DETACH) < 0)
		held_by_errno();
	broke("the cover of %s is gone", path);
}

/* What was mounted is taken away again, for the attacks that follow. */
static void judge_mount(const char *path, int result)
{
	if (result < 0)
		held_by_errno();
	umount2(path, MNT_DETACH);
	broke("it is mounted");
}

static void mounted_tmpfs(const char *path)
{
	judge_mount(path, mount("attack", path, "tmpfs", 0, NULL));
}

static void mounted_proc(const char *path)
{
	judge_mount(path, mount("attack", path, "proc", 0, NULL));
}

static void mounted_sysfs(const char *path)
{
	judge_mount(path, mount("attack", path, "sysfs", 0, NULL));
}

static void mounted_cgroup(const char *path)
{
	judge_mount(path, mount("attack", path, "cgroup2", 0, NULL));
}

static void mounted_disk(const char *path)
{
	/* A device that does not exist: the right is looked at first. */
	if (mount("/nothing", path, "ext4", 0, NULL) < 0 && errno != ENOENT && errno != ENODEV)
		held_by_errno();
	broke("it may");
}

static void bound(const char *path)
{
	judge_mount("/tmp", mount(path, "/tmp", NULL, MS_BIND, NULL));
}

/* And what was moved is moved back. */
static void judge_move(const char *path, long result)
{
	if (result < 0)
		held_by_errno();
	mount(path, "/tmp", NULL, MS_MOVE, NULL);
	broke("it is moved");
}

static void moved_mount(const char *path)
{
	judge_move(path, mount("/tmp", path, NULL, MS_MOVE, NULL));
}

static void shared(const char *path)
{
	judge(mount(NULL, path, NULL, MS_SHARED | MS_REC, NULL));
}

static void new_context(const char *type)
{
	judge(syscall(SYS_fsopen, type, 0));
}

static void picked(const char *path)
{
	judge(syscall(SYS_fspick, AT_FDCWD, path, 0));
}

static void cloned_tree(const char *path)
{
	judge(syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE));
}

static void attributes(const char *path)
{
	struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};

	judge(syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &attr, sizeof(attr)));
}

static void moved_tree(const char *path)
{
	judge_move(path, syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, path, 0));
}

static void pivoted(const char *path)
{
	if (chdir(path) < 0)
		held_by_errno();
	/* Not of a mount of its own: EINVAL says that it would have been allowed. */
	if (syscall(SYS_pivot_root, ".", ".") < 0 && errno != EINVAL && errno != EBUSY)
		held_by_errno();
	broke("it may");
}

static void chrooted(const char *path)
{
	judge(chroot(path));
}

static void unshared(const char *flag)
{
	judge(unshare(strcmp(flag, "mount") == 0    ? CLONE_NEWNS
		      : strcmp(flag, "pid") == 0    ? CLONE_NEWPID
		      : strcmp(flag, "net") == 0    ? CLONE_NEWNET
		      : strcmp(flag, "ipc") == 0    ? CLONE_NEWIPC
		      : strcmp(flag, "uts") == 0    ? CLONE_NEWUTS
		      : strcmp(flag, "cgroup") == 0 ? CLONE_NEWCGROUP
		      : strcmp(flag, "time") == 0   ? CLONE_NEWTIME
						    : CLONE_NEWUSER));
}

static void cloned_user(const char *unused)
{
	(void)unused;
	judge(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

static void cloned3_user(const char *unused)
{
	struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};

	(void)unused;
	judge(syscall(SYS_clone3, &args, sizeof(args)));
}

/*
 * A user namespace with a mount namespace: all capabilities over copies of the mounts. The user has a number in it where
 * that can be had; much can be done without one.
 */
static void own_namespaces(void)
{
	uid_t me = geteuid();
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		held_by_errno();
	fd = open("/proc/self/uid_map", O_WRONLY);
	if (fd >= 0)
		dprintf(fd, "%u %u 1\n", me, me);
}

static void nested_unmount(const char *path)
{
	own_namespaces();
	unmounted(path);
}

static void nested_remount(const char *path)
{
	own_namespaces();
	if (mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) < 0)
		held_by_errno();
	judge(open(expand("{home}/attack-nested"), O_WRONLY | O_CREAT, 0644));
}

/* Below a bind that does not take what is mounted below it along there are no covers. */
static void nested_bind(const char *path)
{
	int fd;

	own_namespaces();
	if (mount(path, "/tmp", NULL, MS_BIND, NULL) < 0)
		held_by_errno();
	fd = open("/tmp/.ssh/key", O_RDONLY);
	if (fd < 0)
		held_by_errno();
	if (has_secret(fd))
		broke("the secret");
	held("other");
}

/*
 * A mount point is busy only where the mount is seen. In a mount namespace that has detached them all, a name can be
 * removed by a descriptor from before, and with it the mount of the namespace that still has it.
 */
static void nested_removal(const char *name)
{
	int fd = open(expand("{project}"), O_PATH | O_DIRECTORY);

	if (fd < 0)
		held_by_errno();
	own_namespaces();
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("attack", "/tmp", "tmpfs", 0, NULL) < 0 || chdir("/tmp") < 0 ||
		syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
		held_by_errno();
	judge(unlinkat(fd, name, 0));
}

static void nested_device(const char *unused)
{
	(void)unused;
	own_namespaces();
	if (mount("attack", "/tmp", "tmpfs", 0, NULL) < 0)
		held_by_errno();
	judge(mknod("/tmp/null", S_IFCHR | 0600, 0x103));
}

const struct attack attacks_mount[] = {
	{"mount-remount", "make a read-only place writable", "EPERM ENOENT", remounted, "/usr",
		"the control's /usr is no mount point on every host"},
	{"mount-remount-root", "make / writable", "EPERM", remounted, "/"},
	{"mount-uncover", "unmount the cover of a denied place", "EPERM ENOENT EACCES", unmounted,
		"{home}/.ssh", "the control has no cover"},
	{"mount-tmpfs", "mount a file system", "EPERM", mounted_tmpfs, "/tmp"},
	{"mount-proc", "mount another /proc", "EPERM", mounted_proc, "/tmp"},
	{"mount-sysfs", "mount another /sys", "EPERM", mounted_sysfs, "/tmp"},
	{"mount-cgroup", "mount the control groups", "EPERM", mounted_cgroup, "/tmp"},
	{"mount-disk", "mount a disk", "EPERM", mounted_disk, "/tmp"},
	{"mount-bind", "show a directory without what covers it", "EPERM", bound, "/"},
	{"mount-move", "move a mount", "EPERM", moved_mount, "/usr",
		"the control's /tmp is no mount point on every host"},
	{"mount-shared", "have mounts appear on the host", "EPERM", shared, "/"},
	{"mount-fsopen", "mount by the new calls: fsopen", "EPERM ENOSYS", new_context, "tmpfs"},
	{"mount-fspick", "the same: fspick", "EPERM ENOSYS", picked, "/"},
	{"mount-open-tree", "the same: open_tree", "EPERM ENOSYS", cloned_tree, "/usr"},
	{"mount-setattr", "the same: mount_setattr", "EPERM ENOSYS", attributes, "/"},
	{"mount-move-mount", "the same: move_mount", "EPERM ENOSYS", moved_tree, "/usr",
		"the control's /tmp is no mount point on every host"},
	{"mount-pivot-root", "pivot_root", "EPERM", pivoted, "/tmp"},
	{"mount-chroot", "chroot", "EPERM", chrooted, "/tmp"},
	{"namespace-mount", "a mount namespace without a user namespace", "EPERM", unshared,
		"mount"},
	{"namespace-pid", "a process namespace", "EPERM", unshared, "pid"},
	{"namespace-net", "a network namespace", "EPERM", unshared, "net"},
	{"namespace-ipc", "an IPC namespace", "EPERM", unshared, "ipc"},
	{"namespace-uts", "a host name of its own", "EPERM", unshared, "uts"},
	{"namespace-cgroup", "a cgroup namespace", "EPERM", unshared, "cgroup"},
	{"namespace-time", "a clock of its own", "EPERM", unshared, "time"},
	{"namespace-user", "a user namespace", "EPERM ENOSPC", unshared, "user",
		.needs = NEEDS_FILTER},
	{"namespace-user-clone", "the same by clone", "EPERM ENOSPC", cloned_user,
		.needs = NEEDS_FILTER},
	{"namespace-user-clone3", "the same by clone3", "EPERM ENOSPC ENOSYS", cloned3_user,
		.needs = NEEDS_FILTER},
	{"nested-uncover", "unmount a cover in namespaces of its own",
		"EPERM ENOSPC EINVAL ENOENT EACCES", nested_unmount, "{home}/.ssh",
		"the control has no cover"},
	{"nested-remount", "make / writable in namespaces of its own", "EPERM ENOSPC EROFS EINVAL",
		nested_remount, "/"},
	{"nested-bind", "bind the home without its covers in namespaces of its own",
		"EPERM ENOSPC EINVAL ENOENT EACCES", nested_bind, "{home}",
		"the kernel keeps a place under its mounts, the host's own too"},
	{"nested-remove",
		"remove a protected name in namespaces of its own that have detached the mounts",
		"EPERM ENOSPC EBUSY EROFS ENOENT EINVAL EACCES", nested_removal, ".lldbinit",
		.needs = NEEDS_FILTER},
	{"nested-device", "make a device node in namespaces of its own", "EPERM ENOSPC EOVERFLOW",
		nested_device, .no_control = "the kernel allows it to nobody"},
	{0}};
