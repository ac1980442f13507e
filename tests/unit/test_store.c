/* The store: what is committed is there again, what is not is not, and what is wrong is named. */
#include "tests/unit/store_begun.h"

#include "controller/store/audit_book.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Hands over, and waits until it is on the disk. */
static void commit(struct store *store)
{
    uint64_t ticket;
    assert_int_equal(store_commit(store, true, &ticket), 0);
    for (int i = 0; i < 20000 && !store_settled(store, ticket); i++)
        poll(NULL, 0, 1);
    assert_true(store_settled(store, ticket));
}

static void settings_come_back(void **state)
{
    (void)state;
    char name[16], value[16];
    struct store *store = begun_at("settings");
    assert_null(store_setting(store, "policy", "turn"));
    assert_int_equal(store_set(store, "policy", "turn", "fifo"), 0);
    assert_int_equal(store_set(store, "policy", "turn", "fair"), 0);
    assert_int_equal(store_set(store, "drain", "h1", "yes"), 0);
    assert_int_equal(store_set(store, "drain", "h2", "yes"), 0);
    assert_int_equal(store_set(store, "drain", "h1", NULL), 0);
    assert_string_equal(store_setting(store, "policy", "turn"), "fair");
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(value, sizeof(value), "v%d", i * i);
        assert_int_equal(store_set(store, "many", name, value), 0);
    }
    commit(store);
    assert_int_equal(store_close(store, NULL), 0);
    store = store_at("settings");
    assert_string_equal(store_setting(store, "policy", "turn"), "fair");
    assert_null(store_setting(store, "drain", "h1"));
    assert_string_equal(store_setting(store, "drain", "h2"), "yes");
    assert_string_equal(store_setting(store, "many", "n31"), "v961");
    store_close(store, NULL);
}

static void names_add(void *context, const char *name, const char *value)
{
    char *all = context;
    snprintf(all + strlen(all), 64 - strlen(all), "%s=%s ", name, value);
}

static void settings_are_listed_by_kind_and_bounded(void **state)
{
    (void)state;
    char all[64] = "", *big = malloc(STORE_VALUE_MAX + 1);
    struct store *store = begun_at("kinds");
    store_set(store, "key", "b", "2");
    store_set(store, "key", "a", "1");
    store_set(store, "stance", "a", "mark");
    store_settings(store, "key", names_add, all);
    assert_string_equal(all, "a=1 b=2 ");
    memset(big, 'x', STORE_VALUE_MAX);
    big[STORE_VALUE_MAX] = '\0';
    assert_int_equal(store_set(store, "key", "a", big), -E2BIG);
    assert_int_equal(store_set(store, big, "a", "1"), -E2BIG);
    assert_string_equal(store_setting(store, "key", "a"), "1");
    free(big);
    store_close(store, NULL);
}

static void the_audit_goes_on_where_it_was(void **state)
{
    (void)state;
    struct store_audit_row row;
    struct store *store = begun_at("audit");
    uint64_t seen = 0, n = 0;
    char what[32];
    for (int i = 1; i <= AUDIT_SHOWN + 10; i++) {
        snprintf(what, sizeof(what), "cancel %d", i);
        store_audit(store, "uid 7", what, "done");
    }
    store_audit(store, "uid 8", "cancel 3", "refused, there is no such job");
    store_close(store, NULL);
    store = begun_at("audit");
    store_audit(store, "root", "policy turn fifo", "turn is fifo from now on");
    while (store_audit_after(store, seen, &row) == 0) {
        assert_true(row.n > seen && row.at_ns > 0);
        seen = row.n;
        n++;
    }
    assert_true(n == AUDIT_SHOWN + 2 && seen == AUDIT_SHOWN + 12);
    assert_string_equal(row.who, "root");
    assert_string_equal(row.result, "turn is fifo from now on");
    assert_int_equal(store_audit_after(store, seen - 2, &row), 0);
    assert_string_equal(row.what, "cancel 3");
    assert_string_equal(row.result, "refused, there is no such job");
    store_close(store, NULL);
}

static void jobs_take_no_place_of_a_change(void **state)
{
    (void)state;
    struct store_audit_row row;
    struct store *store = begun_at("jobs of many");
    uint64_t seen = 0, changes = 0, jobs = 0;
    store_audit(store, "ann", "drain w1", "host w1 gets no new tasks");
    for (int i = 0; i < 3 * AUDIT_SHOWN; i++)
        store_audit(store, "bob", i % 2 ? "cancel 1" : "submit a as job 1", "job 1");
    for (; store_audit_after(store, seen, &row) == 0; seen = row.n) {
        changes += strcmp(row.who, "ann") == 0;
        jobs += strcmp(row.who, "bob") == 0;
    }
    assert_true(changes == 1 && jobs == AUDIT_SHOWN);
    store_close(store, NULL);
}

/* Whoever is refused, however often, takes the place of nothing that was changed, and writes
 * little. */
static void what_was_refused_takes_no_place_of_a_change(void **state)
{
    (void)state;
    struct store_audit_row row;
    struct store *store = begun_at("refused");
    uint64_t seen = 0, changes = 0, refused = 0;
    char who[32];
    store_audit(store, "ann", "drain w1", "host w1 gets no new tasks");
    for (int i = 0; i < 100000; i++) {
        snprintf(who, sizeof(who), "uid %d", i % 2);
        store_audit(store, who, "cancel", "refused, 'cancel_job' takes another role");
    }
    store_audit(store, "ann", "drain w1 --undo", "host w1 takes tasks again");
    for (int i = 0; i < 3 * AUDIT_SHOWN; i++) { /* from as many as there are keys */
        snprintf(who, sizeof(who), "key %d", i);
        store_audit(store, who, "cancel", "refused, 'cancel_job' takes another role");
    }
    store_close(store, NULL);
    store = begun_at("refused");
    for (; store_audit_after(store, seen, &row) == 0; seen = row.n) {
        changes += strcmp(row.who, "ann") == 0;
        refused += strcmp(row.what, "cancel") == 0;
    }
    assert_int_equal(changes, 2);
    assert_true(refused > 0 && refused <= AUDIT_SHOWN);
    store_close(store, NULL);
    struct store_file *file;
    assert_int_equal(store_file_open(path_of("refused"), NULL, &store_schema, &file, NULL), 0);
    assert_int_equal(store_file_ask(file, "SELECT count(*) FROM audit", 0, -1),
                     (int64_t)(changes + refused));
    store_file_close(file);
}

static void part_put(struct store *store, int64_t job, int64_t n, const char *text)
{
    const struct row_value row[PARTS_COLUMNS] = {ROW_NUMBER(job), ROW_NUMBER(n), row_text(text)};
    store_put(store, STORE_PARTS, row);
}

/* Turns one bit of the file where `text` stands in it. */
static void bit_flip(const char *path, const char *text)
{
    static char file[1 << 20];
    FILE *in = fopen(path, "r+");
    assert_non_null(in);
    size_t n = fread(file, 1, sizeof(file), in);
    char *at = memmem(file, n, text, strlen(text));
    assert_non_null(at);
    fseek(in, at - file, SEEK_SET);
    fputc(*at ^ 4, in);
    assert_int_equal(fclose(in), 0);
}

static void a_flipped_bit_is_found_and_named(void **state)
{
    (void)state;
    struct store_file *file;
    struct err err;
    uint64_t rows;
    struct store *store = begun_at("flipped");
    part_put(store, 7, 0, "job_begin job=7 name=here");
    part_put(store, 7, 3, "job_stage job=7 stage=there");
    store_set(store, "drain", "somebody", "certainly");
    store_close(store, NULL);
    assert_int_equal(store_file_open(path_of("flipped"), NULL, &store_schema, &file, &err), 0);
    assert_int_equal(store_file_check(file, &rows, &err), 0);
    assert_int_equal(rows, 3);
    store_file_close(file);
    bit_flip(path_of("flipped"), "job=7 stage=there");
    assert_int_equal(store_file_open(path_of("flipped"), NULL, &store_schema, &file, &err), 0);
    assert_int_equal(store_file_check(file, &rows, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "in table parts the row with job 7 n 3 does not have"));
    store_file_close(file);
    bit_flip(path_of("flipped"), "certainly");
    assert_int_equal(store_open(path_of("flipped"), NULL, &bounds, &store, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "in table settings the row with kind drain name somebody"));
}

/* What a controller that is killed now leaves, under another name. */
static void leave_as(const char *name, const char *as)
{
    static const char *const parts[] = {"", "-wal", ".last"};
    static char bytes[1 << 22];
    char path[256];
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", path_of(name), parts[i]);
        FILE *in = fopen(path, "r");
        size_t n = in ? fread(bytes, 1, sizeof(bytes), in) : 0;
        snprintf(path, sizeof(path), "%s%s", path_of(as), parts[i]);
        FILE *out = fopen(path, "w");
        assert_true(out && fwrite(bytes, 1, n, out) == n);
        if (in)
            fclose(in);
        assert_int_equal(fclose(out), 0);
    }
    snprintf(path, sizeof(path), "%s-shm", path_of(as));
    unlink(path);
}

/* So many jobs of one part and a setting each, in the log or already in the file. */
static void jobs_left(const char *as, int jobs, bool in_file)
{
    char name[32];
    struct store *store = begun_at("jobs");
    for (int i = 1; i <= jobs; i++) {
        snprintf(name, sizeof(name), "job %d", i);
        part_put(store, i, 0, name);
        store_set(store, "job", name, "there");
        commit(store);
    }
    if (in_file) {
        assert_int_equal(store_close(store, NULL), 0);
        store = begun_at("jobs");
    }
    leave_as("jobs", as);
    assert_int_equal(store_close(store, NULL), 0);
    unlink(path_of("jobs"));
    unlink(path_of("jobs.last"));
}

/* How many rows are there; −errno: it is not taken. */
static int64_t rows_read(const char *name, struct err *err)
{
    struct row_value row[ROW_COLUMNS_MAX];
    struct store *store = NULL;
    int64_t rows = 0;
    int r = store_open(path_of(name), NULL, &bounds, &store, err);
    for (unsigned table = 0; r == 0 && table < STORE_TABLES; table++) {
        struct store_cursor *cursor;
        if ((r = store_cursor_open(store_file(store), table, &cursor, err)) < 0)
            break;
        while ((r = store_cursor_next(cursor, row, err)) > 0)
            rows++;
        store_cursor_close(cursor);
    }
    store_close(store, NULL);
    return r < 0 ? r : rows;
}

static void byte_turn(const char *path, long at)
{
    FILE *in = fopen(path, "r+");
    assert_non_null(in);
    fseek(in, at, SEEK_SET);
    int byte = fgetc(in);
    fseek(in, at, SEEK_SET);
    fputc(byte ^ 16, in);
    assert_int_equal(fclose(in), 0);
}

static long size_of(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 ? (long)file.st_size : -1;
}

/* Of what was acknowledged all is there, or it is said that it is not, wherever the bit is. */
static void turn_everywhere(const char *part, bool in_file)
{
    char turned[64];
    struct err err;
    jobs_left("left", 40, in_file);
    leave_as("left", "turned");
    assert_int_equal(rows_read("turned", &err), 80);
    int refused = 0, n = 0;
    snprintf(turned, sizeof(turned), "turned%s", part);
    const long step = size_of(path_of(turned)) / 300;
    for (long at = 3; n < 300; at += step, n++) {
        leave_as("left", "turned");
        byte_turn(path_of(turned), at);
        int64_t rows = rows_read("turned", &err);
        if (rows >= 0 && rows != 80)
            fail_msg("byte %ld of store%s: %d rows of 80, and nothing said", at, part, (int)rows);
        refused += rows < 0;
    }
    fprintf(stderr, "# %d of %d are refused\n", refused, n);
    assert_true(refused > 3);
}

static void a_bit_anywhere_in_the_log_is_found(void **state)
{
    (void)state;
    turn_everywhere("-wal", false);
}

static void a_bit_anywhere_in_the_file_is_found(void **state)
{
    (void)state;
    turn_everywhere("", true);
}

/* The sentence has the way back; what was not taken stays as it is until somebody goes on
 * without. */
static void a_log_with_a_hole_is_not_taken(void **state)
{
    (void)state;
    struct err err;
    jobs_left("hole", 40, false);
    long bytes = size_of(path_of("hole-wal"));
    byte_turn(path_of("hole-wal"), bytes / 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rows_read("hole", &err), -EBADMSG);
        assert_non_null(
            strstr(err.text, "commits that were on the disk: the last was number 41 of"));
        assert_non_null(strstr(err.text, "duopolyd --restore nothing"));
        assert_int_equal(size_of(path_of("hole-wal")), bytes);
    }
    assert_int_equal(store_last_forget(path_of("hole")), 0);
    int64_t rows = rows_read("hole", &err);
    assert_true(rows > 0 && rows < 80);
}

static void an_emptied_store_is_not_taken_for_a_new_one(void **state)
{
    (void)state;
    struct err err;
    jobs_left("emptied", 3, false);
    long bytes = size_of(path_of("emptied-wal"));
    assert_int_equal(truncate(path_of("emptied"), 0), 0);
    assert_true(store_absent(path_of("emptied")));
    assert_int_equal(rows_read("emptied", &err), -EBADMSG);
    assert_int_equal(size_of(path_of("emptied-wal")), bytes);
    jobs_left("emptied", 3, false);
    assert_int_equal(unlink(path_of("emptied-wal")), 0);
    assert_int_equal(rows_read("emptied", &err), -EBADMSG);
    assert_int_equal(truncate(path_of("emptied"), 0), 0);
    assert_int_equal(rows_read("emptied", &err), -EBADMSG);
    assert_non_null(
        strstr(err.text, "lacks 4 commits that were on the disk: the last was number 4"));
    assert_non_null(strstr(err.text, "it is empty"));
    assert_int_equal(unlink(path_of("emptied")), 0);
    assert_int_equal(rows_read("emptied", &err), -EBADMSG);
    assert_int_equal(store_last_forget(path_of("emptied")), 0);
    assert_int_equal(rows_read("emptied", &err), 0);
}

/* An older file in its place is no crash either; without the file beside it nobody can tell. */
static void what_is_known_beside_it_is_only_believed_whole(void **state)
{
    (void)state;
    struct store *store;
    struct err err;
    char older[64];
    jobs_left("older", 3, true);
    jobs_left("put back", 5, true);
    snprintf(older, sizeof(older), "%.63s", path_of("older"));
    assert_int_equal(rename(older, path_of("put back")), 0);
    assert_int_equal(unlink(path_of("put back-wal")), 0);
    assert_int_equal(rows_read("put back", &err), -EBADMSG);
    byte_turn(path_of("put back.last"), 20);
    store = store_at("put back");
    assert_non_null(strstr(store_words(store), ".last is not as this program wrote it"));
    store_close(store, NULL);
    assert_int_equal(unlink(path_of("put back.last")), 0);
    store = begun_at("put back");
    assert_non_null(strstr(store_words(store), ".last is missing"));
    store_close(store, NULL);
    store = store_at("put back");
    assert_string_equal(store_words(store), "");
    store_close(store, NULL);
}

/* Commits one by one until it is killed, and says each that is on the disk. */
static void commit_on(int out)
{
    char value[16];
    struct store *store = begun_at("killed");
    for (uint32_t i = 0;; i++) {
        snprintf(value, sizeof(value), "%u", i);
        store_set(store, "count", value, value);
        commit(store);
        if (write(out, &i, sizeof(i)) != sizeof(i))
            _exit(EXIT_FAILURE);
    }
}

static void a_kill_is_no_damage(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    struct err err;
    for (int round = 0; round < 25; round++) {
        uint32_t said = 0;
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0)
            commit_on(ends[1]);
        close(ends[1]);
        for (uint64_t n = 1 + test_random(&stream) % 40; n > 0; n--)
            assert_int_equal(read(ends[0], &said, sizeof(said)), sizeof(said));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(ends[0], &said, sizeof(said)) == sizeof(said))
            ;
        close(ends[0]);
        int64_t rows = rows_read("killed", &err);
        if (rows < said + 1)
            fail_msg("round %d: %d rows of %u: %s", round, (int)rows, said + 1, err.text);
    }
}

/* Whoever deletes rows with another program, or a page that was never written. */
static void rows_that_are_gone_are_missed(void **state)
{
    (void)state;
    struct store_file *file;
    struct err err;
    uint64_t rows;
    struct store *store = begun_at("gone");
    part_put(store, 7, 0, "begin");
    part_put(store, 7, 1, "end");
    store_close(store, NULL);
    run_sql(path_of("gone"), "DELETE FROM parts WHERE n=1");
    assert_int_equal(store_file_open(path_of("gone"), NULL, &store_schema, &file, &err), 0);
    assert_int_equal(store_file_check(file, &rows, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "table parts has 1 row, 2 were written; go on with a backup"));
    store_file_close(file);
}

static void row_put(struct row_bytes *bytes, enum store_table table, const struct row_value *row)
{
    row_encode(store_schema.tables, table, ROW_PUT, row, store_schema.tables[table].columns, bytes);
}

static void tasks_put(struct row_bytes *bytes, int64_t job, int64_t n)
{
    for (int64_t task = 0; task < n; task++) {
        const struct row_value row[TASKS_COLUMNS] = {ROW_NUMBER(job), ROW_NUMBER(0),
                                                     ROW_NUMBER(task)};
        row_put(bytes, STORE_TASKS, row);
    }
}

static void splits_put(struct row_bytes *bytes, int64_t job, int64_t n)
{
    for (int64_t stage = 0; stage < n; stage++) {
        const struct row_value row[SPLITS_COLUMNS] = {ROW_NUMBER(job), ROW_NUMBER(stage)};
        row_put(bytes, STORE_SPLITS, row);
    }
}

static void past_put(struct store_file *file)
{
    struct row_bytes bytes = {0};
    for (int64_t job = 1; job <= 20; job++) {
        const struct row_value row[FINISHED_COLUMNS] = {
            [FINISHED_ENDED] = ROW_NUMBER(1000 * job), [FINISHED_JOB] = ROW_NUMBER(job)};
        row_put(&bytes, STORE_FINISHED, row);
        tasks_put(&bytes, job, 600);
        splits_put(&bytes, job, 65);
    }
    tasks_put(&bytes, 99, 10); /* of one that is not over */
    for (int64_t n = 0; n < 700; n++) {
        const struct row_value part[PARTS_COLUMNS] = {ROW_NUMBER(n % 2 ? 30 : 99), ROW_NUMBER(n)};
        row_put(&bytes, STORE_PARTS, part);
    }
    const struct row_value garbage[] = {ROW_NUMBER(30)};
    row_put(&bytes, STORE_GARBAGE, garbage);
    /* Numbers of refused requests, whose rows are gone, stand between. */
    for (int64_t n = 1; n <= STORE_AUDIT_MAX + 300; n++) {
        const struct row_value audit[AUDIT_COLUMNS] = {ROW_NUMBER(3 * n)};
        row_put(&bytes, STORE_AUDIT, audit);
    }
    for (int64_t n = 0; n < STORE_SIZES_MAX + 700; n++) {
        const struct row_value sizes[SIZES_COLUMNS] = {ROW_NUMBER(n), ROW_NUMBER(1),
                                                       ROW_NUMBER(n < 100 ? n + 5000 : n)};
        row_put(&bytes, STORE_SIZES, sizes);
        const struct row_value learnt[PROFILES_COLUMNS] = {[PROFILES_HISTORY] = ROW_NUMBER(n / 4),
                                                           [PROFILES_VARIANT] = ROW_NUMBER(n % 4),
                                                           [PROFILES_LEARNT] =
                                                               ROW_NUMBER(n < 100 ? n + 5000 : n)};
        row_put(&bytes, STORE_PROFILES, learnt);
    }
    const struct store_piece piece = {bytes.at, bytes.used};
    assert_int_equal(store_file_apply(file, &piece, 1, NULL), 0);
    row_bytes_done(&bytes);
}

/* Prunes step by step, each of them small, and as large as it may be while there is more: a
 * transaction for each row would take the disk from commits. What is left of a table. */
static void pruned(struct store_file *file, const struct store_bounds *most, int64_t wall_ns,
                   int64_t finished, int64_t oldest)
{
    struct err err;
    int n, before = STORE_PRUNE_MOST;
    while ((n = store_prune(file, most, wall_ns, &err)) > 0) {
        assert_true(n <= STORE_PRUNE_MOST);
        assert_true(n == 1 || before == STORE_PRUNE_MOST); /* 1: pages that are given back */
        before = n;
    }
    if (n < 0)
        fail_msg("%s", err.text);
    assert_int_equal(store_file_ask(file, "SELECT count(*) FROM finished", 0, -1), finished);
    assert_int_equal(store_file_ask(file, "SELECT min(job) FROM finished", 0, 0), oldest);
    assert_int_equal(store_file_ask(file, "SELECT count(*) FROM tasks", 0, -1),
                     600 * finished + 10);
    assert_int_equal(store_file_ask(file, "SELECT count(*) FROM splits", 0, -1), 65 * finished);
}

/* By count, by age, by size, a little at a time; what is not over stays. */
static void the_past_is_kept_in_bounds(void **state)
{
    (void)state;
    struct store_bounds most = {.keep_ns = 1000000, .finished_max = 5, .bytes_max = 1 << 30};
    struct store_file *file;
    assert_int_equal(store_file_open(path_of("past"), NULL, &store_schema, &file, NULL), 0);
    past_put(file);
    int64_t pages = store_file_ask(file, "PRAGMA page_count", 0, 0);
    pruned(file, &most, 21000, 5, 16);
    assert_int_equal(store_file_ask(file, "SELECT count(*) FROM parts", 0, -1), 350);
    assert_int_equal(store_file_ask(file, "SELECT count(*) FROM garbage", 0, -1), 0);
    assert_int_equal(store_file_ask(file, "SELECT min(n) FROM audit", 0, -1), 903);
    assert_int_equal(store_file_ask(file, "SELECT count(*) FROM audit", 0, -1), STORE_AUDIT_MAX);
    assert_int_equal(store_file_ask(file, "SELECT count(*) FROM sizes", 0, -1), STORE_SIZES_MAX);
    assert_int_equal(store_file_ask(file, "SELECT min(learnt) FROM sizes", 0, -1), 800);
    assert_int_equal(store_file_ask(file, "SELECT count(*) FROM profiles", 0, -1),
                     STORE_PROFILES_MAX);
    assert_int_equal(store_file_ask(file, "SELECT min(learnt) FROM profiles", 0, -1), 800);
    pruned(file, &most, 1017500, 3, 18);
    most.bytes_max = 4096;
    pruned(file, &most, 1017500, 0, 0);
    assert_true(store_file_ask(file, "PRAGMA page_count", 0, 0) <= pages);
    store_file_close(file);
}

/* A file that may not grow takes no more, and says so. */
static void a_full_file_is_a_full_disk(void **state)
{
    (void)state;
    struct row_bytes bytes = {0};
    struct store_file *file;
    struct err err;
    assert_int_equal(store_file_open(path_of("bounded"), NULL, &store_schema, &file, NULL), 0);
    store_file_bound(file, 200000);
    tasks_put(&bytes, 1, 10000);
    const struct store_piece piece = {bytes.at, bytes.used};
    assert_int_equal(store_file_apply(file, &piece, 1, &err), -ENOSPC);
    assert_int_equal(store_file_ask(file, "SELECT count(*) FROM tasks", 0, -1), 0);
    row_bytes_done(&bytes);
    store_file_close(file);
}

/* Nothing is dropped when the disk is full, requests are refused meanwhile, and it goes on
 * alone. */
static void a_full_disk_is_waited_out(void **state)
{
    (void)state;
    char ballast[128], value[3000], name[16];
    struct store *store;
    struct err err;
    uint64_t ticket = 0;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=2m") < 0)
        skip_since("no file system of its own can be mounted here (root is needed)");
    store = begun_at("full");
    snprintf(ballast, sizeof(ballast), "%s", path_of("ballast"));
    int fd = open(ballast, O_CREAT | O_WRONLY, 0600);
    while (write(fd, value, sizeof(value)) > 0)
        ;
    close(fd);
    memset(value, 'x', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        store_set(store, "many", name, value);
        assert_int_equal(store_commit(store, true, &ticket), 0);
    }
    for (int i = 0; i < 20000 && store_refusal(store, &err) == 0; i++)
        poll(NULL, 0, 1);
    assert_int_equal(store_refusal(store, &err), -ENOSPC);
    assert_non_null(strstr(err.text, "nothing is changed"));
    assert_false(store_settled(store, ticket));
    unlink(ballast);
    for (int i = 0; i < 20000 && !store_settled(store, ticket); i++)
        poll(NULL, 0, 1);
    assert_true(store_settled(store, ticket));
    assert_int_equal(store_refusal(store, &err), 0);
    assert_int_equal(store_close(store, NULL), 0);
    store = store_at("full");
    assert_string_equal(store_setting(store, "many", "n199"), value);
    store_close(store, NULL);
    umount(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_come_back),
        cmocka_unit_test(settings_are_listed_by_kind_and_bounded),
        cmocka_unit_test(the_audit_goes_on_where_it_was),
        cmocka_unit_test(jobs_take_no_place_of_a_change),
        cmocka_unit_test(what_was_refused_takes_no_place_of_a_change),
        cmocka_unit_test(a_flipped_bit_is_found_and_named),
        cmocka_unit_test(a_bit_anywhere_in_the_log_is_found),
        cmocka_unit_test(a_bit_anywhere_in_the_file_is_found),
        cmocka_unit_test(a_log_with_a_hole_is_not_taken),
        cmocka_unit_test(an_emptied_store_is_not_taken_for_a_new_one),
        cmocka_unit_test(what_is_known_beside_it_is_only_believed_whole),
        cmocka_unit_test(a_kill_is_no_damage),
        cmocka_unit_test(rows_that_are_gone_are_missed),
        cmocka_unit_test(the_past_is_kept_in_bounds),
        cmocka_unit_test(a_full_file_is_a_full_disk),
        cmocka_unit_test(a_full_disk_is_waited_out),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
