/* The state for who asks: whole and of one instant, whatever follows; one at a time, not too often;
 * and a child that dies or hangs, or a taker that goes, leaves nothing behind. */
#include "tests/model/script.h"

#include "controller/recording/recording_text.h"
#include "controller/state_dump.h"
#include "lib/now.h"
#include "lib/sanitized.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* So many jobs are far more text than a pipe has room for. */
enum { JOBS = 500, AT_NS = 77, PIECE = 32768, BALLAST = 64 << 20 };

struct world {
    struct script script;
    sd_event *loop;
    struct clock *clock;
    struct state_dump *dump;
    bool ready;
    uint64_t taker, taken;
    int files; /* that were open before */
    struct err err;
};

static int count_in(const char *path)
{
    int n = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static int count_files(void)
{
    return count_in("/proc/self/fd");
}

static int count_threads(void)
{
    return count_in("/proc/self/task");
}

static void on_due(void *user, int64_t now_ns)
{
    (void)user, (void)now_ns;
}

static void on_ready(void *user, uint64_t taker)
{
    struct world *w = user;
    w->ready = true;
    w->taker = taker;
}

static void submit(struct world *w, uint64_t number)
{
    static const uint32_t replicas[] = {0, 1};
    static const uint64_t sums[] = {1000, 2000};
    const struct script_job job = {number, 2, 1, 2, replicas, 500, SECOND, 0, sums, 0};
    script_submit(&w->script, &job);
}

static void begin(struct world *w)
{
    const struct engine_config config = script_config();
    *w = (struct world){.files = count_files()};
    script_begin(&w->script, &config);
    script_host(&w->script, 0, 1);
    for (uint64_t job = 1; job <= JOBS; job++)
        submit(w, job);
    assert_int_equal(sd_event_new(&w->loop), 0);
    assert_int_equal(clock_open(w->loop, NULL, on_due, w, &w->clock, &w->err), 0);
    assert_int_equal(
        state_dump_open(w->loop, w->script.engine, w->clock, on_ready, w, &w->dump, &w->err), 0);
}

static void end(struct world *w)
{
    state_dump_close(w->dump);
    clock_close(w->clock);
    sd_event_unref(w->loop);
    script_end(&w->script);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_files(), w->files);
}

static int put(void *context, const char *bytes, size_t n)
{
    return fwrite(bytes, 1, n, context) == n ? 0 : -EIO;
}

struct written {
    char *text;
    size_t size;
};

static struct written written_of(const struct world *w)
{
    struct written written;
    FILE *out = open_memstream(&written.text, &written.size);
    struct recording_text text = {w->script.engine, malloc(engine_dump_room(w->script.engine)), 0,
                                  put, out};
    assert_int_equal(recording_text_state(&text, AT_NS), 0);
    free(text.scratch);
    fclose(out);
    return written;
}

static int64_t now(void)
{
    return (int64_t)now_ns(CLOCK_MONOTONIC);
}

static void turn(struct world *w)
{
    assert_true(sd_event_run(w->loop, 20000000) > 0);
}

/* As a client: it waits until there is something. */
static ssize_t take(struct world *w, uint64_t taker, uint8_t *buffer)
{
    ssize_t n;
    while ((n = state_dump_take(w->dump, buffer, PIECE, &w->err)) == -EAGAIN) {
        for (w->ready = false; !w->ready;)
            turn(w);
        assert_int_equal(w->taker, taker);
    }
    w->taken += n > 0 ? (uint64_t)n : 0;
    return n;
}

/* What it returns at its end. */
static ssize_t take_all(struct world *w, uint64_t taker, struct written *ret)
{
    static uint8_t buffer[PIECE];
    FILE *out = open_memstream(&ret->text, &ret->size);
    ssize_t n;
    while ((n = take(w, taker, buffer)) > 0) {
        fwrite(buffer, 1, (size_t)n, out);
        assert_true(state_dump_goes_on(w->dump, taker, w->taken));
    }
    fclose(out);
    assert_false(state_dump_goes_on(w->dump, taker, w->taken));
    w->taken = 0;
    return n;
}

/* Until it may. */
static void begin_at_last(struct world *w, uint64_t taker)
{
    int64_t until_ns = now() + 20 * SECOND;
    while (state_dump_begin(w->dump, taker, &w->err) == -EBUSY) {
        assert_true(now() < until_ns);
        sd_event_run(w->loop, 1000);
    }
    assert_true(state_dump_goes_on(w->dump, taker, 0));
}

/* The number of the child; there is one. */
static pid_t child(void)
{
    char path[300], line[512];
    pid_t found = 0;
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        int parent = 0;
        snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
        FILE *in = isdigit((unsigned char)*entry->d_name) ? fopen(path, "r") : NULL;
        if (!in)
            continue;
        const char *rest = fgets(line, sizeof(line), in) ? strrchr(line, ')') : NULL;
        if (rest && sscanf(rest, ") %*c %d", &parent) == 1 && parent == getpid())
            found = (pid_t)strtol(entry->d_name, NULL, 10);
        fclose(in);
    }
    closedir(folder);
    assert_true(found > 0);
    return found;
}

/* The line that begins so, and where it ends; what is around it is compared. */
static const char *line_of(const struct written *written, const char *word, const char **ret_end)
{
    const char *at = strstr(written->text, word);
    assert_non_null(at);
    *ret_end = strchr(at + 1, '\n');
    return at;
}

static void expect_same(const struct written *told, const struct written *wanted)
{
    const char *told_end, *wanted_end, *told_at = line_of(told, "\nbegin ", &told_end),
                                       *wanted_at = line_of(wanted, "\nbegin ", &wanted_end);
    assert_int_equal(told_at - told->text, wanted_at - wanted->text);
    assert_memory_equal(told->text, wanted->text, (size_t)(told_at - told->text));
    const char *told_now = line_of(told, "\nnow ", &told_at);
    assert_int_equal(told_now - told_end, line_of(wanted, "\nnow ", &wanted_at) - wanted_end);
    assert_memory_equal(told_end, wanted_end, (size_t)(told_now - told_end));
    assert_string_equal(told_at, wanted_at);
}

static void it_is_of_one_instant(void **state)
{
    struct world w;
    struct written wanted, told;
    (void)state;
    begin(&w);
    wanted = written_of(&w);
    assert_true(wanted.size > 4 * 65536);
    for (int round = 0; round < 2; round++) {
        begin_at_last(&w, 7);
        if (round)
            submit(&w, JOBS + 1);
        int64_t since_ns = now();
        assert_int_equal(take_all(&w, 7, &told), 0);
        fprintf(stderr, "# %zu bytes in %.1f ms\n", told.size, (double)(now() - since_ns) / 1e6);
        expect_same(&told, &wanted);
        free(told.text);
    }
    free(wanted.text);
    end(&w);
}

static void one_takes_it(void **state)
{
    static uint8_t buffer[PIECE];
    struct world w;
    struct written told;
    (void)state;
    begin(&w);
    assert_int_equal(state_dump_begin(w.dump, 1, &w.err), 0);
    assert_true(take(&w, 1, buffer) > 0);
    assert_int_equal(state_dump_begin(w.dump, 2, &w.err), -EBUSY);
    assert_non_null(strstr(w.err.text, "to somebody else: ask again"));
    assert_false(state_dump_goes_on(w.dump, 2, 0));
    assert_false(state_dump_goes_on(w.dump, 0, 0));
    assert_false(state_dump_goes_on(w.dump, 1, 0));
    state_dump_leave(w.dump, 2);
    assert_int_equal(take_all(&w, 1, &told), 0);
    free(told.text);
    begin_at_last(&w, 2);
    state_dump_leave(w.dump, 2);
    begin_at_last(&w, 1);
    end(&w);
}

/* Whoever asks again and again gets a part of the loop's time. */
static void forks_are_few(void **state)
{
    struct world w;
    bool told = false;
    (void)state;
    begin(&w);
    for (int round = 0; round < 50 && !told; round++) {
        begin_at_last(&w, 1);
        state_dump_leave(w.dump, 1);
        while (!told && state_dump_begin(w.dump, 1, &w.err) == -EBUSY) {
            told = strstr(w.err.text, "told just now");
            sd_event_run(w.loop, 1000);
        }
        state_dump_leave(w.dump, 1);
    }
    assert_true(told);
    end(&w);
}

static void a_child_that_dies_is_told(void **state)
{
    struct world w;
    struct written told;
    (void)state;
    begin(&w);
    assert_int_equal(state_dump_begin(w.dump, 1, &w.err), 0);
    assert_int_equal(kill(child(), SIGKILL), 0);
    assert_int_equal(take_all(&w, 1, &told), -EIO);
    assert_non_null(strstr(w.err.text, "ended by signal 9, and it is not whole"));
    free(told.text);
    begin_at_last(&w, 1);
    assert_int_equal(take_all(&w, 1, &told), 0);
    free(told.text);
    end(&w);
}

static void a_child_that_hangs_is_ended(void **state)
{
    struct world w;
    struct written told;
    (void)state;
    begin(&w);
    assert_int_equal(state_dump_begin(w.dump, 1, &w.err), 0);
    assert_int_equal(kill(child(), SIGSTOP), 0);
    int64_t since_ns = now();
    assert_int_equal(take_all(&w, 1, &told), -ETIMEDOUT);
    assert_non_null(strstr(w.err.text, "wrote nothing for 5 s"));
    assert_true(now() - since_ns >= (STATE_DUMP_PAUSE_MS - 100) * (SECOND / 1000));
    free(told.text);
    begin_at_last(&w, 2);
    end(&w);
}

static void who_takes_nothing_leaves_it_to_others(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    assert_int_equal(state_dump_begin(w.dump, 1, &w.err), 0);
    int64_t since_ns = now();
    begin_at_last(&w, 2);
    assert_true(now() - since_ns >= (STATE_DUMP_PAUSE_MS - 100) * (SECOND / 1000));
    assert_false(state_dump_goes_on(w.dump, 1, 0));
    end(&w);
}

/* So much that it is moved into huge pages before the fork. */
static void *ballast(void)
{
    void *memory = mmap(NULL, BALLAST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, BALLAST);
    return memory;
}

static void a_large_controller_prepares_its_fork(void **state)
{
    struct world w;
    struct written wanted, told;
    void *memory = ballast();
    (void)state;
    begin(&w);
    assert_int_equal(state_dump_begin(w.dump, 1, &w.err), 0);
    submit(&w, JOBS + 1);
    wanted = written_of(&w);
    assert_int_equal(take_all(&w, 1, &told), 0);
    if (!SANITIZED)
        expect_same(&told, &wanted);
    free(told.text);
    free(wanted.text);
    end(&w);
    munmap(memory, BALLAST);
}

/* The thread goes on alone, and then nothing is begun. */
static void who_leaves_while_it_is_prepared_is_forgotten(void **state)
{
    struct world w;
    struct written told;
    void *memory = ballast();
    const int threads = count_threads();
    (void)state;
    begin(&w);
    assert_int_equal(state_dump_begin(w.dump, 1, &w.err), 0);
    state_dump_leave(w.dump, 1);
    for (int64_t until_ns = now() + 20 * SECOND; count_threads() > threads;) {
        assert_true(now() < until_ns);
        sd_event_run(w.loop, 10000);
    }
    assert_false(w.ready);
    begin_at_last(&w, 2);
    assert_int_equal(take_all(&w, 2, &told), 0);
    free(told.text);
    begin_at_last(&w, 3);
    end(&w);
    munmap(memory, BALLAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_of_one_instant),
        cmocka_unit_test(one_takes_it),
        cmocka_unit_test(forks_are_few),
        cmocka_unit_test(a_child_that_dies_is_told),
        cmocka_unit_test(a_child_that_hangs_is_ended),
        cmocka_unit_test(who_takes_nothing_leaves_it_to_others),
        cmocka_unit_test(a_large_controller_prepares_its_fork),
        cmocka_unit_test(who_leaves_while_it_is_prepared_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
