#include "controller/store/store_care.h"

#include "controller/store/store_writer.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct store_care {
    char path[PATH_MAX], to[PATH_MAX]; /* `to` "": check */
    const struct store_schema *schema;
    store_care_done *on_done;
    void *user;
    int fd;
    sd_event_source *source;
    pthread_t thread;
    pthread_mutex_t lock;
    struct store_file *file; /* under the lock: the connection that is open */
    bool ending;
    struct err err; /* the thread's, until fd is readable */
    uint64_t rows;
};

/* Makes it the connection that may be interrupted; −ECANCELED: the thread is to end. */
static int file_set(struct store_care *care, struct store_file *file)
{
    pthread_mutex_lock(&care->lock);
    bool ending = care->ending;
    care->file = file;
    pthread_mutex_unlock(&care->lock);
    return ending && file ? err_set(&care->err, ECANCELED, "the controller ends") : 0;
}

static int file_care(struct store_care *care, const char *path,
                     int (*does)(struct store_care *care, struct store_file *file))
{
    struct store_file *file;
    int r = store_file_open(path, NULL, care->schema, &file, &care->err);
    if (r < 0)
        return r;
    if ((r = file_set(care, file)) == 0)
        r = does(care, file);
    file_set(care, NULL);
    store_file_close(file);
    return r;
}

static int check(struct store_care *care, struct store_file *file)
{
    return store_file_check(file, &care->rows, &care->err);
}

static int copy(struct store_care *care, struct store_file *file)
{
    return store_file_copy(file, care->to, &care->err);
}

static void *care_on(void *user)
{
    struct store_care *care = user;
    const uint64_t one = 1;
    int r = *care->to ? file_care(care, care->path, copy) : 0;
    if (r == 0 && (r = file_care(care, *care->to ? care->to : care->path, check)) < 0 && *care->to)
        unlink(care->to);
    if (r == 0)
        care->err.code = 0;
    (void)!write(care->fd, &one, sizeof(one));
    return NULL;
}

static int on_ready(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct store_care *care = user;
    (void)source, (void)fd, (void)revents;
    sd_event_source_set_enabled(care->source, SD_EVENT_OFF);
    care->on_done(care->user, &care->err, care->rows);
    return 0;
}

int store_care_begin(const char *path, const char *to, const struct store_schema *schema,
                     sd_event *loop, store_care_done *on_done, void *user,
                     struct store_care **ret_care, struct err *err)
{
    struct store_care *care = calloc(1, sizeof(*care));
    if (!care)
        return err_sys(err, ENOMEM, "%s", path);
    snprintf(care->path, sizeof(care->path), "%s", path);
    snprintf(care->to, sizeof(care->to), "%s", to ? to : "");
    care->schema = schema;
    care->on_done = on_done;
    care->user = user;
    pthread_mutex_init(&care->lock, NULL);
    care->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = care->fd < 0 ? -errno
                         : sd_event_add_io(loop, &care->source, care->fd, EPOLLIN, on_ready, care);
    if (r >= 0)
        r = store_thread_begin(&care->thread, care_on, care);
    if (r < 0) {
        sd_event_source_disable_unref(care->source);
        if (care->fd >= 0)
            close(care->fd);
        free(care);
        return err_sys(err, -r, "%s cannot be looked at", path);
    }
    *ret_care = care;
    return 0;
}

void store_care_end(struct store_care *care)
{
    if (!care)
        return;
    pthread_mutex_lock(&care->lock);
    care->ending = true;
    if (care->file)
        store_file_interrupt(care->file);
    pthread_mutex_unlock(&care->lock);
    pthread_join(care->thread, NULL);
    sd_event_source_disable_unref(care->source);
    close(care->fd);
    pthread_mutex_destroy(&care->lock);
    free(care);
}
