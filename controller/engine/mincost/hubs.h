#pragma once
#include "controller/engine/mincost/graph.h"
static inline void hubs_done(struct mincost *m)
{
    (void)m;
}
static inline void hub_drop(struct mincost *m, uint32_t n)
{
    (void)m;
    (void)n;
}
static inline void hub_arc_added(struct mincost *m, uint32_t n)
{
    (void)m;
    (void)n;
}
static inline void hub_arc_changed(struct mincost *m, uint32_t n)
{
    (void)m;
    (void)n;
}
static inline void hub_arc_removed(struct mincost *m, uint32_t n)
{
    (void)m;
    (void)n;
}
