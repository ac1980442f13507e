#include "controller/engine/place/affinity_rank.h"

#include "lib/invariant.h"

enum { RATE_LOOKS = 64 };

/* ---- orders ---- */

uint64_t affinity_progress(const struct stage *stage)
{
    engine_wide ns = (engine_wide)stage->first->n_started * kinds_lone_ns(stage) +
                     (uint64_t)stage->job->submitted_ns;
    return ns < UINT64_MAX ? (uint64_t)ns : UINT64_MAX;
}

uint64_t affinity_added_ns(const struct affinity_round *round, const struct affinity_choice *one)
{
    return round->downlink == AFFINITY_ADDED ? one->wait_ns : 0;
}

uint64_t affinity_progress_there(const struct affinity_round *round,
                                 const struct affinity_choice *one)
{
    uint64_t progress = affinity_progress(one->stage), added_ns = affinity_added_ns(round, one);
    return progress < UINT64_MAX - added_ns ? progress + added_ns : UINT64_MAX;
}

uint64_t affinity_waited(const struct engine *engine, const struct stage *stage)
{
    return engine->attempt_counter - kinds_of(stage->first)->since;
}

typedef bool choice_order(const struct affinity_round *round, const struct affinity_choice *a,
                          const struct affinity_choice *b);

/* WHY another lone time of what is not known: it is 1 ns, of which any wait is a large multiple. */
static void add_wait(const struct affinity_round *round, struct affinity_choice *one)
{
    const struct task *task = kinds_next_task(one->stage, round->host);
    one->wait_ns = affinity_wait_ns(round->engine, round->host, task);
    if (one->wait_ns && !one->kind->known)
        one->predicted_ns = one->lone_ns = KINDS_UNKNOWN_NS;
    one->predicted_ns = one->predicted_ns < AFFINITY_NEVER_NS - one->wait_ns
                            ? one->predicted_ns + one->wait_ns
                            : AFFINITY_NEVER_NS;
}

static struct affinity_choice choice_of(const struct affinity_round *round, const struct kind *kind,
                                        struct stage *stage)
{
    struct affinity_choice one = {stage, kind,
                                  affinity_predict_ns(&kind->profile, &round->disk, round->stretch),
                                  kind->lone_ns, 0};
    if (round->downlink != AFFINITY_ALIKE)
        add_wait(round, &one);
    return one;
}

/* Of stages of one job. */
static bool has_lower_number(const struct stage *a, const struct stage *b)
{
    return a->index != b->index ? a->index < b->index : a->variant < b->variant;
}

static bool is_less_delayed(const struct affinity_round *round, const struct affinity_choice *a,
                            const struct affinity_choice *b)
{
    (void)round;
    int order = affinity_compare(a->predicted_ns, a->lone_ns, b->predicted_ns, b->lone_ns);
    if (!order)
        order = sorted_compare(kinds_of(a->stage)->in_order.key, kinds_of(b->stage)->in_order.key);
    return order ? order < 0 : has_lower_number(a->stage, b->stage);
}

/* By `rate`: −1, 0 or 1. WHY the age ≥ 1: a stage may be asked for in the step of its job. */
static int compare_rates(const struct affinity_round *round, const struct affinity_choice *a,
                         const struct affinity_choice *b)
{
    const struct affinity_choice *of[2] = {a, b};
    engine_wide done[2];
    uint64_t age[2];
    for (int i = 0; i < 2; i++) {
        const struct stage *stage = of[i]->stage;
        uint64_t ns = (uint64_t)(round->engine->now_ns - stage->job->submitted_ns);
        age[i] = ns < 1 ? 1 : ns < KINDS_TIME_MOST ? ns : KINDS_TIME_MOST;
        done[i] = (engine_wide)stage->first->n_started * kinds_lone_ns(stage) +
                  affinity_added_ns(round, of[i]);
    }
    engine_wide left = done[0] * age[1], right = done[1] * age[0];
    return left < right ? -1 : left > right;
}

static int compare_progress(const struct affinity_round *round, const struct affinity_choice *a,
                            const struct affinity_choice *b)
{
    if (round->downlink == AFFINITY_BEHIND && a->wait_ns != b->wait_ns)
        return a->wait_ns < b->wait_ns ? -1 : 1;
    if (round->rate)
        return compare_rates(round, a, b);
    uint64_t x = affinity_progress_there(round, a), y = affinity_progress_there(round, b);
    return x < y ? -1 : x > y;
}

static bool is_slower(const struct affinity_round *round, const struct affinity_choice *a,
                      const struct affinity_choice *b)
{
    int order = compare_progress(round, a, b);
    if (order)
        return order < 0;
    /* best ÷ predicted, the largest first */
    order = affinity_compare(a->kind->best_ns, a->predicted_ns, b->kind->best_ns, b->predicted_ns);
    if (order)
        return order > 0;
    struct sorted_key x = {(uint64_t)a->stage->job->submitted_ns, a->stage->job->number, 0},
                      y = {(uint64_t)b->stage->job->submitted_ns, b->stage->job->number, 0};
    order = sorted_compare(x, y);
    return order ? order < 0 : has_lower_number(a->stage, b->stage);
}

static bool waits_longer(const struct affinity_round *round, const struct affinity_choice *a,
                         const struct affinity_choice *b)
{
    (void)round;
    return sorted_compare(kinds_of(a->stage)->waiting.key, kinds_of(b->stage)->waiting.key) < 0;
}

static choice_order *order_of(const struct affinity_round *round)
{
    return round->gpu ? is_less_delayed : is_slower;
}

static void rank(const struct affinity_round *round, const struct affinity_choice *one,
                 choice_order *goes_first, struct affinity_ranking *ranking)
{
    uint32_t at = ranking->n;
    while (at && goes_first(round, one, &ranking->at[at - 1])) {
        if (at < AFFINITY_RANKED)
            ranking->at[at] = ranking->at[at - 1];
        at--;
    }
    if (at == AFFINITY_RANKED)
        return;
    ranking->at[at] = *one;
    ranking->n += ranking->n < AFFINITY_RANKED;
}

/* ---- each kind of a group ---- */

static struct stage *stage_in(struct sorted_node *node)
{
    return container_of(node, struct kinds_stage, in_order)->stage;
}

/* The slowest of its kind by `rate`: of each number of started tasks the earliest job. */
static struct stage *slowest_by_rate(const struct affinity_round *round, const struct kind *kind)
{
    struct sorted_node *node = sorted_first(&kind->in_order);
    struct affinity_choice slowest = {.stage = stage_in(node)};
    for (int looks = 1; node && looks < RATE_LOOKS; looks++) {
        node = sorted_from(&kind->in_order, (struct sorted_key){node->key.a + 1, 0, 0});
        round->engine->counters.visits++;
        const struct affinity_choice one = {.stage = node ? stage_in(node) : slowest.stage};
        if (compare_rates(round, &one, &slowest) < 0)
            slowest = one;
    }
    return slowest.stage;
}

static void rank_each(const struct affinity_round *round, struct kinds_group *group,
                      struct affinity_ranking *ranking)
{
    bool rate = round->rate && !round->gpu;
    struct kind *kind = NULL;
    while ((kind = kinds_after(group, kind))) {
        round->engine->counters.visits++;
        const struct affinity_choice one =
            choice_of(round, kind, rate ? slowest_by_rate(round, kind) : kind_first(kind));
        rank(round, &one, order_of(round), ranking);
    }
}

/* ---- the best of a group ---- */

/* Where a kind stands: its predicted time, by what it is measured by, and its first stage. Of a
 * subtree: nothing in it stands before that. */
struct position {
    uint64_t wait; /* ns, of kinds that go behind others for it */
    uint64_t time; /* parts of AFFINITY_ONE */
    struct sorted_key first;
};
/* What was found, and where the last of it stands. */
struct search {
    const struct affinity_round *round;
    struct affinity_ranking *ranking;
    struct position last;
    bool exact; /* the last one's time was not rounded down */
};
struct subtree {
    const struct kind *root; /* NULL: there is none */
    struct position position;
};

static struct position position_of(const struct search *search, const struct kind_least *least)
{
    return (struct position){
        0, affinity_bound_at(&least->bound, &search->round->disk, search->round->stretch),
        least->first};
}

static struct subtree subtree_of(const struct search *search, const struct kind *root)
{
    return root ? (struct subtree){root, position_of(search, &root->below)} : (struct subtree){0};
}

/* A slot goes by waits, where these count so, then by progress, which is the first number of a
 * stage's place in order. `equal`: what it is where times are. */
static int compare_positions(const struct search *search, const struct position *a,
                             const struct position *b, int equal)
{
    if (!search->round->gpu && a->wait != b->wait)
        return a->wait < b->wait ? -1 : 1;
    if (!search->round->gpu && a->first.a != b->first.a)
        return a->first.a < b->first.a ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return equal ? equal : sorted_compare(a->first, b->first);
}

static bool is_behind(const struct search *search, const struct position *position)
{
    return search->ranking->n == AFFINITY_RANKED &&
           compare_positions(search, position, &search->last, search->exact ? 0 : -1) > 0;
}

static void take(struct search *search, const struct kind *kind)
{
    struct affinity_ranking *ranking = search->ranking;
    const struct affinity_choice one = choice_of(search->round, kind, kind_first(kind)),
                                 *last = &ranking->at[AFFINITY_RANKED - 1];
    rank(search->round, &one, order_of(search->round), ranking);
    if (ranking->n < AFFINITY_RANKED)
        return;
    search->last.wait = search->round->downlink == AFFINITY_BEHIND ? last->wait_ns : 0;
    search->last.first = kinds_of(last->stage)->in_order.key;
    if (!search->round->gpu)
        search->last.first.a = affinity_progress_there(search->round, last);
    search->last.time = affinity_parts(last->predicted_ns, kind_by_ns(last->kind), &search->exact);
}

/* WHY the better side first: what is found there leaves out more of the other. It goes as deep as
 * the tree, which is 2 · log₂(kinds + 1) at most. */
static void search_in(struct search *search, const struct subtree *in)
{
    if (!in->root || is_behind(search, &in->position))
        return;
    search->round->engine->counters.visits++;
    const struct position own = position_of(search, &in->root->own);
    if (!is_behind(search, &own))
        take(search, in->root);
    const struct subtree left = subtree_of(search, RB_LEFT(in->root, of_group)),
                         right = subtree_of(search, RB_RIGHT(in->root, of_group));
    bool turned = compare_positions(search, &right.position, &left.position, 0) < 0;
    search_in(search, turned ? &right : &left);
    search_in(search, turned ? &left : &right);
}

/* ---- over all groups ---- */

static bool is_for(const struct affinity_round *round, const struct kinds_group *group)
{
    return group_is_on_gpu(group) == round->gpu && kinds_fit(round->engine, group, round->host);
}

/* Whether looking at each kind finds the same. */
static __attribute__((unused)) bool is_best(const struct affinity_round *round,
                                            const struct affinity_ranking *ranking)
{
    struct affinity_ranking all = {0};
    struct kinds_group *group = NULL;
    const uint64_t visits = round->engine->counters.visits;
    bool same = true;
    while ((group = kinds_group_after(round->engine, group)))
        if (is_for(round, group))
            rank_each(round, group, &all);
    round->engine->counters.visits = visits;
    for (uint32_t i = 0; i < AFFINITY_RANKED; i++)
        same = same && all.at[i].stage == ranking->at[i].stage;
    return same && all.n == ranking->n;
}

bool affinity_find_best(const struct affinity_round *round, struct affinity_ranking *ret_ranking)
{
    struct search search = {.round = round, .ranking = ret_ranking};
    struct kinds_group *group = NULL;
    *ret_ranking = (struct affinity_ranking){0};
    while ((group = kinds_group_after(round->engine, group))) {
        round->engine->counters.visits++;
        if (!is_for(round, group))
            continue;
        ret_ranking->seen += group->n;
        if (round->rate && !round->gpu) {
            rank_each(round, group, ret_ranking);
            continue;
        }
        const struct subtree all = subtree_of(&search, RB_ROOT(&group->kinds));
        search_in(&search, &all);
    }
    checked(is_best(round, ret_ranking));
    return ret_ranking->n > 0;
}

/* ---- those that wait ---- */

static void rank_overdue(const struct affinity_round *round, const struct kinds_group *group,
                         uint64_t since, struct affinity_ranking *ranking)
{
    struct sorted_node *node = sorted_first(&group->waiting),
                       *end = sorted_from(&group->waiting, (struct sorted_key){since + 1, 0, 0});
    ranking->seen += end ? sorted_rank(end) : group->waiting.n;
    for (int i = 0; node != end && i < AFFINITY_RANKED; i++, node = sorted_next(node)) {
        const struct kind *kind = container_of(node, struct kind, longest);
        const struct affinity_choice one = choice_of(
            round, kind,
            container_of(sorted_first(&kind->waiting), struct kinds_stage, waiting)->stage);
        round->engine->counters.visits++;
        rank(round, &one, waits_longer, ranking);
    }
}

bool affinity_find_overdue(const struct affinity_round *round, uint64_t patience,
                           struct affinity_ranking *ret_ranking)
{
    const uint64_t starts = round->engine->attempt_counter;
    struct kinds_group *group = NULL;
    *ret_ranking = (struct affinity_ranking){0};
    while (starts >= patience && (group = kinds_group_after(round->engine, group))) {
        round->engine->counters.visits++;
        if (sorted_first(&group->waiting)->key.a <= starts - patience &&
            kinds_fit(round->engine, group, round->host))
            rank_overdue(round, group, starts - patience, ret_ranking);
    }
    return ret_ranking->n > 0;
}
