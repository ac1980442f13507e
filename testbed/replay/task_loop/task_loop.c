/* The calls of sd-event (systemd/sd-event.h) that a task of the replay uses, for programs that are
 * linked statically.
 *
 * WHY: a task lives for milliseconds, and loading libsystemd with the ten libraries that it brings
 * costs more than all that the task does; Debian has no static libsystemd. With the same names, the
 * fetch runs in the server's loop in tests and in this one in a task, unchanged.
 *
 * As in that manual page: timers are CLOCK_MONOTONIC and fire once, at their time (accuracy does
 * not delay them); sources of I/O stay on; a source may be dropped while its own handler runs; what
 * has no `ret` lives as long as the loop. Unlike there, a handler that returns < 0 ends the loop
 * with that result. One thread. O(timers) a turn. Linux 5.11. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#define USEC_NEVER UINT64_MAX

struct sd_event_source {
    LIST_ENTRY(sd_event_source) all;
    sd_event *event;
    int fd; /* −1: a timer */
    uint32_t events;
    uint64_t usec; /* USEC_NEVER: off */
    sd_event_io_handler_t on_io;
    sd_event_time_handler_t on_time;
    void *userdata;
};

struct sd_event {
    unsigned references;
    int epoll, exit_code;
    bool exiting;
    uint64_t now_usec;
    LIST_HEAD(, sd_event_source) sources;
};

static uint64_t clock_usec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000;
}

int sd_event_new(sd_event **ret)
{
    sd_event *event = calloc(1, sizeof(*event));
    if (!event)
        return -ENOMEM;
    event->references = 1;
    event->now_usec = clock_usec();
    LIST_INIT(&event->sources);
    event->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (event->epoll < 0) {
        free(event);
        return -errno;
    }
    *ret = event;
    return 0;
}

sd_event *sd_event_ref(sd_event *event)
{
    if (event)
        event->references++;
    return event;
}

static void source_free(sd_event_source *source)
{
    if (source->fd >= 0 && source->events)
        epoll_ctl(source->event->epoll, EPOLL_CTL_DEL, source->fd, NULL);
    LIST_REMOVE(source, all);
    free(source);
}

sd_event *sd_event_unref(sd_event *event)
{
    if (!event || --event->references > 0)
        return NULL;
    while (!LIST_EMPTY(&event->sources))
        source_free(LIST_FIRST(&event->sources));
    close(event->epoll);
    free(event);
    return NULL;
}

int sd_event_now(sd_event *event, clockid_t clock, uint64_t *ret_usec)
{
    if (clock != CLOCK_MONOTONIC)
        return -EOPNOTSUPP;
    *ret_usec = event->now_usec;
    return 0;
}

int sd_event_exit(sd_event *event, int code)
{
    event->exiting = true;
    event->exit_code = code;
    return 0;
}

static sd_event_source *next_timer(const sd_event *event)
{
    sd_event_source *source, *first = NULL;
    LIST_FOREACH (source, &event->sources, all)
        if (source->fd < 0 && source->usec != USEC_NEVER && (!first || source->usec < first->usec))
            first = source;
    return first;
}

/* At most one event, so that no source of a later one is dropped meanwhile. */
static int wait_io(sd_event *event, const sd_event_source *timer)
{
    uint64_t wait = timer && timer->usec > event->now_usec ? timer->usec - event->now_usec : 0;
    const struct timespec limit = {.tv_sec = (time_t)(wait / 1000000),
                                   .tv_nsec = (long)(wait % 1000000 * 1000)};
    struct epoll_event ready;
    int n = epoll_pwait2(event->epoll, &ready, 1, timer ? &limit : NULL, NULL);
    event->now_usec = clock_usec();
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    if (n == 0)
        return 0;
    sd_event_source *source = ready.data.ptr;
    return source->on_io(source, source->fd, ready.events, source->userdata);
}

static int turn(sd_event *event)
{
    sd_event_source *timer = next_timer(event);
    event->now_usec = clock_usec(); /* a handler may have taken long */
    if (!timer || timer->usec > event->now_usec)
        return wait_io(event, timer);
    uint64_t usec = timer->usec;
    timer->usec = USEC_NEVER;
    return timer->on_time(timer, usec, timer->userdata);
}

int sd_event_loop(sd_event *event)
{
    int r = 0;
    sd_event_ref(event);
    while (!event->exiting && r >= 0)
        r = turn(event);
    int code = event->exit_code;
    sd_event_unref(event);
    return r < 0 ? r : code;
}

static sd_event_source *source_new(sd_event *event, void *userdata)
{
    sd_event_source *source = calloc(1, sizeof(*source));
    if (!source)
        return NULL;
    *source = (sd_event_source){.event = event, .fd = -1, .usec = USEC_NEVER, .userdata = userdata};
    LIST_INSERT_HEAD(&event->sources, source, all);
    return source;
}

int sd_event_add_io(sd_event *event, sd_event_source **ret, int fd, uint32_t events,
                    sd_event_io_handler_t handler, void *userdata)
{
    sd_event_source *source = source_new(event, userdata);
    if (!source)
        return -ENOMEM;
    source->on_io = handler;
    struct epoll_event wanted = {.events = events, .data.ptr = source};
    if (epoll_ctl(event->epoll, EPOLL_CTL_ADD, fd, &wanted) < 0) {
        int code = errno;
        source_free(source);
        return -code;
    }
    source->fd = fd;
    source->events = events;
    if (ret)
        *ret = source;
    return 0;
}

int sd_event_add_time_relative(sd_event *event, sd_event_source **ret, clockid_t clock,
                               uint64_t usec, uint64_t accuracy, sd_event_time_handler_t handler,
                               void *userdata)
{
    (void)accuracy;
    if (clock != CLOCK_MONOTONIC)
        return -EOPNOTSUPP;
    sd_event_source *source = source_new(event, userdata);
    if (!source)
        return -ENOMEM;
    source->on_time = handler;
    source->usec = clock_usec() + usec;
    if (ret)
        *ret = source;
    return 0;
}

int sd_event_source_set_io_events(sd_event_source *source, uint32_t events)
{
    struct epoll_event wanted = {.events = events, .data.ptr = source};
    if (events == source->events)
        return 0;
    if (epoll_ctl(source->event->epoll, EPOLL_CTL_MOD, source->fd, &wanted) < 0)
        return -errno;
    source->events = events;
    return 0;
}

/* After it has fired: fires once more, at `usec`. */
int sd_event_source_set_time(sd_event_source *source, uint64_t usec)
{
    source->usec = usec;
    return 0;
}

/* Setting a timer turns it on, so only turning off is left. */
int sd_event_source_set_enabled(sd_event_source *source, int enabled)
{
    if (source->fd >= 0)
        return -EOPNOTSUPP;
    if (enabled == SD_EVENT_OFF)
        source->usec = USEC_NEVER;
    return 0;
}

sd_event_source *sd_event_source_disable_unref(sd_event_source *source)
{
    if (source)
        source_free(source);
    return NULL;
}
