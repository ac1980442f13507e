/* Reports at once which processes execute a program: the kernel's process connector
 * (NETLINK_CONNECTOR, CN_IDX_PROC; Linux ≥ 2.6.15, since 6.6 only what is asked for is sent).
 *
 * It works only in the initial network, process and user namespaces, and needs CAP_NET_ADMIN;
 * without it, scan /proc instead. It reports process numbers, which may be unused or reused when
 * they arrive (process.h). One thread, in the sd-event loop; nothing blocks. */
#pragma once

#include "lib/err.h"

#include <sys/types.h>
#include <systemd/sd-event.h>

struct process_events;

struct process_events_handler {
    void (*on_exec)(void *user, pid_t pid);
    void (*on_lost)(void *user); /* some were lost: there were too many */
    void *user;
};

/* −errno with the reason. */
int process_events_open(sd_event *event, const struct process_events_handler *handler,
                        struct process_events **ret_events, struct err *err);
void process_events_close(struct process_events *events); /* takes NULL */
