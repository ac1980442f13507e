#include "controller/transcript.h"

#include "controller/engine/record.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct transcript {
    char folder[PATH_MAX];
    uint64_t max_bytes, file_bytes;
    uint32_t files;
    const struct engine *engine;
    FILE *out;
    int failed; /* the first −errno */
    struct transcript_counters counters;
    char record[RECORD_MAX];
};

/* ---- lines ------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void line_write(struct transcript *transcript,
                                                             const char *format, ...)
{
    va_list ap;
    if (transcript->failed)
        return;
    va_start(ap, format);
    int n = vfprintf(transcript->out, format, ap);
    va_end(ap);
    if (n < 0) {
        transcript->failed = errno ? -errno : -EIO;
        return;
    }
    transcript->file_bytes += (uint64_t)n;
    transcript->counters.bytes += (uint64_t)n;
}

static int dump_line(void *context, const char *line, size_t length)
{
    struct transcript *transcript = context;
    line_write(transcript, "dump %.*s\n", (int)length, line);
    return transcript->failed;
}

void transcript_events(struct transcript *transcript, int64_t now_ns, const struct event *events,
                       size_t n)
{
    line_write(transcript, "step %" PRId64 "\n", now_ns);
    for (size_t i = 0; i < n && !transcript->failed; i++) {
        if (record_encode_event(&events[i], transcript->record, sizeof(transcript->record)) < 0)
            transcript->failed = -EOVERFLOW;
        else
            line_write(transcript, "e %s\n", transcript->record);
    }
    transcript->counters.steps++;
}

void transcript_decisions(struct transcript *transcript, const struct decisions *decisions)
{
    for (size_t i = 0; i < decisions->n && !transcript->failed; i++) {
        if (record_encode_decision(&decisions->at[i], transcript->record,
                                   sizeof(transcript->record)) < 0)
            transcript->failed = -EOVERFLOW;
        else
            line_write(transcript, "d %s\n", transcript->record);
    }
}

/* ---- files ------------------------------------------------------------------------------ */

/* Name of file i, 0 the one that is written. */
static void file_name(const struct transcript *transcript, uint32_t i, char *ret_path)
{
    if (i)
        snprintf(ret_path, PATH_MAX + 32, "%s/duopoly.log.%" PRIu32, transcript->folder, i);
    else
        snprintf(ret_path, PATH_MAX + 32, "%s/duopoly.log", transcript->folder);
}

static int files_shift(const struct transcript *transcript)
{
    char from[PATH_MAX + 32], to[PATH_MAX + 32];
    for (uint32_t i = transcript->files - 1; i > 0; i--) {
        file_name(transcript, i - 1, from);
        file_name(transcript, i, to);
        if (rename(from, to) < 0 && errno != ENOENT)
            return -errno;
    }
    file_name(transcript, 0, from);
    return unlink(from) < 0 && errno != ENOENT ? -errno : 0;
}

static int file_begin(struct transcript *transcript)
{
    char path[PATH_MAX + 32];
    struct timespec wall;
    int r = files_shift(transcript);
    if (r < 0)
        return r;
    file_name(transcript, 0, path);
    transcript->out = fopen(path, "we");
    if (!transcript->out)
        return -errno;
    transcript->file_bytes = 0;
    transcript->counters.files++;
    line_write(transcript, "duopoly-log 1\n");
    r = engine_dump(transcript->engine, dump_line, transcript);
    clock_gettime(CLOCK_REALTIME, &wall);
    line_write(transcript, "begin %" PRId64 "\n", (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec);
    return r < 0 ? r : transcript->failed;
}

static void file_end(struct transcript *transcript, const char *reason)
{
    if (!transcript->out)
        return;
    line_write(transcript, "end %s\n", reason);
    if (fclose(transcript->out) != 0 && !transcript->failed)
        transcript->failed = -errno;
    transcript->out = NULL;
}

int transcript_flush(struct transcript *transcript, struct err *err)
{
    if (transcript->counters.stopped)
        return 0;
    if (!transcript->failed && fflush(transcript->out) != 0)
        transcript->failed = -errno;
    if (!transcript->failed && transcript->file_bytes >= transcript->max_bytes) {
        file_end(transcript, "rotated");
        if (!transcript->failed)
            transcript->failed = file_begin(transcript);
    }
    if (!transcript->failed)
        return 0;
    transcript->counters.stopped = true;
    return err_sys(err, -transcript->failed, "the log in %s cannot be written and ends here",
                   transcript->folder);
}

int transcript_open(const char *folder, uint64_t max_bytes, uint32_t files,
                    const struct engine *engine, struct transcript **ret_transcript,
                    struct err *err)
{
    struct transcript *transcript = calloc(1, sizeof(*transcript));
    if (!transcript)
        return err_sys(err, ENOMEM, "%s", folder);
    snprintf(transcript->folder, sizeof(transcript->folder), "%s", folder);
    transcript->max_bytes = max_bytes;
    transcript->files = files;
    transcript->engine = engine;
    int r = mkdir(folder, 0755) < 0 && errno != EEXIST ? -errno : file_begin(transcript);
    if (r < 0) {
        transcript->failed = r;
        transcript_close(transcript);
        return err_sys(err, -r, "no log can be begun in %s", folder);
    }
    *ret_transcript = transcript;
    return 0;
}

const struct transcript_counters *transcript_counters(const struct transcript *transcript)
{
    return &transcript->counters;
}

void transcript_close(struct transcript *transcript)
{
    if (!transcript)
        return;
    file_end(transcript, "stopped");
    free(transcript);
}
