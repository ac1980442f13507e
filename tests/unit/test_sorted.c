#include "tests/unit/test.h"

#include "controller/engine/base/sorted.h"

#include <string.h>

enum { NODES = 200 };

struct model {
    struct sorted_node node[NODES];
    struct sorted set;
};

/* The reference: looks at every node. */
static struct sorted_node *first_matching(struct model *m, struct sorted_key from, uint64_t below)
{
    struct sorted_node *best = NULL;
    for (int i = 0; i < NODES; i++) {
        struct sorted_node *node = &m->node[i];
        if (node->in && sorted_compare(node->key, from) >= 0 && node->value < below &&
            (!best || sorted_compare(node->key, best->key) < 0))
            best = node;
    }
    return best;
}

static void check_against_the_model(struct model *m, uint64_t *stream)
{
    struct sorted_key zero = {0};
    struct sorted_key key = {test_random(stream) % 12, test_random(stream) % 4,
                             test_random(stream) % NODES};
    uint64_t limit = test_random(stream) % 60;
    assert_ptr_equal(sorted_first_below(&m->set, limit), first_matching(m, zero, limit));
    assert_ptr_equal(sorted_from(&m->set, key), first_matching(m, key, UINT64_MAX));
    assert_ptr_equal(sorted_first(&m->set), first_matching(m, zero, UINT64_MAX));
    size_t n = 0;
    uint64_t least = UINT64_MAX;
    struct sorted_node *before = NULL;
    for (struct sorted_node *node = sorted_first(&m->set); node; node = sorted_next(node)) {
        if (m->set.counted) {
            assert_int_equal(sorted_rank(node), n);
            assert_ptr_equal(sorted_at(&m->set, n), node);
        }
        n++;
        if (node->value < least)
            least = node->value;
        assert_true(!before || sorted_compare(before->key, node->key) < 0);
        before = node;
    }
    assert_ptr_equal(sorted_last(&m->set), before);
    assert_true(!m->set.counted || !sorted_at(&m->set, n));
    assert_int_equal(n, m->set.n);
    assert_int_equal(sorted_least(&m->set), least);
}

/* *state: whether the set counts. */
static void test_random_changes_agree_with_a_scan(void **state)
{
    uint64_t stream = test_seed();
    struct model *m = calloc(1, sizeof(*m));
    m->set.counted = *state != NULL;
    for (int round = 0; round < 20000; round++) {
        uint64_t i = test_random(&stream) % NODES;
        struct sorted_key key = {test_random(&stream) % 12, test_random(&stream) % 4, i};
        if (test_random(&stream) % 3)
            sorted_place(&m->set, &m->node[i], key, test_random(&stream) % 50);
        else
            sorted_remove(&m->set, &m->node[i]);
        if (round % 7 == 0)
            check_against_the_model(m, &stream);
    }
    free(m);
}

int main(void)
{
    static bool counts = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_changes_agree_with_a_scan),
        cmocka_unit_test_prestate(test_random_changes_agree_with_a_scan, &counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
