#include "dataplane/macs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WAYS 8 /* places of a bucket */

struct station {
    uint64_t seen_ns; /* 0: the place is free */
    uint64_t window_ns;
    uint8_t mac[MACS_BYTES];
    uint8_t port;
    uint16_t moves; /* within the window */
};

struct macs {
    uint32_t mask; /* of buckets */
    uint32_t alive, next;
    uint64_t age_ns;
    uint32_t moves;
    struct station stations[];
};

int macs_create(uint32_t most, uint64_t age_ns, uint32_t moves, struct macs **ret_macs,
                struct err *err)
{
    uint32_t buckets = 1;
    while (buckets * WAYS < most)
        buckets *= 2;
    struct macs *macs = calloc(1, sizeof(*macs) + (size_t)buckets * WAYS * sizeof(struct station));
    if (!macs)
        return err_set(err, ENOMEM, "no memory for the addresses of %u stations", most);
    macs->mask = buckets - 1;
    macs_change(macs, age_ns, moves);
    *ret_macs = macs;
    return 0;
}

void macs_change(struct macs *macs, uint64_t age_ns, uint32_t moves)
{
    macs->age_ns = age_ns;
    macs->moves = moves;
}

void macs_destroy(struct macs *macs)
{
    free(macs);
}

/* Multiplied by an odd constant (Knuth, TAOCP 3, 6.4) the uppermost bits depend on all of them;
 * those that vary most, a vendor's numbering, come last in an address: they are the lowest here. */
static struct station *bucket_of(const struct macs *macs, const uint8_t mac[MACS_BYTES])
{
    uint64_t bits = 0;
    for (int i = 0; i < MACS_BYTES; i++)
        bits = bits << 8 | mac[i];
    const uint64_t hash = bits * UINT64_C(0x9e3779b97f4a7c15);
    return (struct station *)(uintptr_t)&macs->stations[WAYS * ((hash >> 40) & macs->mask)];
}

static bool is_alive(const struct macs *macs, const struct station *station, uint64_t now_ns)
{
    return station->seen_ns && now_ns - station->seen_ns <= macs->age_ns;
}

static struct station *find(const struct macs *macs, const uint8_t mac[MACS_BYTES])
{
    struct station *bucket = bucket_of(macs, mac);
    for (int i = 0; i < WAYS; i++)
        if (bucket[i].seen_ns && memcmp(bucket[i].mac, mac, MACS_BYTES) == 0)
            return &bucket[i];
    return NULL;
}

static enum macs_verdict add(struct macs *macs, const uint8_t mac[MACS_BYTES], uint32_t port,
                             uint64_t now_ns)
{
    struct station *bucket = bucket_of(macs, mac);
    for (int i = 0; i < WAYS; i++) {
        if (is_alive(macs, &bucket[i], now_ns))
            continue;
        macs->alive += !bucket[i].seen_ns;
        bucket[i] = (struct station){.seen_ns = now_ns, .port = (uint8_t)port};
        memcpy(bucket[i].mac, mac, MACS_BYTES);
        return MACS_NEW;
    }
    return MACS_FULL;
}

static enum macs_verdict move(const struct macs *macs, struct station *station, uint32_t port,
                              uint64_t now_ns)
{
    if (now_ns - station->window_ns > MACS_WINDOW_NS) {
        station->window_ns = now_ns;
        station->moves = 0;
    }
    if (station->moves >= macs->moves)
        return MACS_FLAPS;
    station->moves++;
    station->port = (uint8_t)port;
    station->seen_ns = now_ns;
    return MACS_MOVED;
}

enum macs_verdict macs_learn(struct macs *macs, const uint8_t mac[MACS_BYTES], uint32_t port,
                             uint64_t now_ns)
{
    struct station *station = find(macs, mac);
    if (!station)
        return add(macs, mac, port, now_ns);
    if (!is_alive(macs, station, now_ns)) {
        station->port = (uint8_t)port;
        station->moves = 0;
        station->seen_ns = now_ns;
        return MACS_NEW;
    }
    if (station->port != port)
        return move(macs, station, port, now_ns);
    station->seen_ns = now_ns;
    return MACS_KNOWN;
}

int macs_find(const struct macs *macs, const uint8_t mac[MACS_BYTES], uint64_t now_ns)
{
    const struct station *station = find(macs, mac);
    return station && is_alive(macs, station, now_ns) ? station->port : MACS_NONE;
}

void macs_expire(struct macs *macs, uint64_t now_ns, uint32_t most)
{
    for (uint32_t i = 0; i < most; i++) {
        struct station *station = &macs->stations[macs->next];
        macs->next = (macs->next + 1) & ((macs->mask + 1) * WAYS - 1);
        if (!station->seen_ns || is_alive(macs, station, now_ns))
            continue;
        station->seen_ns = 0;
        macs->alive--;
    }
}

uint32_t macs_alive(const struct macs *macs)
{
    return macs->alive;
}
