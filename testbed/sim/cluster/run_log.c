#include "testbed/sim/cluster/run_log.h"

#include "controller/engine/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static int write_state(void *context, const char *line, size_t length)
{
    fprintf(context, "dump %.*s\n", (int)length, line);
    return 0;
}

int run_log_begin(struct run_log *log, FILE *file, const struct engine *engine, struct err *err)
{
    *log = (struct run_log){file, NULL};
    if (!file)
        return 0;
    log->record = malloc(RECORD_MAX);
    if (!log->record)
        return err_set(err, ENOMEM, "no memory for a record");
    fputs("duopoly-log 1\n", file);
    if (engine_dump(engine, write_state, file) < 0)
        return err_set(err, ENOMEM, "no memory for the engine's state");
    fputs("begin 0\n", file);
    return 0;
}

void run_log_events(struct run_log *log, int64_t now_ns, const struct event *events, size_t n)
{
    if (!log->file)
        return;
    fprintf(log->file, "step %" PRId64 "\n", now_ns);
    for (size_t i = 0; i < n; i++)
        if (record_encode_event(&events[i], log->record, RECORD_MAX) > 0)
            fprintf(log->file, "e %s\n", log->record);
}

void run_log_decisions(struct run_log *log, const struct decisions *decisions)
{
    for (size_t i = 0; log->file && i < decisions->n; i++)
        if (record_encode_decision(&decisions->at[i], log->record, RECORD_MAX) > 0)
            fprintf(log->file, "d %s\n", log->record);
}

int run_log_end(struct run_log *log, struct err *err)
{
    free(log->record);
    log->record = NULL;
    if (!log->file)
        return 0;
    fputs("end stopped\n", log->file);
    if (fflush(log->file) || ferror(log->file))
        return err_set(err, EIO, "the log could not be written whole; is the disk full?");
    return 0;
}
