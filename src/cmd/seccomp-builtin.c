/*
 * Run when sbx is built: prints the built-in filters as C, for all architectures.
 */
#include "run/seccomp.h"

#include <linux/filter.h>
#include <stdio.h>

/* There is none yet. */
const struct filter_builtin filter_builtins[] = {{0}};

static int print_code(const struct filter_spec *spec, enum filter_arch arch, unsigned number)
{
	struct filter_program program;
	struct err err;
	const struct sock_filter *code;

	if (filter_build(&program, spec, arch, &err) < 0) {
		fprintf(stderr, "seccomp-builtin: %s\n", err.message);
		return -1;
	}
	code = program.data;
	printf("static const struct sock_filter code_%u[] = {\n", number);
	for (size_t i = 0; i < program.len / sizeof(*code); i++)
		printf("\t{0x%x, %u, %u, 0x%x},\n", code[i].code, code[i].jt, code[i].jf,
			code[i].k);
	puts("};");
	filter_program_clear(&program);
	return 0;
}

int main(void)
{
	static const struct filter_spec specs[] = {
		{.profile = FILTER_DEFAULT},
		{.profile = FILTER_DEFAULT, .nested_userns = true},
		{.profile = FILTER_STRICT},
		{.profile = FILTER_STRICT, .nested_userns = true},
		{.profile = FILTER_STRICT, .network = true},
		{.profile = FILTER_STRICT, .network = true, .nested_userns = true},
	};
	const unsigned n = sizeof(specs) / sizeof(*specs);

	puts("#include \"run/seccomp.h\"\n#include <linux/filter.h>");
	for (int arch = 0; arch < FILTER_ARCHES; arch++) {
		printf("#ifdef __%s__\n", filter_arch_name((enum filter_arch)arch));
		for (unsigned i = 0; i < n; i++)
			if (print_code(&specs[i], (enum filter_arch)arch, i) < 0)
				return 1;
		puts("#define BUILTIN 1\n#endif");
	}
	puts("const struct filter_builtin filter_builtins[] = {\n#ifdef BUILTIN");
	for (unsigned i = 0; i < n; i++)
		printf("\t{%d, %d, %d, code_%u, sizeof(code_%u)},\n", specs[i].profile,
			specs[i].nested_userns, specs[i].network, i, i);
	puts("#endif\n\t{0}};");
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
