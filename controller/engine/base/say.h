/* Text for people, appended piece by piece, and the numbers behind it. Private to
 * controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Appends to the text; what does not fit is cut off. */
__attribute__((format(printf, 2, 3))) void say(struct engine_explanation *e, const char *format,
                                               ...);
/* Adds a number with its name; what does not fit is left out. */
__attribute__((format(printf, 3, 4))) void say_fact(struct engine_explanation *e, const char *name,
                                                    const char *format, ...);
