/* The controller's state for who wants to run it on elsewhere (schemas/recording.md, "A state"): a
 * forked child writes it into a pipe (recording/recording_dump.h), and whoever asked for it takes
 * it from there, piece by piece.
 *
 * The loop waits for nothing but the fork, before which a thread moves memory into huge pages
 * (recording/recording_pages.h): it reads what the pipe has, and the kernel tells when there is
 * more, and when the child has ended.
 *
 * Bounds. One state at a time. The child waits while the pipe is full, so nothing of it is kept
 * here; but a page of ours that we write meanwhile is copied. So it is ended when its taker takes
 * nothing for STATE_DUMP_PAUSE_MS, or when it itself writes nothing for so long, and in any case
 * STATE_DUMP_MS after its begin. Forks take at most 1/STATE_DUMP_SHARE of the loop's time: after
 * one that took the processor for 2 ms (10⁶ tasks) none begins for 0.1 s. One that takes over 5 ms
 * is in the log. One thread. */
#pragma once

#include "controller/clock.h"
#include "controller/engine/engine.h"
#include "lib/err.h"

#include <sys/types.h>
#include <systemd/sd-event.h>

#define STATE_DUMP_PAUSE_MS 5000
#define STATE_DUMP_MS       60000
#define STATE_DUMP_SHARE    50

struct state_dump;

/* `loop`, `engine` and its clock are borrowed until close. `ready` is called from the loop, for a
 * taker that got −EAGAIN. SIGCHLD is set to its default. −errno. */
int state_dump_open(sd_event *loop, const struct engine *engine, const struct clock *clock,
                    void (*ready)(void *user, uint64_t taker), void *user,
                    struct state_dump **ret_dump, struct err *err);
/* Ends the child and waits for it. NULL is fine. */
void state_dump_close(struct state_dump *dump);

/* Begins to write the state for `taker` (not 0), as it is when memory is ready for the fork; one
 * that it had is dropped. With a sentence: −EBUSY: not now, but in some seconds; else −errno. */
int state_dump_begin(struct state_dump *dump, uint64_t taker, struct err *err);

/* Whether the taker has taken so many bytes of one that it began, and can take the next. */
bool state_dump_goes_on(const struct state_dump *dump, uint64_t taker, uint64_t taken);

/* The next bytes, for whom it was begun: their number; 0: that was all, and it is over; −EAGAIN:
 * not yet, `ready` follows; else −errno with a sentence: it failed and is over. */
ssize_t state_dump_take(struct state_dump *dump, uint8_t *buffer, size_t size, struct err *err);

/* The taker is gone; it may be another's, or nobody's. */
void state_dump_leave(struct state_dump *dump, uint64_t taker);
