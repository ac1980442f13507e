/* The workers' part of a capture (pcapng.h). */
#pragma once

#include "dataplane/pcapng.h"

#include <rte_mbuf.h>

void pcapng_take(struct pcapng *capture, uint32_t port, uint16_t device,
                 const struct rte_mbuf *packet, bool out);
