/* How many executors, and slots of executors, an application may report: as other reports of
 * frameworks (engine/books/account.h) they are counted for the application, its user and its key.
 * An application may have as much as is left of all, a user twice, a key four times that, so each
 * leaves something for the others. */
#include "controller/frameworks/application.h"

#include "lib/invariant.h"

#include <string.h>

/* Reported by an application, by those of its user, of its key, and by all. */
struct told {
    uint64_t own, user, key, all;
};

static bool is_of_key(const struct application *one, const struct application *other)
{
    return strcmp(one->owner, other->owner) == 0;
}

static struct told told_of(const struct application *application,
                           uint64_t (*amount)(const struct executors *executors))
{
    const struct frameworks *frameworks = application->frameworks;
    struct told told = {.own = amount(&application->executors)};
    for (int i = 0; i < FRAMEWORKS_MAX; i++) {
        const struct application *other = frameworks->applications[i];
        uint64_t has = other ? amount(&other->executors) : 0;
        told.all += has;
        told.key += other && is_of_key(application, other) ? has : 0;
        told.user +=
            other && is_of_key(application, other) && other->user == application->user ? has : 0;
    }
    return told;
}

/* The amount to add so that it then has `share` times what is left. */
static uint64_t rest_of(uint64_t left, uint64_t share, uint64_t has)
{
    return share * left > has ? (share * left - has) / (share + 1) : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t may_have(const struct told *told, uint64_t most)
{
    uint64_t left = most > told->all ? most - told->all : 0;
    return smaller(rest_of(left, 1, told->own),
                   smaller(rest_of(left, 2, told->user), rest_of(left, 4, told->key)));
}

static uint64_t count_of(const struct executors *executors)
{
    return HASH_CNT(by_name, executors->by_name);
}

static uint64_t slots_of(const struct executors *executors)
{
    return executors->slots;
}

bool executors_have_place(const struct application *application)
{
    const uint64_t most = application->frameworks->config.all_executors_max;
    const struct told told = told_of(application, count_of);
    return !most || may_have(&told, most);
}

bool executors_cut_slots(const struct application *application, uint64_t has, int64_t *slots)
{
    const uint64_t most = application->frameworks->config.all_slots_max;
    struct told told = told_of(application, slots_of);
    assert(told.own >= has && told.user >= has && told.key >= has && told.all >= has);
    told.own -= has;
    told.user -= has;
    told.key -= has;
    told.all -= has;
    const uint64_t may = may_have(&told, most);
    if (!most || (uint64_t)*slots <= may)
        return false;
    *slots = (int64_t)may;
    return true;
}
