#include "controller/store/recovery.h"

#include "controller/engine/base/record.h"
#include "controller/frameworks/framework_numbers.h"
#include "controller/store/division_setting.h"
#include "controller/store/job_setting.h"
#include "controller/store/record_times.h"
#include "controller/store/resumption.h"
#include "controller/store/user_setting.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Lines of an empty engine's dump. */
struct lines {
    char *at;
    size_t used, size;
    bool failed;
};

/* What a stage had. */
struct learnt {
    uint64_t history, mean;
    int64_t at_ns;
};

/* One of the store's tables, a row ahead. */
struct reader {
    struct store_cursor *cursor;
    struct row_value row[ROW_COLUMNS_MAX];
    bool there;
};

enum phase { HEAD, SIZES, HOSTS, USERS, FINISHED, JOBS, PARTS, ORDERS, TASKS, TAIL };

struct recovery {
    struct store *store;
    struct history *history;
    int64_t now_ns, offset_ns;
    struct lines empty;
    size_t tail; /* where what belongs behind jobs begins in `empty` */
    size_t position;
    struct lines users; /* the events that set them */
    size_t user;        /* how far they are told */
    struct recovered *recovered;
    uint32_t *places; /* of hosts in `recovered`, by number, from 1; 0: unused */
    uint32_t hosts_max;
    struct lost_output *lost; /* since then the machine booted, or the host was forgotten */
    size_t n_lost;
    struct reader jobs, parts, tasks, finished;
    struct learnt *learnt; /* what was learnt last is the last */
    size_t n_learnt, learnt_told;
    enum phase phase;
    size_t host;
    bool joined;     /* its event is out, its record is not */
    unsigned orders; /* about the present job that are told */
    int64_t slot_wait_ns;
    char *line;
    struct err *err;
};

static bool boot_id(char *ret_text, size_t size)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret_text, size - 1);
    if (fd >= 0)
        close(fd);
    ret_text[n > 0 ? n : 0] = '\0';
    ret_text[strcspn(ret_text, "\n")] = '\0';
    return n > 0;
}

int64_t recovery_offset(struct store *store, bool scripted, int64_t now_ns)
{
    char boot[64], text[96];
    struct timespec wall;
    const char *known = store_setting(store, "clock", "offset");
    bool booted = !scripted && boot_id(boot, sizeof(boot));
    size_t length = booted ? strlen(boot) : 0;
    if (booted && known && strncmp(known, boot, length) == 0 && known[length] == ' ')
        return strtoll(known + length, NULL, 10);
    clock_gettime(CLOCK_REALTIME, &wall);
    int64_t offset_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - now_ns;
    snprintf(text, sizeof(text), "%s %" PRId64, booted ? boot : "scripted", offset_ns);
    store_set(store, "clock", "offset", text);
    return offset_ns;
}

static int line_keep(void *context, const char *line, size_t length)
{
    struct lines *lines = context;
    if (lines->used + length + 1 > lines->size) {
        size_t size = 2 * (lines->used + length + 1);
        char *at = realloc(lines->at, size);
        if (!at)
            return -ENOMEM;
        lines->at = at;
        lines->size = size;
    }
    memcpy(lines->at + lines->used, line, length);
    lines->used += length;
    lines->at[lines->used++] = '\0';
    return 0;
}

/* What follows jobs in a dump: states of policies, and the end. */
static size_t tail_find(const struct lines *lines)
{
    size_t at = 0;
    while (at < lines->used && strncmp(lines->at + at, "policy ", 7) != 0 &&
           strcmp(lines->at + at, "end") != 0)
        at += strlen(lines->at + at) + 1;
    return at;
}

static int empty_dump(struct recovery *recovery, const struct engine_config *config,
                      struct err *err)
{
    struct decisions decisions = {0};
    struct engine *engine;
    int r = engine_create(config, &engine, err);
    if (r < 0)
        return r;
    r = engine_step(engine, recovery->now_ns, NULL, 0, &decisions);
    if (r == 0)
        r = engine_dump(engine, line_keep, &recovery->empty);
    decisions_done(&decisions);
    engine_destroy(engine);
    recovery->tail = tail_find(&recovery->empty);
    return r < 0 ? err_sys(err, -r, "an empty engine") : 0;
}

static int reader_next(struct recovery *recovery, struct reader *reader)
{
    int r = store_cursor_next(reader->cursor, reader->row, recovery->err);
    reader->there = r > 0;
    return r < 0 ? r : 0;
}

static int reader_open(struct recovery *recovery, enum store_table table, struct reader *reader)
{
    int r = store_cursor_open(store_file(recovery->store), table, &reader->cursor, recovery->err);
    return r < 0 ? r : reader_next(recovery, reader);
}

static void text_copy(const struct row_value *value, char *ret_text, size_t size)
{
    size_t length = value->length < size ? value->length : size - 1;
    if (length)
        memcpy(ret_text, value->at, length);
    ret_text[length] = '\0';
}

static void host_take(const struct row_value *row, struct agent_kept *kept)
{
    const struct row_value *units = &row[HOSTS_UNITS], *address = &row[HOSTS_ADDRESS];
    *kept = (struct agent_kept){
        .host = (uint32_t)row[HOSTS_HOST].number,
        .boot = (uint64_t)row[HOSTS_BOOT].number,
        .uplink_bps = (uint64_t)row[HOSTS_UPLINK].number,
        .downlink_bps = (uint64_t)row[HOSTS_DOWNLINK].number,
        .lost = row[HOSTS_LOST].number != 0,
        .used = row[HOSTS_USED].number != 0,
        .after = (uint64_t)row[HOSTS_AFTER].number,
        .until = (uint64_t)row[HOSTS_UNTIL].number,
    };
    text_copy(&row[HOSTS_NAME], kept->name, sizeof(kept->name));
    text_copy(&row[HOSTS_RACK], kept->rack, sizeof(kept->rack));
    text_copy(&row[HOSTS_LABELS], kept->labels, sizeof(kept->labels));
    if (address->length == sizeof(kept->address))
        memcpy(kept->address, address->at, sizeof(kept->address));
    if (units->length > sizeof(kept->units))
        return;
    if (units->length)
        memcpy(kept->units, units->at, units->length);
    kept->n_units = (uint32_t)(units->length / sizeof(kept->units[0]) / ENGINE_RESOURCES);
}

static int hosts_read(struct recovery *recovery)
{
    struct recovered *recovered = recovery->recovered;
    struct reader hosts = {0};
    int r = reader_open(recovery, STORE_HOSTS, &hosts);
    for (; r == 0 && hosts.there; r = reader_next(recovery, &hosts)) {
        struct agent_kept *grown =
            reallocarray(recovered->hosts, recovered->n_hosts + 1, sizeof(*grown));
        if (!grown) {
            r = err_sys(recovery->err, ENOMEM, "the store's hosts");
            break;
        }
        recovered->hosts = grown;
        host_take(hosts.row, &grown[recovered->n_hosts]);
        uint32_t host = grown[recovered->n_hosts++].host;
        if (host >= recovery->hosts_max) {
            r = err_set(recovery->err, EINVAL,
                        "the store has a host with number %" PRIu32 ", bounds.hosts allows %" PRIu32
                        ": allow more",
                        host, recovery->hosts_max);
            break;
        }
        recovery->places[host] = (uint32_t)recovered->n_hosts;
    }
    store_cursor_close(hosts.cursor);
    return r;
}

static int learnt_compare(const void *a, const void *b)
{
    const struct learnt *x = a, *y = b;
    return x->at_ns != y->at_ns ? (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns)
                                : (x->history > y->history) - (x->history < y->history);
}

static int learnt_add(struct recovery *recovery, const struct row_value *row)
{
    struct learnt *grown = reallocarray(recovery->learnt, recovery->n_learnt + 1, sizeof(*grown));
    if (!grown)
        return err_sys(recovery->err, ENOMEM, "the store's sizes");
    recovery->learnt = grown;
    grown[recovery->n_learnt++] =
        (struct learnt){(uint64_t)row[SIZES_HISTORY].number, (uint64_t)row[SIZES_MEAN].number,
                        row[SIZES_LEARNT].number};
    return 0;
}

static int learnt_read(struct recovery *recovery)
{
    struct reader sizes = {0};
    int r = reader_open(recovery, STORE_SIZES, &sizes);
    while (r == 0 && sizes.there && (r = learnt_add(recovery, sizes.row)) == 0)
        r = reader_next(recovery, &sizes);
    store_cursor_close(sizes.cursor);
    if (r == 0 && recovery->n_learnt)
        qsort(recovery->learnt, recovery->n_learnt, sizeof(*recovery->learnt), learnt_compare);
    recovery->recovered->sizes = recovery->n_learnt;
    return r;
}

static int sizes_line(struct recovery *recovery)
{
    if (recovery->learnt_told == recovery->n_learnt)
        return 0;
    const struct learnt *learnt = &recovery->learnt[recovery->learnt_told++];
    return sprintf(recovery->line,
                   "sizes input=0 shuffle=0 n_means=0 history=%" PRIu64 " mean=%" PRIu64,
                   learnt->history, learnt->mean);
}

static int host_join_line(struct recovery *recovery, const struct agent_kept *kept)
{
    struct event event = {.kind = EVENT_HOST_JOIN};
    event.host_join.host = kept->host;
    event.host_join.generation = kept->boot;
    event.host_join.name = kept->name;
    event.host_join.rack = kept->rack;
    event.host_join.labels = kept->labels;
    event.host_join.uplink_bps = kept->uplink_bps;
    event.host_join.downlink_bps = kept->downlink_bps;
    event.host_join.units = (struct u64s){kept->units, kept->n_units * ENGINE_RESOURCES};
    return record_encode_event(&event, recovery->line, RECORD_MAX);
}

/* For each host: the event that made it, if it ever joined, then its state. */
static int host_line(struct recovery *recovery)
{
    const struct recovered *recovered = recovery->recovered;
    if (recovery->host == recovered->n_hosts)
        return 0;
    const struct agent_kept *kept = &recovered->hosts[recovery->host];
    if (kept->boot && !recovery->joined) {
        recovery->joined = true;
        return host_join_line(recovery, kept);
    }
    bool joined = recovery->joined;
    bool drained = *kept->name && store_setting(recovery->store, "drain", kept->name);
    recovery->joined = false;
    recovery->host++;
    return sprintf(recovery->line,
                   "host host=%" PRIu32 " joined=%d silent=%d lost=0 draining=%d uplink_permille=0 "
                   "downlink_permille=0 tie_draws=1",
                   kept->host, joined, joined, drained);
}

/* WHY never in the future: the wall clock may have been set back since, or the store may come from
 * a machine whose clock is ahead. A job submitted in the future would have no age, and wait for its
 * time. */
static int64_t time_of(const struct recovery *recovery, int64_t wall_ns)
{
    int64_t time_ns = wall_ns - recovery->offset_ns;
    return time_ns < recovery->now_ns ? time_ns : recovery->now_ns;
}

/* WHY none leaves yet: it would be gone at once, since its jobs come later. */
static void user_keep(void *context, uint32_t number, const struct user_kept *kept)
{
    struct recovery *recovery = context;
    struct event event = {.kind = EVENT_USER_SET};
    char line[512];
    event.user_set.user = number;
    event.user_set.share = kept->share;
    event.user_set.name = kept->name;
    event.user_set.since_ns = time_of(recovery, kept->since_s * 1000000000);
    int n = record_encode_event(&event, line, sizeof(line));
    if (n < 0 || line_keep(&recovery->users, line, (size_t)n) < 0)
        recovery->users.failed = true;
}

static bool is_known(const struct recovery *recovery, uint32_t user)
{
    struct user_kept kept;
    return !user || user_setting_get(recovery->store, user, &kept);
}

/* WHY not of one who left since debts were written last: they went with it. */
static void debt_keep(void *context, const struct debt_view *debt)
{
    struct recovery *recovery = context;
    char line[160];
    if (!is_known(recovery, debt->borrower) || !is_known(recovery, debt->lender))
        return;
    int n = snprintf(line, sizeof(line),
                     "debt borrower=%" PRIu32 " lender=%" PRIu32 " amount=%" PRIu64
                     " since_ns=%" PRId64,
                     debt->borrower, debt->lender, debt->amount, time_of(recovery, debt->since_ns));
    if (line_keep(&recovery->users, line, (size_t)n) < 0)
        recovery->users.failed = true;
}

static int users_read(struct recovery *recovery)
{
    char line[96];
    uint64_t position, charged;
    division_setting_turn(recovery->store, &position, &charged);
    user_settings(recovery->store, user_keep, recovery);
    /* WHY not 0, which is all: a controller may be killed before it keeps its first charges. */
    if (recovery->users.used && !position && !charged)
        charged = 1;
    int n = snprintf(line, sizeof(line), "users_turn position=%" PRIu64 " charged=%" PRIu64,
                     position, charged);
    if ((position || charged) && line_keep(&recovery->users, line, (size_t)n) < 0)
        recovery->users.failed = true;
    division_setting_debts(recovery->store, debt_keep, recovery);
    return recovery->users.failed ? err_sys(recovery->err, ENOMEM, "the store's users") : 0;
}

static int record_line(struct recovery *recovery, const struct row_value *record)
{
    int n = record_times_shift(record->at, record->length, -recovery->offset_ns, recovery->now_ns,
                               recovery->line);
    if (n < 0)
        return err_set(recovery->err, EBADMSG, "the store has an invalid record");
    recovery->line[n] = '\0';
    return n;
}

/* Frameworks assign their own numbers. */
static void number_seen(struct recovery *recovery, int64_t row)
{
    const uint64_t job = (uint64_t)row;
    if (!(job & FRAMEWORK_JOB_BIT) && job > recovery->recovered->newest_job)
        recovery->recovered->newest_job = job;
}

static enum job_state state_named(const char *name)
{
    for (enum job_state state = JOB_DONE; state <= JOB_CANCELLED; state++)
        if (strcmp(name, job_state_name(state)) == 0)
            return state;
    return JOB_CANCELLED;
}

static void ending_take(struct recovery *recovery, const struct row_value *row)
{
    char state[24];
    struct job_ending ending = {
        .job = (uint64_t)row[FINISHED_JOB].number,
        .attempt = (uint64_t)row[FINISHED_ATTEMPT].number,
        .stage = (uint32_t)row[FINISHED_STAGE].number,
        .task = (uint32_t)row[FINISHED_TASK].number,
    };
    text_copy(&row[FINISHED_STATE], state, sizeof(state));
    text_copy(&row[FINISHED_REASON], ending.reason, sizeof(ending.reason));
    text_copy(&row[FINISHED_HOST], ending.host, sizeof(ending.host));
    ending.state = state_named(state);
    history_job_ended(recovery->history, &ending);
}

static int finished_line(struct recovery *recovery)
{
    struct reader *finished = &recovery->finished;
    if (!finished->there)
        return 0;
    number_seen(recovery, finished->row[FINISHED_JOB].number);
    recovery->recovered->finished++;
    ending_take(recovery, finished->row);
    int n = record_line(recovery, &finished->row[FINISHED_RECORD]);
    int r = reader_next(recovery, finished);
    return r < 0 ? r : n;
}

static void done_take(struct recovery *recovery, const struct row_value *row)
{
    const struct ending ending = {
        .attempt = (uint64_t)row[TASKS_ATTEMPT].number,
        .job = (uint64_t)row[TASKS_JOB].number,
        .stage = (uint32_t)row[TASKS_STAGE].number,
        .task = (uint32_t)row[TASKS_TASK].number,
        .host = (uint32_t)row[TASKS_HOST].number,
        .kind = ENDING_DONE,
        .ended_ns = time_of(recovery, row[TASKS_ENDED].number),
        .spent = {.stored = true,
                  .wait_ns = row[TASKS_STARTED].number - row[TASKS_READY].number,
                  .compute_ns = row[TASKS_ENDED].number - row[TASKS_STARTED].number},
        .words = "",
    };
    if (ending.attempt)
        history_attempt_ended(recovery->history, &ending, true);
}

/* Past the rows of jobs before this one: they are over. */
static int tasks_pass(struct recovery *recovery, int64_t job)
{
    struct reader *tasks = &recovery->tasks;
    int r = 0;
    while (r == 0 && tasks->there && tasks->row[TASKS_JOB].number < job) {
        done_take(recovery, tasks->row);
        r = reader_next(recovery, tasks);
    }
    return r;
}

/* Of ended or incomplete jobs. */
static int parts_pass(struct recovery *recovery, int64_t job)
{
    struct reader *parts = &recovery->parts;
    int64_t before = 0;
    int r = 0;
    for (; r == 0 && parts->there && parts->row[PARTS_JOB].number < job;
         r = reader_next(recovery, parts)) {
        const struct row_value number = ROW_NUMBER(parts->row[PARTS_JOB].number);
        if (number.number == before)
            continue;
        before = number.number;
        number_seen(recovery, before);
        store_put(recovery->store, STORE_GARBAGE, &number);
    }
    return r;
}

static int part_line(struct recovery *recovery)
{
    struct reader *parts = &recovery->parts;
    if (!parts->there || parts->row[PARTS_JOB].number != recovery->jobs.row[JOBS_JOB].number)
        return 0;
    int n = record_line(recovery, &parts->row[PARTS_RECORD]);
    int r = reader_next(recovery, parts);
    return r < 0 ? r : n;
}

static int hold_line(const struct recovery *recovery, uint64_t job, const struct job_kept *kept)
{
    struct event event = {.kind = EVENT_JOB_HOLD};
    event.job_hold.job = job;
    event.job_hold.by = kept->by;
    event.job_hold.since_ns = time_of(recovery, kept->since_s * 1000000000);
    return record_encode_event(&event, recovery->line, RECORD_MAX);
}

static int priority_line(const struct recovery *recovery, uint64_t job, const struct job_kept *kept)
{
    struct event event = {.kind = EVENT_JOB_UPDATE};
    event.job_update.job = job;
    event.job_update.estimate_bytes = event.job_update.estimate_ns = -1;
    event.job_update.priority = kept->priority;
    event.job_update.deadline_ns = INT64_MIN;
    return record_encode_event(&event, recovery->line, RECORD_MAX);
}

/* What operators ordered of the job: before its stages open (resume_line). */
static int order_line(struct recovery *recovery)
{
    const uint64_t job = (uint64_t)recovery->jobs.row[JOBS_JOB].number;
    struct job_kept kept;
    if (!job_setting_get(recovery->store, job, &kept))
        return 0;
    switch (recovery->orders++) {
    case 0:
        if (kept.has_priority)
            return priority_line(recovery, job, &kept);
        recovery->orders++;
        /* fallthrough */
    case 1:
        return kept.held ? hold_line(recovery, job, &kept) : 0;
    default:
        return 0;
    }
}

/* The host of a done task; NULL: it is not done, or the host's number is unused now. */
static struct agent_kept *done_host(const struct recovery *recovery, const struct row_value *row)
{
    int64_t host = row[TASKS_HOST].number;
    uint32_t place = row[TASKS_ATTEMPT].number && host >= 0 && host < recovery->hosts_max
                         ? recovery->places[host]
                         : 0;
    return place ? &recovery->recovered->hosts[place - 1] : NULL;
}

/* The engine is told at the end, and knows which of them are still needed. */
static int lost_note(struct recovery *recovery, const struct row_value *row)
{
    struct lost_output *lost =
        reallocarray(recovery->lost, recovery->n_lost + 1, sizeof(*recovery->lost));
    if (!lost)
        return err_sys(recovery->err, ENOMEM, "recovery");
    recovery->lost = lost;
    lost[recovery->n_lost++] = (struct lost_output){
        .job = (uint64_t)row[TASKS_JOB].number,
        .attempt = (uint64_t)row[TASKS_ATTEMPT].number,
        .stage = (uint32_t)row[TASKS_STAGE].number,
        .task = (uint32_t)row[TASKS_TASK].number,
    };
    return 0;
}

static int done_note(struct recovery *recovery, const struct row_value *row,
                     struct agent_kept *host)
{
    host->used = true;
    recovery->slot_wait_ns += row[TASKS_STARTED].number - row[TASKS_READY].number;
    recovery->recovered->tasks_done++;
    done_take(recovery, row);
    return (uint64_t)row[TASKS_BOOT].number == host->boot ? 0 : lost_note(recovery, row);
}

static int task_line(struct recovery *recovery)
{
    struct reader *tasks = &recovery->tasks;
    const struct row_value *row = tasks->row;
    if (!tasks->there || row[TASKS_JOB].number != recovery->jobs.row[JOBS_JOB].number)
        return 0;
    struct agent_kept *host = done_host(recovery, row);
    bool done = host != NULL;
    int n = sprintf(recovery->line,
                    "task job=%" PRId64 " stage=%" PRId64 " task=%" PRId64
                    " state=%d failures=%" PRId64 " done_host=%" PRIu32 " done_attempt=%" PRIu64
                    " ready_ns=%" PRId64 " started_ns=%" PRId64,
                    row[TASKS_JOB].number, row[TASKS_STAGE].number, row[TASKS_TASK].number,
                    done ? TASK_DONE : TASK_BLOCKED, row[TASKS_FAILURES].number,
                    done ? (uint32_t)row[TASKS_HOST].number : ENGINE_NONE,
                    done ? (uint64_t)row[TASKS_ATTEMPT].number : 0,
                    done ? time_of(recovery, row[TASKS_READY].number) : 0,
                    done ? time_of(recovery, row[TASKS_STARTED].number) : 0);
    int r = host ? done_note(recovery, row, host) : 0;
    r = r < 0 ? r : reader_next(recovery, tasks);
    return r < 0 ? r : n;
}

static int resume_line(struct recovery *recovery)
{
    int n = sprintf(recovery->line, "resume job=%" PRId64 " slot_wait_ns=%" PRId64,
                    recovery->jobs.row[JOBS_JOB].number, recovery->slot_wait_ns);
    recovery->recovered->jobs++;
    int r = reader_next(recovery, &recovery->jobs);
    return r < 0 ? r : n;
}

/* The next job's parts and tasks come next; 0: there is none. */
static int job_begin(struct recovery *recovery)
{
    int64_t job = recovery->jobs.row[JOBS_JOB].number;
    if (!recovery->jobs.there)
        return 0;
    number_seen(recovery, job);
    recovery->slot_wait_ns = 0;
    recovery->orders = 0;
    int r = parts_pass(recovery, job);
    r = r < 0 ? r : tasks_pass(recovery, job);
    return r < 0 ? r : 1;
}

static int line_of(const struct lines *lines, size_t *position, size_t until, const char **ret_line)
{
    if (*position >= until)
        return 0;
    *ret_line = lines->at + *position;
    size_t length = strlen(*ret_line);
    *position += length + 1;
    return (int)length;
}

static int empty_line(struct recovery *recovery, size_t until, const char **ret_line)
{
    return line_of(&recovery->empty, &recovery->position, until, ret_line);
}

/* The present phase's next line: > 0: its length, 0: none. */
static int phase_line(struct recovery *recovery, const char **ret_line)
{
    *ret_line = recovery->line;
    switch (recovery->phase) {
    case HEAD:
        return empty_line(recovery, recovery->tail, ret_line);
    case SIZES:
        return sizes_line(recovery);
    case HOSTS:
        return host_line(recovery);
    case USERS:
        return line_of(&recovery->users, &recovery->user, recovery->users.used, ret_line);
    case FINISHED:
        return finished_line(recovery);
    case JOBS:
        return job_begin(recovery);
    case PARTS:
        return part_line(recovery);
    case ORDERS:
        return order_line(recovery);
    case TASKS:
        return task_line(recovery);
    case TAIL:
        return empty_line(recovery, recovery->empty.used, ret_line);
    }
    return 0;
}

static int line_next(void *context, const char **ret_line)
{
    struct recovery *recovery = context;
    for (;;) {
        int n = phase_line(recovery, ret_line);
        if (n < 0 || (n > 0 && recovery->phase != JOBS) || (n == 0 && recovery->phase == TAIL))
            return n;
        if (recovery->phase == TASKS) {
            recovery->phase = JOBS;
            return resume_line(recovery);
        }
        recovery->phase = recovery->phase == JOBS && n == 0 ? TAIL : recovery->phase + 1;
    }
}

static int load(struct recovery *recovery, const struct engine_config *config)
{
    struct err *err = recovery->err;
    int r = empty_dump(recovery, config, err);
    r = r < 0 ? r : hosts_read(recovery);
    r = r < 0 ? r : learnt_read(recovery);
    r = r < 0 ? r : users_read(recovery);
    r = r < 0 ? r : reader_open(recovery, STORE_FINISHED, &recovery->finished);
    r = r < 0 ? r : reader_open(recovery, STORE_JOBS, &recovery->jobs);
    r = r < 0 ? r : reader_open(recovery, STORE_PARTS, &recovery->parts);
    r = r < 0 ? r : reader_open(recovery, STORE_TASKS, &recovery->tasks);
    if (r < 0)
        return r;
    r = engine_load(line_next, recovery, &recovery->recovered->engine, err);
    if (r < 0)
        return err_prefix(err, "the jobs in the store cannot be taken up");
    r = tasks_pass(recovery, INT64_MAX);
    r = r < 0
            ? r
            : parts_pass(recovery, INT64_MAX); /* to the end: that all are there is judged there */
    return r < 0 ? r
                 : resume(recovery->store, recovery->now_ns, recovery->lost, recovery->n_lost,
                          recovery->recovered, err);
}

int recovery_run(struct store *store, const struct engine_config *config, int64_t now_ns,
                 int64_t offset_ns, struct history *history, struct recovered *ret_recovered,
                 struct err *err)
{
    struct recovered recovered = {0};
    struct recovery recovery = {
        .store = store,
        .history = history,
        .now_ns = now_ns,
        .offset_ns = offset_ns,
        .recovered = &recovered,
        .hosts_max = config->hosts_max,
        .places = calloc(config->hosts_max, sizeof(uint32_t)),
        .line = malloc(RECORD_TIMES_MAX + 1),
        .err = err,
    };
    int r = recovery.places && recovery.line ? load(&recovery, config)
                                             : err_sys(err, ENOMEM, "recovery");
    store_cursor_close(recovery.jobs.cursor);
    store_cursor_close(recovery.parts.cursor);
    store_cursor_close(recovery.tasks.cursor);
    store_cursor_close(recovery.finished.cursor);
    free(recovery.empty.at);
    free(recovery.users.at);
    free(recovery.places);
    free(recovery.lost);
    free(recovery.learnt);
    free(recovery.line);
    if (r < 0) {
        engine_destroy(recovered.engine);
        free(recovered.hosts);
        return r;
    }
    *ret_recovered = recovered;
    return 0;
}
