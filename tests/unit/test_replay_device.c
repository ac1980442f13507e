/* Devices of the replay's tasks: shares that the kernel keeps, what is read back, and a task that
 * computes on one. */
#include "tests/unit/test.h"

#include "testbed/replay/device.h"
#include "testbed/replay/task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define GB UINT64_C(1000000000)

static char folder[32];

static void make_device(const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    close(fd);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/duopoly-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    make_device("g0");
    make_device("g1");
    return 0;
}

static int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static struct input task_of(uint64_t attempt, uint64_t milli, uint64_t bytes)
{
    return (struct input){.attempt = attempt,
                          .gpu_milli = milli,
                          .gpu_mem_bytes = bytes,
                          .n_devices = 1,
                          .devices = {{.name = "g0", .bytes = 8 * GB}, {.name = "g1"}}};
}

static int take(const struct input *task, uint32_t index, struct err *err)
{
    struct device_use use;
    return device_take(folder, task, index, &use, err);
}

static void test_shares_are_counted_and_given_back(void **state)
{
    (void)state;
    const struct input half = task_of(1, 500, 4 * GB), time = task_of(2, 1, 0),
                       memory = task_of(3, 0, 1);
    struct err err;
    int one = take(&half, 0, &err), two = take(&half, 0, &err);
    assert_true(one >= 0 && two >= 0);
    assert_int_equal(take(&time, 0, &err), -EOVERFLOW);
    assert_string_equal(err.text, "device g0 is over its time: others use 1000 per mille, this "
                                  "task 1");
    assert_int_equal(take(&memory, 0, &err), -EOVERFLOW);
    assert_string_equal(err.text, "device g0 is over its memory: others use 8000000000 B, this "
                                  "task 1 B, of 8000000000 B");
    close(two);
    int three = take(&time, 0, &err), four = take(&memory, 0, &err);
    assert_true(three >= 0 && four >= 0);
    close(one);
    close(three);
    close(four);
}

/* Also of a task that was killed, whose share still says what it used. */
static void test_the_kernel_keeps_a_share_for_as_long_as_its_task_lives(void **state)
{
    (void)state;
    const struct input all = task_of(1, 1000, 8 * GB);
    struct err err;
    char word;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        bool took = take(&all, 0, &err) >= 0 && write(pipes[1], "", 1) == 1;
        while (took)
            pause();
        _exit(1);
    }
    assert_int_equal(read(pipes[0], &word, 1), 1);
    assert_int_equal(take(&all, 0, &err), -EOVERFLOW);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    int fd = take(&all, 0, &err);
    assert_true(fd >= 0);
    close(fd);
    close(pipes[0]);
    close(pipes[1]);
}

static void test_a_device_that_is_not_there(void **state)
{
    (void)state;
    struct input task = task_of(1, 1, 1);
    struct err err;
    strcpy(task.devices[0].name, "g9");
    assert_int_equal(take(&task, 0, &err), -ENOENT);
    assert_non_null(strstr(err.text, "this host has no device g9: "));
    strcpy(task.devices[0].name, "../g0");
    assert_int_equal(take(&task, 0, &err), -ENOENT);
}

static void test_several_devices_are_its_own(void **state)
{
    (void)state;
    struct input task = task_of(1, 1500, 0);
    const struct input other = task_of(2, 1, 0);
    struct err err;
    task.n_devices = 2;
    int one = take(&task, 0, &err), two = take(&task, 1, &err);
    assert_true(one >= 0 && two >= 0);
    assert_int_equal(take(&other, 0, &err), -EOVERFLOW);
    assert_int_equal(take(&other, 1, &err), -EOVERFLOW);
    close(one);
    close(two);
}

static void test_shares_are_bounded(void **state)
{
    (void)state;
    const struct input nothing = task_of(1, 0, 0);
    struct err err;
    int fds[DEVICE_SHARES];
    for (int i = 0; i < DEVICE_SHARES; i++)
        assert_true((fds[i] = take(&nothing, 0, &err)) >= 0);
    assert_int_equal(take(&nothing, 0, &err), -EBUSY);
    for (int i = 0; i < DEVICE_SHARES; i++)
        close(fds[i]);
}

/* In any order of takes and closes, who gets a share is within the device, and who does not would
 * not have been. */
static void test_who_gets_a_share_fits(void **state)
{
    (void)state;
    enum { HELD = 12 };
    struct {
        int fd;
        uint64_t milli, bytes;
    } held[HELD] = {{0}};
    uint64_t random = test_seed(), milli = 0, bytes = 0;
    struct err err;
    for (int i = 0; i < HELD; i++)
        held[i].fd = -1;
    for (int i = 0; i < 3000; i++) {
        uint64_t at = test_random(&random) % HELD;
        if (held[at].fd >= 0) {
            close(held[at].fd);
            milli -= held[at].milli;
            bytes -= held[at].bytes;
        }
        held[at].milli = test_random(&random) % 400;
        held[at].bytes = test_random(&random) % (3 * GB);
        const struct input task = task_of(at, held[at].milli, held[at].bytes);
        bool fits = milli + held[at].milli <= 1000 && bytes + held[at].bytes <= 8 * GB;
        held[at].fd = take(&task, 0, &err);
        assert_int_equal(held[at].fd >= 0, fits);
        milli += fits ? held[at].milli : 0;
        bytes += fits ? held[at].bytes : 0;
    }
    for (int i = 0; i < HELD; i++)
        if (held[i].fd >= 0)
            close(held[i].fd);
}

/* A whole task in a process of its own; returns its exit status, and in `said` its last words. */
static int run_task(const char *lines, char *ret_words, size_t size)
{
    char input[128], number[16];
    int sockets[2], status;
    struct err err = {0};
    snprintf(input, sizeof(input), "%s/input", folder);
    FILE *out = fopen(input, "we");
    assert_non_null(out);
    fprintf(out, "duopoly-task-input 1\njob 1\nstage 2\ntask 3\nattempt 4\ncompute_ns 20000000\n%s",
            lines);
    fclose(out);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
    pid_t child = fork();
    if (child == 0) {
        const struct task_options options = {.port = 1, .devices = folder, .uses = folder};
        snprintf(number, sizeof(number), "%d", sockets[1]);
        setenv("DUOPOLY_TASK_SOCKET", number, 1);
        setenv("DUOPOLY_TASK_INPUT", input, 1);
        int r = replay_task_run(&options, &err);
        if (r < 0)
            send(sockets[1], err.text, strlen(err.text), 0);
        _exit(r < 0);
    }
    close(sockets[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    memset(ret_words, 0, size);
    for (char text[256] = ""; recv(sockets[0], text, sizeof(text) - 1, 0) > 0;
         memset(text, 0, sizeof(text)))
        snprintf(ret_words, size, "%s", text);
    close(sockets[0]);
    return WEXITSTATUS(status);
}

static void test_a_task_computes_on_its_device_and_says_when(void **state)
{
    (void)state;
    char words[512], path[128], line[256];
    unsigned long long took = 0, gave = 0;
    assert_int_equal(run_task("gpu_milli 250\ngpu_mem_bytes 3000000000\ndevice g0 8000000000 -\n",
                              words, sizeof(words)),
                     0);
    assert_string_equal(words, "done");
    snprintf(path, sizeof(path), "%s/1-2-3-4", folder);
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    assert_non_null(fgets(line, sizeof(line), in));
    assert_int_equal(sscanf(line, "took g0 8000000000 3000000000 250 %llu", &took), 1);
    assert_non_null(fgets(line, sizeof(line), in));
    assert_int_equal(sscanf(line, "gave g0 8000000000 3000000000 250 %llu", &gave), 1);
    /* Half of it: this test's loop counts from before the device was taken. */
    assert_true(gave >= took + 10000000);
    assert_null(fgets(line, sizeof(line), in));
    fclose(in);
}

static void test_a_task_without_its_device_fails(void **state)
{
    (void)state;
    char words[512];
    assert_int_equal(run_task("", words, sizeof(words)), 1);
    assert_non_null(strstr(words, "it computes on a device and was given none"));
    assert_int_equal(run_task("gpu_milli 250\ndevice g7 0 -\n", words, sizeof(words)), 1);
    assert_non_null(strstr(words, "this host has no device g7"));
    assert_int_equal(run_task("device g0\n", words, sizeof(words)), 1);
    assert_non_null(strstr(words, ":7: not a line of a task's input file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_are_counted_and_given_back),
        cmocka_unit_test(test_the_kernel_keeps_a_share_for_as_long_as_its_task_lives),
        cmocka_unit_test(test_a_device_that_is_not_there),
        cmocka_unit_test(test_several_devices_are_its_own),
        cmocka_unit_test(test_shares_are_bounded),
        cmocka_unit_test(test_who_gets_a_share_fits),
        cmocka_unit_test(test_a_task_computes_on_its_device_and_says_when),
        cmocka_unit_test(test_a_task_without_its_device_fails),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
