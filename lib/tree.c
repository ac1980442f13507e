#include "lib/tree.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REMOVE_FDS 64

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)where;
    int r = kind == FTW_DP ? rmdir(path) : unlink(path);
    return r < 0 && errno != ENOENT ? errno : 0;
}

int tree_remove(const char *path, struct err *err)
{
    int r = nftw(path, remove_one, REMOVE_FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (r < 0 && errno == ENOENT)
        return 0;
    return r ? err_sys(err, r < 0 ? errno : r, "removing %s", path) : 0;
}

int tree_clear(const char *folder, const char *prefix, struct err *err)
{
    char path[PATH_MAX];
    int r = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return err_sys(err, errno, "reading %s", folder);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(path, sizeof(path), "%.3000s/%.255s", folder, entry->d_name);
        int other = tree_remove(path, r < 0 ? NULL : err);
        r = r < 0 ? r : other;
    }
    closedir(dir);
    return r;
}
