#include "lib/await.h"

#include "lib/log.h"
#include "lib/loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#define EACH_US UINT64_C(1000000)

struct waiting {
    int (*there)(void *user, struct err *err);
    void *user;
    struct err *err; /* borrowed: the last sentence */
    char told[sizeof(((struct err *)0)->text)];
    int said;
    int read_only_s; /* seconds that it was so */
};

static bool may_come(int said)
{
    return said == -ENODEV || said == -ENETDOWN || said == -EROFS;
}

static void tell(struct waiting *waiting)
{
    if (strcmp(waiting->told, waiting->err->text) == 0)
        return;
    strcpy(waiting->told, waiting->err->text);
    log_warning(LOG_FAULT_CONFIGURATION, "%s: waiting for it", waiting->told);
    sd_notifyf(0, "READY=1\nSTATUS=%s: waiting for it", waiting->told);
}

static int on_time(sd_event_source *source, uint64_t now_us, void *user)
{
    struct waiting *waiting = user;
    waiting->said = waiting->there(waiting->user, waiting->err);
    waiting->read_only_s += waiting->said == -EROFS;
    if (!may_come(waiting->said) || waiting->read_only_s > AWAIT_READ_ONLY_S)
        return sd_event_exit(sd_event_source_get_event(source), 1);
    tell(waiting);
    sd_event_source_set_time(source, now_us + EACH_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int wait_on(struct waiting *waiting)
{
    sd_event *loop = NULL;
    int r = loop_open(&loop, waiting->err);
    if (r >= 0)
        r = sd_event_add_time_relative(loop, NULL, CLOCK_MONOTONIC, EACH_US, 0, on_time, waiting);
    if (r >= 0)
        r = sd_event_loop(loop);
    sd_event_unref(loop);
    if (r == 0) {
        sd_notify(0, "STOPPING=1");
        return err_set(waiting->err, ECANCELED, "%s: ended while waiting for it", waiting->told);
    }
    if (r == 1 && waiting->said >= 0) {
        log_note("it is there: going on");
        sd_notify(0, "STATUS=");
    }
    return r == 1 ? waiting->said : r < 0 ? err_sys(waiting->err, -r, "waiting") : r;
}

int await(int (*there)(void *user, struct err *err), void *user, struct err *err)
{
    struct waiting waiting = {.there = there, .user = user, .err = err};
    waiting.said = there(user, err);
    if (!may_come(waiting.said))
        return waiting.said;
    tell(&waiting);
    return wait_on(&waiting);
}
