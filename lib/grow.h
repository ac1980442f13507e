/* Arrays that double. */
#pragma once

#include <stdlib.h>

/* Makes room for item number `n` of the array `at`, which has `allocated` of them, and `first` in
 * the beginning. False: memory is short, and the array is as it was. */
#define array_grow(at, n, allocated, first)                                                        \
    ({                                                                                             \
        _Static_assert(!__builtin_types_compatible_p(__typeof__(*(at)), void), "no size");         \
        void *grown_ = (at);                                                                       \
        if ((n) == (allocated)) {                                                                  \
            __typeof__(allocated) more_ = (allocated) ? 2 * (allocated) : (first);                 \
            grown_ = reallocarray((at), more_, sizeof(*(at)));                                     \
            (at) = grown_ ? grown_ : (at);                                                         \
            (allocated) = grown_ ? more_ : (allocated);                                            \
        }                                                                                          \
        grown_ != NULL;                                                                            \
    })
