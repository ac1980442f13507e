/* Dominant resource fairness over jobs (Ghodsi, Zaharia, Hindman, Konwinski, Shenker, Stoica:
 * Dominant Resource Fairness, NSDI 2011, algorithm 1). A job's share of a resource is what its
 * attempts hold of it, by what all hosts that are up have; the largest of its shares is its
 * dominant share. The job with the smallest dominant share is next, so jobs that want different
 * resources get equal parts of what each wants most.
 *
 * The shares are in units of 2^-32 of the whole, in integers. WHY the whole is rounded down to its
 * 6 leading bits: a change of it changes every job's share, O(jobs · log n), and hosts come and go;
 * so a cluster that doubles costs that 32 times at most, and shares of two resources are compared
 * within 3 %. It stays a function of facts. */
#include "controller/engine/base/say.h"
#include "controller/engine/turn/turn.h"
#include "controller/engine/watch/order.h"

__extension__ typedef unsigned __int128 wide;

enum { SHARE_BITS = 32, LEADING_BITS = 6 };

struct drf_engine {
    uint64_t whole[ENGINE_RESOURCES]; /* 0: no host that is up has any */
};
struct drf_job {
    wide held[ENGINE_RESOURCES]; /* by its attempts */
};
struct drf_attempt {
    bool counted;
};

static uint64_t round_down(int64_t amount)
{
    uint64_t whole = amount > 0 ? (uint64_t)amount : 0;
    int bits = whole ? 64 - __builtin_clzll(whole) : 0;
    return bits > LEADING_BITS ? whole >> (bits - LEADING_BITS) << (bits - LEADING_BITS) : whole;
}

/* True: the whole changed. */
static bool take_whole(const struct engine *engine, struct drf_engine *all)
{
    bool another = false;
    for (int r = 0; r < ENGINE_RESOURCES; r++) {
        uint64_t whole = round_down(engine->total.amount[r]);
        another |= whole != all->whole[r];
        all->whole[r] = whole;
    }
    return another;
}

static void init_engine(struct engine *engine, union policy_of of, void *state)
{
    (void)of;
    take_whole(engine, state);
}

static void cluster_changed(struct engine *engine)
{
    if (take_whole(engine, engine->kept[QUESTION_TURN]))
        order_rebuild(engine);
}

static void count(struct job *job, const struct attempt *attempt, struct drf_attempt *own, bool in)
{
    struct drf_job *kept = job->kept[QUESTION_TURN];
    if (own->counted == in)
        return;
    own->counted = in;
    for (int r = 0; r < ENGINE_RESOURCES; r++) {
        wide amount = attempt->resources.amount[r] > 0 ? (uint64_t)attempt->resources.amount[r] : 0;
        kept->held[r] += in ? amount : -amount;
    }
}

static void init_attempt(struct engine *engine, union policy_of of, void *state)
{
    (void)engine;
    if (of.attempt->task)
        count(of.attempt->task->stage->job, of.attempt, state, true);
}

/* It has left its task, or not. */
static void attempt_moved(struct engine *engine, struct task *task, struct attempt *attempt)
{
    (void)engine;
    count(task->stage->job, attempt, attempt->kept[QUESTION_TURN], attempt->task);
}

/* The dominant resource; its share. */
static int dominant(const struct engine *engine, const struct job *job, uint64_t *ret_share)
{
    const struct drf_engine *all = engine->kept[QUESTION_TURN];
    const struct drf_job *kept = job->kept[QUESTION_TURN];
    int most = 0;
    *ret_share = 0;
    for (int r = 0; r < ENGINE_RESOURCES; r++) {
        wide share = all->whole[r] ? (kept->held[r] << SHARE_BITS) / all->whole[r] : 0;
        if (share <= *ret_share)
            continue;
        *ret_share = share > UINT64_MAX ? UINT64_MAX : (uint64_t)share;
        most = r;
    }
    return most;
}

static uint64_t number(const struct engine *engine, const struct job *job)
{
    uint64_t share;
    dominant(engine, job, &share);
    return share;
}

static void explain(const struct engine *engine, const struct job *job,
                    struct engine_explanation *e)
{
    static const char *const names[ENGINE_RESOURCES] = {"slots", "processors", "memory",
                                                        "GPUs",  "GPU memory", "disk rate"};
    uint64_t share;
    int most = dominant(engine, job, &share);
    if (share)
        say(e, "its largest share is %.1f %% of all %s",
            (double)share * 100 / (double)(UINT64_C(1) << SHARE_BITS), names[most]);
    else
        say(e, "it holds nothing");
}

const struct turn_policy turn_drf = {
    .policy = {.name = "drf",
               .state = {[POLICY_ENGINE] = {.size = sizeof(struct drf_engine), .init = init_engine},
                         [POLICY_JOB] = {.size = sizeof(struct drf_job)},
                         [POLICY_ATTEMPT] = {.size = sizeof(struct drf_attempt),
                                             .init = init_attempt}},
               .hears.attempt_moved = attempt_moved,
               .hears.cluster_changed = cluster_changed},
    .number = number,
    .explain = explain,
};
