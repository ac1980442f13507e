/* Fuzz target of what an OpenFlow switch says: framing, flows, queues, errors. What can be read as
 * a table is planned for. */
#include "hostagent/switches/ovs/ovs_flows.h"
#include "hostagent/switches/ovs/ovs_rows.h"
#include "tests/fuzz/switch_stream.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_table(const struct openflow_table *table, const struct switch_settings *settings)
{
    static struct openflow_change changes[OPENFLOW_FLOWS + OVS_FLOWS_MOST];
    const struct switch_config config = {
        .settings = settings, .owner = "me", .control_port = 7600, .wish = port_wish_preset};
    struct port_facts facts = ovs_facts;
    struct port want;
    struct switch_plan plan = {0};
    uint32_t n = 0;
    facts.link_bps = 1000000000;
    if (port_want(&config.wish, &facts, &want, NULL) < 0)
        abort();
    ovs_flows_plan(table, &config, &want, &plan, changes, &n, NULL);
    if (n > OPENFLOW_FLOWS + OVS_FLOWS_MOST || plan.steps_n != n)
        abort();
    switch_plan_done(&plan);
}

static void on_queue(void *user, const struct of_queue_stats *stats)
{
    *(uint64_t *)user += stats->packets;
}

/* The first byte chooses the table. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct openflow_table table;
    struct switch_settings settings = {.driver = "ovs", .bridge = "br0"};
    struct openflow *link;
    uint64_t packets = 0;
    if (!size)
        return 0;
    settings.table = *data % 4;
    stream_bytes = data + 1;
    stream_left = size - 1;
    if (openflow_open(NULL, &link, NULL) < 0)
        abort();
    if (openflow_read(link, (uint8_t)settings.table, settings.table != 0, &table, NULL) == 0) {
        try_table(&table, &settings);
        openflow_queues(link, on_queue, &packets, NULL);
    }
    openflow_notice(link, NULL);
    openflow_close(link);
    return 0;
}
