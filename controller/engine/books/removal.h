/* Gives back the memory of jobs that are over. Private to controller/engine.
 *
 * A job that is over has left all sets and counts: nobody sees it, and nothing that is decided
 * depends on when its memory goes. That of a large one goes in portions, since 10⁶ tasks take a
 * tenth of a second: one with each step, and more whenever engine_tidy is called.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Takes the job with its stages and tasks; the rest of it is gone already. A small one goes at
 * once. */
void removal_begin(struct engine *engine, struct job *job);
/* One portion. True: there is more. */
bool removal_go_on(struct engine *engine);
