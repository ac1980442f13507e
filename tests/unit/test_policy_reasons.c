/* Why: each policy gives only reasons that its table has, each of them occurs, and what is said of
 * them is true of the literal model. */
#include "tests/unit/policy_scenes.h"

static bool gave(const struct decision *d, const char *word)
{
    return strcmp(reason_name(d->reason), word) == 0;
}

static const struct policy *engine_place(const struct model *m)
{
    return m->script.engine->policies[QUESTION_PLACE];
}

static const struct policy *engine_network(const struct model *m)
{
    return m->script.engine->policies[QUESTION_NETWORK];
}

/* ---- what is true of a start, before it ---- */

static bool has_block_on(const struct m_stage *s, const struct m_task *t, uint32_t host)
{
    for (uint32_t i = 0; t->input && i < s->n_replicas; i++)
        if (t->replicas[i] == host)
            return true;
    return false;
}

static bool has_block(const struct m_stage *s, const struct m_task *t)
{
    for (uint32_t h = 0; h < M_HOSTS; h++)
        if (has_block_on(s, t, h))
            return true;
    return false;
}

static uint32_t hosts_with_block_and_room(const struct model *m, const struct m_stage *s,
                                          const struct m_task *t)
{
    uint32_t n = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        n += has_block_on(s, t, h) && m_times_host(m, h, s->way[0].demand) > 0;
    return n;
}

static uint32_t local_tasks(const struct m_job *j, struct m_demand demand, uint32_t host)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < j->n_stages; s++)
        for (uint32_t t = 0; t < j->stage[s].n_tasks; t++)
            n += m_same_demand(j->stage[s].way[0].demand, demand) && m_ready(j, s, t) &&
                 !j->stage[s].task[t].bytes &&
                 has_block_on(&j->stage[s], &j->stage[s].task[t], host);
    return n;
}

static bool is_least_loaded(const struct model *m, uint32_t host, struct m_demand demand)
{
    for (uint32_t h = 0; h < M_HOSTS; h++)
        if (m_times_host(m, h, demand) > 0 && m_running_on(m, h) < m_running_on(m, host))
            return false;
    return true;
}

static uint32_t fitting_units(const struct model *m, struct m_demand demand)
{
    uint32_t n = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        for (uint32_t u = 0; u < m->host[h].n_units; u++)
            n += m_times_unit(m, h, u, demand) > 0;
    return n;
}

static uint32_t outputs_on(const struct m_job *j, uint32_t host)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < j->n_stages; s++) {
        bool parent = false;
        for (uint32_t c = s + 1; c < j->n_stages; c++)
            for (uint32_t i = 0; i < j->stage[c].n_parents; i++)
                parent |= j->stage[c].parents[i] == s;
        for (uint32_t t = 0; parent && t < j->stage[s].n_tasks; t++)
            n += j->stage[s].task[t].state == M_DONE && j->stage[s].task[t].done_host == host;
    }
    return n;
}

static void check_one_deep(struct model *m, struct m_job *j, const struct decision *d)
{
    int64_t earlier = 0;
    for (int i = 0; i < M_ATTEMPTS; i++) {
        const struct m_attempt *a = &m->attempt[i];
        const struct m_job *other = a->orphan ? NULL : m_find_job(m, a->job);
        if (!a->number || a->host != d->start.host || !a->receiving || !other)
            continue;
        assert_int_not_equal(a->job, j->number);
        uint64_t theirs = m_turn(m, other), own = m_turn(m, j);
        earlier += theirs < own || (theirs == own && other->number < j->number);
    }
    assert_true(earlier <= 1);
    assert_int_equal(d->left, earlier);
    assert_int_equal(d->right, outputs_on(j, d->start.host));
}

static void check_start(struct model *m, const struct decision *d)
{
    struct m_job *j = m_find_job(m, d->start.job);
    struct m_stage *s = &j->stage[d->start.stage];
    struct m_task *t = &s->task[d->start.task];
    enum flow_kind unit = m->order[m->mode];
    uint64_t smallest, own = unit == M_COFLOW ? m_coflow(s) : t->bytes;
    uint32_t host = d->start.host, receiving = m_receiving_on(m, host, unit, &smallest);
    see(engine_place(m), d);
    if (gave(d, "local-block")) {
        assert_true(has_block_on(s, t, host));
        assert_int_equal(d->left, hosts_with_block_and_room(m, s, t));
        assert_int_equal(d->right, local_tasks(j, s->way[0].demand, host));
    } else if (gave(d, "no-local-slot")) {
        assert_int_equal(hosts_with_block_and_room(m, s, t), 0);
        assert_true(has_block(s, t));
        assert_int_equal(d->right, m_running_on(m, host));
        assert_true(is_least_loaded(m, host, s->way[0].demand));
    } else if (gave(d, "no-block")) {
        assert_false(has_block(s, t));
        assert_int_equal(d->right, m_running_on(m, host));
        assert_true(is_least_loaded(m, host, s->way[0].demand));
    } else if (gave(d, "link-unused")) {
        assert_int_equal(receiving, 0);
        assert_int_equal(d->left, own);
    } else if (gave(d, "first-on-link")) {
        assert_int_equal(d->left, own);
        assert_int_equal(d->right, smallest);
        assert_true(own < smallest);
    } else if (gave(d, "hold-expired")) {
        assert_true(s->way[0].overdue || (s->due && s->due <= m->script.now_ns));
        assert_true(d->left > 0);
    } else if (gave(d, "idle-cluster")) {
        for (int i = 0; i < M_ATTEMPTS; i++)
            assert_int_equal(m->attempt[i].number, 0);
    } else if (gave(d, "greedy")) {
        assert_int_equal(d->right, m_running_on(m, host));
        assert_true(is_least_loaded(m, host, s->way[0].demand));
    } else if (gave(d, "score")) {
        assert_true(d->left >= 0); /* what it is of: test_score.c */
        assert_int_equal(d->right, m_running_on(m, host));
    } else if (gave(d, "freed-slot")) {
        assert_int_equal(d->right, m_running_on(m, host));
    } else if (gave(d, "random")) {
        assert_int_equal(d->right, fitting_units(m, s->way[0].demand));
    } else if (gave(d, "ends-first")) {
        assert_true(t->bytes > 0);
        assert_true(d->left >= 0 && d->right >= 0); /* the sums themselves: test_baselines.c */
    } else if (gave(d, "optimum-block")) {
        assert_true(has_block_on(s, t, host));
        assert_true(d->right > 0);
    } else if (gave(d, "optimum")) {
        assert_true(d->left >= 0 && d->left < d->right);
    } else if (gave(d, "least-delayed") || gave(d, "slowest")) {
        assert_true(d->right > 0 && d->left >= d->right);
    } else if (gave(d, "gains-most") || gave(d, "next-turn")) {
        assert_int_equal(d->right, m_running_on(m, host));
    } else if (gave(d, "patience")) {
        assert_true(d->right > 0 && d->left >= d->right);
    } else if (gave(d, "no-profile")) {
        assert_int_equal(d->right, m_running_on(m, host));
    } else if (gave(d, "one-deep")) {
        check_one_deep(m, j, d);
    } else {
        fail_msg("nothing is known here of %s: add what is true of it", reason_name(d->reason));
    }
}

/* ---- what is said ---- */

static void check_sentence(struct model *m, const struct decision *d)
{
    struct engine_explanation e;
    struct attempt_view attempt;
    struct host_view host;
    const char *network = m->config.network;
    if (engine_attempt(m->script.engine, d->start.attempt, &attempt) < 0 ||
        engine_explain(m->script.engine, d->start.job, d->start.stage, d->start.task, &e) < 0)
        return;
    assert_int_equal(engine_host(m->script.engine, d->start.host, &host), 0);
    says(&e, "Runs on %s", host.name[0] ? host.name : "?");
    assert_null(strpbrk(e.text, "{}"));
    says(&e, " in turn: ");
    if (gave(d, "local-block"))
        says(&e, "%lld hosts with a free slot had it, and %lld of", (long long)d->left,
             (long long)d->right);
    if (gave(d, "first-on-link"))
        says(&e, "of %lld bytes is smaller than the smallest one that received there, %lld bytes",
             (long long)d->left, (long long)d->right);
    if (gave(d, "one-deep"))
        says(&e, "no task of its job receives, %lld of earlier jobs do, and %lld outputs",
             (long long)d->left, (long long)d->right);
    if (gave(d, "random"))
        says(&e, "one of %lld fitting hosts", (long long)d->right);
    if (!d->start.input_bytes)
        says(&e, "It reads nothing over the network");
    else if (strcmp(network, "none") == 0)
        says(&e, "gives every transfer level 0");
    else if (strcmp(network, "rank") == 0)
        says(&e, "On the wire it has level %llu", (unsigned long long)attempt.coflow_level);
    else if (strcmp(network, "dclas") == 0)
        says(&e, "Its level is %llu: D-CLAS", (unsigned long long)attempt.coflow_level);
    else if (strcmp(network, "scf") == 0)
        says(&e, "Its level is %llu, by the", (unsigned long long)attempt.coflow_level);
    else
        says(&e, "that of its %s", m->order[m->mode] == M_COFLOW ? "Coflow" : "Macroflow");
}

static uint32_t hosts_with_room(const struct model *m, struct m_demand demand)
{
    uint32_t n = 0;
    for (uint32_t h = 0; h < M_HOSTS; h++)
        n += m_times_host(m, h, demand) > 0;
    return n;
}

static uint64_t last_slots;

/* Whose tasks outnumber the slots, or do not. */
static void see_mode(const struct engine *engine, const struct decision *d)
{
    struct engine_explanation e;
    see(engine->policies[QUESTION_MODE], d);
    engine_say_mode_why(engine, d, &e);
    says(&e, "%s %lld ready tasks and %lld free slots for them",
         strncmp(reason_name(d->reason), "all-", 4) == 0 ? "all jobs have" : "the first job has",
         (long long)d->left, (long long)d->right);
}

/* Which rule closes which host: test_joint_literal.c. */
static void check_held_by_joint(const struct model *m, const struct engine_explanation *e,
                                const struct m_stage *stage, const struct m_task *task)
{
    static const char *const words[] = {
        "a task of its own job receives on ", "a task of an earlier job receives on ",
        "it would receive for long, and on ", "most of its input is elsewhere than on "};
    uint32_t closed = 0, all = 0;
    const char *at = e->text + strlen("Held back: ");
    if (!task->bytes) {
        says(e, "it waits for a slot next to its block");
        return;
    }
    for (int i = 0; i < 4 && !all; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            sscanf(at + strlen(words[i]), "%u of %u hosts", &closed, &all);
    assert_true(closed > 0 && closed <= all);
    assert_int_equal(all, hosts_with_room(m, stage->way[0].demand));
}

/* Held with a slot free for it: which rule, by the literal model. */
static void check_held(struct model *m, struct m_job *first, struct m_job *j, uint32_t s,
                       uint32_t t)
{
    struct engine_explanation e;
    struct m_stage *stage = &j->stage[s];
    struct m_task *task = &stage->task[t];
    enum flow_kind unit = m->order[m->mode];
    uint64_t smallest, own = unit == M_COFLOW ? m_coflow(stage) : task->bytes;
    assert_int_equal(engine_explain(m->script.engine, j->number, s, t, &e), 0);
    says(&e, "Held back: ");
    says(&e, " in turn: ");
    if (strcmp(m->config.place, "joint") == 0) {
        check_held_by_joint(m, &e, stage, task);
    } else if (strcmp(m->config.place, "flow") == 0) {
        says(&e, "in the optimum it waits, at a cost of ");
        assert_true(task->bytes > 0);
    } else if (strcmp(m->config.place, "nats") != 0) {
        says(&e, "it waits for a slot next to its block.");
        assert_true(task->bytes == 0 && hosts_with_block_and_room(m, stage, task) == 0);
    } else if (m->mode == MODE_SLOT_STARVED && j != first) {
        says(&e, "only the first job (%llu) is served", (unsigned long long)first->number);
    } else if (m->congested && j != first) {
        says(&e, "while the network is congested other jobs than the first (%llu)",
             (unsigned long long)first->number);
    } else if (!task->bytes) {
        says(&e, "on a host that has not had its even part of the job's maps");
        assert_true(engine_config_value(&m->config, "even_wait") > 0);
    } else {
        says(&e, "its %s of %llu bytes would be first on no downlink",
             unit == M_COFLOW ? "Coflow" : "Macroflow", (unsigned long long)own);
        for (uint32_t h = 0; h < M_HOSTS; h++)
            if (m_times_host(m, h, stage->way[0].demand) > 0)
                assert_true(m_receiving_on(m, h, unit, &smallest) > 0 && smallest <= own);
    }
}

static void check_waiting(struct model *m, struct m_job *first, struct m_job *j, uint32_t s,
                          uint32_t t)
{
    struct engine_explanation e;
    if (m->patient && m_last_slots(m)) {
        assert_int_equal(engine_explain(m->script.engine, j->number, s, t, &e), 0);
        says(&e, "Waits for a slot: the last ");
        last_slots++;
    } else if (j->stage[s].way[0].held) {
        check_held(m, first, j, s, t);
    }
}

static void check_step(struct model *m)
{
    struct m_job *jobs[M_JOBS + 1];
    m_in_turn(m, jobs);
    for (size_t i = 0; i < m->script.decisions.n; i++) {
        const struct decision *d = &m->script.decisions.at[i];
        if (d->kind == DECISION_START)
            check_sentence(m, d);
        if (d->kind == DECISION_HOLD)
            see(engine_place(m), d);
        if (d->kind == DECISION_LEVEL && d->reason != REASON_ADOPTED)
            see(engine_network(m), d);
        if (d->kind == DECISION_MODE)
            see_mode(m->script.engine, d);
    }
    for (int i = 0; jobs[i]; i++)
        for (uint32_t s = 0; s < jobs[i]->n_stages; s++)
            for (uint32_t t = 0; t < jobs[i]->stage[s].n_tasks; t++)
                if (m_ready(jobs[i], s, t) && m_times(m, jobs[i]->stage[s].way[0].demand) > 0)
                    check_waiting(m, jobs[0], jobs[i], s, t);
}

static const struct m_judge judge = {check_start, check_step, NULL, NULL};

static void run_by(const char *mode, const char *place, const char *network, bool even,
                   uint64_t seed)
{
    static struct model m;
    struct engine_config config = script_config();
    config.hosts_max = M_HOSTS;
    config.epoch = 7;
    engine_config_say(&config, "even_wait", even ? SECOND : 0, NULL);
    level_table_exponential(&config.dclas, 50000, 4, 8);
    level_table_exponential(&config.coflow, 50000, 4, 8);
    strcpy(config.turn, strcmp(place, "joint") == 0 ? "srpt" : "sjf");
    strcpy(config.place, place);
    strcpy(config.network, network);
    strcpy(config.mode, mode);
    model_begin(&m, &config, seed);
    m.judge = &judge;
    if (strcmp(place, "joint") == 0)
        m.bps = 10000000; /* where some transfers are long */
    for (int step = 0; step < 400; step++)
        model_step(&m);
    model_end(&m);
}

static void run(const char *place, const char *network, bool even, uint64_t seed)
{
    run_by("first", place, network, even, seed);
}

/* Rules that fix the mode: one is in force from the beginning, then the other. */
static void fixed_modes(void)
{
    static const char *const modes[] = {"starved", "rich"};
    struct script s;
    struct engine_config config = script_config();
    config.mode_dwell_ns = 0;
    script_begin(&s, &config);
    for (int i = 0; i < 2; i++) {
        script_policy(&s, "mode", modes[i]);
        const struct decision *mode = script_decision(&s, DECISION_MODE, 0);
        assert_non_null(mode);
        see_mode(s.engine, mode);
    }
    script_end(&s);
}

/* Another scheduler's claim. */
static void claim_one(void)
{
    static const uint64_t jobs[] = {1};
    static const uint32_t zero[] = {0}, host[] = {0};
    struct script s;
    struct engine_explanation e;
    struct engine_config config = script_config();
    strcpy(config.mode, "starved");
    script_begin(&s, &config);
    script_submit(&s, &(struct script_job){.number = 1, .maps = 1, .map_ns = SECOND});
    uint64_t vector[ENGINE_RESOURCES] = {1};
    struct event events[] = {script_join(0, 1, vector), {.kind = EVENT_CLAIM, .request = 5}};
    events[1].claim.scheduler = 9;
    events[1].claim.jobs = (struct u64s){jobs, 1};
    events[1].claim.stages = events[1].claim.tasks = events[1].claim.units = (struct u32s){zero, 1};
    events[1].claim.hosts = (struct u32s){host, 1};
    script_events(&s, events, 2);
    const struct decision *start = script_start(&s, 1, 0, 0);
    assert_non_null(start);
    see(s.engine->policies[QUESTION_COMMIT], start);
    assert_int_equal(start->left, 9);
    assert_int_equal(engine_explain(s.engine, 1, 0, 0, &e), 0);
    says(&e, "Runs on h0 because scheduler 9 claimed it there and it fitted.");
    script_end(&s);
}

/* Its place among the jobs, and by what. */
static void test_turns_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *turn, *second;
    } cases[] = {
        {"fifo", " Its job is 2 of 2 in turn: it was submitted 2.0 s ago."},
        {"sjf", " Its job is 2 of 2 in turn: alone it would take the whole cluster 26.500 s by its "
                "estimate."},
        {"fair", " Its job is 2 of 2 in turn: 2 of its tasks run."},
        {"drf", " Its job is 2 of 2 in turn: its largest share is 66.7 % of all slots."},
        {"srpt", " Its job is 2 of 2 in turn: what is left of it is 22.500 s of maps on all slots "
                 "and 4.000 s of transfers on all links, and 1.000 s count for when it came."},
    };
    static const uint64_t sums[] = {500000000};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct script s;
        struct engine_explanation e;
        struct engine_config config = script_config();
        strcpy(config.turn, cases[i].turn);
        strcpy(config.place, "greedy");
        script_begin(&s, &config);
        s.now_ns = 99 * SECOND;
        script_submit(&s, &(struct script_job){.number = 2, .maps = 1, .map_ns = SECOND});
        s.now_ns = 100 * SECOND;
        script_submit(
            &s, &(struct script_job){
                    .number = 3, .maps = 5, .reduces = 1, .map_ns = 9 * SECOND, .sums = sums});
        script_host(&s, 0, 2);
        script_host(&s, 1, 1);
        s.now_ns = 102 * SECOND;
        script_events(&s, NULL, 0);
        assert_int_equal(engine_explain(s.engine, 3, 0, 4, &e), 0);
        says(&e, "%s", cases[i].second);
        script_end(&s);
    }
}

/* What no policy in force has decided is not laid at its door. */
static void test_what_was_before_is_called_so(void **state)
{
    (void)state;
    static const uint64_t sums[] = {900000000};
    struct script s;
    struct engine_explanation e;
    struct engine_config config = script_config();
    script_begin(&s, &config);
    script_host(&s, 0, 1);
    script_submit(&s, &(struct script_job){.number = 1, .maps = 1, .reduces = 1, .sums = sums});
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    script_host_event(&s, EVENT_HOST_SILENT, 0);
    script_host(&s, 1, 1);
    uint64_t old = script_attempt_of(&s, 1, 1, 0);
    script_attempt(&s, EVENT_ATTEMPT_LOST, old, 0);
    assert_int_equal(engine_explain(s.engine, 1, 1, 0, &e), 0);
    says(&e, "Runs on h1 because nobody received over its downlink");
    says(&e, "that of its ");
    script_policy(&s, "network", "none");
    assert_int_equal(engine_explain(s.engine, 1, 1, 0, &e), 0);
    says(&e, "from before the network policy \"none\" was set");
    script_policy(&s, "place", "random");
    assert_int_equal(engine_explain(s.engine, 1, 1, 0, &e), 0);
    says(&e, "Runs on h1 because nobody received over its downlink");

    script_submit(&s, &(struct script_job){.number = 2, .maps = 1, .map_ns = SECOND});
    script_event(&s, script_seen_event(77, 2, 0, 0, 1));
    assert_int_equal(engine_explain(s.engine, 2, 0, 0, &e), 0);
    says(&e, "Runs on h1, where it was found running");
    script_end(&s);
}

static const struct policy *policy_number(int n)
{
    for (int i = 0; turn_policies[i]; i++)
        if (n-- == 0)
            return &turn_policies[i]->policy;
    for (int i = 0; place_policies[i]; i++)
        if (n-- == 0)
            return &place_policies[i]->policy;
    for (int i = 0; commit_policies[i]; i++)
        if (n-- == 0)
            return &commit_policies[i]->policy;
    for (int i = 0; network_policies[i]; i++)
        if (n-- == 0)
            return &network_policies[i]->policy;
    for (int i = 0; mode_policies[i]; i++)
        if (n-- == 0)
            return &mode_policies[i]->policy;
    return NULL;
}

/* The first reason of its table that has not occurred yet. */
static const struct policy_reason *missing_of(const struct policy *policy)
{
    for (const struct policy_reason *r = policy->reasons; r && r->reason; r++)
        if (!was_seen(policy, r->kind, r->reason))
            return r;
    return NULL;
}

/* Of any table. */
static const struct policy_reason *missing(const struct policy **ret_policy)
{
    const struct policy_reason *found = NULL;
    for (int i = 0; !found && (*ret_policy = policy_number(i)); i++)
        found = missing_of(*ret_policy);
    return found;
}

/* One reason's numbers mean the same in all tables that have it. */
static void check_meanings(const struct policy *policy)
{
    for (const struct policy_reason *r = policy->reasons; r && r->reason; r++) {
        assert_true(r->sentence || r->kind == DECISION_LEVEL);
        for (int i = 0; policy_number(i); i++) {
            const struct policy_reason *other = entry_of(policy_number(i), r->kind, r->reason);
            if (other && other->left && r->left)
                assert_string_equal(other->left, r->left);
            if (other && other->right && r->right)
                assert_string_equal(other->right, r->right);
        }
    }
}

/* Each placement and each network, or those with reasons that have not occurred. */
static void run_some(uint64_t *stream, bool even, bool all)
{
    for (int p = 0; place_policies[p]; p++)
        if (all || missing_of(&place_policies[p]->policy))
            run(place_policies[p]->policy.name, "cans", false, test_random(stream));
    for (int n = 0; network_policies[n]; n++)
        if (all || missing_of(&network_policies[n]->policy))
            run("nats", network_policies[n]->policy.name, even, test_random(stream));
    run_by("all", "nats", "cans", even, test_random(stream));
}

static void test_every_reason_of_every_table(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    const struct policy *policy;
    claim_one();
    idle_cluster();
    kept_slot();
    bound_of_flow();
    spare_of_flow();
    stops_of_flow();
    holds_of_flow();
    at_home();
    in_a_rack();
    all_there();
    by_affinity();
    by_model();
    fixed_modes();
    for (int round = 0; round < 3 || (round < 300 && missing(&policy)); round++)
        run_some(&stream, round % 2, round < 3);
    if (missing(&policy))
        fail_msg("%s never gave its reason %s", policy->name,
                 reason_name(missing(&policy)->reason));
    assert_true(last_slots > 0);
    for (int i = 0; policy_number(i); i++)
        check_meanings(policy_number(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_reason_of_every_table),
        cmocka_unit_test(test_what_was_before_is_called_so),
        cmocka_unit_test(test_turns_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
