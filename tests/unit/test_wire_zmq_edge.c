/* A ZeroMQ socket and a loop's other sources have their turns, however much each has to do. */
#include "tests/unit/test.h"

#include "lib/wire_zmq_edge.h"

#include <time.h>
#include <zmq.h>

enum { MESSAGES = 100, TURNS = 1000 };

struct scene {
    sd_event *loop;
    void *context, *peer;
    struct wire_zmq_edge edge;
    sd_event_source *busy;
    int taken, turns;
};

/* One message, and leaves the rest. */
static void on_drain(void *user)
{
    struct scene *scene = user;
    scene->taken += zmq_recv(scene->edge.socket, NULL, 0, ZMQ_DONTWAIT) == 0;
}

/* It is due again at once. */
static int on_busy(sd_event_source *source, uint64_t usec, void *user)
{
    struct scene *scene = user;
    (void)usec;
    scene->turns++;
    assert_true(sd_event_source_set_time(source, 0) >= 0);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int scene_begin(void **state)
{
    static struct scene scene;
    scene = (struct scene){.edge = {.drain = on_drain, .user = &scene}};
    assert_true(sd_event_new(&scene.loop) >= 0);
    assert_non_null(scene.context = zmq_ctx_new());
    assert_non_null(scene.edge.socket = zmq_socket(scene.context, ZMQ_PAIR));
    assert_non_null(scene.peer = zmq_socket(scene.context, ZMQ_PAIR));
    assert_int_equal(zmq_bind(scene.edge.socket, "inproc://edge"), 0);
    assert_int_equal(zmq_connect(scene.peer, "inproc://edge"), 0);
    assert_true(wire_zmq_edge_add(&scene.edge, scene.loop) >= 0);
    *state = &scene;
    return 0;
}

static int scene_end(void **state)
{
    struct scene *scene = *state;
    sd_event_source_disable_unref(scene->busy);
    wire_zmq_edge_remove(&scene->edge);
    zmq_close(scene->peer);
    zmq_ctx_term(scene->context);
    sd_event_unref(scene->loop);
    return 0;
}

static void messages_send(const struct scene *scene)
{
    for (int i = 0; i < MESSAGES; i++)
        assert_int_equal(zmq_send(scene->peer, NULL, 0, ZMQ_DONTWAIT), 0);
}

static void what_a_drain_leaves_is_taken_in_turn_with_a_timer_that_is_always_due(void **state)
{
    struct scene *scene = *state;
    assert_true(
        sd_event_add_time(scene->loop, &scene->busy, CLOCK_MONOTONIC, 0, 1, on_busy, scene) >= 0);
    messages_send(scene);
    for (int i = 0; i < TURNS; i++)
        assert_true(sd_event_run(scene->loop, UINT64_MAX) > 0);
    assert_int_equal(scene->taken, MESSAGES);
    assert_true(scene->turns >= TURNS / 2);
}

static void a_loop_without_work_waits(void **state)
{
    struct scene *scene = *state;
    messages_send(scene);
    for (int i = 0; scene->taken < MESSAGES; i++)
        assert_true(i < TURNS && sd_event_run(scene->loop, UINT64_MAX) > 0);
    assert_int_equal(sd_event_run(scene->loop, 20000), 0);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, scene_begin, scene_end)
    const struct CMUnitTest tests[] = {
        WITH(what_a_drain_leaves_is_taken_in_turn_with_a_timer_that_is_always_due),
        WITH(a_loop_without_work_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
