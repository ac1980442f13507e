#include "hostagent/marks/mark_nft_gone.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_found(const struct task *task)
{
    struct stat here;
    return task->path && stat(task->path, &here) == 0 && here.st_ino == task->cgroup;
}

static bool are_lost(const struct mark *mark)
{
    for (const struct task *task = mark->tasks; task; task = task->hh.next)
        if (!task->gone && !task->path)
            return true;
    return false;
}

static void forget_lost_paths(const struct mark *mark)
{
    for (struct task *task = mark->tasks; task; task = task->hh.next) {
        if (task->gone || is_found(task))
            continue;
        free(task->path);
        task->path = NULL;
    }
}

static void note_path(const struct mark *mark, const FTSENT *entry)
{
    struct task *task = mark_nft_find_task(mark->tasks, entry->fts_statp->st_ino);
    if (task && !task->path)
        task->path = strdup(entry->fts_path);
}

static bool is_hidden(const FTSENT *entry)
{
    return (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
            entry->fts_info == FTS_NS) &&
           entry->fts_errno != ENOENT;
}

/* Below this folder; false: not all of it could be seen. */
static bool find_paths(const struct mark *mark, const char *below)
{
    char path[FILES_PATH];
    char *const roots[] = {path, NULL};
    files_path(path, "%s", below);
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    bool all = walk;
    for (FTSENT *entry; walk && (entry = fts_read(walk));) {
        if (entry->fts_info == FTS_D)
            note_path(mark, entry);
        all &= !is_hidden(entry);
    }
    if (walk)
        fts_close(walk);
    return all;
}

/* The root of the cgroup file system; those of others' tasks are somewhere below it. */
static void root_of(const char *cgroup, uint32_t level, char path[FILES_PATH])
{
    files_path(path, "%s", cgroup);
    for (; level > 1; level--) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return;
        *slash = 0;
    }
}

/* Its received bytes stay readable. */
static int drop(struct mark *mark, struct task *task, struct err *err)
{
    const struct nft_table *table = mark_nft_state(mark);
    struct task *received = mark_nft_find_task(mark->received, task->cgroup);
    nft_begin(mark->nft);
    mark_nft_drop_task(mark->nft, table, task->cgroup);
    int r = nft_commit(mark->nft, "taking away the levels of a cgroup that is gone", err);
    if (r >= 0)
        r = mark_nft_drop_received(mark, task->cgroup, err);
    if (r < 0)
        return r;
    task->gone = true;
    task->bytes += received ? received->bytes : 0;
    return 0;
}

int mark_nft_drop_gone(struct mark *mark, struct err *err)
{
    char root[FILES_PATH];
    if (mark->config->is_switch)
        return 0;
    forget_lost_paths(mark);
    if (are_lost(mark))
        find_paths(mark, mark->config->cgroup);
    root_of(mark->config->cgroup, mark->wish.cgroup_level, root);
    if (!are_lost(mark) || !find_paths(mark, root) || !are_lost(mark))
        return 0;
    int r = mark_nft_read_received(mark, err);
    for (struct task *task = mark->tasks; r >= 0 && task; task = task->hh.next)
        if (!task->gone && !task->path)
            r = drop(mark, task, err);
    return r;
}
