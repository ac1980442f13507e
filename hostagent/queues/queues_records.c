/* Records of ports' former configurations: kept on disk, restored, deleted. */
#include "hostagent/queues/queues_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MOST (64u << 20) /* bytes */

/* The record; and the record of a restore that has begun. */
void queues_record_path(const struct queues *queues, const char *port, char path[FILES_PATH])
{
    files_path(path, QUEUES_RECORD, queues->state_dir, port);
}

static void putting_path(const struct queues *queues, const char *port, char path[FILES_PATH])
{
    files_path(path, "%s/putting-%s", queues->state_dir, port);
}

bool queues_has_record(const struct queues *queues, const char *port)
{
    char path[FILES_PATH];
    queues_record_path(queues, port, path);
    return access(path, F_OK) == 0;
}

/* Takes `text`. Most ports of a machine have the same. */
static int write_record(struct queues *queues, const char *port, char *text, struct err *err)
{
    bool same = queues->written && strcmp(queues->written, text) == 0;
    char path[FILES_PATH];
    queues_record_path(queues, port, path);
    int r = same ? files_write_twin(path, queues->written_path, text, strlen(text), 0600, err)
                 : files_write(path, text, strlen(text), 0600, err);
    if (r < 0) {
        free(text);
        return r;
    }
    free(queues->written);
    queues->written = text;
    memcpy(queues->written_path, path, sizeof(path));
    return 0;
}

/* The former configuration is on disk before anything is replaced. */
int queues_keep(struct queues *queues, const char *port, const struct qdisc_plan *plan,
                struct err *err)
{
    char *text = NULL;
    if (!plan || plan->root == QDISC_OURS)
        return 0;
    int r = queues->config.driver->record(queues->qdisc, port, &text, err);
    return r < 0 ? r : write_record(queues, port, text, err);
}

/* 1 when the port has what `text` keeps. */
static int is_as_recorded(struct queues *queues, const char *port, const char *text)
{
    char *now = NULL;
    int r = queues->config.driver->record(queues->qdisc, port, &now, NULL);
    bool same = r >= 0 && strcmp(now, text) == 0;
    free(now);
    return r == -ENODEV ? r : same;
}

/* Renames the record to mark that the restore has begun; `ret_begun`: it had before. */
static int take_record(struct queues *queues, const char *port, bool *ret_begun, char **ret_text,
                       struct err *err)
{
    char record[FILES_PATH], putting[FILES_PATH];
    queues_record_path(queues, port, record);
    putting_path(queues, port, putting);
    *ret_begun = access(putting, F_OK) == 0;
    if (!*ret_begun && rename(record, putting) < 0)
        return errno == ENOENT ? -ENOENT : err_sys(err, errno, "renaming %s", record);
    return files_read_whole(putting, RECORD_MOST, ret_text, err);
}

static void forget_record(const struct queues *queues, const char *port)
{
    char path[FILES_PATH];
    putting_path(queues, port, path);
    unlink(path);
}

int queues_restore_port(struct queues *queues, const char *port, struct err *err)
{
    char *text = NULL;
    bool begun;
    int r = take_record(queues, port, &begun, &text, err);
    if (r == -ENOENT)
        return 0;
    if (r >= 0 && !(begun && is_as_recorded(queues, port, text) == 1))
        r = queues->config.driver->restore(queues->qdisc, port, text, begun, err);
    free(text);
    if (r == 0 || r == -ENODEV)
        forget_record(queues, port);
    return r == -ENODEV || r > 0 ? 0 : r;
}

/* Forgets the record once the port is as recorded. */
int queues_check_restored(struct queues *queues, const char *port, struct err *err)
{
    char path[FILES_PATH], *text = NULL;
    putting_path(queues, port, path);
    if (access(path, F_OK) < 0)
        return 0;
    int r = files_read_whole(path, RECORD_MOST, &text, err);
    if (r >= 0 && is_as_recorded(queues, port, text) == 0)
        r = err_set(err, EIO, "what stood on %s before did not come back as %s has it", port, path);
    else if (r >= 0)
        forget_record(queues, port);
    free(text);
    return r;
}

/* For all ports: restores, then checks. The last comes first: see take_back in agent.c. */
static int each_port(struct queues *queues,
                     int (*each)(struct queues *queues, const char *port, struct err *err),
                     struct err *err)
{
    const struct qdisc_driver *driver = queues->config.driver;
    int r = driver->look(queues->qdisc, err);
    bool looked = r >= 0;
    for (uint32_t i = queues->n; looked && i-- > 0;) {
        int other = each(queues, queues->ports[i].name, r < 0 ? NULL : err);
        r = r < 0 ? r : other;
    }
    driver->look_away(queues->qdisc);
    return r;
}

int queues_restore(struct queues *queues, struct err *err)
{
    if (queues->config.driver->clean)
        queues->config.driver->clean(queues->qdisc);
    int r = each_port(queues, queues_restore_port, err);
    int other = each_port(queues, queues_check_restored, r < 0 ? NULL : err);
    return r < 0 ? r : other;
}

bool queues_was_putting(const struct queues *queues, uint32_t port)
{
    char path[FILES_PATH];
    putting_path(queues, queues->ports[port].name, path);
    return access(path, F_OK) == 0;
}
