/* Whether a claim may commit. Private to controller/engine. */
#pragma once

#include "controller/engine/books/attempt.h"
#include "controller/engine/policy/questions.h"

extern const struct commit_policy commit_single; /* one scheduler: what fits is admitted */

/* EVENT_CLAIM: admits and starts item by item, and answers each with a claim result. */
void commit_claim(struct engine *engine, const struct event *event);
