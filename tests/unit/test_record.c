/* Records: every kind with random values goes through text and back; what decodes encodes to the
 * same text. */
#include "tests/unit/test.h"

#include "controller/engine/base/field.h"
#include "controller/engine/base/record.h"
#include "controller/engine/engine.h"

#include <errno.h>
#include <string.h>

/* The vocabulary once more, by its own header, so that a field that the codec forgets is missed
 * here. A row is a kind, with its members. */
enum type { END, U32, U64, I64, STRING, RESOURCES, U32S, U64S };
enum { MEMBERS_MAX = 20 };
struct member {
    enum type type;
    size_t offset;
};
struct row {
    unsigned kind;
    struct member members[MEMBERS_MAX]; /* up to END */
};

#define E(member, type)                                                                            \
    {                                                                                              \
        type, offsetof(struct event, member)                                                       \
    }
#define JOIN                                                                                       \
    E(host_join.host, U32), E(host_join.generation, U64), E(host_join.name, STRING),               \
        E(host_join.rack, STRING), E(host_join.labels, STRING), E(host_join.uplink_bps, U64),      \
        E(host_join.downlink_bps, U64), E(host_join.units, U64S), E(host_join.unit_names, STRING), \
        E(host_join.rack_bps, U64), E(host_join.disk_bytes_s, U64)
#define SEEN                                                                                       \
    E(attempt_seen.attempt, U64), E(attempt_seen.job, U64), E(attempt_seen.stage, U32),            \
        E(attempt_seen.task, U32), E(attempt_seen.host, U32), E(attempt_seen.unit, U32),           \
        E(attempt_seen.phase, U32), E(attempt_seen.resources, RESOURCES),                          \
        E(attempt_seen.received_bytes, U64), E(attempt_seen.variant, U32)
#define HOST     E(host.host, U32)
#define ATTEMPT  E(attempt.attempt, U64)
#define RECEIVED ATTEMPT, E(attempt.received_bytes, U64)
#define EXITED   ATTEMPT, E(attempt.exit_status, I64)
static const struct row event_rows[] = {
    {EVENT_JOB_BEGIN,
     {E(request, U64), E(job_begin.job, U64), E(job_begin.name, STRING), E(job_begin.content, U64),
      E(job_begin.user, U32), E(job_begin.job_kind, U32), E(job_begin.priority, I64),
      E(job_begin.deadline_ns, I64), E(job_begin.estimate_bytes, I64),
      E(job_begin.estimate_ns, I64), E(job_begin.at_most_host, U32),
      E(job_begin.at_most_rack, U32)}},
    {EVENT_JOB_STAGE,
     {E(request, U64), E(job_stage.job, U64), E(job_stage.stage, U32), E(job_stage.tasks, U32),
      E(job_stage.demand, RESOURCES), E(job_stage.command, STRING), E(job_stage.constraint, STRING),
      E(job_stage.parents, U32S), E(job_stage.edges, U32S), E(job_stage.variant_demands, U64S),
      E(job_stage.variant_commands, STRING), E(job_stage.variant_constraints, STRING),
      E(job_stage.wishes, STRING), E(job_stage.utilities, U32S), E(job_stage.at_most_host, U32),
      E(job_stage.at_most_rack, U32), E(job_stage.profiles, U64S), E(job_stage.history, U64)}},
    {EVENT_JOB_TASKS,
     {E(request, U64), E(job_tasks.job, U64), E(job_tasks.stage, U32), E(job_tasks.first, U32),
      E(job_tasks.replicas_per_task, U32), E(job_tasks.replicas, U32S),
      E(job_tasks.input_bytes, U64S), E(job_tasks.compute_ns, U64S), E(job_tasks.variant, U32)}},
    {EVENT_JOB_BYTES,
     {E(request, U64), E(job_bytes.job, U64), E(job_bytes.stage, U32), E(job_bytes.parent, U32),
      E(job_bytes.first, U32), E(job_bytes.matrix, U32), E(job_bytes.bytes, U64S)}},
    {EVENT_JOB_END, {E(request, U64), E(job_end.job, U64)}},
    {EVENT_JOB_UPDATE,
     {E(request, U64), E(job_update.job, U64), E(job_update.estimate_bytes, I64),
      E(job_update.estimate_ns, I64), E(job_update.priority, I64), E(job_update.deadline_ns, I64)}},
    {EVENT_JOB_CANCEL, {E(request, U64), E(job_cancel.job, U64)}},
    {EVENT_CLAIM,
     {E(request, U64), E(claim.scheduler, U32), E(claim.version, U64), E(claim.jobs, U64S),
      E(claim.stages, U32S), E(claim.tasks, U32S), E(claim.hosts, U32S), E(claim.units, U32S)}},
    {EVENT_POLICY_SET,
     {E(request, U64), E(policy_set.question, STRING), E(policy_set.name, STRING)}},
    {EVENT_POLICY_PARAMETER,
     {E(request, U64), E(policy_parameter.word, STRING), E(policy_parameter.value, I64)}},
    {EVENT_USER_SET,
     {E(request, U64), E(user_set.user, U32), E(user_set.share, U32), E(user_set.name, STRING),
      E(user_set.since_ns, I64)}},
    {EVENT_USER_LEAVE, {E(request, U64), E(user_leave.user, U32)}},
    {EVENT_JOB_PROFILE,
     {E(job_profile.job, U64), E(job_profile.stage, U32), E(job_profile.variant, U32),
      E(job_profile.read_bytes, U64), E(job_profile.read_bytes_s, U64), E(job_profile.before, U64),
      E(job_profile.compute_ns, U64)}},
    {EVENT_HOST_DRAIN, {E(request, U64), E(host_drain.host, U32), E(host_drain.undo, U32)}},
    {EVENT_HOST_JOIN, {JOIN}},
    {EVENT_HOST_CHANGE, {JOIN}},
    {EVENT_HOST_SILENT, {HOST}},
    {EVENT_HOST_LOST, {HOST}},
    {EVENT_HOST_BACK, {HOST}},
    {EVENT_HOST_LOAD,
     {E(host_load.host, U32), E(host_load.resource, U32), E(host_load.permille, U32),
      E(host_load.users, U32), E(host_load.hangs, U32)}},
    {EVENT_ATTEMPT_SEEN, {SEEN}},
    {EVENT_ATTEMPT_GRANTED, {SEEN}},
    {EVENT_ATTEMPT_QUEUED, {ATTEMPT}},
    {EVENT_ATTEMPT_STARTED, {ATTEMPT}},
    {EVENT_ATTEMPT_REFUSED, {ATTEMPT}},
    {EVENT_ATTEMPT_PROGRESS, {RECEIVED}},
    {EVENT_ATTEMPT_RECEIVED, {RECEIVED}},
    {EVENT_ATTEMPT_DONE, {RECEIVED}},
    {EVENT_ATTEMPT_FAILED, {EXITED}},
    {EVENT_ATTEMPT_KILLED, {EXITED}},
    {EVENT_ATTEMPT_LOST, {ATTEMPT}},
    {EVENT_OUTPUT_LOST,
     {E(output_lost.job, U64), E(output_lost.stage, U32), E(output_lost.task, U32),
      E(output_lost.attempt, U64)}},
    {EVENT_SOURCE_STALLED, {E(source.attempt, U64), E(source.host, U32), E(source.others, U32)}},
    {EVENT_SOURCE_FLOWS, {E(source.attempt, U64), E(source.host, U32)}},
    {EVENT_HOST_FORGET, {E(request, U64), E(host.host, U32)}},
    {EVENT_FRAMEWORK_JOB,
     {E(framework_job.job, U64), E(framework_job.name, STRING), E(framework_job.user, U32),
      E(framework_job.priority, I64)}},
    {EVENT_FRAMEWORK_STAGE,
     {E(framework_stage.job, U64), E(framework_stage.stage, U32), E(framework_stage.tasks, U32),
      E(framework_stage.demand, RESOURCES), E(framework_stage.parents, U32S),
      E(framework_stage.edges, U32S), E(framework_stage.history, U64),
      E(framework_stage.phase, U32), E(framework_stage.ungated, U32)}},
    {EVENT_FRAMEWORK_GROW,
     {E(framework_grow.job, U64), E(framework_grow.stage, U32), E(framework_grow.tasks, U32)}},
    {EVENT_FRAMEWORK_TASKS,
     {E(job_tasks.job, U64), E(job_tasks.stage, U32), E(job_tasks.first, U32),
      E(job_tasks.replicas_per_task, U32), E(job_tasks.replicas, U32S),
      E(job_tasks.input_bytes, U64S), E(job_tasks.compute_ns, U64S)}},
    {EVENT_FRAMEWORK_BYTES,
     {E(framework_bytes.job, U64), E(framework_bytes.stage, U32), E(framework_bytes.parent, U32),
      E(framework_bytes.form, U32), E(framework_bytes.first, U32), E(framework_bytes.at, U32S),
      E(framework_bytes.bytes, U64S)}},
    {EVENT_FRAMEWORK_STARTED,
     {E(framework_task.attempt, U64), E(framework_task.allow, U64), E(framework_task.job, U64),
      E(framework_task.stage, U32), E(framework_task.task, U32), E(framework_task.host, U32),
      E(framework_task.unit, U32), E(framework_task.phase, U32),
      E(framework_task.resources, RESOURCES), E(framework_task.received_bytes, U64)}},
    {EVENT_FRAMEWORK_DONE,
     {E(framework_task.attempt, U64), E(framework_task.job, U64), E(framework_task.stage, U32),
      E(framework_task.task, U32), E(framework_task.host, U32),
      E(framework_task.received_bytes, U64)}},
    {EVENT_FRAMEWORK_END, {E(framework_end.job, U64), E(framework_end.outcome, U32)}},
    {EVENT_FRAMEWORK_ROOM,
     {E(framework_room.application, U64), E(framework_room.tells, U32), E(framework_room.host, U32),
      E(framework_room.resources, RESOURCES)}},
    {EVENT_FRAMEWORK_OWNER,
     {E(framework_owner.application, U64), E(framework_owner.tells, U32),
      E(framework_owner.user, U64), E(framework_owner.key, U64)}},
    {EVENT_JOB_SUBMITTER, {E(job_submitter.submitter, U64)}},
    {EVENT_JOB_HOLD,
     {E(request, U64), E(job_hold.job, U64), E(job_hold.by, STRING), E(job_hold.since_ns, I64)}},
    {EVENT_JOB_RELEASE, {E(request, U64), E(job_release.job, U64)}},
    {EVENT_JOB_REQUEUE, {E(request, U64), E(job_requeue.job, U64)}},
};
#undef E

#define D(member, type)                                                                            \
    {                                                                                              \
        type, offsetof(struct decision, member)                                                    \
    }
#define HOLD                                                                                       \
    D(hold.job, U64), D(hold.stage, U32), D(hold.host, U32), D(hold.until_ns, I64),                \
        D(hold.variant, U32)
static const struct row decision_rows[] = {
    {DECISION_START,
     {D(start.attempt, U64), D(start.job, U64), D(start.stage, U32), D(start.task, U32),
      D(start.host, U32), D(start.unit, U32), D(start.resources, RESOURCES),
      D(start.coflow_level, U64), D(start.macroflow_level, U64), D(start.queue, U32),
      D(start.input_bytes, U64), D(start.variant, U32)}},
    {DECISION_STOP,
     {D(stop.attempt, U64), D(stop.host, U32), D(stop.grace_ns, U64), D(stop.requeue, U32),
      D(stop.by_job, U64), D(stop.by_stage, U32), D(stop.by_task, U32)}},
    {DECISION_LEVEL,
     {D(level.attempt, U64), D(level.host, U32), D(level.coflow_level, U64),
      D(level.macroflow_level, U64)}},
    {DECISION_MODE, {D(mode.mode, U32), D(mode.sequence, U64)}},
    {DECISION_HOLD, {HOLD}},
    {DECISION_UNHOLD, {HOLD}},
    {DECISION_ALLOW,
     {D(allow.job, U64), D(allow.stage, U32), D(allow.host, U32), D(allow.count, U32),
      D(allow.allow, U64), D(allow.task, U32), D(allow.unit, U32), D(allow.coflow_level, U64),
      D(allow.macroflow_level, U64), D(allow.input_bytes, U64), D(allow.until_ns, I64)}},
    {DECISION_CLAIM_RESULT,
     {D(claim_result.request, U64), D(claim_result.item, U32), D(claim_result.outcome, U32),
      D(claim_result.token, U64)}},
    {DECISION_JOB_DONE,
     {D(job_done.job, U64), D(job_done.submitted_ns, I64), D(job_done.finished_ns, I64),
      D(job_done.slot_wait_ns, I64)}},
    {DECISION_JOB_FAILED,
     {D(job_failed.job, U64), D(job_failed.stage, U32), D(job_failed.task, U32),
      D(job_failed.attempt, U64), D(job_failed.submitted_ns, I64), D(job_failed.finished_ns, I64)}},
    {DECISION_REJECT, {D(reject.request, U64), D(reject.event, U32)}},
    {DECISION_FORGET, {D(forget.job, U64), D(forget.host, U32)}},
    {DECISION_ALLOW_END,
     {D(allow_end.allow, U64), D(allow_end.job, U64), D(allow_end.stage, U32),
      D(allow_end.host, U32)}},
    {DECISION_OPEN, {D(open.job, U64), D(open.stage, U32)}},
    {DECISION_BIND, {D(bind.job, U64), D(bind.stage, U32)}},
};
#undef D

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* A kind's members; NULL: it has no row. */
static const struct member *members_of(const struct row *rows, size_t n, unsigned kind)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].kind == kind)
            return rows[i].members;
    return NULL;
}

static const struct member *event_members(unsigned kind)
{
    return members_of(event_rows, COUNT(event_rows), kind);
}

static const struct member *decision_members(unsigned kind)
{
    return members_of(decision_rows, COUNT(decision_rows), kind);
}

enum { LIST_MAX = 8, WORD_MAX = 24, ROOMS = 32 };
static struct {
    uint32_t u32s[LIST_MAX];
    uint64_t u64s[LIST_MAX];
    char word[WORD_MAX];
} rooms[ROOMS];

/* Small, large and the extremes. */
static uint64_t number(uint64_t *stream)
{
    uint64_t value = test_random(stream);
    static const uint64_t extremes[] = {0, 1, 9, 10, UINT32_MAX, INT64_MAX, UINT64_MAX};
    return test_random(stream) % 3 ? value >> test_random(stream) % 64 : extremes[value % 7];
}

static void fill(uint64_t *stream, enum type type, unsigned room, void *at)
{
    uint32_t n = (uint32_t)(test_random(stream) % (LIST_MAX + 1));
    switch (type) {
    case END:
        break;
    case U32:
        *(uint32_t *)at = (uint32_t)number(stream);
        break;
    case U64:
        *(uint64_t *)at = number(stream);
        break;
    case I64:
        *(int64_t *)at = test_random(stream) % 9 ? (int64_t)number(stream) : INT64_MIN;
        break;
    case RESOURCES:
        for (int i = 0; i < ENGINE_RESOURCES; i++)
            ((struct resources *)at)->amount[i] = (int64_t)number(stream);
        break;
    case STRING:
        for (uint32_t i = 0; i < WORD_MAX - 1; i++)
            rooms[room].word[i] = (char)(1 + test_random(stream) % 255);
        rooms[room].word[test_random(stream) % WORD_MAX] = 0;
        *(const char **)at = rooms[room].word;
        break;
    case U32S:
        for (uint32_t i = 0; i < n; i++)
            rooms[room].u32s[i] = (uint32_t)number(stream);
        *(struct u32s *)at = (struct u32s){rooms[room].u32s, n};
        break;
    case U64S:
        for (uint32_t i = 0; i < n; i++)
            rooms[room].u64s[i] = number(stream);
        *(struct u64s *)at = (struct u64s){rooms[room].u64s, n};
        break;
    }
}

/* A lean field that says nothing is not there, and is read as none. */
static const char *text_of(const char *text)
{
    return text ? text : "";
}

static void compare(enum type type, const void *a, const void *b)
{
    const struct u32s *u32s[] = {a, b};
    const struct u64s *u64s[] = {a, b};
    switch (type) {
    case END:
        break;
    case U32:
        assert_memory_equal(a, b, sizeof(uint32_t));
        break;
    case U64:
    case I64:
        assert_memory_equal(a, b, sizeof(uint64_t));
        break;
    case RESOURCES:
        assert_memory_equal(a, b, sizeof(struct resources));
        break;
    case STRING:
        assert_string_equal(text_of(*(const char *const *)a), text_of(*(const char *const *)b));
        break;
    case U32S:
        assert_int_equal(u32s[0]->n, u32s[1]->n);
        assert_memory_equal(u32s[0]->at, u32s[1]->at, u32s[0]->n * sizeof(uint32_t));
        break;
    case U64S:
        assert_int_equal(u64s[0]->n, u64s[1]->n);
        assert_memory_equal(u64s[0]->at, u64s[1]->at, u64s[0]->n * sizeof(uint64_t));
        break;
    }
}

static void random_event(uint64_t *stream, unsigned kind, struct event *ret_event)
{
    unsigned room = 0;
    memset(ret_event, 0, sizeof(*ret_event));
    ret_event->kind = (enum event_kind)kind;
    for (const struct member *m = event_members(kind); m && m->type; m++)
        fill(stream, m->type, room++, (char *)ret_event + m->offset);
}

enum { NUMBERS = 64 }; /* more than there are of reasons */

static bool is_reason(enum reason reason)
{
    return strcmp(reason_name(reason), "?") != 0;
}

static void random_decision(uint64_t *stream, unsigned kind, struct decision *ret_decision)
{
    memset(ret_decision, 0, sizeof(*ret_decision));
    ret_decision->kind = (enum decision_kind)kind;
    do
        ret_decision->reason = (enum reason)(test_random(stream) % NUMBERS);
    while (!is_reason(ret_decision->reason));
    ret_decision->left = (int64_t)number(stream);
    ret_decision->right = (int64_t)number(stream);
    for (const struct member *m = decision_members(kind); m && m->type; m++)
        fill(stream, m->type, 0, (char *)ret_decision + m->offset);
}

static void check_event(const struct event *event, struct record_room *room)
{
    char line[8192], again[8192];
    struct event back;
    struct err err = {0};
    int length = record_encode_event(event, line, sizeof(line));
    assert_true(length > 0);
    assert_int_equal(length, strlen(line));
    assert_null(strchr(line, '\n'));
    if (record_decode_event(line, room, &back, &err) < 0)
        fail_msg("%s: %s", line, err.text);
    assert_int_equal(back.kind, event->kind);
    for (const struct member *m = event_members(event->kind); m->type; m++)
        compare(m->type, (const char *)event + m->offset, (const char *)&back + m->offset);
    assert_int_equal(record_encode_event(&back, again, sizeof(again)), length);
    assert_string_equal(line, again);
    for (int size = 0; size <= length; size += 1 + size / 8)
        assert_int_equal(record_encode_event(event, again, (size_t)size), -ENOSPC);
}

static void test_events_round_trip(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    struct record_room room = {0};
    struct event event;
    for (size_t row = 0; row < COUNT(event_rows); row++)
        for (int i = 0; i < 200; i++) {
            random_event(&stream, event_rows[row].kind, &event);
            check_event(&event, &room);
        }
    record_room_done(&room);
}

/* Numbers of words that are no more have no row, every other one has one. */
static const unsigned left_out[] = {7, 9, 10};

static void test_every_kind_has_a_row(void **state)
{
    (void)state;
    size_t events = 0;
    for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
        events += event_members(kind) != NULL;
    assert_int_equal(events, COUNT(event_rows));
    assert_int_equal(events, EVENT_KINDS - COUNT(left_out));
    for (size_t i = 0; i < COUNT(left_out); i++)
        assert_null(event_members(left_out[i]));
    assert_int_equal(COUNT(decision_rows), DECISION_KINDS);
    for (unsigned kind = 0; kind < DECISION_KINDS; kind++)
        assert_non_null(decision_members(kind));
}

static void test_decisions_round_trip(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    char line[4096];
    struct decision decision, back;
    struct err err = {0};
    for (unsigned kind = 0; kind < DECISION_KINDS; kind++)
        for (int i = 0; i < 200; i++) {
            random_decision(&stream, kind, &decision);
            assert_true(record_encode_decision(&decision, line, sizeof(line)) > 0);
            memset(&back, 0xa5, sizeof(back));
            if (record_decode_decision(line, &back, &err) < 0)
                fail_msg("%s: %s", line, err.text);
            assert_memory_equal(&decision, &back, sizeof(back));
        }
}

/* Whatever is done to a line: it does not decode, or it decodes to what encodes to that line. */
static void check_strict(const char *line, struct record_room *room)
{
    static char again[RECORD_MAX];
    struct event event;
    struct decision decision;
    size_t length = strcspn(line, "\n");
    if (record_decode_event(line, room, &event, NULL) == 0) {
        assert_int_equal(record_encode_event(&event, again, sizeof(again)), length);
        assert_memory_equal(line, again, length);
    }
    if (record_decode_decision(line, &decision, NULL) == 0) {
        assert_int_equal(record_encode_decision(&decision, again, sizeof(again)), length);
        assert_memory_equal(line, again, length);
    }
}

static void mutate(uint64_t *stream, char *line)
{
    static const char bytes[] = "0123456789 ,=%-abcfx\n\x7f\x80";
    size_t length = strlen(line), at = test_random(stream) % length;
    char c = bytes[test_random(stream) % (sizeof(bytes) - 1)];
    switch (test_random(stream) % 4) {
    case 0:
        line[at] = c;
        break;
    case 1:
        memmove(line + at, line + at + 1, length - at);
        break;
    case 2:
        memmove(line + at + 1, line + at, length - at + 1);
        line[at] = c;
        break;
    default:
        line[at] = 0;
    }
}

static void test_decoding_is_strict(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    struct record_room room = {0};
    for (int i = 0; i < 10000; i++) {
        static char line[RECORD_MAX];
        struct event event;
        struct decision decision;
        random_event(&stream, (unsigned)(test_random(&stream) % EVENT_KINDS), &event);
        random_decision(&stream, (unsigned)(test_random(&stream) % DECISION_KINDS), &decision);
        if (i % 2)
            record_encode_event(&event, line, sizeof(line) - 8);
        else
            record_encode_decision(&decision, line, sizeof(line) - 8);
        for (uint64_t n = test_random(&stream) % 3; n < 3 && *line; n++) {
            mutate(&stream, line);
            check_strict(line, &room);
        }
    }
    record_room_done(&room);
}

static void test_line_ends_with_newline(void **state)
{
    (void)state;
    struct record_room room = {0};
    struct event event;
    assert_int_equal(record_decode_event("job_end request=1 job=7\nnext", &room, &event, NULL), 0);
    assert_int_equal(event.job_end.job, 7);
    record_room_done(&room);
}

static void test_field_by_name(void **state)
{
    (void)state;
    static const char rejected[] =
        "reject reason=bad-value left=-5 right=7 request=18446744073709551615 event=3";
    static const struct {
        const char *line, *name;
        int r;
        uint64_t value;
    } cases[] = {
        {rejected, "right", 0, 7},
        {rejected, "request", 0, UINT64_MAX},
        {rejected, "req", -ENOENT, 0},
        {rejected, "left", -ERANGE, 0},
        {rejected, "reason", -ERANGE, 0},
        {"forget job=18446744073709551616", "job", -ERANGE, 0},
        {"forget job= host=3", "job", -ERANGE, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t value = 0;
        assert_int_equal(record_field_u64(cases[i].line, cases[i].name, &value), cases[i].r);
        assert_true(cases[i].r < 0 || value == cases[i].value);
    }
}

/* Types that no event or decision has, only pieces of state. */
struct piece {
    bool flag;
    char word[ENGINE_NAME_MAX];
    struct level_table table;
    uint64_t late;
};
static const struct record_kind piece_kind = {
    "piece",
    {FIELD_OF(piece, flag, BOOL), FIELD_OF(piece, word, CHARS), FIELD_ADDED(piece, late, U64),
     FIELD_OF(piece, table, TABLE)},
};

/* A record that grew: one field of each type that is written only where it says something. */
struct grown {
    uint32_t before, u32;
    uint64_t u64;
    int64_t i64;
    bool flag;
    enum reason reason;
    const char *string;
    char chars[8];
    struct resources resources;
    struct u32s u32s;
    struct u64s u64s;
    struct level_table table;
    uint32_t behind;
};
static const struct record_kind grown_kind = {
    "grown",
    {FIELD_OF(grown, before, U32), FIELD_LEAN(grown, u32, U32), FIELD_LEAN(grown, u64, U64),
     FIELD_LEAN(grown, i64, I64), FIELD_LEAN(grown, flag, BOOL), FIELD_LEAN(grown, reason, REASON),
     FIELD_LEAN(grown, string, STRING), FIELD_LEAN(grown, chars, CHARS),
     FIELD_LEAN(grown, resources, RESOURCES), FIELD_LEAN(grown, u32s, U32S),
     FIELD_LEAN(grown, u64s, U64S), FIELD_LEAN(grown, table, TABLE), FIELD_OF(grown, behind, U32)},
};

/* What is read is written as it stood; all else is refused. A grown record writes what it wrote
 * before it grew, reads that, and has one form for each value. Without a kind: neither an event nor
 * a decision. */
enum verdict { READ, REFUSED };
static const struct line_case {
    enum verdict verdict;
    const struct record_kind *kind;
    const char *line;
} line_cases[] = {
    {REFUSED, NULL, ""},
    {REFUSED, NULL, "job"},
    {REFUSED, NULL, "job_end"},
    {REFUSED, NULL, "job_end request=1"},
    {REFUSED, NULL, "job_end request=1 job="},
    {REFUSED, NULL, "job_end request=1 job=01"},
    {REFUSED, NULL, "job_end request=1 job=+1"},
    {REFUSED, NULL, "job_end request=1 job= 1"},
    {REFUSED, NULL, "job_end request=1 job=-1"},
    {REFUSED, NULL, "job_end request=1 job=18446744073709551616"},
    {REFUSED, NULL, "job_end job=1 request=1"},
    {REFUSED, NULL, "job_end request=1  job=1"},
    {REFUSED, NULL, "job_end request=1 job=1 "},
    {REFUSED, NULL, "job_end request=1 job=1 x=2"},
    {REFUSED, NULL, " job_end request=1 job=1"},
    {REFUSED, NULL, "host_silent host=4294967296"},
    {REFUSED, NULL, "policy_set request=1 question=%41 name=x"},
    {REFUSED, NULL, "policy_set request=1 question=%2C name=x"},
    {REFUSED, NULL, "policy_set request=1 question=%00 name=x"},
    {REFUSED, NULL, "policy_set request=1 question=%2 name=x"},
    {REFUSED, NULL, "policy_set request=1 question=a,b name=x"},
    {REFUSED, NULL, "job_bytes request=1 job=1 stage=1 parent=0 first=0 matrix=0 bytes=1,"},
    {REFUSED, NULL, "job_bytes request=1 job=1 stage=1 parent=0 first=0 matrix=0 bytes=,1"},
    {REFUSED, NULL, "job_bytes request=1 job=1 stage=1 parent=0 first=0 matrix=0 bytes=1,,1"},
    {REFUSED, NULL, "ask request=1 job=1 stage=0 pending=1 demand=1,2,3,4,5"},
    {REFUSED, NULL, "ask request=1 job=1 stage=0 pending=1 demand=1,2,3,4,5,6,7"},
    {REFUSED, NULL, "attempt_failed attempt=1 exit_status=-0"},
    {REFUSED, NULL, "attempt_failed attempt=1 exit_status=9223372036854775808"},
    {REFUSED, NULL, "attempt_failed attempt=1 exit_status=-9223372036854775809"},
    {REFUSED, NULL, "forget reason=sometimes left=0 right=0 job=1 host=1"},
    {READ, &piece_kind, "piece flag=1 word=a%20b late=9 table=3,5,7"},
    {READ, &piece_kind, "piece flag=0 word= late=9 table=0"},
    {READ, &piece_kind, "piece flag=0 word=x late=9 table=1"},
    {REFUSED, &piece_kind, "piece flag=2 word=x late=9 table=1"},
    {REFUSED, &piece_kind, "piece flag=7 word=x late=9 table=1"},
    {REFUSED, &piece_kind, "piece flag=10 word=x late=9 table=1"},
    {REFUSED, &piece_kind, "piece flag= word=x late=9 table=1"},
    {REFUSED, &piece_kind, "piece flag=0 word=x late=9 table=3,5"},
    {REFUSED, &piece_kind, "piece flag=0 word=x late=9 table=3,5,7,9"},
    {REFUSED, &piece_kind, "piece flag=0 word=x late=9 table=65"},
    {REFUSED, &piece_kind, "piece flag=0 word=x late=9 table=99999999999999999999"},
    {REFUSED, &piece_kind,
     "piece flag=0 word=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx late=9 "
     "table=0"},
    {READ, &grown_kind, "grown before=1 behind=2"},
    {READ, &grown_kind, "grown before=1 u32=7 behind=2"},
    {READ, &grown_kind, "grown before=1 u64=7 i64=-7 behind=2"},
    {READ, &grown_kind, "grown before=1 flag=1 reason=size string=a%20b chars=cc behind=2"},
    {READ, &grown_kind, "grown before=1 resources=0,0,0,1,0,0 u32s=0 u64s=0,0 table=1 behind=2"},
    {REFUSED, &grown_kind, "grown before=1 u32=0 behind=2"},
    {REFUSED, &grown_kind, "grown before=1 u64=0 behind=2"},
    {REFUSED, &grown_kind, "grown before=1 i64=0 behind=2"},
    {REFUSED, &grown_kind, "grown before=1 flag=0 behind=2"},
    {REFUSED, &grown_kind, "grown before=1 reason=none behind=2"},
    {REFUSED, &grown_kind, "grown before=1 string= behind=2"},
    {REFUSED, &grown_kind, "grown before=1 chars= behind=2"},
    {REFUSED, &grown_kind, "grown before=1 resources=0,0,0,0,0,0 behind=2"},
    {REFUSED, &grown_kind, "grown before=1 table=0 behind=2"},
    {REFUSED, &grown_kind, "grown before=1 u64=7 u32=7 behind=2"},
    {REFUSED, &grown_kind, "grown before=1 u32=7 u32=7 behind=2"},
    {REFUSED, &grown_kind, "grown before=1 u32s= behind=2"},
};

static void check_line(const struct line_case *c, struct record_room *room)
{
    union {
        struct event event;
        struct piece piece;
        struct grown grown;
    } object;
    struct decision decision;
    struct err err = {0};
    char again[160];
    memset(&object, 0, sizeof(object));
    int r = c->kind ? field_decode(c->kind, c->line, room, &object, &err)
                    : record_decode_event(c->line, room, &object.event, &err);
    if (r != (c->verdict == READ ? 0 : -EINVAL))
        fail_msg("\"%s\": %d", c->line, r);
    if (c->verdict == READ) {
        assert_true(field_encode(c->kind, &object, again, sizeof(again)) > 0);
        assert_string_equal(again, c->line);
        return;
    }
    assert_true(strlen(err.text) > 10);
    if (!c->kind && record_decode_decision(c->line, &decision, NULL) != -EINVAL)
        fail_msg("\"%s\" was not refused", c->line);
}

static void test_lines(void **state)
{
    (void)state;
    struct record_room room = {0};
    for (size_t i = 0; i < COUNT(line_cases); i++)
        check_line(&line_cases[i], &room);
    record_room_done(&room);
}

static void test_a_record_from_before_there_was_a_field(void **state)
{
    (void)state;
    struct record_room room = {0};
    struct piece piece = {.late = 7};
    const char *line = "piece flag=1 word=x table=0";
    assert_int_equal(field_decode(&piece_kind, line, &room, &piece, NULL), 0);
    assert_true(piece.flag && piece.late == 7);
    record_room_done(&room);
}

/* What a framework says that knows of no binding is recorded as before. */
static void test_bindable_is_written_where_it_is_said(void **state)
{
    (void)state;
    char line[256];
    struct event event = {.kind = EVENT_FRAMEWORK_STAGE};
    assert_true(record_encode_event(&event, line, sizeof(line)) > 0);
    assert_null(strstr(line, "bindable"));
    event.framework_stage.bindable = 1;
    assert_true(record_encode_event(&event, line, sizeof(line)) > 0);
    assert_non_null(strstr(line, " ungated=0 bindable=1"));
}

static void test_kinds_out_of_range(void **state)
{
    (void)state;
    char line[64];
    struct event event = {.kind = EVENT_KINDS};
    struct decision decision = {.kind = DECISION_KINDS};
    assert_int_equal(record_encode_event(&event, line, sizeof(line)), -EINVAL);
    assert_int_equal(record_encode_decision(&decision, line, sizeof(line)), -EINVAL);
}

/* Rejections in recordings of before name requests by number; words that are no more are refused.
 */
static void test_numbers_of_kinds_stay(void **state)
{
    (void)state;
    static const struct {
        enum event_kind kind;
        int number;
    } numbers[] = {{EVENT_JOB_CANCEL, 6},
                   {EVENT_CLAIM, 8},
                   {EVENT_POLICY_SET, 11},
                   {EVENT_HOST_FORGET, 33},
                   {EVENT_JOB_SUBMITTER, 43}};
    static const char *const words[] = {
        "ask request=1 job=1 stage=0 pending=1 demand=1,0,0,0,0,0",
        "lock request=1 scheduler=2 token=3",
        "unlock request=1 scheduler=2 token=3",
    };
    char line[64];
    struct record_room room = {0};
    for (size_t i = 0; i < COUNT(numbers); i++)
        assert_int_equal(numbers[i].kind, numbers[i].number);
    for (size_t i = 0; i < COUNT(left_out); i++) {
        struct event event = {.kind = (enum event_kind)left_out[i]};
        struct err err = {0};
        assert_int_equal(record_encode_event(&event, line, sizeof(line)), -EINVAL);
        assert_int_equal(record_decode_event(words[i], &room, &event, &err), -EINVAL);
        assert_non_null(strstr(err.text, "unknown kind of record"));
    }
    record_room_done(&room);
}

static void test_names_out_of_range(void **state)
{
    (void)state;
    assert_string_equal(reason_name((enum reason)999), "?");
    assert_string_equal(attempt_state_name((enum attempt_state)99), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_round_trip),
        cmocka_unit_test(test_every_kind_has_a_row),
        cmocka_unit_test(test_decisions_round_trip),
        cmocka_unit_test(test_decoding_is_strict),
        cmocka_unit_test(test_line_ends_with_newline),
        cmocka_unit_test(test_field_by_name),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_a_record_from_before_there_was_a_field),
        cmocka_unit_test(test_kinds_out_of_range),
        cmocka_unit_test(test_numbers_of_kinds_stay),
        cmocka_unit_test(test_names_out_of_range),
        cmocka_unit_test(test_bindable_is_written_where_it_is_said),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
