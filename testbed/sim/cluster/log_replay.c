#include "testbed/sim/cluster/log_replay.h"

#include "controller/engine/engine.h"
#include "controller/engine/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct replay {
    FILE *log, *out;
    char *line, *record; /* the present line without newline; room for one encoded decision */
    size_t line_size;
    uint64_t number;
    bool pushed_back, ended;
    struct engine *engine;
    struct event *events;
    struct record_room *rooms;
    size_t n, capacity;
    int64_t now_ns;
    bool in_step, stepped;
    struct decisions decisions;
    size_t seen; /* decisions of this step that the log has confirmed */
    struct log_replay_result *result;
    log_replay_step *step;
    void *user;
};

/* The next whole line into r->line: its length, or 0 at the end. */
static int next_line(struct replay *r)
{
    if (r->pushed_back) {
        r->pushed_back = false;
        return (int)strlen(r->line);
    }
    ssize_t length = getline(&r->line, &r->line_size, r->log);
    if (length <= 0 || r->line[length - 1] != '\n')
        return 0;
    r->line[length - 1] = 0;
    r->number++;
    return (int)length;
}

/* The rest of the line after "WORD ", NULL when it begins otherwise. */
static const char *after(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

static int next_dump_line(void *context, const char **ret_line)
{
    struct replay *r = context;
    int length = next_line(r);
    *ret_line = length > 0 ? after(r->line, "dump") : NULL;
    if (!*ret_line && length > 0)
        r->pushed_back = true;
    return *ret_line ? length : 0;
}

static int keep_event(struct replay *r, const char *record, struct err *err)
{
    if (r->n == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 16;
        struct event *events = reallocarray(r->events, capacity, sizeof(*events));
        struct record_room *rooms =
            events ? reallocarray(r->rooms, capacity, sizeof(*rooms)) : NULL;
        r->events = events ? events : r->events;
        if (!rooms)
            return err_set(err, ENOMEM, "no memory for %zu events", capacity);
        memset(rooms + r->capacity, 0, (capacity - r->capacity) * sizeof(*rooms));
        r->rooms = rooms;
        r->capacity = capacity;
    }
    int error = record_decode_event(record, &r->rooms[r->n], &r->events[r->n], err);
    r->n += error >= 0;
    return error;
}

static int decide(struct replay *r, struct err *err)
{
    if (r->stepped || !r->in_step)
        return 0;
    r->stepped = true;
    r->seen = 0;
    r->result->steps++;
    r->result->events += r->n;
    if (r->out)
        fprintf(r->out, "step %" PRId64 "\n", r->now_ns);
    if (engine_step(r->engine, r->now_ns, r->events, r->n, &r->decisions) < 0)
        return err_set(err, ENOMEM, "no memory for the step");
    if (r->step)
        r->step(r->user, r->now_ns, r->engine, &r->decisions);
    return 0;
}

static void differ(struct replay *r, const char *recorded, const char *decided)
{
    r->result->first_difference_line = r->number;
    snprintf(r->result->recorded, sizeof(r->result->recorded), "%s", recorded);
    snprintf(r->result->decided, sizeof(r->result->decided), "%s", decided);
}

static int encode_next(struct replay *r)
{
    return record_encode_decision(&r->decisions.at[r->seen], r->record, RECORD_MAX);
}

static int compare_decision(struct replay *r, const char *recorded, struct err *err)
{
    int error = decide(r, err);
    if (error < 0)
        return error;
    r->record[0] = 0;
    if (r->seen < r->decisions.n && encode_next(r) < 0)
        return err_set(err, EINVAL, "a decision does not fit a record");
    if (strcmp(r->record, recorded) != 0) {
        differ(r, recorded, r->record);
        return 0;
    }
    if (r->out)
        fprintf(r->out, "d %s\n", r->record);
    r->seen++;
    r->result->decisions++;
    return 0;
}

/* A step is over: it must not have decided more than was recorded. */
static int end_step(struct replay *r, struct err *err)
{
    int error = decide(r, err);
    if (error < 0)
        return error;
    if (r->in_step && r->seen < r->decisions.n && encode_next(r) > 0)
        differ(r, "", r->record);
    r->in_step = false;
    return 0;
}

static int begin_step(struct replay *r, const char *now, struct err *err)
{
    char *end;
    int error = end_step(r, err);
    r->now_ns = strtoll(now, &end, 10);
    r->in_step = true;
    r->stepped = false;
    r->n = 0;
    return *end || end == now ? err_set(err, EINVAL, "step needs a time in ns, not \"%.32s\"", now)
                              : error;
}

static int compare_digest(struct replay *r, const char *recorded, struct err *err)
{
    char decided[20];
    int error = decide(r, err);
    if (error < 0)
        return error;
    snprintf(decided, sizeof(decided), "%016" PRIx64, engine_digest(r->engine));
    if (strcmp(decided, recorded) != 0)
        differ(r, recorded, decided);
    else
        r->result->digests++;
    return 0;
}

static int replay_line(struct replay *r, struct err *err)
{
    const char *rest;
    if ((rest = after(r->line, "step")))
        return begin_step(r, rest, err);
    if ((rest = after(r->line, "e")) && r->in_step && !r->stepped)
        return keep_event(r, rest, err);
    if ((rest = after(r->line, "d")) && r->in_step)
        return compare_decision(r, rest, err);
    if ((rest = after(r->line, "digest")) && r->in_step)
        return compare_digest(r, rest, err);
    if (after(r->line, "begin") || after(r->line, "dropped"))
        return 0;
    if (after(r->line, "end")) {
        r->ended = true;
        return end_step(r, err);
    }
    return err_set(err, EINVAL, "\"%.40s\" does not belong here", r->line);
}

static int replay_all(struct replay *r, struct err *err)
{
    int length = next_line(r);
    if (length <= 0 || strcmp(r->line, "duopoly-log 1") != 0)
        return err_set(err, EINVAL, "the first line must be \"duopoly-log 1\"");
    int error = engine_load(next_dump_line, r, &r->engine, err);
    while (error >= 0 && !r->ended && !r->result->first_difference_line && next_line(r) > 0)
        error = replay_line(r, err);
    return error;
}

int log_replay(FILE *log, FILE *out, struct log_replay_result *ret_result, struct err *err)
{
    return log_replay_watched(log, out, NULL, NULL, ret_result, err);
}

int log_replay_watched(FILE *log, FILE *out, log_replay_step *step, void *user,
                       struct log_replay_result *ret_result, struct err *err)
{
    struct replay r = {.log = log,
                       .out = out,
                       .result = ret_result,
                       .record = malloc(RECORD_MAX),
                       .step = step,
                       .user = user};
    memset(ret_result, 0, sizeof(*ret_result));
    int error = r.record ? replay_all(&r, err) : err_set(err, ENOMEM, "no memory for a record");
    if (error < 0)
        err_prefix(err, "line %" PRIu64, r.number ? r.number : 1);
    engine_destroy(r.engine);
    decisions_done(&r.decisions);
    for (size_t i = 0; i < r.capacity; i++)
        record_room_done(&r.rooms[i]);
    free(r.rooms);
    free(r.events);
    free(r.record);
    free(r.line);
    return error;
}
