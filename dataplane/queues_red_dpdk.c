#include "dataplane/queues_red_dpdk.h"

#include <errno.h>
#include <rte_common.h>
#include <rte_red.h>

/* Of the average, 0.002 (Floyd and Jacobson 1993, 5); and of the packets that are marked before all
 * are, one in ten (Floyd, "RED: Discussions of Setting Parameters", 1997). */
#define WEIGHT_LOG2 9
#define MOST_INV    10
/* rte_red's average has 32 bits: more packets than this count as this many. */
#define WAITING_MOST (2 * RTE_RED_MAX_TH_MAX)

struct red {
    struct rte_red_config config;
    struct rte_red state; /* its q_time stays 0: it gets the time that a queue has rested */
};

_Static_assert(sizeof(struct red) <= sizeof(struct queues_red_state), "it lies in there");
_Static_assert(PORT_RED_MOST == RTE_RED_MAX_TH_MAX, "port.h says what rte_red takes");

static int begin(struct queues_red_state *state, const struct port_queue *queue)
{
    struct red *red = (struct red *)state;
    if (queue->ecn_packets >= queue->red_packets || queue->red_packets > RTE_RED_MAX_TH_MAX ||
        rte_red_config_init(&red->config, WEIGHT_LOG2, (uint16_t)queue->ecn_packets,
                            (uint16_t)queue->red_packets, MOST_INV) != 0)
        return -EINVAL;
    rte_red_rt_data_init(&red->state);
    return 0;
}

static bool asks(struct queues_red_state *state, uint32_t waiting)
{
    struct red *red = (struct red *)state;
    return rte_red_enqueue_nonempty(&red->config, &red->state,
                                    RTE_MIN(waiting, (uint32_t)WAITING_MOST)) != 0;
}

static void rested(struct queues_red_state *state, uint64_t packets)
{
    struct red *red = (struct red *)state;
    rte_red_enqueue_empty(&red->config, &red->state,
                          RTE_MIN(packets, (uint64_t)RTE_RED_2POW16) * RTE_RED_S);
}

const struct queues_red queues_red = {.begin = begin, .asks = asks, .rested = rested};
