/* Tells watchers of jobs' ends, each at its own pace.
 *
 * The WATCHERS_ENDS newest ends are kept, and each watcher has its place among them: it gets the
 * next one when its connection has taken those before, a few at a time between other work. So no
 * watcher loses its connection because many jobs end at once, or because it reads slowly. A watcher
 * that falls further behind is told how many ends it missed (JobEvent.missed), continues with the
 * oldest that is kept, and asks for the list for the rest; this is logged once. A watcher of one
 * job is told of that job only.
 *
 * Memory: 500 bytes for each kept end. One thread. */
#pragma once

#include "lib/err.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#define WATCHERS_ENDS 8192

struct watchers;

struct watchers_hooks {
    /* Whether the client has read everything sent to it; when this becomes true, watchers_room is
     * called. */
    bool (*has_room)(void *user, uint64_t client);
    void (*send)(void *user, uint64_t client, const duopoly_JobEvent *event);
    /* Tells the client how many ends it missed. */
    void (*missed)(void *user, uint64_t client, uint64_t ends);
    void *user;
};

/* `places`: the maximum number of clients. `hooks` is copied. */
int watchers_open(sd_event *loop, uint32_t places, const struct watchers_hooks *hooks,
                  struct watchers **ret_watchers, struct err *err);

/* From now on the client at this place is told of the job's end, or of every job's (0). */
void watchers_add(struct watchers *watchers, uint32_t place, uint64_t client, uint64_t job);
/* It is gone, or never watched. */
void watchers_remove(struct watchers *watchers, uint32_t place);

/* `event` is copied; it is sent from the loop, after this has returned. O(1). */
void watchers_job_ended(struct watchers *watchers, const duopoly_JobEvent *event);

/* A client has read what was sent to it. */
void watchers_room(struct watchers *watchers);

/* NULL is fine. */
void watchers_close(struct watchers *watchers);
