/* Writes the member prefixes of the configuration to the map that the marking programs read, and
 * drops flows of former members; for mark_bpf.c only. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/mark.h"

/* An address that stays a member is one at every moment and keeps its flows. */
int mark_members_set(int map_fd, const struct mark_config *config, struct err *err);

/* Adds what mark_members_set would change in the map, which is named `where`. */
int mark_members_plan(int map_fd, const struct mark_config *config, const char *where,
                      struct changes *changes, struct err *err);

/* Drops flows of peers that are no longer members; returns how many. */
int mark_members_drop_strangers(int flows_fd, const struct mark_config *config);
