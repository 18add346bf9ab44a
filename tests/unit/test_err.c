/* Texts of errors: what is too long keeps its ends, where it says what was wanted and what
 * happened. */
#include "base/err.h"
#include "lib/tap.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
	char path[5000];
	struct err err;

	memset(path, 'y', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	is_int(err_set(&err, ERR_PLAN, "%s does not exist", "/a"), -1, "err_set gives -1");
	is_str(err.message, "/a does not exist", "a short message");
	err_hint(&err, "hint");
	err_at(&err, "at");
	err_set(&err, ERR_PLAN, "the path %s does not exist", path);
	is_int((long long)strlen(err.message), sizeof(err.message) - 1, "a long message is cut");
	ok(strncmp(err.message, "the path yyy", 12) == 0 && strstr(err.message, "y...y") &&
			strcmp(err.message + strlen(err.message) - 17, "yy does not exist") == 0,
		"in its middle");
	ok(!*err.hint && !*err.at, "and hint and place are empty again");
	for (size_t i = 0; i < 6; i++) {
		path[sizeof(err.at) - 4 + i] = '\0';
		err_at(&err, "%s", path);
		path[sizeof(err.at) - 4 + i] = 'y';
		is_int((long long)strlen(err.at),
			(long long)sizeof(err.at) - (i < 3 ? 4 - (int)i : 1),
			"a place about as long as fits: %zu", i);
	}
	return done_testing();
}
