/* Hosts come, change and go. Private to controller/engine. */
#pragma once

#include "controller/engine/base/ground.h"

/* Events. Facts: nothing is refused; a host index beyond hosts_max is ignored and counted. */
void cluster_join(struct engine *engine, const struct event *event);
void cluster_change(struct engine *engine, const struct event *event);
void cluster_silent(struct engine *engine, const struct event *event);
void cluster_lost(struct engine *engine, const struct event *event);
void cluster_back(struct engine *engine, const struct event *event);
void cluster_drain(struct engine *engine, const struct event *event);
struct obstacle cluster_drain_obstacle(const struct engine *engine, const struct event *event);
void cluster_load(struct engine *engine, const struct event *event);
/* Rejected for a host that is up. Leaves an index that no host has joined. */
void cluster_forget(struct engine *engine, const struct event *event);
/* For load: restores the host's state. The caller touches the host. */
void cluster_restore(struct engine *engine, struct host *host, bool silent, bool lost,
                     bool draining, uint32_t uplink_permille);
