/* What duopolyd's log says of jobs, attempts and what was decided for frameworks: in the words that
 * people know them by, which for a framework's are its own (frameworks.h). One line each. */
#pragma once

#include "controller/listeners.h"
#include "controller/store/recovery.h"

struct conductor_log {
    const struct engine *engine; /* borrowed, as the other */
    const struct frameworks *frameworks;
    uint32_t suspects; /* of the lost host that is being told of; zero to begin with */
    char first[HISTORY_WORDS];
};

/* `user` is the struct conductor_log. Said are: an attempt that its agent refused, or a framework's that failed; a
 * lost host's suspect tasks, in one line; a job that failed or was cancelled; a stage that is left to its
 * framework since it was held for too long, or its allows are not used; to those who want to know more, each
 * allow and how it ended. */
extern const struct listener log_listener;

/* What the store had at the start. */
void conductor_log_recovered(const struct recovered *recovered);
