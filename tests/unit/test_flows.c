/* dataplane/flows.h against a list that is searched from its beginning, and at its bound. */
#include "tests/unit/test.h"

#include "dataplane/flows.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW       1000000000u
#define KNOWN     64
#define CROWD     4096
#define EVERY_LOT (3 * CROWD)

static struct flow_key key_of(uint32_t n)
{
    struct flow_key key = {.local_port = (uint16_t)n, .peer_port = (uint16_t)(n >> 16)};
    key.local[10] = key.local[11] = key.peer[10] = key.peer[11] = 0xff;
    key.local[15] = (uint8_t)(n % 7);
    memcpy(key.peer + 12, &n, sizeof(n));
    return key;
}

static struct flow *make(struct flows *flows, uint32_t n, uint64_t now_ns)
{
    const struct flow_key key = key_of(n);
    return flows_make(flows, &key, flows_hash(&key), now_ns);
}

static struct flow *find(struct flows *flows, uint32_t n)
{
    const struct flow_key key = key_of(n);
    return flows_find(flows, &key, flows_hash(&key));
}

/* Fewer connections than the table's bound: it must forget none. */
static void test_is_what_a_list_would_be(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    uint64_t owners[KNOWN] = {0}; /* 0: not there */
    uint32_t there = 0;
    struct flows *flows = NULL;
    assert_int_equal(flows_create(4 * KNOWN, &flows, NULL), 0);
    for (uint32_t step = 1; step < 100000; step++) {
        const uint32_t n = (uint32_t)(test_random(&stream) % KNOWN);
        struct flow *flow = find(flows, n);
        assert_int_equal(flow != NULL, owners[n] != 0);
        if (flow)
            assert_int_equal(flow->owner, owners[n]);
        if (flow && test_random(&stream) % 2) {
            flows_remove(flows, flow);
            owners[n] = 0;
            there--;
        } else {
            there += !flow;
            flow = make(flows, n, NOW + step);
            assert_int_equal(flow->seen_ns, NOW + step);
            assert_int_equal(flow->owner, 0);
            assert_int_equal(flow->followed, FLOW_UNMARKED);
            owners[n] = flow->owner = step;
        }
        assert_int_equal(flows_alive(flows), there);
    }
    const struct flows_counters *counters = flows_counters(flows);
    assert_int_equal(counters->evictions, 0);
    assert_int_equal(counters->made - counters->ended, there);
    flows_destroy(flows);
}

static uint32_t alive_from(struct flows *flows, uint32_t from, uint32_t to)
{
    uint32_t n = 0;
    for (uint32_t i = from; i < to; i++)
        n += find(flows, i) != NULL;
    return n;
}

/* Buckets hold twice as many as the bound: few may go before it is reached. */
static void test_is_filled_to_its_bound(void **state)
{
    (void)state;
    struct flows *flows = NULL;
    assert_int_equal(flows_create(CROWD, &flows, NULL), 0);
    for (uint32_t n = 0; n < CROWD; n++)
        make(flows, n, NOW + n);
    assert_int_equal(flows_counters(flows)->evictions, 0);
    assert_int_equal(alive_from(flows, 0, CROWD), CROWD);
    flows_destroy(flows);
}

static void test_the_longest_silent_make_room(void **state)
{
    (void)state;
    struct flows *flows = NULL;
    assert_int_equal(flows_create(CROWD, &flows, NULL), 0);
    for (uint32_t n = 0; n < EVERY_LOT; n++) {
        make(flows, n, NOW + n);
        assert_non_null(find(flows, n));
        assert_true(flows_alive(flows) <= CROWD);
    }
    assert_int_equal(flows_counters(flows)->evictions, EVERY_LOT - flows_alive(flows));
    const uint32_t young = alive_from(flows, EVERY_LOT - CROWD / 2, EVERY_LOT);
    fprintf(stderr, "# of the youngest %d %u are there\n", CROWD / 2, young);
    assert_true(young > CROWD / 2 * 9 / 10);
    assert_int_equal(alive_from(flows, 0, EVERY_LOT), flows_alive(flows));
    flows_destroy(flows);
}

static void test_the_dead_go_without_being_counted_as_evicted(void **state)
{
    (void)state;
    struct flows *flows = NULL;
    assert_int_equal(flows_create(2, &flows, NULL), 0);
    make(flows, 1, NOW);
    make(flows, 2, NOW);
    make(flows, 3, NOW + FLOW_SILENT_NS + 1);
    assert_int_equal(flows_alive(flows), 2);
    assert_int_equal(flows_counters(flows)->evictions, 0);
    flows_expire(flows, NOW + FLOW_SILENT_NS + 1, 2);
    assert_int_equal(flows_alive(flows), 1);
    assert_non_null(find(flows, 3));
    flows_expire(flows, NOW + 3 * FLOW_SILENT_NS, 2);
    assert_int_equal(flows_alive(flows), 0);
    flows_destroy(flows);
}

static void test_a_table_of_one(void **state)
{
    (void)state;
    struct flows *flows = NULL;
    assert_int_equal(flows_create(1, &flows, NULL), 0);
    for (uint32_t n = 0; n < 100; n++) {
        make(flows, n, NOW + n);
        assert_int_equal(alive_from(flows, 0, 100), 1);
    }
    assert_int_equal(flows_counters(flows)->evictions, 99);
    flows_destroy(flows);
    flows_destroy(NULL);
}

static void test_knows_what_another_left_there(void **state)
{
    (void)state;
    struct flow *places = aligned_alloc(64, CROWD * sizeof(struct flow));
    struct flows *flows = NULL;
    assert_non_null(places);
    memset(places, 0, CROWD * sizeof(struct flow));
    assert_int_equal(flows_create_in(places, CROWD, NOW, &flows, NULL), 0);
    assert_int_equal(flows_alive(flows), 0);
    for (uint32_t n = 0; n < CROWD / 2; n++)
        make(flows, n, NOW + n)->owner = n + 1;
    for (uint32_t n = 0; n < CROWD / 2; n += 3)
        flows_remove(flows, find(flows, n));
    flows_destroy(flows);
    /* Of those with n ≥ 100 the last packet is in the future. */
    assert_int_equal(flows_create_in(places, CROWD, NOW + 99, &flows, NULL), 0);
    for (uint32_t n = 0; n < CROWD / 2; n++) {
        const struct flow *flow = find(flows, n);
        assert_int_equal(flow != NULL, n % 3 != 0 && n < 100);
        if (flow)
            assert_int_equal(flow->owner, n + 1);
    }
    assert_int_equal(flows_alive(flows), 66);
    assert_int_equal(flows_counters(flows)->kept, 66);
    for (uint32_t n = CROWD; n < 2 * CROWD - 66; n++)
        make(flows, n, NOW + 100);
    assert_int_equal(flows_alive(flows) + flows_counters(flows)->evictions, CROWD);
    flows_destroy(flows);
    assert_int_equal(flows_create_in(places, CROWD, NOW + 200 + FLOW_SILENT_NS, &flows, NULL), 0);
    assert_int_equal(flows_alive(flows), 0);
    flows_destroy(flows);
    free(places);
}

struct torn {
    _Atomic uint32_t begun;
    struct flow places[64];
};

/* Makes and removes without an end. */
static void churn(struct torn *torn)
{
    struct flows *flows = NULL;
    uint64_t stream = 1;
    if (flows_create_in(torn->places, 64, NOW, &flows, NULL) < 0)
        _exit(1);
    for (;;) {
        const uint32_t n = (uint32_t)(test_random(&stream) % 256) << 16;
        struct flow *flow = find(flows, n);
        if (flow)
            flows_remove(flows, flow);
        else
            make(flows, n, NOW);
        atomic_fetch_add_explicit(&torn->begun, 1, memory_order_relaxed);
    }
}

/* Wherever its process was killed, what is there is whole. */
static void test_knows_no_half_of_a_flow(void **state)
{
    (void)state;
    struct torn *torn =
        mmap(NULL, sizeof(*torn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(torn, MAP_FAILED);
    for (int round = 0; round < 100; round++) {
        struct flows *flows = NULL;
        atomic_store(&torn->begun, 0);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            churn(torn);
        while (atomic_load(&torn->begun) < 500)
            usleep(10);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        assert_int_equal(flows_create_in(torn->places, 64, NOW, &flows, NULL), 0);
        uint32_t found = 0;
        for (uint32_t n = 0; n < 256; n++)
            found += find(flows, n << 16) != NULL;
        assert_int_equal(found, flows_alive(flows));
        assert_int_equal(found, flows_counters(flows)->kept);
        flows_destroy(flows);
    }
    munmap(torn, sizeof(*torn));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_what_a_list_would_be),
        cmocka_unit_test(test_is_filled_to_its_bound),
        cmocka_unit_test(test_the_longest_silent_make_room),
        cmocka_unit_test(test_the_dead_go_without_being_counted_as_evicted),
        cmocka_unit_test(test_a_table_of_one),
        cmocka_unit_test(test_knows_what_another_left_there),
        cmocka_unit_test(test_knows_no_half_of_a_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
