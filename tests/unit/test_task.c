/* What duopoly-task knows by itself: whose processes commands are and which there are; and that
 * what becomes that user has no other right left. */
#include "tests/unit/removal.h"
#include "tests/unit/test.h"

#include "hostagent/task/outputs.h"
#include "hostagent/task/rights.h"
#include "hostagent/task/settings.h"
#include "lib/attempt.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/duopoly-test-XXXXXX";

static int read_text(const char *text, struct task_settings *settings, struct err *err)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/agent.yaml", folder);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    return task_settings_read(path, settings, err);
}

static void test_its_part_of_the_agent_s_configuration(void **state)
{
    (void)state;
    static struct task_settings settings;
    struct err err = {0};
    assert_int_equal(task_settings_read("schemas/duopoly-agent.yaml", &settings, &err), 0);
    assert_int_equal(settings.commands_n, 2);
    assert_int_equal(settings.uid, 65534);
    const struct command *reduce = command_named(settings.commands, settings.commands_n, "reduce");
    assert_string_equal(reduce->words[0], "/usr/lib/duopoly/replay-reduce");
    assert_int_equal(reduce->words_n, 3);
    assert_null(command_named(settings.commands, settings.commands_n, "sh"));
    assert_int_equal(read_text("name: x\ntasks: {cgroup: y, user: daemon}\n", &settings, &err), 0);
    assert_int_equal(settings.commands_n, 0);
    assert_int_equal(settings.uid, 1);
}

static void test_wrong_users_and_commands_are_refused(void **state)
{
    (void)state;
    static struct task_settings settings;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"tasks: {user: root}\n", "commands never run as root: tasks.user is 'root'"},
        {"tasks: {user: nosuchuser}\n", "there is no user 'nosuchuser' (tasks.user)"},
        {"tasks: {commands: [{name: map}]}\n", "agent.yaml:1:20: 'argv' is missing"},
        {"tasks: {commands: [{name: map, argv: [a], shell: yes}]}\n", "unknown key 'shell'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        assert_true(read_text(cases[i].text, &settings, &err) < 0);
        assert_non_null(strstr(err.text, cases[i].words));
    }
}

/* 0, or which of the promises is not kept. */
static int has_rights_left(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (rights_become(65534, 65534) < 0 || getuid() != 65534 || getgroups(0, NULL) != 0)
        return 1;
    if (setresuid(0, 0, 0) == 0 || setresgid(0, 0, 0) == 0)
        return 2;
    if (syscall(SYS_capget, &header, data) < 0 || data[0].permitted || data[1].permitted ||
        data[0].inheritable || data[1].inheritable)
        return 3;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 4;
}

static int keeps_more_than_kill(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (rights_keep_kill() < 0 || syscall(SYS_capget, &header, data) < 0)
        return 1;
    return data[0].permitted != 1u << CAP_KILL || data[1].permitted ||
           setresuid(65534, 65534, 65534) == 0;
}

static int in_a_fork(int (*check)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(check());
    waitpid(pid, &status, 0);
    return status;
}

static void test_rights_are_given_away_for_good(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip_since("another user is needed: only root can be one");
    assert_int_equal(in_a_fork(has_rights_left), 0);
    assert_int_equal(in_a_fork(keeps_more_than_kill), 0);
}

static void make_folder(const char *format, ...)
{
    char path[192], name[96];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof(name), format, ap);
    va_end(ap);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(chmod(path, 0777), 0);
}

static bool is_there(const char *name)
{
    char path[192];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* What has gone, and what is named as an output and is none. */
static void test_only_what_nobody_wants_is_cleared(void **state)
{
    (void)state;
    static struct task_settings settings = {.uid = 65534, .gid = 65534};
    char path[128];
    if (getuid() != 0)
        skip_since("another user is needed: only root can be one");
    static const char *const made[] = {
        "attempts",         "outputs",         "outputs/gone-1",
        "outputs/gone-1/a", "outputs/gone",    "outputs/1-2-3-5",
        "outputs/1-2-3-6",  "outputs/1-2-3-7", "outputs/1-2-3-6.new"};
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        make_folder("%s", made[i]);
    make_folder("attempts/%016x", 5);
    snprintf(path, sizeof(path), "%s/outputs", folder);
    chmod(folder, 0755);
    outputs_clear(path, &settings);
    assert_true(wait(NULL) > 0);
    assert_false(is_there("outputs/gone-1"));
    assert_true(is_there("outputs/1-2-3-7")); /* an agent that keeps no list wants all */
    make_folder(ATTEMPT_LISTED);
    make_folder("attempts/1-2-3-6");
    outputs_clear(path, &settings); /* the first is not seen to have ended yet */
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t waker = fork();
    if (waker == 0) {
        while (is_there("outputs/1-2-3-7"))
            usleep(1000);
        _exit(write(pipes[1], "", 1) != 1);
    }
    outputs_await(pipes[0], &settings);
    while (wait(NULL) > 0)
        ;
    assert_false(is_there("outputs/1-2-3-7"));
    assert_true(is_there("outputs/1-2-3-5") && is_there("outputs/1-2-3-6") &&
                is_there("outputs/1-2-3-6.new") && is_there("outputs/gone"));
    close(pipes[0]);
    close(pipes[1]);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return removal_of(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_part_of_the_agent_s_configuration),
        cmocka_unit_test(test_wrong_users_and_commands_are_refused),
        cmocka_unit_test(test_rights_are_given_away_for_good),
        cmocka_unit_test(test_only_what_nobody_wants_is_cleared),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
