/* Reading what is denied: by every other name of it, through processes, descriptors and devices. */
#include "attack.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

extern char **environ;

static void secret_at(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		held_by_errno();
	if (has_secret(fd))
		broke("%s has the secret", path);
	held("other");
}

/* Some is opened by whoever asks, and refused when it is read. */
static void opened(const char *path)
{
	char text[8192];
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		held_by_errno();
	judge(read(fd, text, sizeof(text)));
}

/* Its first page is never mapped: reading nothing of it says that it may be read. */
static void memory_opened(const char *path)
{
	judge(open(path, O_RDONLY));
}

static void own_link(const char *path)
{
	char directory[] = "/tmp/attack.XXXXXX";

	if (!mkdtemp(directory) || chdir(directory) < 0 || symlink(path, "link") < 0)
		held_by_errno();
	secret_at("link");
}

static void hard_link(const char *path)
{
	static const char *const places[] = {"/tmp/attack-name", "{project}/attack-name"};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		int fd;

		unlink(expand(places[i]));
		if (link(path, expand(places[i])) < 0)
			continue;
		fd = open(expand(places[i]), O_RDONLY);
		if (fd >= 0 && has_secret(fd))
			broke("%s has the secret", expand(places[i]));
	}
	held_by_errno();
}

static void by_working_directory(const char *path)
{
	if (chdir(path) < 0)
		held_by_errno();
	secret_at("key");
}

static void listed(const char *path)
{
	DIR *dir = opendir(path);

	if (!dir)
		held_by_errno();
	errno = 0;
	for (struct dirent *e = readdir(dir); e; e = readdir(dir))
		if (*e->d_name != '.')
			broke("%s in it", e->d_name);
	if (errno)
		held_by_errno();
	held("none");
}

static void size_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		held_by_errno();
	if (S_ISREG(st.st_mode) && st.st_size == atol(fact("size")))
		broke("its size");
	held("other");
}

static void by_path_descriptor(const char *path)
{
	char name[64];
	int fd = open(path, O_PATH);

	if (fd < 0)
		held_by_errno();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	secret_at(name);
}

static void by_handle(const char *hex)
{
	static const char *const mounts[] = {"{project}", "/usr", "/tmp", "/"};
	_Alignas(struct file_handle) unsigned char bytes[256] = {0};
	int fd = -1;

	for (size_t i = 0; i < sizeof(bytes) && hex[2 * i]; i++)
		bytes[i] =
			(unsigned char)strtoul((char[]){hex[2 * i], hex[2 * i + 1], 0}, NULL, 16);
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		int mount = open(expand(mounts[i]), O_RDONLY | O_DIRECTORY);

		if (mount >= 0)
			fd = open_by_handle_at(mount, (struct file_handle *)bytes, O_RDONLY);
		if (fd >= 0 && has_secret(fd))
			broke("the secret");
	}
	held_by_errno();
}

/* Tries PATH below each process's directory: a file, or a directory whose entries are files. */
static void of_each_process(const char *path)
{
	DIR *proc = opendir("/proc");
	char name[4400], inner[4700];

	if (!proc)
		held_by_errno();
	for (struct dirent *e = readdir(proc); e; e = readdir(proc)) {
		DIR *dir;
		int fd;

		if (!isdigit((unsigned char)*e->d_name) || atoi(e->d_name) == getpid())
			continue;
		snprintf(name, sizeof(name), "/proc/%s/%s", e->d_name, path);
		dir = opendir(name);
		if (!dir) {
			fd = open(name, O_RDONLY | O_NONBLOCK);
			if (fd >= 0 && has_secret(fd))
				broke("%s", name);
			continue;
		}
		for (struct dirent *f = readdir(dir); f; f = readdir(dir)) {
			snprintf(inner, sizeof(inner), "%s/%s", name, f->d_name);
			fd = open(inner, O_RDONLY | O_NONBLOCK | O_NOCTTY);
			if (fd >= 0 && fd != dirfd(dir) && has_secret(fd))
				broke("%s", inner);
			close(fd);
		}
		closedir(dir);
	}
	held("none");
}

static void inherited(const char *unused)
{
	(void)unused;
	for (int fd = 3; fd < 256; fd++) {
		lseek(fd, 0, SEEK_SET);
		fcntl(fd, F_SETFL, O_NONBLOCK);
		if (has_secret(fd))
			broke("descriptor %d", fd);
	}
	held("none");
}

static void descriptors(const char *directory)
{
	char name[64];

	for (int n = 3; n < 256; n++) {
		int fd;

		snprintf(name, sizeof(name), "%s/%d", directory, n);
		fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0 && has_secret(fd))
			broke("%s", name);
		if (fd >= 0)
			close(fd);
	}
	held("none");
}

static void own_environment(const char *unused)
{
	(void)unused;
	for (char **v = environ; *v; v++)
		if (strstr(*v, secret_word()))
			broke("%s", *v);
	held("none");
}

static void device(const char *numbers)
{
	static const char *const places[] = {
		"/tmp/attack-node", "{project}/attack-node", "/dev/shm/attack-node"};
	unsigned major = 0, minor = 0;
	mode_t kind = *numbers == 'b' ? S_IFBLK : S_IFCHR;

	major = (unsigned)strtoul(numbers + 1, NULL, 10);
	minor = (unsigned)strtoul(strchr(numbers, ':') + 1, NULL, 10);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const char *place = expand(places[i]);

		unlink(place);
		if (mknod(place, kind | 0600, makedev(major, minor)) == 0) {
			unlink(place);
			broke("a node at %s", place);
		}
		if (errno == EPERM)
			held_by_errno();
	}
	held_by_errno();
}

static void block_devices(const char *unused)
{
	DIR *dir = opendir("/dev");

	(void)unused;
	if (!dir)
		held_by_errno();
	for (struct dirent *e = readdir(dir); e; e = readdir(dir))
		if (e->d_type == DT_BLK)
			broke("/dev/%s", e->d_name);
	held("none");
}

const struct attack attacks_read[] = {
	{"read-name", "read a denied file by its name", "EACCES ENOENT", secret_at, "{secret}"},
	{"read-host-link", "through a link that lies in the workspace", "EACCES ENOENT", secret_at,
		"{project}/link"},
	{"read-own-link", "through a link of its own", "EACCES ENOENT", own_link, "{secret}"},
	{"read-dot-dot", "by a way up from the workspace", "EACCES ENOENT", secret_at,
		"{project}/../.ssh/key"},
	{"read-double-slash", "by another spelling", "EACCES ENOENT", secret_at,
		"/{home}//./.ssh/../.ssh//key"},
	{"read-bind-mount", "through a bind mount of the host's", "EACCES ENOENT", secret_at,
		"{alias}/key"},
	{"read-hard-link", "give it a second name", "EACCES ENOENT EXDEV EROFS EPERM", hard_link,
		"{secret}"},
	{"read-working-directory", "go into the denied directory", "EACCES ENOENT",
		by_working_directory, "{home}/.ssh"},
	{"read-list", "list the denied directory", "EACCES ENOENT", listed, "{home}/.ssh"},
	{"read-size", "ask for the size of the denied file", "EACCES ENOENT other", size_of,
		"{secret}"},
	{"read-path-descriptor", "open it by O_PATH and again through /proc/self/fd",
		"EACCES ENOENT", by_path_descriptor, "{secret}"},
	{"read-handle", "open it by its file handle (open_by_handle_at)", "EPERM EACCES ENOSYS",
		by_handle, "{handle}"},
	{"read-file-cover", "read a single file that is denied in a readable directory",
		"EACCES ENOENT", secret_at, "{home}/.netrc"},
	{"read-self-root", "through /proc/self/root", "EACCES ENOENT", secret_at,
		"/proc/self/root{secret}"},
	{"read-self-cwd", "through /proc/self/cwd", "EACCES ENOENT", secret_at,
		"/proc/self/cwd/../.ssh/key"},
	{"read-thread-root", "through /proc/thread-self/root", "EACCES ENOENT", secret_at,
		"/proc/thread-self/root{secret}"},
	{"read-init-root", "through /proc/1/root", "EACCES ENOENT", secret_at,
		"/proc/1/root{secret}", "the first process of the host is the host's affair"},
	{"read-host-root", "through the root of a process of the host's", "EACCES ENOENT",
		secret_at, "/proc/{hostpid}/root{secret}"},
	{"read-host-cwd", "through the working directory of a process of the host's",
		"EACCES ENOENT", secret_at, "/proc/{hostpid}/cwd/key"},
	{"read-host-descriptor", "through a descriptor of a process of the host's", "EACCES ENOENT",
		secret_at, "/proc/{hostpid}/fd/77"},
	{"read-host-memory", "open the memory of a process of the host's", "EACCES ENOENT EPERM",
		memory_opened, "/proc/{hostpid}/mem"},
	{"read-host-environment", "read the environment of a process of the host's",
		"EACCES ENOENT EPERM", secret_at, "/proc/{hostpid}/environ"},
	{"read-host-maps", "list what a process of the host's has mapped", "EACCES ENOENT EPERM",
		listed, "/proc/{hostpid}/map_files"},
	{"read-host-stack", "read the kernel's stack of a process of the host's",
		"EACCES ENOENT EPERM", opened, "/proc/{hostpid}/stack"},
	{"read-every-root", "through the root of every process there is", "none", of_each_process,
		"root{secret}"},
	{"read-every-cwd", "through the working directory of every process", "none",
		of_each_process, "cwd"},
	{"read-every-descriptor", "through the descriptors of every process", "none",
		of_each_process, "fd"},
	{"read-every-environment", "the environment of every process, sbx and bwrap among them",
		"none", of_each_process, "environ"},
	{"read-inherited", "the descriptors 3 to 255, of which the caller left some open", "none",
		inherited},
	{"read-dev-fd", "the same by /dev/fd", "none", descriptors, "/dev/fd"},
	{"read-init-fd", "the same of the sandbox's first process", "none", descriptors,
		"/proc/1/fd", "the first process of the host is the host's affair"},
	{"read-own-environment", "a variable of the caller's that was not given", "none",
		own_environment},
	{"read-init-environment", "the caller's variables in /proc/1/environ", "other EACCES EPERM",
		secret_at, "/proc/1/environ", "the first process of the host is the host's affair"},
	{"read-init-cmdline", "the host's layout in /proc/1/cmdline", "other", secret_at,
		"/proc/1/cmdline",
		.no_control =
			"only bwrap's own words could have it, and those of the control do not"},
	{"read-host-tmp", "a file in the host's /tmp", "ENOENT", secret_at, "/tmp/{unique}"},
	{"read-job-state", "where jobs are kept", "EACCES ENOENT", secret_at, "{jobs}/attack"},
	{"read-shadow", "the host's passwords", "EACCES ENOENT", opened, "/etc/shadow"},
	{"read-kernel-keys", "list the kernel's keys", "EACCES ENOENT", opened, "/proc/keys"},
	{"read-dev-mem", "the machine's memory", "EACCES ENOENT EPERM", opened, "/dev/mem",
		"not every host has it"},
	{"read-kcore", "the kernel's memory", "EACCES ENOENT EPERM", opened, "/proc/kcore",
		"not every host has it"},
	{"read-dev-kmsg", "the kernel's messages by their device", "EACCES ENOENT EPERM", opened,
		"/dev/kmsg"},
	{"read-proc-kmsg", "the kernel's messages by /proc", "EACCES ENOENT EPERM", opened,
		"/proc/kmsg"},
	{"read-block-devices", "find a disk in /dev", "none", block_devices},
	{"make-block-device", "make a node of the disk that has the secret", "EPERM EACCES EROFS",
		device, "b{disk}"},
	{"make-memory-device", "make a node of /dev/mem", "EPERM EACCES EROFS", device, "c1:1"},
	{0}};
