/* Jobs whose placement keeps all their tasks to one rack. Private to controller/engine.
 *
 * A *narrowed* job's stages have the constraint `rack=NAME`, as if the job had asked for it: it is
 * in their shape, so whoever asks for room, hosts or capability gets the rack's. It ends when the
 * placement says so, and with the placement.
 *
 * Only jobs with one shape without a constraint are narrowed, and only while shapes are left for
 * others (config.shapes_max). O(its tasks that are ready · log n), and O(hosts) where no job is
 * narrowed to that rack yet. */
#pragma once

#include "controller/engine/base/state.h"

/* All its tasks, whether or not some run, stay on hosts of the rack from now on. False: it cannot
 * be; nothing has changed. */
bool narrow_begin(struct engine *engine, struct job *job, const char *rack);
/* Its tasks go anywhere again. */
void narrow_end(struct engine *engine, struct job *job);
/* Of all jobs: the placement is about to change. */
void narrow_end_all(struct engine *engine);
