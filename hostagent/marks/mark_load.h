/* Loads the marking programs and takes over the maps that an earlier agent left; for mark_bpf.c
 * only.
 *
 * A pinned map with our bound and layout is used as it is. Any other map stays until a new one has
 * its content. What only agents write (levels, mode, lease, members) and the counters are copied
 * before a program is replaced. The programs write flows all the time. So the first programs to be
 * loaded know both maps: they look in the old one for what the new one lacks, and move what they
 * touch (mark.bpf.c). When they are on every hook, this module moves the rest, and programs that
 * know only the new map replace them. No packet finds a flow missing.
 *
 * What cannot be taken over is refused with a sentence and left as it is. An agent that dies
 * half-way leaves both maps pinned, and the next one continues. Blocking: 30 ms for the verifier,
 * and 1 µs for each moved flow. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/flow_layout.h"
#include "hostagent/marks/mark.h"

struct mark_bpf; /* of the skeleton */

struct mark_load {
    struct mark_bpf *skel; /* loaded; attached nowhere */
    int before;            /* the map whose flows are moved; −1: none */
    struct mark_before layout;
};

/* From now on libbpf itself prints nothing: callers report what failed. */
void mark_load_silence(void);

/* Requires that the bpf file system is mounted. */
int mark_load_open(const struct mark_config *config, struct mark_load *ret_load, struct err *err);

/* The same without a change: adds the maps that would be pinned. The caller closes the load. */
int mark_load_plan(const struct mark_config *config, struct changes *changes,
                   struct mark_load *ret_load, struct err *err);

/* Call it when these programs are on every hook: moves the rest and loads the final programs, which
 * then replace them. Only with `before` ≥ 0. */
int mark_load_move(const struct mark_config *config, struct mark_load *load, struct err *err);

/* Call it when the final programs are on every hook. */
void mark_load_forget(const struct mark_config *config, struct mark_load *load);

void mark_load_close(struct mark_load *load); /* attached programs and their maps stay; takes {0} */

/* Unpins the maps: they end with the last program. */
void mark_load_unpin(const struct mark_config *config);
int mark_load_plan_unpin(const struct mark_config *config, struct changes *changes,
                         struct err *err);
