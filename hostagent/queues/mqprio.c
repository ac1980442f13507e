#include "hostagent/queues/mqprio.h"

#include "hostagent/queues/qdisc.h"

#include <string.h>

static uint8_t class_of(const struct port *want, uint32_t queue)
{
    return (uint8_t)(want->queues_n - 1 - queue);
}

void mqprio_options(const struct port *want, uint32_t tx_queues, struct tc_mqprio_qopt *ret_options)
{
    struct tc_mqprio_qopt options = {.num_tc = (uint8_t)want->queues_n,
                                     .hw = TC_MQPRIO_HW_OFFLOAD_TCS};
    uint32_t each = tx_queues / want->queues_n;
    memset(options.prio_tc_map, class_of(want, want->queue_of[TRAFFIC_UNMANAGED]),
           sizeof(options.prio_tc_map));
    for (uint32_t traffic = 0; traffic < PORT_TRAFFIC; traffic++)
        options.prio_tc_map[QDISC_MINOR(traffic) & TC_QOPT_BITMASK] =
            class_of(want, want->queue_of[traffic]);
    for (uint32_t class = 0; class < want->queues_n; class ++) {
        options.offset[class] = (uint16_t)(class * each);
        options.count[class] =
            (uint16_t)(class + 1 == want->queues_n ? tx_queues - class * each : each);
    }
    *ret_options = options;
}

void mqprio_entries(const struct port *want, struct dcb_table *ret_table)
{
    memset(ret_table, DCB_NONE, sizeof(*ret_table));
    for (int dscp = 0; dscp < PORT_CODE_POINTS; dscp++)
        ret_table->priority_of[dscp] = class_of(want, want->queue_of_dscp[dscp]);
}

int mqprio_first(const struct tc_mqprio_qopt *options, uint32_t class)
{
    for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++)
        if (options->prio_tc_map[QDISC_MINOR(traffic) & TC_QOPT_BITMASK] == class)
            return traffic;
    return -1;
}
