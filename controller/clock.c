#include "controller/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct clock {
    sd_event *loop;
    void (*on_due)(void *user, int64_t now_ns);
    void *user;
    int64_t due_ns;
    sd_event_source *timer; /* real */
    bool scripted;
    int64_t now_ns; /* scripted */
    struct sockaddr_un address;
    int listener, client;
    sd_event_source *listening, *connected;
};

int64_t clock_now_ns(const struct clock *clock)
{
    struct timespec now;
    if (clock->scripted)
        return clock->now_ns;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int clock_arm(struct clock *clock, int64_t due_ns)
{
    if (clock->due_ns == due_ns)
        return 0;
    clock->due_ns = due_ns;
    if (clock->scripted)
        return 0;
    if (due_ns == INT64_MAX)
        return sd_event_source_set_enabled(clock->timer, SD_EVENT_OFF);
    /* The loop counts microseconds: rounded up, so that the deadline has passed when it calls. */
    int r = sd_event_source_set_time(clock->timer, ((uint64_t)due_ns + 999) / 1000);
    return r < 0 ? r : sd_event_source_set_enabled(clock->timer, SD_EVENT_ONESHOT);
}

static void due_tell(struct clock *clock)
{
    clock->due_ns = INT64_MAX;
    clock->on_due(clock->user, clock_now_ns(clock));
}

static int on_timer(sd_event_source *source, uint64_t usec, void *user)
{
    (void)source, (void)usec;
    due_tell(user);
    return 0;
}

static void clock_advance(struct clock *clock, int64_t until_ns)
{
    while (clock->due_ns <= until_ns) {
        if (clock->due_ns > clock->now_ns)
            clock->now_ns = clock->due_ns;
        due_tell(clock);
    }
    if (until_ns > clock->now_ns)
        clock->now_ns = until_ns;
}

static void client_drop(struct clock *clock)
{
    clock->connected = sd_event_source_disable_unref(clock->connected);
    if (clock->client >= 0)
        close(clock->client);
    clock->client = -1;
}

static int on_command(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct clock *clock = user;
    char text[64], answer[96];
    int64_t until_ns;
    (void)source, (void)revents;
    ssize_t length = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    if (length <= 0) {
        client_drop(clock);
        return 0;
    }
    text[length] = '\0';
    if (sscanf(text, "advance %" SCNd64, &until_ns) != 1 || until_ns < clock->now_ns) {
        snprintf(answer, sizeof(answer), "error: send \"advance NS\", not before %" PRId64,
                 clock->now_ns);
    } else {
        clock_advance(clock, until_ns);
        int n = snprintf(answer, sizeof(answer), "now %" PRId64 " due ", clock->now_ns);
        if (clock->due_ns == INT64_MAX)
            snprintf(answer + n, sizeof(answer) - (size_t)n, "never");
        else
            snprintf(answer + n, sizeof(answer) - (size_t)n, "%" PRId64, clock->due_ns);
    }
    send(fd, answer, strlen(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
    return 0;
}

static int on_client(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct clock *clock = user;
    (void)source, (void)revents;
    int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0)
        return 0;
    client_drop(clock);
    clock->client = client;
    return sd_event_add_io(clock->loop, &clock->connected, client, EPOLLIN, on_command, clock);
}

static int scripted_open(struct clock *clock, const char *path, struct err *err)
{
    clock->scripted = true;
    clock->address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof(clock->address.sun_path))
        return err_set(err, ENAMETOOLONG, "%s: too long for a socket", path);
    strcpy(clock->address.sun_path, path);
    clock->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (clock->listener < 0 ||
        bind(clock->listener, (struct sockaddr *)&clock->address, sizeof(clock->address)) < 0) {
        *clock->address.sun_path = '\0';
        return err_sys(err, errno, "cannot listen on %s", path);
    }
    if (listen(clock->listener, 1) < 0)
        return err_sys(err, errno, "cannot listen on %s", path);
    int r =
        sd_event_add_io(clock->loop, &clock->listening, clock->listener, EPOLLIN, on_client, clock);
    return r < 0 ? err_sys(err, -r, "cannot listen on %s", path) : 0;
}

static int real_open(struct clock *clock, struct err *err)
{
    int r = sd_event_add_time(clock->loop, &clock->timer, CLOCK_BOOTTIME, UINT64_MAX, 1, on_timer,
                              clock);
    if (r < 0 || (r = sd_event_source_set_enabled(clock->timer, SD_EVENT_OFF)) < 0)
        return err_sys(err, -r, "no timer");
    return 0;
}

int clock_open(sd_event *loop, const char *path, void (*on_due)(void *user, int64_t now_ns),
               void *user, struct clock **ret_clock, struct err *err)
{
    struct clock *clock = calloc(1, sizeof(*clock));
    if (!clock)
        return err_sys(err, ENOMEM, "no clock");
    clock->loop = sd_event_ref(loop);
    clock->on_due = on_due;
    clock->user = user;
    clock->due_ns = INT64_MAX;
    clock->listener = clock->client = -1;
    int r = path ? scripted_open(clock, path, err) : real_open(clock, err);
    if (r < 0) {
        clock_close(clock);
        return r;
    }
    *ret_clock = clock;
    return 0;
}

void clock_close(struct clock *clock)
{
    if (!clock)
        return;
    client_drop(clock);
    sd_event_source_disable_unref(clock->listening);
    sd_event_source_disable_unref(clock->timer);
    if (clock->listener >= 0)
        close(clock->listener);
    if (*clock->address.sun_path)
        unlink(clock->address.sun_path);
    sd_event_unref(clock->loop);
    free(clock);
}
