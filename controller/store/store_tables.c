#include "controller/store/store_tables.h"

#define N(name_)                                                                                   \
    {                                                                                              \
        name_, COLUMN_NUMBER                                                                       \
    }
#define T(name_)                                                                                   \
    {                                                                                              \
        name_, COLUMN_TEXT                                                                         \
    }
#define B(name_)                                                                                   \
    {                                                                                              \
        name_, COLUMN_BYTES                                                                        \
    }

static const struct row_table tables[STORE_TABLES] = {
    [STORE_SETTINGS] = {"settings", 2, SETTINGS_COLUMNS, {T("kind"), T("name"), T("value")}},
    [STORE_AUDIT] = {"audit",
                     1,
                     AUDIT_COLUMNS,
                     {N("n"), N("at"), T("who"), T("what"), T("result")}},
    [STORE_HOSTS] = {"hosts",
                     1,
                     HOSTS_COLUMNS,
                     {N("host"), T("name"), T("rack"), T("labels"), N("boot"), B("units"),
                      B("address"), N("uplink"), N("downlink"), N("lost"), N("used"), N("after"),
                      N("until")}},
    [STORE_JOBS] = {"jobs", 1, JOBS_COLUMNS, {N("job"), T("name"), N("submitted")}},
    [STORE_PARTS] = {"parts", 2, PARTS_COLUMNS, {N("job"), N("n"), T("record")}},
    [STORE_TASKS] = {"tasks",
                     3,
                     TASKS_COLUMNS,
                     {N("job"), N("stage"), N("task"), N("attempt"), N("host"), N("boot"),
                      N("failures"), N("ready"), N("started"), N("ended")}},
    [STORE_FINISHED] = {"finished",
                        2,
                        FINISHED_COLUMNS,
                        {N("ended"), N("job"), T("name"), T("state"), T("record"), T("reason"),
                         T("host"), N("attempt"), N("stage"), N("task")}},
    [STORE_GARBAGE] = {"garbage", 1, GARBAGE_COLUMNS, {N("job")}},
    [STORE_SIZES] = {"sizes", 1, SIZES_COLUMNS, {N("history"), N("mean"), N("learnt")}},
    [STORE_PROFILES] = {"profiles",
                        2,
                        PROFILES_COLUMNS,
                        {N("history"), N("variant"), N("tasks"), N("read_bytes"), N("read_bytes_s"),
                         N("reads_before"), N("compute"), N("error"), N("learnt")}},
    [STORE_SPLITS] = {"splits",
                      2,
                      SPLITS_COLUMNS,
                      {N("job"), N("stage"), N("tasks"), N("bytes"), N("turn"), N("held"),
                       N("ordered"), N("receiving"), N("computing"), N("again"), N("unknown"),
                       N("lasted"), N("why"), N("began"), N("moved")}},
};

/* From which version on, by number; the first has none before it. */
static const char *const migrations[] = {
    NULL,
    "CREATE TABLE sizes (history INTEGER NOT NULL, mean INTEGER NOT NULL, learnt INTEGER NOT NULL, "
    "hash INTEGER NOT NULL, PRIMARY KEY (history)) STRICT, WITHOUT ROWID",
    "", /* rows are counted (store_sums.h): an older program would not */
    "CREATE TABLE profiles (history INTEGER NOT NULL, variant INTEGER NOT NULL, tasks INTEGER NOT "
    "NULL, read_bytes INTEGER NOT NULL, read_bytes_s INTEGER NOT NULL, reads_before INTEGER NOT "
    "NULL, compute INTEGER NOT NULL, error INTEGER NOT NULL, learnt INTEGER NOT NULL, hash INTEGER "
    "NOT "
    "NULL, PRIMARY KEY (history, variant)) STRICT, WITHOUT ROWID",
    "CREATE TABLE splits (job INTEGER NOT NULL, stage INTEGER NOT NULL, tasks INTEGER NOT NULL, "
    "bytes INTEGER NOT NULL, turn INTEGER NOT NULL, held INTEGER NOT NULL, ordered INTEGER NOT "
    "NULL, receiving INTEGER NOT NULL, computing INTEGER NOT NULL, again INTEGER NOT NULL, unknown "
    "INTEGER NOT NULL, lasted INTEGER NOT NULL, why INTEGER NOT NULL, began INTEGER NOT NULL, "
    "moved INTEGER NOT NULL, hash INTEGER NOT NULL, PRIMARY KEY (job, stage)) STRICT, WITHOUT "
    "ROWID",
};

const struct store_schema store_schema = {tables, STORE_TABLES, 5, migrations};

/* One transaction's worth of pruning. */
struct pruning {
    struct store_file *file;
    struct err *err;
    int removed; /* rows */
};

static int64_t left(const struct pruning *pruning)
{
    return STORE_PRUNE_MOST - pruning->removed;
}

/* How many rows of `table` the statement removed, or −errno. */
static int rows_remove(struct pruning *pruning, unsigned table, const char *sql, int64_t first,
                       int64_t second)
{
    int n = store_file_remove(pruning->file, table, sql, first, second, pruning->err);
    pruning->removed += n > 0 ? n : 0;
    return n;
}

static int garbage_prune(struct pruning *pruning)
{
    int64_t job;
    int n = 0;
    while (n >= 0 && left(pruning) > 0 &&
           (job = store_file_ask(pruning->file, "SELECT job FROM garbage LIMIT 1", 0, 0))) {
        n = rows_remove(pruning, STORE_PARTS,
                        "DELETE FROM parts WHERE job=?1 AND n IN "
                        "(SELECT n FROM parts WHERE job=?1 LIMIT ?2) RETURNING hash",
                        job, left(pruning));
        if (n == 0)
            n = rows_remove(pruning, STORE_GARBAGE,
                            "DELETE FROM garbage WHERE job=?1 RETURNING hash", job, 0);
    }
    return n < 0 ? n : 0;
}

static uint64_t bytes_used(struct store_file *file)
{
    return (uint64_t)(store_file_ask(file, "PRAGMA page_count", 0, 0) -
                      store_file_ask(file, "PRAGMA freelist_count", 0, 0)) *
           (uint64_t)store_file_ask(file, "PRAGMA page_size", 0, 0);
}

/* When the oldest of `count` finished jobs ended if it is no longer to be kept, else −1. */
static int64_t ended_too_long_ago(struct store_file *file, const struct store_bounds *bounds,
                                  int64_t wall_ns, int64_t count)
{
    int64_t ended = store_file_ask(file, "SELECT ended FROM finished ORDER BY ended, job", 0, -1);
    bool over = ended >= 0 && (wall_ns - ended > bounds->keep_ns || count > bounds->finished_max ||
                               bytes_used(file) > bounds->bytes_max / 4 * 3);
    return over ? ended : -1;
}

static int finished_prune(struct pruning *pruning, const struct store_bounds *bounds,
                          int64_t wall_ns)
{
    struct store_file *file = pruning->file;
    int64_t ended, count = store_file_ask(file, "SELECT count(*) FROM finished", 0, 0);
    int n = 0;
    while (n >= 0 && left(pruning) > 0 &&
           (ended = ended_too_long_ago(file, bounds, wall_ns, count)) >= 0) {
        int64_t job = store_file_ask(file, "SELECT job FROM finished ORDER BY ended, job", 0, 0);
        n = rows_remove(pruning, STORE_TASKS,
                        "DELETE FROM tasks WHERE job=?1 AND (stage, task) IN "
                        "(SELECT stage, task FROM tasks WHERE job=?1 LIMIT ?2) RETURNING hash",
                        job, left(pruning));
        if (n == 0)
            n = rows_remove(pruning, STORE_SPLITS,
                            "DELETE FROM splits WHERE job=?1 AND stage IN "
                            "(SELECT stage FROM splits WHERE job=?1 LIMIT ?2) RETURNING hash",
                            job, left(pruning));
        if (n != 0)
            continue;
        n = rows_remove(pruning, STORE_FINISHED,
                        "DELETE FROM finished WHERE ended=?1 AND job=?2 RETURNING hash", ended,
                        job);
        count--;
    }
    return n < 0 ? n : 0;
}

/* The oldest, if there are too many. */
static int audit_prune(struct pruning *pruning)
{
    struct store_file *file = pruning->file;
    int64_t newest = store_file_ask(file, "SELECT max(n) FROM audit", 0, 0);
    int64_t oldest = store_file_ask(file, "SELECT min(n) FROM audit", 0, 0);
    /* WHY not by numbers alone: there are gaps, the numbers of refused requests whose rows are
     * gone. */
    int64_t over = newest - oldest < STORE_AUDIT_MAX
                       ? 0
                       : store_file_ask(file, "SELECT count(*) FROM audit", 0, 0) - STORE_AUDIT_MAX;
    return over <= 0 ? 0
                     : rows_remove(pruning, STORE_AUDIT,
                                   "DELETE FROM audit WHERE n IN (SELECT n FROM audit "
                                   "ORDER BY n LIMIT min(?1, ?2)) RETURNING hash",
                                   over, left(pruning));
}

static int sizes_prune(struct pruning *pruning)
{
    int64_t over =
        store_file_ask(pruning->file, "SELECT count(*) FROM sizes", 0, 0) - STORE_SIZES_MAX;
    return over <= 0 ? 0
                     : rows_remove(pruning, STORE_SIZES,
                                   "DELETE FROM sizes WHERE history IN (SELECT history FROM sizes "
                                   "ORDER BY learnt, history LIMIT min(?1, ?2)) RETURNING hash",
                                   over, left(pruning));
}

static int profiles_prune(struct pruning *pruning)
{
    int64_t over =
        store_file_ask(pruning->file, "SELECT count(*) FROM profiles", 0, 0) - STORE_PROFILES_MAX;
    return over <= 0 ? 0
                     : rows_remove(pruning, STORE_PROFILES,
                                   "DELETE FROM profiles WHERE (history, variant) IN (SELECT "
                                   "history, variant FROM profiles ORDER BY learnt, history, "
                                   "variant LIMIT min(?1, ?2)) RETURNING hash",
                                   over, left(pruning));
}

/* Removed rows leave free pages in the file, which are reused; pages that stay free for long are
 * returned. */
static int room_give_back(struct store_file *file, struct err *err)
{
    int64_t unused = store_file_ask(file, "PRAGMA freelist_count", 0, 0);
    if (unused < 4096 || unused < store_file_ask(file, "PRAGMA page_count", 0, 0) / 4)
        return 0;
    return store_file_run(file, "PRAGMA incremental_vacuum(256)", err) < 0 ? -1 : 1;
}

int store_prune(struct store_file *file, const struct store_bounds *bounds, int64_t wall_ns,
                struct err *err)
{
    struct pruning pruning = {.file = file, .err = err};
    int r = store_file_begin(file, err);
    r = r < 0 ? r : garbage_prune(&pruning);
    r = r < 0 ? r : finished_prune(&pruning, bounds, wall_ns);
    r = r < 0 ? r : audit_prune(&pruning);
    r = r < 0 ? r : sizes_prune(&pruning);
    r = r < 0 ? r : profiles_prune(&pruning);
    if (r >= 0 && pruning.removed == 0) {
        store_file_abandon(file);
        return room_give_back(file, err);
    }
    return store_file_end(file, r < 0 ? r : pruning.removed, err);
}
