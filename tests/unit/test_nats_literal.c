/* The engine's nats beside a literal one: algorithms 2–4 of Duopoly's source as the specification
 * settles them, by loops over all jobs, tasks and hosts. Every start of the engine must be one that
 * the literal pick() could return at that moment ("any" and "at random" give it a choice), and when
 * the engine stops, pick() must return nothing. */
#include "tests/model/model_effects.h"
#include "tests/model/model_step.h"
#include "tests/unit/draws.h"

/* What pick() may return: how many pairs, and is the engine's among them? */
struct offers {
    const struct decision *start; /* NULL: only count */
    bool taken, print;
    uint32_t n;
};

struct literal_task {
    struct m_job *job;
    uint32_t stage, task;
};

static void offer(struct offers *offers, struct literal_task task, uint32_t host)
{
    const struct decision *d = offers->start;
    offers->n++;
    if (offers->print)
        print_error("  or job %llu stage %u task %u on host %u\n",
                    (unsigned long long)task.job->number, task.stage, task.task, host);
    offers->taken |= d && d->start.job == task.job->number && d->start.stage == task.stage &&
                     d->start.task == task.task && d->start.host == host;
}

static struct m_task *of(struct literal_task t)
{
    return &t.job->stage[t.stage].task[t.task];
}

static struct m_demand demand_of(struct literal_task t)
{
    return t.job->stage[t.stage].way[0].demand;
}

/* Ready tasks of the job with a free slot somewhere: maps, or reduce tasks. Returns how many. */
static uint32_t ready_tasks(const struct model *m, struct m_job *job, bool maps,
                            struct literal_task ret_tasks[static M_STAGES * M_TASKS])
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < job->n_stages; s++)
        for (uint32_t t = 0; t < job->stage[s].n_tasks; t++)
            if (m_ready(job, s, t) && (job->stage[s].task[t].bytes == 0) == maps &&
                m_times(m, job->stage[s].way[0].demand) > 0)
                ret_tasks[n++] = (struct literal_task){job, s, t};
    return n;
}

static bool has_block(struct literal_task t)
{
    const struct m_stage *s = &t.job->stage[t.stage];
    for (uint32_t i = 0; of(t)->input && i < s->n_replicas; i++)
        if (of(t)->replicas[i] < M_HOSTS)
            return true;
    return false;
}

static bool local_to(const struct model *m, struct literal_task t, uint32_t host)
{
    return has_block(t) && m_replica_here(&t.job->stage[t.stage], of(t), host) &&
           m_times_host(m, host, demand_of(t)) > 0;
}

static bool is_read(const struct m_job *job, uint32_t stage)
{
    for (uint32_t s = stage + 1; s < job->n_stages; s++)
        for (uint32_t i = 0; i < job->stage[s].n_parents; i++)
            if (job->stage[s].parents[i] == stage)
                return true;
    return false;
}

/* Of the job's tasks, those that the host runs, and those that it ran for others to read. */
static uint64_t placed_on(const struct model *m, const struct m_job *job, uint32_t host)
{
    uint64_t n = 0;
    for (uint32_t s = 0; s < job->n_stages; s++)
        for (uint32_t t = 0; t < job->stage[s].n_tasks; t++)
            n += is_read(job, s) && job->stage[s].task[t].state == M_DONE &&
                 job->stage[s].task[t].done_host == host;
    for (int i = 0; i < M_ATTEMPTS; i++) {
        const struct m_attempt *a = &m->attempt[i];
        n += a->number && a->job == job->number && !a->orphan && a->host == host;
    }
    return n;
}

/* Where maps are kept even: how many of the job's are placed there, and whether the host is to wait
 * for others that have had less. */
struct rank {
    bool refused;
    uint64_t placed;
    uint32_t candidates, local, running;
};

static int compare_rank(struct rank a, struct rank b)
{
    if (a.refused != b.refused)
        return b.refused ? -1 : 1;
    if (a.placed != b.placed)
        return a.placed < b.placed ? -1 : 1;
    if (a.candidates != b.candidates)
        return a.candidates < b.candidates ? -1 : 1;
    if (a.local != b.local)
        return a.local < b.local ? -1 : 1;
    return a.running < b.running ? -1 : a.running > b.running;
}

static bool is_even(const struct m_job *job)
{
    return job->share != UINT64_MAX;
}

/* Could the host run it when empty, and does it hold its block? */
static bool block_up(const struct model *m, struct literal_task t, uint32_t host)
{
    return has_block(t) && m_replica_here(&t.job->stage[t.stage], of(t), host) &&
           m_capable_host(m, host, demand_of(t));
}

/* Of ready maps with the task's demand: is a block on a host that is up (and has not had its even
 * part of the job's maps, if `under`)? */
static bool any_up(const struct model *m, struct literal_task like, bool under)
{
    struct m_job *job = like.job;
    for (uint32_t s = 0; s < job->n_stages; s++)
        for (uint32_t t = 0; t < job->stage[s].n_tasks; t++)
            for (uint32_t h = 0; h < M_HOSTS; h++) {
                struct literal_task task = {job, s, t};
                if (m_ready(job, s, t) && !job->stage[s].task[t].bytes &&
                    m_same_demand(demand_of(task), demand_of(like)) && block_up(m, task, h) &&
                    (!under || placed_on(m, job, h) < job->share))
                    return true;
            }
    return false;
}

static bool is_refused(const struct model *m, struct literal_task t, uint32_t host)
{
    return is_even(t.job) && placed_on(m, t.job, host) >= t.job->share && any_up(m, t, true);
}

/* Fewest of the job's maps placed there where they are kept even, then fewest candidate servers of
 * the task, then fewest local tasks on the server (that compete for the
 * same slots), then fewest tasks there. */
static struct rank rank_of(const struct model *m, const struct literal_task *tasks, uint32_t n,
                           uint32_t i, uint32_t host)
{
    struct rank rank = {.refused = is_refused(m, tasks[i], host),
                        .placed = is_even(tasks[i].job) ? placed_on(m, tasks[i].job, host) : 0,
                        .running = m_running_on(m, host)};
    for (uint32_t h = 0; h < M_HOSTS; h++)
        rank.candidates += local_to(m, tasks[i], h);
    for (uint32_t k = 0; k < n; k++)
        rank.local +=
            m_same_demand(demand_of(tasks[k]), demand_of(tasks[i])) && local_to(m, tasks[k], host);
    return rank;
}

static bool offer_local(const struct model *m, const struct literal_task *tasks, uint32_t n,
                        struct offers *offers)
{
    const struct rank none = {true, UINT64_MAX, UINT32_MAX, 0, 0};
    struct rank ranks[M_STAGES * M_TASKS][M_HOSTS], best = none;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t h = 0; h < M_HOSTS; h++) {
            ranks[i][h] = local_to(m, tasks[i], h) ? rank_of(m, tasks, n, i, h) : none;
            if (ranks[i][h].refused)
                ranks[i][h] = none;
            if (compare_rank(ranks[i][h], best) < 0)
                best = ranks[i][h];
        }
    for (uint32_t i = 0; best.candidates != UINT32_MAX && i < n; i++)
        for (uint32_t h = 0; h < M_HOSTS; h++)
            if (compare_rank(ranks[i][h], best) == 0)
                offer(offers, tasks[i], h);
    return best.candidates != UINT32_MAX;
}

/* On the least loaded server with a free slot for it. */
static void offer_least_loaded(const struct model *m, struct literal_task task,
                               struct offers *offers)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        if (m_times_host(m, h, demand_of(task)) > 0 && m_running_on(m, h) < least)
            least = m_running_on(m, h);
    for (uint32_t h = 0; h < M_HOSTS; h++)
        if (m_times_host(m, h, demand_of(task)) > 0 && m_running_on(m, h) == least)
            offer(offers, task, h);
}

/* select_pair: true when it returns something. A task without a block of its own reads nothing over
 * the network: it is nobody's to wait for. */
static bool select_pair(const struct model *m, struct m_job *job, bool local_only,
                        struct offers *offers)
{
    struct literal_task tasks[M_STAGES * M_TASKS];
    uint32_t n = ready_tasks(m, job, true, tasks), before = offers->n;
    if (!n)
        return false;
    if (offer_local(m, tasks, n, offers))
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (!has_block(tasks[i]) || (is_even(job) ? !any_up(m, tasks[i], false) : !local_only))
            offer_least_loaded(m, tasks[i], offers);
    return offers->n > before;
}

static uint64_t unit_of(const struct model *m, struct literal_task t)
{
    return m->order[m->mode] == M_COFLOW ? m_coflow(&t.job->stage[t.stage]) : of(t)->bytes;
}

/* select_server: offers every server that it may return. */
static bool select_server(const struct model *m, struct literal_task task, struct offers *offers)
{
    uint64_t smallest;
    uint32_t before = offers->n, fewest = UINT32_MAX;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        if (m_times_host(m, h, demand_of(task)) > 0 &&
            m_receiving_on(m, h, m->order[m->mode], &smallest) == 0)
            offer(offers, task, h);
    if (offers->n > before)
        return true;
    for (uint32_t h = 0; h < M_HOSTS; h++) {
        uint32_t receiving = m_receiving_on(m, h, m->order[m->mode], &smallest);
        if (m_times_host(m, h, demand_of(task)) > 0 && smallest > unit_of(m, task) &&
            receiving < fewest)
            fewest = receiving;
    }
    for (uint32_t h = 0; h < M_HOSTS; h++)
        if (m_times_host(m, h, demand_of(task)) > 0 &&
            m_receiving_on(m, h, m->order[m->mode], &smallest) == fewest &&
            smallest > unit_of(m, task))
            offer(offers, task, h);
    return offers->n > before;
}

static void sort_by_bytes(struct literal_task *tasks, uint32_t n, bool largest)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0; k--) {
            bool wrong = largest ? of(tasks[k])->bytes > of(tasks[k - 1])->bytes
                                 : of(tasks[k])->bytes < of(tasks[k - 1])->bytes;
            struct literal_task moved = tasks[k];
            if (!wrong)
                break;
            tasks[k] = tasks[k - 1];
            tasks[k - 1] = moved;
        }
}

/* "A second try of the first job can only fail too": after a task found no server, neither does the
 * next one of the same stage when the Coflow orders the network, nor a larger one when the
 * Macroflow does. */
static void check_second_try(const struct model *m, const struct literal_task *tasks, uint32_t n,
                             uint32_t failed)
{
    for (uint32_t i = failed + 1; i < n; i++) {
        struct offers none = {0};
        bool same = tasks[i].stage == tasks[failed].stage;
        if (m_same_demand(demand_of(tasks[i]), demand_of(tasks[failed])) && same &&
            (m->order[m->mode] == M_COFLOW || of(tasks[i])->bytes >= of(tasks[failed])->bytes))
            assert_false(select_server(m, tasks[i], &none));
    }
}

/* The job's ready reduce tasks in turn, largest or smallest first; equal ones are equal. */
static bool select_reduce(const struct model *m, struct m_job *job, bool largest,
                          struct offers *offers)
{
    struct literal_task tasks[M_STAGES * M_TASKS];
    uint32_t n = ready_tasks(m, job, false, tasks);
    bool found = false;
    sort_by_bytes(tasks, n, largest);
    for (uint32_t i = 0; i < n; i++) {
        if (found && of(tasks[i])->bytes != of(tasks[i - 1])->bytes)
            return true;
        if (select_server(m, tasks[i], offers))
            found = true;
        else
            check_second_try(m, tasks, n, i);
    }
    return found;
}

/* A stage whose hold ended goes anywhere. A stage of maps goes as maps of its job with such a
 * demand do. */
static void offer_stage(const struct model *m, struct m_job *job, uint32_t s, struct offers *offers)
{
    const struct m_demand demand = job->stage[s].way[0].demand;
    for (uint32_t k = 0; k < job->n_stages; k++)
        for (uint32_t t = 0; t < job->stage[k].n_tasks; t++)
            for (uint32_t h = 0; h < M_HOSTS; h++)
                if (m_ready(job, k, t) && (k == s || !job->stage[k].task[t].bytes) &&
                    m_times_host(m, h, demand) > 0 &&
                    m_same_demand(job->stage[k].way[0].demand, demand))
                    offer(offers, (struct literal_task){job, k, t}, h);
}

/* Liveness: a stage that was held for hold_max goes first. */
static bool offer_overdue(const struct model *m, struct m_job **jobs, struct offers *offers)
{
    uint32_t before = offers->n;
    for (int i = 0; jobs[i]; i++)
        for (uint32_t s = 0; s < jobs[i]->n_stages; s++) {
            struct m_stage *stage = &jobs[i]->stage[s];
            if (stage->way[0].overdue && m_stage_ready(jobs[i], s) &&
                m_times(m, stage->way[0].demand))
                offer_stage(m, jobs[i], s, offers);
        }
    return offers->n > before;
}

/* Nothing is kept free from those who have waited for hold_max; what the others leave is theirs. */
static bool offer_late(const struct model *m, struct m_job **jobs, struct offers *offers)
{
    for (int i = 0; jobs[i]; i++)
        for (uint32_t s = 0; s < jobs[i]->n_stages; s++) {
            const struct m_stage *stage = &jobs[i]->stage[s];
            if (!stage->way[0].held && stage->due && stage->due <= m->script.now_ns)
                offer_stage(m, jobs[i], s, offers);
        }
    return offers->n > 0;
}

/* Liveness: the only runnable work of an idle cluster is never held. */
static bool offer_idle(const struct model *m, struct m_job **jobs, struct offers *offers)
{
    for (int i = 0; i < M_ATTEMPTS; i++)
        if (m->attempt[i].number)
            return false;
    for (int i = 0; jobs[i] && !offers->n; i++)
        for (int maps = 0; maps < 2; maps++) {
            struct literal_task tasks[M_STAGES * M_TASKS];
            uint32_t n = ready_tasks(m, jobs[i], maps, tasks);
            for (uint32_t k = 0; k < n; k++)
                for (uint32_t h = 0; h < M_HOSTS; h++)
                    if (m_times_host(m, h, demand_of(tasks[k])) > 0)
                        offer(offers, tasks[k], h);
        }
    return offers->n > 0;
}

static bool pick_of_others(const struct model *m, struct m_job **jobs, struct offers *offers)
{
    for (int i = 0; m->congested && jobs[i]; i++)
        if (select_pair(m, jobs[i], true, offers))
            return true;
    for (int i = 0; !m->congested && jobs[i]; i++)
        if (select_reduce(m, jobs[i], true, offers))
            return true;
    for (int i = 0; !m->congested && jobs[i]; i++)
        if (select_pair(m, jobs[i], false, offers))
            return true;
    return false;
}

static void pick(struct model *m, struct offers *offers)
{
    struct m_job *jobs[M_JOBS + 1];
    m_asked_in_turn(m, jobs);
    if (!jobs[0] || offer_overdue(m, jobs, offers))
        return;
    if (select_pair(m, jobs[0], false, offers) ||
        select_reduce(m, jobs[0], m->mode == MODE_SLOT_RICH, offers))
        return;
    if (m->mode == MODE_SLOT_RICH && pick_of_others(m, jobs, offers))
        return;
    if (!offer_idle(m, jobs, offers))
        offer_late(m, jobs, offers);
}

enum { NUMBERS = 64 }; /* more than there are of reasons */
static uint64_t seen_reasons[NUMBERS], starved_starts, congested_starts, suspicions;

static void judge_start(struct model *m, const struct decision *start)
{
    seen_reasons[start->reason]++;
    starved_starts += m->mode == MODE_SLOT_STARVED;
    congested_starts += m->congested;
    struct offers offers = {.start = start};
    pick(m, &offers);
    if (offers.taken)
        return;
    offers.print = true;
    pick(m, &offers);
    fail_msg("step %llu, %s%s: job %llu stage %u task %u on host %u (%s %lld %lld) is none of the "
             "above, which the literal pick() allows",
             (unsigned long long)m->steps, mode_name(m->mode), m->congested ? ", congested" : "",
             (unsigned long long)start->start.job, start->start.stage, start->start.task,
             start->start.host, reason_name(start->reason), (long long)start->left,
             (long long)start->right);
}

static void judge_end(struct model *m)
{
    struct offers offers = {0};
    pick(m, &offers);
    if (!offers.n)
        return;
    offers.print = true;
    pick(m, &offers);
    fail_msg("step %llu, %s%s: the engine holds, the literal pick() returns one of the above",
             (unsigned long long)m->steps, mode_name(m->mode), m->congested ? ", congested" : "");
}

static const struct m_judge judge = {judge_start, judge_end, NULL, NULL};

enum { RUNS = DRAWS(8, 4), STEPS = DRAWS(600, 400) };

static void run_for(const char *users, const char *turn, const char *network, int64_t dwell_ns,
                    bool mode_events)
{
    uint64_t stream = test_seed(), starts = 0;
    for (int i = 0; i < RUNS; i++) {
        struct engine_config config = script_config();
        config.hosts_max = M_HOSTS;
        config.epoch = 7;
        config.seed = stream;
        config.mode_dwell_ns = dwell_ns;
        engine_config_say(&config, "even_wait", i % 2 * SECOND, NULL);
        config.congested_share_permille = (uint32_t)i % 3 * 300;
        strcpy(config.turn, turn);
        strcpy(config.network, network);
        strcpy(config.users, users);
        static struct model m;
        model_begin(&m, &config, test_random(&stream));
        if (strcmp(users, "none") != 0)
            model_users(&m);
        m.judge = &judge;
        m.mode_events = mode_events;
        for (int step = 0; step < STEPS; step++)
            model_step(&m);
        starts += m.starts;
        suspicions += m.suspicions;
        model_end(&m);
    }
    assert_true(starts > (uint64_t)RUNS * STEPS / 20);
}

static void run(const char *turn, const char *network, int64_t dwell_ns, bool mode_events)
{
    run_for("none", turn, network, dwell_ns, mode_events);
}

/* Asked for one user, it picks among that user's jobs as among all, and leaves what it would. */
static void test_one_user_at_a_time(void **state)
{
    (void)state;
    run_for("sequence", "sjf", "cans", 50000000, true);
    run_for("capacity", "fair", "cans-coflow", 0, false);
}

static void test_sjf_cans(void **state)
{
    (void)state;
    run("sjf", "cans", 0, false);
}

static void test_sjf_cans_mode_rules_and_dwell(void **state)
{
    (void)state;
    run("sjf", "cans", 50000000, true);
}

static void test_sjf_coflow_always(void **state)
{
    (void)state;
    run("sjf", "cans-coflow", 0, true);
}

static void test_sjf_macroflow_always(void **state)
{
    (void)state;
    run("sjf", "cans-macroflow", 0, true);
}

static void test_fair_cans(void **state)
{
    (void)state;
    run("fair", "cans", 0, true);
}

static void test_fifo_cans(void **state)
{
    (void)state;
    run("fifo", "cans", 0, true);
}

/* The random runs above went through every branch of the algorithms. */
static void test_every_branch_was_taken(void **state)
{
    (void)state;
    static const char *const words[] = {"local-block", "no-local-slot", "no-block",
                                        "link-unused", "first-on-link", "hold-expired"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        enum reason reason;
        assert_int_equal(reason_find(words[i], strlen(words[i]), &reason), 0);
        if (!seen_reasons[reason])
            fail_msg("no start was %s", words[i]);
    }
    assert_true(starved_starts > 100);
    assert_true(congested_starts > 100);
    assert_true(suspicions > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sjf_cans),
        cmocka_unit_test(test_one_user_at_a_time),
        cmocka_unit_test(test_sjf_cans_mode_rules_and_dwell),
        cmocka_unit_test(test_sjf_coflow_always),
        cmocka_unit_test(test_sjf_macroflow_always),
        cmocka_unit_test(test_fair_cans),
        cmocka_unit_test(test_fifo_cans),
        cmocka_unit_test(test_every_branch_was_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
