/* Text for people, appended piece by piece. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Appends to the text; what does not fit is cut off. */
__attribute__((format(printf, 2, 3))) void say(struct engine_explanation *e, const char *format,
                                               ...);
