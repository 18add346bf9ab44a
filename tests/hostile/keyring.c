/*
 * keyring add COMMAND...: puts a key into a new session keyring and executes the command there.
 * keyring fill COMMAND...: uses up the user's quota of keys, in the session keyring.
 * keyring find: exit 0 when the key can be found, else 1.
 */
#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int add(const char *name)
{
	return syscall(SYS_add_key, "user", name, "secret", 6, KEY_SPEC_SESSION_KEYRING) < 0;
}

static int fill(void)
{
	char name[32];
	int n = 0;

	do
		snprintf(name, sizeof(name), "sbx-fill-%d", n++);
	while (!add(name));
	return errno != EDQUOT;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "find") == 0)
		return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user",
			       "sbx-test", 0) < 0;
	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "fill") == 0
			? fill()
			: syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ||
				  add("sbx-test"))
		return 3;
	execvp(argv[2], argv + 2);
	return 4;
}
