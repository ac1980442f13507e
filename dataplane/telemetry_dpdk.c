#include "dataplane/telemetry_dpdk.h"

#include <errno.h>
#include <pthread.h>
#include <rte_common.h>
#include <rte_telemetry.h>
#include <stddef.h>
#include <string.h>

/* DPDK hands its callbacks nothing of ours. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker *asked; /* NULL: it has ended */

static int stats_get(struct worker_stats *ret_stats)
{
    pthread_mutex_lock(&lock);
    const int r = asked ? worker_stats(asked, ret_stats) : -ESHUTDOWN;
    pthread_mutex_unlock(&lock);
    return r;
}

static int side_get(const char *name, struct worker_stats *stats,
                    const struct worker_side **ret_side)
{
    for (int i = 0; i < SIDES; i++)
        if (name && strcmp(name, fastpath_side_names[i]) == 0) {
            *ret_side = &stats->sides[i];
            return stats_get(stats);
        }
    return -ENOENT;
}

static int on_ports(const char *command, const char *parameters, struct rte_tel_data *data)
{
    (void)command, (void)parameters;
    int r = rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
    for (int i = 0; i < SIDES && r == 0; i++)
        r = rte_tel_data_add_array_string(data, fastpath_side_names[i]);
    return r;
}

struct number {
    const char *name;
    uint64_t value;
};

static int numbers(struct rte_tel_data *data, const struct number *list, size_t n)
{
    int r = rte_tel_data_start_dict(data);
    for (size_t i = 0; i < n && r == 0; i++)
        r = rte_tel_data_add_dict_u64(data, list[i].name, list[i].value);
    return r;
}

static int on_port(const char *command, const char *side_name, struct rte_tel_data *data)
{
    struct worker_stats stats;
    const struct worker_side *side;
    (void)command;
    int r = side_get(side_name, &stats, &side);
    if (r < 0)
        return r;
    const struct number list[] = {{"came_packets", side->came_packets},
                                  {"went_packets", side->went_packets},
                                  {"too_long_packets", side->too_long_packets},
                                  {"queues", side->queues_n}};
    return numbers(data, list, RTE_DIM(list));
}

static int add_queues(struct rte_tel_data *data, const char *name, const uint64_t *values,
                      uint32_t n)
{
    struct rte_tel_data *array = rte_tel_data_alloc();
    if (!array)
        return -ENOMEM;
    int r = rte_tel_data_start_array(array, RTE_TEL_U64_VAL);
    for (uint32_t i = 0; i < n && r == 0; i++)
        r = rte_tel_data_add_array_u64(array, values[i]);
    if (r == 0)
        r = rte_tel_data_add_dict_container(data, name, array, 0);
    if (r < 0)
        rte_tel_data_free(array);
    return r;
}

static int on_queues(const char *command, const char *side_name, struct rte_tel_data *data)
{
    static const struct {
        const char *name;
        size_t offset;
    } counters[] = {
        {"in_packets", offsetof(struct queue_counters, in_packets)},
        {"out_packets", offsetof(struct queue_counters, out_packets)},
        {"out_bytes", offsetof(struct queue_counters, out_bytes)},
        {"dropped_packets", offsetof(struct queue_counters, dropped_packets)},
        {"marked_packets", offsetof(struct queue_counters, marked_packets)},
    };
    struct worker_stats stats;
    const struct worker_side *side;
    uint64_t values[PORT_TRAFFIC];
    (void)command;
    int r = side_get(side_name, &stats, &side);
    if (r == 0)
        r = rte_tel_data_start_dict(data);
    for (size_t i = 0; i < RTE_DIM(counters) && r == 0; i++) {
        for (uint32_t q = 0; q < side->queues_n; q++)
            memcpy(&values[q], (const char *)&side->queues[q] + counters[i].offset,
                   sizeof(values[q]));
        r = add_queues(data, counters[i].name, values, side->queues_n);
    }
    if (r < 0)
        return r;
    for (uint32_t q = 0; q < side->queues_n; q++)
        values[q] = side->waiting[q];
    return add_queues(data, "waiting", values, side->queues_n);
}

static int on_flows(const char *command, const char *parameters, struct rte_tel_data *data)
{
    struct worker_stats stats;
    (void)command, (void)parameters;
    int r = stats_get(&stats);
    if (r < 0)
        return r;
    const struct number list[] = {{"alive", stats.flows_alive},
                                  {"made", stats.flows.made},
                                  {"ended", stats.flows.ended},
                                  {"evictions", stats.flows.evictions}};
    return numbers(data, list, RTE_DIM(list));
}

static int on_worker(const char *command, const char *parameters, struct rte_tel_data *data)
{
    struct worker_stats stats;
    uint64_t packets = 0;
    (void)command, (void)parameters;
    int r = stats_get(&stats);
    if (r < 0)
        return r;
    for (int i = 0; i < SIDES; i++)
        packets += stats.sides[i].came_packets;
    const struct number list[] = {{"sleeps", stats.sleeps},
                                  {"busy_cycles", stats.busy_cycles},
                                  {"cycles_a_packet", packets ? stats.busy_cycles / packets : 0}};
    return numbers(data, list, RTE_DIM(list));
}

int telemetry_begin(struct worker *worker, struct err *err)
{
    static const struct {
        const char *command, *help;
        telemetry_cb answer;
    } commands[] = {
        {"/duopoly/ports", "Names of the sides. No parameter.", on_ports},
        {"/duopoly/port", "Frames of a side. Parameter: host or network.", on_port},
        {"/duopoly/queues", "Counters of a side's queues. Parameter: host or network.", on_queues},
        {"/duopoly/flows", "The table of connections. No parameter.", on_flows},
        {"/duopoly/worker", "Sleeps and cycles. No parameter.", on_worker},
    };
    asked = worker;
    for (size_t i = 0; i < RTE_DIM(commands); i++) {
        int r =
            rte_telemetry_register_cmd(commands[i].command, commands[i].answer, commands[i].help);
        if (r < 0)
            return err_sys(err, -r, "telemetry: %s", commands[i].command);
    }
    return 0;
}

void telemetry_end(void)
{
    pthread_mutex_lock(&lock);
    asked = NULL;
    pthread_mutex_unlock(&lock);
}
