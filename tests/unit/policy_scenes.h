/* Scenes in which policies give the reasons that random jobs seldom bring about: each is played to
 * that decision, which is seen, and what is said of it is compared. */
#pragma once

#include "tests/unit/policy_seen.h"

/* The first job waits for a host that is silent; in slot-starved mode nobody else is served, unless
 * nothing runs at all. */
static void idle_cluster(void)
{
    static const uint64_t sums[] = {1000};
    struct script s;
    struct engine_explanation e;
    struct engine_config config = script_config();
    strcpy(config.mode, "starved");
    script_begin(&s, &config);
    script_host(&s, 0, 1);
    script_host(&s, 1, 4);
    script_host_event(&s, EVENT_HOST_SILENT, 1);
    struct event stage = script_stage_event(1, 0, 1, NULL, NULL);
    stage.job_stage.demand.amount[RES_SLOTS] = 4;
    script_job_begin(&s, 1);
    script_event(&s, stage);
    script_job_end(&s, 1);
    script_submit(&s, &(struct script_job){.number = 2, .maps = 1, .reduces = 1, .sums = sums});
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 2, 0, 0), 0);
    const struct decision *start = script_start(&s, 2, 1, 0);
    assert_non_null(start);
    assert_reason(start, "idle-cluster");
    see(s.engine->policies[QUESTION_PLACE], start);
    assert_int_equal(engine_explain(s.engine, 2, 1, 0, &e), 0);
    says(&e, "Runs on h0 because nothing else ran: the only work of an idle cluster");
    script_end(&s);
}

/* A slot of two is kept from a second task that would receive for long: random jobs seldom come to
 * it. */
static void kept_slot(void)
{
    static const uint64_t sums[] = {1000000000000};
    struct script s;
    struct engine_explanation e;
    struct engine_config config = script_config();
    strcpy(config.turn, "srpt");
    strcpy(config.place, "joint");
    strcpy(config.network, "rank");
    script_begin(&s, &config);
    script_host(&s, 0, 2);
    for (uint64_t job = 1; job <= 2; job++) {
        script_submit(&s,
                      &(struct script_job){.number = job, .maps = 1, .reduces = 1, .sums = sums});
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, job, 0, 0), 0);
        if (job == 1)
            script_attempt(&s, EVENT_ATTEMPT_RECEIVED, script_attempt_of(&s, 1, 1, 0), sums[0]);
    }
    const struct decision *hold = script_decision(&s, DECISION_HOLD, 0);
    assert_non_null(hold);
    assert_reason(hold, "kept-slot");
    see(s.engine->policies[QUESTION_PLACE], hold);
    assert_int_equal(engine_explain(s.engine, 2, 1, 0, &e), 0);
    says(&e, "Held back: it would receive for long, and on 1 of 1 hosts");
    script_end(&s);
}

/* Two tasks of which a host may run one. */
static void bound_of_flow(void)
{
    struct script s;
    struct engine_explanation e;
    struct engine_config config = script_config();
    strcpy(config.place, "flow");
    script_begin(&s, &config);
    script_host(&s, 0, 2);
    script_job_begin(&s, 1);
    struct event stage = script_stage_event(1, 0, 2, NULL, NULL);
    stage.job_stage.at_most_host = 1;
    script_event(&s, stage);
    script_tasks(&s, 1, 0, 2, 0, 0, NULL);
    script_job_end(&s, 1);
    const struct decision *hold = script_decision(&s, DECISION_HOLD, 0);
    assert_non_null(hold);
    assert_reason(hold, "optimum-bound");
    see(s.engine->policies[QUESTION_PLACE], hold);
    assert_int_equal(engine_explain(s.engine, 1, 0, 1, &e), 0);
    says(&e, "Held back: in the optimum it waits, at a cost of %lld: where a slot is free,",
         (long long)hold->left);
    script_end(&s);
}

/* Two jobs on four slots of a host, where one of them may run but one task. */
static void spare_of_flow(void)
{
    struct script s;
    struct engine_explanation e;
    struct engine_config config = script_config();
    strcpy(config.place, "flow");
    assert_int_equal(engine_config_say(&config, "fair_parts", 1, NULL), 0);
    script_begin(&s, &config);
    for (uint64_t job = 1; job <= 2; job++) {
        script_job_begin(&s, job);
        struct event stage = script_stage_event(job, 0, 3, NULL, NULL);
        stage.job_stage.at_most_host = job == 1;
        script_event(&s, stage);
        script_tasks(&s, job, 0, 3, 0, 0, NULL);
        script_job_end(&s, job);
    }
    script_host(&s, 0, 4);
    const struct decision *start = script_start(&s, 2, 0, 2);
    assert_non_null(start);
    assert_reason(start, "optimum-spare");
    see(s.engine->policies[QUESTION_PLACE], start);
    assert_int_equal(engine_explain(s.engine, 2, 0, 2, &e), 0);
    says(&e, "Runs on h0, beyond its job's part of the slots, which nobody else could use");
    script_end(&s);
}

static void one_map(struct script *s, uint64_t job, int64_t priority, const uint32_t *block)
{
    s->now_ns += SECOND;
    s->priority = priority;
    script_submit(s, &(struct script_job){.number = job,
                                          .maps = 1,
                                          .per = block ? 1 : 0,
                                          .replicas = block,
                                          .map_input = block ? 1000000 : 0,
                                          .map_ns = SECOND});
}

/* A map waits for its block's host, though another one has a slot. */
static void holds_of_flow(void)
{
    static const uint32_t block[] = {0};
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.place, "flow");
    assert_int_equal(engine_config_say(&config, "hold_remote", 1, NULL), 0);
    script_begin(&s, &config);
    script_host(&s, 0, 1);
    script_host(&s, 1, 1);
    one_map(&s, 1, 0, block);
    one_map(&s, 2, 0, block);
    const struct decision *hold = script_decision(&s, DECISION_HOLD, 0);
    assert_non_null(hold);
    assert_reason(hold, "optimum-near");
    see(s.engine->policies[QUESTION_PLACE], hold);
    script_end(&s);
}

/* A map moves to its block when that host has a slot; then it is stopped for a higher priority. */
static void stops_of_flow(void)
{
    static const uint32_t block[] = {0};
    struct script s;
    struct engine_explanation e;
    struct engine_config config = script_config();
    strcpy(config.place, "flow");
    strcpy(config.turn, "fifo");
    const char *const said[] = {"preempt", "migrate", "weight.priority"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(engine_config_say(&config, said[i], 1, NULL), 0);
    script_begin(&s, &config);
    script_host(&s, 0, 1);
    script_host(&s, 1, 1);
    one_map(&s, 1, 0, block);
    one_map(&s, 2, 0, block);
    s.now_ns += SECOND;
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    const struct decision *stop = script_decision(&s, DECISION_STOP, 0);
    assert_non_null(stop);
    assert_reason(stop, "optimum-moves");
    see(s.engine->policies[QUESTION_PLACE], stop);
    assert_int_equal(engine_explain(s.engine, 2, 0, 0, &e), 0);
    says(&e,
         "It was evicted from h1 0.0 s ago: in the optimum it runs on another host: to leave "
         "it there cost %lld, what it had run for counted %lld.",
         (long long)stop->left, (long long)stop->right);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, stop->stop.attempt, 0);
    one_map(&s, 3, 0, NULL);
    one_map(&s, 4, 7, NULL);
    stop = script_decision(&s, DECISION_STOP, 0);
    assert_non_null(stop);
    assert_reason(stop, "optimum-stops");
    assert_int_equal(stop->right, 7);
    see(s.engine->policies[QUESTION_PLACE], stop);
    uint64_t job = script_job_view(&s, 3).ready ? 3 : 2;
    assert_int_equal(engine_explain(s.engine, job, 0, 0, &e), 0);
    says(&e, "in the optimum a task of priority 7 has its slot; what it had run for counted %lld.",
         (long long)stop->left);
    script_end(&s);
}

static struct engine_config config_of_joint(const char *parameter)
{
    struct engine_config config = script_config();
    strcpy(config.turn, "srpt");
    strcpy(config.place, "joint");
    strcpy(config.network, "rank");
    assert_int_equal(engine_config_say(&config, parameter, 1, NULL), 0);
    return config;
}

/* Three hosts of one slot: one computes for 3 s, the shuffle takes 16 s when it is spread. */
static void at_home(void)
{
    static const uint64_t sums[] = {2000000000};
    struct script s;
    struct engine_explanation e;
    struct engine_config config = config_of_joint("pack");
    script_begin(&s, &config);
    for (uint32_t h = 0; h < 3; h++)
        script_host(&s, h, 1);
    script_submit(&s, &(struct script_job){.number = 1,
                                           .maps = 3,
                                           .reduces = 1,
                                           .map_ns = SECOND,
                                           .sums = sums,
                                           .estimate_bytes = -1});
    assert_int_equal(script_count(&s, DECISION_START), 1);
    const struct decision *start = script_start(&s, 1, 0, 0),
                          *hold = script_decision(&s, DECISION_HOLD, 0);
    assert_non_null(start);
    assert_non_null(hold);
    assert_reason(start, "home");
    assert_reason(hold, "for-home");
    assert_int_equal(hold->right, start->start.host);
    see(s.engine->policies[QUESTION_PLACE], start);
    see(s.engine->policies[QUESTION_PLACE], hold);
    assert_int_equal(engine_explain(s.engine, 1, 0, 0, &e), 0);
    says(&e,
         "Runs on h%u, its job's home: on one host the job takes 3.0 s; spread, it would take and "
         "cost those behind it 17.0 s. It reads nothing",
         start->start.host);
    assert_int_equal(engine_explain(s.engine, 1, 0, 1, &e), 0);
    says(&e, "Held back: it waits at most 64.0 s more for a slot on h%u, its job's home.",
         (uint32_t)hold->right);
    script_end(&s);
}

/* Two racks of two hosts of two slots: 16 s of computing, and a shuffle that takes 2 s in a rack,
 * and 5 s when half of it crosses the racks' uplinks. */
static void in_a_rack(void)
{
    static const uint64_t sums[] = {250000000, 250000000}, vector[ENGINE_RESOURCES] = {2};
    struct script s;
    struct engine_explanation e;
    struct engine_config config = config_of_joint("pack");
    script_begin(&s, &config);
    for (uint32_t h = 0; h < 4; h++) {
        struct event join = script_join(h, 2, vector);
        join.host_join.rack = h < 2 ? "r1" : "r2";
        join.host_join.rack_bps = 200000000;
        script_event(&s, join);
    }
    script_submit(&s, &(struct script_job){.number = 1,
                                           .maps = 8,
                                           .reduces = 2,
                                           .map_ns = 2 * SECOND,
                                           .sums = sums,
                                           .estimate_bytes = -1});
    const struct decision *start = script_start(&s, 1, 0, 0);
    assert_non_null(start);
    assert_reason(start, "rack");
    see(s.engine->policies[QUESTION_PLACE], start);
    assert_int_equal(engine_explain(s.engine, 1, 0, 0, &e), 0);
    says(&e,
         "Runs on h%u, in its job's rack: there the job would take and cost those behind it 6.0 s; "
         "spread, 7.0 s.",
         start->start.host);
    script_end(&s);
}

static void all_there(void)
{
    static const uint64_t sums[] = {1000000};
    struct script s;
    struct engine_explanation e;
    struct engine_config config = config_of_joint("lies_there");
    script_begin(&s, &config);
    script_host(&s, 0, 1);
    script_host(&s, 1, 1);
    script_submit(&s, &(struct script_job){.number = 1, .maps = 1, .reduces = 1, .sums = sums});
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    const struct decision *start = script_start(&s, 1, 1, 0);
    assert_non_null(start);
    assert_reason(start, "all-there");
    see(s.engine->policies[QUESTION_PLACE], start);
    assert_int_equal(engine_explain(s.engine, 1, 1, 0, &e), 0);
    says(&e, "where all 1 outputs of its job are. It reads nothing over the network");
    script_end(&s);
}

/* A start of stage 0 with this word, and a sentence that begins so. */
static void check_affinity(const struct script *s, uint64_t job, uint32_t task, const char *word,
                           const char *sentence)
{
    struct engine_explanation e;
    const struct decision *start = script_start(s, job, 0, task);
    assert_non_null(start);
    assert_reason(start, word);
    see(s->engine->policies[QUESTION_PLACE], start);
    assert_int_equal(engine_explain(s->engine, job, 0, task, &e), 0);
    says(&e, "%s", sentence);
}

static void submit_profiled(struct script *s, uint64_t job, uint32_t tasks, bool gpu,
                            const uint64_t profile[static PROFILE_NUMBERS])
{
    struct event stage = script_stage_event(job, 0, tasks, NULL, NULL);
    stage.job_stage.demand.amount[RES_GPU_MILLI] = gpu ? 1000 : 0;
    stage.job_stage.profiles = (struct u64s){profile, PROFILE_NUMBERS};
    script_job_begin(s, job);
    script_event(s, stage);
    script_tasks(s, job, 0, tasks, 0, 0, NULL);
    script_job_end(s, job);
}

/* A disk of 100 MB/s and a GPU. One kind of profiles is told apart. */
static void by_affinity(void)
{
    static const uint64_t reads[] = {100000000, 100000000, 1, 3000000000},
                          computes[] = {0, 0, 0, 2000000000}, nothing[PROFILE_NUMBERS] = {0},
                          vector[ENGINE_RESOURCES] = {[RES_SLOTS] = 4, [RES_GPU_MILLI] = 1000};
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.place, "affinity");
    engine_config_say(&config, "patience", 2, NULL);
    engine_config_say(&config, "profiles", 1, NULL);
    script_begin(&s, &config);
    struct event join = script_join(0, 4, vector);
    join.host_join.disk_bytes_s = 100000000;
    script_event(&s, join);
    struct event load = {.kind = EVENT_HOST_LOAD};
    load.host_load.resource = LOAD_DISK;
    load.host_load.permille = 1500;
    load.host_load.users = 2;
    script_event(&s, load);
    submit_profiled(&s, 1, 2, true, reads);
    check_affinity(&s, 1, 0, "least-delayed",
                   "Runs on a GPU of h0, where its task was to be delayed least: it was predicted "
                   "to take 5.5 s there, alone it takes 4.0 s. ");
    submit_profiled(&s, 2, 1, false, computes);
    check_affinity(&s, 2, 0, "profiles-full",
                   "Runs on h0, taken to read nothing: its profile is beyond the 1 that are told "
                   "apart (profiles). ");
    submit_profiled(&s, 3, 1, false, nothing);
    check_affinity(&s, 3, 0, "no-profile",
                   "Runs on h0 (2 tasks), taken to read nothing: its stage has no profile. ");
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    check_affinity(&s, 1, 1, "patience",
                   "Runs on h0 because its stage was passed over for 2 starts; after 2 it goes "
                   "first. ");
    submit_profiled(&s, 4, 1, false, computes);
    check_affinity(&s, 4, 0, "slowest",
                   "Runs on h0 because its stage had the slowest progress: it was predicted to "
                   "take 2.0 s there, alone it takes 2.0 s. ");
    script_end(&s);
}

/* Four GPUs: of their four readers each takes 7 s, a third of 21 s. */
static void by_model(void)
{
    static const uint64_t profiles[2 * PROFILE_NUMBERS] = {100000000, 100000000, 1, 3000000000,
                                                           0,         0,         0, 21000000000},
                                       slot[ENGINE_RESOURCES] = {[RES_SLOTS] = 1},
                                       vector[ENGINE_RESOURCES] = {
                                           [RES_SLOTS] = 4, [RES_GPU_MILLI] = 4000};
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.place, "model");
    script_begin(&s, &config);
    struct event join = script_join(0, 4, vector);
    join.host_join.disk_bytes_s = 100000000;
    script_event(&s, join);
    struct event stage = script_stage_event(1, 0, 5, NULL, NULL);
    stage.job_stage.demand = (struct resources){{[RES_GPU_MILLI] = 1000}};
    stage.job_stage.variant_demands = (struct u64s){slot, ENGINE_RESOURCES};
    stage.job_stage.profiles = (struct u64s){profiles, 2 * PROFILE_NUMBERS};
    script_job_begin(&s, 1);
    script_event(&s, stage);
    script_tasks(&s, 1, 0, 5, 0, 0, NULL);
    script_job_end(&s, 1);
    check_affinity(&s, 1, 0, "gains-most",
                   "Runs on a GPU of h0 (0 tasks) because its stage gained most by it: 3000 "
                   "thousandths of the time that it takes without, by that beside its like. ");
    check_affinity(&s, 1, 4, "next-turn",
                   "Runs on h0 (4 tasks) because it was its job's turn, and no GPU was free there "
                   "for any. ");
    script_end(&s);
}
