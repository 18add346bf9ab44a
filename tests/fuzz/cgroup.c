/* Two texts of the kernel's, /proc/self/cgroup and mountinfo: what is found is a path below a mount
 * point, without "..". And numbers. */
#include "fuzz/fuzz.h"
#include "run/cgplace.h"

static void split(struct strvec *lines, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")))
		strvec_push(lines, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const controllers[] = {NULL, "memory", "pids", "cpuacct"};
	CLEANUP_STRVEC struct strvec groups = {0}, mounts = {0};
	size_t len;
	CLEANUP_FREE char *a = next_part(&data, &size, &len), *b = next_part(&data, &size, &len);

	PROMISE(cg_number(a, NULL) >= -1 && cg_number(a, "oom_kill") >= -1, "%s", a);
	split(&groups, a);
	split(&mounts, b);
	for (size_t i = 0; i < sizeof(controllers) / sizeof(*controllers); i++) {
		CLEANUP_CGPLACE struct cgplace place = {0};

		if (!cgplace_find(
			    strvec_argv(&groups), strvec_argv(&mounts), controllers[i], &place))
			continue;
		CLEANUP_FREE char *whole = xasprintf("/%s/", place.below);

		PROMISE(*place.at == '/' && *place.below != '/', "%s, %s", place.at, place.below);
		PROMISE(!strstr(whole, "/../"), "%s", place.below);
	}
	return 0;
}
