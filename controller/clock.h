/* The controller's time: nanoseconds that never go back, and one call when a deadline has come.
 *
 * Real: CLOCK_BOOTTIME. Scripted: a test or a simulator controls the clock. It connects to a Unix
 * socket (SOCK_SEQPACKET) and sends "advance NS"; the clock jumps from deadline to deadline up to
 * NS, calling each, and answers "now NS due NS|never". Everything else (sockets, sessions,
 * decoders) works as in operation. One client at a time; whatever else is sent is answered "error
 * …". All calls in the loop's thread. */
#pragma once

#include "lib/err.h"

#include <stdint.h>
#include <systemd/sd-event.h>

struct clock;

/* `on_due` is called at or after an armed deadline, once per arming. `path` NULL: real time; else
 * the scripted clock's socket, which begins at 0. */
int clock_open(sd_event *loop, const char *path, void (*on_due)(void *user, int64_t now_ns),
               void *user, struct clock **ret_clock, struct err *err);

int64_t clock_now_ns(const struct clock *clock);

/* Replaces the deadline; INT64_MAX: none. */
int clock_arm(struct clock *clock, int64_t due_ns);

/* NULL is fine. */
void clock_close(struct clock *clock);
