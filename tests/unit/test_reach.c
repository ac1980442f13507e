/* Which addresses configurations may name, where an endpoint leads, and how seldom a lasting fault
 * is said. */
#include "tests/unit/test.h"

#include "lib/conf_check.h"
#include "lib/rarely.h"
#include "lib/reach.h"

#include <errno.h>
#include <string.h>

#define MINUTE UINT64_C(60000000)

static void addresses_are_judged(void **state)
{
    static const struct {
        const char *text, *connect, *listen; /* NULL: taken */
    } cases[] = {
        {"tcp://127.0.0.1:7600", NULL, NULL},
        {"tcp://[::1]:7600", NULL, NULL},
        {"tcp://[fe80::1]:7600", "say which, as in [fe80::1%eth0]", "say which"},
        {"tcp://[fe80::1%nowhere0]:7600", "no interface nowhere0", "no interface nowhere0"},
        {"tcp://::1:7600", "is written in brackets", "is written in brackets"},
        {"tcp://0.0.0.0:7600", "not a host's address", NULL},
        {"tcp://[::]:7600", "not a host's address", NULL},
        {"tcp://239.1.1.1:7600", "not a host's address", NULL},
        {"tcp://[ff02::1]:7600", "not a host's address", NULL},
        {"tcp://255.255.255.255:7600", "not a host's address", NULL},
        {"tcp://*:7600", "neither an address nor a name", NULL},
        {"tcp://ctrl.example:7600", NULL, "no interface ctrl.example"},
        {"tcp://10.0.0.300:7600", "neither an address nor a name", "neither"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *wanted[] = {cases[i].connect, cases[i].listen};
        for (int listen = 0; listen < 2; listen++) {
            struct err err = {0};
            int r = listen ? conf_check_listen(cases[i].text, &err)
                           : conf_check_connect(cases[i].text, &err);
            if (wanted[listen] ? r != -EINVAL || !strstr(err.text, wanted[listen]) : r != 0)
                fail_msg("%s to %s: %d, '%s'", cases[i].text, listen ? "listen on" : "connect to",
                         r, err.text);
        }
    }
}

static void loopback_is_told(void **state)
{
    (void)state;
    assert_true(conf_address_is_loopback("tcp://127.3.0.1:1"));
    assert_true(conf_address_is_loopback("tcp://[::1]:1"));
    assert_true(conf_address_is_loopback("tcp://lo:1"));
    assert_false(conf_address_is_loopback("tcp://*:1"));
    assert_false(conf_address_is_loopback("tcp://[::]:1"));
    assert_false(conf_address_is_loopback("tcp://10.0.0.1:1"));
}

static void endpoints_are_read_as_they_are_printed(void **state)
{
    static const char *const same[] = {"tcp://10.0.0.1:7600", "tcp://[fd00::1]:1",
                                       "tcp://[fe80::1%lo]:65535"};
    struct reach_found found;
    struct err err;
    char text[REACH_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        assert_int_equal(reach_read(same[i], &found, &err), 0);
        assert_int_equal(found.n, 1);
        reach_print(&found.addresses[0], text);
        assert_string_equal(text, same[i]);
    }
    assert_int_equal(reach_read("tcp://ctrl.example:7600", &found, &err), -EAGAIN);
    assert_int_equal(reach_read("tcp://nothing", &found, &err), -EINVAL);
    assert_int_equal(reach_read("ipc:///tmp/x", &found, &err), -EINVAL);
    assert_int_equal(reach_read("", &found, &err), -EINVAL);
}

static void a_fault_that_lasts_is_said_rarely(void **state)
{
    struct rarely rarely = {0};
    unsigned said = 0;
    (void)state;
    for (uint64_t minute = 0; minute < 24 * 60; minute++)
        said += rarely_say(&rarely, "refused", minute * MINUTE);
    /* At once, after 1, 3, 7, 15, 31 and 63 minutes, and then in every hour. */
    assert_int_equal(said, 7 + (24 * 60 - 1 - 63) / 60);
    assert_true(rarely_say(&rarely, "unknown", 24 * 60 * MINUTE));
    assert_false(rarely_say(&rarely, "unknown", 24 * 60 * MINUTE + 1));
    rarely_right(&rarely);
    assert_true(rarely_say(&rarely, "unknown", 24 * 60 * MINUTE + 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_judged),
        cmocka_unit_test(loopback_is_told),
        cmocka_unit_test(endpoints_are_read_as_they_are_printed),
        cmocka_unit_test(a_fault_that_lasts_is_said_rarely),
    };
    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
