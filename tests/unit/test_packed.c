#include "tests/unit/test.h"

#include "controller/engine/base/packed.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static size_t taken(const struct packed *packed)
{
    size_t bytes = malloc_usable_size((void *)packed) + malloc_usable_size(packed->open);
    for (uint64_t i = 0; i < (packed->n + PACKED_PIECE - 1) / PACKED_PIECE; i++)
        bytes += malloc_usable_size(packed->pieces[i]) + 8;
    return bytes;
}

/* In parts of random lengths, looked at between them. */
static struct packed *filled(struct engine *engine, const uint64_t *numbers, uint64_t n,
                             uint64_t *stream)
{
    struct packed *packed = packed_make(engine, n);
    for (uint64_t done = 0; done < n;) {
        uint32_t more = (uint32_t)(test_random(stream) % 3000);
        more = more < n - done ? more : (uint32_t)(n - done);
        packed_append(engine, packed, numbers + done, more);
        done += more;
        for (int i = 0; i < 20; i++) {
            uint64_t at = test_random(stream) % n;
            assert_int_equal(packed_at(packed, at), at < done ? numbers[at] : 0);
        }
    }
    assert_null(packed->open);
    for (uint64_t at = 0; at < n; at++)
        assert_int_equal(packed_at(packed, at), numbers[at]);
    return packed;
}

static void drop(struct packed *packed)
{
    uint32_t left;
    do
        left = 3;
    while (!packed_shrink(&packed, &left));
    assert_null(packed);
}

/* Of any width, and lengths about the bounds of blocks and pieces. */
static void what_is_put_is_there(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    struct engine *engine = calloc(1, sizeof(*engine));
    for (int round = 0; round < 300; round++) {
        uint64_t n = 1 + test_random(&stream) % 4000;
        if (round % 3 == 0)
            n = (1 + test_random(&stream) % 4) * PACKED_PIECE + test_random(&stream) % 3 - 1;
        unsigned most = 1 + (unsigned)(test_random(&stream) % 64);
        uint64_t *numbers = calloc(n, sizeof(*numbers));
        for (uint64_t i = 0; i < n; i++)
            numbers[i] = test_random(&stream) >> (64 - 1 - test_random(&stream) % most);
        drop(filled(engine, numbers, n, &stream));
        free(numbers);
    }
    free(engine);
}

static void assert_takes(uint64_t number, uint64_t every, double most_bytes)
{
    enum { N = 1 << 20 };
    uint64_t stream = test_seed(), *numbers = calloc(N, sizeof(*numbers));
    struct engine *engine = calloc(1, sizeof(*engine));
    for (uint64_t i = 0; i < N; i += every)
        numbers[i] = number;
    struct packed *packed = filled(engine, numbers, N, &stream);
    double bytes = (double)taken(packed) / N;
    print_message("%.2f bytes for each number, one in %d is %llx\n", bytes, (int)every,
                  (unsigned long long)number);
    assert_true(bytes <= most_bytes);
    drop(packed);
    free(numbers);
    free(engine);
}

/* On the wire a number takes a byte for each 7 bits. */
static void they_take_no_more_than_on_the_wire(void **state)
{
    (void)state;
    assert_takes(1, 1, .3);
    assert_takes(100, 1, 1);
    assert_takes(1000000, 1, 3);
    assert_takes(UINT64_MAX, 1, 8.2);
    assert_takes(UINT64_C(1) << 40, 4096, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_there),
        cmocka_unit_test(they_take_no_more_than_on_the_wire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
