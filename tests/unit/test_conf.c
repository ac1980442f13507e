/* Configurations: each kind of value, each fault's sentence and its place. */
#include "tests/unit/test.h"

#include "lib/conf.h"
#include "lib/conf_check.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct command {
    char name[16];
    char words[3][16];
    uint32_t n_words;
    struct conf_place place;
};
struct timers {
    int64_t silent_ns, lost_ns;
};
struct settings {
    bool quiet;
    int64_t slots, link_bps, cap_bytes, share;
    char listen[32];
    int policy;
    struct timers timers;
    struct command commands[2];
    uint32_t n_commands;
    char first;
};

static int timers_check(const void *structure, struct err *err)
{
    const struct timers *t = structure;
    return t->silent_ns < t->lost_ns ? 0 : err_set(err, EINVAL, "silent must be below lost");
}

static int first_parse(const char *text, void *target, struct err *err)
{
    if (*text == '!')
        return err_set(err, EINVAL, "'%s' begins badly", text);
    *(char *)target = *text;
    return 0;
}

static const char *const policies[] = {"duopoly", "fair", NULL};
static const struct conf_field timer_fields[] = {
    {"silent", CONF_DURATION, offsetof(struct timers, silent_ns), .min = 1, .max = 60000000000,
     .preset = "3 s"},
    {"lost", CONF_DURATION, offsetof(struct timers, lost_ns), .preset = "30 s"},
    {.name = NULL},
};
static const struct conf_section timer_section = {timer_fields, sizeof(struct timers),
                                                  timers_check};
static const struct conf_field word_item = {"", CONF_STRING, .size = 16};
static const struct conf_field command_fields[] = {
    {"name", CONF_STRING, offsetof(struct command, name), .size = 16},
    {"words", CONF_LIST, offsetof(struct command, words), .size = 16, .max = 3, .item = &word_item,
     .count_offset = offsetof(struct command, n_words)},
    {.name = "", .type = CONF_PLACE, .offset = offsetof(struct command, place)},
    {.name = NULL},
};
static int command_beside(const void *items, uint32_t i, struct err *err)
{
    const struct command *commands = items;
    for (uint32_t j = 0; j < i; j++)
        if (strcmp(commands[j].name, commands[i].name) == 0)
            return err_set(err, EINVAL, "%s stands there twice", commands[i].name);
    return 0;
}
/* `quiet` stands before the list or behind it. */
static int command_among(const void *structure, uint32_t i, struct err *err)
{
    const struct settings *s = structure;
    const char *name = s->commands[i].name;
    return s->quiet && strcmp(name, "shout") == 0 ? err_set(err, EINVAL, "%s is not quiet", name)
                                                  : 0;
}
static const struct conf_section command_section = {command_fields, sizeof(struct command), NULL};
static const struct conf_field command_item = {"", CONF_SECTION, .section = &command_section};
static const struct conf_field fields[] = {
    {"quiet", CONF_BOOL, offsetof(struct settings, quiet), .preset = "no"},
    {"slots", CONF_INT, offsetof(struct settings, slots), .min = 1, .max = 1000, .preset = "4"},
    {"link", CONF_RATE, offsetof(struct settings, link_bps), .preset = "1.5 Gbps"},
    {"cap", CONF_BYTES, offsetof(struct settings, cap_bytes), .preset = "64 KiB"},
    {"share", CONF_SHARE, offsetof(struct settings, share), .max = 1000, .preset = "0.5 %"},
    {"listen", CONF_STRING, offsetof(struct settings, listen), .size = 32, .preset = ""},
    {"policy", CONF_CHOICE, offsetof(struct settings, policy), .choices = policies,
     .preset = "duopoly"},
    {"timers", CONF_SECTION, offsetof(struct settings, timers), .section = &timer_section},
    {"commands", CONF_LIST, offsetof(struct settings, commands), .size = sizeof(struct command),
     .max = 2, .item = &command_item, .count_offset = offsetof(struct settings, n_commands),
     .beside = command_beside, .among = command_among},
    {"first", CONF_PARSED, offsetof(struct settings, first), .parse = first_parse, .preset = "x"},
    {.name = NULL},
};
static const struct conf_section section = {fields, sizeof(struct settings), NULL};

static void defaults_are_parsed(void **state)
{
    (void)state;
    struct settings s;
    struct err err;
    assert_int_equal(conf_defaults(&section, &s, &err), 0);
    assert_int_equal(s.link_bps, 1500000000);
    assert_int_equal(s.cap_bytes, 65536);
    assert_int_equal(s.share, 5);
    assert_int_equal(s.timers.lost_ns, 30000000000);
    assert_int_equal(s.n_commands, 0);
    assert_int_equal(s.first, 'x');
}

static void everything_binds(void **state)
{
    (void)state;
    const char *text =
        "quiet: yes\nslots: 8\nlink: 100Mbps\npolicy: fair\nlisten: tcp://[::1]:7600\n"
        "timers: {silent: 250 ms}\ncommands:\n  - name: map\n    words: [a, 'b c']\n  - {name: "
        "reduce}\n";
    struct settings s;
    struct err err;
    assert_int_equal(conf_parse("f", text, strlen(text), &section, &s, &err), 0);
    assert_true(s.quiet);
    assert_int_equal(s.slots, 8);
    assert_int_equal(s.link_bps, 100000000);
    assert_int_equal(s.policy, 1);
    assert_string_equal(s.listen, "tcp://[::1]:7600");
    assert_int_equal(s.timers.silent_ns, 250000000);
    assert_int_equal(s.timers.lost_ns, 30000000000);
    assert_int_equal(s.n_commands, 2);
    assert_int_equal(s.commands[0].n_words, 2);
    assert_string_equal(s.commands[0].words[1], "b c");
    assert_string_equal(s.commands[1].name, "reduce");
    assert_true(s.commands[0].place.line == 8 && s.commands[0].place.column == 5);
    assert_true(s.commands[1].place.line == 10 && s.commands[1].place.column == 5);
}

static void wrong_files_are_refused_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"slots: 4\nslotz: 5\n", "f:2:1: unknown key 'slotz'; did you mean 'slots'?"},
        {"commands:\n- {name: map}\n- {name: shout}\nquiet: yes\n", "f:3:3: shout is not quiet"},
        {"'': 5\n", "f:1:1: unknown key ''; did you mean 'cap'?"},
        {"commands: [{name: a, '': b}]\n", "f:1:22: unknown key ''; did you mean 'name'?"},
        {"slots: 0\n", "f:1:8: slots: '0' is out of range: from 1 to 1000"},
        {"slots: 4.5\n", "f:1:8: slots: '4.5' is finer than this setting can be"},
        {"slots: many\n", "f:1:8: slots: 'many' is not a whole number"},
        {"slots: 99999999999999999999\n",
         "f:1:8: slots: '99999999999999999999' is not a whole number"},
        {"slots: 1\nslots: 2\n", "f:2:1: 'slots' stands here for the second time"},
        {"slots: [1]\n", "f:1:8: slots: one value is expected here"},
        {"slots:\n", "f:1:7: slots: '' is not a whole number"},
        {"quiet: perhaps\n", "f:1:8: quiet: 'perhaps' is neither true nor false"},
        {"link: 100\n", "f:1:7: link: '100' is not a number with a unit: bps, kbps, Mbps or Gbps"},
        {"link: 9999999999999 Gbps\n", "f:1:7: link: '9999999999999 Gbps' is too large"},
        {"share: 100.1 %\n", "f:1:8: share: '100.1 %' is out of range: from 0.0 % to 100.0 %"},
        {"timers:\n  silent: 2 min\n",
         "f:2:11: silent: '2 min' is out of range: from 1 ns to 60 s"},
        {"timers:\n  silent: 40 s\n", "f:2:3: silent must be below lost"},
        {"timers: 5\n", "f:1:9: keys and values are expected here"},
        {"policy: best\n", "f:1:9: policy: 'best' is none of: duopoly, fair"},
        {"listen: 0123456789012345678901234567890123456789\n",
         "f:1:9: listen: too long: 40 bytes, at most 31"},
        {"commands: [{name: a}, {name: b}, {name: c}]\n", "f:1:11: commands: more than 2 items"},
        {"commands: [{words: [a]}]\n", "f:1:12: 'name' is missing"},
        {"commands: [{name: a},\n  {name: a}]\n", "f:2:3: a stands there twice"},
        {"commands: [{name: ''}]\n", "f:1:19: name: must not be empty"},
        {"commands: no\n", "f:1:11: commands: a list is expected here"},
        {"first: '!a'\n", "f:1:8: first: '!a' begins badly"},
        {"[1]: 2\n", "f:1:1: a key must be one word"},
        {"- 1\n", "f:1:1: keys and values are expected here"},
        {"slots: 1\n---\nslots: 2\n", "f:2:1: a second document begins here; one is expected"},
        {"slots: 'a\n", "f:2:1: found unexpected end of stream"},
        {"a: b: c\n", "f:1:5: mapping values are not allowed in this context"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct settings before, s;
        struct err err = {0};
        memset(&before, 0x5a, sizeof(before));
        s = before;
        const char *text = cases[i].text;
        assert_int_equal(conf_parse("f", text, strlen(text), &section, &s, &err), -EINVAL);
        if (strcmp(err.text, cases[i].sentence) != 0)
            fail_msg("%s gives\n%s\nnot\n%s", text, err.text, cases[i].sentence);
        assert_memory_equal(&s, &before, sizeof(s));
        assert_int_equal(conf_parse("f", text, strlen(text), &section, &s, NULL), -EINVAL);
    }
}

static void files_are_read(void **state)
{
    (void)state;
    char path[] = "/tmp/duopoly-conf-XXXXXX";
    struct settings s;
    struct err err;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "slots: 7\n", 9) == 9);
    close(fd);
    int r = conf_read(path, &section, &s, &err);
    unlink(path);
    assert_int_equal(r, 0);
    assert_int_equal(s.slots, 7);
    assert_int_equal(conf_read(path, &section, &s, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(conf_read("/", &section, &s, &err), -EISDIR);
}

/* What was written with a unit is what is read, and any text is refused or read, never more. */
static void numbers_hold_their_properties(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int i = 0; i < 20000; i++) {
        char text[64];
        int64_t value, want = (int64_t)(test_random(&stream) % 9000000000);
        snprintf(text, sizeof(text), "%s%lld.%03lld s", i & 1 ? "-" : "", (long long)(want / 1000),
                 (long long)(want % 1000));
        assert_int_equal(conf_number(CONF_DURATION, text, &value, NULL), 0);
        assert_int_equal(value, (i & 1 ? -want : want) * 1000000);
        char garbage[8] = {0};
        for (int j = 0; j < 7; j++)
            garbage[j] = "0123456789.-% smkKMGiBbp"[test_random(&stream) % 24];
        conf_number((enum conf_type)(CONF_INT + (int)(test_random(&stream) % 5)), garbage, &value,
                    NULL);
    }
}

static void loopback_is_told_from_what_others_reach(void **state)
{
    static const char *const ours[] = {"tcp://127.0.0.1:7600", "tcp://127.9.9.9:*",
                                       "tcp://[::1]:7600", "tcp://lo:7600"};
    static const char *const others[] = {
        "tcp://*:7600",           "tcp://10.0.0.1:7600", "tcp://0.0.0.0:7600",   "tcp://[::]:7600",
        "tcp://[fd00::1]:7600",   "tcp://eth0:7600",     "tcp://localhost:7600", "nonsense",
        "tcp://[::ffff:7f00:1]:1"};
    (void)state;
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        assert_true(conf_address_is_loopback(ours[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(conf_address_is_loopback(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_parsed),
        cmocka_unit_test(everything_binds),
        cmocka_unit_test(wrong_files_are_refused_whole),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(numbers_hold_their_properties),
        cmocka_unit_test(loopback_is_told_from_what_others_reach),
    };
    return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
