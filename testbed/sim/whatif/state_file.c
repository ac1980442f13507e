#include "testbed/sim/whatif/state_file.h"

#include "testbed/sim/cluster/recording_replay.h"

#include "lib/grow.h"
#include "lib/number.h"
#include "lib/text_mark.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The longest time between the engine's last step and the state: it wants one far more often. */
#define IDLE_MAX_NS (INT64_C(1) << 53)

struct reader {
    FILE *in;
    struct state *state;
    char *line; /* the present one, without its newline */
    size_t size, allocated;
    uint64_t number;
    bool pushed_back, timed, whole;
    bool steps; /* it is a recording: they follow */
};

/* Reads a line: 1; 0: there is none, or (torn) it has no end. */
static int next_line(struct reader *reader)
{
    if (reader->pushed_back) {
        reader->pushed_back = false;
        return 1;
    }
    ssize_t length = getline(&reader->line, &reader->size, reader->in);
    if (length <= 0 || reader->line[length - 1] != '\n')
        return 0;
    reader->line[length - 1] = 0;
    if (++reader->number == 1)
        text_mark_cut(reader->line, (size_t)length);
    return 1;
}

/* What follows "WORD "; NULL: the line begins otherwise. */
static const char *after(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

static int next_dump_line(void *context, const char **ret_line)
{
    struct reader *reader = context;
    int there = next_line(reader);
    *ret_line = there ? after(reader->line, "dump") : NULL;
    reader->pushed_back = there && !*ret_line;
    return *ret_line ? (int)strlen(*ret_line) : 0;
}

static int read_now(struct reader *reader, const char *rest, struct err *err)
{
    uint64_t now_ns;
    struct engine_status status;
    engine_status(reader->state->engine, &status);
    if (number_read(rest, 0, INT64_MAX, &now_ns) < 0 || (int64_t)now_ns < status.now_ns ||
        (status.now_ns >= 0 && (int64_t)now_ns - status.now_ns > IDLE_MAX_NS))
        return err_set(err, EINVAL,
                       "now needs a time in ns after the engine's last step, not "
                       "\"%.32s\"",
                       rest);
    reader->state->at_ns = (int64_t)now_ns;
    reader->timed = true;
    return 0;
}

/* WHY only attempts that there are: so the list is bounded by the dump. */
static int read_received(struct reader *reader, const char *rest, struct err *err)
{
    struct state *state = reader->state;
    uint64_t attempt, at_ns;
    struct attempt_view view;
    const char *time = number_take(rest, UINT64_MAX, &attempt);
    if (!time || *time != ' ' || number_read(time + 1, 0, INT64_MAX, &at_ns) < 0 ||
        engine_attempt(state->engine, attempt, &view) < 0 ||
        (state->n_received && state->received[state->n_received - 1].attempt >= attempt))
        return err_set(err, EINVAL,
                       "received needs the attempts of the dump in their order and a "
                       "time in ns, not \"%.48s\"",
                       rest);
    if (!array_grow(state->received, state->n_received, reader->allocated, 64))
        return err_set(err, ENOMEM, "no memory for %zu attempts", state->n_received);
    state->received[state->n_received++] = (struct run_received){attempt, (int64_t)at_ns};
    return 0;
}

/* 1: the state is whole. */
static int read_line(struct reader *reader, struct err *err)
{
    const char *line = reader->line, *rest;
    if ((rest = after(line, "now")) && !reader->timed)
        return read_now(reader, rest, err);
    if ((rest = after(line, "received")) && reader->timed)
        return read_received(reader, rest, err);
    reader->steps = !reader->timed && after(line, "step");
    reader->whole = reader->steps || after(line, "end");
    if (reader->whole)
        return 1;
    return after(line, "begin") || after(line, "dropped")
               ? 0
               : err_set(err, EINVAL, "\"%.40s\" does not belong here", line);
}

static int read_all(struct reader *reader, struct err *err)
{
    struct engine_status status;
    if (!next_line(reader) || strcmp(reader->line, "duopoly-log 1") != 0)
        return err_set(err, EINVAL,
                       "this is no state of this version: the first line must be \"duopoly-log "
                       "1\"");
    int r = engine_load(next_dump_line, reader, &reader->state->engine, err);
    if (r < 0)
        return r;
    engine_status(reader->state->engine, &status);
    reader->state->at_ns = status.now_ns;
    while (r == 0 && next_line(reader))
        r = read_line(reader, err);
    /* A recording's last lines may be missing, and with them all that follows the dump. */
    return r == 0 && reader->timed && !reader->whole
               ? err_set(err, EINVAL,
                         "the state ends before its last line, \"end state\": it is "
                         "torn; ask for it again")
               : r;
}

/* An engine that has seen the steps knows when attempts had all their input. */
static int look_at_attempts(struct state *state, struct err *err)
{
    struct attempt_view view = {0};
    size_t allocated = 0;
    while (engine_attempt_after(state->engine, view.attempt, &view) == 0) {
        if (!view.received_ns)
            continue;
        if (!array_grow(state->received, state->n_received, allocated, 64))
            return err_set(err, ENOMEM, "no memory for %zu attempts", state->n_received);
        state->received[state->n_received++] =
            (struct run_received){view.attempt, view.received_ns};
    }
    return 0;
}

static int replay(FILE *in, struct state *state, struct err *err)
{
    struct recording_replay_result result;
    struct engine_status status;
    state_done(state);
    if (fseek(in, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "a recording cannot be read twice from here");
    int r = recording_replay_engine(in, &state->engine, &result, err);
    if (r == 0 && result.first_difference_line)
        r = err_set(err, EINVAL,
                    "line %" PRIu64 ": the engine decides otherwise than recorded: the recording "
                    "is of another version, or was changed",
                    result.first_difference_line);
    if (r < 0)
        return r;
    engine_status(state->engine, &status);
    state->at_ns = status.now_ns;
    return look_at_attempts(state, err);
}

int state_read(FILE *in, struct state *ret_state, struct err *err)
{
    struct reader reader = {.in = in, .state = ret_state};
    *ret_state = (struct state){0};
    int r = read_all(&reader, err);
    if (r < 0)
        err_prefix(err, "line %" PRIu64, reader.number ? reader.number : 1);
    free(reader.line);
    return r < 0 ? r : reader.steps ? replay(in, ret_state, err) : 0;
}

void state_done(struct state *state)
{
    engine_destroy(state->engine);
    free(state->received);
    *state = (struct state){0};
}
