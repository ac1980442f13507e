/* The keys of a configuration one by one: what each says, where, and which a running program
 * takes. */
#include "tests/unit/folder.h"

#include "controller/configuration.h"
#include "lib/conf_keys.h"

#include <errno.h>
#include <string.h>

static struct conf_keys keys_of(const char *text)
{
    struct conf_keys keys;
    struct err err;
    if (conf_keys_read(text, strlen(text), &settings_section, &keys, &err) < 0)
        fail_msg("%s", err.text);
    return keys;
}

static void key_is(const struct conf_keys *keys, const char *path, const char *value, uint32_t line,
                   uint32_t column)
{
    const struct conf_key *key = conf_keys_find(keys, path);
    if (!key)
        fail_msg("there is no key %s", path);
    assert_string_equal(key->value, value);
    assert_int_equal(key->at.line, line);
    assert_int_equal(key->at.column, column);
}

static void each_key_has_its_value_and_place(void **state)
{
    (void)state;
    struct conf_keys keys = keys_of("listen: tcp://127.0.0.1:7700\n"
                                    "timers:\n"
                                    "  forget: 10 min\n"
                                    "policy: {turn: sjf, even_wait: 1500 ms, pack: 'yes',\n"
                                    "  mode: {dwell: 0.07 s}, cleared: 70 %}\n");
    key_is(&keys, "listen", "tcp://127.0.0.1:7700", 1, 9);
    key_is(&keys, "timers.forget", "600 s", 3, 11);
    key_is(&keys, "timers.silent", "3 s", 0, 0);
    key_is(&keys, "policy.turn", "sjf", 4, 16);
    key_is(&keys, "policy.even_wait", "1500 ms", 4, 32);
    key_is(&keys, "policy.pack", "yes", 4, 47);
    key_is(&keys, "policy.weight.turn", "preset", 0, 0);
    key_is(&keys, "policy.mode.dwell", "70 ms", 5, 17);
    key_is(&keys, "policy.cleared", "70.0 %", 5, 35);
    key_is(&keys, "bounds.hosts", "10000", 0, 0);
    assert_null(conf_keys_find(&keys, "policy"));
    assert_null(conf_keys_find(&keys, "bounds.host"));
    conf_keys_done(&keys);
}

/* Written by default or by hand, it is the same. */
static void the_manual_says_what_the_defaults_are(void **state)
{
    (void)state;
    static char text[1 << 16];
    FILE *in = fopen("schemas/duopolyd.yaml", "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
    fclose(in);
    struct conf_keys manual = keys_of(text), defaults = keys_of("");
    assert_int_equal(manual.n, defaults.n);
    assert_true(manual.n > 100);
    for (size_t i = 0; i < manual.n; i++) {
        assert_string_equal(manual.at[i].path, defaults.at[i].path);
        assert_string_equal(manual.at[i].value, defaults.at[i].value);
        assert_true(manual.at[i].at.line > 0 && !defaults.at[i].at.line);
    }
    conf_keys_done(&manual);
    conf_keys_done(&defaults);
}

static void file_write(const char *text)
{
    FILE *out = fopen(path_of("conf"), "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* Of each kind one that a running controller takes, and one that waits. */
static void what_is_live_is_taken(void **state)
{
    (void)state;
    struct configuration *configuration;
    struct configured now;
    struct err err;
    const char *path = path_of("conf");
    file_write("log_level: note\n");
    assert_int_equal(configuration_open(path, NULL, &configuration, &err), 0);
    file_write("# one more line\n"
               "log_level: debug\n"
               "timers: {forget: 7 s, heartbeat: 500 ms}\n"
               "policy: {preset: fair, turn: fifo, even_wait: 9 s, seed: 5}\n"
               "bounds: {hosts: 5}\n");
    assert_int_equal(configuration_look(configuration, &now, &err), 0);
    configuration_take(configuration, &now);
    configured_done(&now);
    const struct configured *taken = configuration_taken(configuration);
    const struct settings *settings = &taken->settings;
    assert_int_equal(settings->log_level, 3);
    assert_int_equal(settings->timers.forget_ns, INT64_C(7000000000));
    assert_int_equal(settings->timers.heartbeat_ns, INT64_C(1000000000));
    assert_string_equal(settings->policy.preset, "fair");
    assert_string_equal(settings->policy.turn, "fifo");
    assert_int_equal(settings->policy.values.n, 1);
    assert_int_equal(settings->policy.seed, 1);
    assert_int_equal(settings->bounds.hosts, 10000);
    key_is(&taken->keys, "log_level", "debug", 2, 12);
    key_is(&taken->keys, "timers.forget", "7 s", 3, 18);
    key_is(&taken->keys, "bounds.hosts", "10000", 0, 0);
    file_write("policy: {turn: best}\n");
    assert_int_equal(configuration_look(configuration, &now, &err), -EINVAL);
    assert_non_null(strstr(err.text, "/conf:1:16: turn: 'best' is none of"));
    assert_int_equal(configuration_taken(configuration)->settings.log_level, 3);
    configuration_close(configuration);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_has_its_value_and_place),
        cmocka_unit_test(the_manual_says_what_the_defaults_are),
        cmocka_unit_test(what_is_live_is_taken),
    };
    return cmocka_run_group_tests_name("conf_keys", tests, folder_make, folder_remove);
}
