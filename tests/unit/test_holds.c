/* Why a client is not read: causes begin and end in any order, and the socket learns of the first
 * and of the last. */
#include "tests/unit/test.h"

#include "controller/clients/control_shared.h"

#include <stdlib.h>

static struct {
    struct control *control;
    bool held;
    int changes;
} world;

void __wrap_wire_unix_hold(struct wire_unix *server, uint64_t client, bool hold);

void __wrap_wire_unix_hold(struct wire_unix *server, uint64_t client, bool hold)
{
    (void)server;
    assert_int_equal(client, 7);
    assert_true(hold != world.held);
    world.held = hold;
    world.changes++;
}

static int set_up(void **state)
{
    world.control = *state = calloc(1, sizeof(*world.control));
    world.held = false;
    world.changes = 0;
    world.control->requesters[7].client = 7;
    return world.control ? 0 : -1;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void a_client_is_read_again_after_the_last_cause(void **state)
{
    (void)state;
    control_hold(world.control, 7, HOLD_ANSWER);
    control_hold(world.control, 7, HOLD_BEHIND);
    control_hold(world.control, 7, HOLD_BEHIND);
    control_release(world.control, 7, HOLD_ANSWER);
    assert_true(world.held);
    control_release(world.control, 7, HOLD_ANSWER);
    assert_true(world.held);
    control_release(world.control, 7, HOLD_BEHIND);
    assert_false(world.held);
    assert_int_equal(world.changes, 2);
}

static void causes_end_in_any_order(void **state)
{
    uint64_t stream = test_seed();
    uint32_t holds = 0;
    (void)state;
    for (int i = 0; i < 10000; i++) {
        const enum hold cause = (enum hold)(1 << test_random(&stream) % 3);
        if (test_random(&stream) % 2) {
            control_hold(world.control, 7, cause);
            holds |= cause;
        } else {
            control_release(world.control, 7, cause);
            holds &= ~(uint32_t)cause;
        }
        assert_true(world.held == (holds != 0));
    }
}

static void who_is_gone_is_not_held(void **state)
{
    (void)state;
    control_hold(world.control, 7 + UNIX_CLIENTS, HOLD_ANSWER);
    control_release(world.control, 7 + UNIX_CLIENTS, HOLD_ANSWER);
    control_hold(world.control, 0, HOLD_ANSWER);
    assert_int_equal(world.changes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_client_is_read_again_after_the_last_cause, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(causes_end_in_any_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_gone_is_not_held, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
