/* Frees the memory of ended jobs. Private to controller/engine.
 *
 * An ended job has left all sets and counts, so no decision depends on when its memory is freed.
 * That of a large job is freed in portions, since 10⁶ tasks take a tenth of a second: one with each
 * step, and more with each engine_tidy.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Takes the job with its stages and tasks; the rest of it is freed already. A small one is freed at
 * once. */
void removal_begin(struct engine *engine, struct job *job);
/* Frees one portion. True: more is left. */
bool removal_go_on(struct engine *engine);
