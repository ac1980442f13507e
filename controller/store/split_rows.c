#include "controller/store/split_rows.h"

/* A part's column. */
static const unsigned columns[SPLIT_PARTS] = {
    [SPLIT_TURN] = SPLITS_TURN,           [SPLIT_HELD] = SPLITS_HELD,
    [SPLIT_ORDERED] = SPLITS_ORDERED,     [SPLIT_RECEIVING] = SPLITS_RECEIVING,
    [SPLIT_COMPUTING] = SPLITS_COMPUTING, [SPLIT_AGAIN] = SPLITS_AGAIN,
};

static void parts_put(struct row_value *row, const int64_t *ns)
{
    for (int part = 0; part < SPLIT_PARTS; part++)
        row[columns[part]] = ROW_NUMBER(ns[part]);
}

static void parts_take(const struct row_value *row, int64_t *ret_ns)
{
    for (int part = 0; part < SPLIT_PARTS; part++)
        ret_ns[part] = row[columns[part]].number;
}

/* 0: never, on both clocks. */
static int64_t shifted(int64_t ns, int64_t by_ns)
{
    return ns ? ns + by_ns : 0;
}

static void stage_put(struct store *store, uint64_t job, const struct stage_split *stage,
                      int64_t offset_ns)
{
    struct row_value row[SPLITS_COLUMNS] = {
        [SPLITS_JOB] = ROW_NUMBER(job),
        [SPLITS_STAGE] = ROW_NUMBER(stage->stage),
        [SPLITS_TASKS] = ROW_NUMBER(stage->tasks),
        [SPLITS_BYTES] = ROW_NUMBER(stage->received_bytes),
        [SPLITS_WHY] = ROW_NUMBER(stage->why),
        [SPLITS_BEGAN] = ROW_NUMBER(shifted(stage->began_ns, offset_ns)),
        [SPLITS_MOVED] = ROW_NUMBER(shifted(stage->moved_ns, offset_ns)),
    };
    parts_put(row, stage->ns);
    store_put(store, STORE_SPLITS, row);
}

void split_rows_put(struct store *store, const struct job_split *split, int64_t offset_ns)
{
    struct row_value row[SPLITS_COLUMNS] = {
        [SPLITS_JOB] = ROW_NUMBER(split->job),
        [SPLITS_STAGE] = ROW_NUMBER(ENGINE_NONE),
        [SPLITS_BYTES] = ROW_NUMBER(split->received_bytes),
        [SPLITS_UNKNOWN] = ROW_NUMBER(split->unknown_ns),
        [SPLITS_LASTED] = ROW_NUMBER(split->lasted_ns),
    };
    parts_put(row, split->ns);
    store_put(store, STORE_SPLITS, row);
    for (uint32_t i = 0; i < split->n_stages; i++)
        stage_put(store, split->job, &split->stages[i], offset_ns);
}

static void job_take(struct history *history, const struct row_value *row)
{
    struct job_split split = {.job = (uint64_t)row[SPLITS_JOB].number,
                              .lasted_ns = row[SPLITS_LASTED].number,
                              .unknown_ns = row[SPLITS_UNKNOWN].number,
                              .received_bytes = (uint64_t)row[SPLITS_BYTES].number};
    parts_take(row, split.ns);
    split.idle_ns = split.lasted_ns - split.unknown_ns;
    for (int part = 0; part < SPLIT_PARTS; part++)
        split.idle_ns -= split.ns[part];
    history_job_split(history, &split);
}

static void stage_take(struct history *history, const struct row_value *row, int64_t offset_ns)
{
    struct stage_split stage = {.stage = (uint32_t)row[SPLITS_STAGE].number,
                                .tasks = (uint32_t)row[SPLITS_TASKS].number,
                                .why = (enum reason)row[SPLITS_WHY].number,
                                .received_bytes = (uint64_t)row[SPLITS_BYTES].number,
                                .began_ns = shifted(row[SPLITS_BEGAN].number, -offset_ns),
                                .moved_ns = shifted(row[SPLITS_MOVED].number, -offset_ns)};
    parts_take(row, stage.ns);
    history_stage_split(history, (uint64_t)row[SPLITS_JOB].number, &stage);
}

/* Of jobs as a whole, or of stages: theirs come before it, in the order of keys. */
static int rows_take(struct store_file *file, struct history *history, bool stages,
                     int64_t offset_ns, struct err *err)
{
    struct row_value row[ROW_COLUMNS_MAX];
    struct store_cursor *cursor;
    int r = store_cursor_open(file, STORE_SPLITS, &cursor, err);
    if (r < 0)
        return r;
    while ((r = store_cursor_next(cursor, row, err)) > 0) {
        bool whole = row[SPLITS_STAGE].number == ENGINE_NONE;
        if (whole && !stages)
            job_take(history, row);
        else if (!whole && stages)
            stage_take(history, row, offset_ns);
    }
    store_cursor_close(cursor);
    return r;
}

int split_rows_read(struct store *store, struct history *history, int64_t offset_ns,
                    struct err *err)
{
    struct store_file *file = store_file(store);
    int r = file ? rows_take(file, history, false, offset_ns, err) : 0;
    return r < 0 || !file ? r : rows_take(file, history, true, offset_ns, err);
}
