#include "tests/model/model_effects.h"
#include "tests/model/model_events.h"
#include "tests/model/model_sources.h"

static void m_done(struct model *m, struct m_attempt *a)
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

static void m_failed(struct model *m, struct m_attempt *a)
{
    struct m_job *j = a->orphan ? NULL : m_find_job(m, a->job);
    m_without_result(m, a);
    if (!j || ++j->stage[a->stage].task[a->task].failures < m->config.failures_max)
        return;
    m->failed_due[m->n_failed_due++] = j->number;
    m_job_over(m, j);
}

/* It has read from all its sources. */
static void m_received(struct model *m, struct m_attempt *a)
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

static void m_news(struct model *m, struct m_attempt *a)
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

void m_any_news(struct model *m)
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

void m_seen(struct model *m)
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
    e->attempt_seen.variant = m->variants ? (uint32_t)m_random(m, M_WAYS) : 0;
    e->attempt_seen.phase = m_random(m, 2) ? ATTEMPT_STARTED : ATTEMPT_COMPUTING;
    if (!m->host[host].known) {
        m->host[host].known = true;
        m->host[host].n_units = 1;
    }
    bool over = j && j->stage[s].task[t].state == M_DONE;
    struct m_job *of = over ? NULL : j;
    struct m_attempt *a = m_add_attempt(m, number, of, s, t, host, unit);
    a->slots = 1;
    a->variant = e->attempt_seen.variant;
    a->state = (enum attempt_state)e->attempt_seen.phase;
    if (!of) {
        m->stop_due[m->n_stop_due++] = number;
        return;
    }
    m_set_sizes(a, &of->stage[s], false);
    a->receiving = a->state != ATTEMPT_COMPUTING && m_remote_bytes(m, of, s, t, host, false) > 0;
    m->host[host].ours |= a->receiving;
}
