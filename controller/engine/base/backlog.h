/* Work that events leave to later steps: what of it is next. It waits in queues (engine->growing,
 * sizing, …), whose keys begin with the first number that a job of its application may have, or
 * with its job's. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* The first job of the application that this number counts for. */
static inline uint64_t backlog_first_job(uint64_t job)
{
    return job >> ENGINE_APPLICATION_SHIFT << ENGINE_APPLICATION_SHIFT;
}

static inline uint64_t backlog_application(const struct sorted_node *node)
{
    return node->key.a >> ENGINE_APPLICATION_SHIFT;
}

/* The first of the queue; while one application has its turn, the first of that one. NULL: there is
 * none. O(log n). */
static inline struct sorted_node *backlog_first(const struct engine *engine,
                                                const struct sorted *queue)
{
    const uint64_t application = engine->backlog.application;
    const struct sorted_key from = {application << ENGINE_APPLICATION_SHIFT, 0, 0};
    struct sorted_node *node = sorted_first(queue);
    if (!engine->backlog.one || !node || backlog_application(node) == application)
        return node;
    node = sorted_from(queue, from);
    return node && backlog_application(node) == application ? node : NULL;
}
