#include "controller/recording.h"

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

struct recording {
    char folder[PATH_MAX];
    uint64_t max_bytes, file_bytes;
    uint32_t files;
    const struct engine *engine;
    FILE *out;
    int failed; /* the first −errno */
    struct recording_counters counters;
    char record[RECORD_MAX];
};

/* ---- lines ------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void line_write(struct recording *recording,
                                                             const char *format, ...)
{
    va_list ap;
    if (recording->failed)
        return;
    va_start(ap, format);
    int n = vfprintf(recording->out, format, ap);
    va_end(ap);
    if (n < 0) {
        recording->failed = errno ? -errno : -EIO;
        return;
    }
    recording->file_bytes += (uint64_t)n;
    recording->counters.bytes += (uint64_t)n;
}

static int dump_line(void *context, const char *line, size_t length)
{
    struct recording *recording = context;
    line_write(recording, "dump %.*s\n", (int)length, line);
    return recording->failed;
}

void recording_events(struct recording *recording, int64_t now_ns, const struct event *events,
                      size_t n)
{
    line_write(recording, "step %" PRId64 "\n", now_ns);
    for (size_t i = 0; i < n && !recording->failed; i++) {
        if (record_encode_event(&events[i], recording->record, sizeof(recording->record)) < 0)
            recording->failed = -EOVERFLOW;
        else
            line_write(recording, "e %s\n", recording->record);
    }
    recording->counters.steps++;
}

void recording_decisions(struct recording *recording, const struct decisions *decisions)
{
    for (size_t i = 0; i < decisions->n && !recording->failed; i++) {
        if (record_encode_decision(&decisions->at[i], recording->record,
                                   sizeof(recording->record)) < 0)
            recording->failed = -EOVERFLOW;
        else
            line_write(recording, "d %s\n", recording->record);
    }
}

/* ---- files ------------------------------------------------------------------------------ */

/* Name of file i, 0 the one that is written. */
static void file_name(const struct recording *recording, uint32_t i, char *ret_path)
{
    if (i)
        snprintf(ret_path, PATH_MAX + 32, "%s/duopoly.log.%" PRIu32, recording->folder, i);
    else
        snprintf(ret_path, PATH_MAX + 32, "%s/duopoly.log", recording->folder);
}

static int files_shift(const struct recording *recording)
{
    char from[PATH_MAX + 32], to[PATH_MAX + 32];
    for (uint32_t i = recording->files - 1; i > 0; i--) {
        file_name(recording, i - 1, from);
        file_name(recording, i, to);
        if (rename(from, to) < 0 && errno != ENOENT)
            return -errno;
    }
    file_name(recording, 0, from);
    return unlink(from) < 0 && errno != ENOENT ? -errno : 0;
}

static int file_begin(struct recording *recording)
{
    char path[PATH_MAX + 32];
    struct timespec wall;
    int r = files_shift(recording);
    if (r < 0)
        return r;
    file_name(recording, 0, path);
    recording->out = fopen(path, "we");
    if (!recording->out)
        return -errno;
    recording->file_bytes = 0;
    recording->counters.files++;
    line_write(recording, "duopoly-log 1\n");
    r = engine_dump(recording->engine, dump_line, recording);
    clock_gettime(CLOCK_REALTIME, &wall);
    line_write(recording, "begin %" PRId64 "\n", (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec);
    return r < 0 ? r : recording->failed;
}

static void file_end(struct recording *recording, const char *reason)
{
    if (!recording->out)
        return;
    line_write(recording, "end %s\n", reason);
    if (fclose(recording->out) != 0 && !recording->failed)
        recording->failed = -errno;
    recording->out = NULL;
}

int recording_flush(struct recording *recording, struct err *err)
{
    if (recording->counters.stopped)
        return 0;
    if (!recording->failed && fflush(recording->out) != 0)
        recording->failed = -errno;
    if (!recording->failed && recording->file_bytes >= recording->max_bytes) {
        file_end(recording, "rotated");
        if (!recording->failed)
            recording->failed = file_begin(recording);
    }
    if (!recording->failed)
        return 0;
    recording->counters.stopped = true;
    return err_sys(err, -recording->failed, "the log in %s cannot be written and ends here",
                   recording->folder);
}

int recording_open(const char *folder, uint64_t max_bytes, uint32_t files,
                   const struct engine *engine, struct recording **ret_recording, struct err *err)
{
    struct recording *recording = calloc(1, sizeof(*recording));
    if (!recording)
        return err_sys(err, ENOMEM, "%s", folder);
    snprintf(recording->folder, sizeof(recording->folder), "%s", folder);
    recording->max_bytes = max_bytes;
    recording->files = files;
    recording->engine = engine;
    int r = mkdir(folder, 0755) < 0 && errno != EEXIST ? -errno : file_begin(recording);
    if (r < 0) {
        recording->failed = r;
        recording_close(recording);
        return err_sys(err, -r, "no log can be begun in %s", folder);
    }
    *ret_recording = recording;
    return 0;
}

const struct recording_counters *recording_counters(const struct recording *recording)
{
    return &recording->counters;
}

void recording_close(struct recording *recording)
{
    if (!recording)
        return;
    file_end(recording, "stopped");
    free(recording);
}
