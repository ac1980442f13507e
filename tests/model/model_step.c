#include "tests/model/model_step.h"

#include "controller/engine/policy/questions.h"
#include "tests/model/model_effects.h"
#include "tests/model/model_events.h"
#include "tests/model/model_sources.h"

static void m_mode_rule(struct model *m)
{
    static const char *const names[] = {"first", "all", "rich", "starved"};
    struct event *e = m_event(m, EVENT_POLICY_SET);
    strcpy(m->config.mode, names[m_random(m, 2) ? 0 : m_random(m, 4)]);
    e->policy_set.question = "mode";
    e->policy_set.name = m->config.mode;
}

/* A stage without ready tasks is owed nothing. */
static void m_forget_overdue(struct model *m)
{
    for (int i = 0; i < M_JOBS; i++)
        for (uint32_t s = 0; m->job[i].number && s < m->job[i].n_stages; s++)
            if (!m_stage_ready(&m->job[i], s)) {
                for (uint32_t v = 0; v < m->job[i].stage[s].n_ways; v++)
                    m->job[i].stage[s].way[v].overdue = false;
                m->job[i].stage[s].due = 0;
            }
    for (int i = 0; i < M_JOBS; i++)
        for (uint32_t s = 0; m->job[i].number && s < m->job[i].n_stages; s++)
            for (uint32_t t = 0; t < m->job[i].stage[s].n_tasks; t++)
                if (!m_ready(&m->job[i], s, t))
                    m->job[i].stage[s].task[t].could_run = 0;
}

/* Some other stage of the model by number. */
static struct m_stage *m_find_stage(struct model *m, uint64_t job, uint32_t stage)
{
    struct m_job *j = m_find_job(m, job);
    return j ? &j->stage[stage] : NULL;
}

/* What the configuration promises of hold_max, task by task: nothing that has waited so long since
 * a slot was first kept from it waits on while one is. Under a patient policy reduce tasks do. */
static void m_hold_max(struct model *m, const struct m_job *j, uint32_t s)
{
    struct m_stage *stage = m_find_stage(m, j->number, s);
    bool slot = m->holds && m_times_stage(m, stage) > 0 && !(m->patient && m_last_slots(m));
    for (uint32_t t = 0; t < stage->n_tasks; t++) {
        struct m_task *task = &stage->task[t];
        if (m->patient && task->bytes)
            continue;
        if (slot && !task->could_run && m_ready(j, s, t))
            task->could_run = m->script.now_ns;
        if (slot && task->could_run && m->script.now_ns - task->could_run >= m->config.hold_max_ns)
            fail_msg("task %u of stage %u of job %llu could have run since %lld", t, s,
                     (unsigned long long)j->number, (long long)task->could_run);
    }
}

static void m_make_event(struct model *m)
{
    uint64_t kind = m_random(m, 1000);
    uint32_t host = (uint32_t)m_random(m, M_HOSTS);
    /* What is gone comes back soon, so that most runs have most hosts. */
    if (m_random(m, 12) == 0 && m->host[host].joined && !m_up(&m->host[host])) {
        if (m->host[host].draining)
            m_drain(m, host);
        else
            m_host_event(m, EVENT_HOST_BACK, host);
        return;
    }
    if (kind < 500)
        m_any_news(m);
    else if (kind < 595)
        m_any_source(m);
    else if (kind < 600)
        m_forget(m, host);
    else if (kind < 760)
        m_submit(m);
    else if (kind < 860)
        m_load(m, host);
    else if (kind < 890)
        m_join(m, host);
    else if (kind < 905)
        m_host_event(m, EVENT_HOST_SILENT, host);
    else if (kind < 915)
        m_host_event(m, EVENT_HOST_LOST, host);
    else if (kind < 935)
        m_host_event(m, EVENT_HOST_BACK, host);
    else if (kind < 950)
        m_drain(m, host);
    else if (kind < 965)
        m_output_lost(m);
    else if (kind < 970)
        m_cancel(m);
    else if (kind < 980)
        m_update(m);
    else if (kind < 990)
        m_seen(m);
    else if (m->mode_events)
        m_mode_rule(m);
}

static void m_take(uint64_t *set, uint32_t *n, uint64_t number, const char *what)
{
    for (uint32_t i = 0; i < *n; i++)
        if (set[i] == number) {
            set[i] = set[--*n];
            return;
        }
    fail_msg("%s of %llu was not due", what, (unsigned long long)number);
}

static void m_check_levels(const struct model *m, const struct decision *d,
                           const struct m_attempt *a)
{
    uint64_t coflow = level_table_level(&m->config.coflow, a->size[M_COFLOW]);
    uint64_t macroflow = level_table_level(&m->config.macroflow, a->size[M_MACROFLOW]);
    if (strncmp(m->config.network, "cans", 4) != 0)
        return;
    assert_int_equal(d->start.coflow_level,
                     strcmp(m->config.network, "cans-macroflow") == 0 ? macroflow : coflow);
    assert_int_equal(d->start.macroflow_level,
                     strcmp(m->config.network, "cans-coflow") == 0 ? coflow : macroflow);
}

static bool m_is_homed(const struct model *m, const struct m_job *j)
{
    return m->judge && m->judge->is_homed && m->judge->is_homed(m, j);
}

/* A parameter of the placement in force; 0 where it has no such. */
static int64_t m_place_value(const struct model *m, const char *word)
{
    return policy_has(m->place, word) ? engine_config_value(&m->config, word) : 0;
}

static int64_t m_longest_hold(const struct model *m, const struct m_job *j, const struct m_stage *s)
{
    int64_t longest = m->config.hold_max_ns;
    int64_t start = m_place_value(m, "start_wait");
    int64_t even = m_place_value(m, "even_wait");
    if (start && start < longest)
        longest = start;
    if (even && even < longest && !s->n_parents && !m_is_homed(m, j))
        longest = even;
    return longest;
}

static int64_t m_hold_end(const struct m_stage *s, uint32_t v)
{
    return s->way[v].held_until < s->due ? s->way[v].held_until : s->due;
}

static void m_see_input(void *context, const struct engine_input *input)
{
    struct m_attempt *a = context;
    if (input->block)
        a->block = input->host;
}

/* Where it reads its block from: from a good replica, if there is one. */
static void m_take_block(struct model *m, struct m_attempt *a, bool block)
{
    const struct m_stage *s = &m_find_job(m, a->job)->stage[a->stage];
    bool found = false, good = false;
    assert_true(engine_inputs(m->script.engine, a->number, m_see_input, a) >= 0);
    assert_int_equal(a->block != ENGINE_NONE, block);
    for (uint32_t i = 0; i < s->n_replicas; i++) {
        found |= s->task[a->task].replicas[i] == a->block;
        good |= m_good(m, s->task[a->task].replicas[i]);
    }
    assert_true(!block || found);
    assert_true(!block || m_good(m, a->block) || (!good && !m->host[a->block].lost));
}

static void m_serve(struct model *m, struct m_job *j, uint32_t stage)
{
    struct m_stage *s = &j->stage[stage];
    for (uint32_t v = 0; v < s->n_ways; v++) {
        struct m_way *way = &s->way[v];
        if (way->held)
            way->held_until = m->script.now_ns + m_longest_hold(m, j, s);
        way->overdue = way->overdue && m->patient && !m_ready_map(j, stage);
    }
}

static void m_apply_start(struct model *m, const struct decision *d)
{
    struct m_job *j = m_find_job(m, d->start.job);
    assert_non_null(j);
    struct m_stage *s = &j->stage[d->start.stage];
    assert_true(m_ready(j, d->start.stage, d->start.task));
    assert_true(d->start.variant < s->n_ways);
    for (uint32_t v = 0; v < d->start.variant; v++)
        assert_int_equal(m_times_host(m, d->start.host, s->way[v].demand), 0);
    const struct m_demand demand = s->way[d->start.variant].demand;
    assert_true(m_times_unit(m, d->start.host, d->start.unit, demand) > 0);
    assert_null(m_find_attempt(m, d->start.attempt));
    bool block = m_reads_block(m, s, &s->task[d->start.task], d->start.host);
    uint64_t remote = m_remote_bytes(m, j, d->start.stage, d->start.task, d->start.host, block);
    struct m_attempt *a = m_add_attempt(m, d->start.attempt, j, d->start.stage, d->start.task,
                                        d->start.host, d->start.unit);
    a->slots = demand.slots;
    a->mem = demand.mem;
    a->variant = d->start.variant;
    m_set_sizes(a, s, block);
    a->receiving = remote > 0;
    m->host[d->start.host].ours |= a->receiving;
    m_take_block(m, a, block);
    assert_int_equal(d->start.input_bytes, remote);
    m_check_levels(m, d, a);
    m_serve(m, j, d->start.stage);
    m->starts++;
}

static void m_apply_hold(struct model *m, const struct decision *d)
{
    struct m_stage *s = m_find_stage(m, d->hold.job, d->hold.stage);
    const uint32_t v = d->hold.variant;
    struct m_way *way = s ? &s->way[v] : NULL;
    assert_true(!s || v < s->n_ways);
    if (d->kind == DECISION_HOLD) {
        assert_non_null(s);
        assert_true(m->holds);
        assert_false(way->held);
        assert_true(m_stage_ready(m_find_job(m, d->hold.job), d->hold.stage) > 0);
        assert_true(m_times(m, way->demand) > 0);
        way->held_until = m->script.now_ns + m_longest_hold(m, m_find_job(m, d->hold.job), s);
        s->due = s->due ? s->due : m->script.now_ns + m->config.hold_max_ns;
        assert_int_equal(d->hold.until_ns, m_hold_end(s, v));
        assert_true(d->hold.until_ns > m->script.now_ns);
        way->held = true;
        return;
    }
    if (!s)
        return;
    assert_true(way->held);
    way->held = false;
    way->overdue = d->reason == REASON_HOLD_EXPIRED;
    assert_true(!way->overdue || m_hold_end(s, v) <= m->script.now_ns);
}

static void m_apply_mode(struct model *m, const struct decision *d)
{
    assert_true(m_mode_due(m));
    assert_int_equal(d->mode.mode, m->mode == MODE_SLOT_RICH ? MODE_SLOT_STARVED : MODE_SLOT_RICH);
    m->mode = (enum mode)d->mode.mode;
    m->mode_since = m->script.now_ns;
}

/* Why a policy may ask for a stop. */
static bool m_is_of_eviction(enum reason reason)
{
    struct policy_reason_at at = {0};
    while (policy_next_reason(&at))
        if (at.entry->kind == DECISION_STOP && at.entry->reason == reason)
            return true;
    return false;
}

static void m_apply_stop(struct model *m, const struct decision *d)
{
    if (m_is_of_eviction(d->reason)) {
        struct m_attempt *a = m_find_attempt(m, d->stop.attempt);
        assert_non_null(a);
        assert_true(d->stop.requeue);
        m_evict(m, a);
    }
    m_take(m->stop_due, &m->n_stop_due, d->stop.attempt, "the stop");
}

static void m_judge_start(struct model *m, const struct decision *start)
{
    if (!m->judge)
        return;
    m->asked = m_find_job(m, start->start.job)->user;
    m->judge->start(m, start);
}

static void m_judge_end(struct model *m)
{
    if (!m->judge)
        return;
    for (m->asked = 0; m->asked < (m->divided ? M_USERS : 1); m->asked++)
        m->judge->end(m);
    if (m->judge->step)
        m->judge->step(m);
}

void m_follow(struct model *m)
{
    for (size_t i = 0; i < m->script.decisions.n; i++) {
        const struct decision *d = &m->script.decisions.at[i];
        if (d->kind == DECISION_START) {
            assert_false(m_mode_due(m));
            m_judge_start(m, d);
            m_apply_start(m, d);
            m_forget_overdue(m);
        } else if (d->kind == DECISION_MODE) {
            m_apply_mode(m, d);
        } else if (d->kind == DECISION_HOLD || d->kind == DECISION_UNHOLD) {
            m_apply_hold(m, d);
        } else if (d->kind == DECISION_STOP) {
            m_apply_stop(m, d);
        } else if (d->kind == DECISION_JOB_DONE) {
            m_take(m->done_due, &m->n_done_due, d->job_done.job, "the end");
        } else if (d->kind == DECISION_JOB_FAILED) {
            m_take(m->failed_due, &m->n_failed_due, d->job_failed.job, "the failure");
        } else if (d->kind == DECISION_REJECT) {
            fail_msg("event %u was rejected: %s", d->reject.event, reason_name(d->reason));
        }
    }
    assert_int_equal(m->n_stop_due, 0);
    assert_int_equal(m->n_done_due, 0);
    assert_int_equal(m->n_failed_due, 0);
    assert_false(m_mode_due(m));
}

static void m_compare_hosts(const struct model *m, int64_t *ret_total, int64_t *ret_free)
{
    *ret_total = *ret_free = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++) {
        struct host_view view;
        const struct m_host *host = &m->host[h];
        if (!host->known)
            continue;
        assert_int_equal(engine_host(m->script.engine, h, &view), 0);
        int64_t slots = 0, mem = 0, total = 0;
        for (uint32_t u = 0; u < host->n_units; u++) {
            int64_t unit_slots, unit_mem;
            m_free(m, h, u, &unit_slots, &unit_mem);
            slots += unit_slots;
            mem += unit_mem;
            total += host->slots[u];
        }
        uint64_t smallest[2];
        assert_int_equal(view.receiving, m_receiving_on(m, h, M_COFLOW, &smallest[0]));
        m_receiving_on(m, h, M_MACROFLOW, &smallest[1]);
        assert_int_equal(view.smallest_coflow_bytes, smallest[0]);
        assert_int_equal(view.smallest_macroflow_bytes, smallest[1]);
        assert_int_equal(view.running, m_running_on(m, h));
        assert_int_equal(view.free.amount[RES_SLOTS], slots);
        assert_int_equal(view.free.amount[RES_MEM_BYTES], mem);
        assert_int_equal(view.total.amount[RES_SLOTS], total);
        assert_int_equal(view.joined && !view.silent && !view.lost && !view.draining &&
                             !view.suspect,
                         m_up(host));
        assert_int_equal(view.suspect, host->suspect);
        assert_int_equal(view.mute, host->mute);
        assert_int_equal(view.blind, host->blind);
        assert_int_equal(view.readers, m_readers(m, h));
        assert_int_equal(view.sources, m_sources(m, h));
        *ret_total += m_up(host) ? total : 0;
        *ret_free += m_up(host) ? slots : 0;
    }
}

/* A late stage is not held again, and a patient policy forces its reduce tasks on no host. */
static bool m_waits_late(const struct model *m, const struct m_job *j, uint32_t stage)
{
    int64_t due = j->stage[stage].due;
    return m->patient && due && due <= m->script.now_ns && !m_ready_map(j, stage);
}

static void m_compare_holds(const struct model *m, const struct m_job *j, uint32_t s,
                            const struct stage_view *view)
{
    const struct m_stage *stage = &j->stage[s];
    bool waits_late = m_waits_late(m, j, s);
    int64_t until = INT64_MAX;
    for (uint32_t v = 0; v < stage->n_ways; v++) {
        const struct m_way *way = &stage->way[v];
        if (way->held && m_hold_end(stage, v) < until)
            until = m_hold_end(stage, v);
        assert_true(!m->holds || !view->ready || way->held || way->overdue || waits_late ||
                    m_times(m, way->demand) == 0 || (m->patient && m_last_slots(m)));
    }
    assert_int_equal(view->variants, stage->n_ways);
    assert_int_equal(view->held, until != INT64_MAX);
    assert_true(!view->held || view->held_until_ns > m->script.now_ns);
    assert_true(!view->held || view->held_until_ns == until);
}

static void m_compare_attempts(const struct model *m)
{
    struct attempt_view view;
    for (int i = 0; i < M_ATTEMPTS; i++) {
        if (!m->attempt[i].number)
            continue;
        assert_int_equal(engine_attempt(m->script.engine, m->attempt[i].number, &view), 0);
        assert_int_equal(view.variant, m->attempt[i].variant);
    }
}

static void m_compare_stage(const struct model *m, const struct m_job *j, uint32_t s,
                            uint64_t counts[3])
{
    const struct m_stage *stage = &j->stage[s];
    struct stage_view view;
    assert_int_equal(engine_stage(m->script.engine, j->number, s, &view), 0);
    assert_int_equal(view.ready, m_stage_ready(j, s));
    assert_int_equal(view.done, m_stage_count(stage, true));
    assert_int_equal(view.running, m_stage_count(stage, false) - view.done);
    assert_int_equal(view.coflow_bytes, m_coflow(stage));
    m_compare_holds(m, j, s, &view);
    counts[0] += view.ready;
    counts[1] += view.running;
    counts[2] += view.done;
    for (uint32_t t = 0; t < stage->n_tasks; t++) {
        struct task_view task;
        assert_int_equal(engine_task(m->script.engine, j->number, s, t, &task), 0);
        enum task_state state = stage->task[t].state == M_DONE      ? TASK_DONE
                                : stage->task[t].state == M_RUNNING ? TASK_RUNNING
                                : m_ready(j, s, t)                  ? TASK_READY
                                                                    : TASK_BLOCKED;
        assert_int_equal(task.state, state);
        assert_int_equal(task.bytes, stage->task[t].bytes);
    }
}

void m_compare(struct model *m)
{
    struct engine_status status;
    struct m_job *jobs[M_JOBS + 1];
    int64_t total, free_slots;
    uint64_t ready = 0, n = 0;
    m_compare_hosts(m, &total, &free_slots);
    m_compare_attempts(m);
    m_in_turn(m, jobs);
    for (; jobs[n]; n++) {
        struct job_view view;
        uint64_t counts[3] = {0};
        for (uint32_t s = 0; s < jobs[n]->n_stages; s++)
            m_compare_stage(m, jobs[n], s, counts), m_hold_max(m, jobs[n], s);
        assert_int_equal(engine_job(m->script.engine, jobs[n]->number, &view), 0);
        assert_int_equal(view.ready, counts[0]);
        assert_int_equal(view.running, counts[1]);
        assert_int_equal(view.done, counts[2]);
        assert_int_equal(view.key, m_turn(m, jobs[n]));
        ready += counts[0];
    }
    engine_status(m->script.engine, &status);
    assert_int_equal(status.first_job, n ? jobs[0]->number : 0);
    assert_int_equal(status.jobs_active, n);
    assert_int_equal(status.tasks_ready, ready);
    assert_int_equal(status.congested, m->congested);
    assert_int_equal(status.mode, m->mode);
    assert_int_equal(status.slots, total);
    assert_int_equal(status.slots_free, free_slots);
}

void m_take_policies(struct model *m)
{
    for (int i = 0; place_policies[i]; i++) {
        const struct place_policy *place = place_policies[i];
        if (strcmp(m->config.place, place->policy.name) != 0)
            continue;
        m->place = &place->policy;
        m->holds = place->held != NULL;
        m->patient = place->patient;
    }
    m->divided = strcmp(m->config.users, "none") != 0;
    m->order[MODE_SLOT_RICH] =
        strcmp(m->config.network, "cans-macroflow") == 0 ? M_MACROFLOW : M_COFLOW;
    m->order[MODE_SLOT_STARVED] =
        strcmp(m->config.network, "cans-coflow") == 0 || strcmp(m->config.network, "scf") == 0
            ? M_COFLOW
            : M_MACROFLOW;
}

void model_begin(struct model *m, const struct engine_config *config, uint64_t stream)
{
    memset(m, 0, sizeof(*m));
    m->config = *config;
    m->bps = 1000000000;
    m->stream = stream;
    m->next_job = m->next_foreign = 1;
    m->mode_since = INT64_MIN / 2;
    m_take_policies(m);
    m->config.source_lost_ns = 3 * SECOND;
    m->config.hosts_count_once = false;
    m->config.probe_ns = 0;   /* WHY: it has no retries elsewhere; test_failing.c has invariants */
    m->config.losses_max = 0; /* WHY: nor of these; test_loss.c */
    m->config.reruns_max = 0; /* WHY: it has no end of them; test_rerun.c has the cases */
    script_begin(&m->script, &m->config);
}

void model_users(struct model *m)
{
    m->users = true;
    for (uint32_t user = 0; user < M_USERS; user++) {
        struct event e = {.kind = EVENT_USER_SET, .request = 1};
        char name[16];
        snprintf(name, sizeof(name), "u%u", user);
        e.user_set.user = user;
        e.user_set.name = name;
        e.user_set.share = 1 + user;
        script_event(&m->script, e);
    }
}

void model_end(struct model *m)
{
    script_end(&m->script);
}

void model_step(struct model *m)
{
    int64_t deadline = engine_deadline_ns(m->script.engine);
    m->n_events = m->used64 = m->used32 = 0;
    uint64_t jump = m_random(m, 50);
    if (jump == 0 && deadline != INT64_MAX && deadline > m->script.now_ns)
        m->script.now_ns = deadline;
    else if (jump < 30)
        m->script.now_ns += (int64_t)m_random(m, (uint64_t)m->config.hold_max_ns / 20);
    uint64_t n = m->steps < 10 ? 1 : m_random(m, 4);
    for (uint64_t i = 0; i < n; i++) {
        if (m->steps < 4)
            m_join(m, (uint32_t)m->steps);
        else
            m_make_event(m);
        m_rekey(m);
        m_forget_overdue(m);
    }
    m_expire(m);
    m_forget_overdue(m);
    script_events(&m->script, m->events, m->n_events);
    m_follow(m);
    m_judge_end(m);
    m_compare(m);
    m->steps++;
}
