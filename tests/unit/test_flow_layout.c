/* A flow is read out of a map of another layout field by field, and what is not there is 0. */
#include "tests/unit/test.h"

#include "hostagent/marks/flow_layout.h"

#include <string.h>

static const struct mark_flow flow = {.seen_ns = 1,
                                      .sent_ns = 2,
                                      .received_ns = 3,
                                      .word = 4,
                                      .owner = 5,
                                      .role = MARK_ROLE_ACCEPTER,
                                      .followed = 6,
                                      .fins = MARK_FIN_SENT,
                                      .answered = 1,
                                      .answered_tsval = 7};

static void test_our_own_layout_is_read_as_it_is(void **state)
{
    (void)state;
    char text[FLOW_LAYOUT_TEXT];
    struct mark_before layout;
    struct mark_flow got;
    flow_layout_text(text);
    flow_layout_read(text, sizeof(flow), &layout);
    assert_int_equal(layout.there, 1);
    flow_layout_take(&layout, &flow, &got);
    assert_memory_equal(&got, &flow, sizeof(flow));
}

static void test_fields_are_found_by_name_and_size(void **state)
{
    (void)state;
    const char *text =
        "followed 3 1\nnobody's 0 8\nseen_ns 8 8\nsent_ns 16 4\nword 20 8\nrole 4 1\n";
    uint8_t value[24] = {[3] = 6, [4] = MARK_ROLE_OPENER, [8] = 9, [16] = 8, [20] = 7};
    struct mark_before layout;
    struct mark_flow got;
    flow_layout_read(text, sizeof(value), &layout);
    assert_int_equal(layout.sent_ns, MARK_NOWHERE); /* of another size */
    assert_int_equal(layout.word, MARK_NOWHERE);    /* it ends beyond the value */
    assert_int_equal(layout.owner, MARK_NOWHERE);
    flow_layout_take(&layout, value, &got);
    const struct mark_flow want = {.seen_ns = 9, .followed = 6, .role = MARK_ROLE_OPENER};
    assert_memory_equal(&got, &want, sizeof(want));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_our_own_layout_is_read_as_it_is),
        cmocka_unit_test(test_fields_are_found_by_name_and_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
