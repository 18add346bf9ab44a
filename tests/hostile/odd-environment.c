/*
 * odd-environment COMMAND...: executes COMMAND with variables that no shell can set: a name twice, an entry without "=", an
 * exported function of bash's, bytes that are no UTF-8, an empty value, a name with a dot, a value with "=".
 */
#include <unistd.h>

int main(int argc, char **argv)
{
	static const char *const variables[] = {"PATH=/usr/bin:/bin", "A=1", "A=2",
		"EMPTY=", "A.B=1", "Anothing", "AX=x=y", "C=\xff\xfe", "OTHER=1",
		"BASH_FUNC_f%%=() { :; }", NULL};

	if (argc > 1)
		execve(argv[1], argv + 1, (char **)variables);
	return 99;
}
