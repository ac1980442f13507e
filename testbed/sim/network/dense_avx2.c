/* The big switch as matrices, for processors with AVX2: the same sources and the same results, bit
 * for bit (no operation is fused, the order is the same), in two thirds of the instructions. */
#include "testbed/sim/network/fluid_state.h"

#ifdef FLUID_DENSE_AVX2

#include <immintrin.h>
#include <sys/queue.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define DENSE_AVX2
#define fluid_dense     fluid_dense_avx2
#define sheet_fill      sheet_fill_avx2
#define sheet_pass      sheet_pass_avx2
#define sheet_take_over sheet_take_over_avx2
#include "testbed/sim/network/dense.c"
#include "testbed/sim/network/dense_fill.c"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
