/*
 * For the static build only. libcgroup.a holds code for rules files that looks users and groups up, which glibc does by
 * loading NSS modules at run time: a static program would warn of that, and need the very glibc that it was linked with.
 * Nothing that sbx calls gets there (it reads /etc/passwd itself); what does finds nobody.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>

struct passwd *getpwnam(const char *name)
{
	(void)name;
	errno = ENOENT;
	return NULL;
}

struct passwd *getpwuid(uid_t uid)
{
	(void)uid;
	errno = ENOENT;
	return NULL;
}

struct group *getgrnam(const char *name)
{
	(void)name;
	errno = ENOENT;
	return NULL;
}

struct group *getgrgid(gid_t gid)
{
	(void)gid;
	errno = ENOENT;
	return NULL;
}

int getpwnam_r(const char *name, struct passwd *entry, char *buf, size_t len, struct passwd **found)
{
	(void)name;
	(void)entry;
	(void)buf;
	(void)len;
	*found = NULL;
	return ENOENT;
}

int getgrnam_r(const char *name, struct group *entry, char *buf, size_t len, struct group **found)
{
	(void)name;
	(void)entry;
	(void)buf;
	(void)len;
	*found = NULL;
	return ENOENT;
}
