/* Pages of a host's connections, each of which its agent answers (questions.h), with what the
 * controller knows of them: whose they are, and the levels that it decided. */
#pragma once

#include "controller/conductor.h"

/* A page of what the agent of this name answered. O(rows). */
void listing_asked(const struct conductor_parts *parts, const char *name,
                   const duopoly_AskedPart *part, duopoly_Envelope *answer);

/* A page without rows: why this agent does not answer. */
__attribute__((format(printf, 2, 3))) void listing_unanswered(duopoly_Envelope *answer,
                                                              const char *format, ...);
