#include "controller/learnt.h"

#include <bsd/sys/queue.h>
#include <stdlib.h>
#include <uthash.h>

__extension__ typedef unsigned __int128 wide;

#define BYTES_MOST ((uint64_t)1 << 53)
#define TIME_MOST  ((uint64_t)1 << 60)

/* Without bytes between its members: it is hashed. */
struct key {
    uint64_t history, variant;
};
struct way {
    UT_hash_handle hh;
    struct key key;
    struct learnt_estimate estimate;
    TAILQ_ENTRY(way) by_age;
};
struct learnt {
    struct way *ways;
    uint32_t n;
    TAILQ_HEAD(, way) by_age; /* the one refined longest ago first */
};

struct learnt *learnt_create(void)
{
    struct learnt *learnt = calloc(1, sizeof(*learnt));
    if (learnt)
        TAILQ_INIT(&learnt->by_age);
    return learnt;
}

static void drop(struct learnt *learnt, struct way *way)
{
    TAILQ_REMOVE(&learnt->by_age, way, by_age);
    HASH_DEL(learnt->ways, way);
    learnt->n--;
    free(way);
}

void learnt_destroy(struct learnt *learnt)
{
    if (!learnt)
        return;
    while (!TAILQ_EMPTY(&learnt->by_age))
        drop(learnt, TAILQ_FIRST(&learnt->by_age));
    free(learnt);
}

static struct way *find(const struct learnt *learnt, uint64_t history, uint32_t variant)
{
    const struct key key = {history, variant};
    struct way *way;
    HASH_FIND(hh, learnt->ways, &key, sizeof(key), way);
    return way;
}

/* The newest from now on; NULL: memory is short. */
static struct way *find_or_add(struct learnt *learnt, uint64_t history, uint32_t variant)
{
    struct way *way = find(learnt, history, variant);
    if (way) {
        TAILQ_REMOVE(&learnt->by_age, way, by_age);
        TAILQ_INSERT_TAIL(&learnt->by_age, way, by_age);
        return way;
    }
    if (!(way = calloc(1, sizeof(*way))))
        return NULL;
    if (learnt->n == LEARNT_MAX)
        drop(learnt, TAILQ_FIRST(&learnt->by_age));
    way->key = (struct key){history, variant};
    HASH_ADD(hh, learnt->ways, key, sizeof(way->key), way);
    TAILQ_INSERT_TAIL(&learnt->by_age, way, by_age);
    learnt->n++;
    return way;
}

/* The mean moves towards the task number `tasks`. */
static uint64_t move(uint64_t mean, uint64_t seen, uint64_t tasks)
{
    uint64_t part = tasks < LEARNT_TASKS ? tasks : LEARNT_TASKS;
    return seen > mean ? mean + (seen - mean) / part : mean - (mean - seen) / part;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void move_rate(uint64_t *rate, uint64_t seen)
{
    *rate = seen > *rate ? seen : *rate - (*rate - seen) / LEARNT_SLOWER;
}

/* A task may not read for longer than it computes, where it reads meanwhile. */
static void make_valid(struct profile *profile)
{
    if (!profile->read_bytes_s)
        profile->read_bytes = 0;
    uint64_t read_ns = profile_read_ns(profile);
    if (!profile->before && read_ns > profile->compute_ns)
        profile->compute_ns = least(read_ns, TIME_MOST);
    if (profile_check(profile, NULL) < 0)
        *profile = (struct profile){.compute_ns = profile->compute_ns};
}

static void take_error(struct learnt_estimate *estimate, uint64_t total_ns)
{
    uint64_t lone_ns = profile_lone_ns(&estimate->profile);
    uint64_t off_ns = lone_ns > total_ns ? lone_ns - total_ns : total_ns - lone_ns;
    wide permille = (wide)off_ns * 1000 / (total_ns ? total_ns : 1);
    uint64_t off = permille < LEARNT_ERROR_MAX ? (uint64_t)permille : LEARNT_ERROR_MAX;
    estimate->error_permille = move(estimate->error_permille, off, estimate->tasks);
}

void learnt_see(struct learnt *learnt, uint64_t history, uint32_t variant,
                const struct learnt_seen *seen)
{
    struct way *way = find_or_add(learnt, history, variant);
    if (!way)
        return;
    struct learnt_estimate *estimate = &way->estimate;
    struct profile *profile = &estimate->profile;
    uint64_t total_ns = least(seen->total_ns, TIME_MOST), computing_ns = total_ns;
    if (estimate->tasks)
        take_error(estimate, total_ns);
    estimate->tasks++;
    if (seen->before && seen->counted)
        computing_ns -= least(seen->reading_ns, total_ns);
    profile->before = seen->before;
    profile->compute_ns = move(profile->compute_ns, computing_ns, estimate->tasks);
    if (seen->counted) {
        uint64_t bytes = least(seen->read_bytes, BYTES_MOST);
        profile->read_bytes = move(profile->read_bytes, bytes, estimate->tasks);
        if (bytes)
            move_rate(&profile->read_bytes_s, seen->read_bytes_s);
    }
    make_valid(profile);
}

bool learnt_find(const struct learnt *learnt, uint64_t history, uint32_t variant,
                 struct learnt_estimate *ret_estimate)
{
    const struct way *way = history ? find(learnt, history, variant) : NULL;
    if (way)
        *ret_estimate = way->estimate;
    return way != NULL;
}

bool learnt_restore(struct learnt *learnt, uint64_t history, uint32_t variant,
                    const struct learnt_estimate *estimate)
{
    bool valid = history && estimate->tasks && estimate->error_permille <= LEARNT_ERROR_MAX &&
                 profile_check(&estimate->profile, NULL) == 0;
    struct way *way = valid ? find_or_add(learnt, history, variant) : NULL;
    if (way)
        way->estimate = *estimate;
    return way != NULL;
}

void learnt_correct(const struct learnt_estimate *estimate, struct profile *profile)
{
    const struct profile *seen = &estimate->profile;
    if (!profile_is_known(profile)) {
        *profile = *seen;
        return;
    }
    if (seen->read_bytes > profile->read_bytes)
        profile->read_bytes = least(seen->read_bytes, BYTES_MOST);
    if (seen->read_bytes_s > profile->read_bytes_s)
        profile->read_bytes_s = seen->read_bytes_s;
    make_valid(profile);
}
