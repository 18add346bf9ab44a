#include "run/hint.h"

#include "base/mem.h"

#include <string.h>

/* Two remedies go on with a name (cause_remedy). */
static const struct {
	const char *name, *words, *remedy;
} causes[N_CAUSES] = {
	[CAUSE_UNKNOWN] = {"unknown", "something forbids it that does not say so",
		"allow namespaces and mounts for you: a seccomp filter, a security module, the "
		"container or a chroot may forbid them"},
	[CAUSE_NOT_INSTALLED] = {"not-installed", "bwrap is not installed",
		"install bubblewrap (apt-get install bubblewrap, dnf install bubblewrap, "
		"apk add bubblewrap), or name it with --bwrap PATH"},
	[CAUSE_OLD_BWRAP] = {"old-bwrap", "this bwrap is too old: it lacks an option",
		"install bubblewrap 0.8.0 or later"},
	[CAUSE_SETUID] = {"setuid", "bwrap is setuid, in which mode it cannot do this",
		"chmod u-s the bwrap, and allow user namespaces"},
	[CAUSE_CAPABLE] = {"capabilities",
		"bwrap is started with capabilities, but not by root (ambient ones, or the file's)",
		"take them away: setpriv --inh-caps=-all --ambient-caps=-all sbx-exec ...; setcap "
		"-r on the bwrap; docker, podman: no --cap-add together with --user; Kubernetes: "
		"no capabilities.add together with runAsUser"},
	[CAUSE_USERNS_OFF] = {"userns-off", "user namespaces are turned off",
		"sysctl -w user.max_user_namespaces=15000 (on the host, for a container)"},
	[CAUSE_USERNS_ROOT] = {"userns-root-only",
		"user namespaces are for root only, and none can be made in another",
		"sysctl -w kernel.unprivileged_userns_clone=1 (on the host, for a container)"},
	[CAUSE_USERNS_NONE] = {"no-userns", "the kernel has no user namespaces",
		"use a kernel with CONFIG_USER_NS"},
	[CAUSE_LIMIT] = {"namespace-limit",
		"there can be no more namespaces: their number is used up, or they are nested too "
		"deep",
		"raise the limits (sysctl user.max_user_namespaces and the other "
		"user.max_*_namespaces), or start sbx-exec in fewer sandboxes"},
	[CAUSE_NESTED] = {"nested",
		"a user namespace around this one, a sandbox's or a container's, allows no more in "
		"it, or they are nested too deep",
		"start sbx-exec in fewer sandboxes, or let the one around it have some inside: "
		"bwrap without --disable-userns, sbx-exec with process.nested_userns: true in its "
		"policy; in a container: sysctl -w user.max_user_namespaces=15000 on the host"},
	[CAUSE_APPARMOR] = {"apparmor",
		"AppArmor keeps user namespaces from programs without a profile",
		"give sbx-exec one, which its bwrap shares: printf 'abi <abi/4.0>,\\nprofile sbx "
		"/{usr/,usr/local/,opt/sbx/}bin/sbx-{exec,job} flags=(unconfined) {\\n "
		"userns,\\n}\\n' >/etc/apparmor.d/sbx && apparmor_parser -r /etc/apparmor.d/sbx "
		"(or the path that yours has; sbx's Debian package brings it along); or sysctl -w "
		"kernel.apparmor_restrict_unprivileged_userns=0"},
	[CAUSE_PROFILE] = {"apparmor-profile", "the AppArmor profile of this process forbids it",
		"docker, podman: --security-opt apparmor=unconfined; Kubernetes: "
		"securityContext.appArmorProfile.type: Unconfined; elsewhere allow userns, mount, "
		"umount, pivot_root, network, signal, ptrace, file and the capabilities sys_admin, "
		"sys_ptrace, sys_resource, net_admin and setfcap in the profile (aa-status lists "
		"them): "},
	[CAUSE_SECCOMP] = {"seccomp", "a seccomp filter forbids it",
		"docker, podman: --security-opt seccomp=unconfined, or a profile that allows "
		"clone, unshare, setns, mount, umount2 and pivot_root; Kubernetes: "
		"securityContext.seccompProfile.type: Unconfined; systemd: RestrictNamespaces=no; "
		"in a sandbox of sbx-exec: process.nested_userns: true in its policy"},
	[CAUSE_KILLED] = {"seccomp-kills", "a seccomp filter kills what makes a sandbox",
		"docker, podman: --security-opt seccomp=unconfined, or a profile that allows "
		"clone, unshare, setns, mount, umount2, pivot_root and keyctl; Kubernetes: "
		"securityContext.seccompProfile.type: Unconfined; systemd: SystemCallFilter=@mount "
		"@keyring and RestrictNamespaces=no"},
	[CAUSE_DROPPED] = {"dropped-capabilities",
		"root lacks the capability to map itself into a user namespace (CAP_SETFCAP)",
		"docker, podman: --cap-add SETFCAP, or an ordinary user: --user 1000; Kubernetes: "
		"securityContext.capabilities.add: [SETFCAP], or runAsUser: 1000"},
	[CAUSE_UNMAPPED] = {"unmapped",
		"this user has no number in the user namespace that it is in",
		"map it: unshare --map-root-user, or newuidmap"},
	[CAUSE_CHROOT] = {"chroot",
		"the root directory is a chroot, in which the kernel makes no user namespace",
		"make it a root of its own: systemd-nspawn -D DIRECTORY, or unshare --mount and "
		"pivot_root"},
	[CAUSE_MOUNTS] = {"mounts", "a security module or a seccomp filter forbids mounts",
		"docker: --security-opt apparmor=unconfined --security-opt seccomp=unconfined; "
		"podman: --security-opt label=disable --security-opt seccomp=unconfined; "
		"Kubernetes: securityContext.appArmorProfile.type and .seccompProfile.type: "
		"Unconfined; systemd-nspawn: allow @mount (--system-call-filter); systemd: "
		"SystemCallFilter=@mount"},
	[CAUSE_MOUNT_LIMIT] = {"mount-limit", "there can be no more mounts",
		"sysctl -w fs.mount-max=100000"},
	[CAUSE_PIVOT_ROOT] = {"pivot-root", "pivot_root is not possible",
		"docker's filter forbids it even with --cap-add SYS_ADMIN: --security-opt "
		"seccomp=unconfined; Kubernetes: securityContext.seccompProfile.type: Unconfined; "
		"on an initramfs: switch_root to another root first"},
	[CAUSE_PROC_MASKED] = {"proc-masked",
		"parts of /proc are masked or read-only, as in most containers",
		"docker: --security-opt systempaths=unconfined; podman: --security-opt unmask=ALL; "
		"Kubernetes: securityContext.procMount: Unmasked with hostUsers: false; elsewhere, "
		"where you mount: umount "},
	[CAUSE_PROC_READ_ONLY] = {"proc-read-only", "/proc is read-only",
		"mount -o remount,bind,rw /proc; or mount a new one: mount -t proc proc /proc"},
	[CAUSE_PROC_MISSING] = {"proc-missing", "/proc is not mounted, or lacks /proc/sys",
		"mount -t proc proc /proc (without subset=pid)"},
	[CAUSE_PROC_FOREIGN] = {"proc-foreign", "/proc is that of another process namespace",
		"mount the one of this namespace: mount -t proc proc /proc"},
	[CAUSE_LOOPBACK] = {"loopback",
		"the loopback interface of a network namespace cannot be set up",
		"allow CAP_NET_ADMIN in user namespaces: docker: --security-opt "
		"apparmor=unconfined; podman: --security-opt label=disable; Kubernetes: "
		"securityContext.appArmorProfile.type: Unconfined"},
	[CAUSE_HOSTNAME] = {"hostname", "sethostname is forbidden",
		"allow sethostname(2) in the container's seccomp profile"},
	[CAUSE_KEYCTL] = {"keyctl", "a seccomp filter or a security module forbids keyctl",
		"allow keyctl(2) (docker, podman: in the profile of --security-opt seccomp=; "
		"systemd: SystemCallFilter=@keyring), or let it fail with EPERM or ENOSYS, as if "
		"there were no keys"},
	[CAUSE_KEY_QUOTA] = {"key-quota", "the user has too many kernel keys",
		"sysctl -w kernel.keys.maxkeys=2000 kernel.keys.maxbytes=200000 (on the host, for "
		"a container)"},
	[CAUSE_GVISOR] = {"gvisor", "gVisor does not offer what bwrap needs",
		"use another runtime: docker, podman: --runtime runc; Kubernetes: no "
		"runtimeClassName for gVisor"},
	[CAUSE_PROCESSES] = {"processes", "too many processes are running",
		"raise ulimit -u, or the container's limit (docker, podman: --pids-limit; "
		"Kubernetes: podPidsLimit of the kubelet)"},
	[CAUSE_FILES] = {"open-files", "too few files can be open at once",
		"raise ulimit -n (docker, podman: --ulimit nofile=1024)"},
	[CAUSE_FILE_SIZE] = {"file-size",
		"files may not become as long as they have to, even in memory",
		"raise ulimit -f (docker, podman: --ulimit fsize=-1)"},
	[CAUSE_HANG] = {"hang", "bwrap does not come to an end",
		"look for a file system that does not answer (stat -f on each of /proc/mounts)"},
};

/* Conditions on the host. */

static bool is_gvisor(const struct host *host)
{
	return host->gvisor;
}

static bool is_chroot(const struct host *host)
{
	return host->chroot;
}

static bool is_unmapped(const struct host *host)
{
	return host->unmapped;
}

static bool is_root(const struct host *host)
{
	return host->root;
}

static bool userns_off(const struct host *host)
{
	return host->max_user_namespaces == 0;
}

static bool userns_for_root(const struct host *host)
{
	return host->unprivileged_userns == 0 && !host->admin;
}

/* Root makes the first, and is not root in it. */
static bool userns_not_nested(const struct host *host)
{
	return host->unprivileged_userns == 0;
}

/* This user namespace allows some, of every kind. */
static bool is_nested(const struct host *host)
{
	return host->nested && host->max_other_namespaces != 0;
}

static bool has_mounts_beyond(const struct host *host)
{
	return host->mounts_beyond > 1;
}

static bool has_profile(const struct host *host)
{
	return *host->names.profile != '\0';
}

/* A profile of its own, a container's say, is another matter. */
static bool apparmor_restricts(const struct host *host)
{
	return host->apparmor_restricts > 0 && !host->admin && !has_profile(host);
}

static bool has_seccomp(const struct host *host)
{
	return host->seccomp;
}

static bool is_proc_read_only(const struct host *host)
{
	return host->proc_read_only;
}

static bool is_proc_masked(const struct host *host)
{
	return host->proc_masked;
}

/* What was being done. */
enum step {
	STEP_ANY,
	STEP_OPTIONS,
	STEP_START,
	STEP_KEYS,
	STEP_CLONE,
	STEP_MAP,
	STEP_LOOPBACK,
	STEP_HOSTNAME,
	STEP_PROC,
	STEP_SYSCTL,
	STEP_PIVOT,
	STEP_MOUNT,
};

/* The words of all releases of bwrap, and of run/launch.c, for one step; the first that is in what
 * was said is taken. */
static const struct {
	const char *text;
	enum step step;
} steps[] = {
	{"Unknown option", STEP_OPTIONS},
	{"setuid", STEP_OPTIONS},
	{"/proc/sys/kernel/overflow", STEP_START},
	{"Can't open /proc", STEP_START},
	{"session keyring", STEP_KEYS},
	/* "creating new", "create new" (Debian), "create a new" (0.11.1 and later) */
	{"No permissions to creat", STEP_CLONE},
	{"Creating new namespace failed", STEP_CLONE},
	{"unshare user ns", STEP_CLONE},
	{"cannot make namespaces", STEP_CLONE},
	{"setting up uid map", STEP_MAP},
	{"setting up gid map", STEP_MAP},
	{"error writing to setgroups", STEP_MAP},
	{"cannot map the ids", STEP_MAP},
	{"loopback:", STEP_LOOPBACK},
	{"Can't set hostname", STEP_HOSTNAME},
	{"Can't mount proc on", STEP_PROC},
	{"cannot mount a /proc", STEP_PROC},
	{"max_user_namespaces", STEP_SYSCTL}, /* "cannot open", and "sysctl user." */
	{"pivot_root", STEP_PIVOT},
	{"Failed to make / slave", STEP_MOUNT},
	{"unmount old root", STEP_MOUNT},
	{"Failed to mount tmpfs", STEP_MOUNT},
	{"setting up newroot bind", STEP_MOUNT},
	{"Can't mount ", STEP_MOUNT},
	{"Can't bind mount ", STEP_MOUNT},
	{"Can't remount ", STEP_MOUNT},
	{"fsopen ", STEP_MOUNT}, /* after 0.12, like the next two */
	{"fsmount ", STEP_MOUNT},
	{"move_mount", STEP_MOUNT},
	{"cannot set up the mounts", STEP_MOUNT},
};

/* The first row that fits is taken. error is in what was said (NULL = whatever), when holds for the
 * host (NULL = always). */
static const struct row {
	enum step step;
	const char *error;
	bool (*when)(const struct host *host);
	enum cause cause;
} rows[] = {
	{STEP_ANY, "Too many open files", NULL, CAUSE_FILES},
	{STEP_ANY, "No file descriptors available", NULL, CAUSE_FILES}, /* musl */
	{STEP_ANY, "Resource temporarily unavailable", NULL, CAUSE_PROCESSES},
	{STEP_ANY, "first process cannot make the command's", NULL, CAUSE_PROCESSES},
	{STEP_ANY, "File too large", NULL, CAUSE_FILE_SIZE},
	{STEP_ANY, PROBE_SAYS_HANG, NULL, CAUSE_HANG},
	{STEP_ANY, PROBE_SAYS_KILLED, NULL, CAUSE_KILLED},
	{STEP_ANY, NULL, is_gvisor, CAUSE_GVISOR},
	{STEP_OPTIONS, "Unknown option", NULL, CAUSE_OLD_BWRAP},
	{STEP_OPTIONS, "Unexpected capabilities but not setuid", NULL, CAUSE_CAPABLE},
	{STEP_OPTIONS, "must be installed setuid", NULL, CAUSE_USERNS_NONE},
	{STEP_OPTIONS, NULL, NULL, CAUSE_SETUID},
	{STEP_START, NULL, NULL, CAUSE_PROC_MISSING},
	{STEP_KEYS, "Disk quota exceeded", NULL, CAUSE_KEY_QUOTA},
	{STEP_KEYS, NULL, NULL, CAUSE_KEYCTL},
	{STEP_CLONE, "ENOSPC", userns_off, CAUSE_USERNS_OFF},
	{STEP_CLONE, "No space left", userns_off, CAUSE_USERNS_OFF},
	{STEP_CLONE, "ENOSPC", is_nested, CAUSE_NESTED},
	{STEP_CLONE, "No space left", is_nested, CAUSE_NESTED},
	{STEP_CLONE, "ENOSPC", NULL, CAUSE_LIMIT},
	{STEP_CLONE, "No space left", NULL, CAUSE_LIMIT},
	{STEP_CLONE, "Invalid argument", NULL, CAUSE_USERNS_NONE},
	{STEP_CLONE, NULL, is_chroot, CAUSE_CHROOT},
	{STEP_CLONE, NULL, is_unmapped, CAUSE_UNMAPPED},
	{STEP_CLONE, NULL, userns_for_root, CAUSE_USERNS_ROOT},
	{STEP_CLONE, "Permission denied", has_profile, CAUSE_PROFILE},
	{STEP_CLONE, NULL, has_seccomp, CAUSE_SECCOMP},
	{STEP_CLONE, NULL, apparmor_restricts, CAUSE_APPARMOR},
	{STEP_CLONE, NULL, userns_not_nested, CAUSE_USERNS_ROOT},
	/* A lack of rights in new namespaces, which is no EACCES. */
	{STEP_CLONE, NULL, has_profile, CAUSE_PROFILE},
	{STEP_CLONE, NULL, has_mounts_beyond, CAUSE_CHROOT},
	{STEP_MAP, "Read-only file system", NULL, CAUSE_PROC_READ_ONLY},
	{STEP_MAP, "Operation not permitted", is_root, CAUSE_DROPPED},
	{STEP_MAP, NULL, has_profile, CAUSE_PROFILE},
	{STEP_MAP, NULL, apparmor_restricts, CAUSE_APPARMOR},
	{STEP_LOOPBACK, NULL, apparmor_restricts, CAUSE_APPARMOR},
	{STEP_LOOPBACK, NULL, has_profile, CAUSE_PROFILE},
	{STEP_LOOPBACK, NULL, NULL, CAUSE_LOOPBACK},
	{STEP_HOSTNAME, NULL, NULL, CAUSE_HOSTNAME},
	{STEP_PROC, NULL, is_proc_masked, CAUSE_PROC_MASKED},
	{STEP_PROC, NULL, is_proc_read_only, CAUSE_PROC_READ_ONLY},
	{STEP_PROC, NULL, apparmor_restricts, CAUSE_APPARMOR},
	{STEP_PROC, "Permission denied", has_profile, CAUSE_PROFILE},
	{STEP_PROC, NULL, NULL, CAUSE_MOUNTS},
	{STEP_SYSCTL, NULL, is_proc_masked, CAUSE_PROC_MASKED},
	{STEP_SYSCTL, "Read-only file system", NULL, CAUSE_PROC_READ_ONLY},
	{STEP_PIVOT, "Permission denied", has_profile, CAUSE_PROFILE},
	{STEP_PIVOT, NULL, NULL, CAUSE_PIVOT_ROOT},
	{STEP_MOUNT, "ENOSPC", NULL, CAUSE_MOUNT_LIMIT},
	{STEP_MOUNT, "No space left", NULL, CAUSE_MOUNT_LIMIT},
	{STEP_MOUNT, "Permission denied", has_profile, CAUSE_PROFILE},
	{STEP_MOUNT, NULL, apparmor_restricts, CAUSE_APPARMOR},
	{STEP_MOUNT, NULL, NULL, CAUSE_MOUNTS},
};

static enum step step_of(const char *said)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (strstr(said, steps[i].text))
			return steps[i].step;
	return STEP_ANY;
}

enum cause hint_cause(const struct host *host, const char *said)
{
	enum step step = step_of(said);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];

		if ((row->step == STEP_ANY || row->step == step) &&
			(!row->error || strstr(said, row->error)) &&
			(!row->when || row->when(host)))
			return row->cause;
	}
	return CAUSE_UNKNOWN;
}

const char *cause_name(enum cause cause)
{
	return causes[cause].name;
}

bool cause_of_name(enum cause *cause, const char *name)
{
	for (int i = 0; i < N_CAUSES; i++)
		if (strcmp(causes[i].name, name) == 0) {
			*cause = (enum cause)i;
			return true;
		}
	return false;
}

const char *cause_words(enum cause cause)
{
	return causes[cause].words;
}

char *cause_remedy(enum cause cause, const struct host_names *names)
{
	const char *name = cause == CAUSE_PROC_MASKED ? names->covers
			   : cause == CAUSE_PROFILE   ? names->profile
						      : "";

	return xasprintf("%s%s", causes[cause].remedy, name);
}
