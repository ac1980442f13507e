#include "controller/engine/place/vain.h"

#include "controller/engine/base/table.h"
#include "controller/engine/books/cluster.h"

/* Its queues of the shape; NULL: it has none. */
static const struct queues *queues_of(const struct user *user, uint32_t shape)
{
    return shape < user->n_queues ? user->queues[shape] : NULL;
}

/* Its overdue stages, and when the first of them goes anywhere. */
static size_t count_overdue(const struct engine *engine, const struct user *user,
                            uint64_t *ret_until_ns)
{
    size_t n = 0;
    *ret_until_ns = UINT64_MAX;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        const struct queues *queues = queues_of(user, i);
        if (!queues || !queues->overdue.n)
            continue;
        uint64_t until_ns = sorted_least(&queues->overdue);
        n += queues->overdue.n;
        *ret_until_ns = until_ns < *ret_until_ns ? until_ns : *ret_until_ns;
    }
    return n;
}

/* WHY not in an idle cluster: there anything may go anywhere. */
static bool may_stand(const struct engine *engine, const struct user *user)
{
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        const struct queues *queues = queues_of(user, i);
        bool ready = queues && (queues->maps.n || queues->reduces.n);
        if (ready && (queues->at_home.n || shape_times(engine, engine->shapes[i]) <= 0))
            return false;
    }
    return engine->attempts.n;
}

void vain_keep(const struct engine *engine, const struct user *user, uint64_t whole,
               struct vain *vain)
{
    *vain = (struct vain){.stands = may_stand(engine, user),
                          .moves = user->moves,
                          .changes = engine->n_changes,
                          .whole = whole};
    vain->overdue = count_overdue(engine, user, &vain->until_ns);
}

typedef bool takes_reduce(const struct host *host, const struct shape *shape,
                          const struct queues *queues);

static bool may_take(const struct engine *engine, const struct user *user, const struct host *host,
                     takes_reduce *takes)
{
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        const struct queues *queues = queues_of(user, i);
        if (!queues || !host->shapes[i]->fitting)
            continue;
        if ((queues->maps.n && table_find(&queues->hosts, host->index)) ||
            (queues->reduces.n && takes(host, engine->shapes[i], queues)))
            return true;
    }
    return false;
}

static bool none_takes(struct engine *engine, const struct user *user, uint64_t since,
                       takes_reduce *takes)
{
    bool none = engine->n_changes - since <= CHANGES;
    for (; none && since < engine->n_changes; since++) {
        const struct host *host = cluster_host(engine, engine->changes[since % CHANGES]);
        engine->counters.visits++;
        none = !host || !may_take(engine, user, host, takes);
    }
    return none;
}

bool vain_stands(struct engine *engine, const struct user *user, uint64_t whole,
                 takes_reduce *takes, struct vain *vain)
{
    uint64_t until_ns;
    if (!vain->stands)
        return false;
    vain->stands = vain->moves == user->moves && vain->whole == whole && engine->attempts.n &&
                   (uint64_t)engine->now_ns < vain->until_ns &&
                   count_overdue(engine, user, &until_ns) == vain->overdue &&
                   none_takes(engine, user, vain->changes, takes);
    vain->changes = engine->n_changes;
    return vain->stands;
}
