/* Answers requests for what happened of late (notices.h): a page at once, or when there is
 * something.
 *
 * A client that follows asks for page after page with its place, so a reader that sleeps costs
 * nothing: no message waits for it, and nothing is kept of it. Answers that wait are sent together,
 * EVENTS_PAUSE_MS after the first thing that happens: a flood makes pages and not messages.
 * For the files behind control.h. One thread. */
#pragma once

#include "controller/notices.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#define EVENTS_PAUSE_MS 20
#define EVENTS_WAIT_MS  60000 /* the longest */

struct control;
struct requester;

/* Of one client: where it stands. */
struct event_wait {
    uint32_t kinds;
    struct notices_place place;
    uint64_t until_usec; /* then it is answered, if only with an empty page */
};

/* Of all: answers that wait. */
struct event_waits {
    uint32_t n;
    bool stirred; /* something happened, and the timer is armed for it */
    sd_event_source *timer;
    struct portions *portions;
    uint32_t next; /* the requester that is looked at next */
};

int event_waits_open(struct control *control, struct err *err);
/* Before it was opened, too. */
void event_waits_close(struct control *control);

/* Answers a GetEvents, or holds its answer. */
void events_answer(struct control *control, struct requester *requester,
                   const duopoly_GetEvents *ask);
/* Something may have happened. O(1). */
void event_waits_stir(struct control *control);
/* Its client is gone. */
void event_wait_end(struct control *control, struct requester *requester);
