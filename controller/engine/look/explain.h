/* How an explanation is put together. Private to controller/engine. */
#pragma once

#include "controller/engine/policy/policy.h"

/* Adds a policy's sentence with its words in braces replaced: {host}, {left}, {right}, {left.1s} and
 * {left.3s} (ns as seconds), {transfer} (Coflow or Macroflow, by which the network serves now), {first_job}
 * (the first job's number), {uplinks} (which of them are busy: a sentence without its dot). `host` may be NULL
 * where the sentence has none. */
void explain_sentence(const struct engine *engine, struct engine_explanation *e,
                      const char *sentence, const struct host *host, int64_t left, int64_t right);
