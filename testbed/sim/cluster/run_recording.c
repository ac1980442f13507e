#include "testbed/sim/cluster/run_recording.h"

#include "controller/engine/base/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static int write_state(void *context, const char *line, size_t length)
{
    fprintf(context, "dump %.*s\n", (int)length, line);
    return 0;
}

int run_recording_begin(struct run_recording *recording, FILE *file, const struct engine *engine,
                        struct err *err)
{
    *recording = (struct run_recording){file, NULL};
    if (!file)
        return 0;
    recording->record = malloc(RECORD_MAX);
    if (!recording->record)
        return err_set(err, ENOMEM, "no memory for a record");
    fputs("duopoly-log 1\n", file);
    if (engine_dump(engine, write_state, file) < 0)
        return err_set(err, ENOMEM, "no memory for the engine's state");
    fputs("begin 0\n", file);
    return 0;
}

void run_recording_events(struct run_recording *recording, int64_t now_ns,
                          const struct event *events, size_t n)
{
    if (!recording->file)
        return;
    fprintf(recording->file, "step %" PRId64 "\n", now_ns);
    for (size_t i = 0; i < n; i++)
        if (record_encode_event(&events[i], recording->record, RECORD_MAX) > 0)
            fprintf(recording->file, "e %s\n", recording->record);
}

void run_recording_decisions(struct run_recording *recording, const struct decisions *decisions)
{
    for (size_t i = 0; recording->file && i < decisions->n; i++)
        if (record_encode_decision(&decisions->at[i], recording->record, RECORD_MAX) > 0)
            fprintf(recording->file, "d %s\n", recording->record);
}

int run_recording_end(struct run_recording *recording, struct err *err)
{
    free(recording->record);
    recording->record = NULL;
    if (!recording->file)
        return 0;
    fputs("end stopped\n", recording->file);
    if (fflush(recording->file) || ferror(recording->file))
        return err_set(err, EIO, "the recording could not be written whole; is the disk full?");
    return 0;
}
