#include "testbed/sim/cluster/recording_replay.h"

#include "lib/number.h"
#include "lib/text_mark.h"

#include "controller/engine/base/record.h"
#include "controller/engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct replay {
    FILE *recording, *out;
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
    size_t seen; /* decisions of this step that matched the recording */
    struct recording_replay_result *result;
    recording_replay_step *step;
    void *user;
};

/* The next whole line into r->line: its length, or 0 at the end. */
static int next_line(struct replay *replay)
{
    if (replay->pushed_back) {
        replay->pushed_back = false;
        return (int)strlen(replay->line);
    }
    ssize_t length = getline(&replay->line, &replay->line_size, replay->recording);
    if (length <= 0 || replay->line[length - 1] != '\n') {
        replay->result->torn = length > 0;
        return 0;
    }
    replay->line[length - 1] = 0;
    if (++replay->number == 1)
        length -= (ssize_t)text_mark_cut(replay->line, (size_t)length);
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
    struct replay *replay = context;
    int length = next_line(replay);
    *ret_line = length > 0 ? after(replay->line, "dump") : NULL;
    if (!*ret_line && length > 0)
        replay->pushed_back = true;
    return *ret_line ? length : 0;
}

static int keep_event(struct replay *replay, const char *record, struct err *err)
{
    if (replay->n == replay->capacity) {
        size_t capacity = replay->capacity ? 2 * replay->capacity : 16;
        struct event *events = reallocarray(replay->events, capacity, sizeof(*events));
        struct record_room *rooms =
            events ? reallocarray(replay->rooms, capacity, sizeof(*rooms)) : NULL;
        replay->events = events ? events : replay->events;
        if (!rooms)
            return err_set(err, ENOMEM, "no memory for %zu events", capacity);
        memset(rooms + replay->capacity, 0, (capacity - replay->capacity) * sizeof(*rooms));
        replay->rooms = rooms;
        replay->capacity = capacity;
    }
    int r = record_decode_event(record, &replay->rooms[replay->n], &replay->events[replay->n], err);
    replay->n += r >= 0;
    return r;
}

static int decide(struct replay *replay, struct err *err)
{
    if (replay->stepped || !replay->in_step)
        return 0;
    replay->stepped = true;
    replay->seen = 0;
    replay->result->steps++;
    replay->result->events += replay->n;
    if (replay->out)
        fprintf(replay->out, "step %" PRId64 "\n", replay->now_ns);
    if (engine_step(replay->engine, replay->now_ns, replay->events, replay->n, &replay->decisions) <
        0)
        return err_set(err, ENOMEM, "no memory for the step");
    if (replay->step)
        replay->step(replay->user, replay->now_ns, replay->engine, &replay->decisions);
    return 0;
}

static void differ(struct replay *replay, const char *recorded, const char *decided)
{
    replay->result->first_difference_line = replay->number;
    snprintf(replay->result->recorded, sizeof(replay->result->recorded), "%s", recorded);
    snprintf(replay->result->decided, sizeof(replay->result->decided), "%s", decided);
}

static int encode_next(struct replay *replay)
{
    return record_encode_decision(&replay->decisions.at[replay->seen], replay->record, RECORD_MAX);
}

static int compare_decision(struct replay *replay, const char *recorded, struct err *err)
{
    int r = decide(replay, err);
    if (r < 0)
        return r;
    replay->record[0] = 0;
    if (replay->seen < replay->decisions.n && encode_next(replay) < 0)
        return err_set(err, EINVAL, "a decision does not fit a record");
    if (strcmp(replay->record, recorded) != 0) {
        differ(replay, recorded, replay->record);
        return 0;
    }
    if (replay->out)
        fprintf(replay->out, "d %s\n", replay->record);
    replay->seen++;
    replay->result->decisions++;
    return 0;
}

/* Ends a step: it must not have more decisions than the recording. */
static int end_step(struct replay *replay, struct err *err)
{
    int r = decide(replay, err);
    if (r < 0)
        return r;
    if (replay->in_step && replay->seen < replay->decisions.n && encode_next(replay) > 0)
        differ(replay, "", replay->record);
    replay->in_step = false;
    return 0;
}

static int begin_step(struct replay *replay, const char *now, struct err *err)
{
    uint64_t now_ns = 0;
    int r = end_step(replay, err), wrong = number_read(now, 0, INT64_MAX, &now_ns);
    replay->now_ns = (int64_t)now_ns;
    replay->in_step = true;
    replay->stepped = false;
    replay->n = 0;
    return wrong ? err_set(err, EINVAL, "step needs a time in ns, not \"%.32s\"", now) : r;
}

static int compare_digest(struct replay *replay, const char *recorded, struct err *err)
{
    char decided[20];
    int r = decide(replay, err);
    if (r < 0)
        return r;
    snprintf(decided, sizeof(decided), "%016" PRIx64, engine_digest(replay->engine));
    if (strcmp(decided, recorded) != 0)
        differ(replay, recorded, decided);
    else
        replay->result->digests++;
    return 0;
}

static int replay_line(struct replay *replay, struct err *err)
{
    const char *rest;
    if ((rest = after(replay->line, "step")))
        return begin_step(replay, rest, err);
    if ((rest = after(replay->line, "e")) && replay->in_step && !replay->stepped)
        return keep_event(replay, rest, err);
    if ((rest = after(replay->line, "d")) && replay->in_step)
        return compare_decision(replay, rest, err);
    if ((rest = after(replay->line, "digest")) && replay->in_step)
        return compare_digest(replay, rest, err);
    if (after(replay->line, "begin") || after(replay->line, "dropped"))
        return 0;
    if (after(replay->line, "end")) {
        replay->ended = true;
        return end_step(replay, err);
    }
    return err_set(err, EINVAL, "\"%.40s\" does not belong here", replay->line);
}

static int replay_all(struct replay *replay, struct err *err)
{
    int length = next_line(replay);
    if (length <= 0 || strcmp(replay->line, "duopoly-log 1") != 0)
        return err_set(err, EINVAL, "the first line must be \"duopoly-log 1\"");
    int r = engine_load(next_dump_line, replay, &replay->engine, err);
    while (r >= 0 && !replay->ended && !replay->result->first_difference_line &&
           next_line(replay) > 0)
        r = replay_line(replay, err);
    return r;
}

int recording_replay(FILE *recording, FILE *out, struct recording_replay_result *ret_result,
                     struct err *err)
{
    return recording_replay_watched(recording, out, NULL, NULL, ret_result, err);
}

static int run(struct replay *replay, struct err *err)
{
    memset(replay->result, 0, sizeof(*replay->result));
    replay->record = malloc(RECORD_MAX);
    int r =
        replay->record ? replay_all(replay, err) : err_set(err, ENOMEM, "no memory for a record");
    if (r < 0)
        err_prefix(err, "line %" PRIu64, replay->number ? replay->number : 1);
    decisions_done(&replay->decisions);
    for (size_t i = 0; i < replay->capacity; i++)
        record_room_done(&replay->rooms[i]);
    free(replay->rooms);
    free(replay->events);
    free(replay->record);
    free(replay->line);
    return r;
}

int recording_replay_watched(FILE *recording, FILE *out, recording_replay_step *step, void *user,
                             struct recording_replay_result *ret_result, struct err *err)
{
    struct replay replay = {
        .recording = recording, .out = out, .result = ret_result, .step = step, .user = user};
    int r = run(&replay, err);
    engine_destroy(replay.engine);
    return r;
}

int recording_replay_engine(FILE *recording, struct engine **ret_engine,
                            struct recording_replay_result *ret_result, struct err *err)
{
    struct replay replay = {.recording = recording, .result = ret_result};
    int r = run(&replay, err);
    if (r < 0)
        engine_destroy(replay.engine);
    else
        *ret_engine = replay.engine;
    return r;
}
