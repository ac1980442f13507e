/* tell_NAME(engine, …) for each announcement (listener.h). Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

#define TELL(name, parameters, arguments)                                                          \
    static inline void tell_##name parameters                                                      \
    {                                                                                              \
        for (int i = 0; engine->told.name[i]; i++)                                                 \
            engine->told.name[i] arguments;                                                        \
    }
ANNOUNCEMENTS(TELL)
#undef TELL
