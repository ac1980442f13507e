/* An end for tests that wait in an event loop: what has not happened by then fails them. */
#pragma once

#include "tests/unit/test.h"

#include <systemd/sd-event.h>
#include <time.h>

static inline int deadline_passed(sd_event_source *source, uint64_t usec, void *context)
{
    (void)source;
    (void)usec;
    (void)context;
    fail_msg("nothing happened before the deadline");
    return 0;
}

static inline void deadline_set(sd_event *event, uint64_t usec)
{
    assert_true(sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, usec, 1, deadline_passed,
                                           NULL) >= 0);
}
