#include "controller/engine/watch/mode.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/policy/questions.h"
#include "lib/join.h"

#include <stdio.h>
#include <string.h>

static bool dwells(const struct engine *engine, enum mode mode)
{
    return mode != engine->mode &&
           engine->now_ns - engine->mode_since_ns < engine->config.mode_dwell_ns;
}

void mode_restore(struct engine *engine)
{
    enum reason reason;
    uint64_t ready;
    int64_t free;
    engine->mode_pending =
        dwells(engine, engine->mode_rule->wanted(engine, &reason, &ready, &free));
}

void mode_update(struct engine *engine)
{
    enum reason reason;
    uint64_t ready;
    int64_t free;
    enum mode mode = engine->mode_rule->wanted(engine, &reason, &ready, &free);
    engine->mode_pending = dwells(engine, mode);
    if (mode == engine->mode || engine->mode_pending)
        return;
    engine->mode = mode;
    engine->mode_since_ns = engine->now_ns;
    engine->mode_sequence++;
    engine->counters.mode_switches++;
    struct decision *decision =
        engine_decide(engine, DECISION_MODE, reason, clamp_i64(ready), free);
    decision->mode.mode = mode;
    decision->mode.sequence = engine->mode_sequence;
}

int64_t mode_deadline_ns(const struct engine *engine)
{
    return engine->mode_pending ? engine->mode_since_ns + engine->config.mode_dwell_ns : INT64_MAX;
}

void engine_say_mode_use(const struct engine *engine, char *text, size_t size)
{
    *text = '\0';
    for (enum question q = 0; q < QUESTIONS; q++) {
        const char *use = engine->policies[q]->by_mode;
        if (use)
            join_word(text, size, "; ", use);
    }
    if (!*text)
        snprintf(text, size, "nothing: place %s and network %s do the same in either mode",
                 engine->policies[QUESTION_PLACE]->name, engine->policies[QUESTION_NETWORK]->name);
}
