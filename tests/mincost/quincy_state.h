/* What the generator knows of its cluster; shared by its own files only (quincy.c: life,
 * quincy_view.c: placement). */
#pragma once

#include "tests/mincost/quincy.h"

enum { PREFERRED = 7, PREFERRED_RACKS = 2, NOWHERE = UINT32_MAX };
enum { NODE_SINK = 1, NODE_CLUSTER = 2, FIRST_RACK = 3 };

struct quincy_task {
    uint32_t node, job; /* node 0: the place is free */
    uint32_t machine[PREFERRED], rack[PREFERRED_RACKS];
    uint32_t machine_arc[PREFERRED], rack_arc[PREFERRED_RACKS], cluster_arc, wait_arc;
    int32_t machine_cost[PREFERRED], rack_cost[PREFERRED_RACKS], cluster_cost, wait_cost;
    uint32_t placed;  /* machine, or NOWHERE */
    uint32_t run_on;  /* machine that its running arc leads to, or NOWHERE */
    uint32_t run_arc; /* 0 when the running arc is a preferred one made cheaper */
    int32_t run_cost;
};

struct quincy_job {
    uint32_t node, arc, tasks, lower, running_at_least;
};

struct machine {
    uint32_t node, rack_arc, sink_arc, used;
    bool down;
};

struct free_ids {
    uint32_t *items;
    uint32_t count, room, next;
};

struct quincy {
    struct quincy_shape shape;
    uint64_t stream;
    uint32_t racks, jobs, alive;
    uint32_t *cluster_arc; /* X → R by rack */
    struct machine *machines;
    struct quincy_job *job;
    struct quincy_task *tasks;
    uint32_t *failed, failed_count;
    struct free_ids arc_ids, node_ids;
    struct changes changes;
    struct plain plain;
};
