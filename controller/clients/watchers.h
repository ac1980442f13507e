/* Who is to hear of jobs' ends, and how far each has heard.
 *
 * The WATCHERS_ENDS newest ends are kept, and each watcher has its place among them: it is told the
 * next one when its connection has taken those before, a few at a time beside whatever else is to be
 * done. So nobody loses his connection because many jobs end at once, or because he reads late. Who
 * falls further behind than that is told how many he missed (JobEvent.missed), goes on with the
 * oldest that is kept, and asks the list for the rest; the log says it, once. Who watches one job is
 * told of that one alone.
 *
 * Memory: 500 bytes for each end that is kept. One thread. */
#pragma once

#include "lib/err.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#define WATCHERS_ENDS 8192

struct watchers;

struct watchers_hooks {
    /* Whether the client has taken all that it was sent; from no to yes, watchers_room follows. */
    bool (*has_room)(void *user, uint64_t client);
    void (*send)(void *user, uint64_t client, const duopoly_JobEvent *event);
    /* The client is told that it missed so many. */
    void (*missed)(void *user, uint64_t client, uint64_t ends);
    void *user;
};

/* `places`: of clients, at most. `hooks` is copied. */
int watchers_open(sd_event *loop, uint32_t places, const struct watchers_hooks *hooks,
                  struct watchers **ret_watchers, struct err *err);

/* From now on the client at this place hears of the job's end, or of every job's (0). */
void watchers_add(struct watchers *watchers, uint32_t place, uint64_t client, uint64_t job);
/* It is gone, or never watched. */
void watchers_remove(struct watchers *watchers, uint32_t place);

/* `event` is copied; it is told from the loop, after this has returned. O(1). */
void watchers_job_ended(struct watchers *watchers, const duopoly_JobEvent *event);

/* A client has taken what it was sent. */
void watchers_room(struct watchers *watchers);

/* NULL is fine. */
void watchers_close(struct watchers *watchers);
