#include "controller/knowledge.h"

#include "controller/endings.h"

static bool on_lives(void *user, uint64_t attempt)
{
    const struct knowledge *knowledge = user;
    struct attempt_view view;
    return engine_attempt(knowledge->engine, attempt, &view) == 0;
}

static bool on_end_wanted(void *user, const duopoly_AttemptState *state)
{
    const struct knowledge *knowledge = user;
    return endings_is_wanted(knowledge->history, knowledge->engine, knowledge->epoch, state);
}

static enum engine_reading on_reads_from(void *user, uint64_t attempt, uint32_t host)
{
    const struct knowledge *knowledge = user;
    return engine_reads_from(knowledge->engine, attempt, host);
}

static enum engine_reading on_reads_output(void *user, uint32_t host,
                                           const duopoly_OutputLost *lost)
{
    const struct knowledge *knowledge = user;
    return engine_reads_output(knowledge->engine, host, lost->job, lost->stage, lost->task,
                               lost->attempt);
}

static uint32_t on_holder(void *user, const duopoly_OutputLost *lost)
{
    const struct knowledge *knowledge = user;
    struct task_view task;
    return engine_task(knowledge->engine, lost->job, lost->stage, lost->task, &task) == 0
               ? task.host
               : ENGINE_NONE;
}

static uint64_t on_proof(void *user, const char *name, uint64_t attempt, uint64_t job,
                         uint32_t stage, uint32_t task)
{
    const struct knowledge *knowledge = user;
    return attempt_proof_of(&knowledge->proof, name, attempt, job, stage, task);
}

static uint32_t on_proof_since(void *user, const char *name)
{
    const struct knowledge *knowledge = user;
    return attempt_proof_since(knowledge->store, name);
}

static void on_proof_shown(void *user, const char *name)
{
    const struct knowledge *knowledge = user;
    attempt_proof_shown(knowledge->store, name, knowledge->epoch);
}

int knowledge_open(const struct engine *engine, const struct history *history, struct store *store,
                   uint32_t epoch, struct knowledge *ret_knowledge, struct err *err)
{
    *ret_knowledge =
        (struct knowledge){.engine = engine, .history = history, .store = store, .epoch = epoch};
    return attempt_proof_open(store, &ret_knowledge->proof, err);
}

struct agents_knowledge knowledge_hooks(struct knowledge *knowledge)
{
    return (struct agents_knowledge){on_lives,        on_end_wanted,  on_reads_from,
                                     on_reads_output, on_holder,      on_proof,
                                     on_proof_since,  on_proof_shown, knowledge};
}

void knowledge_forget(struct knowledge *knowledge, const char *name)
{
    attempt_proof_shown(knowledge->store, name, 0);
}
