/* Feeds a fuzzer, linked to this, the files of tests/fuzz/corpus/NAME, and no bytes at all. An input
 * that breaks a promise ends the program. */
#include "fuzz/fuzz.h"
#include "lib/tap.h"

#include <glob.h>

static void replay(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size;
	FILE *all = open_memstream(&text, &size);

	for (int c; file && (c = getc(file)) != EOF;)
		putc(c, all);
	fclose(all);
	if (ok(file != NULL, "%s", path)) {
		LLVMFuzzerTestOneInput((const uint8_t *)text, size);
		fclose(file);
	}
	free(text);
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	CLEANUP_FREE char *corpus =
		xasprintf("tests/fuzz/corpus/%s/*", slash ? slash + 1 : argv[0]);
	glob_t files = {0};

	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	if (argc == 1)
		ok(glob(corpus, 0, NULL, &files) == 0, "there are inputs: %s", corpus);
	for (size_t i = 0; i < files.gl_pathc; i++)
		replay(files.gl_pathv[i]);
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	globfree(&files);
	return done_testing();
}
