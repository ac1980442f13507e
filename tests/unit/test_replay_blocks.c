/* What the replay's tasks read from disk: at which rate, by turns with whom, and a whole task that
 * reads before it computes, or meanwhile. */
#include "tests/unit/test.h"

#include "lib/now.h"
#include "testbed/replay/blocks.h"
#include "testbed/replay/input.h"
#include "testbed/replay/task.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 8 * BLOCKS_UNIT, CHUNKS = 40 };
#define MS UINT64_C(1000000)

static char folder[32], path[64], meter[64];

static void write_file(const char *name, const void *content, size_t size)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, size), size);
    assert_int_equal(fsync(fd), 0);
    close(fd);
}

static void write_meter(uint64_t bytes_s)
{
    const uint64_t numbers[2] = {bytes_s, 0};
    write_file(meter, numbers, sizeof(numbers));
}

/* On a disk, if there is one below /var/tmp. */
static int make_folder(void **state)
{
    static uint8_t content[CHUNKS * CHUNK];
    uint64_t random = test_seed();
    (void)state;
    strcpy(folder, "/var/tmp/duopoly-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/blocks", folder);
    snprintf(meter, sizeof(meter), "%s/meter", folder);
    for (size_t i = 0; i < sizeof(content); i++)
        content[i] = (uint8_t)test_random(&random);
    write_file(path, content, sizeof(content));
    return 0;
}

static int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static struct blocks *open_at(uint64_t bytes_s, const char *by)
{
    struct blocks *blocks;
    struct err err;
    assert_int_equal(blocks_open(path, by, bytes_s, 5, &blocks, &err), 0);
    return blocks;
}

/* How long it takes to read so many bytes. */
static uint64_t read_ns(struct blocks *blocks, uint64_t until)
{
    struct err err;
    uint64_t begin_ns = now_ns(CLOCK_MONOTONIC);
    assert_int_equal(blocks_read(blocks, until, &err), 0);
    return now_ns(CLOCK_MONOTONIC) - begin_ns;
}

/* What it says that it read, and what the kernel counted of that; −1: nothing. */
static long long read_bytes(const struct blocks *blocks, long long *ret_counted)
{
    char text[128] = "", seen[32], how[16];
    long long bytes = -1;
    struct err err;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(blocks_write_down(pipes[1], blocks, &err), 0);
    assert_true(read(pipes[0], text, sizeof(text) - 1) > 0);
    assert_int_equal(sscanf(text, "read %lld %31s %15s", &bytes, seen, how), 3);
    assert_true(strcmp(how, "direct") == 0 || strcmp(how, "dropped") == 0);
    *ret_counted = *seen == '-' ? -1 : atoll(seen);
    close(pipes[0]);
    close(pipes[1]);
    return bytes;
}

/* Ten times, so that what is read wraps around the end of the file. */
static void test_its_bytes_come_from_the_disk(void **state)
{
    (void)state;
    struct blocks *blocks = open_at(UINT64_C(1) << 40, NULL);
    long long counted;
    read_ns(blocks, 10 * CHUNKS * CHUNK);
    assert_int_equal(read_bytes(blocks, &counted), 10 * CHUNKS * CHUNK);
    blocks_close(blocks);
    if (counted <= 0)
        skip_since("no block device is below /var/tmp, or the kernel does not count");
    assert_true(counted >= 10 * CHUNKS * CHUNK);
}

static void test_only_whole_units_are_read(void **state)
{
    (void)state;
    struct blocks *blocks = open_at(UINT64_C(1) << 40, NULL);
    long long counted;
    const struct {
        uint64_t until;
        long long read;
    } rows[] = {{1, BLOCKS_UNIT},
                {BLOCKS_UNIT, BLOCKS_UNIT},
                {BLOCKS_UNIT + 1, 2 * BLOCKS_UNIT},
                {0, 2 * BLOCKS_UNIT}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        read_ns(blocks, rows[i].until);
        assert_int_equal(read_bytes(blocks, &counted), rows[i].read);
    }
    blocks_close(blocks);
}

/* Also after a pause, which is no credit. */
static void test_it_reads_no_faster_than_its_lone_rate(void **state)
{
    (void)state;
    struct blocks *blocks = open_at(100 * CHUNK, NULL); /* a chunk in 10 ms */
    assert_true(read_ns(blocks, 5 * CHUNK) >= 49 * MS);
    usleep(50000);
    assert_true(read_ns(blocks, 10 * CHUNK) >= 39 * MS);
    blocks_close(blocks);
}

/* Of processes that share it, together. */
static void test_a_meter_limits_all_that_share_it(void **state)
{
    (void)state;
    enum { CHILDREN = 4 };
    pid_t children[CHILDREN];
    write_meter(100 * CHUNK);
    uint64_t begin_ns = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < CHILDREN; i++)
        if (!(children[i] = fork())) {
            read_ns(open_at(UINT64_C(1) << 40, meter), 5 * CHUNK);
            _exit(0);
        }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_true(now_ns(CLOCK_MONOTONIC) - begin_ns >= 199 * MS);
}

static void test_wrong_files_are_refused_in_a_sentence(void **state)
{
    (void)state;
    char other[64];
    struct blocks *blocks;
    struct err err;
    snprintf(other, sizeof(other), "%s/other", folder);
    assert_int_equal(blocks_open(other, NULL, 1, 0, &blocks, &err), -ENOENT);
    assert_non_null(strstr(err.text, "cannot open this host's blocks"));
    write_file(other, "12345", 5);
    assert_int_equal(blocks_open(other, NULL, 1, 0, &blocks, &err), -EINVAL);
    assert_non_null(strstr(err.text, "it must be a file of a multiple of 4096 bytes"));
    assert_int_equal(blocks_open(path, other, 1, 0, &blocks, &err), -EINVAL);
    assert_non_null(strstr(err.text, "is no meter of a disk"));
    write_meter(0);
    assert_int_equal(blocks_open(path, meter, 1, 0, &blocks, &err), -EINVAL);
    assert_non_null(strstr(err.text, "it must have a rate above 0"));
}

/* ---- a whole task ---- */

/* Its messages in one line, and its milliseconds; −1: it failed. */
static long run_task(const char *lines, bool with_blocks, char *ret_said, size_t size)
{
    char input[64], number[16], text[256] = "";
    int sockets[2], status;
    struct err err = {0};
    snprintf(input, sizeof(input), "%s/input", folder);
    FILE *out = fopen(input, "we");
    assert_non_null(out);
    fprintf(out, "duopoly-task-input 1\njob 1\nstage 2\ntask 3\nattempt 4\ncompute_ns 80000000\n%s",
            lines);
    fclose(out);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
    uint64_t begin_ns = now_ns(CLOCK_MONOTONIC);
    pid_t child = fork();
    if (child == 0) {
        const struct task_options options = {
            .port = 1, .blocks = with_blocks ? path : NULL, .reads = with_blocks ? folder : NULL};
        snprintf(number, sizeof(number), "%d", sockets[1]);
        setenv("DUOPOLY_TASK_SOCKET", number, 1);
        setenv("DUOPOLY_TASK_INPUT", input, 1);
        _exit(replay_task_run(&options, &err) < 0);
    }
    close(sockets[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    uint64_t took_ns = now_ns(CLOCK_MONOTONIC) - begin_ns;
    *ret_said = 0;
    for (; recv(sockets[0], text, sizeof(text) - 1, 0) > 0; memset(text, 0, sizeof(text)))
        snprintf(ret_said + strlen(ret_said), size - strlen(ret_said), "%s;", text);
    close(sockets[0]);
    return WEXITSTATUS(status) ? -1 : (long)(took_ns / MS);
}

/* What the last one wrote down, which is then gone; −1: nothing. */
static long long written(void)
{
    char name[64];
    long long bytes = -1;
    snprintf(name, sizeof(name), "%s/1-2-3-4", folder);
    FILE *in = fopen(name, "re");
    if (!in)
        return -1;
    assert_int_equal(fscanf(in, "read %lld", &bytes), 1);
    fclose(in);
    unlink(name);
    return bytes;
}

static void test_a_task_reads_what_its_profile_says(void **state)
{
    (void)state;
    /* 20 chunks at 100 a second take 200 ms. Computing counts from before them here, since this
     * test's loop looks at the clock once a turn. */
    static const struct {
        const char *lines;
        long least_ms;
        long long read;
    } rows[] = {
        {"profile 655360 3276800 1 80000000\n", 195, 655360},
        {"profile 131072 3276800 0 80000000\n", 35, 131072},
        {"profile 5000 3276800 0 80000000\n", 70, 2 * BLOCKS_UNIT},
        {"", 75, -1},
        {"profile 0 0 0 80000000\n", 75, -1},
    };
    char said[256];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        long ms = run_task(rows[i].lines, true, said, sizeof(said));
        if (ms < rows[i].least_ms)
            fail_msg("row %zu took %ld ms: %s", i, ms, said);
        assert_string_equal(said, "received;done;");
        assert_int_equal(written(), rows[i].read);
    }
    assert_true(run_task(rows[0].lines, false, said, sizeof(said)) >= 75);
    assert_int_equal(written(), -1);
}

static void test_a_profile_that_cannot_be_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {"profile 5 0 0 9\n", "profile 5 5 2 9\n", "profile 5 5 0\n",
                                        "profile 5 5 0 -1\n", "profile 99 1 0 5\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[128];
        struct input input;
        struct err err;
        snprintf(text, sizeof(text), "duopoly-task-input 1\n%s", lines[i]);
        assert_int_equal(input_parse(text, strlen(text), "in", &input, &err), -EINVAL);
        assert_string_equal(err.text, "in:2: not a line of a task's input file");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_bytes_come_from_the_disk),
        cmocka_unit_test(test_only_whole_units_are_read),
        cmocka_unit_test(test_it_reads_no_faster_than_its_lone_rate),
        cmocka_unit_test(test_a_meter_limits_all_that_share_it),
        cmocka_unit_test(test_wrong_files_are_refused_in_a_sentence),
        cmocka_unit_test(test_a_task_reads_what_its_profile_says),
        cmocka_unit_test(test_a_profile_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
