/* What is in the store's file: its tables, version 5. Times are wall-clock ns (CLOCK_REALTIME).
 *
 *   settings  kind name | value                 set by operators: policies, drains, stances, keys
 *   audit     n | at who what result            every requested change, refused ones too
 *   hosts     host | name … until               hosts by number; until > 0: forgotten
 *   jobs      job | name submitted              jobs that are not over; complete with their parts
 *   parts     job n | record                    a job as it was submitted (engine dump records)
 *   tasks     job stage task | attempt … ended  a task's state: done (attempt > 0), failures
 *   finished  ended job | name … task           ended jobs, in order of their ends
 *   garbage   job                               jobs whose parts are still to be removed
 *   sizes     history | mean learnt             sizes of frameworks' stages (since version 2)
 *   profiles  history variant | tasks … learnt  what was learnt of tasks (since version 4)
 *   splits    job stage | tasks … moved         where ended jobs' time went (since version 5)
 *
 * Since version 3 rows are counted, in a separate table (store_sums.h).
 *
 * Of frameworks' jobs there are only ended ones, without their tasks, but with their stages'
 * splits. */
#pragma once

#include "controller/store/store_file.h"

enum store_table {
    STORE_SETTINGS,
    STORE_AUDIT,
    STORE_HOSTS,
    STORE_JOBS,
    STORE_PARTS,
    STORE_TASKS,
    STORE_FINISHED,
    STORE_GARBAGE,
    STORE_SIZES,
    STORE_PROFILES,
    STORE_SPLITS,
    STORE_TABLES
};

/* Columns in the order of a row's values. */
enum { SETTINGS_KIND, SETTINGS_NAME, SETTINGS_VALUE, SETTINGS_COLUMNS };
enum { AUDIT_N, AUDIT_AT, AUDIT_WHO, AUDIT_WHAT, AUDIT_RESULT, AUDIT_COLUMNS };
enum {
    HOSTS_HOST,
    HOSTS_NAME,
    HOSTS_RACK,
    HOSTS_LABELS,
    HOSTS_BOOT, /* 0: it never joined */
    HOSTS_UNITS,
    HOSTS_ADDRESS,
    HOSTS_UPLINK,
    HOSTS_DOWNLINK,
    HOSTS_LOST,
    HOSTS_USED,
    HOSTS_AFTER,
    HOSTS_UNTIL,
    HOSTS_COLUMNS
};
enum { JOBS_JOB, JOBS_NAME, JOBS_SUBMITTED, JOBS_COLUMNS };
enum { PARTS_JOB, PARTS_N, PARTS_RECORD, PARTS_COLUMNS };
enum {
    TASKS_JOB,
    TASKS_STAGE,
    TASKS_TASK,
    TASKS_ATTEMPT,
    TASKS_HOST,
    TASKS_BOOT, /* of the host, then: its output is there while this is the host's boot */
    TASKS_FAILURES,
    TASKS_READY,
    TASKS_STARTED,
    TASKS_ENDED,
    TASKS_COLUMNS
};
enum {
    FINISHED_ENDED,
    FINISHED_JOB,
    FINISHED_NAME,
    FINISHED_STATE,
    FINISHED_RECORD,
    FINISHED_REASON,
    FINISHED_HOST,
    FINISHED_ATTEMPT,
    FINISHED_STAGE,
    FINISHED_TASK,
    FINISHED_COLUMNS
};
enum { GARBAGE_JOB, GARBAGE_COLUMNS };
enum { SIZES_HISTORY, SIZES_MEAN, SIZES_LEARNT, SIZES_COLUMNS };
enum {
    PROFILES_HISTORY,
    PROFILES_VARIANT,
    PROFILES_TASKS,
    PROFILES_READ_BYTES,
    PROFILES_READ_BYTES_S,
    PROFILES_BEFORE,
    PROFILES_COMPUTE,
    PROFILES_ERROR,
    PROFILES_LEARNT,
    PROFILES_COLUMNS
};
/* engine_split, of a job as a whole (stage ENGINE_NONE) and of each stage. */
enum {
    SPLITS_JOB,
    SPLITS_STAGE,
    SPLITS_TASKS,
    SPLITS_BYTES,
    SPLITS_TURN,
    SPLITS_HELD,
    SPLITS_ORDERED,
    SPLITS_RECEIVING,
    SPLITS_COMPUTING,
    SPLITS_AGAIN,
    SPLITS_UNKNOWN,
    SPLITS_LASTED, /* of the job */
    SPLITS_WHY,    /* the number of a reason */
    SPLITS_BEGAN,  /* 0: never */
    SPLITS_MOVED,  /* likewise */
    SPLITS_COLUMNS
};

extern const struct store_schema store_schema;

/* How much of the past is kept. */
struct store_bounds {
    _Atomic int64_t keep_ns; /* finished jobs, after their ends */
    uint32_t finished_max;
    uint64_t bytes_max; /* of the file; from three quarters of it on, the oldest finished jobs are
                         * removed */
};
#define STORE_AUDIT_MAX    100000
#define STORE_SIZES_MAX    4096 /* the engine has no more either: ENGINE_SIZES_MAX */
#define STORE_PROFILES_MAX 4096 /* as LEARNT_MAX */

/* Removes rows that are no longer to be kept, at most STORE_PRUNE_MOST, in one transaction, or
 * returns unused pages: how many rows (1 for pages), 0: there is nothing to do, −errno. */
int store_prune(struct store_file *file, const struct store_bounds *bounds, int64_t wall_ns,
                struct err *err);
