#include "tests/model/model_effects.h"
#include "tests/model/model_events.h"
#include "tests/model/model_sources.h"

static const char *const m_constraints[] = {"", "ssd", "big", "ssd & !big", "rack=r1 | host=h3"};

static void m_make_stage(struct model *m, struct m_job *j, uint32_t stage)
{
    struct m_stage *s = &j->stage[stage];
    s->n_tasks = 1 + (uint32_t)m_random(m, M_TASKS);
    s->n_ways = 1;
    s->way[0].demand = (struct m_demand){1, 0, 0};
    if (m_random(m, 4) == 0)
        s->way[0].demand = (struct m_demand){
            1 + (int64_t)m_random(m, 2), (int64_t)m_random(m, 4),
            (uint32_t)m_random(m, sizeof(m_constraints) / sizeof(m_constraints[0]))};
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

/* Others than those before. */
static void m_make_ways(struct model *m, struct m_stage *s)
{
    uint32_t more = m->variants && m_random(m, 2) ? 1 + (uint32_t)m_random(m, M_WAYS - 1) : 0;
    while (more--) {
        struct m_way way = {.demand = {1 + (int64_t)m_random(m, 2), (int64_t)m_random(m, 4),
                                       (uint32_t)m_random(m, 5)},
                            .told = m_random(m, 3)};
        bool known = !m_possible(m, way.demand);
        for (uint32_t v = 0; v < s->n_ways; v++)
            known |= m_same_demand(way.demand, s->way[v].demand);
        for (uint32_t t = 0; t < s->n_tasks; t++)
            s->task[t].compute_by[s->n_ways] = 1000000 * m_random(m, 1000);
        if (!known)
            s->way[s->n_ways++] = way;
    }
}

static void m_make_bytes(struct model *m, struct m_job *j, uint32_t stage)
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

static void m_name_ways(struct model *m, struct m_stage *s, struct event *e)
{
    static char constraints[M_STAGES][M_WAYS * 32];
    char *text = constraints[e->job_stage.stage];
    uint32_t n = s->n_ways - 1;
    uint64_t *demands = m_u64s(m, n * ENGINE_RESOURCES);
    uint64_t *profiles = m_u64s(m, s->n_ways * PROFILE_NUMBERS);
    memset(demands, 0, n * ENGINE_RESOURCES * sizeof(*demands));
    for (uint32_t v = 0; v < s->n_ways; v++) {
        const uint64_t of[] = {M_MEGABYTE * (v + s->n_tasks), M_MEGABYTE, 1, M_MEGABYTE * v};
        memcpy(profiles + (size_t)v * PROFILE_NUMBERS, of, sizeof(of));
    }
    *text = '\0';
    for (uint32_t i = 0; i < n; i++) {
        const struct m_demand *d = &s->way[i + 1].demand;
        demands[i * ENGINE_RESOURCES + RES_SLOTS] = (uint64_t)d->slots;
        demands[i * ENGINE_RESOURCES + RES_MEM_BYTES] = (uint64_t)d->mem;
        snprintf(text + strlen(text), 64, "%s%s", i ? "\n" : "", m_constraints[d->label]);
    }
    e->job_stage.variant_demands = (struct u64s){demands, n * ENGINE_RESOURCES};
    e->job_stage.variant_constraints = text;
    e->job_stage.profiles = (struct u64s){profiles, s->n_ways * PROFILE_NUMBERS};
}

static void m_work_events(struct model *m, const struct m_job *j, uint32_t stage)
{
    const struct m_stage *s = &j->stage[stage];
    for (uint32_t v = 1; v < s->n_ways; v++) {
        uint64_t *compute = m_u64s(m, s->n_tasks);
        for (uint32_t t = 0; t < s->n_tasks; t++)
            compute[t] = s->task[t].compute_by[v];
        if (!s->way[v].told)
            continue;
        struct event *e = m_event(m, EVENT_JOB_TASKS);
        e->job_tasks.job = j->number;
        e->job_tasks.stage = stage;
        e->job_tasks.compute_ns = (struct u64s){compute, s->n_tasks};
        e->job_tasks.variant = v;
    }
}

static void m_stage_events(struct model *m, struct m_job *j, uint32_t stage)
{
    struct m_stage *s = &j->stage[stage];
    struct event *e = m_event(m, EVENT_JOB_STAGE);
    e->job_stage.job = j->number;
    e->job_stage.stage = stage;
    e->job_stage.tasks = s->n_tasks;
    e->job_stage.demand.amount[RES_SLOTS] = s->way[0].demand.slots;
    e->job_stage.demand.amount[RES_MEM_BYTES] = s->way[0].demand.mem;
    e->job_stage.command = "";
    e->job_stage.constraint = m_constraints[s->way[0].demand.label];
    e->job_stage.parents = (struct u32s){s->parents, s->n_parents};
    e->job_stage.edges = (struct u32s){s->kinds, s->n_parents};
    m_name_ways(m, s, e);
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
    m_work_events(m, j, stage);
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
static bool m_is_taken(const struct model *m, struct m_demand d)
{
    bool joined = false;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        joined |= m->host[h].joined;
    return !joined || m_possible(m, d);
}

/* An even part of a job's maps on one host, as even_wait has it; fixed at submission. */
static uint64_t m_share(const struct model *m, const struct m_job *j)
{
    uint64_t maps = 0, hosts = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        hosts += m->host[h].joined;
    for (uint32_t s = 0; s < j->n_stages; s++)
        maps += j->stage[s].n_parents ? 0 : j->stage[s].n_tasks;
    hosts = hosts ? hosts : 1;
    return engine_config_value(&m->config, "even_wait") ? (maps + hosts - 1) / hosts : UINT64_MAX;
}

void m_submit(struct model *m)
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
        while (!m_is_taken(m, j->stage[s].way[0].demand))
            j->stage[s].way[0].demand = (struct m_demand){1, 0, 0};
        m_make_ways(m, &j->stage[s]);
        m_make_bytes(m, j, s);
    }
    struct event *e = m_event(m, EVENT_JOB_BEGIN);
    e->job_begin.job = j->number;
    e->job_begin.name = j->name;
    e->job_begin.content = j->number;
    e->job_begin.estimate_bytes = j->estimate_bytes;
    e->job_begin.estimate_ns = j->estimate_ns;
    j->user = m->users ? (uint32_t)m_random(m, M_USERS) : 0;
    e->job_begin.user = j->user;
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

struct m_job *m_any_job(struct model *m)
{
    struct m_job *j = &m->job[m_random(m, M_JOBS)];
    return j->number ? j : NULL;
}

void m_update(struct model *m)
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

void m_cancel(struct model *m)
{
    struct m_job *j = m_any_job(m);
    if (!j)
        return;
    m_event(m, EVENT_JOB_CANCEL)->job_cancel.job = j->number;
    m->failed_due[m->n_failed_due++] = j->number;
    m_job_over(m, j);
}

void m_output_lost(struct model *m)
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
