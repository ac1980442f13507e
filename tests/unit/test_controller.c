/* The daemon's ground: settings, timers, the epoch's file. */
#include "tests/unit/folder.h"

#include "controller/engine/policy/presets.h"
#include "controller/epoch.h"
#include "controller/settings.h"
#include "controller/timers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void file_write(const char *name, const char *text)
{
    FILE *out = fopen(path_of(name), "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

struct alarm {
    struct timer timer;
    struct timers *timers;
    int fired;
    int64_t last_ns;
    int64_t again_ns; /* > 0: armed again for so much later */
};

static void alarm_fire(struct timer *timer, int64_t now_ns)
{
    struct alarm *alarm = (struct alarm *)timer;
    alarm->fired++;
    assert_true(timer->due_ns <= now_ns && timer->due_ns >= alarm->last_ns);
    alarm->last_ns = timer->due_ns;
    if (alarm->again_ns)
        timers_arm(alarm->timers, timer, timer->due_ns + alarm->again_ns);
}

static void timers_fire_in_order(void **state)
{
    (void)state;
    struct timers timers;
    struct alarm alarms[3] = {{.again_ns = 10}, {.again_ns = 0}, {.again_ns = 0}};
    timers_init(&timers);
    assert_int_equal(timers_next_ns(&timers), INT64_MAX);
    for (int i = 0; i < 3; i++) {
        alarms[i].timer.fire = alarm_fire;
        alarms[i].timers = &timers;
        timers_arm(&timers, &alarms[i].timer, 5 + i);
    }
    timers_disarm(&timers, &alarms[2].timer);
    timers_disarm(&timers, &alarms[2].timer);
    timers_run(&timers, 4);
    assert_int_equal(alarms[0].fired, 0);
    timers_run(&timers, 26);
    assert_int_equal(alarms[0].fired, 3);
    assert_int_equal(alarms[1].fired, 1);
    assert_int_equal(alarms[2].fired, 0);
    assert_int_equal(timers_next_ns(&timers), 35);
}

static void many_timers_fire_once_each(void **state)
{
    (void)state;
    static struct alarm alarms[1000];
    uint64_t stream = test_seed();
    struct timers timers;
    timers_init(&timers);
    memset(alarms, 0, sizeof(alarms));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 1000; i++) {
            alarms[i].timer.fire = alarm_fire;
            timers_arm(&timers, &alarms[i].timer, (int64_t)(test_random(&stream) % 500));
        }
    for (int64_t now_ns = 0; now_ns < 500; now_ns++) {
        timers_run(&timers, now_ns);
        assert_true(timers_next_ns(&timers) > now_ns);
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(alarms[i].fired, 1);
}

static void epochs_grow_and_numbers_are_not_reused(void **state)
{
    (void)state;
    struct epoch *s;
    struct err err;
    uint64_t job, last = 0;
    for (uint32_t epoch = 1; epoch <= 3; epoch++) {
        if (epoch_open(path_of("state"), NULL, &s, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(epoch_number(s), epoch);
        for (int i = 0; i < EPOCH_JOB_BLOCK + 10; i++) {
            assert_int_equal(epoch_job_number(s, &job, &err), 0);
            assert_true(job > last);
            assert_true(i == 0 || job == last + 1);
            last = job;
        }
        epoch_close(s);
    }
}

/* After a restored or lost state: above what agents have seen, and no number given again. */
static void epochs_are_raised_and_numbers_leap(void **state)
{
    (void)state;
    struct epoch *s;
    struct err err;
    uint64_t job;
    assert_int_equal(epoch_open(path_of("raised"), NULL, &s, &err), 0);
    assert_int_equal(epoch_raise(s, 70, &err), 0);
    assert_int_equal(epoch_raise(s, 3, &err), 0);
    assert_int_equal(epoch_raise(s, UINT32_MAX - 1, &err), -ERANGE);
    assert_int_equal(epoch_jobs_leap(s, 1999999, &err), 0);
    assert_int_equal(epoch_job_number(s, &job, &err), 0);
    assert_int_equal(job, 2000001);
    epoch_close(s);
    assert_int_equal(epoch_open(path_of("raised"), NULL, &s, &err), 0);
    assert_int_equal(epoch_number(s), 71);
    assert_int_equal(epoch_jobs_leap(s, 5, &err), 0);
    assert_int_equal(epoch_job_number(s, &job, &err), 0);
    assert_int_equal(job, 3000001);
    epoch_close(s);
}

static void a_folder_has_one_controller(void **state)
{
    (void)state;
    struct epoch *s, *second;
    struct err err;
    assert_int_equal(epoch_open(folder, NULL, &s, &err), 0);
    assert_int_equal(epoch_open(folder, NULL, &second, &err), -EWOULDBLOCK);
    assert_non_null(strstr(err.text, folder));
    epoch_close(s);
    assert_int_equal(epoch_open(folder, NULL, &s, &err), 0);
    epoch_close(s);
    epoch_close(NULL);
}

static void broken_state_is_not_overwritten(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "epoch x\n", "epoch 3\n", "epoch 3\njobs 5\nmore\n",
                                        "epoch 4294967295\njobs 1\n"};
    struct epoch *s;
    struct err err;
    char text[64] = "";
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        file_write("epoch", texts[i]);
        assert_int_equal(epoch_open(folder, NULL, &s, &err), -EINVAL);
        FILE *in = fopen(path_of("epoch"), "r");
        size_t n = fread(text, 1, sizeof(text) - 1, in);
        fclose(in);
        text[n] = '\0';
        assert_string_equal(text, texts[i]);
    }
    assert_int_equal(epoch_open("/nowhere/at/all", NULL, &s, &err), -ENOENT);
}

/* The manual holds every key, and nothing but defaults. */
static void the_manual_is_the_default(void **state)
{
    (void)state;
    struct settings manual, defaults;
    struct err err;
    memset(&manual, 0, sizeof(manual));
    memset(&defaults, 0, sizeof(defaults));
    if (settings_load("schemas/duopolyd.yaml", &manual, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(settings_load(NULL, &defaults, &err), 0);
    assert_memory_equal(&manual, &defaults, sizeof(manual));
}

static void keys_stand_in_the_manual(const struct conf_section *section, const char *text)
{
    for (const struct conf_field *f = section->fields; f->name; f++) {
        char key[64];
        if (f->type == CONF_WORDS)
            continue;
        snprintf(key, sizeof(key), "%s:", f->name);
        if (!strstr(text, key))
            fail_msg("%s is missing in schemas/duopolyd.yaml", key);
        if (f->type == CONF_SECTION)
            keys_stand_in_the_manual(f->section, text);
    }
}

static const char *manual(void)
{
    static char text[1 << 16];
    FILE *in = fopen("schemas/duopolyd.yaml", "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
    fclose(in);
    return text;
}

static void the_manual_is_complete(void **state)
{
    (void)state;
    keys_stand_in_the_manual(&settings_section, manual());
}

static void section_stands_in_the_manual(const char *question, const char *name)
{
    char section[64];
    snprintf(section, sizeof(section), "\n  # %s %s: ", question, name);
    if (!strstr(manual(), section))
        fail_msg("schemas/duopolyd.yaml does not say what %s %s is", question, name);
}

/* What each policy does, and why one would choose it. */
static void every_policy_has_its_section(void **state)
{
    (void)state;
    static const char *const questions[] = {"turn", "place", "commit", "network", "users"};
    const char *name;
    for (size_t q = 0; q < sizeof(questions) / sizeof(questions[0]); q++)
        for (unsigned i = 0; (name = engine_policy_name(questions[q], i)); i++)
            section_stands_in_the_manual(questions[q], name);
    for (const struct preset *preset = presets; preset->name; preset++)
        if (!preset->levels)
            section_stands_in_the_manual("preset", preset->name);
}

/* Each with its default and the sentence of its table. */
static void every_parameter_stands_in_the_manual(void **state)
{
    (void)state;
    static const char *const questions[] = {"turn", "place", "commit", "network", "mode", "users"};
    const struct engine_parameter *parameter;
    unsigned n = 0;
    for (size_t q = 0; q < sizeof(questions) / sizeof(questions[0]); q++)
        for (unsigned i = 0; (parameter = engine_question_parameter(questions[q], i)); i++, n++) {
            char key[64];
            snprintf(key, sizeof(key), " %s: preset ", parameter->word);
            const char *at = strstr(manual(), key), *says = at ? strchr(at, '#') : NULL;
            if (!says || strncmp(says + 2, parameter->what, strlen(parameter->what)) != 0)
                fail_msg("schemas/duopolyd.yaml does not say of %s: %s", key, parameter->what);
        }
    assert_true(n >= 3);
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"polic: {}\n", ":1:1: unknown key 'polic'; did you mean 'policy'?"},
        {"policy:\n  turn: best\n", ":2:9: turn: 'best' is none of: "},
        {"policy: {preset: best}\n", ":1:18: preset: 'best' is none of: joint, "},
        {"policy: {preset: duopoly-i}\n", ":1:18: preset: 'duopoly-i' needs more levels than"},
        {"policy: {even_wait: 2}\n", ":1:21: even_wait: '2' is not a number with a unit of time"},
        {"policy: {even_wait: 25 h}\n", ":1:21: even_wait: '25 h' is out of range"},
        {"policy:\n  congested: 70 %\n", ":2:3: cleared must not be above congested"},
        {"timers:\n  silent: 1 s\n", ":2:3: silent must be at least twice heartbeat"},
        {"timers: {host_lost: 2 s}\n", ":1:9: host_lost must be longer than silent"},
        {"timers: {heartbeat: 1}\n", ":1:21: heartbeat: '1' is not a number with a unit of time"},
        {"levels: {coflow: {levels: 9}}\n", ":1:27: levels: '9' is out of range: from 0 to 8"},
        {"listen: ''\n", ":1:9: listen: must not be empty"},
        {"bounds: {hosts: -1}\n", ":1:17: hosts: '-1' is out of range"},
        {"listen: 5\n", ":1:9: listen: '5' is no address such as tcp://10.0.0.1:7600"},
        {"listen: http://x\n", ":1:9: listen: 'http://x' is no address"},
        {"listen: tcp://127.0.0.1\n", ":1:9: listen: 'tcp://127.0.0.1' is no address"},
        {"listen: 'tcp://*:99999'\n", ":1:9: listen: '99999' is no port"},
        {"listen: 'tcp://*:0'\n", ":1:9: listen: '0' is no port"},
        {"listen: 'tcp://*:76 '\n", ":1:9: listen: '76 ' is no port"},
        {"listen: tcp://10.0.0.300:7600\n", ":1:9: listen: '10.0.0.300' is neither"},
        {"listen: 'tcp://[::g]:7600'\n", ":1:9: listen: '::g' is neither"},
        {"listen: tcp://192.0.2.1:7600\n", ":1:9: listen: this host has no address 192.0.2.1"},
        {"listen: tcp://nosuch0:7600\n", ":1:9: listen: this host has no interface nosuch0"},
        {"socket: duopolyd.sock\n", ":1:9: socket: 'duopolyd.sock' is no absolute path"},
        {"socket: /tmp\n", ":1:9: socket: /tmp is a folder on this host"},
        {"socket: /no/such/place/s\n", ":1:9: socket: /no/such/place is not on this host"},
        {"group: no-such-group\n", ":1:8: group: there is no group 'no-such-group'"},
        {"state: here\n", ":1:8: state: 'here' is no absolute path"},
        {"state: /etc/passwd\n", ":1:8: state: /etc/passwd is no folder on this host"},
        {"log: {folder: /no/such}\n", ":1:15: folder: /no/such is not on this host, nor /no,"},
        {"log:\n  folder: a/b\n", ":2:11: folder: 'a/b' is neither a path from / on nor"},
        {"log: {max_bytes: 1 B}\n", ":1:18: max_bytes: '1 B' is out of range"},
    };
    struct settings settings;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        file_write("wrong.yaml", cases[i].text);
        assert_int_equal(settings_load(path_of("wrong.yaml"), &settings, &err), -EINVAL);
        if (!strstr(err.text, cases[i].sentence))
            fail_msg("%s gives\n%s\nnot\n%s", cases[i].text, err.text, cases[i].sentence);
        assert_non_null(strstr(err.text, "wrong.yaml"));
    }
}

/* One name means one thing to the daemon and to the simulator. */
static void presets_are_what_they_say(void **state)
{
    (void)state;
    for (const struct preset *p = presets; p->name; p++) {
        char text[64];
        struct settings settings;
        struct engine_config config, want;
        struct err err = {0};
        snprintf(text, sizeof(text), "policy: {preset: %s}\n", p->name);
        file_write("preset.yaml", text);
        int r = settings_load(path_of("preset.yaml"), &settings, &err);
        assert_int_equal(r, p->levels ? -EINVAL : 0);
        if (r < 0)
            continue;
        settings_engine(&settings, 1, &config);
        engine_config_default(&want);
        preset_apply(p, &want);
        assert_string_equal(config.turn, want.turn);
        assert_string_equal(config.place, want.place);
        assert_string_equal(config.network, want.network);
        assert_string_equal(config.mode, want.mode);
        assert_int_equal(engine_config_value(&config, "even_wait"),
                         engine_config_value(&want, "even_wait"));
    }
}

static void the_recording_is_in_the_state(void **state)
{
    (void)state;
    static const struct {
        const char *text, *folder;
    } cases[] = {
        {"state: /s\n", "/s/log"},
        {"{state: /s, log: {folder: steps}}\n", "/s/steps"},
        {"{state: /s, log: {folder: /elsewhere}}\n", "/elsewhere"},
        {"{state: /s, log: {folder: none}}\n", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct settings settings;
        struct err err;
        file_write("conf", cases[i].text);
        if (settings_load(path_of("conf"), &settings, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(settings.recording.folder, cases[i].folder);
    }
}

static void settings_reach_the_engine(void **state)
{
    (void)state;
    struct settings settings;
    struct engine_config config;
    struct err err = {0};
    file_write("right.yaml", "policy:\n  place: greedy\n  congested_share: 40 %\n  even_wait: 300 "
                             "ms\n  hold_max: 7 s\n  failures: 9\n"
                             "  mode:\n    dwell: 3 ms\n");
    if (settings_load(path_of("right.yaml"), &settings, &err) < 0)
        fail_msg("%s", err.text);
    settings_engine(&settings, 5, &config);
    assert_string_equal(config.place, "greedy");
    assert_int_equal(config.congested_share_permille, 400);
    assert_int_equal(engine_config_value(&config, "even_wait"), 300000000);
    assert_int_equal(config.hold_max_ns, INT64_C(7000000000));
    assert_int_equal(config.mode_dwell_ns, 3000000);
    assert_int_equal(config.failures_max, 9);
    assert_int_equal(config.epoch, 5);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, folder_make, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_in_order),
        cmocka_unit_test(many_timers_fire_once_each),
        CASE(epochs_grow_and_numbers_are_not_reused),
        CASE(epochs_are_raised_and_numbers_leap),
        CASE(a_folder_has_one_controller),
        CASE(broken_state_is_not_overwritten),
        cmocka_unit_test(the_manual_is_the_default),
        cmocka_unit_test(the_manual_is_complete),
        cmocka_unit_test(every_policy_has_its_section),
        cmocka_unit_test(every_parameter_stands_in_the_manual),
        CASE(wrong_settings_are_refused),
        CASE(presets_are_what_they_say),
        CASE(settings_reach_the_engine),
        CASE(the_recording_is_in_the_state),
    };
    return cmocka_run_group_tests_name("controller", tests, NULL, NULL);
}
