/* An explanation's sentences and facts, as they are added. What does not fit is cut. */
#pragma once

#include "controller/engine/engine.h"
#include "schemas/duopoly.pb.h"

__attribute__((format(printf, 2, 3))) void explanation_say(duopoly_Explanation *out,
                                                           const char *format, ...);
__attribute__((format(printf, 3, 4))) void
explanation_fact(duopoly_Explanation *out, const char *name, const char *format, ...);
/* Adds all of an explanation by the engine. */
void explanation_take(duopoly_Explanation *out, const struct engine_explanation *explanation);
/* A fact in seconds. */
void explanation_seconds(duopoly_Explanation *out, const char *name, int64_t ns);

/* "95.0 %". */
struct percent_said {
    char text[16];
};
struct percent_said percent_of(uint32_t permille);
