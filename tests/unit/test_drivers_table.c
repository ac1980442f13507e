/* The table of drivers in docs/operate/queues.md: prints what each driver says of itself, and finds
 * it there. */
#include "controller/switch/render/render.h"
#include "hostagent/files.h"
#include "hostagent/queues/qdisc.h"
#include "hostagent/switches/ovs/ovs_rows.h"
#include "hostagent/switches/sonic/sonic_ports.h"
#include "lib/port/port_message.h"
#include "tests/unit/test.h"

#include <string.h>

#define PAGE      "docs/operate/queues.md"
#define PAGE_MOST (1 << 20)
#define ROW       160

static char *page;

static int read_page(void **state)
{
    struct err err = {0};
    (void)state;
    return files_read_whole(PAGE, PAGE_MOST, &page, &err);
}

static int free_page(void **state)
{
    (void)state;
    free(page);
    return 0;
}

static const char *yes(bool can)
{
    return can ? "yes" : "no";
}

/* A qdisc of the kernel marks by the red in its place; what a NIC does is the NIC's. */
static void say_qdisc(const struct qdisc_driver *driver, char row[ROW])
{
    const struct port_abilities *can = &driver->abilities;
    snprintf(row, ROW, "| `%s` | %s | %s | %s | %s |", driver->name,
             can->hardware ? "by the NIC" : yes(can->strict), yes(can->floors),
             can->hardware ? "by the NIC"
             : can->ecn    ? "with red"
                           : "no",
             yes(can->hardware));
}

static void say(const char *name, const struct port_abilities *can, char row[ROW])
{
    snprintf(row, ROW, "| `%s` | %s | %s | %s | %s |", name, yes(can->strict), yes(can->floors),
             yes(can->ecn), yes(can->hardware));
}

static void find(const char *row)
{
    char line[ROW + 1];
    snprintf(line, sizeof(line), "\n%s", row);
    print_message("%s\n", row);
    if (!strstr(page, line))
        fail_msg(PAGE " has no row that begins with %s", row);
}

static void test_queue_drivers(void **state)
{
    char row[ROW];
    (void)state;
    for (const struct qdisc_driver *const *driver = qdisc_all; *driver; driver++) {
        if (*driver == &qdisc_auto || *driver == &qdisc_recorder)
            continue; /* one of the others; none */
        say_qdisc(*driver, row);
        find(row);
    }
}

static void test_switch_drivers(void **state)
{
    struct switch_settings settings = {0};
    struct switch_ports *ports = NULL;
    struct err err = {0};
    char row[ROW];
    (void)state;
    say("ovs", &ovs_facts.abilities, row);
    find(row);
    json_t *db =
        json_pack("{s:{s:{s:s, s:s}}}", "PORT", "Ethernet0", "lanes", "0", "speed", "40000");
    assert_int_equal(sonic_ports_list(&settings, "redis", db, NULL, &ports, &err), 0);
    say("sonic", &ports->ports[0].facts.abilities, row);
    find(row);
    say("fastpath", &port_message_abilities, row);
    find(row);
    free(ports);
    json_decref(db);
}

static void test_renderers(void **state)
{
    char name[64], row[ROW];
    (void)state;
    for (const struct renderer *const *renderer = render_all; *renderer; renderer++) {
        snprintf(name, sizeof(name), "render --as %s", (*renderer)->name);
        say(name, &(*renderer)->abilities, row);
        find(row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_drivers),
        cmocka_unit_test(test_switch_drivers),
        cmocka_unit_test(test_renderers),
    };
    return cmocka_run_group_tests(tests, read_page, free_page);
}
