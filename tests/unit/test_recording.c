/* The recording: every file whole and bounded by what follows its state, nothing waited for, and on
 * again after whatever stopped it. */
#include "tests/model/script.h"
#include "tests/unit/folder.h"

#include "controller/recording/recording.h"
#include "testbed/sim/cluster/recording_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct controller {
    struct engine *engine;
    struct recording *recording;
    struct decisions decisions;
    int64_t now_ns;
    struct err err;
};

static void begin(struct controller *c, uint64_t max_bytes, uint32_t files)
{
    struct engine_config config = script_config();
    memset(c, 0, sizeof(*c));
    assert_int_equal(engine_create(&config, &c->engine, NULL), 0);
    assert_int_equal(recording_open(folder, max_bytes, files, c->engine, &c->recording, &c->err),
                     0);
}

static void end(struct controller *c)
{
    recording_close(c->recording);
    engine_destroy(c->engine);
    decisions_done(&c->decisions);
}

static void step(struct controller *c, const struct event *events, size_t n)
{
    c->now_ns++;
    assert_int_equal(engine_step(c->engine, c->now_ns, events, n, &c->decisions), 0);
    recording_step(c->recording, c->now_ns, events, n, &c->decisions);
}

/* A request that is rejected: 150 bytes, and the state stays small. */
static void a_step(struct controller *c)
{
    struct event event = {.kind = EVENT_JOB_CANCEL, .request = 1};
    event.job_cancel.job = 999999;
    step(c, &event, 1);
    assert_true(c->decisions.n == 1);
}

static struct recording_counters counters(const struct controller *c)
{
    struct recording_counters now;
    recording_counters(c->recording, &now);
    return now;
}

/* That a fork took long is fine: it does on a busy machine, and under sanitizers. */
static int flush(struct controller *c)
{
    int r = recording_flush(c->recording, &c->err);
    return r == 1 && strstr(c->err.text, "the fork for writing the state") ? 0 : r;
}

/* Until so many files are begun; what flush says is kept in *ret_said. */
static void flush_until_files(struct controller *c, uint64_t files, int *ret_said)
{
    for (int i = 0; i < 20000 && counters(c).files < files; i++) {
        int r = flush(c);
        *ret_said = r ? r : *ret_said;
        usleep(1000);
    }
    assert_true(counters(c).files >= files);
}

struct kept {
    uint64_t steps, dropped;
    int64_t first_ns, last_ns;
    uint64_t dump_bytes, other_bytes;
    char end[32];
};

static struct kept read_file(const char *name)
{
    static char line[1 << 20];
    struct kept kept = {.first_ns = -1};
    FILE *in = fopen(path_of(name), "r");
    assert_non_null(in);
    while (fgets(line, sizeof(line), in)) {
        assert_true(line[strlen(line) - 1] == '\n');
        *(strncmp(line, "dump ", 5) == 0 ? &kept.dump_bytes : &kept.other_bytes) += strlen(line);
        sscanf(line, "dropped %" SCNu64, &kept.dropped);
        sscanf(line, "end %31s", kept.end);
        if (sscanf(line, "step %" SCNd64, &kept.last_ns) == 1) {
            kept.steps++;
            kept.first_ns = kept.first_ns < 0 ? kept.last_ns : kept.first_ns;
        }
    }
    fclose(in);
    return kept;
}

/* Every file is decided again by itself. */
static struct kept replayed(const char *name)
{
    struct recording_replay_result result;
    struct err err = {0};
    FILE *in = fopen(path_of(name), "r");
    assert_non_null(in);
    if (recording_replay(in, NULL, &result, &err) < 0 || result.first_difference_line)
        fail_msg("%s: %s%s / %s", name, err.text, result.recorded, result.decided);
    fclose(in);
    struct kept kept = read_file(name);
    assert_true(result.steps == kept.steps);
    return kept;
}

static bool exists(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static void nothing_else_is_left(void)
{
    assert_false(exists("duopoly.next"));
    assert_false(exists("duopoly.steps"));
}

static void files_follow_each_other(void **state)
{
    (void)state;
    struct controller c;
    int said = 0;
    begin(&c, 4096, 3);
    while (counters(&c).files < 6) {
        a_step(&c);
        said |= flush(&c);
        usleep(50);
    }
    a_step(&c);
    assert_int_equal(said, 0);
    assert_int_equal(counters(&c).dropped, 0);
    assert_int_equal(counters(&c).steps, c.now_ns);
    int64_t now_ns = c.now_ns;
    end(&c);
    struct kept oldest = replayed("duopoly.log.2"), middle = replayed("duopoly.log.1"),
                newest = replayed("duopoly.log");
    assert_false(exists("duopoly.log.3"));
    nothing_else_is_left();
    assert_string_equal(oldest.end, "rotated");
    assert_string_equal(middle.end, "rotated");
    assert_string_equal(newest.end, "stopped");
    assert_true(middle.first_ns == oldest.last_ns + 1);
    assert_true(newest.first_ns == middle.last_ns + 1);
    assert_true(newest.last_ns == now_ns);
    assert_true((int64_t)middle.steps == middle.last_ns - middle.first_ns + 1);
    assert_true(middle.other_bytes >= 4096);
}

static void submit(struct controller *c, uint64_t job)
{
    struct event events[8];
    uint64_t room[32];
    char name[32];
    static const uint32_t replicas[] = {0, 1};
    static const uint64_t sums[] = {1000, 2000};
    struct script_job small = {job, 2, 1, 2, replicas, 500, SECOND, 0, sums, 0};
    step(c, events, script_job_events(&small, events, room, name, sizeof(name)));
}

/* What made the controller unreachable: each flush began a file with a state that was larger than a
 * file could be. */
static void a_large_state_is_not_written_again_and_again(void **state)
{
    (void)state;
    struct controller c;
    int said = 0;
    begin(&c, 4096, 4);
    for (uint64_t job = 1; job <= 500; job++)
        submit(&c, job);
    flush_until_files(&c, 2, &said);
    for (int i = 0; i < 300; i++) {
        a_step(&c);
        said |= flush(&c);
        usleep(100);
    }
    assert_int_equal(said, 0);
    assert_int_equal(counters(&c).files, 2);
    end(&c);
    struct kept newest = replayed("duopoly.log"), before = replayed("duopoly.log.1");
    assert_true(newest.dump_bytes > 16 * 4096 && newest.other_bytes > 2 * 4096);
    assert_int_equal(newest.steps, 300);
    assert_int_equal(before.steps, 500);
}

static void facts_about_nothing_are_not_recorded(void **state)
{
    (void)state;
    struct controller c;
    struct event unknown = {.kind = EVENT_ATTEMPT_DONE};
    begin(&c, 4096, 2);
    submit(&c, 1);
    for (uint64_t i = 0; i < 1000; i++) {
        unknown.attempt.attempt = 1000 + i;
        step(&c, &unknown, 1);
        assert_int_equal(flush(&c), 0);
    }
    a_step(&c);
    assert_int_equal(counters(&c).idle, 1000);
    assert_int_equal(counters(&c).files, 1);
    end(&c);
    assert_int_equal(replayed("duopoly.log").steps, 2);
}

/* A dump that never ends: nobody reads the pipe that the child would write into. */
static void nothing_waits_for_a_dump(void **state)
{
    (void)state;
    struct controller c;
    int said = 0;
    begin(&c, 4096, 2);
    assert_int_equal(mkfifo(path_of("duopoly.next"), 0600), 0);
    for (int i = 0; i < 1000000 && said == 0; i++) {
        a_step(&c);
        said = flush(&c);
        if (i % 1000 == 0)
            usleep(1000);
    }
    assert_int_equal(said, -EFBIG);
    assert_non_null(strstr(c.err.text, "steps are left out"));
    a_step(&c);
    assert_int_equal(counters(&c).dropped, 1);
    assert_int_equal(counters(&c).files, 1);
    uint64_t steps = counters(&c).steps;
    end(&c);
    struct kept file = replayed("duopoly.log");
    assert_int_equal(file.steps, steps);
    assert_string_equal(file.end, "dropped");
    assert_true(file.other_bytes > 16 << 20 && file.other_bytes < 17 << 20);
}

static void a_step_beyond_the_ring_is_dropped_and_said(void **state)
{
    (void)state;
    enum { TASKS = 40000, EVENTS = 24 };
    static uint64_t bytes[TASKS];
    struct event events[EVENTS];
    struct controller c;
    int said = 0;
    memset(bytes, 0xff, sizeof(bytes));
    begin(&c, 1 << 20, 2);
    a_step(&c);
    for (int i = 0; i < EVENTS; i++) {
        events[i] = (struct event){.kind = EVENT_JOB_TASKS, .request = 1};
        events[i].job_tasks.job = 1;
        events[i].job_tasks.input_bytes = (struct u64s){bytes, TASKS};
    }
    step(&c, events, EVENTS);
    a_step(&c);
    assert_int_equal(counters(&c).dropped, 2);
    assert_int_equal(flush(&c), -ENOBUFS);
    a_step(&c);
    flush_until_files(&c, 2, &said);
    assert_int_equal(said, 1);
    assert_non_null(strstr(c.err.text, "2 steps are missing"));
    end(&c);
    struct kept before = replayed("duopoly.log.1"), after = replayed("duopoly.log");
    assert_string_equal(before.end, "dropped");
    assert_int_equal(before.steps, 1);
    assert_int_equal(after.dropped, 2);
    assert_int_equal(after.steps, 1);
    nothing_else_is_left();
}

/* Steps until it is said that they are dropped. */
static void fill_the_disk(struct controller *c)
{
    int said = 0;
    for (int i = 0; i < 100000 && said == 0; i++) {
        a_step(c);
        said = flush(c);
        if (i % 50 == 0)
            usleep(1000);
    }
    assert_true(said < 0);
}

/* Every step is in a file or counted by one. */
static void goes_on_in_a_new_file(struct controller *c)
{
    int said = 0;
    uint64_t files = counters(c).files;
    a_step(c);
    flush_until_files(c, files + 1, &said);
    assert_int_equal(said, 1);
    a_step(c);
    struct recording_counters now = counters(c);
    assert_true(now.dropped > 0);
    int64_t now_ns = c->now_ns;
    end(c);
    struct kept before = replayed("duopoly.log.1"), after = replayed("duopoly.log");
    assert_int_equal(after.dropped, now.dropped);
    assert_true(after.last_ns == now_ns && after.steps >= 1);
    assert_true((int64_t)(before.steps + after.dropped + after.steps) == now_ns);
    nothing_else_is_left();
}

/* A file may not grow beyond a limit, and later may. */
static void after_a_refusing_disk_it_goes_on(void **state)
{
    (void)state;
    struct controller c;
    struct rlimit limit, small;
    begin(&c, 1 << 20, 4);
    getrlimit(RLIMIT_FSIZE, &limit);
    small = (struct rlimit){20000, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    fill_the_disk(&c);
    setrlimit(RLIMIT_FSIZE, &limit);
    goes_on_in_a_new_file(&c);
}

static void fill_with(const char *name)
{
    static const char zeros[4096];
    FILE *out = fopen(path_of(name), "w");
    assert_non_null(out);
    while (fwrite(zeros, sizeof(zeros), 1, out) == 1 && fflush(out) == 0)
        continue;
    fclose(out);
}

/* A disk of 256 kB, full from the start: the controller starts all the same. */
static void a_full_disk_is_waited_for(void **state)
{
    (void)state;
    struct controller c;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=256k") < 0)
        skip_since("no file system of its own can be mounted here (root is needed)");
    fill_with("filler");
    begin(&c, 1 << 20, 2);
    assert_int_equal(counters(&c).files, 0);
    a_step(&c);
    assert_int_equal(flush(&c), -ENOSPC);
    unlink(path_of("filler"));
    int said = 0;
    flush_until_files(&c, 1, &said);
    fill_with("filler");
    fill_the_disk(&c);
    unlink(path_of("filler"));
    int64_t dropped = (int64_t)replayed("duopoly.log").dropped;
    assert_int_equal(dropped, 1);
    said = 0;
    flush_until_files(&c, 2, &said);
    assert_int_equal(said, 1);
    a_step(&c);
    uint64_t missing = counters(&c).dropped;
    int64_t now_ns = c.now_ns;
    end(&c);
    struct kept before = replayed("duopoly.log.1"), after = replayed("duopoly.log");
    assert_true(before.dropped + after.dropped == missing);
    assert_true((int64_t)(before.steps + after.steps + missing) == now_ns);
    nothing_else_is_left();
    umount(folder);
}

/* The next file cannot be begun: a folder stands in its place. The one before goes on. */
static void a_file_that_cannot_be_begun_is_tried_again(void **state)
{
    (void)state;
    struct controller c;
    int said = 0;
    begin(&c, 4096, 1);
    assert_int_equal(mkdir(path_of("duopoly.next"), 0700), 0);
    for (int i = 0; i < 60; i++) {
        a_step(&c);
        said |= flush(&c);
    }
    usleep(100000);
    said |= flush(&c);
    assert_int_equal(counters(&c).files, 1);
    assert_int_equal(rmdir(path_of("duopoly.next")), 0);
    flush_until_files(&c, 2, &said);
    assert_int_equal(said, 0);
    assert_int_equal(counters(&c).dropped, 0);
    end(&c);
    replayed("duopoly.log");
}

/* A program that ignores SIGCHLD starts us, and one that was killed left its dump behind. */
static void it_begins_whatever_was_before(void **state)
{
    (void)state;
    struct controller c;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(mkfifo(path_of("duopoly.next"), 0600), 0);
    begin(&c, 4096, 2);
    assert_int_equal(counters(&c).files, 1);
    end(&c);
    assert_string_equal(replayed("duopoly.log").end, "stopped");
    nothing_else_is_left();
}

static void a_folder_that_cannot_be_written_is_refused(void **state)
{
    (void)state;
    struct engine_config config = script_config();
    struct engine *engine;
    struct recording *recording;
    struct err err;
    assert_int_equal(engine_create(&config, &engine, NULL), 0);
    fclose(fopen(path_of("file"), "w"));
    assert_int_equal(recording_open(path_of("file"), 4096, 1, engine, &recording, &err), -ENOTDIR);
    assert_non_null(strstr(err.text, "no recording can be begun in "));
    assert_int_equal(recording_open(path_of("a/b"), 4096, 1, engine, &recording, &err), -ENOENT);
    engine_destroy(engine);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, folder_make, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(files_follow_each_other),
        CASE(a_large_state_is_not_written_again_and_again),
        CASE(facts_about_nothing_are_not_recorded),
        CASE(nothing_waits_for_a_dump),
        CASE(a_step_beyond_the_ring_is_dropped_and_said),
        CASE(after_a_refusing_disk_it_goes_on),
        CASE(a_full_disk_is_waited_for),
        CASE(a_file_that_cannot_be_begun_is_tried_again),
        CASE(it_begins_whatever_was_before),
        CASE(a_folder_that_cannot_be_written_is_refused),
    };
    return cmocka_run_group_tests_name("recording", tests, NULL, NULL);
}
