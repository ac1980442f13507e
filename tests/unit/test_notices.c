/* Notices against a model that keeps all of them: readers with places of their own get each notice
 * that is kept, in order, and the number of those that are not. */
#include "tests/unit/test.h"

#include "controller/notices.h"

#include <string.h>

enum { MOST = 2000, READERS = 6, ROUNDS = 400 };

static const uint32_t rooms[EVENT_KIND_COUNT] = {3, 7, 1, 2, 5, 1, 1, 2, 4};
static const uint32_t all_kinds = (UINT32_C(1) << EVENT_KIND_COUNT) - 1;

/* All that were ever added; sequence is the place + 1, at_ns ten times that. */
struct model {
    struct notices *notices;
    duopoly_EventKind kind[MOST];
    uint64_t ordinal[MOST], n, total[EVENT_KIND_COUNT];
};

static uint64_t oldest(const struct model *m, int kind)
{
    return m->total[kind] > rooms[kind] ? m->total[kind] - rooms[kind] : 0;
}

static bool is_kept(const struct model *m, uint64_t i)
{
    return m->ordinal[i] >= oldest(m, (int)m->kind[i]);
}

static bool is_of(uint32_t kinds, duopoly_EventKind kind)
{
    return kinds >> kind & 1;
}

static void add(struct model *m, duopoly_EventKind kind)
{
    assert_true(m->n < MOST);
    m->kind[m->n] = kind;
    m->ordinal[m->n] = m->total[kind]++;
    m->n++;
    struct notice *notice = notices_add(m->notices, kind, 10 * m->n, "what");
    assert_int_equal(notice->sequence, m->n);
    assert_true(!notice->job && !notice->attempt && notice->stage == NOTICE_NONE);
    assert_true(!*notice->name && !*notice->host && !*notice->text && !notice->reason);
    notice->attempt = m->n;
    snprintf(notice->text, sizeof(notice->text), "%llu", (unsigned long long)m->n);
}

/* Reads at most `most` from this place, which has passed what `passed` says, and moves both on. */
static void read_some(const struct model *m, uint32_t kinds, struct notices_place *place,
                      uint64_t passed[EVENT_KIND_COUNT], uint32_t most)
{
    const struct notice *found[64];
    uint64_t lost, expected_lost = 0;
    uint32_t expected = 0;
    bool more = notices_more(m->notices, kinds, place);
    uint32_t n = notices_read(m->notices, kinds, place, found, most, &lost);
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        if (passed[kind] >= oldest(m, kind))
            continue;
        expected_lost += is_of(kinds, (duopoly_EventKind)kind) ? oldest(m, kind) - passed[kind] : 0;
        passed[kind] = oldest(m, kind);
    }
    assert_int_equal(lost, expected_lost);
    for (uint64_t i = 0; i < m->n && expected < most; i++) {
        const duopoly_EventKind kind = m->kind[i];
        if (!is_of(kinds, kind) || m->ordinal[i] < passed[kind])
            continue;
        assert_true(expected < n);
        assert_int_equal(found[expected]->sequence, i + 1);
        assert_int_equal(found[expected]->attempt, i + 1);
        assert_int_equal(found[expected]->kind, kind);
        assert_int_equal(strtoull(found[expected]->text, NULL, 10), i + 1);
        passed[kind] = m->ordinal[i] + 1;
        expected++;
    }
    assert_int_equal(n, expected);
    assert_true(more || (!n && !lost));
    assert_memory_equal(place->passed, passed, sizeof(place->passed));
}

static duopoly_EventKind kind_draw(uint64_t *stream)
{
    /* Tasks flood. */
    return test_random(stream) % 3 ? duopoly_EventKind_KIND_TASK
                                   : (duopoly_EventKind)(test_random(stream) % EVENT_KIND_COUNT);
}

static void readers_get_what_is_kept_in_order_and_the_number_of_the_rest(void **state)
{
    uint64_t stream = test_seed();
    struct notices_place places[READERS];
    uint64_t passed[READERS][EVENT_KIND_COUNT] = {{0}};
    uint32_t kinds[READERS];
    struct model m = {0};
    (void)state;
    assert_int_equal(notices_create(rooms, &m.notices), 0);
    for (int r = 0; r < READERS; r++) {
        notices_begin(m.notices, &places[r]);
        kinds[r] = r ? (uint32_t)test_random(&stream) & all_kinds : all_kinds;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (uint64_t n = test_random(&stream) % 8; n && m.n < MOST; n--)
            add(&m, kind_draw(&stream));
        const size_t r = test_random(&stream) % READERS;
        read_some(&m, kinds[r], &places[r], passed[r], (uint32_t)(test_random(&stream) % 9));
    }
    for (int r = 0; r < READERS; r++)
        read_some(&m, kinds[r], &places[r], passed[r], 64);
    notices_destroy(m.notices);
}

static void model_fill(struct model *m, uint64_t *stream, uint64_t n)
{
    *m = (struct model){0};
    assert_int_equal(notices_create(rooms, &m->notices), 0);
    while (n--)
        add(m, kind_draw(stream));
}

/* How many after this sequence are not kept. */
static uint64_t lost_after(const struct model *m, uint32_t kinds, uint64_t sequence)
{
    uint64_t lost = 0;
    for (uint64_t i = sequence; i < m->n; i++)
        lost += is_of(kinds, m->kind[i]) && !is_kept(m, i);
    return lost;
}

/* The kept ones of these kinds from place `first` of all on, but for the first `skipped`. */
static void expect_rest(const struct model *m, uint32_t kinds, struct notices_place *place,
                        uint64_t first, uint64_t skipped)
{
    const struct notice *found[64];
    uint64_t lost;
    uint32_t n = notices_read(m->notices, kinds, place, found, 64, &lost), seen = 0;
    assert_int_equal(lost, 0);
    for (uint64_t i = first; i < m->n; i++) {
        if (!is_of(kinds, m->kind[i]) || !is_kept(m, i))
            continue;
        if (skipped) {
            skipped--;
            continue;
        }
        assert_true(seen < n && found[seen]->sequence == i + 1);
        seen++;
    }
    assert_int_equal(n, seen);
    assert_false(notices_more(m->notices, kinds, place));
}

static uint64_t kept_of(const struct model *m, uint32_t kinds)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < m->n; i++)
        kept += is_of(kinds, m->kind[i]) && is_kept(m, i);
    return kept;
}

static void a_reader_goes_on_behind_a_sequence_and_knows_what_it_lost(void **state)
{
    uint64_t stream = test_seed() + 1;
    struct notices_place place;
    struct model m;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        model_fill(&m, &stream, test_random(&stream) % 60);
        const uint32_t kinds = round % 2 ? (uint32_t)test_random(&stream) & all_kinds : all_kinds;
        const uint64_t sequence = test_random(&stream) % (m.n + 3);
        uint64_t lost = notices_after(m.notices, kinds, sequence, &place);
        uint64_t of_all = lost_after(&m, all_kinds, sequence);
        assert_true(lost == of_all || (!lost && !lost_after(&m, kinds, sequence)));
        expect_rest(&m, kinds, &place, sequence, 0);
        notices_destroy(m.notices);
    }
}

static void a_reader_begins_at_a_time_or_with_the_newest(void **state)
{
    uint64_t stream = test_seed() + 2;
    struct notices_place place;
    struct model m;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        model_fill(&m, &stream, test_random(&stream) % 60);
        const uint32_t kinds = (uint32_t)test_random(&stream) & all_kinds;
        const uint64_t from = test_random(&stream) % (m.n + 2);
        notices_begin(m.notices, &place);
        notices_since(m.notices, 10 * from + 1, &place);
        expect_rest(&m, kinds, &place, from, 0);
        const uint64_t kept = kept_of(&m, kinds), n = test_random(&stream) % 12;
        notices_begin(m.notices, &place);
        notices_newest(m.notices, kinds, n, &place);
        expect_rest(&m, kinds, &place, 0, kept > n ? kept - n : 0);
        notices_destroy(m.notices);
    }
}

static void a_place_beyond_the_end_is_the_end(void **state)
{
    uint64_t stream = test_seed() + 3;
    struct notices_place place;
    struct model m;
    (void)state;
    model_fill(&m, &stream, 50);
    memset(&place, 0xff, sizeof(place));
    assert_false(notices_more(m.notices, all_kinds, &place));
    expect_rest(&m, all_kinds, &place, m.n, 0);
    add(&m, duopoly_EventKind_KIND_MODE);
    expect_rest(&m, all_kinds, &place, m.n - 1, 0);
    notices_end(m.notices, &place);
    assert_false(notices_more(m.notices, all_kinds, &place));
    notices_destroy(m.notices);
}

static void kinds_are_read_as_words(void **state)
{
    uint32_t kinds = 0;
    struct err err;
    (void)state;
    assert_int_equal(event_kinds_parse("job", &kinds, &err), 0);
    assert_int_equal(kinds, 1u << duopoly_EventKind_KIND_JOB);
    assert_int_equal(event_kinds_parse("framework,host,job,job", &kinds, &err), 0);
    assert_int_equal(kinds, 1u << duopoly_EventKind_KIND_JOB | 1u << duopoly_EventKind_KIND_HOST |
                                1u << duopoly_EventKind_KIND_FRAMEWORK);
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        assert_int_equal(event_kinds_parse(event_kind_words[kind], &kinds, &err), 0);
        assert_int_equal(kinds, 1u << kind);
    }
    const char *const wrong[] = {"", "jobs", "jo", "job,", ",job", "job,,host", "Job"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_true(event_kinds_parse(wrong[i], &kinds, &err) < 0);
    event_kinds_parse("job,fish", &kinds, &err);
    assert_string_equal(err.text, "there is no kind 'fish'; there are: job, task, host, mode, "
                                  "hold, policy, stance, key, framework");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_get_what_is_kept_in_order_and_the_number_of_the_rest),
        cmocka_unit_test(a_reader_goes_on_behind_a_sequence_and_knows_what_it_lost),
        cmocka_unit_test(a_reader_begins_at_a_time_or_with_the_newest),
        cmocka_unit_test(a_place_beyond_the_end_is_the_end),
        cmocka_unit_test(kinds_are_read_as_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
