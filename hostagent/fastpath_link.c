#include "hostagent/fastpath_link.h"

#include "lib/client.h"
#include "lib/now.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)

struct fastpath_link {
    char path[108];
    int wait_ms;
    struct client *client; /* NULL: it is lost */
    bool back;             /* again, not reported yet */
    int epoll, timer;
    uint64_t paused_until_ns;
    duopoly_Reason refusal;
    duopoly_Envelope request;
};

static void set_timer(struct fastpath_link *link, long ms)
{
    const struct itimerspec time = {.it_value = {ms / 1000, ms % 1000 * 1000000}};
    timerfd_settime(link->timer, 0, &time, NULL);
}

/* Its descriptor leaves the epoll set by being closed. */
static void lose(struct fastpath_link *link)
{
    client_close(link->client);
    link->client = NULL;
    link->back = false;
    set_timer(link, FASTPATH_LINK_RETRY_MS);
}

static int fail_connect(int r, const char *path, struct err *err)
{
    return r == -ENOENT || r == -ECONNREFUSED
               ? err_set(err, -r, "no data plane listens on %s; is duopoly-fastpath running?", path)
               : r;
}

static int seek(struct fastpath_link *link, struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP};
    int r = client_open(link->path, &link->client, err);
    if (r < 0) {
        link->client = NULL;
        return fail_connect(r, link->path, err);
    }
    client_patience(link->client, link->wait_ms);
    if (epoll_ctl(link->epoll, EPOLL_CTL_ADD, client_fd(link->client), &event) < 0)
        return err_sys(err, errno, "watching %s", link->path);
    return 0;
}

int fastpath_link_create(const char *path, int wait_ms, struct fastpath_link **ret_link,
                         struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct fastpath_link *link = calloc(1, sizeof(*link));
    if (!link)
        return err_sys(err, ENOMEM, "%s", path);
    link->wait_ms = wait_ms;
    snprintf(link->path, sizeof(link->path), "%s", path);
    link->epoll = epoll_create1(EPOLL_CLOEXEC);
    link->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (link->epoll < 0 || link->timer < 0 ||
        epoll_ctl(link->epoll, EPOLL_CTL_ADD, link->timer, &event) < 0) {
        int r = err_sys(err, errno, "watching %s", path);
        fastpath_link_close(link);
        return r;
    }
    set_timer(link, 1);
    *ret_link = link;
    return 0;
}

int fastpath_link_open(const char *path, int wait_ms, struct fastpath_link **ret_link,
                       struct err *err)
{
    struct fastpath_link *link;
    int r = fastpath_link_create(path, wait_ms, &link, err);
    if (r < 0)
        return r;
    set_timer(link, 0);
    r = seek(link, err);
    if (r < 0)
        fastpath_link_close(link);
    else
        *ret_link = link;
    return r;
}

void fastpath_link_close(struct fastpath_link *link)
{
    if (!link)
        return;
    client_close(link->client);
    if (link->timer >= 0)
        close(link->timer);
    if (link->epoll >= 0)
        close(link->epoll);
    free(link);
}

duopoly_Envelope *fastpath_link_request(struct fastpath_link *link, pb_size_t kind)
{
    return wire_begin(&link->request, kind);
}

static int fail_ended(const struct fastpath_link *link, struct err *err)
{
    return err_set(err, ECONNRESET, "the data plane at %s has ended", link->path);
}

static int fail_hung(const struct fastpath_link *link, struct err *err)
{
    return err_set(err, ETIMEDOUT, "the data plane at %s did not answer within %d ms", link->path,
                   link->wait_ms);
}

static int call(struct fastpath_link *link, pb_size_t answer_kind,
                const duopoly_Envelope **ret_answer, struct err *err)
{
    *client_request(link->client, link->request.which_body) = link->request;
    int r = client_call(link->client, answer_kind, ret_answer, err);
    if (r == -EREMOTEIO)
        link->refusal = client_refusal(link->client);
    else if (r < 0)
        lose(link);
    if (r == -ETIMEDOUT) {
        link->paused_until_ns = now_ns(CLOCK_MONOTONIC) + FASTPATH_LINK_PAUSE_MS * NS_PER_MS;
        return fail_hung(link, err);
    }
    return r == -ECONNRESET ? fail_ended(link, err) : r;
}

/* A data plane that ended the connection since may be back. */
int fastpath_link_call(struct fastpath_link *link, pb_size_t answer_kind,
                       const duopoly_Envelope **ret_answer, struct err *err)
{
    if (now_ns(CLOCK_MONOTONIC) < link->paused_until_ns)
        return fail_hung(link, err);
    if (link->client) {
        int r = call(link, answer_kind, ret_answer, err);
        if (r != -ECONNRESET)
            return r;
    }
    int r = seek(link, err);
    if (r < 0)
        return r;
    link->back = true;
    set_timer(link, 1);
    return call(link, answer_kind, ret_answer, err);
}

duopoly_Reason fastpath_link_refusal(const struct fastpath_link *link)
{
    return link->refusal;
}

int fastpath_link_fd(const struct fastpath_link *link)
{
    return link->epoll;
}

/* Nothing comes unrequested: anything readable is the end. */
static bool has_ended(const struct fastpath_link *link)
{
    struct pollfd look = {client_fd(link->client), POLLIN | POLLRDHUP, 0};
    return poll(&look, 1, 0) > 0;
}

int fastpath_link_notice(struct fastpath_link *link, struct err *err)
{
    uint64_t times;
    bool is_time = read(link->timer, &times, sizeof(times)) > 0;
    if (link->client && has_ended(link)) {
        lose(link);
        return fail_ended(link, err);
    }
    if (!link->client && is_time && now_ns(CLOCK_MONOTONIC) < link->paused_until_ns)
        set_timer(link, FASTPATH_LINK_RETRY_MS);
    else if (!link->client && is_time) {
        link->back = seek(link, NULL) == 0;
        if (!link->back)
            lose(link);
    }
    bool back = link->back;
    link->back = false;
    return back;
}
