#include "hostagent/switches/sonic/redis_watch.h"

#include "hostagent/switches/sonic/redis.h"
#include "lib/now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PATTERNS 16

struct redis_watch {
    const char *at;
    const char *const *patterns;
    struct redis *redis; /* NULL: lost */
    bool heard;          /* on this connection */
    bool told;           /* that it was lost */
    bool back;           /* it was, and that it is back is not told yet */
    uint64_t first_ns;   /* when the first unreported change came; 0: none */
    int epoll;
    int timer; /* when to report it, or to connect again */
};

static void set_timer(struct redis_watch *watch, uint64_t ns)
{
    const struct itimerspec later = {
        .it_value = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) + 1}};
    timerfd_settime(watch->timer, 0, &later, NULL);
}

/* A load of many rows is reported once, when it pauses. */
static void note_change(struct redis_watch *watch)
{
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    if (!watch->first_ns)
        watch->first_ns = now;
    uint64_t latest = watch->first_ns + (uint64_t)REDIS_WATCH_LATEST_MS * 1000000;
    uint64_t quiet = (uint64_t)REDIS_WATCH_QUIET_MS * 1000000;
    set_timer(watch, now >= latest ? 0 : latest - now < quiet ? latest - now : quiet);
}

static int listen_to(struct redis_watch *watch, int operation)
{
    uint32_t out = redis_writing(watch->redis) ? EPOLLOUT : 0;
    struct epoll_event event = {.events = EPOLLIN | out};
    return epoll_ctl(watch->epoll, operation, redis_fd(watch->redis), &event) < 0 ? -errno : 0;
}

static int seek(struct redis_watch *watch, struct err *err)
{
    const char *words[PATTERNS + 1] = {"PSUBSCRIBE"};
    uint32_t n = 1;
    for (; n <= PATTERNS && watch->patterns[n - 1]; n++)
        words[n] = watch->patterns[n - 1];
    int r = redis_start(watch->at, &watch->redis, err);
    if (r >= 0)
        r = redis_say(watch->redis, n, words, NULL, err);
    if (r >= 0 && listen_to(watch, EPOLL_CTL_ADD) < 0)
        r = err_sys(err, errno, "%s", watch->at);
    watch->heard = false;
    return r;
}

/* Reports it once, and tries again later. */
static int lose(struct redis_watch *watch, int error)
{
    redis_close(watch->redis);
    watch->redis = NULL;
    watch->first_ns = 0; /* a new connection is a change */
    set_timer(watch, (uint64_t)REDIS_WATCH_RETRY_MS * 1000000);
    if (watch->told)
        return 0;
    watch->told = true;
    return error;
}

int redis_watch_open(const char *at, const char *const *patterns, struct redis_watch **ret_watch,
                     struct err *err)
{
    struct redis_watch *watch = calloc(1, sizeof(*watch));
    struct epoll_event event = {.events = EPOLLIN};
    if (!watch)
        return err_sys(err, ENOMEM, "%s", at);
    watch->at = at;
    watch->patterns = patterns;
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int r = watch->epoll < 0 || watch->timer < 0 ||
                    epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watch->timer, &event) < 0
                ? err_sys(err, errno, "listening to %s", at)
                : seek(watch, err);
    if (r < 0) {
        redis_watch_close(watch);
        return r;
    }
    *ret_watch = watch;
    return 0;
}

void redis_watch_close(struct redis_watch *watch)
{
    if (!watch)
        return;
    redis_close(watch->redis);
    if (watch->epoll >= 0)
        close(watch->epoll);
    if (watch->timer >= 0)
        close(watch->timer);
    free(watch);
}

int redis_watch_fd(const struct redis_watch *watch)
{
    return watch->epoll;
}

/* The first message on a new connection counts as a change: some may have been missed. */
static int take_replies(struct redis_watch *watch, struct err *err)
{
    redisReply *reply;
    int r;
    while ((r = redis_next(watch->redis, &reply, err)) > 0) {
        bool list = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
                    reply->element[0]->type == REDIS_REPLY_STRING;
        if (!watch->heard || (list && strcmp(reply->element[0]->str, "pmessage") == 0))
            note_change(watch);
        watch->back = watch->back || watch->told;
        watch->heard = true;
        watch->told = false;
        freeReplyObject(reply);
    }
    return r;
}

static int listen_on(struct redis_watch *watch, struct err *err)
{
    int r = redis_pump(watch->redis, err);
    if (r >= 0)
        r = take_replies(watch, err);
    if (r >= 0 && listen_to(watch, EPOLL_CTL_MOD) < 0)
        r = err_sys(err, errno, "%s", watch->at);
    return r;
}

int redis_watch_notice(struct redis_watch *watch, struct err *err)
{
    uint64_t ticks;
    bool due = read(watch->timer, &ticks, sizeof(ticks)) > 0;
    if (!watch->redis && !due)
        return 0;
    int r = watch->redis ? 0 : seek(watch, err);
    if (r >= 0)
        r = listen_on(watch, err);
    if (r < 0)
        return lose(watch, r);
    if (!due || !watch->first_ns)
        return 0;
    int what = watch->back ? 2 : 1;
    watch->first_ns = 0;
    watch->back = false;
    return what;
}
