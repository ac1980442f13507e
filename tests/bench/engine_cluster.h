/* The hosts of a cluster file (schemas/cluster.md) as bench-engine takes them. */
#pragma once

#include "controller/engine/event.h"
#include "testbed/sim/cluster/cluster_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a host's event points to. */
struct clustered_host {
    uint64_t units[CLUSTER_UNITS_MAX * ENGINE_RESOURCES];
    char labels[CLUSTER_LABELS_MAX * sizeof(struct cluster_label)];
};

/* NULL: no path. Ends the program with a sentence when the file is wrong. */
static struct cluster *clustered_read(const char *path)
{
    static struct cluster cluster;
    struct err err;
    if (path && *path && cluster_file_read(path, &cluster, &err) < 0) {
        fprintf(stderr, "bench-engine: %s\n", err.text);
        exit(2);
    }
    return path && *path ? &cluster : NULL;
}

static uint32_t clustered_hosts(const struct cluster *cluster)
{
    return cluster->n_hosts;
}

/* Of all hosts; `slots`: of one that says no units. */
static size_t clustered_slots(const struct cluster *cluster, uint32_t slots)
{
    size_t sum = 0;
    for (uint32_t h = 0; h < cluster->n_hosts; h++)
        sum += cluster_slots(cluster->hosts[h].class, slots);
    return sum;
}

static void clustered_unit(const struct cluster_unit *unit, uint64_t *ret_amounts)
{
    ret_amounts[RES_SLOTS] = (uint64_t)unit->slots;
    ret_amounts[RES_CPU_MILLI] = (uint64_t)unit->cpu_milli;
    ret_amounts[RES_MEM_BYTES] = (uint64_t)unit->mem_bytes;
    ret_amounts[RES_GPU_MILLI] = (uint64_t)unit->gpu_milli;
    ret_amounts[RES_GPU_MEM_BYTES] = (uint64_t)unit->gpu_mem_bytes;
    ret_amounts[RES_IO_BYTES_S] = (uint64_t)unit->io_bytes_s;
}

/* Completes the event of host number h, which then points to *ret_host. */
static void clustered_join(const struct cluster *cluster, uint32_t h, uint32_t slots,
                           struct clustered_host *ret_host, struct event *ret_join)
{
    const struct cluster_host *host = &cluster->hosts[h];
    const struct cluster_class *class = host->class;
    uint32_t n = class->n_units ? class->n_units : 1;
    memset(ret_host, 0, sizeof(*ret_host));
    ret_host->units[RES_SLOTS] = slots;
    for (uint32_t u = 0; u < class->n_units; u++)
        clustered_unit(&class->units[u], &ret_host->units[u * ENGINE_RESOURCES]);
    cluster_labels(class, ret_host->labels, sizeof(ret_host->labels));
    ret_join->host_join.name = host->name;
    ret_join->host_join.rack = class->rack;
    ret_join->host_join.labels = ret_host->labels;
    ret_join->host_join.units = (struct u64s){ret_host->units, n * ENGINE_RESOURCES};
}

static void clustered_done(struct cluster *cluster)
{
    if (cluster)
        cluster_file_done(cluster);
}
