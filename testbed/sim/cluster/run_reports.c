/* Agents' reports every 100 ms: bytes received so far.
 *
 * Most reports change nothing. The engine uses received bytes for two things: the level of a
 * Coflow, which changes at a threshold, and placing by what is left to receive (NEAT, and affinity
 * with `downlink`). So a report is left out if none of a Coflow's thresholds could be crossed
 * before it (tasks get no more than their downlinks carry) and such a placement could not place a
 * task before it; the next report includes its bytes. Every decision is the same, at the same
 * instant, as if all were sent; only steps without decisions are missing. All are sent if others
 * read them (a log, all_told), if a report's last word may remain the last (failures, copies,
 * delays, pipelines), or if links differ. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_NS = 100000000 };

/* More than rounding can change bytes. */
static const double SLACK_BYTES = 1000, SLACK_NS = 10;

static bool is_network(const struct run *run, const char *name)
{
    return strcmp(run->config->engine.network, name) == 0;
}

static bool all_matter(const struct run *run)
{
    const struct run_config *c = run->config;
    bool every_byte = is_network(run, "scf") && !c->engine.coflow.levels;
    return every_byte || c->recording || c->own_links || run->hosts || run->pipelines ||
           c->copy_after > 0 || c->report_delay_ns || c->decision_delay_ns || c->all_told ||
           c->resume;
}

/* Now, or from some second on. */
static bool may_say(const struct run_config *config, const char *word)
{
    bool says = engine_config_value(&config->engine, word) != 0;
    for (uint32_t i = 0; i < config->n_changes; i++)
        says |= strcmp(config->changes[i].said.word, word) == 0;
    return says;
}

static bool places_by_bytes(const struct run_config *config)
{
    return strncmp(config->engine.place, "neat", 4) == 0 ||
           (strcmp(config->engine.place, "affinity") == 0 && may_say(config, "downlink"));
}

int reports_open(struct run *run, size_t n_stages)
{
    struct reports *p = &run->reports;
    p->levels = is_network(run, "dclas") || is_network(run, "scf");
    p->place = places_by_bytes(run->config);
    p->wanted = p->levels || p->place || run->config->all_told;
    p->some = p->wanted && !all_matter(run);
    p->link_bytes_ns = (double)run->config->link_bps / 8 * 1e-9;
    if (!p->some)
        return 0;
    p->stages = calloc(n_stages ? n_stages : 1, sizeof(*p->stages));
    p->stages_where = malloc((n_stages ? n_stages : 1) * sizeof(*p->stages_where));
    if (!p->stages || !p->stages_where)
        return run_out_of_memory(run);
    for (size_t i = 0; i < n_stages; i++) {
        TAILQ_INIT(&p->stages[i].receiving);
        p->stages_where[i] = HEAP_NOWHERE;
    }
    return 0;
}

void reports_close(struct run *run)
{
    struct reports *p = &run->reports;
    free(p->stages);
    free(p->stages_where);
    free(p->ends_where);
    free(p->due);
    heap_done(&p->crossings);
    heap_done(&p->ends);
}

/* The bytes from which on the engine would give the Coflow another level. */
static double threshold(const struct run *run, const struct stage_reports *s)
{
    const struct engine_config *c = &run->config->engine;
    bool dclas = is_network(run, "dclas");
    const struct level_table *table = dclas ? &c->dclas : &c->coflow;
    uint64_t told = (uint64_t)s->told_bytes, left = s->bytes > told ? s->bytes - told : 0;
    uint64_t level = level_table_level(table, dclas ? told : left);
    if (dclas)
        return level + 1 < table->levels ? (double)table->threshold_bytes[level] : INFINITY;
    return level ? (double)s->bytes - (double)table->threshold_bytes[level - 1] : INFINITY;
}

static void catch_up(const struct run *run, struct stage_reports *s)
{
    s->most_bytes += run->reports.link_bytes_ns * s->n * (double)(run->now_ns - s->at_ns);
    s->at_ns = run->now_ns;
}

static int schedule(struct run *run, struct stage_reports *s)
{
    struct reports *p = &run->reports;
    double due_ns = INFINITY;
    if (p->levels && s->n)
        due_ns = (double)s->at_ns - SLACK_NS +
                 (threshold(run, s) - s->most_bytes - SLACK_BYTES) / (p->link_bytes_ns * s->n);
    return heap_set(&p->crossings, p->stages_where, due_ns, (uint32_t)(s - p->stages))
               ? run_out_of_memory(run)
               : 0;
}

static void told(struct stage_reports *s, struct run_attempt *a, int64_t bytes)
{
    s->told_bytes += bytes - a->told_bytes;
    a->told_bytes = bytes;
}

static int64_t received(struct run *run, const struct run_attempt *a)
{
    return run_attempt_arrived_bytes(run, a) - a->local_bytes;
}

static double earliest_end_ns(const struct run *run, const struct run_attempt *a,
                              int64_t received_bytes)
{
    double left_bytes = (double)(a->remote_bytes - received_bytes) - SLACK_BYTES;
    double wait_ns = left_bytes > 0 ? left_bytes / run->reports.link_bytes_ns : 0;
    return (double)run->now_ns + wait_ns + (double)a->compute_ns - SLACK_NS;
}

static int set_end(struct run *run, const struct run_attempt *a, double end_ns)
{
    struct reports *p = &run->reports;
    return heap_set(&p->ends, p->ends_where, end_ns, a->id) ? run_out_of_memory(run) : 0;
}

/* Whether a task could be placed before then: only when a slot is freed or a task becomes ready,
 * that is when a task ends, which may be when it has read, a job arrives, or the engine's own
 * deadline comes. 1, 0 or −ENOMEM. */
static int may_place(struct run *run, int64_t until_ns)
{
    struct reports *p = &run->reports;
    bool arrives =
        run->arrived < run->n_jobs && (int64_t)run->jobs[run->arrived].arrival_ns < until_ns;
    bool ends = run->computing.n && run->computing.items[0].key < (double)until_ns;
    if (run->n_events || arrives || ends || disks_next_ns(run) < until_ns ||
        run_deadline_ns(run) < until_ns)
        return 1;
    while (p->ends.n && p->ends.items[0].key < (double)until_ns) {
        const struct run_attempt *a = run->attempts[p->ends.items[0].id];
        double end_ns = earliest_end_ns(run, a, received(run, a));
        if (end_ns < (double)until_ns)
            return 1;
        if (set_end(run, a, end_ns))
            return -ENOMEM;
    }
    return 0;
}

int reports_begin(struct run *run, struct run_attempt *a)
{
    struct reports *p = &run->reports;
    if (!p->some)
        return 0;
    struct stage_reports *s = &p->stages[run_coflow(run, a) - run->coflows];
    struct stage_view stage;
    if (!s->bytes && !engine_stage(run->engine, a->job, a->stage, &stage))
        s->bytes = stage.coflow_bytes;
    catch_up(run, s);
    TAILQ_INSERT_TAIL(&s->receiving, a, of_stage);
    a->reports = s;
    s->n++;
    p->n_receiving++;
    if (p->place && set_end(run, a, earliest_end_ns(run, a, 0)))
        return -ENOMEM;
    return schedule(run, s);
}

int reports_end(struct run *run, struct run_attempt *a)
{
    struct reports *p = &run->reports;
    struct stage_reports *s = a->reports;
    if (!s)
        return 0;
    catch_up(run, s);
    told(s, a, a->remote_bytes);
    TAILQ_REMOVE(&s->receiving, a, of_stage);
    a->reports = NULL;
    s->n--;
    p->n_receiving--;
    if (p->place && set_end(run, a, INFINITY))
        return -ENOMEM;
    return schedule(run, s);
}

static int report_one(struct run *run, struct run_attempt *a)
{
    int64_t bytes = received(run, a);
    if (a->reports)
        told(a->reports, a, bytes);
    return run_report_attempt(run, EVENT_ATTEMPT_PROGRESS, a->number, (uint64_t)bytes);
}

static int report_all(struct run *run)
{
    for (struct run_attempt *a = run->live; a; a = a->hh.next)
        if (a->phase == PHASE_RECEIVING && report_one(run, a))
            return -ENOMEM;
    return 0;
}

static int in_order(const void *left, const void *right)
{
    const struct run_attempt *const *a = left, *const *b = right;
    return (*a)->number < (*b)->number ? -1 : (*a)->number > (*b)->number;
}

static int add_due(struct run *run, const struct stage_reports *s)
{
    struct reports *p = &run->reports;
    struct run_attempt *a;
    if (run_grow((void **)&p->due, &p->due_room, p->n_due + s->n, sizeof(struct run_attempt *)))
        return run_out_of_memory(run);
    TAILQ_FOREACH (a, &s->receiving, of_stage)
        p->due[p->n_due++] = a;
    return 0;
}

/* In the order in which all would report, so that Coflows change levels in that order. */
static int report_due(struct run *run, bool all)
{
    struct reports *p = &run->reports;
    if (p->n_due > 1)
        qsort(p->due, p->n_due, sizeof(struct run_attempt *), in_order);
    for (size_t i = 0; !all && i < p->n_due; i++)
        if (report_one(run, p->due[i]))
            return -ENOMEM;
    return all ? report_all(run) : 0;
}

/* Coflows that may cross a threshold before the next report. */
static int take_due(struct run *run, int64_t until_ns)
{
    struct reports *p = &run->reports;
    p->n_due = 0;
    while (p->crossings.n && p->crossings.items[0].key <= (double)until_ns)
        if (add_due(run, &p->stages[heap_pop(&p->crossings, p->stages_where).id]))
            return -ENOMEM;
    return 0;
}

static int schedule_due(struct run *run)
{
    struct reports *p = &run->reports;
    for (size_t i = 0; i < p->n_due; i++) {
        struct stage_reports *s = p->due[i]->reports;
        if (p->stages_where[s - p->stages] != HEAP_NOWHERE)
            continue;
        s->most_bytes = (double)s->told_bytes;
        s->at_ns = run->now_ns;
        if (schedule(run, s))
            return -ENOMEM;
    }
    return 0;
}

int reports_take(struct run *run)
{
    struct reports *p = &run->reports;
    if (!p->wanted || run->now_ns < p->next_ns)
        return 0;
    p->next_ns = run->now_ns + REPORT_NS;
    if (!p->some)
        return report_all(run);
    int all = p->place ? may_place(run, p->next_ns) : 0;
    if (all < 0 || take_due(run, p->next_ns) || report_due(run, all > 0))
        return -ENOMEM;
    bool left_out = p->n_receiving && !run->n_events && run_deadline_ns(run) > run->now_ns;
    run->result->steps += left_out;
    return schedule_due(run);
}
