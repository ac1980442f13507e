#include "tests/model/model_effects.h"
#include "tests/model/model_sources.h"

void m_stop(struct model *m, struct m_attempt *a)
{
    assert_false(a->orphan);
    m_release(m, a);
    a->orphan = true;
    m->stop_due[m->n_stop_due++] = a->number;
}

static bool m_live(const struct model *m, const struct m_job *j, uint32_t stage, uint32_t task)
{
    for (int i = 0; i < M_ATTEMPTS; i++) {
        const struct m_attempt *a = &m->attempt[i];
        if (a->number && !a->orphan && a->job == j->number && a->stage == stage && a->task == task)
            return true;
    }
    return false;
}

void m_task_free(struct model *m, struct m_job *j, uint32_t stage, uint32_t task)
{
    if (j && j->stage[stage].task[task].state == M_RUNNING && !m_live(m, j, stage, task))
        j->stage[stage].task[task].state = M_IDLE;
}

static bool m_pipelines(const struct m_stage *child, uint32_t parent)
{
    for (uint32_t i = 0; i < child->n_parents; i++)
        if (child->parents[i] == parent && child->kinds[i] == EDGE_PIPELINED)
            return true;
    return false;
}

void m_evict(struct model *m, struct m_attempt *a)
{
    struct m_job *j = m_find_job(m, a->job);
    const struct m_host *host = &m->host[a->host];
    assert_non_null(j);
    assert_true(host->joined && !host->silent && !host->lost);
    for (uint32_t c = a->stage + 1; c < j->n_stages; c++)
        for (uint32_t t = 0; m_pipelines(&j->stage[c], a->stage) && t < j->stage[c].n_tasks; t++)
            assert_int_not_equal(j->stage[c].task[t].state, M_RUNNING);
    m_stop(m, a);
    m_task_free(m, j, a->stage, a->task);
    m->evictions++;
}

void m_job_over(struct model *m, struct m_job *j)
{
    for (int i = 0; i < M_ATTEMPTS; i++)
        if (m->attempt[i].number && !m->attempt[i].orphan && m->attempt[i].job == j->number)
            m_stop(m, &m->attempt[i]);
    j->number = 0;
}

void m_without_result(struct model *m, struct m_attempt *a)
{
    struct m_job *j = a->orphan ? NULL : m_find_job(m, a->job);
    m_release(m, a);
    a->number = 0;
    m_task_free(m, j, a->stage, a->task);
}

bool m_needed(const struct m_job *j, uint32_t stage)
{
    for (uint32_t c = stage + 1; c < j->n_stages; c++)
        for (uint32_t i = 0; i < j->stage[c].n_parents; i++)
            if (j->stage[c].parents[i] == stage &&
                m_stage_count(&j->stage[c], true) < j->stage[c].n_tasks)
                return true;
    return false;
}

static void m_stop_readers(struct model *m, struct m_job *j, uint32_t child)
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

static void m_stop_children(struct model *m, struct m_job *j, uint32_t stage)
{
    for (uint32_t c = stage + 1; c < j->n_stages; c++)
        for (uint32_t i = 0; i < j->stage[c].n_parents; i++)
            if (j->stage[c].parents[i] == stage)
                m_stop_readers(m, j, c);
}

void m_lose(struct model *m, struct m_job *j, uint32_t stage, uint32_t task)
{
    j->stage[stage].task[task].state = M_IDLE;
    m_stop_children(m, j, stage);
}

/* Its slot went with its host, and none is free for it: what reads from its stage gives way. */
static void m_lose_slot(struct model *m, const struct m_attempt *a)
{
    struct m_job *j = a->orphan ? NULL : m_find_job(m, a->job);
    if (j && j->stage[a->stage].task[a->task].state == M_IDLE && m->host[a->host].lost &&
        m_times_stage(m, &j->stage[a->stage]) <= 0)
        m_stop_children(m, j, a->stage);
}

void m_host_lost(struct model *m, uint32_t host)
{
    for (int i = 0; i < M_ATTEMPTS; i++)
        if (m->attempt[i].number && m->attempt[i].host == host) {
            m_without_result(m, &m->attempt[i]);
            m_lose_slot(m, &m->attempt[i]);
        }
    m_outputs_lost(m, host);
    m_source_host_lost(m, host);
}

void m_outputs_lost(struct model *m, uint32_t host)
{
    for (int k = 0; k < M_JOBS; k++)
        for (uint32_t s = m->job[k].number ? m->job[k].n_stages : 0; s-- > 0;)
            for (uint32_t t = 0; t < m->job[k].stage[s].n_tasks; t++) {
                struct m_task *task = &m->job[k].stage[s].task[t];
                if (task->state == M_DONE && task->done_host == host && m_needed(&m->job[k], s))
                    m_lose(m, &m->job[k], s, t);
            }
}

uint64_t m_cell(const struct m_job *j, uint32_t stage, uint32_t edge, uint32_t map, uint32_t reduce)
{
    const struct m_stage *s = &j->stage[stage], *p = &j->stage[s->parents[edge]];
    uint64_t sum = s->sums[edge][reduce];
    return s->matrix[edge] ? s->cells[edge][map * s->n_tasks + reduce]
                           : sum / p->n_tasks + (map < sum % p->n_tasks);
}

uint32_t m_output_host(const struct model *m, const struct m_job *j, uint32_t stage, uint32_t task)
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

bool m_replica_here(const struct m_stage *s, const struct m_task *t, uint32_t host)
{
    for (uint32_t i = 0; i < s->n_replicas; i++)
        if (t->replicas[i] == host)
            return true;
    return false;
}

bool m_reads_block(const struct model *m, const struct m_stage *s, const struct m_task *t,
                   uint32_t host)
{
    if (!t->input || !s->n_replicas || m_replica_here(s, t, host))
        return false;
    for (uint32_t i = 0; i < s->n_replicas; i++)
        if (t->replicas[i] < M_HOSTS && m->host[t->replicas[i]].joined &&
            !m->host[t->replicas[i]].lost)
            return true;
    return false;
}

uint64_t m_remote_bytes(const struct model *m, const struct m_job *j, uint32_t stage, uint32_t task,
                        uint32_t host, bool block)
{
    const struct m_stage *s = &j->stage[stage];
    uint64_t bytes = block ? s->task[task].input : 0;
    for (uint32_t i = 0; i < s->n_parents; i++)
        for (uint32_t map = 0; map < j->stage[s->parents[i]].n_tasks; map++)
            if (m_output_host(m, j, s->parents[i], map) != host)
                bytes += m_cell(j, stage, i, map, task);
    return bytes;
}

struct m_attempt *m_add_attempt(struct model *m, uint64_t number, struct m_job *j, uint32_t stage,
                                uint32_t task, uint32_t host, uint32_t unit)
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

void m_set_sizes(struct m_attempt *a, const struct m_stage *s, bool block)
{
    const struct m_task *t = &s->task[a->task];
    a->size[M_COFLOW] = t->bytes ? s->coflow : block ? t->input : 0;
    a->size[M_MACROFLOW] = t->bytes + (block ? t->input : 0);
}
