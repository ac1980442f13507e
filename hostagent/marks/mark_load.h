/* Loads the marking programs over the maps that an agent before us left, for mark_bpf.c alone.
 *
 * A pinned map of our bound and layout is ours from now on. Any other stays until a new one has
 * taken its content over: what only agents write (levels, mode, lease, members) and the counters
 * are copied before a program is replaced. The flows are written by the programs all the time: so
 * the first programs that are loaded know both maps, find in the old one what the new one has not,
 * and move what they touch (mark.bpf.c); when they stand on every hook the rest is moved from here,
 * and programs that know only the new map take their place. No packet finds a flow missing.
 *
 * What cannot be taken over is refused with a sentence, and stays as it is. An agent that dies in
 * between leaves both maps pinned, and the next one goes on. Blocking: 30 ms for the verifier, and 1
 * µs for each flow that is moved. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/flow_layout.h"
#include "hostagent/marks/mark.h"

struct mark_bpf; /* of the skeleton */

struct mark_load {
    struct mark_bpf *skel; /* loaded; attached nowhere */
    int before;            /* the map whose flows change hands, −1: none */
    struct mark_before layout;
};

/* From now on libbpf itself says nothing: what failed is told by who called it. */
void mark_load_silence(void);

/* The bpf file system stands. */
int mark_load_open(const struct mark_config *config, struct mark_load *ret_load, struct err *err);

/* The same without a change: which maps would be pinned is told. The caller closes the load. */
int mark_load_plan(const struct mark_config *config, struct changes *changes,
                   struct mark_load *ret_load, struct err *err);

/* When these programs are on every hook: moves the rest and loads the ones to stay, which then take
 * their place. Only with `before` ≥ 0. */
int mark_load_move(const struct mark_config *config, struct mark_load *load, struct err *err);

/* When those are on every hook. */
void mark_load_forget(const struct mark_config *config, struct mark_load *load);

void mark_load_close(
    struct mark_load *load); /* programs and maps stay where they hang; takes {0} */

/* Takes the maps out of the file system: they end with the last program. */
void mark_load_unpin(const struct mark_config *config);
int mark_load_plan_unpin(const struct mark_config *config, struct changes *changes,
                         struct err *err);
