/* Answers a page of the store's audit: who asked for what, and the result. */
#pragma once

#include "controller/conductor.h"
#include "schemas/duopoly.pb.h"

/* Fills an AuditPage with the rows whose number is larger than the request's and that its filter
 * keeps; or a refusal. O(LISTING_FILLS × rows in memory). */
void audit_answer(const struct store *store, const duopoly_GetAudit *request,
                  duopoly_Envelope *answer);
