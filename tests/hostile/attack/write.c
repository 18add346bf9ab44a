/* Writing where nothing is granted, and to the files that standard input and output are. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static void written(const char *path)
{
	judge(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY));
}

static void created(const char *path)
{
	if (open(path, O_WRONLY | O_CREAT | O_EXCL, 0644) < 0)
		held_by_errno();
	unlink(path);
	broke("%s was made", path);
}

static void truncated(const char *path)
{
	judge(truncate(path, 0));
}

static void appended(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	if (fd < 0)
		held_by_errno();
	judge(write(fd, "attack\n", 7));
}

static void removed(const char *path)
{
	judge(unlink(path));
}

static void moved(const char *path)
{
	const char *to = expand("{project}/attack-moved");

	if (rename(path, to) < 0)
		held_by_errno();
	rename(to, path);
	broke("it can be moved");
}

/* Another file takes its name. */
static void replaced(const char *path)
{
	const char *other = expand("{project}/attack-other");
	int fd = open(other, O_WRONLY | O_CREAT, 0644);

	if (fd < 0)
		held_by_errno();
	judge(rename(other, path));
}

static void exchanged(const char *path)
{
	const char *other = expand("{project}/attack-exchanged");
	int fd = open(other, O_WRONLY | O_CREAT, 0644);

	if (fd < 0)
		held_by_errno();
	if (renameat2(AT_FDCWD, other, AT_FDCWD, path, RENAME_EXCHANGE) < 0)
		held_by_errno();
	renameat2(AT_FDCWD, other, AT_FDCWD, path, RENAME_EXCHANGE);
	broke("it can be exchanged");
}

/* A second name for what is protected, in a place that can be written. */
static void linked(const char *path)
{
	const char *other = expand("{project}/attack-link");

	unlink(other);
	if (link(path, other) < 0)
		held_by_errno();
	judge(open(other, O_WRONLY));
}

static void linked_into(const char *path)
{
	const char *other = expand("{project}/attack-hook");
	int fd = open(other, O_WRONLY | O_CREAT, 0755);

	if (fd < 0)
		held_by_errno();
	if (link(other, path) < 0)
		held_by_errno();
	unlink(path);
	broke("%s was made", path);
}

/* A file that can be read is opened anew, for writing, by its descriptor. */
static void opened_anew(const char *path)
{
	char name[64];
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		held_by_errno();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	judge(open(name, O_WRONLY));
}

static void by_a_link(const char *path)
{
	char name[] = "/tmp/attack-symlink";

	unlink(name);
	if (symlink(path, name) < 0)
		held_by_errno();
	judge(open(name, O_WRONLY | O_CREAT, 0644));
}

static void mode(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		held_by_errno();
	judge(chmod(path, st.st_mode & 07777));
}

static void mode_by_descriptor(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) < 0)
		held_by_errno();
	judge(fchmod(fd, st.st_mode & 07777));
}

static void owner(const char *path)
{
	judge(chown(path, geteuid(), getegid()));
}

static void times(const char *path)
{
	judge(utimensat(AT_FDCWD, path, NULL, 0));
}

static void attribute(const char *path)
{
	judge(setxattr(path, "user.attack", "x", 1, 0));
}

static void mapped(const char *path)
{
	int fd = open(path, O_RDWR);

	if (fd < 0)
		held_by_errno();
	judge(mmap(NULL, 1, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
}

static void made_directory(const char *path)
{
	if (mkdir(path, 0755) < 0)
		held_by_errno();
	rmdir(path);
	broke("%s was made", path);
}

static void made_fifo(const char *path)
{
	if (mknod(path, S_IFIFO | 0600, 0) < 0)
		held_by_errno();
	unlink(path);
	broke("%s was made", path);
}

/* A program that gives whoever executes it on the host the rights of its owner, or its group. */
static void planted(const char *path, mode_t bits)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0700);

	if (fd < 0 || fchmod(fd, 0755 | bits) < 0)
		held_by_errno();
	unlink(path);
	broke("%s", path);
}

static void planted_user(const char *path)
{
	planted(path, S_ISUID);
}

static void planted_group(const char *path)
{
	planted(path, S_ISGID);
}

static void planted_new(const char *path)
{
	struct stat st;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 04755);

	if (fd < 0 || fstat(fd, &st) < 0)
		held_by_errno();
	unlink(path);
	if (st.st_mode & S_ISUID)
		broke("%s", path);
	held("none");
}

static void planted_capability(const char *path)
{
	/* CAP_CHOWN, permitted and effective: struct vfs_cap_data of version 2. */
	static const unsigned capability[] = {0x02000001, 1, 0, 0, 0};
	int fd = open(path, O_WRONLY | O_CREAT, 0700);

	if (fd < 0 || fsetxattr(fd, "security.capability", capability, sizeof(capability), 0) < 0)
		held_by_errno();
	unlink(path);
	broke("%s", path);
}

/* While it is held, the kernel keeps whoever wants to write to the file waiting. */
static void leased(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		held_by_errno();
	judge(fcntl(fd, F_SETLEASE, F_RDLCK));
}

static void flags(const char *path)
{
	int fd = open(path, O_RDONLY), now = 0;

	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &now) < 0)
		held_by_errno();
	judge(ioctl(fd, FS_IOC_SETFLAGS, &now));
}

/* The first file of a tree that has this name and can be opened for writing. */
static const char *wanted;
static int last;

static int visit(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	if (kind == FTW_F && strcmp(path + at->base, wanted) == 0) {
		if (open(path, O_WRONLY) >= 0)
			broke("%s", path);
		last = errno;
	}
	return at->level > 3 ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
}

static void cgroup_file(const char *name)
{
	wanted = name;
	last = ENOENT;
	nftw("/sys/fs/cgroup", visit, 16, FTW_PHYS | FTW_ACTIONRETVAL);
	errno = last;
	held_by_errno();
}

/* The files of the caller's that standard input, output and error are. */
static void standard(const char *number, int flags, const char *what)
{
	char name[64];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%s", number);
	fd = open(name, flags | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		held_by_errno();
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		broke("%s", what);
	held("pipe");
}

static void standard_read(const char *number)
{
	standard(number, O_RDONLY, "the caller's file can be read");
}

static void standard_write(const char *number)
{
	standard(number, O_WRONLY, "the caller's file can be written");
}

static void standard_truncated(const char *unused)
{
	struct stat st;

	(void)unused;
	/* To what it is: the other attacks' answers are in it. */
	judge(fstat(1, &st) < 0 ? -1 : ftruncate(1, st.st_size));
}

static void standard_sought(const char *unused)
{
	(void)unused;
	judge(lseek(0, 0, SEEK_CUR));
}

const struct attack attacks_write[] = {
	{"write-secret", "write to a denied file", "EACCES ENOENT EROFS", written, "{secret}"},
	{"write-home", "make a file in the home", "EROFS EACCES ENOENT", created,
		"{home}/attack-1"},
	{"write-home-file", "append to a file of the home", "EROFS EACCES ENOENT", appended,
		"{home}/.bashrc"},
	{"write-home-truncate", "truncate a file of the home", "EROFS EACCES ENOENT", truncated,
		"{home}/.bashrc"},
	{"write-home-remove", "remove a file of the home", "EROFS EACCES ENOENT EBUSY", removed,
		"{home}/removable"},
	{"write-home-link", "write to a file of the home through a link in /tmp",
		"EROFS EACCES ENOENT", by_a_link, "{home}/.bashrc"},
	{"write-new-by-link", "make a file in the home through a link in /tmp",
		"EROFS EACCES ENOENT", by_a_link, "{home}/attack-2"},
	{"write-policies", "give the caller a policy of its own", "EROFS EACCES ENOENT", created,
		"{home}/.config/sbx/policies/default2.json"},
	{"write-probe", "change what sbx knows of the host", "EROFS EACCES ENOENT", created,
		"{runtime}/sbx/attack"},
	{"write-job-state", "change the state of jobs", "EROFS EACCES ENOENT", created,
		"{jobs}/attack-2"},
	{"write-root", "make a file in /", "EROFS EACCES", created, "/attack-3"},
	{"write-root-directory", "make a directory in /", "EROFS EACCES", made_directory,
		"/attack-4"},
	{"write-etc", "make a file in /etc", "EROFS EACCES", created, "/etc/attack-5"},
	{"write-usr", "make a program in /usr/bin", "EROFS EACCES", created, "/usr/bin/attack-6"},
	{"write-var", "make a file in a directory that all may write", "EROFS ENOENT", created,
		"{open}/attack-7"},
	{"write-fifo", "make a FIFO there", "EROFS ENOENT", made_fifo, "{open}/attack-8"},
	{"write-run", "make a file in /run", "EROFS EACCES ENOENT", created, "/run/attack-9"},
	{"write-dev", "make a file in /dev", "EROFS EACCES", created, "/dev/attack-10"},
	{"write-program", "change a program that it runs", "EROFS EACCES", mode, "/proc/self/exe"},
	{"write-init-program", "change bwrap by /proc/1/exe", "EROFS EACCES EPERM ENOENT", mode,
		"/proc/1/exe", "the first process of the host is the host's affair"},
	{"write-host-mode", "change the mode of a file of the home", "EROFS EACCES ENOENT", mode,
		"{home}/.bashrc"},
	{"write-host-mode-fd", "the same by a descriptor", "EROFS EACCES ENOENT",
		mode_by_descriptor, "{home}/.bashrc"},
	{"write-host-owner", "change the owner", "EROFS EACCES ENOENT", owner, "{home}/.bashrc"},
	{"write-host-times", "change the times", "EROFS EACCES ENOENT", times, "{home}/.bashrc"},
	{"write-host-attribute", "set an extended attribute", "EROFS EACCES ENOENT", attribute,
		"{home}/.bashrc"},
	{"write-host-flags", "set the file system's flags",
		"EROFS EACCES ENOENT EPERM ENOTTY EOPNOTSUPP", flags, "{home}/.bashrc",
		"not every file system has them"},
	{"write-host-mapping", "map it shared and writable", "EROFS EACCES ENOENT", mapped,
		"{home}/.bashrc"},
	{"write-open-anew", "open a readable file anew, for writing, by /proc/self/fd",
		"EROFS EACCES ENOENT", opened_anew, "{home}/.bashrc"},
	{"write-open-anew-protected", "the same with what is protected in a writable directory",
		"EROFS EACCES ENOENT", opened_anew, "{project}/.envrc"},
	{"write-protected", "write to a protected file in a writable directory",
		"EROFS EACCES ENOENT", appended, "{project}/.envrc"},
	{"write-protected-remove", "remove it", "EBUSY EROFS EACCES ENOENT", removed,
		"{project}/.gdbinit"},
	{"write-protected-rename", "rename it", "EBUSY EROFS EACCES ENOENT", moved,
		"{project}/.vimrc"},
	{"write-protected-replace", "put another file in its place", "EBUSY EROFS EACCES ENOENT",
		replaced, "{project}/.envrc"},
	{"write-protected-exchange", "exchange it with another", "EBUSY EROFS EACCES ENOENT",
		exchanged, "{project}/.envrc"},
	{"write-protected-link", "give it a second name that can be written",
		"EXDEV EROFS EACCES ENOENT EPERM", linked, "{project}/.envrc"},
	{"write-protected-parent", "rename the directory above it", "EBUSY EROFS EACCES ENOENT",
		moved, "{project}/.git"},
	{"write-protected-parent-exchange", "exchange the directory above it",
		"EBUSY EROFS EACCES ENOENT", exchanged, "{project}/.git"},
	{"write-hook", "make a hook of git's", "EROFS EACCES ENOENT", created,
		"{project}/.git/hooks/pre-commit"},
	{"write-hook-link", "link a file into the hooks", "EXDEV EROFS EACCES ENOENT", linked_into,
		"{project}/.git/hooks/pre-push"},
	{"write-hooks-rename", "rename the hooks", "EBUSY EROFS EACCES ENOENT EXDEV", moved,
		"{project}/.git/hooks"},
	{"write-git-config", "change git's configuration", "EROFS EACCES ENOENT", appended,
		"{project}/.git/config"},
	{"write-nested-hook", "make a hook of a repository below", "EROFS EACCES ENOENT", created,
		"{project}/sub/.git/hooks/pre-commit"},
	{"write-nested-parent", "rename the repository below", "EBUSY EROFS EACCES ENOENT", moved,
		"{project}/sub"},
	{"write-editor", "have an editor run something", "EROFS EACCES ENOENT", created,
		"{project}/.vscode/tasks.json"},
	{"plant-set-user-id",
		"leave a program on the host that gives its rights to whoever executes it "
		"(set-user-ID)",
		"EPERM EROFS EACCES ENOENT", planted_user, "{project}/attack-suid",
		.needs = NEEDS_MODE_FILTER},
	{"plant-set-user-id-new", "the same by the mode of a new file",
		"none EPERM EROFS EACCES ENOENT", planted_new, "{project}/attack-suid-new",
		.needs = NEEDS_MODE_FILTER},
	{"plant-set-group-id", "the same for its group", "EPERM EROFS EACCES ENOENT", planted_group,
		"{project}/attack-sgid", .needs = NEEDS_MODE_FILTER},
	{"plant-capability", "the same by a capability of the file", "EPERM EROFS EACCES ENOENT",
		planted_capability, "{project}/attack-capability"},
	{"write-lease", "keep the host from writing to a file that can be read, by a lease",
		"EPERM EACCES ENOENT", leased, "{home}/.bashrc", .needs = NEEDS_LEASE_FILTER},
	{"write-bind-mount", "write through a bind mount of the host's", "EROFS EACCES ENOENT",
		created, "{alias}/attack-11"},
	{"write-core-pattern", "the program that takes core files", "EROFS EACCES ENOENT", written,
		"/proc/sys/kernel/core_pattern"},
	{"write-modprobe", "the program that loads modules", "EROFS EACCES ENOENT", written,
		"/proc/sys/kernel/modprobe", "not every kernel has modules"},
	{"write-sysctl-vm", "a setting of the kernel's memory", "EROFS EACCES ENOENT", written,
		"/proc/sys/vm/overcommit_memory"},
	{"write-sysctl-user", "the limits of namespaces", "EROFS EACCES ENOENT", written,
		"/proc/sys/user/max_user_namespaces", "not every host gives root the right"},
	{"write-sysrq", "the kernel's own commands", "EROFS EACCES ENOENT", written,
		"/proc/sysrq-trigger", "not every kernel has it"},
	{"write-irq", "the affinity of interrupts", "EROFS EACCES ENOENT", written,
		"/proc/irq/default_smp_affinity"},
	{"write-host-oom", "make a process of the host's the first to be killed",
		"EROFS EACCES ENOENT", written, "/proc/{hostpid}/oom_score_adj"},
	{"write-binfmt", "an interpreter for all programs (binfmt_misc)", "EROFS EACCES ENOENT",
		written, "/proc/sys/fs/binfmt_misc/register",
		"binfmt_misc is a module that not every host has loaded"},
	{"write-uevent-helper", "a program for devices that appear", "EROFS EACCES ENOENT", written,
		"/sys/kernel/uevent_helper", "not every kernel has it"},
	{"write-power", "put the machine to sleep", "EROFS EACCES ENOENT", written,
		"/sys/power/state", "not every machine can"},
	{"write-sysfs", "a setting of a device", "EROFS EACCES ENOENT", written,
		"/sys/kernel/mm/transparent_hugepage/enabled"},
	{"write-release-agent", "the program that runs when a cgroup is empty",
		"EROFS EACCES ENOENT", cgroup_file, "release_agent", "only cgroup v1 has it"},
	{"write-cgroup-procs", "leave the cgroup for another", "EROFS EACCES ENOENT", cgroup_file,
		"cgroup.procs"},
	{"reopen-stdin", "write to the file that is standard input", "EACCES pipe EPERM",
		standard_write, "0"},
	{"reopen-stdout", "read what others put into the file that is standard output",
		"EACCES pipe EPERM ENXIO", standard_read, "1"},
	{"rewrite-stdout", "write anew to the file that is standard output", "EACCES pipe EPERM",
		standard_write, "1"},
	{"rewrite-stderr", "write anew to the file that is standard error", "EACCES pipe EPERM",
		standard_write, "2"},
	{"truncate-stdout", "change its length", "EINVAL EPERM", standard_truncated},
	{"seek-stdin", "move the caller's place in standard input", "ESPIPE", standard_sought},
	{0}};
