#include "controller/portions.h"

#include "controller/cost.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* WHY a descriptor and no source that is always pending: such a one is always the one that has waited
 * longest, and others of its priority are not served. */
struct portions {
    sd_event_source *source;
    int fd; /* readable while there is work */
    bool (*go_on)(void *user);
    void *user;
};

static int on_turn(sd_event_source *source, int fd, uint32_t events, void *user)
{
    const struct portions *portions = user;
    const int64_t until_ns = cost_now_ns() + PORTION_NS;
    eventfd_t count;
    bool more = true;
    (void)source, (void)events;
    while (more && cost_now_ns() < until_ns)
        more = portions->go_on(portions->user);
    return more ? 0 : eventfd_read(fd, &count);
}

int portions_open(sd_event *loop, bool (*go_on)(void *user), void *user,
                  struct portions **ret_portions, struct err *err)
{
    struct portions *portions = calloc(1, sizeof(*portions));
    if (!portions)
        return err_sys(err, ENOMEM, "the loop");
    portions->go_on = go_on;
    portions->user = user;
    portions->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = portions->fd < 0 ? -errno
                             : sd_event_add_io(loop, &portions->source, portions->fd, EPOLLIN,
                                               on_turn, portions);
    if (r < 0) {
        portions_close(portions);
        return err_sys(err, -r, "the loop");
    }
    *ret_portions = portions;
    return 0;
}

void portions_begin(struct portions *portions)
{
    /* WHY nothing on failure: a count that is full is readable too. */
    (void)eventfd_write(portions->fd, 1);
}

void portions_close(struct portions *portions)
{
    if (!portions)
        return;
    sd_event_source_disable_unref(portions->source);
    if (portions->fd >= 0)
        close(portions->fd);
    free(portions);
}
