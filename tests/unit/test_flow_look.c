/* What people see of place flow: the graph of its last optimum, arc by arc, which costs what is
 * found on the same arcs from nothing; and what `explain` says of ways, waiting and who is
 * displaced. */
#include "tests/model/script.h"

#include "lib/mincost/mincost.h"

#include <errno.h>

enum { MEGABYTE = 1000000, NODES = 64 };

static void begin(struct script *s, const char *place, uint32_t hosts, uint64_t slots)
{
    struct engine_config config = script_config();
    strcpy(config.place, place);
    strcpy(config.turn, "fifo");
    script_begin(s, &config);
    for (uint32_t h = 0; h < hosts; h++)
        script_host(s, h, slots);
}

static void submit(struct script *s, uint64_t job, uint32_t maps, const uint32_t *replicas)
{
    s->now_ns += SECOND;
    script_submit(s, &(struct script_job){.number = job,
                                          .maps = maps,
                                          .per = replicas ? 2 : 0,
                                          .replicas = replicas,
                                          .map_input = replicas ? MEGABYTE : 0,
                                          .map_ns = SECOND});
}

/* The sum of ranked costs of what the arcs carry, and the least that the same arcs could cost. */
static void costs_of(const struct engine *engine, int64_t *ret_said, int64_t *ret_least)
{
    int64_t supplies[NODES] = {0};
    struct mincost *problem;
    struct arc_view arc;
    *ret_said = 0;
    assert_int_equal(mincost_create(0, 0, &problem), 0);
    for (uint32_t node = 1; node < NODES; node++)
        assert_int_equal(mincost_set_node(problem, node, 0), 0);
    for (uint64_t after = 0; engine_arc_after(engine, after, &arc) == 0; after = arc.arc) {
        assert_true(arc.arc > after && arc.tail < NODES && arc.head < NODES);
        supplies[arc.tail] += arc.flow;
        supplies[arc.head] -= arc.flow;
        *ret_said += arc.flow * arc.ranked;
        assert_int_equal(mincost_add_arc(problem, (uint32_t)arc.arc, arc.tail, arc.head, arc.lower,
                                         arc.capacity, arc.ranked),
                         0);
    }
    for (uint32_t node = 1; node < NODES; node++)
        assert_int_equal(mincost_set_node(problem, node, supplies[node]), 0);
    assert_int_equal(mincost_solve(problem), 0);
    *ret_least = mincost_cost(problem);
    mincost_destroy(problem);
}

/* What the arcs of a kind carry. */
static int64_t carried(const struct engine *engine, const char *what)
{
    struct arc_view arc;
    int64_t flow = 0;
    for (uint64_t after = 0; engine_arc_after(engine, after, &arc) == 0; after = arc.arc)
        flow += strcmp(arc.what, what) == 0 ? arc.flow : 0;
    return flow;
}

/* What the optimum started has been taken out of the graph when somebody looks; it is seen. */
static void the_last_optimum_is_seen(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {0, 1, 0, 1, 1, 2, 1, 2};
    struct script s;
    uint64_t round = 1;
    int64_t said, least;
    begin(&s, "flow", 3, 1);
    assert_int_equal(engine_graph(s.engine, &round, NULL), 0);
    assert_int_equal(round, 0);
    submit(&s, 1, 4, blocks);
    assert_int_equal(script_count(&s, DECISION_START), 3);
    assert_int_equal(engine_graph(s.engine, &round, NULL), 0);
    assert_true(round > 0);
    assert_int_equal(carried(s.engine, "slots"), 3);
    assert_int_equal(carried(s.engine, "block"), 3);
    assert_int_equal(carried(s.engine, "waits"), 1);
    costs_of(s.engine, &said, &least);
    assert_true(said > 0 && said == least);
    submit(&s, 2, 2, NULL); /* no slot is free, so no round */
    costs_of(s.engine, &said, &least);
    assert_true(said == least);
    assert_int_equal(carried(s.engine, "waits"), 1);
    script_end(&s);
}

static void ends_are_said_in_words(void **state)
{
    (void)state;
    struct script s;
    struct arc_view arc;
    bool waits = false, anywhere = false;
    begin(&s, "flow", 1, 1);
    submit(&s, 7, 2, NULL);
    for (uint64_t after = 0; engine_arc_after(s.engine, after, &arc) == 0; after = arc.arc) {
        waits |= strcmp(arc.tail_is, "job 7 waits") == 0 && strcmp(arc.head_is, "sink") == 0;
        anywhere |=
            strcmp(arc.tail_is, "tasks of 7/0") == 0 && strcmp(arc.head_is, "anywhere") == 0;
    }
    assert_true(waits && anywhere);
    script_end(&s);
}

/* Two of four tasks that run may be stopped for a job of a higher priority: all four are in the
 * graph, and its optimum is seen when they are out of it again. */
static void running_tasks_are_seen(void **state)
{
    (void)state;
    struct script s;
    struct arc_view arc;
    int64_t said, least;
    uint32_t there = 0;
    begin(&s, "flow", 2, 2);
    script_parameter(&s, "weight.priority", 1);
    script_parameter(&s, "preempt", 1);
    submit(&s, 7, 4, NULL);
    s.priority = 3;
    submit(&s, 8, 2, NULL);
    assert_int_equal(script_count(&s, DECISION_STOP), 2);
    for (uint64_t after = 0; engine_arc_after(s.engine, after, &arc) == 0; after = arc.arc)
        there += strcmp(arc.what, "stay") == 0 &&
                 strncmp(arc.tail_is, "running task 7/0/", strlen("running task 7/0/")) == 0;
    assert_int_equal(there, 4);
    assert_int_equal(carried(s.engine, "stay"), 2);
    costs_of(s.engine, &said, &least);
    assert_true(said == least);
    script_end(&s);
}

static void other_placements_have_no_graph(void **state)
{
    (void)state;
    struct script s;
    struct err err;
    uint64_t round;
    struct arc_view arc;
    begin(&s, "greedy", 1, 1);
    submit(&s, 1, 1, NULL);
    assert_int_equal(engine_graph(s.engine, &round, &err), -EINVAL);
    assert_string_equal(err.text, "the placement greedy decides by no graph; those that do: flow "
                                  "(duopolyctl policy place NAME)");
    assert_int_equal(engine_arc_after(s.engine, 0, &arc), -ENOENT);
    script_end(&s);
}

static const char *fact_of(const struct engine_explanation *e, const char *name)
{
    for (uint32_t i = 0; i < e->facts; i++)
        if (strcmp(e->fact[i].name, name) == 0)
            return e->fact[i].value;
    return NULL;
}

/* Of two jobs with one slot the first runs; the second waits in its place. */
static void explain_says_ways_and_who_is_displaced(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {0, 1};
    struct engine_explanation e;
    struct script s;
    begin(&s, "flow", 2, 1);
    submit(&s, 9, 2, NULL); /* takes both slots */
    submit(&s, 1, 1, blocks);
    submit(&s, 2, 1, NULL);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 9, 0, 0), 0);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    assert_non_null(script_start(&s, 1, 0, 0));
    assert_int_equal(engine_explain(s.engine, 1, 0, 0, &e), 0);
    assert_non_null(strstr(e.text, " Its arcs:"));
    assert_non_null(strstr(e.text, " Job 2 waits in its place: of those that wait it would gain "));
    assert_string_equal(fact_of(&e, "displaced_job"), "2");
    assert_non_null(fact_of(&e, "arc_wait"));
    assert_non_null(fact_of(&e, "arc_anywhere"));
    assert_int_equal(engine_explain(s.engine, 2, 0, 0, &e), 0);
    assert_string_equal(fact_of(&e, "stage_waits"), "1");
    assert_null(fact_of(&e, "displaced_job"));
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 9, 0, 1), 0);
    assert_non_null(script_start(&s, 2, 0, 0));
    assert_int_equal(engine_explain(s.engine, 1, 0, 0, &e), 0);
    assert_non_null(strstr(e.text, " No other job waits for its slot."));
    script_end(&s);
}

/* Costs are by the weights in force. */
static void explain_follows_the_weights(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {0, 1};
    struct engine_explanation e;
    struct script s;
    begin(&s, "flow", 2, 1);
    script_parameter(&s, "weight.locality", 3);
    submit(&s, 1, 1, blocks);
    assert_int_equal(engine_explain(s.engine, 1, 0, 0, &e), 0);
    assert_string_equal(fact_of(&e, "arc_anywhere"), "765 + up to 255 for load");
    script_parameter(&s, "weight.locality", 0);
    assert_int_equal(engine_explain(s.engine, 1, 0, 0, &e), 0);
    assert_string_equal(fact_of(&e, "arc_anywhere"), "0 + up to 255 for load");
    script_end(&s);
}

/* No host has a GPU, so what is lost there is all that the stage prefers. */
static void explain_says_what_is_not_as_preferred(void **state)
{
    (void)state;
    static const uint32_t utility[] = {5};
    struct engine_explanation e;
    struct script s;
    begin(&s, "flow", 1, 1);
    script_parameter(&s, "weight.prefer", 3);
    script_event(&s, script_begin_event(1, "1"));
    struct event event = script_stage_event(1, 0, 1, NULL, NULL);
    event.job_stage.wishes = "gpu";
    event.job_stage.utilities = (struct u32s){utility, 1};
    script_event(&s, event);
    script_job_end(&s, 1);
    assert_int_equal(engine_explain(s.engine, 1, 0, 0, &e), 0);
    assert_string_equal(fact_of(&e, "arc_prefer"), "15");
    assert_non_null(strstr(e.text, " up to 15 more on a host that is less than all that it "
                                   "prefers;"));
    submit(&s, 2, 1, NULL);
    assert_int_equal(engine_explain(s.engine, 2, 0, 0, &e), 0);
    assert_null(fact_of(&e, "arc_prefer"));
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_optimum_is_seen),
        cmocka_unit_test(ends_are_said_in_words),
        cmocka_unit_test(running_tasks_are_seen),
        cmocka_unit_test(other_placements_have_no_graph),
        cmocka_unit_test(explain_says_ways_and_who_is_displaced),
        cmocka_unit_test(explain_follows_the_weights),
        cmocka_unit_test(explain_says_what_is_not_as_preferred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
