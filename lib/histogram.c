#include "lib/histogram.h"

#define US(n) (UINT64_C(n) * 1000)
#define MS(n) (UINT64_C(n) * 1000000)
#define S(n)  (UINT64_C(n) * 1000000000)

const uint64_t histogram_bounds_ns[HISTOGRAM_BOUNDS] = {
    US(10), US(20), US(50),  US(100), US(200), US(500), MS(1), MS(2), MS(5), MS(10),
    MS(20), MS(50), MS(100), MS(200), MS(500), S(1),    S(2),  S(5),  S(10),
};

void histogram_add(struct histogram *histogram, int64_t ns)
{
    const uint64_t length = ns < 0 ? 0 : (uint64_t)ns;
    int at = 0;
    while (at < HISTOGRAM_BOUNDS && length > histogram_bounds_ns[at])
        at++;
    histogram->counts[at]++;
    histogram->sum_ns += length;
}
