/* Joint placement for a network that serves jobs strictly by rank (network/rank.c). There a later
 * job's transfer costs an earlier one nothing, so later jobs use the slots that earlier jobs leave,
 * in order of turn; two rules limit the slots that they may hold.
 *
 * A pick makes one claim: jobs in order of turn, of each job maps, then reduces.
 * - Maps run next to their blocks, on the host with the fewest of the job's maps, and wait for a
 *   slot there. After even_wait evenness is dropped, never locality, until hold_max or until no
 *   replica's host is up: a map that reads its block over a full network holds a slot for minutes.
 *   A job whose whole shuffle one link moves in JOINT_SMALL_MS, and each of whose blocks in a tenth
 *   of that, does not wait.
 * - Reduces: a stage's largest ready one, on a host with a free slot that no rule closes. The
 *   rules: own: no task of its job receives there; earlier: no task of an earlier job receives
 *   there, or one does and more than r + 1 slots are free and fewer than FEW taken; kept: if the
 *   task receives for over LONG_MS, fewer than slots − r such tasks run there; far: the task
 *   prefers the host (near.h), or has waited for its preferred one. Where it has not, the stage's
 *   largest task that prefers the host goes instead. Of the open hosts: fewest receivers of earlier
 *   jobs, least traffic of others on the downlink (in quarters of its rate), most outputs of its
 *   own job, fewest receivers, fewest tasks, lowest index. (Closing hosts with traffic of others to
 *   later jobs, or to long transfers, costs more than it brings: such a link still carries useful
 *   bytes.) r is a quarter of the host's slots of that shape, at least 1 and at most all but one.
 *   Bytes become times by the mean rate of the links of hosts that are up.
 * - The last free slots of the cluster, one in JOINT_LAST_SHARE, are for reduces that receive for
 *   at most SHORT_MS and for maps of jobs with a shuffle and blocks of up to ten times what is
 *   small. Such maps go anywhere; those of jobs that are more than small only when nothing of their
 *   stage runs, else next to their blocks. For all others the cluster is full. WHY: where slots are
 *   short, because computing is slow or hosts have few, the first job in turn takes each slot as it
 *   falls free, and the next small job finds none although it would need it for a moment. Reserving
 *   1 slot in 32 costs other jobs nothing that could be measured. While a framework places a stage
 *   itself and tasks of it wait (opened.h), these slots are kept only from the jobs that come after
 *   that one. WHY: it takes every slot that is left free, so what is kept from an earlier job is
 *   kept for a later one.
 * - A job whose maps have no place may have a home (pack.h): its tasks start there and nowhere
 *   else, whatever the rules above say of receivers and of the last slots.
 *
 * hold_max ends what maps wait for. A reduce task waits for links that its own or earlier jobs use,
 * where it could not receive yet and would hold its slot for as long, and for a slot among those
 * for transfers of its length; no slot is kept from it in the hope of a better one. For a slot on
 * its preferred host it waits at most for twice what that saves.
 *
 * Which jobs are asked. Every rule except "own" closes at least as many hosts to a later job. So
 * when a job's task was refused by other rules, no later job under the same or more rules is asked
 * (sorted_next_below), and each host excludes by "own" at most as many jobs as it has slots. Which
 * hosts are looked at: for a refused stage only hosts that changed since. For others those with
 * outputs of its job, then the rest in the order of by_load, where of n idle hosts, in random
 * order, log n are better than all before them. It looks at each host with room when none takes the
 * task, or when outputs are on as many; a start looks at all its inputs. For stages that wait for
 * slots on preferred hosts, FAR_MAX at most, only these hosts. For the last slots the first job
 * whose maps go anywhere is found by its value; of the many before it that wait for slots of their
 * own, those with maps on the few hosts with room. */
#include "controller/engine/place/joint.h"
#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/spread.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/users.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/place/place.h"
#include "controller/engine/place/vain.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/queues.h"

#define REASON_ONE_DEEP         ((enum reason)44)
#define REASON_OWN_RECEIVER     ((enum reason)45)
#define REASON_EARLIER_RECEIVER ((enum reason)46)
#define REASON_KEPT_SLOT        ((enum reason)47)
#define REASON_FAR              ((enum reason)48)

static const struct field stage_fields[] = {FIELD_OF(joint_stage, far_until_ns, U64), {0}};
static const struct field job_fields[] = {FIELD_OF(joint_job, pack.packed, BOOL),
                                          FIELD_OF(joint_job, pack.home, U32),
                                          FIELD_OF(joint_job, pack.one_ns, I64),
                                          FIELD_OF(joint_job, pack.spread_ns, I64),
                                          FIELD_OF(joint_job, pack.wait_ns, I64),
                                          FIELD_LEAN(joint_job, pack.racked, BOOL),
                                          {0}};
static const struct field engine_fields[] = {FIELD_OF(joint_engine, pack.took_ns, U64), {0}};

static struct asking ask_for_host(struct engine *engine, const struct task *task)
{
    struct joint_stage *kept = task->stage->kept[QUESTION_PLACE];
    struct asking a = joint_ask(engine, task);
    near_follow(engine, task->stage, &kept->near);
    a.near = &kept->near;
    int64_t until_ns = near_until_ns(engine, a.near, task);
    struct joint_engine *all = engine->kept[QUESTION_PLACE];
    bool may_wait = kept->far_until_ns || all->far.n < JOINT_FAR_MAX;
    a.until_ns = may_wait && engine->now_ns < until_ns ? until_ns : 0;
    all->crowded |= !may_wait && engine->now_ns < until_ns;
    return a;
}

static struct task *largest(const struct stage *stage)
{
    struct sorted_key equal = {sorted_last(&stage->ready_reduces)->key.a, 0, 0};
    return container_of(sorted_from(&stage->ready_reduces, equal), struct task, ready);
}

/* *own: the last host that was closed since its own job receives there. */
static void consider(const struct asking *a, struct host *host, struct offer *best, uint32_t *own)
{
    struct offer offer;
    a->engine->counters.visits++;
    if (!host || !host->shapes[a->task->stage->bucket->shape->index]->fitting)
        return;
    enum rule rule = joint_closed_by(a, host, &offer);
    if (rule == RULE_OWN)
        *own = host->index;
    if (rule == RULE_FAR)
        offer.task = near_largest(a->near, a->task->stage, host);
    if ((rule != RULES && rule != RULE_FAR) || !offer.task)
        return;
    offer.outputs = spread_outputs(a->task->stage->job, host);
    if (!best->host || joint_is_better(&offer, best))
        *best = offer;
}

/* It was refused, and only hosts that changed since can take it. */
static bool may_remember(const struct asking *a, const struct joint_stage *kept)
{
    const struct joint_engine *all = a->engine->kept[QUESTION_PLACE];
    return kept->refused && a->length >= kept->length && a->short_bytes == kept->short_bytes &&
           all->moves == kept->moves && a->engine->n_changes - kept->changes <= CHANGES;
}

static void list_far(struct joint_engine *all, const struct stage *stage, struct joint_stage *kept)
{
    kept->stage = stage;
    struct sorted_key key = {kept->far_until_ns, stage->job->number,
                             (uint64_t)stage->variant << 32 | stage->index};
    sorted_place(&all->far, &kept->of_far, key, 0);
}

/* Its largest task waits for its preferred host: a step is due when the wait ends. */
static void wait_for_preferred(const struct asking *a)
{
    struct joint_engine *all = a->engine->kept[QUESTION_PLACE];
    const struct stage *stage = a->task->stage;
    struct joint_stage *kept = stage->kept[QUESTION_PLACE];
    kept->far_until_ns = (uint64_t)a->until_ns;
    all->waits = true;
    list_far(all, stage, kept);
}

static void far_no_more(struct engine *engine, struct joint_stage *kept)
{
    struct joint_engine *all = engine->kept[QUESTION_PLACE];
    sorted_remove(&all->far, &kept->of_far);
    kept->far_until_ns = 0;
}

/* The last pick, which asks all stages that may have a slot, decides which of them wait. WHY not
 * earlier picks: after a switch to another policy and back the set would differ. */
static void ask_anew(struct engine *engine)
{
    const struct joint_engine *all = engine->kept[QUESTION_PLACE];
    struct sorted_node *node, *next;
    for (node = engine_follows(engine, RULE_FAR_ANEW) ? sorted_first(&all->far) : NULL; node;
         node = next) {
        struct joint_stage *kept = container_of(node, struct joint_stage, of_far);
        next = sorted_next(node);
        if (!engine->asked || kept->stage->job->tenant == engine->asked)
            far_no_more(engine, kept);
    }
}

/* Hosts without outputs can be better than the best so far only with less host_crowd(). */
static uint64_t crowd_below(const struct offer *best)
{
    if (!best->host || best->earlier || joint_foreign_quarters(best->host) ||
        best->receivers >= HOST_CROWDED)
        return UINT64_MAX;
    return best->outputs ? 0 : host_crowd(best->host);
}

/* Each host that can be the best; each with room when none takes it. */
static void consider_all(const struct asking *a, struct offer *best, uint32_t *own)
{
    const struct job *job = a->task->stage->job;
    const struct sorted *hosts = &a->task->stage->bucket->shape->by_load;
    bool apart = job->output_hosts < hosts->n;
    struct sorted_node *node;
    for (node = apart ? sorted_first(spread_ordered(job)) : NULL; node; node = sorted_next(node))
        consider(a, container_of(node, struct job_host, by_host)->host, best, own);
    for (node = sorted_first_below(hosts, apart ? crowd_below(best) : UINT64_MAX); node;
         node = sorted_next_below(node, apart ? crowd_below(best) : UINT64_MAX))
        consider(a, container_of(node, struct fit, by_load)->host, best, own);
}

/* Each host that changed since it was refused. False: the host that was remembered as closed by its
 * own job is so no more, and no other of these is. WHY all are then looked at: whether one is left
 * decides if later jobs are asked, and must not depend on what is remembered, which is in no
 * dump. */
static bool consider_changed(const struct asking *a, struct joint_stage *kept, struct offer *best)
{
    struct engine *engine = a->engine;
    uint32_t before = kept->own, own = ENGINE_NONE;
    bool changed = false;
    for (uint64_t i = kept->changes; i < engine->n_changes; i++) {
        uint32_t host = engine->changes[i % CHANGES];
        changed |= host == before;
        consider(a, cluster_host(engine, host), best, &own);
    }
    if (own != ENGINE_NONE)
        kept->own = own;
    return own != ENGINE_NONE || !changed || !engine_follows(engine, RULE_OWN_LOOKED_UP);
}

static struct offer find_host(const struct asking *a, struct joint_stage *kept)
{
    struct engine *engine = a->engine;
    const struct joint_engine *all = engine->kept[QUESTION_PLACE];
    struct offer best = {0};
    bool remembers = may_remember(a, kept) && consider_changed(a, kept, &best);
    if (best.host)
        return best; /* the other changed hosts are looked at again */
    if (!remembers) {
        kept->own = ENGINE_NONE;
        consider_all(a, &best, &kept->own);
    }
    kept->refused = !best.host;
    kept->length = a->length;
    kept->short_bytes = a->short_bytes;
    kept->moves = all->moves;
    kept->changes = engine->n_changes;
    return best;
}

/* Over the hosts that tasks of its stage prefer. */
struct preferred {
    const struct asking *a;
    struct offer best;
    uint32_t own;
};

static void consider_preferred(void *context, uint32_t host)
{
    struct preferred *preferred = context;
    consider(preferred->a, cluster_host(preferred->a->engine, host), &preferred->best,
             &preferred->own);
}

static struct offer find_preferred(const struct asking *a)
{
    struct preferred preferred = {.a = a};
    near_each_preferred(a->near, a->task, consider_preferred, &preferred);
    if (!preferred.best.host)
        wait_for_preferred(a);
    return preferred.best;
}

static bool goes_before(const struct task *a, const struct task *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->stage->index < b->stage->index;
}

/* Whether only the last free slots are left, and are kept from the job. */
static bool only_short_for(const struct engine *engine, const struct job *job)
{
    const struct sorted_key *from = joint_last_from(engine);
    return joint_only_short(engine) && !(from && sorted_compare(job->turn, *from) < 0);
}

/* The largest of the bucket's stages' largest ready reduce tasks that some host takes; for those
 * that wait for their preferred host, of the tasks that prefer a host. */
static bool ask_bucket(struct engine *engine, struct bucket *bucket, struct claim *ret_claim,
                       bool *ret_open)
{
    struct task *best = NULL;
    struct stage *stage;
    *ret_open = false;
    TAILQ_FOREACH (stage, &bucket->reduce_stages, of_bucket) {
        struct joint_stage *kept = stage->kept[QUESTION_PLACE];
        struct asking a = ask_for_host(engine, largest(stage));
        engine->counters.visits++;
        if (best && !goes_before(a.task, best))
            continue;
        if (a.length != RECEIVES_SHORT && only_short_for(engine, stage->job))
            continue;
        struct offer offer = a.until_ns ? find_preferred(&a) : find_host(&a, kept);
        *ret_open |= a.until_ns || kept->own != ENGINE_NONE;
        if (!offer.host || (best && !goes_before(offer.task, best)))
            continue;
        best = offer.task;
        *ret_claim = (struct claim){best, host_fit(offer.host, bucket->shape), REASON_ONE_DEEP,
                                    offer.earlier, offer.outputs};
    }
    return best;
}

/* Values depend on the links' rate: recomputes them when it changed. */
static void follow_rate(struct engine *engine)
{
    struct joint_engine *all = engine->kept[QUESTION_PLACE];
    uint64_t rate = joint_link_bytes(engine, JOINT_RATE_MS);
    if (rate == all->rate)
        return;
    all->rate = rate;
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_turn);
        engine->counters.visits++;
        for (uint32_t i = 0; i < job->n_buckets; i++)
            bucket_update(engine, job->buckets[i]);
    }
}

/* The first job of this shape whose turn is before that one (NULL: any) and whose next tasks are
 * shorter than `limit`. */
static bool pick_below(struct engine *engine, struct shape *shape, const struct sorted_key *before,
                       uint64_t limit, struct claim *ret_claim)
{
    struct sorted_node *node = sorted_first_below(&users_asked(engine, shape)->reduces, limit);
    while (node) {
        struct bucket *bucket = container_of(node, struct bucket, by_turn_reduces);
        bool open;
        engine->counters.visits++;
        if (before && sorted_compare(bucket->job->turn, *before) >= 0)
            return false;
        if (ask_bucket(engine, bucket, ret_claim, &open))
            return true;
        if (!open)
            limit = node->value == RECEIVES_LONG ? RECEIVES_LONG : 0;
        node = limit ? sorted_next_below(node, limit) : NULL;
    }
    return false;
}

static bool pick_of_shape(struct engine *engine, struct shape *shape, const struct job *before,
                          struct claim *ret_claim)
{
    const struct sorted_key *until = before ? &before->turn : NULL;
    if (!joint_only_short(engine))
        return pick_below(engine, shape, until, UINT64_MAX, ret_claim);
    const struct sorted_key *from = joint_last_from(engine);
    if (from && until && sorted_compare(*until, *from) < 0)
        from = until;
    return (from && pick_below(engine, shape, from, UINT64_MAX, ret_claim)) ||
           pick_below(engine, shape, until, RECEIVES_MEDIUM, ret_claim);
}

/* Or the same, in a way that its stage prefers. */
static bool is_larger(const struct task *a, const struct task *b)
{
    return a->bytes > b->bytes ||
           (variant_first(a) == variant_first(b) && a->stage->variant < b->stage->variant);
}

static bool pick_reduce(struct engine *engine, const struct job *before, struct claim *ret_claim)
{
    struct claim claim;
    bool found = false;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        if (shape_times(engine, engine->shapes[i]) <= 0 ||
            !pick_of_shape(engine, engine->shapes[i], before, &claim))
            continue;
        const struct job *job = claim.task->stage->job;
        const struct job *other = found ? ret_claim->task->stage->job : NULL;
        if (found && (joint_is_sooner(other, job) ||
                      (other == job && !is_larger(claim.task, ret_claim->task))))
            continue;
        *ret_claim = claim;
        found = true;
    }
    return found;
}

/* Maps whose holds end go first, anywhere. */
static bool pick_late(struct engine *engine, struct claim *ret_claim)
{
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        uint64_t now = (uint64_t)engine->now_ns;
        struct sorted_node *node =
            sorted_first_below(&users_asked(engine, shape)->overdue, now + 1);
        for (; node && shape_times(engine, shape) > 0; node = sorted_next_below(node, now + 1)) {
            const struct stage *stage = container_of(node, struct stage, waiting);
            engine->counters.visits++;
            if (stage->n_ready > stage->ready_reduces.n)
                return place_pair(engine, stage->bucket, false, ret_claim);
        }
    }
    return false;
}

/* Reduces always find a host in an idle cluster, maps perhaps not. */
static bool pick_for_idle_cluster(struct engine *engine, struct claim *ret_claim)
{
    struct bucket *bucket = engine->attempts.n ? NULL : place_first_bucket(engine);
    return bucket && bucket->n_maps && place_pair(engine, bucket, false, ret_claim);
}

static bool pick_in_turn(struct engine *engine, struct claim *ret_claim)
{
    struct bucket *home = pack_first(engine);
    struct joint_map map = joint_choose_map(engine);
    if (home && map.bucket && joint_is_sooner(map.bucket->job, home->job))
        home = NULL;
    const struct bucket *first = home ? home : map.bucket;
    if (pick_reduce(engine, first ? first->job : NULL, ret_claim))
        return true;
    if (home)
        *ret_claim = pack_claim(engine, home);
    return home || (map.bucket && joint_pick_map(engine, map, ret_claim));
}

/* WHY apart for the last slots: for them there are other rules. */
static struct vain *vain_of(const struct engine *engine, struct user *user)
{
    return &user->vain[joint_only_short(engine)];
}

static bool is_whole(const struct joint_whole *a, const struct joint_whole *b)
{
    return a->up == b->up && a->uplink_bps == b->uplink_bps && a->left == b->left &&
           sorted_compare(a->from, b->from) == 0;
}

static uint64_t count_wholes(struct engine *engine)
{
    struct joint_engine *all = engine->kept[QUESTION_PLACE];
    const struct sorted_key *from = joint_last_from(engine);
    struct joint_whole now = {engine->up, engine->uplink_bps, from != NULL,
                              from ? *from : (struct sorted_key){0, 0, 0}};
    if (!is_whole(&now, &all->whole)) {
        all->whole = now;
        all->wholes++;
    }
    return all->wholes;
}

/* WHY not where a stage came to wait for its preferred host: by asking for it others may not
 * (JOINT_FAR_MAX). */
static void keep_vain(struct engine *engine, struct user *user)
{
    const struct joint_engine *all = engine->kept[QUESTION_PLACE];
    struct vain *vain = vain_of(engine, user);
    vain_keep(engine, user, count_wholes(engine), vain);
    vain->stands &= !all->waits;
    vain->crowded = all->crowded;
}

/* Whether the rule "earlier" leaves the host open to the first of the jobs: it closes each host to
 * later ones as well. */
static bool takes_reduce(const struct host *host, const struct shape *shape,
                         const struct queues *queues)
{
    return joint_is_open_to(host, shape, sorted_first(&queues->reduces)->key);
}

static bool in_vain(struct engine *engine, struct user *user)
{
    const struct joint_engine *all = engine->kept[QUESTION_PLACE];
    struct vain *vain = vain_of(engine, user);
    return (!vain->crowded || all->far.n >= JOINT_FAR_MAX) &&
           vain_stands(engine, user, count_wholes(engine), takes_reduce, vain);
}

static bool joint_pick(struct engine *engine, struct claim *ret_claim)
{
    struct joint_engine *all = engine->kept[QUESTION_PLACE];
    all->waits = all->crowded = false;
    ask_anew(engine);
    follow_rate(engine);
    bool found = (!joint_only_short(engine) && pick_late(engine, ret_claim)) ||
                 pick_in_turn(engine, ret_claim) || pick_for_idle_cluster(engine, ret_claim);
    if (!found && engine->asked)
        keep_vain(engine, engine->asked);
    return found;
}

/* The rule that closes most hosts with a free slot to the stage's largest reduce task, before which
 * no other goes. */
static struct policy_why held(const struct engine *engine, const struct stage *stage,
                              const struct task *task)
{
    static const enum reason reasons[RULES] = {REASON_OWN_RECEIVER, REASON_EARLIER_RECEIVER,
                                               REASON_KEPT_SLOT, REASON_FAR};
    if (stage->bucket->homed)
        return pack_held(engine, stage);
    bool reduce = task ? task->bytes : stage->ready_reduces.n;
    if (!reduce)
        return (struct policy_why){REASON_NO_LOCAL_SLOT, clamp_i64(stage->n_ready), 0};
    struct asking a = ask_for_host((struct engine *)(uintptr_t)engine, largest(stage));
    int64_t closed[RULES + 1] = {0}, all = 0;
    enum rule most = RULE_OWN;
    for (struct sorted_node *node = sorted_first(&stage->bucket->shape->by_load); node;
         node = sorted_next(node)) {
        struct fit *fit = container_of(node, struct fit, by_load);
        struct offer offer;
        a.engine->counters.visits++;
        closed[joint_closed_by(&a, fit->host, &offer)]++;
        all++;
    }
    for (enum rule rule = RULE_OWN; rule < RULES; rule++)
        if (closed[rule] > closed[most])
            most = rule;
    return (struct policy_why){reasons[most], closed[most], all};
}

/* Hosts that did not change may be open to other jobs. */
static void hosts_open(struct engine *engine)
{
    struct joint_engine *all = engine->kept[QUESTION_PLACE];
    all->wholes++;
}

static void task_counts(struct engine *engine, struct task *task, bool in)
{
    hosts_open(engine);
    if (!in)
        return;
    joint_count_block(task->stage->job->kept[QUESTION_PLACE], joint_block_of(task));
    pack_follow_task(engine, task);
}

static void job_grew(struct engine *engine, struct job *job)
{
    hosts_open(engine);
    locality_job_grew(engine, job);
    for (uint32_t i = 0; i < job->n_buckets; i++)
        joint_maps_follow(engine, job->buckets[i]);
    pack_follow(engine, job);
}

static void host_capable(struct engine *engine, struct host *host)
{
    struct local_maps *local;
    hosts_open(engine);
    TAILQ_FOREACH (local, &host->locals, on_host)
        joint_maps_follow(engine, local->bucket);
    pack_follow_host(engine, host);
}

static void init_job(struct engine *engine, union policy_of of, void *state)
{
    const struct job *job = of.job;
    struct joint_job *kept = state;
    kept->turn = job->turn.a;
    joint_count_block(state, job->largest_input);
    for (uint32_t s = 0; job->framework && s < job->n_stages; s++)
        for (uint32_t t = 0; t < job->stages[s]->n_tasks; t++)
            joint_count_block(state, joint_block_of(&job->stages[s]->tasks[t]));
    struct stage *way;
    for (uint32_t s = 0; s < job->n_stages; s++)
        VARIANT_FOREACH (way, job->stages[s])
            if (job->stages[s]->n_running)
                locality_begin(engine, way->bucket);
    job_grew(engine, of.job);
}

/* The length of the shortest of its stages' largest ready reduce tasks. */
static uint64_t reduce_value(struct engine *engine, const struct bucket *bucket)
{
    uint64_t least = RECEIVES_LONG;
    struct stage *stage;
    if (bucket->homed)
        return UINT64_MAX;
    TAILQ_FOREACH (stage, &bucket->reduce_stages, of_bucket) {
        struct asking a = joint_ask(engine, largest(stage));
        engine->counters.visits++;
        if (a.length < least)
            least = a.length;
    }
    return least;
}

static void queues_follow(struct engine *engine, struct stage *stage, bool runs)
{
    if (runs)
        locality_begin(engine, stage->bucket);
    joint_maps_follow(engine, stage->bucket);
    if (!stage->ready_reduces.n)
        far_no_more(engine, stage->kept[QUESTION_PLACE]);
}

static void task_moved(struct engine *engine, struct task *task, enum task_state before)
{
    struct joint_job *kept = task->stage->job->kept[QUESTION_PLACE];
    kept->map_moves += !task->bytes;
    struct stage *way;
    VARIANT_FOREACH (way, task->stage)
        queues_follow(engine, way, task_state(task) == TASK_RUNNING);
    if (task_state(task) == TASK_DONE && before == TASK_RUNNING)
        pack_learn(engine, task);
    pack_follow(engine, task->stage->job);
}

static void done_stage(struct engine *engine, union policy_of of, void *state)
{
    struct joint_stage *kept = state;
    (void)of;
    far_no_more(engine, kept);
    near_done(&kept->near);
}

static void done_job(struct engine *engine, union policy_of of, void *state)
{
    (void)state;
    pack_forget(engine, of.job);
}

static bool is_packed(const void *state)
{
    const struct joint_job *kept = state;
    return kept->pack.packed || kept->pack.racked;
}

static void load_job(struct engine *engine, union policy_of of, void *state)
{
    (void)state;
    pack_restore(engine, of.job);
}

static bool has_learnt(const void *state)
{
    const struct joint_engine *all = state;
    return all->pack.took_ns;
}

static bool waits_for_home(const void *state)
{
    const struct joint_stage *kept = state;
    return kept->far_until_ns;
}

static void load_stage(struct engine *engine, union policy_of of, void *state)
{
    struct joint_engine *all = engine->kept[QUESTION_PLACE];
    struct joint_stage *kept = state;
    if (kept->far_until_ns)
        list_far(all, of.stage, kept);
}

static int64_t deadline_ns(const struct engine *engine)
{
    const struct joint_engine *all = engine->kept[QUESTION_PLACE];
    const struct sorted_node *node = sorted_first(&all->far);
    int64_t first = node ? (int64_t)node->key.a : INT64_MAX, pack = pack_deadline_ns(engine);
    return pack < first ? pack : first;
}

static void expire(struct engine *engine)
{
    ask_anew(engine);
    pack_expire(engine);
}

static void settle(struct engine *engine)
{
    struct joint_engine *all = engine->kept[QUESTION_PLACE];
    struct sorted_node *node;
    while ((node = sorted_first(&all->far)) && node->key.a <= (uint64_t)engine->now_ns)
        far_no_more(engine, container_of(node, struct joint_stage, of_far));
    for (node = sorted_first(&engine->opening); node; node = sorted_next(node)) {
        struct stage *way, *stage = container_of(node, struct stage, of_opening);
        VARIANT_FOREACH (way, stage) {
            struct joint_stage *kept = way->kept[QUESTION_PLACE];
            if (!stage->framework)
                near_follow(engine, way, &kept->near);
        }
    }
}

static void task_ready(struct engine *engine, struct task *task)
{
    struct joint_stage *kept = task->stage->kept[QUESTION_PLACE];
    near_ready(engine, &kept->near, task);
    pack_follow(engine, task->stage->job);
}

static void task_unready(struct engine *engine, struct task *task)
{
    pack_follow(engine, task->stage->job);
}

static void ready_left(struct engine *engine, struct stage *stage)
{
    pack_follow(engine, stage->job);
}

static void attempt_moved(struct engine *engine, struct task *task, struct attempt *attempt)
{
    struct joint_engine *all = engine->kept[QUESTION_PLACE];
    bool lost = !attempt->task && attempt->receiving;
    (void)task;
    all->moves += lost;
    if (lost)
        hosts_open(engine);
}

/* Where tasks of a job receive that comes later now, hosts may be open to those it passed. One that
 * comes sooner opens none but to itself. */
static void turn_moved(struct engine *engine, struct job *job, bool passed)
{
    struct joint_engine *all = engine->kept[QUESTION_PLACE];
    struct joint_job *kept = job->kept[QUESTION_PLACE];
    bool later = job->turn.a > kept->turn;
    kept->turn = job->turn.a;
    all->moves += passed;
    if (passed && later && job->n_running)
        hosts_open(engine);
    pack_follow(engine, job);
}

static const struct policy_reason reasons[] = {
    PLACE_PAIR_REASONS,
    {DECISION_START, REASON_ONE_DEEP, "one-deep", "receivers of earlier jobs there",
     "outputs of its job there",
     "Runs on {host}, where no task of its job receives, {left} of earlier jobs do, and {right} "
     "outputs of its job are. "},
    {DECISION_HOLD, REASON_NO_LOCAL_SLOT, NULL, "ready tasks of the stage", NULL,
     "it waits for a slot next to its block, at first on a host that has not had its even part of "
     "the job's maps."},
    {DECISION_HOLD, REASON_OWN_RECEIVER, "own-receiver",
     "hosts with a free slot that the rule closes to it", "hosts with a free slot",
     "a task of its own job receives on {left} of {right} hosts with a free slot, one at a time "
     "has each downlink."},
    {DECISION_HOLD, REASON_EARLIER_RECEIVER, "earlier-receiver",
     "hosts with a free slot that the rule closes to it", "hosts with a free slot",
     "a task of an earlier job receives on {left} of {right} hosts with a free slot."},
    {DECISION_HOLD, REASON_KEPT_SLOT, "kept-slot",
     "hosts with a free slot that the rule closes to it", "hosts with a free slot",
     "it would receive for long, and on {left} of {right} hosts with a free slot the rest is kept "
     "from such tasks."},
    {DECISION_HOLD, REASON_FAR, "far", "hosts with a free slot that the rule closes to it",
     "hosts with a free slot",
     "most of its input is elsewhere than on {left} of {right} hosts with a free slot, and it "
     "waits "
     "for one there no longer than twice the time that it would take to come."},
    PACK_REASONS,
    {0}};

static const struct engine_parameter *const parameters[] = {
    &parameter_even_wait, &parameter_start_wait, &parameter_pack, &parameter_lies_there, NULL};

const struct place_policy place_joint = {
    .policy = {.name = "joint",
               .state = {[POLICY_ENGINE] = {.size = sizeof(struct joint_engine),
                                            .fields = engine_fields,
                                            .keeps = has_learnt},
                         [POLICY_JOB] = {.size = sizeof(struct joint_job),
                                         .init = init_job,
                                         .done = done_job,
                                         .fields = job_fields,
                                         .keeps = is_packed,
                                         .load = load_job},
                         [POLICY_STAGE] = {.size = sizeof(struct joint_stage),
                                           .done = done_stage,
                                           .fields = stage_fields,
                                           .keeps = waits_for_home,
                                           .load = load_stage}},
               .parameters = parameters,
               .reasons = reasons,
               .hears.task_ready = task_ready,
               .hears.task_unready = task_unready,
               .hears.ready_left = ready_left,
               .hears.outputs_moved = pack_follow,
               .hears.job_withdrawn = pack_forget,
               .hears.expire = expire,
               .hears.task_moved = task_moved,
               .hears.task_counts = task_counts,
               .hears.job_grew = job_grew,
               .hears.host_capable = host_capable,
               .hears.attempt_moved = attempt_moved,
               .hears.turn_moved = turn_moved,
               .hears.deadline_ns = deadline_ns,
               .hears.settle = settle},
    .pick = joint_pick,
    .chosen = pack_consider,
    .first_local = true,
    .even = true,
    .pure_without_reduces = true,
    .in_vain = in_vain,
    .held = held,
    .patient = true,
    .full = joint_only_short,
    .map_value = joint_map_value,
    .reduce_value = reduce_value,
};
