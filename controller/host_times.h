/* Since when hosts are as they are, for people: how each last came or went, since when it is
 * drained, when it last reported its load, and since when that is high; and since when the network
 * is congested, or is not.
 *
 * It follows the engine's events as they pass, so it knows of nothing that was before this
 * controller's start (0). No decision depends on it. Out of memory, it knows of fewer hosts. O(1)
 * for each event. */
#pragma once

#include "controller/listeners.h"

struct load_time {
    int64_t told_ns;  /* the last report; 0: none */
    int64_t since_ns; /* since when it is high; 0: it is not. A link is high from over
                         congested_permille until it is below cleared_permille; a disk while more
                         than it has is asked of it */
};

struct host_time {
    enum event_kind came; /* HOST_JOIN, HOST_BACK, HOST_SILENT, HOST_LOST, or HOST_DRAIN when its
                             drain was undone */
    int64_t came_ns;      /* 0: not known */
    int64_t drained_ns;   /* 0: it is not drained, or since before */
    struct load_time load[3]; /* by enum host_load_resource */
};

struct host_times {
    const struct engine *engine; /* borrowed; the rest is zero to begin with */
    struct host_time *at;        /* by host */
    uint32_t n;
    bool congested;
    int64_t congested_ns; /* since when it is so; 0: not known */
};

/* `user` is the struct host_times. */
extern const struct listener host_times_listener;

/* Of that host; all zero: nothing is known. */
struct host_time host_time_of(const struct host_times *times, uint32_t host);
void host_times_done(struct host_times *times);
