#include "controller/clients/watchers.h"

#include "controller/portions.h"
#include "lib/invariant.h"

#include <errno.h>
#include <stdlib.h>

/* Ends that one watcher gets or skips before others have their turn. */
#define TOLD_AT_ONCE   16
#define LOOKED_AT_ONCE 512

struct watcher {
    uint64_t client; /* 0: the place is free */
    uint64_t job;    /* 0: all */
    uint64_t next;   /* the number of the next end for it */
};

struct watchers {
    struct watchers_hooks hooks;
    struct portions *portions;
    struct watcher *watchers; /* by place */
    uint32_t places, watching;
    uint64_t ended; /* the number of the newest end; the first is 1 */
    duopoly_JobEvent ends[WATCHERS_ENDS];
};

static const duopoly_JobEvent *end_at(const struct watchers *watchers, uint64_t number)
{
    return &watchers->ends[number % WATCHERS_ENDS];
}

/* Reports ends that are no longer kept as missed. */
static void missed_tell(struct watchers *watchers, struct watcher *watcher)
{
    uint64_t oldest = watchers->ended < WATCHERS_ENDS ? 1 : watchers->ended - WATCHERS_ENDS + 1;
    if (watcher->next >= oldest)
        return;
    const duopoly_JobEvent event = {.missed = oldest - watcher->next};
    watcher->next = oldest;
    watchers->hooks.send(watchers->hooks.user, watcher->client, &event);
    watchers->hooks.missed(watchers->hooks.user, watcher->client, event.missed);
}

static bool is_for(const struct watcher *watcher, const duopoly_JobEvent *event)
{
    return !watcher->job || watcher->job == event->job;
}

static bool may_hear(const struct watchers *watchers, const struct watcher *watcher)
{
    return watcher->client && watcher->next <= watchers->ended &&
           watchers->hooks.has_room(watchers->hooks.user, watcher->client);
}

/* Reports some ends; returns whether more can be reported now. */
static bool watcher_tell(struct watchers *watchers, struct watcher *watcher)
{
    int told = 0;
    if (!may_hear(watchers, watcher))
        return false;
    missed_tell(watchers, watcher);
    for (int i = 0; i < LOOKED_AT_ONCE && told < TOLD_AT_ONCE && may_hear(watchers, watcher); i++) {
        const duopoly_JobEvent *event = end_at(watchers, watcher->next++);
        if (!is_for(watcher, event))
            continue;
        watchers->hooks.send(watchers->hooks.user, watcher->client, event);
        told++;
    }
    return may_hear(watchers, watcher);
}

static bool on_portion(void *user)
{
    struct watchers *watchers = user;
    bool more = false;
    for (uint32_t place = 0; place < watchers->places; place++)
        more |= watcher_tell(watchers, &watchers->watchers[place]);
    return more;
}

int watchers_open(sd_event *loop, uint32_t places, const struct watchers_hooks *hooks,
                  struct watchers **ret_watchers, struct err *err)
{
    struct watchers *watchers = calloc(1, sizeof(*watchers));
    if (!watchers)
        return err_sys(err, ENOMEM, "those who watch jobs");
    watchers->hooks = *hooks;
    watchers->places = places;
    watchers->watchers = calloc(places, sizeof(*watchers->watchers));
    int r = watchers->watchers ? portions_open(loop, on_portion, watchers, &watchers->portions, err)
                               : err_sys(err, ENOMEM, "those who watch jobs");
    if (r < 0)
        watchers_close(watchers);
    else
        *ret_watchers = watchers;
    return r;
}

/* A client that watches already keeps its place. */
void watchers_add(struct watchers *watchers, uint32_t place, uint64_t client, uint64_t job)
{
    struct watcher *watcher = &watchers->watchers[place];
    if (!watcher->client) {
        watcher->next = watchers->ended + 1;
        watchers->watching++;
    }
    watcher->client = client;
    watcher->job = job;
}

void watchers_remove(struct watchers *watchers, uint32_t place)
{
    struct watcher *watcher = &watchers->watchers[place];
    assert(watchers->watching >= (watcher->client != 0));
    watchers->watching -= watcher->client != 0;
    *watcher = (struct watcher){.client = 0};
}

void watchers_job_ended(struct watchers *watchers, const duopoly_JobEvent *event)
{
    watchers->ended++;
    watchers->ends[watchers->ended % WATCHERS_ENDS] = *event;
    watchers_room(watchers);
}

void watchers_room(struct watchers *watchers)
{
    if (watchers->watching)
        portions_begin(watchers->portions);
}

void watchers_close(struct watchers *watchers)
{
    if (!watchers)
        return;
    portions_close(watchers->portions);
    free(watchers->watchers);
    free(watchers);
}
