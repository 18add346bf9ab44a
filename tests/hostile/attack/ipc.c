/* Talking to the host: System V and POSIX IPC, sockets by path, abstract name and address, keys. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/vm_sockets.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int key(const char *text)
{
	return (int)strtol(text, NULL, 10);
}

static void memory_by_key(const char *text)
{
	judge(shmget(key(text), 0, 0));
}

static void memory_by_id(const char *text)
{
	judge(shmat(key(text), NULL, SHM_RDONLY) == (void *)-1 ? -1 : 0);
}

static void messages(const char *text)
{
	judge(msgget(key(text), 0));
}

static void semaphores(const char *text)
{
	judge(semget(key(text), 0, 0));
}

static void queue(const char *name)
{
	judge(mq_open(name, O_RDWR | O_NONBLOCK));
}

static void secret_file(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		held_by_errno();
	judge(has_secret(fd) ? 0 : -1);
}

/* The leading @ is for an abstract name. */
static void unix_socket(int type, const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);

	if (fd < 0 || strlen(name) >= sizeof(to.sun_path))
		held_by_errno();
	memcpy(to.sun_path, name, strlen(name));
	if (*name == '@')
		to.sun_path[0] = '\0';
	else
		length++;
	if (type != SOCK_DGRAM)
		judge(connect(fd, (struct sockaddr *)&to, length));
	judge(sendto(fd, "attack", 6, 0, (struct sockaddr *)&to, length));
}

static void stream(const char *name)
{
	unix_socket(SOCK_STREAM, name);
}

static void datagram(const char *name)
{
	unix_socket(SOCK_DGRAM, name);
}

static void packets(const char *name)
{
	unix_socket(SOCK_SEQPACKET, name);
}

/* A pair is no way around a socket: a datagram one can still send to any name. */
static void pair(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0)
		held_by_errno();
	strncpy(to.sun_path, name, sizeof(to.sun_path) - 1);
	judge(sendto(fds[0], "attack", 6, 0, (struct sockaddr *)&to, sizeof(to)));
}

static void by_link(const char *name)
{
	unlink("/tmp/attack-socket");
	if (symlink(name, "/tmp/attack-socket") < 0)
		held_by_errno();
	stream("/tmp/attack-socket");
}

static void tcp(int family, const char *port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)key(port)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = to.sin_port};
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0)
		held_by_errno();
	to6.sin6_addr.s6_addr[10] = to6.sin6_addr.s6_addr[11] = 0xff;
	memcpy(&to6.sin6_addr.s6_addr[12], &to.sin_addr, 4);
	judge(family == AF_INET ? connect(fd, (struct sockaddr *)&to, sizeof(to))
				: connect(fd, (struct sockaddr *)&to6, sizeof(to6)));
}

static void loopback(const char *port)
{
	tcp(AF_INET, port);
}

static void loopback6(const char *port)
{
	tcp(AF_INET6, port);
}

static void interfaces(const char *unused)
{
	struct if_nameindex *all = if_nameindex();

	(void)unused;
	if (!all)
		held_by_errno();
	for (; all->if_index; all++)
		if (strcmp(all->if_name, "lo") != 0)
			broke("%s", all->if_name);
	held("none");
}

/* The table of TCP sockets has the host's port in it. */
static void tcp_table(const char *port)
{
	char text[65536], wanted[16];
	FILE *file = fopen("/proc/net/tcp", "r");

	if (!file)
		held_by_errno();
	snprintf(wanted, sizeof(wanted), ":%04X ", (unsigned)key(port));
	while (fgets(text, sizeof(text), file))
		if (strstr(text, wanted))
			broke("%s", text);
	held("none");
}

static void unix_table(const char *name)
{
	char text[65536];
	FILE *file = fopen("/proc/net/unix", "r");

	if (!file)
		held_by_errno();
	while (fgets(text, sizeof(text), file))
		if (strstr(text, name))
			broke("%s", text);
	held("none");
}

static void raw(const char *unused)
{
	(void)unused;
	judge(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

static void packet(const char *unused)
{
	(void)unused;
	judge(socket(AF_PACKET, SOCK_RAW, 0));
}

static void outside(const char *unused)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)unused;
	if (fd < 0)
		held_by_errno();
	to.sin_addr.s_addr = htonl(0xc0000201); /* of documentation: 192.0.2.1 */
	judge(connect(fd, (struct sockaddr *)&to, sizeof(to)));
}

static void machine(const char *unused)
{
	(void)unused;
	judge(socket(AF_VSOCK, SOCK_STREAM, 0));
}

static void session_key(const char *name)
{
	judge(syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", name, 0));
}

static void user_keyring(const char *unused)
{
	(void)unused;
	judge(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1));
}

static void added_key(const char *unused)
{
	(void)unused;
	judge(syscall(SYS_add_key, "user", "attack", "x", 1, KEY_SPEC_PROCESS_KEYRING));
}

static void requested_key(const char *name)
{
	judge(syscall(SYS_request_key, "user", name, NULL, 0));
}

const struct attack attacks_ipc[] = {{"sysv-memory-key", "shared memory of the host's, by its key",
					     "ENOENT ENOSYS EPERM", memory_by_key, "{ipckey}"},
	{"sysv-memory-id", "the same by its number", "EINVAL EIDRM ENOSYS EPERM", memory_by_id,
		"{shmid}"},
	{"sysv-messages", "a message queue of the host's", "ENOENT ENOSYS EPERM", messages,
		"{ipckey}"},
	{"sysv-semaphores", "semaphores of the host's", "ENOENT ENOSYS EPERM", semaphores,
		"{ipckey}"},
	{"posix-queue", "a POSIX message queue of the host's", "ENOENT ENOSYS EPERM", queue,
		"/{unique}"},
	{"posix-memory", "POSIX shared memory of the host's", "ENOENT", secret_file,
		"/dev/shm/{unique}"},
	{"socket-home", "connect to a socket in the home",
		"EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT", stream, "{home}/agent.sock"},
	{"socket-project", "to one in a writable directory",
		"EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT", stream, "{project}/live.sock"},
	{"socket-link", "to one through a link in /tmp",
		"EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT", by_link, "{project}/live.sock"},
	{"socket-self-root", "to one through /proc/self/root",
		"EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT", stream,
		"/proc/self/root{project}/live.sock"},
	{"socket-bind-mount", "to one through a bind mount of the host's",
		"EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT", stream, "{socketalias}/s.sock"},
	{"socket-datagram", "send to a datagram socket in the home",
		"EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT", datagram, "{home}/log.sock"},
	{"socket-pair", "the same from a socket of a pair",
		"EACCES ENOENT ECONNREFUSED EPERM EOPNOTSUPP EAFNOSUPPORT", pair,
		"{home}/log.sock"},
	{"socket-seqpacket", "connect to a seqpacket socket in the home",
		"EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT", packets, "{home}/packets.sock"},
	{"socket-docker", "the socket of docker", "EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT",
		stream, "/run/docker.sock"},
	{"socket-docker-var", "the same in /var/run",
		"EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT", stream, "/var/run/docker.sock"},
	{"socket-containerd", "the socket of containerd",
		"EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT", stream,
		"/run/containerd/containerd.sock"},
	{"socket-podman", "the socket of podman", "EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT",
		stream, "/run/podman/podman.sock"},
	{"socket-dbus", "the system's D-Bus", "EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT",
		stream, "/run/dbus/system_bus_socket"},
	{"socket-dbus-user", "the user's D-Bus", "EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT",
		stream, "{runtime}/bus"},
	{"socket-log", "the system's log", "EACCES ENOENT ECONNREFUSED EPERM EAFNOSUPPORT",
		datagram, "/dev/log", "not every host has one"},
	{"abstract-stream", "connect to an abstract socket", "ECONNREFUSED EPERM EAFNOSUPPORT",
		stream, "@{unique}-stream"},
	{"abstract-datagram", "send to an abstract datagram socket",
		"ECONNREFUSED EPERM EAFNOSUPPORT", datagram, "@{unique}-datagram"},
	{"abstract-table", "find one in /proc/net/unix", "none", unix_table, "{unique}-stream"},
	{"network-loopback", "connect to a server on the host's loopback",
		"ECONNREFUSED ENETUNREACH EPERM EAFNOSUPPORT", loopback, "{port}"},
	{"network-loopback6", "the same by IPv6",
		"ECONNREFUSED ENETUNREACH EPERM EAFNOSUPPORT EADDRNOTAVAIL", loopback6, "{port}"},
	{"network-table", "find it in /proc/net/tcp", "none", tcp_table, "{port}"},
	{"network-interfaces", "find an interface but lo", "none EPERM EAFNOSUPPORT", interfaces,
		NULL, "a host may have no other"},
	{"network-route", "a way to another machine", "ENETUNREACH EPERM EAFNOSUPPORT", outside,
		NULL, "a host may have none"},
	{"network-raw", "a raw socket", "EPERM EAFNOSUPPORT", raw},
	{"network-packet", "a packet socket", "EPERM EAFNOSUPPORT", packet},
	{"network-vsock", "a socket to the machine's host", "EPERM EAFNOSUPPORT", machine, NULL,
		"not every kernel has the family", NEEDS_FILTER},
	{"key-session", "a key of the caller's session", "ENOKEY EPERM ENOSYS", session_key,
		"sbx-test"},
	{"key-request", "the same by request_key", "ENOKEY EPERM ENOSYS", requested_key,
		"sbx-test"},
	{"key-user", "the user's keyring", "EPERM ENOSYS", user_keyring, .needs = NEEDS_FILTER},
	{"key-add", "a key of its own in the kernel's memory", "EPERM ENOSYS", added_key,
		.needs = NEEDS_FILTER},
	{0}};
