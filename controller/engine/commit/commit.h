/* May a claim commit? Private to controller/engine. */
#pragma once

#include "controller/engine/books/attempt.h"
#include "controller/engine/policy/questions.h"

extern const struct commit_policy commit_single; /* one scheduler: what fits is accepted */

/* EVENT_CLAIM: item by item admitted and started, each answered by a claim result. */
void commit_claim(struct engine *engine, const struct event *event);
