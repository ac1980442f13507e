/* Base of all modules of the engine: the step's memory, decisions, random numbers. It decides
 * nothing. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Zeroed memory. Without memory it does not return, and engine_step returns −ENOMEM. */
void *engine_allocate(struct engine *engine, size_t n, size_t size);
/* The caller writes all these bytes now: their pages are made at once. A hint: nothing is promised.
 * WHY: zeroed memory that is read before it is written costs two page faults a page, the second
 * with an interrupt of every other thread's processor; one call for many pages costs a fifth. */
void engine_fault_in(void *from, size_t bytes);
/* Makes an array of pointers large enough for entry `n`, by doubling. Takes the array, returns the
 * new one. */
void *engine_grow(struct engine *engine, void *array, uint32_t n);
/* Appends a zeroed decision to the step's list. */
struct decision *engine_decide(struct engine *engine, enum decision_kind kind, enum reason reason,
                               int64_t left, int64_t right);
/* The cost of changing a task, and of making one ready, in looks at one. */
enum { LOOKS_OF_CHANGE = 16, LOOKS_OF_READYING = 16 };
/* How many more tasks this step may look at. What remains waits for the next step, which is due at
 * once. The caller adds to engine->step_looks. */
static inline uint64_t engine_looks_left(const struct engine *engine)
{
    uint64_t most = (uint64_t)engine->config.step_tasks_max * LOOKS_OF_CHANGE;
    if (!most || engine->suspended)
        return UINT64_MAX;
    return engine->step_looks < most ? most - engine->step_looks : 0;
}
static inline bool engine_may_look(const struct engine *engine)
{
    return engine_looks_left(engine);
}

/* Whether the engine's configuration includes the rule. */
static inline bool engine_follows(const struct engine *engine, enum engine_rule rule)
{
    return engine->config.rules >= (uint32_t)rule;
}

/* Why a request is rejected, with the rejection's numbers; REASON_NONE: it is not. */
struct obstacle {
    enum reason reason;
    int64_t left, right;
};

/* Rejects a request. */
void engine_reject(struct engine *engine, const struct event *event, enum reason reason,
                   int64_t left, int64_t right);

/* Copies the word (NULL: none), cut to fit. */
void engine_copy_word(char *to, size_t size, const char *from);

/* The engine's named random source, a counter-based generator: splitmix64's finalizer (Steele, Lea,
 * Flood 2014) over seed and names. */
static inline uint64_t engine_mix(uint64_t seed, uint64_t x, uint64_t y)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15u * (x + 1) + 0xd1342543de82ef95u * (y + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int64_t clamp_i64(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}
