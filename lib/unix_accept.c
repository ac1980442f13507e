#include "lib/unix_accept.h"

#include "lib/unix_listen.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_USEC 1000000

struct unix_accept {
    const char *path;
    unix_accept_fn *take;
    void *user;
    int fd;
    sd_event_source *io, *pause;
};

static int on_pause(sd_event_source *source, uint64_t usec, void *user)
{
    const struct unix_accept *listener = user;
    (void)source, (void)usec;
    return sd_event_source_set_enabled(listener->io, SD_EVENT_ON);
}

/* Without a pause, a listener without descriptors would use a whole processor. */
static void pause_listening(struct unix_accept *listener)
{
    sd_event_source_set_enabled(listener->io, SD_EVENT_OFF);
    sd_event_source_set_time_relative(listener->pause, PAUSE_USEC);
    sd_event_source_set_enabled(listener->pause, SD_EVENT_ONESHOT);
}

static int on_connection(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct unix_accept *listener = user;
    (void)source, (void)revents;
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (peer >= 0)
        listener->take(listener->user, peer);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        pause_listening(listener);
    return 0;
}

static int join(struct unix_accept *listener, sd_event *event, struct err *err)
{
    int r = sd_event_add_io(event, &listener->io, listener->fd, EPOLLIN, on_connection, listener);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &listener->pause, CLOCK_MONOTONIC, 0, 0, on_pause,
                                       listener);
    if (r >= 0)
        r = sd_event_source_set_enabled(listener->pause, SD_EVENT_OFF);
    return r < 0 ? err_sys(err, -r, "%s in the event loop", listener->path) : 0;
}

int unix_accept_open(sd_event *event, const char *path, gid_t group, unix_accept_fn *take,
                     void *user, struct unix_accept **ret_listener, struct err *err)
{
    struct unix_accept *listener = calloc(1, sizeof(*listener));
    if (!listener)
        return err_sys(err, ENOMEM, "%s", path);
    *listener = (struct unix_accept){.path = path, .take = take, .user = user, .fd = -1};
    int r = unix_listen(path, SOCK_STREAM, group, 0660, &listener->fd, err);
    if (r >= 0)
        r = join(listener, event, err);
    if (r < 0) {
        unix_accept_close(listener);
        return r;
    }
    *ret_listener = listener;
    return 0;
}

void unix_accept_close(struct unix_accept *listener)
{
    if (!listener)
        return;
    sd_event_source_disable_unref(listener->io);
    sd_event_source_disable_unref(listener->pause);
    if (listener->fd >= 0) {
        close(listener->fd);
        unlink(listener->path);
    }
    free(listener);
}
