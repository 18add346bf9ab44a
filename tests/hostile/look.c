/*
 * Looks at everything below the directories that are named, as far as it gets, and prints a line for
 * each object: "ROUND DEVICE INODE RIGHTS PATH"; rights are "r" (it can be read, or listed), "w" (it,
 * or its mode, can be changed), "-". Then whatever can be renamed gets another name, every mode is
 * changed where that is allowed, and it looks again.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PATH 4096

static int round_number = 1;

static int can_open(const char *path, int flags)
{
	int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int can_make(const char *dir)
{
	char path[MAX_PATH];

	snprintf(path, sizeof(path), "%s/,made", dir);
	return mkdir(path, 0700) == 0 && rmdir(path) == 0;
}

static void look(const char *path)
{
	char below[MAX_PATH];
	struct dirent *entry;
	int reads, writes;
	struct stat st;
	DIR *dir = NULL;

	if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode))
		return;
	if (S_ISDIR(st.st_mode)) {
		dir = opendir(path);
		reads = dir != NULL;
		writes = can_make(path);
	} else {
		reads = can_open(path, O_RDONLY);
		writes = can_open(path, O_WRONLY);
	}
	/* The mode stays as it is. */
	writes |= chmod(path, st.st_mode & 07777) == 0;
	printf("%d %llu %llu %s%s- %s\n", round_number, (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino, reads ? "r" : "", writes ? "w" : "", path);
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
			look(below);
		}
	if (dir)
		closedir(dir);
}

/* Changes modes on the way down and names on the way up. */
static void shake(const char *path)
{
	char below[MAX_PATH], other[MAX_PATH];
	struct dirent **names = NULL;
	struct stat st;
	int n = 0;

	if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode))
		return;
	chmod(path, 0777);
	if (S_ISDIR(st.st_mode))
		n = scandir(path, &names, NULL, NULL);
	for (int i = 0; i < n; i++) {
		if (strcmp(names[i]->d_name, ".") != 0 && strcmp(names[i]->d_name, "..") != 0) {
			snprintf(below, sizeof(below), "%s/%s", path, names[i]->d_name);
			shake(below);
			snprintf(other, sizeof(other), "%s/%s,", path, names[i]->d_name);
			rename(below, other);
		}
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	for (; round_number <= 2; round_number++) {
		for (int i = 1; i < argc; i++)
			look(argv[i]);
		for (int i = 1; round_number == 1 && i < argc; i++)
			shake(argv[i]);
	}
	puts("end");
	return fflush(stdout) != 0;
}
