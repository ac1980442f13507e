/* The engine's joint policies beside a literal statement of their rules, by loops over all jobs,
 * tasks and hosts. Every start of the engine must be the one that the rules give at that moment
 * (for maps: of that job, on a host that they allow), when the engine stops they must give none,
 * and after each step the levels on the wire must be the ranks of the jobs that receive. */
#include "tests/model/model_effects.h"
#include "tests/model/model_homes.h"
#include "tests/model/model_step.h"
#include "tests/unit/draws.h"

__extension__ typedef unsigned __int128 wide;

enum rule { OWN, EARLIER, KEPT, FAR, OPEN, RULES };
static uint64_t closed[RULES], places[8], levels_shared, relabelled, unchanged, long_starts,
    last_left, last_taken, own_waits, preferred_instead, packed, home_starts, home_waits,
    there_starts, racked, racks_left;

/* ---- reduces ---- */

struct found {
    const struct m_task *task; /* NULL: none */
    uint32_t stage, index, host, earlier, receivers, foreign;
    uint64_t outputs;
};

static uint64_t link_bytes(const struct model *m, uint64_t ms)
{
    uint64_t up = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        up += m_up(&m->host[h]);
    return up ? m_bps_up(m) * ms / (8000 * up) : UINT64_MAX - 1;
}

static enum rule rule_of(struct model *m, const struct m_job *j, struct found *f)
{
    int64_t slots = m_slots(m, f->host, j->stage[f->stage].way[0].demand),
            free = m_times_host(m, f->host, j->stage[f->stage].way[0].demand), longs = 0;
    int64_t r = slots / 4 > 1 ? slots / 4 : 1;
    r = r < slots ? r : slots - 1;
    bool own = false;
    f->earlier = f->receivers = 0;
    for (int i = 0; i < M_ATTEMPTS; i++) {
        const struct m_attempt *a = &m->attempt[i];
        const struct m_job *other = a->number && !a->orphan ? m_find_job(m, a->job) : NULL;
        if (!a->number || a->host != f->host)
            continue;
        f->receivers += a->receiving;
        own |= other == j && a->receiving;
        f->earlier += other && a->receiving && m_sooner(m, other, j);
        longs += other && other->stage[a->stage].task[a->task].bytes > link_bytes(m, 15000);
    }
    f->outputs = m_outputs_on(j, f->host);
    f->foreign = m->host[f->host].foreign;
    if (own)
        return OWN;
    if (f->earlier && !(f->earlier == 1 && free > r + 1 && slots - free < 4))
        return EARLIER;
    if (f->task->bytes > link_bytes(m, 15000) && !(longs < slots - r))
        return KEPT;
    return OPEN;
}

/* Bytes that the task reads of outputs on the host, where each map's for it are told. */
static uint64_t bytes_on(const struct model *m, const struct m_job *j, uint32_t s, uint32_t t,
                         uint32_t host)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < j->stage[s].n_parents; i++)
        for (uint32_t map = 0; map < j->stage[j->stage[s].parents[i]].n_tasks; map++)
            if (m_output_host(m, j, j->stage[s].parents[i], map) == host)
                bytes += m_cell(j, s, i, map, t);
    return bytes;
}

static bool is_told_apart(const struct m_stage *s)
{
    bool apart = false;
    for (uint32_t i = 0; i < s->n_parents; i++)
        apart |= s->matrix[i];
    return apart;
}

/* What of its input is on that host. */
static uint64_t preferred_bytes(const struct model *m, const struct m_job *j, uint32_t s,
                                uint32_t t, uint32_t host)
{
    uint64_t all = 0;
    if (is_told_apart(&j->stage[s]))
        return bytes_on(m, j, s, t, host);
    for (uint32_t h = 0; h < M_HOSTS; h++)
        all += m_outputs_on(j, h);
    return all ? (uint64_t)((wide)j->stage[s].task[t].bytes * m_outputs_on(j, host) / all) : 0;
}

/* ENGINE_NONE: it has none. */
static uint32_t preferred_of(const struct model *m, const struct m_job *j, uint32_t s, uint32_t t)
{
    uint32_t preferred = ENGINE_NONE;
    for (uint32_t i = 0; i < j->stage[s].n_parents; i++)
        if (j->stage[s].kinds[i] != EDGE_BARRIER)
            return ENGINE_NONE;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        if (preferred_bytes(m, j, s, t, h) >
            (preferred == ENGINE_NONE ? 0 : preferred_bytes(m, j, s, t, preferred)))
            preferred = h;
    return preferred;
}

/* Only where outputs split evenly are there several. */
static bool is_preferred(const struct model *m, const struct m_job *j, uint32_t s, uint32_t t,
                         uint32_t host)
{
    uint32_t preferred = preferred_of(m, j, s, t);
    return preferred == host || (preferred != ENGINE_NONE && !is_told_apart(&j->stage[s]) &&
                                 m_outputs_on(j, host) == m_outputs_on(j, preferred));
}

static bool waits_for_preferred(const struct model *m, const struct m_job *j, uint32_t s,
                                uint32_t t)
{
    uint64_t up = 0;
    uint32_t preferred = preferred_of(m, j, s, t);
    struct task_view view;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        up += m_up(&m->host[h]);
    if (preferred == ENGINE_NONE || !up || !m_capable_host(m, preferred, j->stage[s].way[0].demand))
        return false;
    uint64_t bytes = preferred_bytes(m, j, s, t, preferred), part = j->stage[s].task[t].bytes / up;
    assert_int_equal(engine_task(m->script.engine, j->number, s, t, &view), 0);
    return bytes > part &&
           m->script.now_ns < view.ready_ns + 2 * (int64_t)((wide)(bytes - part) * 8 * up *
                                                            1000000000 / m_bps_up(m));
}

/* The stage's largest task that prefers the host by its own input; false: none does. */
static bool take_preferred(const struct model *m, const struct m_job *j, struct found *f)
{
    f->task = NULL;
    for (uint32_t t = 0; is_told_apart(&j->stage[f->stage]) && t < j->stage[f->stage].n_tasks;
         t++) {
        const struct m_task *task = &j->stage[f->stage].task[t];
        if (m_ready(j, f->stage, t) && task->bytes && preferred_of(m, j, f->stage, t) == f->host &&
            (!f->task || task->bytes > f->task->bytes)) {
            f->task = task;
            f->index = t;
        }
    }
    return f->task != NULL;
}

static bool is_better(const struct found *a, const struct found *b)
{
    if (a->task->bytes != b->task->bytes)
        return a->task->bytes > b->task->bytes;
    if (a->earlier != b->earlier)
        return a->earlier < b->earlier;
    if (a->foreign / 250 != b->foreign / 250)
        return a->foreign / 250 < b->foreign / 250;
    if (a->outputs != b->outputs)
        return a->outputs > b->outputs;
    return a->receivers < b->receivers;
}

static struct found of_stage(struct model *m, const struct m_job *j, uint32_t s)
{
    struct found best = {0}, f = {.stage = s};
    for (uint32_t t = 0; t < j->stage[s].n_tasks; t++) {
        const struct m_task *task = &j->stage[s].task[t];
        if (m_ready(j, s, t) && task->bytes && (!f.task || task->bytes > f.task->bytes)) {
            f.task = task;
            f.index = t;
        }
    }
    bool leaves = f.task && f.task->bytes > link_bytes(m, 1000) && m_last_slots(m);
    bool waits = f.task && waits_for_preferred(m, j, s, f.index);
    const struct found largest = f;
    last_left += leaves;
    for (uint32_t h = 0; largest.task && !leaves && h < M_HOSTS; h++) {
        f = largest;
        f.host = h;
        if (m_times_host(m, f.host, j->stage[s].way[0].demand) <= 0)
            continue;
        enum rule rule = rule_of(m, j, &f);
        if (rule == OPEN && waits && !is_preferred(m, j, s, f.index, h)) {
            rule = take_preferred(m, j, &f) ? OPEN : FAR;
            preferred_instead += rule == OPEN;
        }
        if (rule != OPEN) {
            closed[rule]++;
            continue;
        }
        closed[rule]++;
        bool better =
            !best.task || is_better(&f, &best) ||
            (!is_better(&best, &f) && m_running_on(m, f.host) < m_running_on(m, best.host));
        if (better)
            best = f;
    }
    return best;
}

/* ---- maps ---- */

static bool has_it_here(const struct m_stage *s, const struct m_task *t, uint32_t host)
{
    return m_has_block(s, t) && m_replica_here(s, t, host);
}

static uint64_t placed_on(const struct model *m, const struct m_job *j, uint32_t host)
{
    uint64_t n = m_outputs_on(j, host);
    for (int i = 0; i < M_ATTEMPTS; i++) {
        const struct m_attempt *a = &m->attempt[i];
        n += a->number && a->job == j->number && !a->orphan && a->host == host;
    }
    return n;
}

/* Over ready maps of that demand and hosts: next to a block, up; with room; with less than its
 * part. */
static bool any_local(const struct model *m, const struct m_job *j, struct m_demand d, bool room,
                      bool under)
{
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++)
            for (uint32_t h = 0; h < M_HOSTS; h++)
                if (m_ready(j, s, t) && !j->stage[s].task[t].bytes &&
                    m_same_demand(j->stage[s].way[0].demand, d) &&
                    has_it_here(&j->stage[s], &j->stage[s].task[t], h) && m_capable_host(m, h, d) &&
                    (!room || m_times_host(m, h, d) > 0) &&
                    (!under || placed_on(m, j, h) < j->share))
                    return true;
    return false;
}

static bool is_kept_even(const struct m_job *j)
{
    return j->share != UINT64_MAX;
}

/* Next to its block, and where evenness is asked for not beyond the host's part while another host
 * that is up has not had its own. */
static bool is_even_place(const struct model *m, const struct m_job *j, uint32_t s, uint32_t t,
                          uint32_t host)
{
    struct m_demand d = j->stage[s].way[0].demand;
    return has_it_here(&j->stage[s], &j->stage[s].task[t], host) && m_times_host(m, host, d) > 0 &&
           (!is_kept_even(j) || placed_on(m, j, host) < j->share ||
            !any_local(m, j, d, false, true));
}

static bool is_small(const struct model *m, const struct m_job *j, uint64_t ms)
{
    uint64_t shuffle = 0, block = 0;
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++) {
            shuffle += j->stage[s].task[t].bytes;
            block = j->stage[s].task[t].input > block ? j->stage[s].task[t].input : block;
        }
    return shuffle <= link_bytes(m, ms) && 10 * block <= link_bytes(m, ms);
}

static bool any_ready_reduce(const struct m_job *j, uint32_t s)
{
    for (uint32_t t = 0; t < j->stage[s].n_tasks; t++)
        if (m_ready(j, s, t) && j->stage[s].task[t].bytes)
            return true;
    return false;
}

/* Maps of a stage with this demand have waited for evenness long enough: reduce tasks that waited
 * as long waited for links. */
static bool is_uneven(const struct m_job *j, struct m_demand d)
{
    for (uint32_t s = 0; s < j->n_stages; s++)
        if (j->stage[s].way[0].overdue && m_same_demand(j->stage[s].way[0].demand, d) &&
            m_stage_ready(j, s) && !any_ready_reduce(j, s))
            return true;
    return false;
}

static bool any_unlocated(const struct m_job *j, struct m_demand d)
{
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++)
            if (m_ready(j, s, t) && !j->stage[s].task[t].bytes &&
                m_same_demand(j->stage[s].way[0].demand, d) &&
                !m_has_block(&j->stage[s], &j->stage[s].task[t]))
                return true;
    return false;
}

/* Of the stage with the first ready map of that demand something runs. */
static bool runs_already(const struct m_job *j, struct m_demand d)
{
    for (uint32_t s = 0; s < j->n_stages; s++) {
        bool ready = false, running = false;
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++) {
            ready |= m_ready(j, s, t) && !j->stage[s].task[t].bytes &&
                     m_same_demand(j->stage[s].way[0].demand, d);
            running |= j->stage[s].task[t].state == M_RUNNING;
        }
        if (ready)
            return running;
    }
    return false;
}

/* On the last slots: more than small, some of it runs, and all slots next to its blocks are
 * taken. */
static bool waits_for_own_slots(const struct model *m, const struct m_job *j, struct m_demand d)
{
    bool waits = !is_small(m, j, 1000) && runs_already(j, d) && !any_unlocated(j, d) &&
                 (!is_kept_even(j) || any_local(m, j, d, false, false)) &&
                 !any_local(m, j, d, true, false);
    own_waits += waits;
    return waits;
}

/* Where this ready map may run: the best of these that any of its job's has. */
enum place { EVENLY, FREELY, NEXT_TO_BLOCK, ANYWHERE, NOWHERE };

static enum place place_of(const struct model *m, const struct m_job *j, uint32_t s, uint32_t t,
                           uint32_t host)
{
    const struct m_stage *stage = &j->stage[s];
    const struct m_task *task = &stage->task[t];
    bool last = m_last_slots(m);
    if (m_times_host(m, host, stage->way[0].demand) <= 0 || (last && !is_small(m, j, 10000)))
        return NOWHERE;
    if (last)
        return !waits_for_own_slots(m, j, stage->way[0].demand) &&
                       (has_it_here(stage, task, host) ||
                        !any_local(m, j, stage->way[0].demand, true, false))
                   ? ANYWHERE
                   : NOWHERE;
    if (is_even_place(m, j, s, t, host))
        return EVENLY;
    if (!m_has_block(stage, task) ||
        (is_kept_even(j) && !any_local(m, j, stage->way[0].demand, false, false)))
        return FREELY;
    if (has_it_here(stage, task, host) && is_uneven(j, stage->way[0].demand))
        return NEXT_TO_BLOCK;
    if (is_small(m, j, 1000) &&
        (has_it_here(stage, task, host) || !any_local(m, j, stage->way[0].demand, true, false)))
        return ANYWHERE;
    return NOWHERE;
}

static enum place best_place(const struct model *m, const struct m_job *j)
{
    enum place best = NOWHERE;
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++)
            for (uint32_t h = 0; h < M_HOSTS; h++)
                if (m_ready(j, s, t) && !j->stage[s].task[t].bytes &&
                    place_of(m, j, s, t, h) < best)
                    best = place_of(m, j, s, t, h);
    return best;
}

/* ---- the pick ---- */

/* Maps that were held for hold_max; `overdue`: since a step before this one. */
static bool is_late(const struct model *m, const struct m_job *j, uint32_t s, bool overdue)
{
    const struct m_stage *stage = &j->stage[s];
    return stage->due && stage->due <= m->script.now_ns && !stage->way[0].held &&
           (stage->way[0].overdue || !overdue) && m_ready_map(j, s) &&
           m_times(m, stage->way[0].demand) > 0;
}

static bool any_late(struct model *m, struct m_job *const *jobs, bool overdue)
{
    for (int i = 0; jobs[i]; i++)
        for (uint32_t s = 0; s < jobs[i]->n_stages; s++)
            if (is_late(m, jobs[i], s, overdue))
                return true;
    return false;
}

struct pick {
    struct m_job *job; /* NULL: none */
    uint32_t host;     /* where its next task goes; ENGINE_NONE: */
    enum place place;  /* NOWHERE: reduces, the best of each stage: */
    struct found reduce[M_STAGES];
};

static bool any_room(const struct model *m, const struct m_job *j)
{
    return m_times(m, j->stage[0].way[0].demand) > 0;
}

/* Whether its next task goes where its job is at home, or has all outputs; *ret_else: it may go
 * elsewhere. */
static uint32_t home_with_room(const struct model *m, const struct m_job *j, bool *ret_else)
{
    bool homed = m_homed(m, j);
    uint32_t host = homed ? m_home_host(j) : m_only_source(m, j);
    *ret_else = !homed;
    if (host == ENGINE_NONE || m_times_host(m, host, j->stage[0].way[0].demand) > 0)
        return host;
    home_waits += homed && any_room(m, j);
    return ENGINE_NONE;
}

static struct pick pick(struct model *m, struct m_job *const *jobs)
{
    struct pick p = {.place = NOWHERE, .host = ENGINE_NONE};
    for (int i = 0; jobs[i]; i++) {
        bool elsewhere;
        p.host = home_with_room(m, jobs[i], &elsewhere);
        elsewhere &= p.host == ENGINE_NONE;
        p.place = elsewhere ? best_place(m, jobs[i]) : NOWHERE;
        bool found = p.place != NOWHERE || p.host != ENGINE_NONE;
        memset(p.reduce, 0, sizeof(p.reduce));
        for (uint32_t s = 0; elsewhere && !found && s < jobs[i]->n_stages; s++)
            p.reduce[s] = of_stage(m, jobs[i], s);
        for (uint32_t s = 0; s < jobs[i]->n_stages; s++)
            found |= p.reduce[s].task != NULL;
        if (found) {
            p.job = jobs[i];
            return p;
        }
    }
    return p;
}

/* The largest of its stages', each with its host. */
static void check_reduce(const struct pick *p, const struct decision *d)
{
    const struct found *f = &p->reduce[d->start.stage];
    assert_non_null(f->task);
    assert_int_equal(d->start.task, f->index);
    assert_int_equal(d->start.host, f->host);
    assert_int_equal(d->left, f->earlier);
    assert_int_equal(d->right, f->outputs);
    for (uint32_t s = 0; s < p->job->n_stages; s++)
        assert_true(!p->reduce[s].task || p->reduce[s].task->bytes <= f->task->bytes);
}

static void check_home(struct model *m, const struct pick *p, const struct decision *d)
{
    uint32_t s, t;
    bool homed = m_homed(m, p->job);
    assert_true(m_home_next(p->job, &s, &t));
    assert_int_equal(d->start.stage, s);
    assert_int_equal(d->start.task, t);
    assert_int_equal(d->start.host, p->host);
    assert_string_equal(reason_name(d->reason), homed ? "home" : "all-there");
    assert_int_equal(d->start.input_bytes, 0);
    home_starts += homed;
    there_starts += !homed;
}

static bool is_idle(const struct model *m)
{
    for (int i = 0; i < M_ATTEMPTS; i++)
        if (m->attempt[i].number)
            return false;
    return true;
}

static void check_start(struct model *m, const struct decision *d)
{
    struct m_job *jobs[M_JOBS + 1], *j = m_find_job(m, d->start.job);
    uint32_t s = d->start.stage, t = d->start.task;
    m_asked_in_turn(m, jobs);
    bool map = !j->stage[s].task[t].bytes;
    bool same_late = false;
    for (uint32_t k = 0; k < j->n_stages; k++)
        same_late |= (k == s || map) &&
                     m_same_demand(j->stage[k].way[0].demand, j->stage[s].way[0].demand) &&
                     is_late(m, j, k, false);
    if (!m_last_slots(m) && any_late(m, jobs, true)) {
        assert_true(same_late);
        return;
    }
    struct pick p = pick(m, jobs);
    if (!p.job) {
        assert_true(same_late || (map && is_idle(m)));
        return;
    }
    assert_int_equal(d->start.job, p.job->number);
    if (p.host != ENGINE_NONE) {
        check_home(m, &p, d);
        return;
    }
    places[map ? p.place : NOWHERE]++;
    last_taken += m_last_slots(m);
    long_starts += j->stage[s].task[t].bytes > link_bytes(m, 15000);
    if (p.place == NOWHERE)
        check_reduce(&p, d);
    else
        assert_true(map && place_of(m, j, s, t, d->start.host) == p.place);
}

static void judge_start(struct model *m, const struct decision *d)
{
    racks_left += m_racks_left(m);
    bool rack = strcmp(reason_name(d->reason), "rack") == 0;
    if (rack)
        racked += m_home_note(m, m_find_job(m, d->start.job), d);
    check_start(m, d);
    if (!rack)
        packed += m_home_note(m, m_find_job(m, d->start.job), d);
}

/* ---- levels ---- */

static void check_levels(struct model *m, struct m_job *const *jobs)
{
    uint64_t before = 0, place = 0;
    for (int i = 0; jobs[i]; i++) {
        uint64_t level = UINT64_MAX;
        for (int k = 0; k < M_ATTEMPTS; k++) {
            const struct m_attempt *a = &m->attempt[k];
            struct attempt_view view;
            if (!a->number || a->orphan || a->job != jobs[i]->number || !a->receiving)
                continue;
            assert_int_equal(engine_attempt(m->script.engine, a->number, &view), 0);
            assert_int_equal(view.coflow_level, view.macroflow_level);
            if (!jobs[i]->stage[a->stage].task[a->task].bytes) {
                assert_int_equal(view.coflow_level, 0);
                continue;
            }
            assert_true(level == UINT64_MAX || level == view.coflow_level);
            level = view.coflow_level;
        }
        if (level == UINT64_MAX)
            continue;
        uint64_t last = m->config.coflow.levels - 1;
        assert_true(level <= last);
        assert_true(!place || level > before || (level == last && place > last));
        levels_shared += place && level == before;
        before = level;
        place++;
    }
}

/* What the jobs' attempts that receive had at the end of the last step; UINT64_MAX: none. */
static struct {
    uint64_t job, level;
} labels[M_JOBS];

static uint64_t label_of(uint64_t job)
{
    for (int i = 0; i < M_JOBS; i++)
        if (labels[i].job == job)
            return labels[i].level;
    return UINT64_MAX;
}

static uint64_t level_now(const struct model *m, const struct m_job *j)
{
    for (int k = 0; k < M_ATTEMPTS; k++) {
        const struct m_attempt *a = &m->attempt[k];
        struct attempt_view view;
        if (a->number && !a->orphan && a->job == j->number && a->receiving &&
            j->stage[a->stage].task[a->task].bytes &&
            engine_attempt(m->script.engine, a->number, &view) == 0)
            return view.coflow_level;
    }
    return UINT64_MAX;
}

/* Labels are lazy: where the last ones still are in order and nobody begins to receive, nobody is
 * told another. */
static void check_lazy(const struct model *m, struct m_job *const *jobs)
{
    uint64_t last = m->config.coflow.levels - 1, before = 0, place = 0, changes = 0;
    bool needed = false;
    for (size_t i = 0; i < m->script.decisions.n; i++) {
        const struct decision *d = &m->script.decisions.at[i];
        changes += d->kind == DECISION_LEVEL && strcmp(reason_name(d->reason), "rank") == 0;
        /* A job may have begun to receive and ended within the step, or the other way round. */
        needed |= d->kind == DECISION_START || d->reason == REASON_ADOPTED;
    }
    for (int i = 0; jobs[i]; i++) {
        uint64_t old = label_of(jobs[i]->number);
        if (level_now(m, jobs[i]) == UINT64_MAX)
            continue;
        needed |= old == UINT64_MAX ||
                  (place && old <= before && !(old == last && before == last && place > last));
        before = old;
        place++;
    }
    assert_true(needed || !changes);
    unchanged += !needed && place > 1;
    relabelled += changes;
    memset(labels, 0, sizeof(labels));
    for (int i = 0; jobs[i]; i++) {
        labels[i].job = jobs[i]->number;
        labels[i].level = level_now(m, jobs[i]);
    }
}

static void judge_end(struct model *m)
{
    struct m_job *jobs[M_JOBS + 1];
    racks_left += m_racks_left(m);
    m_racks_wait(m);
    m_asked_in_turn(m, jobs);
    assert_null(pick(m, jobs).job);
    assert_true(m_last_slots(m) || !any_late(m, jobs, false));
    for (int i = 0; jobs[i] && is_idle(m); i++)
        for (uint32_t s = 0; s < jobs[i]->n_stages; s++)
            assert_true(!m_stage_ready(jobs[i], s) || !m_times(m, jobs[i]->stage[s].way[0].demand));
}

static void judge_step(struct model *m)
{
    struct m_job *jobs[M_JOBS + 1];
    m_in_turn(m, jobs);
    check_levels(m, jobs);
    check_lazy(m, jobs);
}

static const struct m_judge judge = {judge_start, judge_end, m_homed, judge_step};

enum { RUNS = DRAWS(24, 8), STEPS = DRAWS(600, 400) };
/* Times RUNS, at most, until each rule was needed: for the build that draws all. */
enum { MORE = DRAWS(30, 1) };

/* Returns how many tasks were started. */
static uint64_t run(int i, const char *users, uint64_t *stream)
{
    static const uint64_t rates[] = {5000000, 10000000, 1000000000};
    static struct model m;
    struct engine_config config = script_config();
    config.hosts_max = M_HOSTS;
    config.epoch = 7;
    config.shapes_max = 256;
    config.seed = *stream;
    engine_config_say(&config, "even_wait", i % 5 ? SECOND : 0, NULL);
    engine_config_say(&config, "pack", i % 3 > 0, NULL);
    engine_config_say(&config, "lies_there", i % 4 > 1, NULL);
    level_table_exponential(&config.coflow, 50000, 4, i % 2 ? 8 : 3);
    strcpy(config.turn, i % 4 ? "srpt" : "fair");
    strcpy(config.place, "joint");
    strcpy(config.network, "rank");
    strcpy(config.users, users);
    /* WHY: a mode follows from what fits, which changes within the step that narrows a job. */
    if (i % 2)
        strcpy(config.mode, "rich");
    memset(labels, 0, sizeof(labels));
    m_homes_forget();
    model_begin(&m, &config, test_random(stream));
    if (strcmp(users, "none") != 0)
        model_users(&m);
    m.judge = &judge;
    m.bps = rates[i % 3];
    m.rack_bps = i % 2 ? m.bps / (UINT64_C(2) << i % 5) : 0;
    for (int step = 0; step < STEPS; step++)
        model_step(&m);
    model_end(&m);
    return m.starts;
}

/* A rule that no run has needed yet; NULL: each was. */
static const char *unneeded(void)
{
    static const char *const rules[] = {"own", "earlier", "kept", "far", "open"};
    static const char *const where[] = {"evenly", "freely", "next to the block", "anywhere",
                                        "reduces"};
    for (int rule = 0; rule < RULES; rule++)
        if (closed[rule] < 5)
            return rules[rule];
    for (int place = 0; place <= NOWHERE; place++)
        if (places[place] < 3)
            return where[place];
    return long_starts < 5         ? "long transfers"
           : last_left < 20        ? "the last slots are left"
           : last_taken < 20       ? "the last slots are taken"
           : own_waits < 20        ? "maps wait for slots next to their blocks"
           : preferred_instead < 5 ? "one that prefers the host goes instead"
           : packed < 20           ? "jobs are packed"
           : !m_homes_differ(20)   ? "jobs that wait for links and jobs that wait for slots"
           : racked < 5            ? "jobs are kept to a rack"
           : home_starts < 20      ? "tasks start at home"
           : home_waits < 20       ? "tasks wait for their job's home"
           : there_starts < 5      ? "a task goes where all its input is"
           : levels_shared < 20    ? "the last level is shared"
           : relabelled < 100      ? "labels anew"
           : unchanged < 100       ? "labels that hold"
                                   : NULL;
}

static void test_every_start_is_by_the_rules(void **state)
{
    (void)state;
    uint64_t stream = test_seed(), starts = 0;
    for (int i = 0; i < RUNS || (i < MORE * RUNS && unneeded()); i++)
        starts += run(i, "none", &stream);
    assert_true(starts > (uint64_t)RUNS * STEPS / 20);
    if (MORE > 1 && unneeded())
        fail_msg("no run has shown: %s", unneeded());
}

/* Asked for one user, it picks among that user's jobs as among all; earlier jobs are those of all
 * users. */
static void test_one_user_at_a_time(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int i = 0; i < RUNS; i++)
        run(i, i % 2 ? "sequence" : "capacity", &stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_start_is_by_the_rules),
        cmocka_unit_test(test_one_user_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
