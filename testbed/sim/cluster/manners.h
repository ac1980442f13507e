/* How a simulated framework follows its allows (run_framework.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct manners {
    const char *name, *what;
    /* Per mille: of its allows, those used late; used for another host or partition; never used; of
     * its attempts, those that get a copy. */
    uint32_t slow, disobedient, forgetful, copies;
    bool advised;  /* its tasks without network input also start where advised */
    bool bindable; /* it follows DECISION_BIND, and reports that */
    bool growing;  /* it reports a stage when the stages before it are done */
    bool losing;   /* its executors end now and then */
    /* It announces a job's stages before it reports where their input is, reports what a stage
     * receives when all that it reads is done, and never how long tasks compute: what Spark
     * knows. */
    bool late;
};

/* The last one has no name. */
extern const struct manners manners[];

/* NULL: none has this name. */
const struct manners *manners_find(const char *name);
