#include "controller/agents/attempt_rate.h"

void attempt_rate_take(struct attempt_rate *rate, int64_t now_ns, uint64_t bytes)
{
    if (!rate->last.at_ns || bytes < rate->last.bytes) {
        rate->before.at_ns = rate->since.at_ns = now_ns;
        rate->before.bytes = rate->since.bytes = bytes;
    } else if (now_ns - rate->since.at_ns >= ATTEMPT_RATE_NS) {
        rate->before = rate->since;
        rate->since.at_ns = now_ns;
        rate->since.bytes = bytes;
    }
    rate->last.at_ns = now_ns;
    rate->last.bytes = bytes;
}

int64_t attempt_rate_bps(const struct attempt_rate *rate, int64_t now_ns)
{
    const int64_t ns = rate->last.at_ns - rate->before.at_ns;
    if (rate->last.at_ns && now_ns - rate->last.at_ns > 2 * ATTEMPT_RATE_NS)
        return 0;
    if (ns <= 0)
        return -1;
    return (int64_t)((unsigned __int128)(rate->last.bytes - rate->before.bytes) * 8 * 1000000000 /
                     (uint64_t)ns);
}
