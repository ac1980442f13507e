/* An explanation's sentences and facts, as they are added. What does not fit is cut. */
#pragma once

#include "schemas/duopoly.pb.h"

__attribute__((format(printf, 2, 3))) void explanation_say(duopoly_Explanation *out,
                                                           const char *format, ...);
__attribute__((format(printf, 3, 4))) void
explanation_fact(duopoly_Explanation *out, const char *name, const char *format, ...);
