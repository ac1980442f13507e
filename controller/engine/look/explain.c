/* Explains why a task runs where it does at its levels, or why it waits. */
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/base/say.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/eviction.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/books/retry.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/look/clauses.h"
#include "controller/engine/look/reason.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/locality.h"
#include "controller/engine/watch/order.h"
#include "controller/engine/watch/refusal.h"
#include "controller/engine/watch/source.h"
#include "lib/container_of.h"
#include "lib/plural.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The most of each demanded resource that one unit of a known host has. */
static uint32_t most_of_a_unit(const struct engine *engine, const struct shape *shape,
                               struct resources *ret_most)
{
    uint32_t hosts = 0;
    *ret_most = (struct resources){0};
    for (uint32_t h = 0; h < engine->n_hosts; h++) {
        const struct host *host = engine->hosts[h];
        if (!host || !host->joined || !host->shapes[shape->index]->meets)
            continue;
        hosts++;
        for (uint32_t u = 0; u < host->n_units; u++)
            for (int r = 0; r < ENGINE_RESOURCES; r++)
                if (host->units[u].total.amount[r] > ret_most->amount[r])
                    ret_most->amount[r] = host->units[u].total.amount[r];
    }
    return hosts;
}

/* Whether a known host meets the first `length` bytes of the constraint. */
static bool is_met_somewhere(const struct engine *engine, const char *constraint, size_t length)
{
    bool met = false;
    for (uint32_t h = 0; h < engine->n_hosts && !met; h++) {
        const struct host *host = engine->hosts[h];
        const struct constraint_host words = host ? host_words(host) : (struct constraint_host){0};
        met = host && host->joined && constraint_part_is_met(constraint, length, &words);
    }
    return met;
}

static bool is_label(const char *constraint)
{
    return !strpbrk(constraint, " &|!()=");
}

/* " as variant 1", where there are several. */
struct way_said {
    char text[32];
};
static struct way_said say_way(const struct stage *stage)
{
    struct way_said said = {""};
    if (stage->first->n_others)
        snprintf(said.text, sizeof(said.text), " as variant %u", stage->variant);
    return said;
}

/* No known host meets the constraint: names its first part that is met by none of the hosts that
 * meet all parts before it. */
static void say_unmet(const struct engine *engine, const struct stage *of, char *text, size_t size)
{
    const char *constraint = of->bucket->shape->constraint;
    const uint32_t stage = of->index;
    const struct way_said way = say_way(of);
    struct constraint_span part;
    size_t before = 0;
    unsigned i = 0;
    if (is_label(constraint)) {
        snprintf(text, size,
                 "no known host could ever run a task of stage %u%s: none has label '%s'", stage,
                 way.text, constraint);
        return;
    }
    while (constraint_part(constraint, i, &part) &&
           is_met_somewhere(engine, constraint, part.end)) {
        before = part.end;
        i++;
    }
    snprintf(text, size,
             "no known host could ever run a task of stage %u%s: none%s%.*s%s meets '%.*s'", stage,
             way.text, i ? " that meets '" : "", (int)before, constraint, i ? "'" : "",
             (int)(part.end - part.begin), constraint + part.begin);
}

void engine_say_never_fits(const struct engine *engine, uint64_t job, uint32_t stage, char *text,
                           size_t size)
{
    const struct task *task = job_find_task(engine, job, stage, 0);
    char needs[160], has[160];
    struct resources most;
    *text = '\0';
    if (!task)
        return;
    const struct stage *never = variant_impossible(task->stage);
    const struct stage *of = never ? never : task->stage;
    const struct shape *shape = of->bucket->shape;
    const char *constraint = shape->constraint;
    uint32_t hosts = most_of_a_unit(engine, shape, &most);
    say_resources(&shape->demand, &shape->demand, needs, sizeof(needs));
    say_resources(&shape->demand, &most, has, sizeof(has));
    bool splits = resources_split_device(&most, &shape->demand);
    if (!hosts)
        say_unmet(engine, of, text, size);
    else
        snprintf(text, size,
                 "no known host could ever run a task of stage %u%s: it needs %s in one unit; the "
                 "most that a unit%s%s%s has is %s%s",
                 stage, say_way(of).text, needs,
                 !*constraint           ? ""
                 : is_label(constraint) ? " with label '"
                                        : " of those that meet '",
                 constraint, *constraint ? "'" : "", has,
                 splits ? ", and a unit of several devices hands out whole ones, for 1000 "
                          "gpu_milli each"
                        : "");
}

static void say_start(const struct engine *engine, struct engine_explanation *e,
                      const struct attempt *a)
{
    const struct policy_reason *entry = policy_reason(engine, DECISION_START, a->reason);
    if (entry)
        say_sentence(engine, e, entry->sentence, a->host, a->left, a->right);
    else
        say(e, "Runs on %s, where it was found running. ", said_host(a->host));
}

/* WHY a level may be one of a former policy: levels are given at the start, and again only by
 * policies that follow what is received. */
static void say_level(const struct engine *engine, struct engine_explanation *e,
                      const struct attempt *a)
{
    enum transfer_order order = engine->network->order(engine->mode);
    struct attempt now = *a;
    if (a->task)
        engine->network->levels(engine, a->task->stage, &now);
    if (a->task && now.level[order] == a->level[order])
        engine->network->explain(engine, a, e);
    else
        say(e, "It keeps level %" PRIu64 " from before the network policy \"%s\" was set.",
            a->level[order], engine->network->policy.name);
}

/* Which source sends it nothing, and since when. */
static void say_stalls(const struct engine *engine, struct engine_explanation *e,
                       const struct attempt *a)
{
    const struct stall *stall = TAILQ_FIRST(&a->stalls);
    if (!stall)
        return;
    const struct blind *blind = stall->blind;
    say(e, " It gets nothing from %s", said_host(blind->source));
    if (a->n_stalls > 1)
        say(e, " and %u other host%s", a->n_stalls - 1, plural(a->n_stalls - 1));
    say(e, ": %s cannot read there since %.1f s; after %.1f s it runs again.",
        said_host(blind->reader), (double)(engine->now_ns - blind->since_ns) / 1e9,
        (double)engine->config.source_lost_ns / 1e9);
    say_fact(e, "stalled_sources", "%u", a->n_stalls);
    say_fact(e, "stalled_source", "%s", said_host(blind->source));
    say_fact(e, "stalled_s", "%.3f", (double)(engine->now_ns - blind->since_ns) / 1e9);
}

/* In which of several ways it runs. */
static void say_variant(struct engine_explanation *e, const struct attempt *a)
{
    const struct stage *stage = a->task ? a->task->stage : NULL;
    if (!stage || a->variant > stage->n_others || !stage->n_others)
        return;
    const char *command = a->variant ? stage->others[a->variant - 1]->command : stage->command;
    say(e, "It runs as variant %u of %u (%s). ", a->variant, variant_count(stage), command);
    say_fact(e, "variant", "%u of %u", a->variant, variant_count(stage));
}

static void say_ways_of(const struct stage *first, char *text, size_t size)
{
    for (uint32_t v = 0; v < variant_count(first); v++) {
        const struct attempt *attempt;
        size_t used = strlen(text);
        uint32_t n = 0;
        TAILQ_FOREACH (attempt, &first->attempts, of_stage)
            n += attempt->variant == v;
        snprintf(text + used, size - used, "%s %u as %s", v ? "," : "", n,
                 v ? first->others[v - 1]->command : first->command);
    }
}

void engine_say_variants(const struct engine *engine, uint64_t number, char *text, size_t size)
{
    const struct job *job = job_find(engine, number);
    *text = '\0';
    for (uint32_t s = 0; job && s < job->n_stages; s++) {
        size_t used = strlen(text);
        if (!job->stages[s]->n_others)
            continue;
        snprintf(text + used, size - used, "%sstage %u runs", used ? "; " : "", s);
        say_ways_of(job->stages[s], text, size);
    }
}

static void explain_attempt(const struct engine *engine, struct engine_explanation *e,
                            const struct attempt *a)
{
    enum transfer_order order = engine->network->order(engine->mode);
    say_start(engine, e, a);
    say_variant(e, a);
    if (a->remote_bytes)
        say_level(engine, e, a);
    else
        say(e, "It reads nothing over the network, so its level does not matter.");
    say_stalls(engine, e, a);
    say_fact(e, "attempt", "%" PRIu64, a->number);
    say_fact(e, "attempt_state", "%s", attempt_state_name(a->state));
    say_fact(e, "host", "%s", said_host(a->host));
    say_fact(e, "start_reason", "%s", reason_name(a->reason));
    say_fact(e, "start_left", "%" PRId64, a->left);
    say_fact(e, "start_right", "%" PRId64, a->right);
    say_fact(e, "level_on_wire", "%" PRIu64, a->level[order]);
    say_fact(e, "coflow_level", "%" PRIu64, a->level[ORDER_COFLOW]);
    say_fact(e, "macroflow_level", "%" PRIu64, a->level[ORDER_MACROFLOW]);
    say_fact(e, "coflow_bytes", "%" PRIu64, a->bytes[ORDER_COFLOW]);
    say_fact(e, "macroflow_bytes", "%" PRIu64, a->bytes[ORDER_MACROFLOW]);
    say_fact(e, "network_bytes", "%" PRIu64, a->remote_bytes);
    say_fact(e, "received_bytes", "%" PRIu64, a->received_bytes);
    if (a->block_host != ENGINE_NONE)
        say_fact(e, "block_from", "%s", said_host(cluster_host(engine, a->block_host)));
}

static void explain_blocked(struct engine_explanation *e, const struct task *task)
{
    const struct stage *stage = task->stage;
    say(e, "Waits for other stages:");
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        const struct stage *parent = job_stage_at(stage->job, stage->edges[i].parent);
        if (stage->edges[i].kind == EDGE_PIPELINED)
            say(e, " stage %u has started %u of %u task%s;", parent->index, parent->n_started,
                parent->n_tasks, plural(parent->n_tasks));
        else
            say(e, " stage %u has done %u of %u task%s;", parent->index, parent->n_done,
                parent->n_tasks, plural(parent->n_tasks));
    }
    if (stage->job->state == JOB_ARRIVING)
        say(e, " its job has not arrived completely");
}

/* Whether the task's application gets no allows now. */
static bool is_refused(const struct engine *engine, const struct task *task)
{
    const struct job *job = task->stage->job;
    return limit_is_reached(job->account) && limit_of_shape(engine, job, true);
}

static void explain_lapses(struct engine_explanation *e, const struct account *account)
{
    const struct account *user = account->above[0];
    say_fact(e, "allows_in_force", "%" PRIu32, account->allowed);
    say_fact(e, "allows_lapsed", "%" PRIu64, account->lapsed);
    if (account->away) {
        say(e, "Waits: its application has no session, and is allowed nothing meanwhile.");
        return;
    }
    say_fact(e, "allows_at_most", "%" PRIu32, account->limit);
    say(e,
        "Waits: its application let %" PRIu64 " allow%s lapse without a start, so it may "
        "have %" PRIu32 " at a time, and twice as many with each that it uses.",
        account->lapsed, plural(account->lapsed), account->limit);
    if (user && user->limit && user->allowed >= user->limit)
        say(e, " All applications of its user that do so may have %" PRIu32 " together.",
            user->limit);
}

/* It, as the variant of which most fit now. */
static const struct task *in_roomiest_way(const struct engine *engine, const struct task *task)
{
    const struct choice *choice = task->stage->choice;
    const struct shape *shape = choice ? ways_roomiest(engine, choice->ways) : NULL;
    struct stage *way;
    VARIANT_FOREACH (way, task->stage)
        if (!shape || way->bucket->shape == shape)
            return &way->tasks[task->index];
    return task;
}

/* How many more fit in each way, where there are several. */
static void explain_ways(const struct engine *engine, struct engine_explanation *e,
                         const struct task *task)
{
    struct stage *way;
    char name[32];
    VARIANT_FOREACH (way, task->stage->first) {
        snprintf(name, sizeof(name), "variant_%u", way->variant);
        if (task->stage->first->n_others)
            say_fact(e, name, "%s: %" PRId64 " fit", way->command,
                     shape_times(engine, way->bucket->shape));
    }
}

static void explain_ready(const struct engine *engine, struct engine_explanation *e,
                          const struct task *first)
{
    const struct task *task = in_roomiest_way(engine, first);
    const struct shape *shape = task->stage->bucket->shape;
    if (engine->suspects)
        say_fact(e, "suspect_hosts", "%u", engine->suspects);
    if (shape->application && !shape->capable)
        say(e, "Waits: its application has no executor on a host that is up.");
    else if (shape->application && shape->times <= 0)
        say(e, "Waits for a slot: its application's executors have none free.");
    else if (is_refused(engine, task))
        explain_lapses(e, task->stage->job->account);
    else if (!shape->capable)
        say(e, "Waits: no host that is up can hold it (%u known ones could).", shape->possible);
    else if (shape->times <= 0)
        say(e, "Waits for a slot: none that it may use is free.");
    else if (engine->place->full && engine->place->full(engine))
        say(e,
            "Waits for a slot: the last of the free ones, %" PRId64 " of %" PRId64
            ", are left to what needs one for a moment.",
            engine->free.amount[RES_SLOTS], engine->total.amount[RES_SLOTS]);
    else if (task->stage->held || task->stage->bucket->homed)
        say_hold(engine, e, task);
    else
        say(e, "Ready: it is placed at the next decision.");
    if (engine->suspects && shape->times <= 0)
        say(e, " %u suspect host%s no new work (duopolyctl hosts says why).", engine->suspects,
            engine->suspects == 1 ? " gets" : "s get");
    say_fact(e, "waits_s", "%.3f", (double)(engine->now_ns - task->ready_ns) / 1e9);
    say_fact(e, "free_slots_for_it", "%" PRId64, shape_times(engine, shape));
    explain_ways(engine, e, task);
    if (task->stage->held) {
        say_fact(e, "hold_reason", "%s", reason_name(task->stage->hold_reason));
        say_fact(e, "hold_left", "%" PRId64, task->stage->hold_left);
        say_fact(e, "hold_right", "%" PRId64, task->stage->hold_right);
        say_fact(e, "held_s", "%.3f", (double)(engine->now_ns - task->stage->held_since_ns) / 1e9);
    }
}

/* An operator holds its job. */
static void explain_held(const struct engine *engine, struct engine_explanation *e,
                         const struct job *job)
{
    double held_s = (double)(engine->now_ns - job->holder->since_ns) / 1e9;
    say(e,
        "Waits: its job is held by %s for %.1f s, and nothing of it starts until `duopolyctl job "
        "release %" PRIu64 "`.",
        job->holder->by, held_s, job->number);
    say_fact(e, "job_held_by", "%s", job->holder->by);
    say_fact(e, "job_held_s", "%.3f", held_s);
}

/* The commit policy holds the stage. */
static void explain_refused(const struct engine *engine, struct engine_explanation *e,
                            const struct task *task)
{
    const struct refusal *refusal = task->stage->refusal;
    const struct policy_why *why = &refusal->why;
    const struct policy_reason *entry = policy_reason(engine, DECISION_HOLD, why->reason);
    say(e, "Held back, since it may not commit: ");
    if (entry)
        say_sentence(engine, e, entry->sentence, NULL, why->left, why->right);
    say(e, " It is asked again after %.1f s at the latest.",
        (double)(refusal->due_ns - engine->now_ns) / 1e9);
    say_fact(e, "commit", "%s refuses: %s", engine->commit->policy.name, reason_name(why->reason));
    say_fact(e, "hold_reason", "%s", reason_name(why->reason));
    say_fact(e, "hold_left", "%" PRId64, why->left);
    say_fact(e, "hold_right", "%" PRId64, why->right);
    say_fact(e, "held_s", "%.3f", (double)(engine->now_ns - refusal->since_ns) / 1e9);
}

static void explain_retry(const struct engine *engine, struct engine_explanation *e,
                          const struct task *task)
{
    const struct retry *retry = task->retry;
    double left_s = (double)(task->ready_ns + engine->config.hold_max_ns - engine->now_ns) / 1e9;
    say(e, "Failed on");
    for (uint32_t i = 0; i < retry->n; i++)
        say(e, "%s %s", i ? "," : "", said_host(retry->tried[i].host));
    say(e, "; waits for room on another host, for %.1f s at most, then for any.", left_s);
    say_fact(e, "failed_on_hosts", "%u", retry->n);
    say_fact(e, "waits_s", "%.3f", (double)(engine->now_ns - task->ready_ns) / 1e9);
}

static void say_evicted(const struct engine *engine, struct engine_explanation *e,
                        const struct task *task)
{
    const struct evicted *evicted = eviction_of(task);
    if (!evicted)
        return;
    const struct host *host = cluster_host(engine, evicted->host);
    const struct policy_reason *entry = policy_reason(engine, DECISION_STOP, evicted->reason);
    say(e, " It was evicted from %s %.1f s ago: ", said_host(host),
        (double)(engine->now_ns - evicted->at_ns) / 1e9);
    if (entry)
        say_sentence(engine, e, entry->sentence, host, evicted->left, evicted->right);
    if (evicted->by_job)
        say(e, " Task %" PRIu64 "/%u/%u was to have its slot.", evicted->by_job, evicted->by_stage,
            evicted->by_task);
    say(e, " So far %u of its attempts %s; %.1f s of running are lost with that.", evicted->times,
        evicted->times == 1 ? "was" : "were", (double)evicted->lost_ns / 1e9);
    say_fact(e, "evicted_from", "%s", said_host(host));
    say_fact(e, "evict_reason", "%s", reason_name(evicted->reason));
    say_fact(e, "evictions", "%u", evicted->times);
    say_fact(e, "evicted_s", "%.3f", (double)evicted->lost_ns / 1e9);
    if (evicted->by_job)
        say_fact(e, "evicted_for", "%" PRIu64 "/%u/%u", evicted->by_job, evicted->by_stage,
                 evicted->by_task);
}

/* What the job's number is made of. */
static void say_number(const struct engine *engine, struct engine_explanation *e,
                       const struct job *job)
{
    if (engine->turn->explain) {
        say(e, ": ");
        engine->turn->explain(engine, job, e);
    }
    say(e, ".");
}

static void say_turn(const struct engine *engine, struct engine_explanation *e,
                     const struct job *job)
{
    say(e, " Its job is %" PRIu64 " of %zu in turn", engine_job_place(engine, job->number),
        engine->active.n);
    say_number(engine, e, job);
}

int engine_explain_turn(const struct engine *engine, uint64_t number,
                        struct engine_explanation *ret_explanation)
{
    struct engine_explanation *e = ret_explanation;
    const struct job *job = job_find(engine, number);
    const uint64_t place = engine_job_place(engine, number);
    if (!place)
        return -ENOENT;
    struct sorted_node *before = sorted_previous(&job->by_turn);
    struct sorted_node *beside = before ? before : sorted_next(&job->by_turn);
    memset(e, 0, sizeof(*e));
    say(e, "It is %" PRIu64 " of %zu in turn", place, engine->active.n);
    say_number(engine, e, job);
    say_fact(e, "job_place", "%" PRIu64 " of %zu", place, engine->active.n);
    say_fact(e, "turn", "%s", engine->turn->policy.name);
    if (beside) {
        const struct job *other = container_of(beside, struct job, by_turn);
        say(e, " %s it is job %" PRIu64 " (%s)", before ? "Before" : "Behind", other->number,
            other->name);
        say_number(engine, e, other);
        say_fact(e, before ? "job_before" : "job_behind", "%" PRIu64, other->number);
    }
    say_user(engine, e, job->tenant);
    return 0;
}

static void add_context(const struct engine *engine, struct engine_explanation *e,
                        const struct task *task)
{
    const struct job *job = task->stage->job;
    uint64_t ready;
    int64_t free;
    char use[sizeof(e->fact[0].value)];
    mode_numbers(engine, &ready, &free);
    say_fact(e, "task_state", "%s", task_state_name(task_state(task)));
    say_fact(e, "kind", "%s", task->bytes ? "reduce" : "map");
    say_fact(e, "job_place", "%" PRIu64 " of %zu by %s", engine_job_place(engine, job->number),
             engine->active.n, engine->turn->policy.name);
    say_fact(e, "mode", "%s", mode_name(engine->mode));
    engine_say_mode_use(engine, use, sizeof(use));
    say_fact(e, "mode_use", "%s", use);
    say_fact(e, "mode_numbers", "%" PRIu64 " ready, %" PRId64 " free", ready, free);
    say_fact(e, "congested", "%s", engine->congested ? "yes" : "no");
    say_fact(e, "policies", "%s %s %s %s", engine->turn->policy.name, engine->place->policy.name,
             engine->commit->policy.name, engine->network->policy.name);
}

int engine_explain(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t index,
                   struct engine_explanation *ret_explanation)
{
    const struct task *task = job_find_task(engine, job, stage, index);
    struct engine_explanation *e = ret_explanation;
    if (!task)
        return -ENOENT;
    const enum task_state state = task_state(task);
    memset(e, 0, sizeof(*e));
    if (state == TASK_DONE)
        say(e, "Done by attempt %" PRIu64 " on %s.", task->done_attempt,
            said_host(cluster_host(engine, task->done_host)));
    else if (task->attempts)
        explain_attempt(engine, e, task->attempts);
    else if (retry_waits(task))
        explain_retry(engine, e, task);
    else if (state == TASK_READY)
        explain_ready(engine, e, task);
    else if (task->stage->job->holder)
        explain_held(engine, e, task->stage->job);
    else if (task->stage->refusal && !task->stage->parents_missing)
        explain_refused(engine, e, task);
    else
        explain_blocked(e, task);
    say_evicted(engine, e, task);
    if (engine->place->explain && (state == TASK_READY || state == TASK_RUNNING))
        engine->place->explain(engine, task, e);
    if (state != TASK_DONE && task->stage->job->state == JOB_ACTIVE) {
        say_turn(engine, e, task->stage->job);
        say_user(engine, e, task->stage->job->tenant);
    }
    add_context(engine, e, task);
    return 0;
}
