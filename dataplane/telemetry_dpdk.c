#include "dataplane/telemetry_dpdk.h"

#include <errno.h>
#include <pthread.h>
#include <rte_common.h>
#include <rte_telemetry.h>
#include <stddef.h>
#include <string.h>

/* DPDK hands its callbacks nothing of ours. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct workers *asked; /* NULL: it has ended */

static int stats_get(struct workers_stats *ret_stats)
{
    pthread_mutex_lock(&lock);
    const int r = asked ? workers_stats(asked, ret_stats) : -ESHUTDOWN;
    pthread_mutex_unlock(&lock);
    return r;
}

/* Names do not change while a worker is there. */
static const struct egress *names(void)
{
    static const struct egress none;
    pthread_mutex_lock(&lock);
    const struct egress *egress = asked ? workers_egress(asked) : &none;
    pthread_mutex_unlock(&lock);
    return egress;
}

static int port_get(const char *name, struct workers_stats *stats,
                    const struct workers_port **ret_port)
{
    const struct egress *egress = names();
    for (uint32_t i = 0; i < egress->n; i++)
        if (name && strcmp(name, egress->ports[i].facts.name) == 0) {
            *ret_port = &stats->ports[i];
            return stats_get(stats);
        }
    return -ENOENT;
}

static int on_ports(const char *command, const char *parameters, struct rte_tel_data *data)
{
    (void)command, (void)parameters;
    int r = rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
    const struct egress *egress = names();
    for (uint32_t i = 0; i < egress->n && r == 0; i++)
        r = rte_tel_data_add_array_string(data, egress->ports[i].facts.name);
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

static int on_port(const char *command, const char *port_name, struct rte_tel_data *data)
{
    struct workers_stats stats;
    const struct workers_port *port;
    (void)command;
    int r = port_get(port_name, &stats, &port);
    if (r < 0)
        return r;
    const struct number list[] = {{"came_packets", port->came_packets},
                                  {"went_packets", port->went_packets},
                                  {"too_long_packets", port->too_long_packets},
                                  {"queues", port->queues_n}};
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

static int on_queues(const char *command, const char *port_name, struct rte_tel_data *data)
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
    struct workers_stats stats;
    const struct workers_port *port;
    uint64_t values[PORT_TRAFFIC];
    (void)command;
    int r = port_get(port_name, &stats, &port);
    if (r == 0)
        r = rte_tel_data_start_dict(data);
    for (size_t i = 0; i < RTE_DIM(counters) && r == 0; i++) {
        for (uint32_t q = 0; q < port->queues_n; q++)
            memcpy(&values[q], (const char *)&port->queues[q] + counters[i].offset,
                   sizeof(values[q]));
        r = add_queues(data, counters[i].name, values, port->queues_n);
    }
    if (r < 0)
        return r;
    for (uint32_t q = 0; q < port->queues_n; q++)
        values[q] = port->waiting[q];
    return add_queues(data, "waiting", values, port->queues_n);
}

static int on_flows(const char *command, const char *parameters, struct rte_tel_data *data)
{
    struct workers_stats stats;
    (void)command, (void)parameters;
    int r = stats_get(&stats);
    if (r < 0)
        return r;
    const struct number list[] = {{"alive", stats.flows_alive},
                                  {"kept", stats.flows.kept},
                                  {"made", stats.flows.made},
                                  {"ended", stats.flows.ended},
                                  {"evictions", stats.flows.evictions}};
    return numbers(data, list, RTE_DIM(list));
}

static int on_worker(const char *command, const char *parameters, struct rte_tel_data *data)
{
    struct workers_stats stats;
    uint64_t packets = 0;
    (void)command, (void)parameters;
    int r = stats_get(&stats);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < stats.ports_n; i++)
        packets += stats.ports[i].came_packets;
    const struct number list[] = {{"sleeps", stats.sleeps},
                                  {"busy_cycles", stats.busy_cycles},
                                  {"cycles_a_packet", packets ? stats.busy_cycles / packets : 0}};
    return numbers(data, list, RTE_DIM(list));
}

int telemetry_begin(struct workers *workers, struct err *err)
{
    static const struct {
        const char *command, *help;
        telemetry_cb answer;
    } commands[] = {
        {"/duopoly/ports", "Names of the ports. No parameter.", on_ports},
        {"/duopoly/port", "Frames of a port. Parameter: its name.", on_port},
        {"/duopoly/queues", "Counters of a port's queues. Parameter: its name.", on_queues},
        {"/duopoly/flows", "The table of connections. No parameter.", on_flows},
        {"/duopoly/worker", "Sleeps and cycles. No parameter.", on_worker},
    };
    asked = workers;
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
