/* The kinds of what happened, as people write them: `duopolyctl events --kind job,host`. */
#pragma once

#include "schemas/duopoly.pb.h"

#include "lib/err.h"

#include <stdint.h>

enum { EVENT_KIND_COUNT = _duopoly_EventKind_ARRAYSIZE };

/* By duopoly_EventKind. */
extern const char *const event_kind_words[EVENT_KIND_COUNT];

/* Words separated by commas as a bit for each kind. −EINVAL: one is no kind; the sentence lists
 * all. */
int event_kinds_parse(const char *words, uint32_t *ret_kinds, struct err *err);
