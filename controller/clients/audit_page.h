/* Answers a page of the store's audit: who asked for what, and the result. */
#pragma once

#include "controller/conductor.h"

/* Fills an AuditPage with the rows whose number is > after. */
void audit_answer(const struct store *store, uint64_t after, duopoly_Envelope *answer);
