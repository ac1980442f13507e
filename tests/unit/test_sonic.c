/* What a SONiC's CONFIG_DB becomes (lib/sonic): every code point of ours in its queue, everything
 * of the site's where it was, and all of it taken back. Sites are drawn at random from a printed
 * seed. */
#include "tests/unit/sonic_site.h"
#include "tests/unit/test.h"

#include "lib/sonic/sonic_steps.h"
#include "lib/sonic/sonic_undo.h"
#include "lib/sonic/sonic_want.h"

#include <errno.h>

#define PORTS 9

static const uint8_t code_points[PORT_LEVELS] = {3, 7, 11, 15, 19, 23, 27, 31};

static struct port_wish wish_of(bool ecn)
{
    struct port_wish wish = port_wish_preset;
    wish.ecn = ecn;
    return wish;
}

struct wanted {
    uint32_t n;
    char name[PORTS][SONIC_NAME];
    struct port want[PORTS];
    struct sonic_port of[PORTS];
    struct sonic_facts facts[PORTS];
};

static void want_port(const json_t *site, const char *name, const struct port_wish *wish,
                      struct wanted *wanted)
{
    struct err err = {0};
    uint32_t i = wanted->n++;
    snprintf(wanted->name[i], SONIC_NAME, "%s", name);
    assert_int_equal(sonic_facts(site, name, &wanted->facts[i], &err), 0);
    struct port_facts facts = {.mtu_bytes = wanted->facts[i].mtu_bytes,
                               .link_bps = wanted->facts[i].link_bps,
                               .queues_n = SONIC_QUEUES,
                               .abilities = {.strict = true, .floors = true, .ecn = true}};
    for (uint32_t q = 0; q < SONIC_QUEUES; q++)
        facts.lossless |= (uint32_t)(wanted->facts[i].lossless >> q & 1) << (7 - q);
    if (port_want(wish, &facts, &wanted->want[i], &err) < 0)
        fail_msg("%s: %s", name, err.text);
    wanted->of[i] = (struct sonic_port){wanted->name[i], &wanted->want[i]};
}

static json_t *want(const json_t *site, const struct wanted *wanted)
{
    const struct sonic_wish wish = {
        .owner = "tester", .dscp_of_level = code_points, .ports = wanted->of, .ports_n = wanted->n};
    struct err err = {0};
    json_t *db = NULL;
    if (sonic_want(site, &wish, &db, &err) < 0)
        fail_msg("%s", err.text);
    return db;
}

/* ---- what it becomes ------------------------------------------------------------------------- */

static bool is_code_point(uint32_t dscp)
{
    for (int level = 0; level < PORT_LEVELS; level++)
        if (code_points[level] == dscp)
            return true;
    return dscp == PORT_DSCP_CONTROL;
}

static void check_code_points(const json_t *site, const json_t *db, const struct wanted *wanted,
                              uint32_t i)
{
    const struct port *port = &wanted->want[i];
    for (uint32_t dscp = 0; dscp < SONIC_DSCPS; dscp++) {
        int before = site_queue_of(site, wanted->name[i], dscp);
        int after = site_queue_of(db, wanted->name[i], dscp);
        bool lossless = wanted->facts[i].lossless >> before & 1;
        if (!is_code_point(dscp) && lossless)
            assert_int_equal(after, before);
        else
            assert_int_equal(after, (int)sonic_number(&port->queues[port->queue_of_dscp[dscp]]));
    }
}

static void check_queue(const json_t *db, const char *name, const struct port_queue *queue,
                        uint32_t mtu)
{
    char value[SONIC_NAME], number[24];
    site_cell(db, name, sonic_number(queue), "scheduler", value);
    assert_string_equal(sonic_field(db, "SCHEDULER", value, "type"), "STRICT");
    const char *cir = sonic_field(db, "SCHEDULER", value, "cir");
    assert_true(queue->floor_bps ? (uint64_t)atoll(cir) == (queue->floor_bps + 7) / 8 : !cir);
    site_cell(db, name, sonic_number(queue), "wred_profile", value);
    if (!queue->ecn_packets) {
        assert_string_equal(value, "");
        return;
    }
    snprintf(number, sizeof(number), "%u", queue->ecn_packets * mtu);
    assert_string_equal(sonic_field(db, "WRED_PROFILE", value, "ecn"), "ecn_all");
    assert_string_equal(sonic_field(db, "WRED_PROFILE", value, "green_min_threshold"), number);
    assert_string_equal(sonic_field(db, "WRED_PROFILE", value, "red_max_threshold"), number);
}

static void check_others_cells(const json_t *site, const json_t *db, const char *name,
                               const struct port *port)
{
    for (uint32_t q = 0; q < SONIC_QUEUES + 2; q++) {
        char before[SONIC_NAME], after[SONIC_NAME];
        bool ours = false;
        for (uint32_t i = 0; port && i < port->queues_n; i++)
            ours = ours || sonic_number(&port->queues[i]) == q;
        if (ours)
            continue;
        site_cell(site, name, q, "scheduler", before);
        site_cell(db, name, q, "scheduler", after);
        assert_string_equal(before, after);
        site_cell(site, name, q, "wred_profile", before);
        site_cell(db, name, q, "wred_profile", after);
        assert_string_equal(before, after);
    }
}

static void check_others_maps(const json_t *site, const json_t *db, const char *name, bool ours)
{
    static const char *const fields[] = {"tc_to_pg_map", "pfc_to_queue_map", "pfc_enable",
                                         "dscp_to_tc_map", "tc_to_queue_map"};
    char before[SONIC_NAME], after[SONIC_NAME];
    for (uint32_t i = 0; i < (ours ? 3 : 5); i++) {
        site_port_map(site, name, fields[i], before);
        site_port_map(db, name, fields[i], after);
        assert_string_equal(before, after);
    }
}

/* The site's objects are as they were, and whatever is referred to is there. */
static void check_objects(const json_t *site, const json_t *db)
{
    for (uint32_t i = 0; i < 4; i++) {
        const char *name;
        json_t *row;
        json_object_foreach(json_object_get(site, sonic_ours[i]), name, row)
        {
            assert_true(json_equal(row, sonic_row(db, sonic_ours[i], name)));
        }
        json_object_foreach(json_object_get(db, sonic_ours[i]), name, row)
        {
            assert_true(strlen(name) <= 32);
            if (!sonic_row(site, sonic_ours[i], name))
                assert_int_equal(sonic_owner(name, "tester"), SONIC_OURS);
            if (i == 0 && !sonic_row(site, sonic_ours[i], name))
                assert_int_equal(json_object_size(row), SONIC_DSCPS);
        }
    }
}

static void check_want(const json_t *site, const json_t *db, const struct wanted *wanted,
                       uint32_t ports)
{
    check_objects(site, db);
    for (uint32_t i = 0; i < wanted->n; i++) {
        check_code_points(site, db, wanted, i);
        for (uint32_t q = 0; q < wanted->want[i].queues_n; q++)
            check_queue(db, wanted->name[i], &wanted->want[i].queues[q], wanted->want[i].mtu_bytes);
    }
    for (uint32_t p = 0; p < ports; p++) {
        char name[SONIC_NAME];
        const struct port *port = NULL;
        site_name(p, name);
        for (uint32_t i = 0; i < wanted->n; i++)
            port = strcmp(wanted->name[i], name) == 0 ? &wanted->want[i] : port;
        check_others_cells(site, db, name, port);
        check_others_maps(site, db, name, port != NULL);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int table_of(const char *name)
{
    int i = 0;
    while (strcmp(sonic_ours[i], name) != 0)
        i++;
    return i;
}

/* Referred to first, and last when they go; one after the other they end at `to`. */
static uint32_t check_steps(const json_t *from, const json_t *to)
{
    struct sonic_step *steps = NULL;
    uint32_t n;
    json_t *db = json_deep_copy(from);
    assert_int_equal(sonic_steps(from, to, &steps, &n), 0);
    int last = 0;
    for (uint32_t i = 0; i < n; i++) {
        int table = table_of(steps[i].table);
        int stage = steps[i].to || table >= 4 ? table : 10 - table;
        assert_true(stage >= last);
        last = stage;
        assert_true(sonic_row(db, steps[i].table, steps[i].key) || !steps[i].from);
        if (steps[i].to)
            assert_int_equal(
                sonic_put(db, steps[i].table, steps[i].key, json_deep_copy(steps[i].to)), 0);
        else
            sonic_drop(db, steps[i].table, steps[i].key);
    }
    assert_true(json_equal(db, to));
    json_decref(db);
    free(steps);
    return n;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void want_some(const json_t *site, uint64_t *stream, uint32_t ports, bool ecn,
                      struct wanted *wanted)
{
    struct port_wish wish = wish_of(ecn);
    char name[SONIC_NAME];
    wish.levels = 1 + (uint32_t)(test_random(stream) % PORT_LEVELS);
    for (uint32_t i = 0; i < ports; i++) {
        site_name(i, name);
        if (test_random(stream) % 4)
            want_port(site, name, &wish, wanted);
    }
}

static void random_queues(json_t *db, uint64_t *stream, const char *name, const char *other)
{
    char list[2 * SONIC_NAME], range[32];
    uint32_t from = 0;
    while (from < 9) {
        uint32_t to = from + (uint32_t)(test_random(stream) % 4);
        snprintf(range, sizeof(range), "%u", from);
        if (to > from)
            snprintf(range, sizeof(range), "%u-%u", from, to);
        bool both = other && test_random(stream) % 4 == 0;
        snprintf(list, sizeof(list), "%s%s%s", name, both ? "," : "", both ? other : "");
        if (test_random(stream) % 4)
            site_queue(db, list, range, test_random(stream) % 2 ? "scheduler.0" : "scheduler.1",
                       test_random(stream) % 2 ? "AZURE_LOSSLESS" : NULL);
        from = to + 1;
    }
}

/* Cells of a port are named once: sites do not contradict themselves. */
static json_t *random_site(uint64_t *stream)
{
    static const char *const pfc[] = {NULL, "3,4", "3", "2,3", ""};
    json_t *db = site_bare(PORTS);
    char name[SONIC_NAME], other[SONIC_NAME];
    site_objects(db);
    for (uint32_t i = 0; i < PORTS; i++) {
        site_name(i, name);
        site_name(i + 1, other);
        bool next = i + 1 < PORTS && i % 3 == 0;
        random_queues(db, stream, name, next ? other : NULL);
        if (test_random(stream) % 5)
            site_maps(db, name, test_random(stream) % 2 ? "AZURE" : "STORAGE",
                      pfc[test_random(stream) % 5]);
        i += next; /* has what the list says */
    }
    return db;
}

static void test_a_random_site_becomes_ours_and_comes_back(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int round = 0; round < 300; round++) {
        json_t *site = random_site(&stream);
        struct wanted wanted = {0};
        want_some(site, &stream, PORTS, round % 2, &wanted);
        json_t *db = want(site, &wanted);
        check_want(site, db, &wanted, PORTS);
        check_steps(site, db);
        check_steps(db, site);

        json_t *kept = sonic_keep(site, db, NULL);
        json_t *back = sonic_undo(db, kept);
        assert_true(json_equal(back, site));
        json_decref(back);
        back = sonic_undo(site, kept);
        assert_true(json_equal(back, site));
        json_decref(back);
        json_decref(kept);
        json_decref(db);
        json_decref(site);
    }
}

static void take_owner(void *user, const struct sonic_taken *taken)
{
    enum sonic_owner *owner = user;
    *owner = taken->owner;
}

/* Whose rows would make room; SONIC_OURS: nobody's. */
static enum sonic_owner in_place(const json_t *db, const json_t *site, const json_t *want,
                                 const char *owner)
{
    enum sonic_owner found = SONIC_OURS;
    sonic_in_place(db, site, want, owner, take_owner, &found);
    return found;
}

static void test_the_full_switch(void **state)
{
    (void)state;
    json_t *site = site_full(PORTS);
    struct wanted wanted = {0};
    struct port_wish wish = wish_of(true);
    char name[SONIC_NAME];
    for (uint32_t i = 0; i < PORTS; i++) {
        site_name(i, name);
        want_port(site, name, &wish, &wanted);
    }
    json_t *db = want(site, &wanted);
    check_want(site, db, &wanted, PORTS);
    /* A row of lossless queues alone stays; one that has another of ours is split. */
    assert_non_null(sonic_row(db, "QUEUE", "Ethernet4|3-4"));
    assert_null(sonic_row(db, "QUEUE", "Ethernet8|2-4"));
    assert_int_equal(in_place(site, site, db, "tester"), SONIC_SITES);
    assert_int_equal(in_place(db, site, db, "tester"), SONIC_OURS);
    /* The same again is the same. */
    json_t *again = want(site, &wanted);
    assert_int_equal(check_steps(db, again), 0);
    json_decref(again);
    json_decref(db);
    json_decref(site);
}

/* Two wishes one after the other, and a kill before or after each write: always back. */
static void test_generations_come_back(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int round = 0; round < 100; round++) {
        json_t *site = random_site(&stream);
        struct wanted one = {0}, two = {0};
        want_some(site, &stream, PORTS, false, &one);
        want_some(site, &stream, PORTS, true, &two);
        json_t *first = want(site, &one), *second = want(site, &two);
        json_t *kept = sonic_keep(site, first, NULL), *last = sonic_keep_last(kept);
        json_t *both = sonic_keep(site, second, last);
        const json_t *found[] = {site, first, second};
        for (int i = 0; i < 3; i++) {
            json_t *back = sonic_undo(found[i], both);
            assert_true(json_equal(back, site));
            json_decref(back);
        }
        json_decref(both);
        json_decref(last);
        json_decref(kept);
        json_decref(first);
        json_decref(second);
        json_decref(site);
    }
}

static void test_what_somebody_sets_stays(void **state)
{
    (void)state;
    json_t *site = site_full(PORTS);
    struct wanted wanted = {0};
    struct port_wish wish = wish_of(true);
    want_port(site, "Ethernet0", &wish, &wanted);
    json_t *db = want(site, &wanted), *kept = sonic_keep(site, db, NULL);
    site_set(db, "PORT_QOS_MAP", "Ethernet0", "pfc_enable", "4");
    site_set(db, "PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map", "STORAGE");
    site_set(db, "QUEUE", "Ethernet0|7", "scheduler", "scheduler.1");
    json_t *back = sonic_undo(db, kept);
    assert_string_equal(sonic_field(back, "PORT_QOS_MAP", "Ethernet0", "pfc_enable"), "4");
    assert_string_equal(sonic_field(back, "PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map"),
                        "STORAGE");
    assert_string_equal(sonic_field(back, "PORT_QOS_MAP", "Ethernet0", "tc_to_queue_map"), "AZURE");
    assert_string_equal(sonic_field(back, "QUEUE", "Ethernet0|7", "scheduler"), "scheduler.1");
    assert_null(sonic_field(back, "QUEUE", "Ethernet0|7", "wred_profile"));
    assert_string_equal(sonic_field(back, "QUEUE", "Ethernet0|6", "scheduler"), "scheduler.0");
    json_decref(back);
    json_decref(kept);
    json_decref(db);
    json_decref(site);
}

static void test_older_switches_have_references_in_brackets(void **state)
{
    (void)state;
    json_t *site = site_bare(2);
    struct wanted wanted = {0};
    struct port_wish wish = wish_of(false);
    site_objects(site);
    site_queue(site, "Ethernet0,Ethernet4", "3-4", "[SCHEDULER|scheduler.1]", NULL);
    site_maps(site, "Ethernet0", "[DSCP_TO_TC_MAP|AZURE]", "3,4");
    site_set(site, "PORT_QOS_MAP", "Ethernet0", "tc_to_queue_map", "[TC_TO_QUEUE_MAP|AZURE]");
    want_port(site, "Ethernet0", &wish, &wanted);
    json_t *db = want(site, &wanted);
    check_want(site, db, &wanted, 2);
    const char *scheduler = sonic_field(db, "QUEUE", "Ethernet0|7", "scheduler");
    assert_int_equal(strncmp(scheduler, "[SCHEDULER|duopoly-", 19), 0);
    json_decref(db);
    json_decref(site);
}

static void test_another_agents_rows_are_told(void **state)
{
    (void)state;
    json_t *site = site_full(3);
    struct wanted wanted = {0};
    struct port_wish wish = wish_of(false);
    want_port(site, "Ethernet0", &wish, &wanted);
    json_t *theirs = want(site, &wanted), *db = NULL;
    const struct sonic_wish other = {
        .owner = "other", .dscp_of_level = code_points, .ports = wanted.of, .ports_n = 1};
    assert_int_equal(sonic_want(theirs, &other, &db, NULL), 0);
    assert_int_equal(in_place(theirs, theirs, db, "other"), SONIC_ANOTHERS);
    json_decref(db);
    json_decref(theirs);
    json_decref(site);
}

static void test_what_is_no_sonic_is_refused(void **state)
{
    (void)state;
    struct err err = {0};
    struct sonic_facts facts;
    json_t *db = json_object();
    assert_int_equal(sonic_check(db, &err), -EPROTO);
    site_set(db, "DEVICE_METADATA", "localhost", "hwsku", "x");
    assert_int_equal(sonic_check(db, &err), -EPROTO);
    site_set(db, "PORT", "Ethernet0", "speed", "100000");
    assert_int_equal(sonic_check(db, &err), 0);
    assert_int_equal(sonic_facts(db, "Ethernet0", &facts, &err), 0);
    assert_int_equal(facts.link_bps, 100000000000);
    assert_int_equal(sonic_facts(db, "Ethernet4", &facts, &err), -ENODEV);
    site_set(db, "PORT", "Ethernet0", "speed", "fast");
    assert_int_equal(sonic_facts(db, "Ethernet0", &facts, &err), -EINVAL);
    site_set(db, "PORT", "Ethernet0", "speed", "40000");
    site_set(db, "PORT_QOS_MAP", "Ethernet0", "pfc_enable", "3,9");
    assert_int_equal(sonic_facts(db, "Ethernet0", &facts, &err), -EINVAL);
    site_set(db, "DEVICE_METADATA", "localhost", "switch_type", "voq");
    assert_int_equal(sonic_check(db, &err), -EPROTO);
    json_decref(db);
}

static void test_keys_are_read(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "|3",
                                      "Ethernet0",
                                      "Ethernet0|",
                                      "Ethernet0|3-",
                                      "Ethernet0|4-3",
                                      "Ethernet0|3-3",
                                      "Ethernet0|3-4x",
                                      "Ethernet0|-3",
                                      "Ethernet0|0-4000000000",
                                      "a|b|3"};
    struct sonic_cells cells;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(sonic_cells(bad[i], &cells), -EINVAL);
    assert_int_equal(sonic_cells("Ethernet0,Ethernet4|3-12", &cells), 0);
    assert_int_equal(cells.ports_bytes, 19);
    assert_int_equal(cells.low, 3);
    assert_int_equal(cells.high, 12);
}

static void test_what_is_kept_is_text(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{}",
                                      "{\"before\":{},\"ours\":[]}",
                                      "{\"before\":{},\"ours\":[3]}",
                                      "{\"before\":{\"QUEUE\":{\"a\":3}},\"ours\":[{}]}",
                                      "{\"before\":{},\"ours\":[{\"QUEUE\":{\"a\":{\"b\":1}}}]}"};
    json_t *site = site_full(3), *kept = NULL;
    struct wanted wanted = {0};
    struct port_wish wish = wish_of(true);
    struct err err = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(sonic_kept_parse(bad[i], &kept, &err), -EINVAL);
    want_port(site, "Ethernet0", &wish, &wanted);
    json_t *db = want(site, &wanted), *made = sonic_keep(site, db, NULL);
    char *text = sonic_kept_text(made);
    assert_int_equal(sonic_kept_parse(text, &kept, &err), 0);
    assert_true(json_equal(made, kept));
    free(text);
    json_decref(kept);
    json_decref(made);
    json_decref(db);
    json_decref(site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_random_site_becomes_ours_and_comes_back),
        cmocka_unit_test(test_the_full_switch),
        cmocka_unit_test(test_generations_come_back),
        cmocka_unit_test(test_what_somebody_sets_stays),
        cmocka_unit_test(test_older_switches_have_references_in_brackets),
        cmocka_unit_test(test_another_agents_rows_are_told),
        cmocka_unit_test(test_what_is_no_sonic_is_refused),
        cmocka_unit_test(test_keys_are_read),
        cmocka_unit_test(test_what_is_kept_is_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
