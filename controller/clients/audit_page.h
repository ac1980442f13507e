/* Who asked for what, and what came of it: a page of the store's audit. */
#pragma once

#include "controller/conductor.h"

/* Fills an AuditPage with what has a number > after. */
void audit_answer(const struct store *store, uint64_t after, duopoly_Envelope *answer);
