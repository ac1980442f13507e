/* Records: every kind with random values goes through text and back; what decodes encodes to the
 * same text. */
#include "tests/unit/test.h"

#include "controller/engine/base/field.h"
#include "controller/engine/base/record.h"
#include "controller/engine/engine.h"

#include <errno.h>
#include <string.h>

/* The vocabulary once more, by its own header, so that a field that the codec forgets is missed
 * here. */
enum type { U32, U64, I64, STRING, RESOURCES, U32S, U64S };
struct member {
    unsigned kind;
    enum type type;
    size_t offset;
};
#define E(kind, member, type)                                                                      \
    {                                                                                              \
        EVENT_##kind, type, offsetof(struct event, member)                                         \
    }
#define REQUEST(kind) E(kind, request, U64)
#define JOIN(kind)                                                                                 \
    E(kind, host_join.host, U32), E(kind, host_join.generation, U64),                              \
        E(kind, host_join.name, STRING), E(kind, host_join.rack, STRING),                          \
        E(kind, host_join.labels, STRING), E(kind, host_join.uplink_bps, U64),                     \
        E(kind, host_join.downlink_bps, U64), E(kind, host_join.units, U64S),                      \
        E(kind, host_join.unit_names, STRING)
#define SEEN(kind)                                                                                 \
    E(kind, attempt_seen.attempt, U64), E(kind, attempt_seen.job, U64),                            \
        E(kind, attempt_seen.stage, U32), E(kind, attempt_seen.task, U32),                         \
        E(kind, attempt_seen.host, U32), E(kind, attempt_seen.unit, U32),                          \
        E(kind, attempt_seen.phase, U32), E(kind, attempt_seen.resources, RESOURCES),              \
        E(kind, attempt_seen.received_bytes, U64)

static const struct member event_members[] = {
    REQUEST(JOB_BEGIN),
    E(JOB_BEGIN, job_begin.job, U64),
    E(JOB_BEGIN, job_begin.name, STRING),
    E(JOB_BEGIN, job_begin.content, U64),
    E(JOB_BEGIN, job_begin.user, U32),
    E(JOB_BEGIN, job_begin.job_kind, U32),
    E(JOB_BEGIN, job_begin.priority, I64),
    E(JOB_BEGIN, job_begin.deadline_ns, I64),
    E(JOB_BEGIN, job_begin.estimate_bytes, I64),
    E(JOB_BEGIN, job_begin.estimate_ns, I64),
    REQUEST(JOB_STAGE),
    E(JOB_STAGE, job_stage.job, U64),
    E(JOB_STAGE, job_stage.stage, U32),
    E(JOB_STAGE, job_stage.tasks, U32),
    E(JOB_STAGE, job_stage.demand, RESOURCES),
    E(JOB_STAGE, job_stage.command, STRING),
    E(JOB_STAGE, job_stage.constraint, STRING),
    E(JOB_STAGE, job_stage.parents, U32S),
    E(JOB_STAGE, job_stage.edges, U32S),
    REQUEST(JOB_TASKS),
    E(JOB_TASKS, job_tasks.job, U64),
    E(JOB_TASKS, job_tasks.stage, U32),
    E(JOB_TASKS, job_tasks.first, U32),
    E(JOB_TASKS, job_tasks.replicas_per_task, U32),
    E(JOB_TASKS, job_tasks.replicas, U32S),
    E(JOB_TASKS, job_tasks.input_bytes, U64S),
    E(JOB_TASKS, job_tasks.compute_ns, U64S),
    REQUEST(JOB_BYTES),
    E(JOB_BYTES, job_bytes.job, U64),
    E(JOB_BYTES, job_bytes.stage, U32),
    E(JOB_BYTES, job_bytes.parent, U32),
    E(JOB_BYTES, job_bytes.first, U32),
    E(JOB_BYTES, job_bytes.matrix, U32),
    E(JOB_BYTES, job_bytes.bytes, U64S),
    REQUEST(JOB_END),
    E(JOB_END, job_end.job, U64),
    REQUEST(JOB_UPDATE),
    E(JOB_UPDATE, job_update.job, U64),
    E(JOB_UPDATE, job_update.estimate_bytes, I64),
    E(JOB_UPDATE, job_update.estimate_ns, I64),
    E(JOB_UPDATE, job_update.priority, I64),
    E(JOB_UPDATE, job_update.deadline_ns, I64),
    REQUEST(JOB_CANCEL),
    E(JOB_CANCEL, job_cancel.job, U64),
    REQUEST(CLAIM),
    E(CLAIM, claim.scheduler, U32),
    E(CLAIM, claim.version, U64),
    E(CLAIM, claim.jobs, U64S),
    E(CLAIM, claim.stages, U32S),
    E(CLAIM, claim.tasks, U32S),
    E(CLAIM, claim.hosts, U32S),
    E(CLAIM, claim.units, U32S),
    REQUEST(POLICY_SET),
    E(POLICY_SET, policy_set.question, STRING),
    E(POLICY_SET, policy_set.name, STRING),
    REQUEST(POLICY_PARAMETER),
    E(POLICY_PARAMETER, policy_parameter.word, STRING),
    E(POLICY_PARAMETER, policy_parameter.value, I64),
    REQUEST(HOST_DRAIN),
    E(HOST_DRAIN, host_drain.host, U32),
    E(HOST_DRAIN, host_drain.undo, U32),
    JOIN(HOST_JOIN),
    JOIN(HOST_CHANGE),
    E(HOST_SILENT, host.host, U32),
    E(HOST_LOST, host.host, U32),
    E(HOST_BACK, host.host, U32),
    E(HOST_LOAD, host_load.host, U32),
    E(HOST_LOAD, host_load.resource, U32),
    E(HOST_LOAD, host_load.permille, U32),
    E(HOST_LOAD, host_load.users, U32),
    SEEN(ATTEMPT_SEEN),
    SEEN(ATTEMPT_GRANTED),
    E(ATTEMPT_QUEUED, attempt.attempt, U64),
    E(ATTEMPT_STARTED, attempt.attempt, U64),
    E(ATTEMPT_REFUSED, attempt.attempt, U64),
    E(ATTEMPT_PROGRESS, attempt.attempt, U64),
    E(ATTEMPT_PROGRESS, attempt.received_bytes, U64),
    E(ATTEMPT_RECEIVED, attempt.attempt, U64),
    E(ATTEMPT_RECEIVED, attempt.received_bytes, U64),
    E(ATTEMPT_DONE, attempt.attempt, U64),
    E(ATTEMPT_DONE, attempt.received_bytes, U64),
    E(ATTEMPT_FAILED, attempt.attempt, U64),
    E(ATTEMPT_FAILED, attempt.exit_status, I64),
    E(ATTEMPT_KILLED, attempt.attempt, U64),
    E(ATTEMPT_KILLED, attempt.exit_status, I64),
    E(ATTEMPT_LOST, attempt.attempt, U64),
    E(OUTPUT_LOST, output_lost.job, U64),
    E(OUTPUT_LOST, output_lost.stage, U32),
    E(OUTPUT_LOST, output_lost.task, U32),
    E(OUTPUT_LOST, output_lost.attempt, U64),
};
#undef E

#define D(kind, member, type)                                                                      \
    {                                                                                              \
        DECISION_##kind, type, offsetof(struct decision, member)                                   \
    }
static const struct member decision_members[] = {
    D(START, start.attempt, U64),
    D(START, start.job, U64),
    D(START, start.stage, U32),
    D(START, start.task, U32),
    D(START, start.host, U32),
    D(START, start.unit, U32),
    D(START, start.resources, RESOURCES),
    D(START, start.coflow_level, U64),
    D(START, start.macroflow_level, U64),
    D(START, start.queue, U32),
    D(START, start.input_bytes, U64),
    D(STOP, stop.attempt, U64),
    D(STOP, stop.host, U32),
    D(STOP, stop.grace_ns, U64),
    D(STOP, stop.requeue, U32),
    D(LEVEL, level.attempt, U64),
    D(LEVEL, level.host, U32),
    D(LEVEL, level.coflow_level, U64),
    D(LEVEL, level.macroflow_level, U64),
    D(MODE, mode.mode, U32),
    D(MODE, mode.sequence, U64),
    D(HOLD, hold.job, U64),
    D(HOLD, hold.stage, U32),
    D(HOLD, hold.host, U32),
    D(HOLD, hold.until_ns, I64),
    D(UNHOLD, hold.job, U64),
    D(UNHOLD, hold.stage, U32),
    D(UNHOLD, hold.host, U32),
    D(UNHOLD, hold.until_ns, I64),
    D(ALLOW, allow.job, U64),
    D(ALLOW, allow.stage, U32),
    D(ALLOW, allow.host, U32),
    D(ALLOW, allow.count, U32),
    D(CLAIM_RESULT, claim_result.request, U64),
    D(CLAIM_RESULT, claim_result.item, U32),
    D(CLAIM_RESULT, claim_result.outcome, U32),
    D(CLAIM_RESULT, claim_result.token, U64),
    D(JOB_DONE, job_done.job, U64),
    D(JOB_DONE, job_done.submitted_ns, I64),
    D(JOB_DONE, job_done.finished_ns, I64),
    D(JOB_DONE, job_done.slot_wait_ns, I64),
    D(JOB_FAILED, job_failed.job, U64),
    D(JOB_FAILED, job_failed.stage, U32),
    D(JOB_FAILED, job_failed.task, U32),
    D(JOB_FAILED, job_failed.attempt, U64),
    D(JOB_FAILED, job_failed.submitted_ns, I64),
    D(JOB_FAILED, job_failed.finished_ns, I64),
    D(REJECT, reject.request, U64),
    D(REJECT, reject.event, U32),
    D(FORGET, forget.job, U64),
    D(FORGET, forget.host, U32),
};
#undef D

enum { LIST_MAX = 8, WORD_MAX = 24, ROOMS = 16 };
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
    for (size_t i = 0; i < sizeof(event_members) / sizeof(event_members[0]); i++)
        if (event_members[i].kind == kind)
            fill(stream, event_members[i].type, room++,
                 (char *)ret_event + event_members[i].offset);
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
    for (size_t i = 0; i < sizeof(decision_members) / sizeof(decision_members[0]); i++)
        if (decision_members[i].kind == kind)
            fill(stream, decision_members[i].type, 0,
                 (char *)ret_decision + decision_members[i].offset);
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
    for (size_t i = 0; i < sizeof(event_members) / sizeof(event_members[0]); i++)
        if (event_members[i].kind == event->kind)
            compare(event_members[i].type, (const char *)event + event_members[i].offset,
                    (const char *)&back + event_members[i].offset);
    assert_int_equal(record_encode_event(&back, again, sizeof(again)), length);
    assert_string_equal(line, again);
    for (int size = 0; size <= length; size += 1 + size / 8)
        assert_int_equal(record_encode_event(event, again, (size_t)size), -ENOSPC);
}

/* Numbers of words that are no more. */
static const unsigned left_out[] = {7, 9, 10};

static bool is_left_out(unsigned kind)
{
    return kind == left_out[0] || kind == left_out[1] || kind == left_out[2];
}

static void test_events_round_trip(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    struct record_room room = {0};
    struct event event;
    for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
        for (int i = 0; i < 200 && !is_left_out(kind); i++) {
            random_event(&stream, kind, &event);
            check_event(&event, &room);
        }
    record_room_done(&room);
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

static void test_refused_lines(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "job",
        "job_end",
        "job_end request=1",
        "job_end request=1 job=",
        "job_end request=1 job=01",
        "job_end request=1 job=+1",
        "job_end request=1 job= 1",
        "job_end request=1 job=-1",
        "job_end request=1 job=18446744073709551616",
        "job_end job=1 request=1",
        "job_end request=1  job=1",
        "job_end request=1 job=1 ",
        "job_end request=1 job=1 x=2",
        " job_end request=1 job=1",
        "host_silent host=4294967296",
        "policy_set request=1 question=%41 name=x",
        "policy_set request=1 question=%2C name=x",
        "policy_set request=1 question=%00 name=x",
        "policy_set request=1 question=%2 name=x",
        "policy_set request=1 question=a,b name=x",
        "job_bytes request=1 job=1 stage=1 parent=0 first=0 matrix=0 bytes=1,",
        "job_bytes request=1 job=1 stage=1 parent=0 first=0 matrix=0 bytes=,1",
        "job_bytes request=1 job=1 stage=1 parent=0 first=0 matrix=0 bytes=1,,1",
        "ask request=1 job=1 stage=0 pending=1 demand=1,2,3,4,5",
        "ask request=1 job=1 stage=0 pending=1 demand=1,2,3,4,5,6,7",
        "attempt_failed attempt=1 exit_status=-0",
        "attempt_failed attempt=1 exit_status=9223372036854775808",
        "attempt_failed attempt=1 exit_status=-9223372036854775809",
        "forget reason=sometimes left=0 right=0 job=1 host=1",
    };
    struct record_room room = {0};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct event event;
        struct decision decision;
        struct err err = {0};
        if (record_decode_event(lines[i], &room, &event, &err) != -EINVAL ||
            record_decode_decision(lines[i], &decision, NULL) != -EINVAL)
            fail_msg("\"%s\" was not refused", lines[i]);
        assert_true(strlen(err.text) > 10);
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
    const char *line =
        "reject reason=bad-value left=-5 right=7 request=18446744073709551615 event=3";
    uint64_t value;
    assert_int_equal(record_field_u64(line, "right", &value), 0);
    assert_int_equal(value, 7);
    assert_int_equal(record_field_u64(line, "request", &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(record_field_u64(line, "req", &value), -ENOENT);
    assert_int_equal(record_field_u64(line, "left", &value), -ERANGE);
    assert_int_equal(record_field_u64(line, "reason", &value), -ERANGE);
    assert_int_equal(record_field_u64("forget job=18446744073709551616", "job", &value), -ERANGE);
    assert_int_equal(record_field_u64("forget job= host=3", "job", &value), -ERANGE);
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

static void test_pieces_of_state(void **state)
{
    (void)state;
    static const char *const good[] = {
        "piece flag=1 word=a%20b late=9 table=3,5,7",
        "piece flag=0 word= late=9 table=0",
        "piece flag=0 word=x late=9 table=1",
    };
    static const char *const bad[] = {
        "piece flag=2 word=x late=9 table=1",
        "piece flag=7 word=x late=9 table=1",
        "piece flag=10 word=x late=9 table=1",
        "piece flag= word=x late=9 table=1",
        "piece flag=0 word=x late=9 table=3,5",
        "piece flag=0 word=x late=9 table=3,5,7,9",
        "piece flag=0 word=x late=9 table=65",
        "piece flag=0 word=x late=9 table=99999999999999999999",
    };
    struct record_room room = {0};
    struct piece piece;
    char line[128];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(field_decode(&piece_kind, good[i], &room, &piece, NULL), 0);
        assert_true(field_encode(&piece_kind, &piece, line, sizeof(line)) > 0);
        assert_string_equal(line, good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (field_decode(&piece_kind, bad[i], &room, &piece, NULL) != -EINVAL)
            fail_msg("\"%s\" was not refused", bad[i]);
    piece.late = 7;
    assert_int_equal(field_decode(&piece_kind, "piece flag=1 word=x table=0", &room, &piece, NULL),
                     0);
    assert_true(piece.flag && piece.late == 7); /* a record from before there was such a field */
    memset(line, 'x', sizeof(line));
    memcpy(line, "piece flag=0 word=", 18);
    strcpy(line + 18 + ENGINE_NAME_MAX, " late=9 table=0");
    assert_int_equal(field_decode(&piece_kind, line, &room, &piece, NULL), -EINVAL);
    record_room_done(&room);
}

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

/* It writes what it wrote before it grew, reads that, and has one form for each value. */
static void test_a_field_at_its_default_is_not_written(void **state)
{
    (void)state;
    static const char *const good[] = {
        "grown before=1 behind=2",
        "grown before=1 u32=7 behind=2",
        "grown before=1 u64=7 i64=-7 behind=2",
        "grown before=1 flag=1 reason=size string=a%20b chars=cc behind=2",
        "grown before=1 resources=0,0,0,1,0,0 u32s=0 u64s=0,0 table=1 behind=2",
    };
    static const char *const bad[] = {
        "grown before=1 u32=0 behind=2",       "grown before=1 u64=0 behind=2",
        "grown before=1 i64=0 behind=2",       "grown before=1 flag=0 behind=2",
        "grown before=1 reason=none behind=2", "grown before=1 string= behind=2",
        "grown before=1 chars= behind=2",      "grown before=1 resources=0,0,0,0,0,0 behind=2",
        "grown before=1 table=0 behind=2",     "grown before=1 u64=7 u32=7 behind=2",
        "grown before=1 u32=7 u32=7 behind=2", "grown before=1 u32s= behind=2",
    };
    struct record_room room = {0};
    char line[160];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct grown grown = {0};
        assert_int_equal(field_decode(&grown_kind, good[i], &room, &grown, NULL), 0);
        assert_true(field_encode(&grown_kind, &grown, line, sizeof(line)) > 0);
        assert_string_equal(line, good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct grown grown = {0};
        if (field_decode(&grown_kind, bad[i], &room, &grown, NULL) != -EINVAL)
            fail_msg("\"%s\" was not refused", bad[i]);
    }
    record_room_done(&room);
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
    static const char *const words[] = {
        "ask request=1 job=1 stage=0 pending=1 demand=1,0,0,0,0,0",
        "lock request=1 scheduler=2 token=3",
        "unlock request=1 scheduler=2 token=3",
    };
    char line[64];
    struct record_room room = {0};
    assert_int_equal(EVENT_JOB_CANCEL, 6);
    assert_int_equal(EVENT_CLAIM, 8);
    assert_int_equal(EVENT_POLICY_SET, 11);
    assert_int_equal(EVENT_HOST_FORGET, 33);
    assert_int_equal(EVENT_JOB_SUBMITTER, 43);
    for (int i = 0; i < 3; i++) {
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
        cmocka_unit_test(test_decisions_round_trip),
        cmocka_unit_test(test_decoding_is_strict),
        cmocka_unit_test(test_refused_lines),
        cmocka_unit_test(test_line_ends_with_newline),
        cmocka_unit_test(test_field_by_name),
        cmocka_unit_test(test_pieces_of_state),
        cmocka_unit_test(test_kinds_out_of_range),
        cmocka_unit_test(test_numbers_of_kinds_stay),
        cmocka_unit_test(test_names_out_of_range),
        cmocka_unit_test(test_a_field_at_its_default_is_not_written),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
