/* The replay's server of map outputs and input blocks: one per map host, outside the slots, one
 * fixed port.
 *
 * Serves content (stream.h) to requests (exchange.h): an output only if this very attempt ran here
 * and its output is still held (registry.h); any block (the scheduler knows where replicas are). It
 * asks the registry once for each request, so its answer is true when it is given.
 *
 * One thread, one sd_event loop; blocks only on the registry's files. Memory: a few hundred bytes a
 * connection; the kernel's send buffers are kept short (content is made when it can leave). Over
 * SERVE_CONNECTIONS_MAX a new connection is closed at once: the task tries again. */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "lib/err.h"

enum { SERVE_CONNECTIONS_MAX = 16384 };

struct serve;

/* Listens on `port` of all addresses (0: one that the kernel chooses). `registry` is borrowed until
 * destroyed. 0 or −errno with a sentence. */
int serve_create(sd_event *event, uint16_t port, const char *registry, struct serve **ret_serve,
                 struct err *err);

/* The port it listens on. */
uint16_t serve_port(const struct serve *serve);

/* Closes everything. NULL is fine. */
void serve_destroy(struct serve *serve);
