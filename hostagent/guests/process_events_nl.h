/* Which processes become another program, as the kernel tells it at once: its process connector
 * (NETLINK_CONNECTOR, CN_IDX_PROC; Linux ≥ 2.6.15, since 6.6 only what is asked for is sent).
 *
 * It speaks only in the first network, process and user namespaces, and needs CAP_NET_ADMIN: who
 * cannot have it looks at /proc instead. Told are numbers, which may be nobody's or somebody else's
 * when they arrive (process.h). One thread, in the sd-event loop; nothing blocks. */
#pragma once

#include "lib/err.h"

#include <sys/types.h>
#include <systemd/sd-event.h>

struct process_events;

struct process_events_handler {
    void (*on_exec)(void *user, pid_t pid);
    void (*on_lost)(void *user); /* some were not told: there were too many */
    void *user;
};

/* −errno with why there is none. */
int process_events_open(sd_event *event, const struct process_events_handler *handler,
                        struct process_events **ret_events, struct err *err);
void process_events_close(struct process_events *events); /* takes NULL */
