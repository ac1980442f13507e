/* The level of a transfer is its job's rank: jobs with receiving tasks, in order of turn, have
 * strictly growing levels, and those beyond the last level share it. Then a later job's transfer
 * costs an earlier one nothing. Both levels of an attempt are equal; a map that reads its block has
 * level 0.
 *
 * Labels are lazy, since each change is a message. A job keeps its level while the order holds; one
 * that begins to receive takes the middle of the gap between its neighbours. Without a gap, or when
 * two jobs changed places, all jobs are relabelled, packed to the least urgent levels: most
 * newcomers are small and enter before them. A job's level is that of its attempts, so a dump needs
 * no more.
 *
 * With `users_first` users come in order of the slots that they hold for their shares, fewest
 * first, and the jobs of one in order of turn. That may change with every slot, so that jobs are
 * relabelled all the time: it is for comparisons (make bench-fairness). The end of a step looks
 * at the users of all jobs that receive.
 *
 * Cost: O(log n) for an attempt or a turn that moves, O(receiving jobs) where labels may be wrong,
 * and each attempt whose level changes; with `users_first` O(receiving jobs · log) a step. */
#include "controller/engine/base/ground.h"
#include "controller/engine/base/say.h"
#include "controller/engine/books/users.h"
#include "controller/engine/network/network.h"

#include <inttypes.h>

#define REASON_RANK ((enum reason)43)

static const struct engine_parameter parameter_users_first = {
    "users_first",
    ENGINE_UNIT_YES,
    0,
    1,
    0,
    "Who holds the fewest slots for its share is most urgent, whatever its jobs' turns."};
static const struct engine_parameter *const parameters[] = {&parameter_users_first, NULL};

struct rank_engine {
    struct sorted receiving; /* jobs, by users if users are first, then by turn */
    bool unsure;             /* labels may be out of order, or attempts of a job differ */
    bool mixed;              /* they differ: another policy gave them their levels */
};
struct rank_job {
    struct job *job;
    struct sorted_node node;
    struct rank_job *next; /* while users are looked at */
    uint32_t attempts;     /* that receive */
    uint64_t level;
};
struct rank_attempt {
    bool counted;
};

static int64_t levels_of(const struct engine *engine)
{
    return engine->config.coflow.levels ? engine->config.coflow.levels : ENGINE_LEVELS_MAX;
}

static bool users_first(const struct engine *engine)
{
    return policy_value(engine, QUESTION_NETWORK, &parameter_users_first);
}

/* Slots for its share, in units of 2^-20, above the user's number. */
static uint64_t place_of_user(const struct user *user)
{
    const uint64_t most = (UINT64_C(1) << 40) - 1;
    int64_t slots = user->held.amount[RES_SLOTS];
    uint64_t use = slots > 0 ? ((uint64_t)slots << 20) / user->share : 0;
    return (use < most ? use : most) << 24 | (user->number & 0xffffff);
}

static struct sorted_key key_of(const struct engine *engine, const struct job *job)
{
    if (!users_first(engine))
        return job->turn;
    return (struct sorted_key){place_of_user(job->tenant), job->turn.a, job->turn.b};
}

static struct rank_job *owner(struct sorted_node *node)
{
    return node ? container_of(node, struct rank_job, node) : NULL;
}

/* Whether it reads what other tasks made; maps' blocks have level 0. */
static bool is_ranked(const struct task *task)
{
    return task->bytes > 0;
}

static void set(struct attempt *attempt, uint64_t level)
{
    attempt->level[ORDER_COFLOW] = attempt->level[ORDER_MACROFLOW] = level;
}

static bool is_receiving(const struct attempt *attempt)
{
    return attempt->task && attempt->receiving && is_ranked(attempt->task);
}

static void tell(struct engine *engine, struct attempt *attempt, uint64_t level, int64_t place)
{
    const struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    if (attempt->level[ORDER_COFLOW] == level && attempt->level[ORDER_MACROFLOW] == level)
        return;
    set(attempt, level);
    struct decision *decision =
        engine_decide(engine, DECISION_LEVEL, REASON_RANK, place, (int64_t)all->receiving.n);
    decision->level.attempt = attempt->number;
    decision->level.host = attempt->host->index;
    decision->level.coflow_level = decision->level.macroflow_level = level;
    engine->counters.level_changes++;
}

/* `but` has not been announced: its start carries the level. */
static void relabel_job(struct engine *engine, struct rank_job *kept, uint64_t level, int64_t place,
                        const struct attempt *but)
{
    const struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    if (kept->level == level && !all->mixed)
        return;
    kept->level = level;
    for (uint32_t s = 0; s < kept->job->n_stages; s++) {
        struct attempt *attempt;
        TAILQ_FOREACH (attempt, &kept->job->stages[s]->attempts, of_stage)
            if (attempt != but && is_receiving(attempt))
                tell(engine, attempt, level, place);
    }
}

/* n jobs get the last n levels; those beyond share the last one. */
static void relabel(struct engine *engine, const struct attempt *but)
{
    struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    int64_t last = levels_of(engine) - 1, place = 0, spare = last + 1 - (int64_t)all->receiving.n;
    for (struct sorted_node *node = sorted_first(&all->receiving); node; node = sorted_next(node)) {
        int64_t level = place + (spare > 0 ? spare : 0);
        engine->counters.visits++;
        relabel_job(engine, owner(node), (uint64_t)(level < last ? level : last), ++place, but);
    }
    all->unsure = all->mixed = false;
}

/* Strictly growing, except for jobs that share the last level, whose places are the last or
 * beyond. */
static bool is_in_order(struct engine *engine)
{
    const struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    int64_t last = levels_of(engine) - 1, before = -1, place = 0;
    for (struct sorted_node *node = sorted_first(&all->receiving); node; node = sorted_next(node)) {
        uint64_t level = owner(node)->level;
        engine->counters.visits++;
        bool shares = (int64_t)level == last && before == last && place > last;
        if (level > (uint64_t)last || ((int64_t)level <= before && !shares))
            return false;
        before = (int64_t)level;
        place++;
    }
    return true;
}

static void order_by_users(struct engine *engine)
{
    struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    struct rank_job *jobs = NULL, *kept;
    while ((kept = owner(sorted_first(&all->receiving)))) {
        sorted_remove(&all->receiving, &kept->node);
        kept->next = jobs;
        jobs = kept;
    }
    for (; jobs; jobs = jobs->next) {
        engine->counters.visits++;
        sorted_insert(&all->receiving, &jobs->node, key_of(engine, jobs->job), 0);
    }
    all->unsure = true;
}

static void settle(struct engine *engine)
{
    struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    if (users_first(engine))
        order_by_users(engine);
    if (all->unsure && (all->mixed || !is_in_order(engine)))
        relabel(engine, NULL);
    all->unsure = false;
}

/* Takes the middle of the gap between its neighbours, or relabels all. */
static void enter(struct engine *engine, struct rank_job *kept, const struct attempt *first)
{
    struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    sorted_insert(&all->receiving, &kept->node, key_of(engine, kept->job), 0);
    const struct rank_job *before = owner(sorted_previous(&kept->node)),
                          *after = owner(sorted_next(&kept->node));
    int64_t above = before ? (int64_t)before->level : -1,
            below = after ? (int64_t)after->level : levels_of(engine);
    kept->level = (uint64_t)(above + (below - above) / 2);
    if (below - above < 2 || all->mixed)
        relabel(engine, first);
}

static void leave(struct engine *engine, struct rank_job *kept)
{
    struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    sorted_remove(&all->receiving, &kept->node);
    const struct rank_job *last = owner(sorted_last(&all->receiving));
    const struct rank_job *other = last ? owner(sorted_previous(&last->node)) : NULL;
    all->unsure |= other && other->level == last->level;
}

static void attempt_moved(struct engine *engine, struct task *task, struct attempt *attempt)
{
    struct rank_job *kept = task->stage->job->kept[QUESTION_NETWORK];
    struct rank_attempt *own = attempt->kept[QUESTION_NETWORK];
    bool receiving = is_receiving(attempt);
    if (receiving == own->counted)
        return;
    own->counted = receiving;
    kept->attempts += receiving ? 1 : -1u;
    if (receiving && kept->attempts == 1)
        enter(engine, kept, attempt);
    if (receiving)
        set(attempt, kept->level);
    if (!kept->attempts)
        leave(engine, kept);
}

static void turn_moved(struct engine *engine, struct job *job, bool passed)
{
    struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    struct rank_job *kept = job->kept[QUESTION_NETWORK];
    if (!kept->node.in)
        return;
    sorted_place(&all->receiving, &kept->node, key_of(engine, job), 0);
    all->unsure |= passed;
}

static void init_engine(struct engine *engine, union policy_of of, void *state)
{
    (void)engine, (void)of;
    ((struct rank_engine *)state)->receiving.counted = true;
}

static void init_job(struct engine *engine, union policy_of of, void *state)
{
    (void)engine;
    ((struct rank_job *)state)->job = of.job;
}

static void done_job(struct engine *engine, union policy_of of, void *state)
{
    struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    struct rank_job *kept = state;
    (void)of;
    sorted_remove(&all->receiving, &kept->node);
}

/* An attempt that runs when the policy is put in force: a job's level is that of its attempts. */
static void init_attempt(struct engine *engine, union policy_of of, void *state)
{
    struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    struct rank_attempt *own = state;
    const struct attempt *attempt = of.attempt;
    if (!is_receiving(attempt))
        return;
    struct rank_job *kept = attempt->task->stage->job->kept[QUESTION_NETWORK];
    own->counted = true;
    if (kept->attempts++ == 0) {
        kept->level = attempt->level[ORDER_COFLOW];
        sorted_insert(&all->receiving, &kept->node, key_of(engine, kept->job), 0);
    }
    all->unsure = true;
    all->mixed |= attempt->level[ORDER_COFLOW] != kept->level ||
                  attempt->level[ORDER_MACROFLOW] != kept->level ||
                  kept->level >= (uint64_t)levels_of(engine);
}

/* Both levels are equal; the order matters only to placements that predict by sizes. */
static enum transfer_order order(enum mode mode)
{
    return mode == MODE_SLOT_RICH ? ORDER_COFLOW : ORDER_MACROFLOW;
}

/* For an attempt that does not receive yet: attempt_moved comes when it does. One that has received
 * keeps its levels. */
static void levels(const struct engine *engine, const struct stage *stage, struct attempt *attempt)
{
    (void)engine;
    const struct rank_job *kept = stage->job->kept[QUESTION_NETWORK];
    if (!is_ranked(attempt->task))
        set(attempt, 0);
    else if (kept->attempts && attempt->state != ATTEMPT_COMPUTING)
        set(attempt, kept->level);
}

/* Its job's place among all; a block goes before all. */
static struct sorted_key urgency(const struct engine *engine, const struct task *task,
                                 const uint64_t bytes[static ORDERS])
{
    (void)bytes;
    return is_ranked(task) ? key_of(engine, task->stage->job) : (struct sorted_key){0, 0, 0};
}

static void explain(const struct engine *engine, const struct attempt *attempt,
                    struct engine_explanation *e)
{
    const struct rank_engine *all = engine->kept[QUESTION_NETWORK];
    const struct rank_job *kept = attempt->task->stage->job->kept[QUESTION_NETWORK];
    uint64_t level = attempt->level[ORDER_COFLOW];
    if (!is_ranked(attempt->task)) {
        say(e, "On the wire it has level 0, as all reads of blocks.");
        return;
    }
    if (!is_receiving(attempt)) {
        say(e, "It has received its input, on level %" PRIu64 ".", level);
        return;
    }
    say(e,
        "On the wire it has level %" PRIu64 ", in either mode: its job is number %zu of %zu that "
        "receive, in order of %s.",
        level, sorted_rank(&kept->node) + 1, all->receiving.n,
        users_first(engine) ? "what users hold for their shares, then of turn" : "turn");
}

static const struct policy_reason reasons[] = {
    {DECISION_LEVEL, REASON_RANK, "rank", "place of its job", "jobs that receive", NULL}, {0}};

const struct network_policy network_rank = {
    .policy =
        {.name = "rank",
         .state = {[POLICY_ENGINE] = {.size = sizeof(struct rank_engine), .init = init_engine},
                   [POLICY_JOB] = {.size = sizeof(struct rank_job),
                                   .init = init_job,
                                   .done = done_job},
                   [POLICY_ATTEMPT] = {.size = sizeof(struct rank_attempt), .init = init_attempt}},
         .parameters = parameters,
         .reasons = reasons,
         .hears.attempt_moved = attempt_moved,
         .hears.turn_moved = turn_moved,
         .hears.settle = settle},
    .order = order,
    .levels = levels,
    .urgency = urgency,
    .explain = explain,
};
