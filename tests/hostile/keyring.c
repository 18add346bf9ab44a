/*
 * keyring add COMMAND...: puts a key into a new session keyring and executes the command there.
 * keyring find: exit 0 when the key can be found, else 1.
 */
#include <linux/keyctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "find") == 0)
		return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user",
			       "sbx-test", 0) < 0;
	if (argc < 3 || syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ||
		syscall(SYS_add_key, "user", "sbx-test", "secret", 6, KEY_SPEC_SESSION_KEYRING) < 0)
		return 3;
	execvp(argv[2], argv + 2);
	return 4;
}
