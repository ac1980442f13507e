#include "hostagent/queues/leaf.h"

#include <linux/pkt_sched.h>
#include <stdio.h>
#include <string.h>

#define ETHERNET_BYTES 14
#define BYTES_MOST     (1u << 30)
#define NOW            0  /* Wlog: the average is what waits now */
#define EMPTY          31 /* an idle queue is empty at once */

static uint32_t at_most(uint64_t bytes)
{
    return (uint32_t)(bytes < BYTES_MOST ? bytes : BYTES_MOST);
}

struct leaf leaf_of(const struct port *port, const struct port_queue *queue)
{
    uint64_t frame = port->mtu_bytes + ETHERNET_BYTES;
    uint64_t millisecond = port->link_bps / 8000, bytes = queue->packets * frame;
    if (!queue->ecn_packets)
        return (struct leaf){.limit = queue->packets};
    return (struct leaf){.limit = at_most(bytes > millisecond ? bytes : millisecond),
                         .mark_bytes = at_most(queue->ecn_packets * frame)};
}

void leaf_say(const struct leaf *leaf, char *text, size_t size)
{
    if (leaf->mark_bytes)
        snprintf(text, size, "red of %u bytes, marks above %u", leaf->limit, leaf->mark_bytes);
    else
        snprintf(text, size, "pfifo of %u packets", leaf->limit);
}

bool leaf_equal(const struct leaf *a, const struct leaf *b)
{
    return a->limit == b->limit && a->mark_bytes == b->mark_bytes;
}

void leaf_red_options(const struct leaf *leaf, struct tc_red_qopt *ret_options,
                      uint8_t ret_stab[LEAF_STAB])
{
    *ret_options = (struct tc_red_qopt){.limit = leaf->limit,
                                        .qth_min = leaf->mark_bytes,
                                        .qth_max = leaf->mark_bytes + 1,
                                        .Wlog = NOW,
                                        .flags = TC_RED_ECN};
    memset(ret_stab, EMPTY, LEAF_STAB);
}

struct leaf leaf_of_red(const struct tc_red_qopt *options)
{
    if (options->Wlog != NOW || options->qth_max != options->qth_min + 1 ||
        !(options->flags & TC_RED_ECN))
        return (struct leaf){0};
    return (struct leaf){.limit = options->limit, .mark_bytes = options->qth_min};
}
