/* What the controller knows of attempts, by which agents' words are judged (agents_knowledge): where they are
 * and what they read is the engine's; what proves that a host was sent one, attempt_proof.h's. */
#pragma once

#include "controller/agents/agents.h"
#include "controller/attempt_proof.h"
#include "controller/history.h"

struct knowledge {
    const struct engine *engine; /* borrowed, as the two others */
    const struct history *history;
    struct store *store;
    uint32_t epoch;
    struct attempt_proof proof;
};

/* −errno: as attempt_proof_open. */
int knowledge_open(const struct engine *engine, const struct history *history, struct store *store,
                   uint32_t epoch, struct knowledge *ret_knowledge, struct err *err);
/* Of `knowledge`, which stays where it is. */
struct agents_knowledge knowledge_hooks(struct knowledge *knowledge);

/* Nothing is known of a host of this name. */
void knowledge_forget(struct knowledge *knowledge, const char *name);
