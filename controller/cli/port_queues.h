/* `duopolyctl queues HOST`: what each queue of a host's or switch's ports sends, holds, drops and
 * marks now. */
#pragma once

#include "lib/client.h"
#include "lib/writer.h"

/* As asked_write. */
int port_queues_write(struct client *client, const char *host, struct writer *writer,
                      struct err *err);
