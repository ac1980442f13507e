#include "tests/unit/test.h"

#include "testbed/sim/network/heap.h"

#include <math.h>

enum { IDS = 64 };

static void check(const struct heap *h, const uint32_t *where, const double *keys)
{
    uint32_t inside = 0;
    for (uint32_t id = 0; id < IDS; id++) {
        if (where[id] == HEAP_NOWHERE) {
            assert_true(isinf(keys[id]));
            continue;
        }
        inside++;
        assert_int_equal(h->items[where[id]].id, id);
        assert_true(h->items[where[id]].key == keys[id]);
        assert_true(h->items[0].key <= keys[id]);
    }
    assert_int_equal(inside, h->n);
}

static void test_keeps_order_under_any_changes(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct heap h = {0};
    uint32_t where[IDS];
    double keys[IDS];
    for (uint32_t id = 0; id < IDS; id++) {
        where[id] = HEAP_NOWHERE;
        keys[id] = INFINITY;
    }
    for (int i = 0; i < 20000; i++) {
        uint32_t id = (uint32_t)(test_random(&seed) % IDS);
        keys[id] = test_random(&seed) % 4 ? (double)(test_random(&seed) % 20) : INFINITY;
        assert_int_equal(heap_set(&h, where, keys[id], id), 0);
        check(&h, where, keys);
    }
    double last = -1;
    uint32_t last_id = 0;
    while (h.n) {
        struct heap_item top = heap_pop(&h, where);
        assert_true(top.key > last || (top.key == last && top.id > last_id));
        last = top.key;
        last_id = top.id;
    }
    heap_done(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keeps_order_under_any_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
