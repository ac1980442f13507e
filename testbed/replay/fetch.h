/* Fetches a task's network input: all its parts, over one TCP connection per source address, all
 * sources at once.
 *
 * Each part's content is checked by hash against its stream (stream.h). A connection that breaks,
 * or cannot be opened, is retried for ever, from the offset that was reached, after 50 ms, then
 * after twice as long each time up to 1 s. After stall_ms without a byte the owner is told, but
 * retries go on: only a source that answers can say that an output is missing. The scheduler ends
 * attempts whose source is gone. If something is missing, the fetch waits half a second for further
 * missing outputs, then fails: so a scheduler learns of a whole lost host from one attempt.
 *
 * One thread, in the caller's sd_event loop; never blocks. Owns its sockets. Memory: the parts'
 * requests, one receive buffer. */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "lib/err.h"
#include "testbed/replay/input.h"
#include "testbed/replay/ports.h"

struct fetch;

/* Calls to the owner. The connection and the part are borrowed for the call; do not call
 * fetch_destroy() from it. */
struct fetch_listener {
    void *context;
    /* The first packet of a connection has been handed to the kernel. */
    void (*connecting)(void *context, const struct ports_connection *connection);
    void (*opened)(void *context, const struct ports_connection *connection);
    void (*closed)(void *context, const struct ports_connection *connection);
    /* Once: the first byte of content has arrived, over this connection. */
    void (*first)(void *context, const struct ports_connection *connection);
    void (*missing)(void *context, const struct input_part *part);
    /* This address sent nothing for input->stall_ms, while `others` other ones sent something;
     * repeated while it lasts, each time after twice as long, up to STALL_LONGEST times
     * stall_ms. */
    void (*stalled)(void *context, const char *address, unsigned others);
    /* It sends again. */
    void (*flows)(void *context, const char *address);
    /* Once: err is NULL if everything has arrived; else −ENOENT (parts are missing), −EBADMSG
     * (wrong content), −errno. */
    void (*finished)(void *context, const struct err *err);
};

/* Starts to fetch the parts of `input` (borrowed until destroyed) that have bytes from port `port`
 * of their addresses. Without such parts `finished` comes from the loop at once. 0 or −errno with a
 * sentence. */
int fetch_create(sd_event *event, const struct input *input, uint16_t port,
                 const struct fetch_listener *listener, struct fetch **ret_fetch, struct err *err);

/* Closes everything and reports nothing. NULL is fine. */
void fetch_destroy(struct fetch *fetch);
