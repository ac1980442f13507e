#include "tests/model/model.h"

__extension__ typedef unsigned __int128 m_wide;

uint64_t m_random(struct model *m, uint64_t below)
{
    return test_random(&m->stream) % below;
}

bool m_up(const struct m_host *h)
{
    return h->joined && !h->silent && !h->lost && !h->draining && !h->suspect;
}

bool m_has_label(const struct m_host *h, uint32_t label)
{
    switch (label) {
    case 0:
        return true;
    case 1: /* ssd */
        return h->labels >= 1;
    case 2: /* big */
        return h->labels == 2;
    case 3: /* ssd & !big */
        return h->labels == 1;
    case M_IN_RACK:
        return h->rack == 1;
    default: /* rack=r1 | host=h3 */
        return h->rack == 1 || h->number == 3;
    }
}

void m_free(const struct model *m, uint32_t host, uint32_t unit, int64_t *ret_slots,
            int64_t *ret_mem)
{
    const struct m_host *h = &m->host[host];
    *ret_slots = h->slots[unit];
    *ret_mem = h->mem[unit];
    for (uint32_t i = 0; i < m->attempts_end; i++) {
        const struct m_attempt *a = &m->attempt[i];
        uint32_t at = a->unit < h->n_units ? a->unit : h->n_units - 1;
        if (a->number && a->host == host && at == unit) {
            *ret_slots -= a->slots;
            *ret_mem -= a->mem;
        }
    }
}

bool m_last_slots(const struct model *m)
{
    int64_t all = 0, free = 0, slots, mem;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        for (uint32_t u = 0; m_up(&m->host[h]) && u < m->host[h].n_units; u++) {
            m_free(m, h, u, &slots, &mem);
            all += m->host[h].slots[u];
            free += slots;
        }
    return free <= all / 32;
}

int64_t m_times_in(int64_t slots, int64_t mem, struct m_demand d)
{
    int64_t times = INT32_MAX;
    if (d.slots && (slots > 0 ? slots / d.slots : 0) < times)
        times = slots > 0 ? slots / d.slots : 0;
    if (d.mem && (mem > 0 ? mem / d.mem : 0) < times)
        times = mem > 0 ? mem / d.mem : 0;
    return times;
}

int64_t m_times_unit(const struct model *m, uint32_t host, uint32_t unit, struct m_demand d)
{
    int64_t slots, mem;
    if (!m_up(&m->host[host]) || !m_has_label(&m->host[host], d.label) ||
        unit >= m->host[host].n_units)
        return 0;
    m_free(m, host, unit, &slots, &mem);
    return m_times_in(slots, mem, d);
}

int64_t m_times_host(const struct model *m, uint32_t host, struct m_demand d)
{
    int64_t times = 0;
    for (uint32_t u = 0; u < m->host[host].n_units; u++)
        times += m_times_unit(m, host, u, d);
    return times;
}

int64_t m_times(const struct model *m, struct m_demand d)
{
    int64_t times = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        times += m_times_host(m, h, d);
    return times;
}

int64_t m_times_stage(const struct model *m, const struct m_stage *s)
{
    int64_t times = 0;
    for (uint32_t v = 0; v < s->n_ways; v++)
        times += m_times(m, s->way[v].demand);
    return times;
}

bool m_possible(const struct model *m, struct m_demand d)
{
    for (uint32_t h = 0; h < M_HOSTS; h++)
        for (uint32_t u = 0; m->host[h].joined && u < m->host[h].n_units; u++)
            if (m_has_label(&m->host[h], d.label) &&
                m_times_in(m->host[h].slots[u], m->host[h].mem[u], d))
                return true;
    return false;
}

uint64_t m_work(const struct model *m, const struct m_stage *s, const struct m_task *t)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t v = 0; v < s->n_ways; v++) {
        uint64_t compute = v && s->way[v].told ? t->compute_by[v] : t->compute;
        if (m_possible(m, s->way[v].demand) && compute < least)
            least = compute;
    }
    return least == UINT64_MAX ? t->compute : least;
}

bool m_capable_host(const struct model *m, uint32_t host, struct m_demand d)
{
    for (uint32_t u = 0; u < m->host[host].n_units; u++)
        if (m_up(&m->host[host]) && m_has_label(&m->host[host], d.label) &&
            m_times_in(m->host[host].slots[u], m->host[host].mem[u], d))
            return true;
    return false;
}

static bool m_capable(const struct model *m, struct m_demand d)
{
    for (uint32_t h = 0; h < M_HOSTS; h++)
        if (m_capable_host(m, h, d))
            return true;
    return false;
}

uint32_t m_stage_count(const struct m_stage *s, bool done_only)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < s->n_tasks; t++)
        n += s->task[t].state == M_DONE || (!done_only && s->task[t].state == M_RUNNING);
    return n;
}

/* Every barrier parent has ended, every task of a pipelined parent runs or has ended. */
static bool m_open(const struct m_job *j, uint32_t stage)
{
    const struct m_stage *s = &j->stage[stage];
    for (uint32_t i = 0; i < s->n_parents; i++) {
        const struct m_stage *p = &j->stage[s->parents[i]];
        if (m_stage_count(p, s->kinds[i] == EDGE_BARRIER) < p->n_tasks)
            return false;
    }
    return true;
}

bool m_ready(const struct m_job *j, uint32_t stage, uint32_t task)
{
    return j->number && j->stage[stage].task[task].state == M_IDLE && m_open(j, stage);
}

bool m_ready_map(const struct m_job *j, uint32_t stage)
{
    for (uint32_t t = 0; t < j->stage[stage].n_tasks; t++)
        if (m_ready(j, stage, t) && !j->stage[stage].task[t].bytes)
            return true;
    return false;
}

uint32_t m_stage_ready(const struct m_job *j, uint32_t stage)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < j->stage[stage].n_tasks; t++)
        n += m_ready(j, stage, t);
    return n;
}

bool m_same_demand(struct m_demand a, struct m_demand b)
{
    return a.slots == b.slots && a.mem == b.mem && a.label == b.label;
}

/* Of the ways the one of which most fit; of equals the first that some host could hold, else the
 * first. */
static struct m_demand m_roomiest(const struct model *m, const struct m_stage *s)
{
    uint32_t best = 0;
    for (uint32_t v = 1; v < s->n_ways; v++) {
        int64_t more = m_times(m, s->way[v].demand) - m_times(m, s->way[best].demand);
        if (more > 0 ||
            (!more && m_capable(m, s->way[v].demand) && !m_capable(m, s->way[best].demand)))
            best = v;
    }
    return s->way[best].demand;
}

static uint64_t m_job_ready(const struct model *m, const struct m_job *j, struct m_demand d)
{
    uint64_t n = 0;
    for (uint32_t s = 0; s < j->n_stages; s++)
        n += m_same_demand(m_roomiest(m, &j->stage[s]), d) ? m_stage_ready(j, s) : 0;
    return n;
}

uint32_t m_running_on(const struct model *m, uint32_t host)
{
    uint32_t n = 0;
    for (int i = 0; i < M_ATTEMPTS; i++)
        n += m->attempt[i].number && m->attempt[i].host == host;
    return n;
}

uint32_t m_receiving_on(const struct model *m, uint32_t host, enum flow_kind kind,
                        uint64_t *ret_smallest)
{
    uint32_t n = 0;
    *ret_smallest = UINT64_MAX;
    for (int i = 0; i < M_ATTEMPTS; i++) {
        const struct m_attempt *a = &m->attempt[i];
        if (!a->number || a->host != host || !a->receiving)
            continue;
        n++;
        if (a->size[kind] < *ret_smallest)
            *ret_smallest = a->size[kind];
    }
    return n;
}

/* One accepted attempt, or one live one with all its input. */
static bool m_past(const struct model *m, const struct m_job *j, uint32_t s, uint32_t t)
{
    const struct m_task *task = &j->stage[s].task[t];
    bool past = task->state == M_DONE;
    for (int i = 0; task->bytes && i < M_ATTEMPTS; i++) {
        const struct m_attempt *a = &m->attempt[i];
        past |= a->number && !a->orphan && a->job == j->number && a->stage == s && a->task == t &&
                a->state == ATTEMPT_COMPUTING;
    }
    return past;
}

/* The estimate over what is left. */
static uint64_t m_left(const struct model *m, const struct m_job *j)
{
    uint64_t maps = 0, bytes = 0, all = 0, slots = m->keyed_slots ? m->keyed_slots : 1;
    m_wide work = 0;
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++) {
            const struct m_task *task = &j->stage[s].task[t];
            bool past = m_past(m, j, s, t);
            all += task->bytes;
            bytes += past ? 0 : task->bytes;
            maps += !past && !task->bytes;
            work += past || task->bytes ? 0 : m_work(m, &j->stage[s], task);
        }
    if (j->estimate_ns >= 0)
        work = (m_wide)maps * (uint64_t)j->estimate_ns;
    m_wide left = bytes;
    if (j->estimate_bytes >= 0)
        left = all ? left * (uint64_t)j->estimate_bytes / all : (m_wide)j->estimate_bytes;
    m_wide ns = work / slots + left * 8 * 1000000000u / (m->keyed_bps ? m->keyed_bps : 1);
    bool ages = strcmp(m->config.turn, "srpt") == 0;
    ns += ages && j->submitted > 0 ? (uint64_t)j->submitted / 100 : 0;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* Its 6 leading bits. */
static uint64_t m_rounded(int64_t amount)
{
    uint64_t unit = 1;
    while (amount / (int64_t)unit >= 64)
        unit *= 2;
    return (uint64_t)amount / unit * unit;
}

/* In units of 2^-32 of what all hosts that are up have. */
static uint64_t m_share(int64_t held, int64_t whole)
{
    return whole > 0 ? (uint64_t)(((m_wide)held << 32) / m_rounded(whole)) : 0;
}

/* Of slots and memory, the larger share. */
static uint64_t m_dominant(const struct model *m, const struct m_job *j)
{
    int64_t slots = 0, mem = 0, all_slots = 0, all_mem = 0;
    for (int i = 0; i < M_ATTEMPTS; i++) {
        const struct m_attempt *a = &m->attempt[i];
        slots += a->number && !a->orphan && a->job == j->number ? a->slots : 0;
        mem += a->number && !a->orphan && a->job == j->number ? a->mem : 0;
    }
    for (uint32_t h = 0; h < M_HOSTS; h++)
        for (uint32_t u = 0; m_up(&m->host[h]) && u < m->host[h].n_units; u++) {
            all_slots += m->host[h].slots[u];
            all_mem += m->host[h].mem[u];
        }
    uint64_t of_slots = m_share(slots, all_slots), of_mem = m_share(mem, all_mem);
    return of_slots > of_mem ? of_slots : of_mem;
}

uint64_t m_turn(const struct model *m, const struct m_job *j)
{
    uint64_t running = 0;
    if (strcmp(m->config.turn, "fifo") == 0)
        return (uint64_t)j->submitted;
    if (strcmp(m->config.turn, "sjf") == 0)
        return j->key;
    if (strcmp(m->config.turn, "drf") == 0)
        return m_dominant(m, j);
    if (strncmp(m->config.turn, "srpt", 4) == 0)
        return m_left(m, j);
    if (strcmp(m->config.turn, "fair") != 0) {
        struct job_view view = {0}; /* no opinion on the turns of others */
        engine_job(m->script.engine, j->number, &view);
        return view.key;
    }
    for (uint32_t s = 0; s < j->n_stages; s++)
        running += m_stage_count(&j->stage[s], false) - m_stage_count(&j->stage[s], true);
    return running;
}

void m_in_turn(struct model *m, struct m_job *ret_jobs[static M_JOBS + 1])
{
    uint64_t turns[M_JOBS];
    uint32_t n = 0;
    for (int i = 0; i < M_JOBS; i++) {
        struct m_job *j = &m->job[i];
        if (!j->number)
            continue;
        uint64_t mine = m_turn(m, j);
        uint32_t at = n++;
        for (; at > 0; at--) {
            uint64_t other = turns[at - 1];
            if (other < mine || (other == mine && ret_jobs[at - 1]->number < j->number))
                break;
            ret_jobs[at] = ret_jobs[at - 1];
            turns[at] = other;
        }
        ret_jobs[at] = j;
        turns[at] = mine;
    }
    ret_jobs[n] = NULL;
}

void m_asked_in_turn(struct model *m, struct m_job *ret_jobs[static M_JOBS + 1])
{
    uint32_t n = 0;
    m_in_turn(m, ret_jobs);
    for (uint32_t i = 0; ret_jobs[i]; i++)
        if (!m->divided || ret_jobs[i]->user == m->asked)
            ret_jobs[n++] = ret_jobs[i];
    ret_jobs[n] = NULL;
}

struct m_job *m_find_job(struct model *m, uint64_t number)
{
    for (int i = 0; number && i < M_JOBS; i++)
        if (m->job[i].number == number)
            return &m->job[i];
    return NULL;
}

struct m_attempt *m_find_attempt(struct model *m, uint64_t number)
{
    for (uint32_t i = 0; i < M_ATTEMPTS; i++)
        if (m->attempt[i].number == number) {
            m->attempts_end = i < m->attempts_end ? m->attempts_end : i + 1;
            return &m->attempt[i];
        }
    return NULL;
}

uint64_t m_stage_bytes(const struct m_stage *s)
{
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < s->n_tasks; t++)
        bytes += s->task[t].bytes;
    return bytes;
}

uint64_t m_coflow(const struct m_stage *s)
{
    return s->coflow_fixed ? s->coflow : m_stage_bytes(s);
}

static uint64_t m_slots_up(const struct model *m)
{
    int64_t slots = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        for (uint32_t u = 0; u < m->host[h].n_units; u++)
            slots += m_up(&m->host[h]) ? m->host[h].slots[u] : 0;
    return (uint64_t)slots;
}

uint64_t m_bps_up(const struct model *m)
{
    uint64_t bps = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        bps += m_up(&m->host[h]) ? m->bps : 0;
    return bps;
}

void m_take_cluster(struct model *m)
{
    m->keyed_slots = m_slots_up(m) ? m_slots_up(m) : m->keyed_slots;
    m->keyed_bps = m_bps_up(m) ? m_bps_up(m) : m->keyed_bps;
}

uint64_t m_estimate(const struct model *m, const struct m_job *j)
{
    uint64_t maps = 0, work = 0, bytes = 0;
    uint64_t slots = m->keyed_slots ? m->keyed_slots : 1, bps = m->keyed_bps ? m->keyed_bps : 1;
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++) {
            const struct m_task *task = &j->stage[s].task[t];
            bytes += task->bytes;
            maps += task->bytes == 0;
            work += task->bytes ? 0 : m_work(m, &j->stage[s], task);
        }
    if (j->estimate_ns >= 0)
        work = maps * (uint64_t)j->estimate_ns;
    if (j->estimate_bytes >= 0)
        bytes = (uint64_t)j->estimate_bytes;
    m_wide sum = work / slots + (m_wide)bytes * 8 * 1000000000u / bps;
    return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

void m_rekey(struct model *m)
{
    uint64_t slots = m_slots_up(m), bps = m_bps_up(m);
    for (int i = 0; m->variants && i < M_JOBS; i++)
        if (m->job[i].number)
            m->job[i].key = m_estimate(m, &m->job[i]);
    bool more = slots >= 2 * (m->keyed_slots + 1) || bps >= 2 * (m->keyed_bps + 1),
         less =
             (slots && 2 * (slots + 1) <= m->keyed_slots) || (bps && 2 * (bps + 1) <= m->keyed_bps),
         first = (slots && !m->keyed_slots) || (bps && !m->keyed_bps);
    if (!more && !less && !first)
        return;
    m_take_cluster(m);
    for (int i = 0; i < M_JOBS; i++)
        if (m->job[i].number)
            m->job[i].key = m_estimate(m, &m->job[i]);
}

static bool m_starved(struct model *m)
{
    struct m_job *jobs[M_JOBS + 1];
    m_in_turn(m, jobs);
    const bool all = strcmp(m->config.mode, "all") == 0;
    if (strcmp(m->config.mode, "rich") == 0 || strcmp(m->config.mode, "starved") == 0)
        return strcmp(m->config.mode, "starved") == 0;
    for (int i = 0; jobs[i] && (i == 0 || all); i++)
        for (uint32_t s = 0; s < jobs[i]->n_stages; s++) {
            struct m_demand d = m_roomiest(m, &jobs[i]->stage[s]);
            uint64_t ready = 0;
            for (int k = 0; jobs[k]; k++)
                ready += k == 0 || all ? m_job_ready(m, jobs[k], d) : 0;
            if (m_capable(m, d) && (int64_t)ready > m_times(m, d))
                return true;
        }
    return false;
}

bool m_mode_due(struct model *m)
{
    enum mode wanted = m_starved(m) ? MODE_SLOT_STARVED : MODE_SLOT_RICH;
    return wanted != m->mode && m->script.now_ns - m->mode_since >= m->config.mode_dwell_ns;
}
