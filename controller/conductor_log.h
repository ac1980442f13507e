/* duopolyd's log about jobs, attempts and decisions for frameworks, by the names that people know;
 * for a framework these are its own (frameworks.h). One line each. */
#pragma once

#include "controller/listeners.h"
#include "controller/store/recovery.h"

struct conductor_log {
    const struct engine *engine; /* borrowed, as `frameworks` */
    const struct frameworks *frameworks;
    uint32_t suspects; /* of the lost host that is being logged; zero it first */
    char first[HISTORY_WORDS];
};

/* `user` is the struct conductor_log. It logs: an attempt that its agent refused, or a framework's
 * that failed; a lost host's suspect tasks, in one line; a job that failed or was cancelled; a
 * stage that is left to its framework since it was held for too long, or its allows are not used;
 * at level debug, each allow and how it ended. */
extern const struct listener log_listener;

/* Logs what the store had at the start. */
void conductor_log_recovered(const struct recovered *recovered);
