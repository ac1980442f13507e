/* The power goes at every write of the store, one after the other, and what was not synced is lost,
 * kept or torn by chance: what was acknowledged is there, no job is there by half, and the file is
 * sound. */
#include "tests/model/power_vfs.h"
#include "tests/unit/test.h"

#include "controller/store/store_tables.h"

#include <string.h>

enum { JOBS = 24, PARTS = 3, SEEDS = 2, PART_BYTES = 1500 };

/* One change: a job with its parts, and the count of jobs. */
static void change_encode(int64_t job, struct row_bytes *bytes)
{
    char text[PART_BYTES + 1];
    const struct row_table *tables = store_schema.tables;
    const struct row_value counted[] = {row_text("test"), row_text("jobs"), ROW_BYTES(text, 8)};
    const struct row_value row[] = {ROW_NUMBER(job), row_text("name"), ROW_NUMBER(job * 7)};
    memset(text, 'a' + (int)(job % 26), PART_BYTES);
    snprintf(text, 9, "%08d", (int)job);
    row_encode(tables, STORE_SETTINGS, ROW_PUT, counted, SETTINGS_COLUMNS, bytes);
    for (int64_t n = 0; n < PARTS; n++) {
        const struct row_value part[] = {ROW_NUMBER(job), ROW_NUMBER(n),
                                         ROW_BYTES(text, PART_BYTES)};
        row_encode(tables, STORE_PARTS, ROW_PUT, part, PARTS_COLUMNS, bytes);
    }
    row_encode(tables, STORE_JOBS, ROW_PUT, row, JOBS_COLUMNS, bytes);
}

/* Until the power goes; how many jobs were acknowledged, and the last commit that was. Now and then
 * one is over, and pruned. */
static int64_t work(struct store_commit *ret_known)
{
    const struct store_bounds bounds = {INT64_MAX, 1, UINT64_C(1) << 40};
    struct row_bytes bytes = {0};
    struct store_file *file;
    int64_t job = 0;
    *ret_known = (struct store_commit){0};
    if (store_file_open("store", POWER_VFS, &store_schema, &file, NULL) < 0)
        return 0;
    /* The log is moved into the file again and again. */
    store_file_run(file, "PRAGMA wal_autocheckpoint=12", NULL);
    for (; job < JOBS; job++) {
        bytes.used = 0;
        change_encode(job + 1, &bytes);
        const struct store_piece piece = {bytes.at, bytes.used};
        if (store_file_apply(file, &piece, 1, NULL) < 0)
            break;
        if (job % 5 == 4)
            store_prune(file, &bounds, 0, NULL);
        *ret_known = *store_file_newest(file);
    }
    row_bytes_done(&bytes);
    store_file_close(file);
    return job;
}

static int64_t rows_of(struct store_file *file, unsigned table, struct row_value *ret_last)
{
    struct store_cursor *cursor;
    struct err err;
    char text[16] = "";
    int64_t rows = 0;
    int r;
    assert_int_equal(store_cursor_open(file, table, &cursor, &err), 0);
    while ((r = store_cursor_next(cursor, ret_last, &err)) > 0) {
        if (table == STORE_SETTINGS)
            memcpy(text, ret_last[SETTINGS_VALUE].at, 8);
        rows++;
    }
    if (r < 0)
        fail_msg("%s", err.text);
    store_cursor_close(cursor);
    ret_last->number = table == STORE_SETTINGS ? atoi(text) : ret_last->number;
    return rows;
}

static void judge(uint64_t seed, uint64_t at, int64_t acknowledged,
                  const struct store_commit *known)
{
    struct row_value row[ROW_COLUMNS_MAX] = {{0}};
    struct store_file *file;
    struct err err;
    uint64_t rows;
    if (store_file_open_whole("store", POWER_VFS, &store_schema, known, &file, &err) < 0 ||
        store_file_check(file, &rows, &err) < 0)
        fail_msg("seed %d, write %d: %s", (int)seed, (int)at, err.text);
    int64_t jobs = rows_of(file, STORE_JOBS, row);
    int64_t parts = rows_of(file, STORE_PARTS, row);
    int64_t counted = rows_of(file, STORE_SETTINGS, row) ? row->number : 0;
    if (jobs < acknowledged || jobs > acknowledged + 1 || parts != jobs * PARTS || counted != jobs)
        fail_msg("seed %d, write %d: %d jobs with %d parts, %d counted, %d acknowledged", (int)seed,
                 (int)at, (int)jobs, (int)parts, (int)counted, (int)acknowledged);
    store_file_close(file);
}

static void nothing_acknowledged_is_lost(void **state)
{
    (void)state;
    uint64_t stream = test_seed(), cuts = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        bool gone = true;
        for (uint64_t at = 1; gone; at++) {
            power_begin(test_random(&stream), at);
            struct store_commit known;
            int64_t acknowledged = work(&known);
            gone = power_gone();
            assert_true(gone || acknowledged == JOBS);
            cuts += gone;
            power_back();
            judge(seed, at, acknowledged, &known);
            power_end();
        }
    }
    fprintf(stderr, "# %d power cuts\n", (int)cuts);
    assert_true(cuts > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_acknowledged_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
