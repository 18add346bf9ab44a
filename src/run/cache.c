#include "run/cache.h"

#include "base/mem.h"
#include "base/newfile.h"
#include "base/path.h"
#include "base/private.h"
#include "run/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "sbx-probe 1"
#define NAME "probe"
/* The mounts at and below /proc are most of it: some kilobytes in a container. */
#define MAX_SIZE 65536

void cache_places(const char *runtime_dir, struct strvec *places)
{
	if (runtime_dir && *runtime_dir == '/') {
		CLEANUP_FREE char *dir = path_normalize(runtime_dir);

		strvec_take(places, path_join(dir, "sbx"));
	}
	strvec_pushf(places, "/tmp/sbx-%u", geteuid());
}

int cache_open(const char *runtime_dir, bool make, struct err *err)
{
	CLEANUP_STRVEC struct strvec places = {0};
	CLEANUP_CLOSE int parent = -1;
	const char *place = NULL;
	int dir;

	cache_places(runtime_dir, &places);
	for (size_t i = 0; i < places.n && parent < 0; i++) {
		place = places.v[i];
		parent = private_parent(place);
	}
	if (parent < 0)
		return err_set(err, ERR_PROBE, "there is no safe place for %s", place);
	dir = private_open(parent, path_base(place), make);
	if (dir == -EPERM)
		return err_set(err, ERR_PROBE, "%s is not yours alone (owner, mode 0700)", place);
	return dir < 0 ? err_set(err, ERR_PROBE, "%s: %s", place, strerror(-dir)) : dir;
}

char *cache_key(const char *bwrap, const struct host *host)
{
	struct stat st;
	char *key;

	if (!host->facts.n || stat(bwrap, &st) < 0)
		return NULL;
	key = xasprintf(FORMAT " of sbx " SBX_VERSION "\n"
			       "%s %ju:%ju %jd bytes of %jd.%09ld, changed %jd.%09ld\n",
		bwrap, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, (intmax_t)st.st_size,
		(intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec,
		st.st_ctim.tv_nsec);
	for (size_t i = 0; i < host->facts.n; i++) {
		char *longer = xasprintf("%s%s\n", key, host->facts.v[i]);

		free(key);
		key = longer;
	}
	return key;
}

char *cache_format(const char *key, const struct probe *probe)
{
	CLEANUP_FREE char *version = probe->has_version
					     ? xasprintf("%u.%u.%u", probe->version[0],
						       probe->version[1], probe->version[2])
					     : xstrdup("unknown");
	char *text = xasprintf("%sbwrap %s\n", key, version);

	for (int f = 0; f < PROBE_FEATURES; f++) {
		const struct probe_result *result = &probe->features[f];
		char *longer =
			xasprintf("%s%s %s\n", text, probe_feature_name((enum probe_feature)f),
				result->works ? "works" : cause_name(result->cause));

		free(text);
		text = longer;
	}
	return text;
}

/* Takes a text from the front of what is left; false when something else stands there. */
static bool take(const char **at, const char *end, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(end - *at) < len || memcmp(*at, text, len) != 0)
		return false;
	*at += len;
	return true;
}

/* Takes a word up to last; false when it is empty, too long or not ended. */
static bool take_word(const char **at, const char *end, char last, char *word, size_t size)
{
	const char *stop = memchr(*at, last, (size_t)(end - *at));
	size_t len = stop ? (size_t)(stop - *at) : 0;

	if (len == 0 || len >= size || memchr(*at, '\0', len))
		return false;
	memcpy(word, *at, len);
	word[len] = '\0';
	*at = stop + 1;
	return true;
}

static bool take_number(const char **at, const char *end, char last, unsigned *number)
{
	char word[8];

	if (!take_word(at, end, last, word, sizeof(word)) ||
		strspn(word, "0123456789") != strlen(word))
		return false;
	*number = (unsigned)strtoul(word, NULL, 10);
	return true;
}

bool cache_parse(struct probe *probe, const char *key, const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	char word[32];

	*probe = (struct probe){.kept = true};
	if (!take(&at, end, key) || !take(&at, end, "bwrap "))
		return false;
	probe->has_version = !take(&at, end, "unknown\n");
	if (probe->has_version && (!take_number(&at, end, '.', &probe->version[0]) ||
					  !take_number(&at, end, '.', &probe->version[1]) ||
					  !take_number(&at, end, '\n', &probe->version[2])))
		return false;
	for (int f = 0; f < PROBE_FEATURES; f++) {
		struct probe_result *result = &probe->features[f];

		if (!take(&at, end, probe_feature_name((enum probe_feature)f)) ||
			!take(&at, end, " ") || !take_word(&at, end, '\n', word, sizeof(word)))
			return false;
		result->works = strcmp(word, "works") == 0;
		if (!result->works && !cause_of_name(&result->cause, word))
			return false;
	}
	return at == end;
}

bool cache_read(int dir, const char *key, struct probe *probe)
{
	CLEANUP_CLOSE int fd =
		openat(dir, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	CLEANUP_FREE char *text = NULL;
	struct stat st;
	size_t len = 0;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		(st.st_mode & 07777) != 0600 || st.st_nlink != 1 || st.st_size > MAX_SIZE)
		return false;
	text = xcalloc(1, MAX_SIZE);
	while (len < MAX_SIZE && (n = read(fd, text + len, MAX_SIZE - len)) > 0)
		len += (size_t)n;
	return cache_parse(probe, key, text, len);
}

int cache_write(int dir, const char *key, const struct probe *probe, struct err *err)
{
	CLEANUP_FREE char *text = cache_format(key, probe);
	struct newfile file = NEWFILE_INIT;
	int result, error;

	if (strlen(text) > MAX_SIZE)
		return err_set(err, ERR_PROBE, "there are too many mounts below /proc");
	result = newfile_at(&file, dir, NAME, NAME, err);
	if (result == 0) {
		error = write_all(file.fd, text, strlen(text));
		if (error == 0 && fchmod(file.fd, 0600) < 0)
			error = -errno;
		result = error < 0 ? err_set(err, ERR_PROBE, "%s", strerror(-error))
				   : newfile_name(&file, err);
	}
	newfile_close(&file);
	if (result < 0)
		err->kind = ERR_PROBE;
	return result;
}

void cache_remove(int dir)
{
	unlinkat(dir, NAME, 0);
}
