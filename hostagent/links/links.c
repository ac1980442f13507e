#include "hostagent/links/links.h"

#include <string.h>

void links_init(struct links *links, uint64_t rate_bps)
{
    *links = (struct links){.rate_bps = rate_bps};
}

void links_set_thresholds(struct links *links, uint32_t hot_permille, uint32_t cool_permille)
{
    links->hot_permille = hot_permille;
    links->cool_permille = cool_permille;
}

static uint32_t permille(const struct links *links, uint64_t before, uint64_t after, uint64_t ns)
{
    if (after <= before || !ns)
        return 0;
    unsigned __int128 bits = (unsigned __int128)(after - before) * 8 * 1000 * 1000000000u;
    uint64_t use = (uint64_t)(bits / links->rate_bps / ns);
    return use > 1000 ? 1000 : (uint32_t)use;
}

static bool cross(const struct links *links, bool *hot, uint32_t use)
{
    if (!links->hot_permille)
        return false;
    bool now = *hot ? use >= links->cool_permille : use > links->hot_permille;
    bool crossed = now != *hot;
    *hot = now;
    return crossed;
}

struct links_use links_add(struct links *links, const struct links_sample *sample)
{
    const struct links_sample *oldest = &links->samples[links->n < LINKS_SAMPLES ? 0 : links->next];
    const struct links_sample *last =
        &links->samples[(links->next + LINKS_SAMPLES - 1) % LINKS_SAMPLES];
    struct links_use use = {0};
    if (links->n && sample->at_ns <= last->at_ns)
        return use;
    if (links->n) {
        /* The slot of the oldest is overwritten now: it still ends the window. */
        uint64_t ns = sample->at_ns - oldest->at_ns;
        use.up_permille = permille(links, oldest->sent_bytes, sample->sent_bytes, ns);
        use.down_permille = permille(links, oldest->received_bytes, sample->received_bytes, ns);
    }
    links->samples[links->next] = *sample;
    links->next = (links->next + 1) % LINKS_SAMPLES;
    links->n += links->n < LINKS_SAMPLES;
    bool up = cross(links, &links->up_hot, use.up_permille);
    bool down = cross(links, &links->down_hot, use.down_permille);
    use.crossed = up || down;
    return use;
}
