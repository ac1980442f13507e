/* The member prefixes in the map that the marking programs ask, for mark_bpf.c alone: what the
 * configuration says, and the flows of who is no member any more. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/mark.h"

/* What stays a member is one at every moment, and keeps its flows. */
int mark_members_set(int map_fd, const struct mark_config *config, struct err *err);

/* What mark_members_set would change in the map, which is told as `where`. */
int mark_members_plan(int map_fd, const struct mark_config *config, const char *where,
                      struct changes *changes, struct err *err);

/* Flows of peers that are no members any more; returns how many. */
int mark_members_drop_strangers(int flows_fd, const struct mark_config *config);
