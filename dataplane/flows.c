#include "dataplane/flows.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WAYS       8
#define SPARE_WAYS 3 /* with this many free ones the other bucket is not asked */
#define PAGE_LARGE ((size_t)2 << 20)
#define NOWHERE    UINT32_MAX
#define CRC32C     0x82f63b78u /* reflected: Castagnoli, IEEE Trans. Commun. 41(6), 1993 */

struct bucket {
    uint32_t tags[WAYS]; /* 0: free */
    uint32_t places[WAYS];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct bucket) == 64 && sizeof(struct flow) == 64, "a cache line each");
_Static_assert(sizeof(struct flow_key) == 36, "no padding: keys are compared as bytes");

struct flows {
    struct bucket *buckets;
    struct flow *flows;
    struct flow *own; /* the same, or NULL: they are lent */
    uint32_t *free;   /* places, a stack */
    uint32_t buckets_mask, most, free_n, next_look;
    struct flows_counters counters;
};

static uint64_t crc(uint64_t sum, uint64_t bytes)
{
#ifdef __SSE4_2__
    return __builtin_ia32_crc32di(sum, bytes);
#else
    for (int bit = 0; bit < 64; bit++, bytes >>= 1)
        sum = (sum >> 1) ^ ((sum ^ bytes) & 1 ? CRC32C : 0);
    return sum;
#endif
}

static uint64_t word_of(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* A sum of either end, so that they run beside each other. CRC is linear: the multiplication keeps
 * neighbouring ports and addresses from lining up. */
uint64_t flows_hash(const struct flow_key *key)
{
    const uint64_t local = crc(crc(key->local_port, word_of(key->local)), word_of(key->local + 8)),
                   peer = crc(crc(key->peer_port, word_of(key->peer)), word_of(key->peer + 8));
    return ((local ^ peer) << 32 | (uint32_t)(local + peer)) * 0x9e3779b97f4a7c15u;
}

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32) | 1;
}

static uint32_t first_of(const struct flows *flows, uint64_t hash)
{
    return (uint32_t)((hash >> 20) ^ (hash >> 44)) & flows->buckets_mask;
}

/* From either bucket to the other: the tag tells which, so that no key is read for it. */
static uint32_t other_of(const struct flows *flows, uint32_t bucket, uint32_t tag)
{
    return (bucket ^ (tag * 0x5bd1e995u >> 7 | 1)) & flows->buckets_mask;
}

static void *memory_take(size_t bytes)
{
    const size_t unit = bytes < PAGE_LARGE ? sizeof(struct bucket) : PAGE_LARGE;
    const size_t rounded = (bytes + unit - 1) / unit * unit;
    void *memory = aligned_alloc(unit, rounded);
    if (!memory)
        return NULL;
    madvise(memory, rounded, MADV_HUGEPAGE); /* a wish */
    memset(memory, 0, rounded);              /* and there before the first packet */
    return memory;
}

static int create(struct flow *places, uint32_t most, struct flows **ret_flows, struct err *err)
{
    uint32_t buckets = 1;
    while (buckets < most / (WAYS / 2))
        buckets *= 2;
    struct flows *flows = calloc(1, sizeof(*flows));
    if (!flows)
        goto fail;
    flows->buckets_mask = buckets - 1;
    flows->most = most;
    flows->buckets = memory_take(buckets * sizeof(struct bucket));
    flows->own = places ? NULL : memory_take(most * sizeof(struct flow));
    flows->flows = places ? places : flows->own;
    flows->free = calloc(most, sizeof(uint32_t));
    if (!flows->buckets || !flows->flows || !flows->free)
        goto fail;
    *ret_flows = flows;
    return 0;
fail:
    flows_destroy(flows);
    return err_set(err, ENOMEM, "no memory for a table of %u flows", most);
}

void flows_destroy(struct flows *flows)
{
    if (!flows)
        return;
    free(flows->buckets);
    free(flows->own);
    free(flows->free);
    free(flows);
}

/* A compiler that sees all files drops calls of a function that only prefetches: it has no
 * effect. */
static inline void fetch(const void *memory)
{
    __builtin_prefetch(memory);
    __asm__ volatile("");
}

void flows_prefetch(const struct flows *flows, uint64_t hash)
{
    fetch(&flows->buckets[first_of(flows, hash)]);
}

/* A bit for each way with this tag: without branches, which could not be predicted. */
static uint32_t ways_with(const struct bucket *bucket, uint32_t tag)
{
    uint32_t ways = 0;
#pragma GCC unroll 8
    for (int way = 0; way < WAYS; way++)
        ways |= (uint32_t)(bucket->tags[way] == tag) << way;
    return ways;
}

void flows_prefetch_flow(const struct flows *flows, uint64_t hash)
{
    const uint32_t tag = tag_of(hash), first = first_of(flows, hash);
    const struct bucket *bucket = &flows->buckets[first];
    const uint32_t ways = ways_with(bucket, tag);
    if (ways)
        fetch(&flows->flows[bucket->places[__builtin_ctz(ways)]]);
    else
        fetch(&flows->buckets[other_of(flows, first, tag)]);
}

static struct flow *find_in(struct flows *flows, const struct bucket *bucket, uint32_t tag,
                            const struct flow_key *key)
{
    for (uint32_t ways = ways_with(bucket, tag); ways; ways &= ways - 1) {
        struct flow *flow = &flows->flows[bucket->places[__builtin_ctz(ways)]];
        if (memcmp(&flow->key, key, sizeof(*key)) == 0)
            return flow;
    }
    return NULL;
}

struct flow *flows_find(struct flows *flows, const struct flow_key *key, uint64_t hash)
{
    const uint32_t tag = tag_of(hash), first = first_of(flows, hash);
    struct flow *flow = find_in(flows, &flows->buckets[first], tag, key);
    return flow ? flow : find_in(flows, &flows->buckets[other_of(flows, first, tag)], tag, key);
}

static int free_ways(const struct bucket *bucket)
{
    return __builtin_popcount(ways_with(bucket, 0));
}

static uint32_t *way_find(struct bucket *bucket, uint32_t tag, uint32_t place)
{
    for (int way = 0; way < WAYS; way++)
        if (bucket->tags[way] == tag && (tag == 0 || bucket->places[way] == place))
            return &bucket->tags[way];
    return NULL;
}

void flows_remove(struct flows *flows, struct flow *flow)
{
    const uint32_t place = (uint32_t)(flow - flows->flows);
    const uint64_t hash = flows_hash(&flow->key);
    const uint32_t tag = tag_of(hash), first = first_of(flows, hash);
    uint32_t *way = way_find(&flows->buckets[first], tag, place);
    if (!way)
        way = way_find(&flows->buckets[other_of(flows, first, tag)], tag, place);
    *way = 0;
    flow->seen_ns = 0;
    atomic_signal_fence(memory_order_seq_cst);
    memset(&flow->key, 0, sizeof(flow->key));
    flows->free[flows->free_n++] = place;
    flows->counters.ended++;
}

static struct flow *oldest_in(struct flows *flows, const struct bucket *bucket, struct flow *oldest)
{
    for (int way = 0; way < WAYS; way++) {
        struct flow *flow = bucket->tags[way] ? &flows->flows[bucket->places[way]] : NULL;
        if (flow && (!oldest || flow->seen_ns < oldest->seen_ns))
            oldest = flow;
    }
    return oldest;
}

static void evict(struct flows *flows, struct flow *flow, uint64_t now_ns)
{
    flows->counters.evictions += flow_is_recent(flow, now_ns);
    flows_remove(flows, flow);
}

/* Every place is taken, but none by those that share the buckets: evicts the next one in turn. */
static void evict_any(struct flows *flows, uint64_t now_ns)
{
    flows->next_look = (flows->next_look + 1) % flows->most;
    evict(flows, &flows->flows[flows->next_look], now_ns);
}

static struct bucket *make_room(struct flows *flows, uint64_t hash, uint64_t now_ns)
{
    const uint32_t tag = tag_of(hash), first = first_of(flows, hash);
    struct bucket *one = &flows->buckets[first],
                  *two = &flows->buckets[other_of(flows, first, tag)];
    int ways = free_ways(one), ways_two = free_ways(two);
    if (flows->free_n == 0 || ways + ways_two == 0) {
        struct flow *oldest = oldest_in(flows, two, oldest_in(flows, one, NULL));
        if (oldest)
            evict(flows, oldest, now_ns);
        else
            evict_any(flows, now_ns);
        ways = free_ways(one);
        ways_two = free_ways(two);
    }
    return ways >= SPARE_WAYS || ways >= ways_two ? one : two;
}

/* Written so that after an abrupt end a half-written flow is not taken for a whole one. */
static void write_fresh(struct flow *flow, const struct flow_key *key, uint64_t now_ns)
{
    const struct flow fresh = {
        .key = *key,
        .levels = {FLOW_UNMARKED, FLOW_UNMARKED},
        .followed = FLOW_UNMARKED,
    };
    flow->seen_ns = 0;
    atomic_signal_fence(memory_order_seq_cst);
    *flow = fresh;
    atomic_signal_fence(memory_order_seq_cst);
    flow->seen_ns = now_ns;
}

struct flow *flows_make(struct flows *flows, const struct flow_key *key, uint64_t hash,
                        uint64_t now_ns)
{
    struct flow *flow = flows_find(flows, key, hash);
    if (flow) {
        write_fresh(flow, key, now_ns);
        return flow;
    }
    struct bucket *bucket = make_room(flows, hash, now_ns);
    uint32_t *way = way_find(bucket, 0, 0);
    const uint32_t place = flows->free[--flows->free_n];
    *way = tag_of(hash);
    bucket->places[way - bucket->tags] = place;
    flow = &flows->flows[place];
    write_fresh(flow, key, now_ns);
    flows->counters.made++;
    return flow;
}

void flows_expire(struct flows *flows, uint64_t now_ns, uint32_t most)
{
    for (uint32_t i = 0; i < most; i++) {
        flows->next_look = (flows->next_look + 1) % flows->most;
        struct flow *flow = &flows->flows[flows->next_look];
        if (flow->seen_ns && !flow_is_recent(flow, now_ns))
            flows_remove(flows, flow);
    }
}

uint32_t flows_alive(const struct flows *flows)
{
    return flows->most - flows->free_n;
}

const struct flows_counters *flows_counters(const struct flows *flows)
{
    return &flows->counters;
}

/* False: it is dead, or its buckets are full. */
static bool keep(struct flows *flows, uint32_t place, uint64_t now_ns)
{
    const struct flow *flow = &flows->flows[place];
    if (flow->seen_ns == 0 || flow->seen_ns > now_ns || !flow_is_recent(flow, now_ns))
        return false;
    const uint64_t hash = flows_hash(&flow->key);
    const uint32_t tag = tag_of(hash), first = first_of(flows, hash);
    struct bucket *one = &flows->buckets[first],
                  *two = &flows->buckets[other_of(flows, first, tag)];
    struct bucket *bucket = free_ways(one) >= free_ways(two) ? one : two;
    uint32_t *way = way_find(bucket, 0, 0);
    if (!way)
        return false;
    *way = tag;
    bucket->places[way - bucket->tags] = place;
    return true;
}

int flows_create_in(struct flow *places, uint32_t most, uint64_t now_ns, struct flows **ret_flows,
                    struct err *err)
{
    int r = create(places, most, ret_flows, err);
    if (r < 0)
        return r;
    struct flows *flows = *ret_flows;
    for (uint32_t place = most; place-- > 0;) {
        if (keep(flows, place, now_ns)) {
            flows->counters.kept++;
        } else {
            flows->flows[place].seen_ns = 0;
            flows->free[flows->free_n++] = place;
        }
    }
    return 0;
}

int flows_create(uint32_t most, struct flows **ret_flows, struct err *err)
{
    return flows_create_in(NULL, most, 0, ret_flows, err);
}
