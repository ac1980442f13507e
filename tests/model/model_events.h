/* What happens in the literal model: facts and requests, made up at random, applied here and
 * written down as events for the engine. */
#pragma once

#include "tests/model/model_sources.h"

/* ---- what happens ---------------------------------------------------------------------------- */

static inline void m_stop(struct model *m, struct m_attempt *a)
{
    assert_false(a->orphan);
    m_release(m, a);
    a->orphan = true;
    m->stop_due[m->n_stop_due++] = a->number;
}

static inline bool m_live(const struct model *m, const struct m_job *j, uint32_t stage,
                          uint32_t task)
{
    for (int i = 0; i < M_ATTEMPTS; i++) {
        const struct m_attempt *a = &m->attempt[i];
        if (a->number && !a->orphan && a->job == j->number && a->stage == stage && a->task == task)
            return true;
    }
    return false;
}

static inline void m_task_free(struct model *m, struct m_job *j, uint32_t stage, uint32_t task)
{
    if (j && j->stage[stage].task[task].state == M_RUNNING && !m_live(m, j, stage, task))
        j->stage[stage].task[task].state = M_IDLE;
}

static inline void m_job_over(struct model *m, struct m_job *j)
{
    for (int i = 0; i < M_ATTEMPTS; i++)
        if (m->attempt[i].number && !m->attempt[i].orphan && m->attempt[i].job == j->number)
            m_stop(m, &m->attempt[i]);
    j->number = 0;
}

static inline void m_without_result(struct model *m, struct m_attempt *a)
{
    struct m_job *j = a->orphan ? NULL : m_find_job(m, a->job);
    m_release(m, a);
    a->number = 0;
    m_task_free(m, j, a->stage, a->task);
}

static inline bool m_needed(const struct m_job *j, uint32_t stage)
{
    for (uint32_t c = stage + 1; c < j->n_stages; c++)
        for (uint32_t i = 0; i < j->stage[c].n_parents; i++)
            if (j->stage[c].parents[i] == stage &&
                m_stage_count(&j->stage[c], true) < j->stage[c].n_tasks)
                return true;
    return false;
}

static inline void m_stop_readers(struct model *m, struct m_job *j, uint32_t child)
{
    for (int i = 0; i < M_ATTEMPTS; i++) {
        struct m_attempt *a = &m->attempt[i];
        if (!a->number || a->orphan || a->job != j->number || a->stage != child ||
            a->state == ATTEMPT_COMPUTING || m->host[a->host].lost)
            continue;
        m_stop(m, a);
        m_task_free(m, j, child, a->task);
    }
}

static inline void m_stop_children(struct model *m, struct m_job *j, uint32_t stage)
{
    for (uint32_t c = stage + 1; c < j->n_stages; c++)
        for (uint32_t i = 0; i < j->stage[c].n_parents; i++)
            if (j->stage[c].parents[i] == stage)
                m_stop_readers(m, j, c);
}

static inline void m_lose(struct model *m, struct m_job *j, uint32_t stage, uint32_t task)
{
    j->stage[stage].task[task].state = M_IDLE;
    m_stop_children(m, j, stage);
}

/* Its slot went with its host, and none is free for it: what reads from its stage gives way. */
static inline void m_lose_slot(struct model *m, const struct m_attempt *a)
{
    struct m_job *j = a->orphan ? NULL : m_find_job(m, a->job);
    if (j && j->stage[a->stage].task[a->task].state == M_IDLE && m->host[a->host].lost &&
        m_times(m, j->stage[a->stage].demand) <= 0)
        m_stop_children(m, j, a->stage);
}

static inline void m_outputs_lost(struct model *m, uint32_t host);

static inline void m_host_lost(struct model *m, uint32_t host)
{
    for (int i = 0; i < M_ATTEMPTS; i++)
        if (m->attempt[i].number && m->attempt[i].host == host) {
            m_without_result(m, &m->attempt[i]);
            m_lose_slot(m, &m->attempt[i]);
        }
    m_outputs_lost(m, host);
    m_source_host_lost(m, host);
}

static inline void m_outputs_lost(struct model *m, uint32_t host)
{
    for (int k = 0; k < M_JOBS; k++)
        for (uint32_t s = m->job[k].number ? m->job[k].n_stages : 0; s-- > 0;)
            for (uint32_t t = 0; t < m->job[k].stage[s].n_tasks; t++) {
                struct m_task *task = &m->job[k].stage[s].task[t];
                if (task->state == M_DONE && task->done_host == host && m_needed(&m->job[k], s))
                    m_lose(m, &m->job[k], s, t);
            }
}

static inline uint64_t m_cell(const struct m_job *j, uint32_t stage, uint32_t edge, uint32_t map,
                              uint32_t reduce)
{
    const struct m_stage *s = &j->stage[stage], *p = &j->stage[s->parents[edge]];
    uint64_t sum = s->sums[edge][reduce];
    return s->matrix[edge] ? s->cells[edge][map * s->n_tasks + reduce]
                           : sum / p->n_tasks + (map < sum % p->n_tasks);
}

static inline uint32_t m_output_host(const struct model *m, const struct m_job *j, uint32_t stage,
                                     uint32_t task)
{
    const struct m_attempt *newest = NULL;
    if (j->stage[stage].task[task].state == M_DONE)
        return j->stage[stage].task[task].done_host;
    for (int i = 0; i < M_ATTEMPTS; i++) {
        const struct m_attempt *a = &m->attempt[i];
        if (a->number && !a->orphan && a->job == j->number && a->stage == stage &&
            a->task == task && (!newest || a->number > newest->number))
            newest = a;
    }
    return newest ? newest->host : ENGINE_NONE;
}

static inline bool m_replica_here(const struct m_stage *s, const struct m_task *t, uint32_t host)
{
    for (uint32_t i = 0; i < s->n_replicas; i++)
        if (t->replicas[i] == host)
            return true;
    return false;
}

/* Reads its block from another host: it has one, not here, and somebody is there to give it. */
static inline bool m_reads_block(const struct model *m, const struct m_stage *s,
                                 const struct m_task *t, uint32_t host)
{
    if (!t->input || !s->n_replicas || m_replica_here(s, t, host))
        return false;
    for (uint32_t i = 0; i < s->n_replicas; i++)
        if (t->replicas[i] < M_HOSTS && m->host[t->replicas[i]].joined &&
            !m->host[t->replicas[i]].lost)
            return true;
    return false;
}

static inline uint64_t m_remote_bytes(const struct model *m, const struct m_job *j, uint32_t stage,
                                      uint32_t task, uint32_t host, bool block)
{
    const struct m_stage *s = &j->stage[stage];
    uint64_t bytes = block ? s->task[task].input : 0;
    for (uint32_t i = 0; i < s->n_parents; i++)
        for (uint32_t map = 0; map < j->stage[s->parents[i]].n_tasks; map++)
            if (m_output_host(m, j, s->parents[i], map) != host)
                bytes += m_cell(j, stage, i, map, task);
    return bytes;
}

static inline struct m_attempt *m_add_attempt(struct model *m, uint64_t number, struct m_job *j,
                                              uint32_t stage, uint32_t task, uint32_t host,
                                              uint32_t unit)
{
    struct m_attempt *a = m_find_attempt(m, 0);
    assert_non_null(a);
    *a = (struct m_attempt){.number = number,
                            .stage = stage,
                            .task = task,
                            .host = host,
                            .unit = unit,
                            .orphan = !j,
                            .block = ENGINE_NONE};
    if (!j)
        return a;
    a->job = j->number;
    j->stage[stage].task[task].state = M_RUNNING;
    if (!j->stage[stage].coflow_fixed) {
        j->stage[stage].coflow_fixed = true;
        j->stage[stage].coflow = m_stage_bytes(&j->stage[stage]);
    }
    return a;
}

static inline void m_set_sizes(struct m_attempt *a, const struct m_stage *s, bool block)
{
    const struct m_task *t = &s->task[a->task];
    a->size[M_COFLOW] = t->bytes ? s->coflow : block ? t->input : 0;
    a->size[M_MACROFLOW] = t->bytes + (block ? t->input : 0);
}

static inline struct event *m_event(struct model *m, enum event_kind kind)
{
    assert_true(m->n_events < M_EVENTS);
    struct event *e = &m->events[m->n_events++];
    memset(e, 0, sizeof(*e));
    e->kind = kind;
    if (kind < EVENT_HOST_JOIN)
        e->request = m->n_events;
    return e;
}

static inline uint64_t *m_u64s(struct model *m, uint32_t n)
{
    assert_true(m->used64 + n <= 8192);
    m->used64 += n;
    return m->room64 + m->used64 - n;
}

static inline uint32_t *m_u32s(struct model *m, uint32_t n)
{
    assert_true(m->used32 + n <= 4096);
    m->used32 += n;
    return m->room32 + m->used32 - n;
}

/* ---- events about hosts ---------------------------------------------------------------------- */

static inline void m_congestion(struct model *m)
{
    uint32_t joined = 0, hot = 0, warm = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++) {
        joined += m->host[h].joined;
        hot += m->host[h].permille > m->config.congested_permille;
        warm += m->host[h].permille >= m->config.cleared_permille;
    }
    uint32_t share = joined * m->config.congested_share_permille;
    m->congested = hot * 1000 > share || (m->congested && warm * 1000 > share);
}

static inline void m_describe(struct model *m, struct event *e, uint32_t host)
{
    static const char *const names[M_HOSTS] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"};
    struct m_host *h = &m->host[host];
    h->labels = (uint32_t)m_random(m, 3);
    h->n_units = 1 + (m_random(m, 4) == 0);
    uint64_t *units = m_u64s(m, h->n_units * ENGINE_RESOURCES);
    memset(units, 0, h->n_units * ENGINE_RESOURCES * sizeof(*units));
    for (uint32_t u = 0; u < h->n_units; u++) {
        units[u * ENGINE_RESOURCES + RES_SLOTS] = 1 + m_random(m, 4);
        units[u * ENGINE_RESOURCES + RES_MEM_BYTES] = 4 + m_random(m, 12);
        h->slots[u] = (int64_t)units[u * ENGINE_RESOURCES + RES_SLOTS];
        h->mem[u] = (int64_t)units[u * ENGINE_RESOURCES + RES_MEM_BYTES];
    }
    e->host_join.host = host;
    e->host_join.name = names[host];
    e->host_join.rack = "";
    e->host_join.labels = m_labels[h->labels];
    e->host_join.uplink_bps = e->host_join.downlink_bps = 1000000000;
    e->host_join.units = (struct u64s){units, h->n_units * ENGINE_RESOURCES};
}

static inline void m_join(struct model *m, uint32_t host)
{
    struct event *e = m_event(m, EVENT_HOST_JOIN);
    struct m_host *h = &m->host[host];
    bool reboot = h->joined && m_random(m, 2);
    if (reboot)
        m_host_lost(m, host);
    h->generation += reboot || !h->joined;
    h->joined = h->known = true;
    h->silent = h->lost = false;
    e->host_join.generation = h->generation;
    m_describe(m, e, host);
    e->host_join.generation = h->generation;
}

static inline void m_host_event(struct model *m, enum event_kind kind, uint32_t host)
{
    struct m_host *h = &m->host[host];
    if (!h->known)
        return;
    struct event *e = m_event(m, kind);
    e->host.host = host;
    if (kind == EVENT_HOST_BACK) {
        h->silent = h->lost = false;
        return;
    }
    h->silent = true;
    h->permille = 0;
    m_congestion(m);
    if (kind == EVENT_HOST_LOST) {
        h->lost = true;
        m_host_lost(m, host);
    }
}

/* Only a host that is not up can be forgotten. */
static inline void m_forget(struct model *m, uint32_t host)
{
    struct m_host *h = &m->host[host];
    if (!h->known || (h->joined && !h->silent))
        return;
    m_host_event(m, EVENT_HOST_LOST, host);
    m->events[m->n_events - 1].kind = EVENT_HOST_FORGET;
    *h = (struct m_host){.known = true, .generation = h->generation, .n_units = 1};
    m_congestion(m);
}

/* Some attempt that reads says that a host gives it nothing, or something again. */
static inline void m_source(struct model *m, struct m_attempt *a, uint32_t source)
{
    bool flows = a->stalled[source] && m_random(m, 3) == 0;
    struct event *e = m_event(m, flows ? EVENT_SOURCE_FLOWS : EVENT_SOURCE_STALLED);
    e->source.attempt = a->number;
    e->source.host = source;
    e->source.others = m_random(m, 6) == 0;
    if (a->orphan || a->state == ATTEMPT_COMPUTING)
        return;
    if (flows) {
        m_reached(m, a->host, source);
        return;
    }
    if (!m->host[source].joined || m->host[source].lost) {
        m_outputs_lost(m, source);
        if (!a->orphan)
            m_read_again(m, a);
        return;
    }
    struct m_pair *p = &m->pair[a->host][source];
    uint32_t reader = a->host;
    if (!p->is)
        *p = (struct m_pair){.is = true, .since = m->script.now_ns};
    if (!m_waiting(m, reader, source)) {
        p->since = p->overdue ? p->since : m->script.now_ns;
        p->due = p->since + m->config.source_lost_ns;
    }
    a->stalled[source] = true;
    m->host[reader].reached |= e->source.others > 0;
    m_judge_both(m, reader, source);
    if (m->host[source].cut)
        m_give_up(m, reader, source);
    else if (!a->orphan && a->block == source &&
             m_other_replica(&m_find_job(m, a->job)->stage[a->stage], m, a))
        m_read_again(m, a);
}

static inline void m_any_source(struct model *m)
{
    uint32_t source = (uint32_t)m_random(m, m_random(m, 2) ? M_HOSTS : 2);
    uint64_t reading = 0, chosen;
    for (int i = 0; i < M_ATTEMPTS; i++)
        reading += m->attempt[i].number && m->attempt[i].receiving;
    chosen = reading ? m_random(m, reading) : 0;
    for (int i = 0; reading && m->host[source].known && i < M_ATTEMPTS; i++)
        if (m->attempt[i].number && m->attempt[i].receiving && chosen-- == 0) {
            bool at_block = m->attempt[i].block != ENGINE_NONE && m_random(m, 2);
            m_source(m, &m->attempt[i], at_block ? m->attempt[i].block : source);
            return;
        }
}

static inline void m_drain(struct model *m, uint32_t host)
{
    if (!m->host[host].known)
        return;
    struct event *e = m_event(m, EVENT_HOST_DRAIN);
    e->host_drain.host = host;
    e->host_drain.undo = m->host[host].draining;
    m->host[host].draining = !m->host[host].draining;
}

static inline void m_load(struct model *m, uint32_t host)
{
    static const uint32_t levels[] = {0, 500, 799, 800, 850, 900, 901, 1000};
    if (!m->host[host].known)
        return;
    struct event *e = m_event(m, EVENT_HOST_LOAD);
    e->host_load.host = host;
    e->host_load.resource = (uint32_t)m_random(m, 5) ? LOAD_UPLINK : LOAD_DOWNLINK;
    e->host_load.permille = levels[m_random(m, m_random(m, 2) ? 8 : 3)];
    if (e->host_load.resource == LOAD_UPLINK)
        m->host[host].permille = e->host_load.permille;
    m_congestion(m);
}

/* ---- events about jobs ----------------------------------------------------------------------- */

static inline void m_make_stage(struct model *m, struct m_job *j, uint32_t stage)
{
    struct m_stage *s = &j->stage[stage];
    s->n_tasks = 1 + (uint32_t)m_random(m, M_TASKS);
    s->demand = (struct m_demand){1, 0, 0};
    if (m_random(m, 4) == 0)
        s->demand = (struct m_demand){1 + (int64_t)m_random(m, 2), (int64_t)m_random(m, 4),
                                      (uint32_t)m_random(m, 3)};
    for (uint32_t p = 0; p < stage; p++)
        if (m_random(m, 2)) {
            s->kinds[s->n_parents] = m_random(m, 3) == 0 ? EDGE_PIPELINED : EDGE_BARRIER;
            s->matrix[s->n_parents] = (uint32_t)m_random(m, 2);
            s->parents[s->n_parents++] = p;
        }
    s->n_replicas = s->n_parents ? 0 : (uint32_t)m_random(m, M_REPLICAS + 1);
    for (uint32_t t = 0; t < s->n_tasks; t++) {
        s->task[t].done_host = ENGINE_NONE;
        s->task[t].compute = 1000000 * m_random(m, 1000);
        s->task[t].input = m_random(m, 4) && !s->n_parents ? M_MEGABYTE * (1 + m_random(m, 3)) : 0;
        for (uint32_t i = 0; i < s->n_replicas; i++)
            s->task[t].replicas[i] = m_random(m, 12) ? (uint32_t)m_random(m, M_HOSTS) : ENGINE_NONE;
    }
}

static inline void m_make_bytes(struct model *m, struct m_job *j, uint32_t stage)
{
    struct m_stage *s = &j->stage[stage];
    uint64_t scale = UINT64_C(1000000) << (3 * m_random(m, 4));
    for (uint32_t i = 0; i < s->n_parents; i++) {
        uint32_t maps = j->stage[s->parents[i]].n_tasks;
        for (uint32_t c = 0; c < maps * s->n_tasks; c++)
            s->cells[i][c] = m_random(m, 6) * scale / 2;
        for (uint32_t r = 0; r < s->n_tasks; r++)
            s->sums[i][r] = m_random(m, 4) * scale + m_random(m, 3);
        for (uint32_t map = 0; map < maps; map++)
            for (uint32_t r = 0; r < s->n_tasks; r++)
                s->task[r].bytes += m_cell(j, stage, i, map, r);
    }
}

static inline void m_stage_events(struct model *m, struct m_job *j, uint32_t stage)
{
    struct m_stage *s = &j->stage[stage];
    struct event *e = m_event(m, EVENT_JOB_STAGE);
    e->job_stage.job = j->number;
    e->job_stage.stage = stage;
    e->job_stage.tasks = s->n_tasks;
    e->job_stage.demand.amount[RES_SLOTS] = s->demand.slots;
    e->job_stage.demand.amount[RES_MEM_BYTES] = s->demand.mem;
    e->job_stage.command = "";
    e->job_stage.constraint = m_constraints[s->demand.label];
    e->job_stage.parents = (struct u32s){s->parents, s->n_parents};
    e->job_stage.edges = (struct u32s){s->kinds, s->n_parents};
    e = m_event(m, EVENT_JOB_TASKS);
    uint64_t *input = m_u64s(m, s->n_tasks), *compute = m_u64s(m, s->n_tasks);
    uint32_t *replicas = m_u32s(m, s->n_tasks * s->n_replicas);
    for (uint32_t t = 0; t < s->n_tasks; t++) {
        input[t] = s->task[t].input;
        compute[t] = s->task[t].compute;
        for (uint32_t i = 0; i < s->n_replicas; i++)
            replicas[t * s->n_replicas + i] = s->task[t].replicas[i];
    }
    e->job_tasks.job = j->number;
    e->job_tasks.stage = stage;
    e->job_tasks.replicas_per_task = s->n_replicas;
    e->job_tasks.replicas = (struct u32s){replicas, s->n_tasks * s->n_replicas};
    e->job_tasks.input_bytes = (struct u64s){input, s->n_tasks};
    e->job_tasks.compute_ns = (struct u64s){compute, s->n_tasks};
    for (uint32_t i = 0; i < s->n_parents; i++) {
        e = m_event(m, EVENT_JOB_BYTES);
        e->job_bytes.job = j->number;
        e->job_bytes.stage = stage;
        e->job_bytes.parent = s->parents[i];
        e->job_bytes.matrix = s->matrix[i];
        e->job_bytes.bytes =
            (struct u64s){s->matrix[i] ? s->cells[i] : s->sums[i],
                          s->matrix[i] ? s->n_tasks * j->stage[s->parents[i]].n_tasks : s->n_tasks};
    }
}

/* A demand that no joined host could ever meet is refused: such a job does not count. */
static inline bool m_possible(const struct model *m, struct m_demand d)
{
    bool joined = false;
    for (uint32_t h = 0; h < M_HOSTS; h++) {
        joined |= m->host[h].joined;
        for (uint32_t u = 0; m->host[h].joined && u < m->host[h].n_units; u++)
            if (m_has_label(&m->host[h], d.label) &&
                m_times_in(m->host[h].slots[u], m->host[h].mem[u], d))
                return true;
    }
    return !joined;
}

/* An even part of a job's maps on one host, as even_wait has it; fixed at submission. */
static inline uint64_t m_share(const struct model *m, const struct m_job *j)
{
    uint64_t maps = 0, hosts = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        hosts += m->host[h].joined;
    for (uint32_t s = 0; s < j->n_stages; s++)
        maps += j->stage[s].n_parents ? 0 : j->stage[s].n_tasks;
    hosts = hosts ? hosts : 1;
    return m->config.even_wait_ns ? (maps + hosts - 1) / hosts : UINT64_MAX;
}

static inline void m_submit(struct model *m)
{
    struct m_job *j = NULL;
    for (int i = 0; i < M_JOBS; i++)
        j = m->job[i].number ? j : &m->job[i];
    /* One job per step: its events point into its place, which must not be reused before they are
     * given. */
    for (uint32_t i = 0; i < m->n_events; i++)
        if (m->events[i].kind == EVENT_JOB_BEGIN)
            return;
    if (!j)
        return;
    memset(j, 0, sizeof(*j));
    j->number = m->next_job++;
    j->n_stages = 1 + (uint32_t)m_random(m, M_STAGES);
    j->estimate_bytes = m_random(m, 3) ? -1 : (int64_t)m_random(m, 1000) * M_MEGABYTE;
    j->estimate_ns = m_random(m, 3) ? -1 : (int64_t)m_random(m, 3) * SECOND;
    j->submitted = m->script.now_ns;
    snprintf(j->name, sizeof(j->name), "job %llu", (unsigned long long)j->number);
    for (uint32_t s = 0; s < j->n_stages; s++) {
        m_make_stage(m, j, s);
        while (!m_possible(m, j->stage[s].demand))
            j->stage[s].demand = (struct m_demand){1, 0, 0};
        m_make_bytes(m, j, s);
    }
    struct event *e = m_event(m, EVENT_JOB_BEGIN);
    e->job_begin.job = j->number;
    e->job_begin.name = j->name;
    e->job_begin.content = j->number;
    e->job_begin.estimate_bytes = j->estimate_bytes;
    e->job_begin.estimate_ns = j->estimate_ns;
    for (uint32_t s = 0; s < j->n_stages; s++)
        m_stage_events(m, j, s);
    m_event(m, EVENT_JOB_END)->job_end.job = j->number;
    bool alone = true;
    for (int i = 0; i < M_JOBS; i++)
        alone &= &m->job[i] == j || !m->job[i].number;
    if (alone)
        m_take_cluster(m);
    j->key = m_estimate(m, j);
    j->share = m_share(m, j);
}

static inline struct m_job *m_any_job(struct model *m)
{
    struct m_job *j = &m->job[m_random(m, M_JOBS)];
    return j->number ? j : NULL;
}

static inline void m_update(struct model *m)
{
    struct m_job *j = m_any_job(m);
    if (!j)
        return;
    struct event *e = m_event(m, EVENT_JOB_UPDATE);
    e->job_update.job = j->number;
    e->job_update.estimate_bytes = j->estimate_bytes = (int64_t)m_random(m, 2000) * M_MEGABYTE;
    e->job_update.estimate_ns = -1;
    e->job_update.priority = e->job_update.deadline_ns = INT64_MIN;
    j->key = m_estimate(m, j);
}

static inline void m_cancel(struct model *m)
{
    struct m_job *j = m_any_job(m);
    if (!j)
        return;
    m_event(m, EVENT_JOB_CANCEL)->job_cancel.job = j->number;
    m->failed_due[m->n_failed_due++] = j->number;
    m_job_over(m, j);
}

static inline void m_output_lost(struct model *m)
{
    struct m_job *j = m_any_job(m);
    if (!j)
        return;
    uint32_t s = (uint32_t)m_random(m, j->n_stages), t = (uint32_t)m_random(m, j->stage[s].n_tasks);
    struct m_task *task = &j->stage[s].task[t];
    struct event *e = m_event(m, EVENT_OUTPUT_LOST);
    e->output_lost.job = j->number;
    e->output_lost.stage = s;
    e->output_lost.task = t;
    e->output_lost.attempt = task->done_attempt;
    if (task->state == M_DONE && m_needed(j, s))
        m_lose(m, j, s, t);
}

/* ---- events about attempts ------------------------------------------------------------------- */

static inline void m_done(struct model *m, struct m_attempt *a)
{
    struct m_job *j = a->orphan ? NULL : m_find_job(m, a->job);
    uint64_t number = a->number;
    a->number = 0;
    if (!j)
        return;
    struct m_task *t = &j->stage[a->stage].task[a->task];
    assert_int_not_equal(t->state, M_DONE);
    for (int i = 0; i < M_ATTEMPTS; i++) {
        struct m_attempt *other = &m->attempt[i];
        if (other->number && !other->orphan && other->job == a->job && other->stage == a->stage &&
            other->task == a->task)
            m_stop(m, other);
    }
    t->state = M_DONE;
    t->done_host = a->host;
    t->done_attempt = number;
    for (uint32_t s = 0; s < j->n_stages; s++)
        if (m_stage_count(&j->stage[s], true) < j->stage[s].n_tasks)
            return;
    m->done_due[m->n_done_due++] = j->number;
    m_job_over(m, j);
}

static inline void m_failed(struct model *m, struct m_attempt *a)
{
    struct m_job *j = a->orphan ? NULL : m_find_job(m, a->job);
    m_without_result(m, a);
    if (!j || ++j->stage[a->stage].task[a->task].failures < m->config.failures_max)
        return;
    m->failed_due[m->n_failed_due++] = j->number;
    m_job_over(m, j);
}

/* It has read from all its sources. */
static inline void m_received(struct model *m, struct m_attempt *a)
{
    const struct m_job *j = a->orphan ? NULL : m_find_job(m, a->job);
    uint32_t hosts[1 + M_STAGES * M_TASKS], n = 0;
    a->state = ATTEMPT_COMPUTING;
    if (j && a->block != ENGINE_NONE)
        hosts[n++] = a->block;
    for (uint32_t i = 0; j && i < j->stage[a->stage].n_parents; i++)
        for (uint32_t map = 0; map < j->stage[j->stage[a->stage].parents[i]].n_tasks; map++)
            if (m_cell(j, a->stage, i, map, a->task))
                hosts[n++] = m_output_host(m, j, j->stage[a->stage].parents[i], map);
    for (uint32_t i = 0; i < n; i++)
        if (hosts[i] != ENGINE_NONE && (m->host[hosts[i]].strikes || m_sources(m, a->host)))
            m_reached(m, a->host, hosts[i]);
    m_release(m, a);
}

static inline void m_news(struct model *m, struct m_attempt *a)
{
    static const enum event_kind kinds[] = {
        EVENT_ATTEMPT_QUEUED,   EVENT_ATTEMPT_STARTED,  EVENT_ATTEMPT_STARTED,
        EVENT_ATTEMPT_PROGRESS, EVENT_ATTEMPT_RECEIVED, EVENT_ATTEMPT_RECEIVED,
        EVENT_ATTEMPT_DONE,     EVENT_ATTEMPT_DONE,     EVENT_ATTEMPT_DONE,
        EVENT_ATTEMPT_DONE,     EVENT_ATTEMPT_FAILED,   EVENT_ATTEMPT_KILLED,
        EVENT_ATTEMPT_REFUSED,  EVENT_ATTEMPT_LOST};
    enum event_kind kind = kinds[m_random(m, m_random(m, 3) ? 10 : 14)];
    const struct m_job *j = a->orphan ? NULL : m_find_job(m, a->job);
    bool reduce = j && j->stage[a->stage].task[a->task].bytes;
    if (a->orphan && m_random(m, 2))
        kind = EVENT_ATTEMPT_KILLED;
    struct event *e = m_event(m, kind);
    e->attempt.attempt = a->number;
    e->attempt.received_bytes = a->received += m_random(m, 2) * M_MEGABYTE;
    if (kind == EVENT_ATTEMPT_QUEUED && a->state == ATTEMPT_SENT) {
        a->state = ATTEMPT_QUEUED;
    } else if (kind == EVENT_ATTEMPT_STARTED && a->state <= ATTEMPT_STARTED) {
        a->state = a->receiving ? ATTEMPT_RECEIVING : reduce ? ATTEMPT_STARTED : ATTEMPT_COMPUTING;
    } else if (kind == EVENT_ATTEMPT_RECEIVED) {
        m_received(m, a);
        a->receiving = false;
    } else if (kind == EVENT_ATTEMPT_DONE) {
        if (a->state != ATTEMPT_COMPUTING)
            m_received(m, a);
        m_done(m, a);
    } else if (kind == EVENT_ATTEMPT_FAILED || kind == EVENT_ATTEMPT_REFUSED) {
        m_failed(m, a);
    } else if (kind == EVENT_ATTEMPT_KILLED || kind == EVENT_ATTEMPT_LOST) {
        m_without_result(m, a);
    }
}

static inline void m_any_news(struct model *m)
{
    uint64_t live = 0, chosen;
    for (int i = 0; i < M_ATTEMPTS; i++)
        live += m->attempt[i].number != 0;
    chosen = live ? m_random(m, live) : 0;
    for (int i = 0; live && i < M_ATTEMPTS; i++)
        if (m->attempt[i].number && chosen-- == 0) {
            m_news(m, &m->attempt[i]);
            return;
        }
}

/* An attempt that this engine never started: of an older epoch, of any task or of none, on any
 * host. */
static inline void m_seen(struct model *m)
{
    struct m_job *j = m_random(m, 4) ? m_any_job(m) : NULL;
    uint32_t s = j ? (uint32_t)m_random(m, j->n_stages) : 0,
             t = j ? (uint32_t)m_random(m, j->stage[s].n_tasks) : 0;
    struct event *e = m_event(m, EVENT_ATTEMPT_SEEN);
    uint64_t number = m->next_foreign++;
    uint32_t host = (uint32_t)m_random(m, M_HOSTS), unit = (uint32_t)m_random(m, 3);
    e->attempt_seen.attempt = number;
    e->attempt_seen.job = j ? j->number : 999999999;
    e->attempt_seen.stage = s;
    e->attempt_seen.task = t;
    e->attempt_seen.host = host;
    e->attempt_seen.unit = unit;
    e->attempt_seen.resources.amount[RES_SLOTS] = 1;
    e->attempt_seen.phase = m_random(m, 2) ? ATTEMPT_STARTED : ATTEMPT_COMPUTING;
    if (!m->host[host].known) {
        m->host[host].known = true;
        m->host[host].n_units = 1;
    }
    bool over = j && j->stage[s].task[t].state == M_DONE;
    struct m_job *of = over ? NULL : j;
    struct m_attempt *a = m_add_attempt(m, number, of, s, t, host, unit);
    a->slots = 1;
    a->state = (enum attempt_state)e->attempt_seen.phase;
    if (!of) {
        m->stop_due[m->n_stop_due++] = number;
        return;
    }
    m_set_sizes(a, &of->stage[s], false);
    a->receiving = a->state != ATTEMPT_COMPUTING && m_remote_bytes(m, of, s, t, host, false) > 0;
}
