#include "tests/model/model_homes.h"

#include "controller/engine/books/job.h"

__extension__ typedef unsigned __int128 wide;

static bool is_parent(const struct m_job *j, uint32_t stage)
{
    for (uint32_t c = stage + 1; c < j->n_stages; c++)
        for (uint32_t i = 0; i < j->stage[c].n_parents; i++)
            if (j->stage[c].parents[i] == stage)
                return true;
    return false;
}

bool m_sooner(const struct model *m, const struct m_job *a, const struct m_job *b)
{
    uint64_t x = m_turn(m, a), y = m_turn(m, b);
    return x < y || (x == y && a->number < b->number);
}

uint64_t m_outputs_on(const struct m_job *j, uint32_t host)
{
    uint64_t n = 0;
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; is_parent(j, s) && t < j->stage[s].n_tasks; t++)
            n += j->stage[s].task[t].state == M_DONE && j->stage[s].task[t].done_host == host;
    return n;
}

int64_t m_slots(const struct model *m, uint32_t host, struct m_demand d)
{
    int64_t slots = 0;
    for (uint32_t u = 0; u < m->host[host].n_units; u++)
        slots += m_times_in(m->host[host].slots[u], m->host[host].mem[u], d);
    return slots;
}

bool m_has_block(const struct m_stage *s, const struct m_task *t)
{
    for (uint32_t i = 0; t->input && i < s->n_replicas; i++)
        if (t->replicas[i] < M_HOSTS)
            return true;
    return false;
}

/* What was decided of a job when its first map was placed. */
static struct home {
    uint64_t job;
    bool packed, racked;
    uint32_t host;
    int64_t here_ns, spread_ns; /* what was compared, where it is packed or kept to its rack */
    int64_t wait_ns, until_ns;  /* until_ns: in its rack, as of the last step */
} homes[1024];

static int link_waits, slot_waits; /* other jobs that wait for links, or for slots alone */

static struct home *home_of_job(const struct m_job *j)
{
    struct home *home = &homes[j->number % (sizeof(homes) / sizeof(*homes))];
    if (home->job != j->number)
        *home = (struct home){.job = j->number};
    return home;
}

static bool may_be_packed(const struct m_job *j)
{
    bool may = true;
    for (uint32_t s = 0; s < j->n_stages; s++) {
        may &= j->stage[s].n_ways == 1 &&
               m_same_demand(j->stage[s].way[0].demand, j->stage[0].way[0].demand);
        for (uint32_t i = 0; i < j->stage[s].n_parents; i++)
            may &= j->stage[s].kinds[i] == EDGE_BARRIER;
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++)
            may &= !m_has_block(&j->stage[s], &j->stage[s].task[t]);
    }
    return may;
}

static wide link_ns(const struct model *m, wide bytes)
{
    wide up = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        up += m_up(&m->host[h]);
    return up ? bytes * 8 * up * 1000000000 / m_bps_up(m) : 0;
}

/* What the hosts of r1 may send to others, or those of no rack, and how many are up. */
static uint64_t rack_bps(const struct model *m, uint32_t rack, uint64_t *ret_hosts)
{
    uint64_t links = 0;
    *ret_hosts = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++) {
        bool here = m_up(&m->host[h]) && m->host[h].rack == rack;
        links += here ? m->bps : 0;
        *ret_hosts += here;
    }
    return rack && m->rack_bps && m->rack_bps < links ? m->rack_bps : links;
}

/* The part of these bytes that leaves a rack with so many hosts, on all racks' uplinks. */
static wide racks_ns(const struct model *m, wide bytes, uint64_t hosts, uint64_t of_rack)
{
    uint64_t some, bps = rack_bps(m, 0, &some) + rack_bps(m, 1, &some);
    return of_rack ? bytes * 8 * (hosts - of_rack) * 1000000000 / ((wide)hosts * bps) : 0;
}

static uint64_t left_bytes(const struct m_job *j)
{
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++)
            bytes += j->stage[s].task[t].state == M_DONE ? 0 : j->stage[s].task[t].bytes;
    return bytes;
}

/* What is left of its computing, in all slots. */
static uint64_t left_ns(const struct model *m, const struct m_job *j)
{
    uint64_t ns = 0;
    int64_t slots = 0;
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++) {
            const struct m_task *task = &j->stage[s].task[t];
            ns += task->state == M_DONE ? 0 : m_work(m, &j->stage[s], task);
        }
    for (uint32_t h = 0; h < M_HOSTS; h++)
        for (uint32_t u = 0; m_up(&m->host[h]) && u < m->host[h].n_units; u++)
            slots += m->host[h].slots[u];
    return ns / (uint64_t)slots;
}

/* What is left of it takes all links for at least 3/4 as long as all slots; k of n hosts: a rack
 * whose uplink is short. */
static bool waits_for_links(const struct model *m, const struct m_job *j, uint64_t n, uint64_t k)
{
    wide up = 0, bytes = left_bytes(j), ns = racks_ns(m, bytes, n, k);
    for (uint32_t h = 0; h < M_HOSTS; h++)
        up += m_up(&m->host[h]);
    ns = link_ns(m, bytes) / up > ns ? link_ns(m, bytes) / up : ns;
    return 4 * ns >= 3 * (wide)left_ns(m, j);
}

/* Jobs behind it that wait for links, and what those before it still have for them. */
static uint32_t on_the_links(struct model *m, const struct m_job *j, uint64_t hosts, uint64_t k,
                             wide *ret_ahead)
{
    struct m_job *jobs[M_JOBS + 1];
    uint32_t behind = 0;
    *ret_ahead = 0;
    m_in_turn(m, jobs);
    for (int i = 0; jobs[i]; i++) {
        if (jobs[i] == j || home_of_job(jobs[i])->packed)
            continue;
        bool before = m_sooner(m, jobs[i], j), waits = waits_for_links(m, jobs[i], hosts, k);
        link_waits += waits;
        slot_waits += !waits;
        behind += waits && !before;
        *ret_ahead += waits && before ? left_bytes(jobs[i]) : 0;
    }
    return behind;
}

/* Bytes of all its transfers on the link that has most of them, when it is spread over so many
 * hosts; *ret_further_ns: for how much longer the uplinks of racks take. */
static wide spread_bytes(const struct model *m, const struct m_job *j, uint64_t hosts,
                         uint64_t of_rack, wide *ret_further_ns)
{
    uint64_t inputs = 0, largest_input = 0, sum = 0;
    *ret_further_ns = 0;
    for (uint32_t s = 0; s < j->n_stages; s++) {
        uint64_t bytes = 0, largest = 0;
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++) {
            const struct m_task *task = &j->stage[s].task[t];
            bytes += task->bytes;
            inputs += task->input;
            largest = task->bytes > largest ? task->bytes : largest;
            largest_input = task->input > largest_input ? task->input : largest_input;
        }
        uint64_t of_link = bytes / hosts > largest ? bytes / hosts : largest;
        wide even_ns = link_ns(m, of_link), ns = racks_ns(m, bytes, hosts, of_rack);
        sum += of_link;
        *ret_further_ns += ns > even_ns ? ns - even_ns : 0;
    }
    return (wide)sum + (inputs / hosts > largest_input ? inputs / hosts : largest_input);
}

/* Hosts of the rack that it may be kept to: those of r1, or of none, where r1 says that its uplink
 * is less than its hosts'. */
static uint64_t hosts_of_rack(const struct model *m, uint32_t host, uint64_t hosts)
{
    uint64_t up;
    uint64_t bps = rack_bps(m, m->host[host].rack, &up);
    return bps < up * m->bps && up < hosts ? up : 0;
}

static uint64_t n_racks(const struct model *m)
{
    uint64_t here, other;
    rack_bps(m, 0, &other);
    rack_bps(m, 1, &here);
    return (here ? 1u : 0u) + (other ? 1u : 0u);
}

static struct home judge(struct model *m, const struct m_job *j, uint32_t host)
{
    struct home home = {.job = j->number, .host = host};
    struct m_demand d = j->stage[0].way[0].demand;
    uint64_t hosts = 0, bytes = 0, inputs = 0, work = 0, slots = (uint64_t)m_slots(m, host, d);
    for (uint32_t h = 0; h < M_HOSTS; h++)
        hosts += m_capable_host(m, h, d);
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++) {
            bytes += j->stage[s].task[t].bytes;
            inputs += j->stage[s].task[t].input;
            work += j->stage[s].task[t].compute;
        }
    if (!may_be_packed(j) || hosts < 2)
        return home;
    uint64_t k = hosts_of_rack(m, host, hosts), third = (uint64_t)m->config.hold_max_ns / 3;
    wide ahead, further, none, behind = on_the_links(m, j, hosts, k, &ahead);
    wide one = work / slots + link_ns(m, inputs);
    wide link = (behind * link_ns(m, bytes) + link_ns(m, ahead)) / hosts,
         core = behind * racks_ns(m, bytes, hosts, k) + racks_ns(m, ahead, hosts, k);
    wide spread = work / slots / hosts + link_ns(m, spread_bytes(m, j, hosts, k, &further)) +
                  further + (core > link ? core : link);
    home.packed = one < spread && work / slots <= third;
    home.here_ns = (int64_t)one;
    home.spread_ns = (int64_t)spread;
    home.wait_ns = (int64_t)(4 * link_ns(m, bytes));
    if (k < 2 || !m->host[host].rack || d.label)
        return home;
    wide rack = work / slots / k + link_ns(m, spread_bytes(m, j, k, 0, &none)) + link;
    if (rack >= 2 * spread || (home.packed && rack >= one) || work / slots / k > third)
        return home;
    wide wait = 4 * n_racks(m) * racks_ns(m, bytes, hosts, k);
    return (struct home){
        .job = j->number,
        .host = host,
        .racked = true,
        .here_ns = (int64_t)rack,
        .spread_ns = (int64_t)spread,
        .wait_ns =
            (int64_t)(wait < (wide)m->config.hold_max_ns ? wait : (wide)m->config.hold_max_ns)};
}

/* Its first map goes there: nothing of it runs or is done. */
static bool is_first(const struct model *m, const struct m_job *j, const struct decision *d)
{
    bool first = !j->stage[d->start.stage].task[d->start.task].bytes &&
                 engine_config_value(&m->config, "pack");
    for (uint32_t s = 0; s < j->n_stages; s++)
        first &= m_stage_count(&j->stage[s], false) == 0;
    return first;
}

static void set_label(struct m_job *j, uint32_t label)
{
    for (uint32_t s = 0; s < j->n_stages; s++) {
        j->stage[s].way[0].demand.label = label;
        j->stage[s].way[0].overdue = false;
    }
}

bool m_home_note(struct model *m, struct m_job *j, const struct decision *d)
{
    struct home *home = home_of_job(j);
    if (!is_first(m, j, d))
        return false;
    if (home->racked) {
        assert_string_equal(reason_name(d->reason), "rack");
        return false;
    }
    *home = judge(m, j, d->start.host);
    if (home->racked)
        set_label(j, M_IN_RACK);
    assert_int_equal(home->racked, strcmp(reason_name(d->reason), "rack") == 0);
    assert_true(!home->packed || strcmp(reason_name(d->reason), "home") == 0);
    if (home->packed || home->racked) {
        assert_int_equal(d->left, home->here_ns);
        assert_int_equal(d->right, home->spread_ns);
    }
    return home->packed || home->racked;
}

static bool is_narrowed(const struct model *m, uint64_t job)
{
    return job_find(m->script.engine, job)->narrowed;
}

uint32_t m_racks_left(struct model *m)
{
    uint32_t left = 0;
    for (int i = 0; i < M_JOBS; i++) {
        struct m_job *j = &m->job[i];
        struct home *home = j->number ? home_of_job(j) : NULL;
        if (!home || !home->racked || is_narrowed(m, j->number))
            continue;
        assert_true(home->until_ns <= m->script.now_ns);
        home->racked = false;
        set_label(j, 0);
        left++;
    }
    return left;
}

void m_racks_wait(struct model *m)
{
    for (int i = 0; i < M_JOBS; i++) {
        const struct m_job *j = &m->job[i];
        struct home *home = j->number ? home_of_job(j) : NULL;
        struct task_view view;
        uint32_t s, t;
        if (!home || !home->racked || !m_home_next(j, &s, &t))
            continue;
        assert_int_equal(engine_task(m->script.engine, j->number, s, t, &view), 0);
        home->until_ns = view.ready_ns + home->wait_ns;
        assert_true(engine_deadline_ns(m->script.engine) <= home->until_ns);
    }
}

/* Maps in order, then the largest reduce task. */
bool m_home_next(const struct m_job *j, uint32_t *ret_stage, uint32_t *ret_task)
{
    const struct m_task *next = NULL;
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++) {
            const struct m_task *task = &j->stage[s].task[t];
            bool sooner = !next || (next->bytes && (!task->bytes || task->bytes > next->bytes));
            if (!m_ready(j, s, t) || !sooner)
                continue;
            next = task;
            *ret_stage = s;
            *ret_task = t;
        }
    return next;
}

static uint64_t all_outputs(const struct m_job *j)
{
    uint64_t n = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        n += m_outputs_on(j, h);
    return n;
}

/* It starts at home or nowhere. */
bool m_homed(const struct model *m, const struct m_job *j)
{
    const struct home *home = home_of_job(j);
    struct task_view view;
    uint32_t s, t;
    if (!home->packed || !m_home_next(j, &s, &t))
        return false;
    assert_int_equal(engine_task(m->script.engine, j->number, s, t, &view), 0);
    return m_capable_host(m, home->host, j->stage[s].way[0].demand) &&
           m_outputs_on(j, home->host) == all_outputs(j) &&
           m->script.now_ns < view.ready_ns + home->wait_ns;
}

static bool reads_only_barriers(const struct m_stage *s)
{
    bool only = s->n_parents > 0;
    for (uint32_t i = 0; i < s->n_parents; i++)
        only &= s->kinds[i] == EDGE_BARRIER;
    return only;
}

/* The one host with all outputs, which its next task, a reduce task, reads; ENGINE_NONE: there is
 * none. */
uint32_t m_only_source(const struct model *m, const struct m_job *j)
{
    uint32_t s, t;
    bool one_demand = true;
    for (uint32_t k = 0; k < j->n_stages; k++)
        one_demand &= j->stage[k].n_ways == 1 &&
                      m_same_demand(j->stage[k].way[0].demand, j->stage[0].way[0].demand);
    if (!engine_config_value(&m->config, "lies_there") || !one_demand || !m_home_next(j, &s, &t) ||
        !j->stage[s].task[t].bytes || !reads_only_barriers(&j->stage[s]))
        return ENGINE_NONE;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        if (m_outputs_on(j, h) && m_outputs_on(j, h) == all_outputs(j) &&
            m_capable_host(m, h, j->stage[s].way[0].demand))
            return h;
    return ENGINE_NONE;
}

uint32_t m_home_host(const struct m_job *j)
{
    return home_of_job(j)->host;
}

bool m_homes_differ(int least)
{
    return link_waits >= least && slot_waits >= least;
}

void m_homes_forget(void)
{
    memset(homes, 0, sizeof(homes));
}
