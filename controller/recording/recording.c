#include "controller/recording/recording.h"

#include "controller/engine/base/record.h"
#include "controller/recording/recording_dump.h"
#include "controller/recording/recording_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

enum { RING = 16 << 20, OVERLONG = 8, OVERLONG_MIN = 16 << 20, RETRY_MAX_S = 60 };

enum told { NOTHING, TO_TELL, TOLD };

struct recording {
    char folder[256];
    uint64_t max_bytes;
    struct recording_ring ring;
    struct recording_dump dump;
    struct recording_writer *writer;
    /* The file that is written: its state's size, and the ring's position at its first step. */
    uint64_t state_bytes, begin;
    bool ordered;             /* the next one is: */
    uint64_t ordered_begin;   /* from this position on, */
    uint64_t ordered_missing; /* the number of steps missing before it */
    bool gap;                 /* steps are dropped now */
    int gap_error;            /* why */
    uint64_t missing;         /* how many the files report */
    enum told told;           /* that steps are dropped */
    int64_t retry_ns, retry_after_ns;
    struct recording_counters counters; /* `dropped` only by the loop */
    char record[RECORD_MAX + 4];
};

static void drop_from_here(struct recording *recording, int error)
{
    if (recording->gap && recording->told != NOTHING)
        return;
    recording->gap = true;
    recording->gap_error = error;
    if (recording->told == NOTHING)
        recording->told = TO_TELL;
}

/* A record of `length` bytes begins at the third byte. */
static void put_record(struct recording *recording, char kind, int length)
{
    if (length < 0) {
        recording->ring.overflowed = true;
        return;
    }
    recording->record[0] = kind;
    recording->record[1] = ' ';
    recording->record[2 + length] = '\n';
    recording_ring_put(&recording->ring, recording->record, (size_t)length + 3);
}

void recording_step(struct recording *recording, int64_t now_ns, const struct event *events,
                    size_t n, const struct decisions *decisions)
{
    struct recording_ring *ring = &recording->ring;
    char *record = recording->record + 2;
    uint64_t begin = ring->end;
    if (decisions->idle) {
        recording->counters.idle++;
        return;
    }
    if (recording->gap) {
        recording->counters.dropped++;
        return;
    }
    int length = sprintf(recording->record, "step %" PRId64 "\n", now_ns);
    recording_ring_put(ring, recording->record, (size_t)length);
    for (size_t i = 0; i < n; i++)
        put_record(recording, 'e', record_encode_event(&events[i], record, RECORD_MAX));
    for (size_t i = 0; i < decisions->n; i++)
        put_record(recording, 'd', record_encode_decision(&decisions->at[i], record, RECORD_MAX));
    if (recording_ring_publish(ring) < 0) {
        recording->counters.dropped++;
        drop_from_here(recording, ENOBUFS);
        return;
    }
    recording->counters.steps++;
    recording->counters.bytes += ring->end - begin;
}

static int64_t now_ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

static uint64_t dropped(const struct recording *recording)
{
    return recording->counters.dropped + recording_writer_dropped(recording->writer);
}

static void retry_later(struct recording *recording)
{
    int64_t after_ns = recording->retry_after_ns ? 2 * recording->retry_after_ns : SECOND;
    recording->retry_after_ns = after_ns < RETRY_MAX_S * SECOND ? after_ns : RETRY_MAX_S * SECOND;
    recording->retry_ns = now_ns_of(CLOCK_MONOTONIC) + recording->retry_after_ns;
}

static void file_order(struct recording *recording)
{
    recording->ordered_missing = dropped(recording);
    /* WHY each time: a full disk may have had no space for it. */
    if (mkdir(recording->folder, 0755) < 0 && errno != EEXIST) {
        recording->gap_error = errno;
        retry_later(recording);
        return;
    }
    pid_t dump = recording_dump_fork(&recording->dump, recording_writer_next(recording->writer),
                                     recording->ordered_missing - recording->missing);
    if (dump < 0) {
        recording->gap_error = (int)-dump;
        retry_later(recording);
        return;
    }
    recording->ordered = true;
    recording->ordered_begin = recording->ring.end;
    recording_writer_order(recording->writer, dump, recording->gap);
    recording->gap = false;
}

static int file_ordered(struct recording *recording, bool wait)
{
    struct recording_result result;
    if (!recording->ordered || !recording_writer_result(recording->writer, wait, &result))
        return 0;
    recording->ordered = false;
    if (result.error < 0) {
        retry_later(recording);
        return result.error;
    }
    recording->begin = recording->ordered_begin;
    recording->missing = recording->ordered_missing;
    recording->state_bytes = result.dump_bytes;
    recording->retry_ns = recording->retry_after_ns = 0;
    recording->counters.files++;
    return 0;
}

/* The number of dropped steps is known when the writer has nothing left to drop. */
static bool file_due(const struct recording *recording, uint64_t length, uint64_t enough)
{
    if (recording->ordered || (!recording->gap && length < enough))
        return false;
    if (recording->retry_ns && now_ns_of(CLOCK_MONOTONIC) < recording->retry_ns)
        return false;
    return !recording_writer_failure(recording->writer) ||
           !recording_ring_waiting(&recording->ring);
}

static int tell(struct recording *recording, struct err *err)
{
    if (recording->told == TO_TELL) {
        recording->told = TOLD;
        return err_sys(err, recording->gap_error,
                       "the recording in %s cannot be written: steps are left out and counted "
                       "until a new file can be begun",
                       recording->folder);
    }
    if (recording->told == TOLD && !recording->gap && !recording->ordered) {
        recording->told = NOTHING;
        err_set(err, EAGAIN,
                "the recording in %s goes on in a new file; %" PRIu64
                " step%s missing since the start",
                recording->folder, dropped(recording), dropped(recording) == 1 ? " is" : "s are");
        return 1;
    }
    return 0;
}

int recording_flush(struct recording *recording, struct err *err)
{
    bool slow = false;
    file_ordered(recording, false);
    uint64_t length = recording->ring.end - recording->begin, enough = recording->max_bytes;
    if (enough < recording->state_bytes)
        enough = recording->state_bytes;
    int failure = recording->ordered ? 0 : recording_writer_failure(recording->writer);
    if (failure || (length >= OVERLONG * enough && length >= OVERLONG_MIN))
        drop_from_here(recording, failure ? failure : EFBIG);
    if (file_due(recording, length, enough) && recording_pages_ready(&recording->dump.pages)) {
        file_order(recording);
        slow = recording->ordered;
    }
    recording_writer_wake(recording->writer);
    int r = tell(recording, err);
    return r == 0 && slow && recording_dump_was_slow(&recording->dump, err) ? 1 : r;
}

/* Disk errors, which may pass; all others need the operator. */
static bool is_disks(int error)
{
    return error == -ENOSPC || error == -EDQUOT || error == -EFBIG || error == -EROFS ||
           error == -EIO;
}

static int begin(struct recording *recording, uint32_t files, const struct engine *engine,
                 struct err *err)
{
    const char *folder = recording->folder;
    /* A parent may have set it to ignored, and then a dump's child could not be waited for. */
    signal(SIGCHLD, SIG_DFL);
    int r = recording_ring_init(&recording->ring, RING);
    if (r == 0)
        r = recording_dump_init(&recording->dump, engine);
    if (r < 0)
        return err_sys(err, -r, "no recording can be begun in %s", folder);
    r = recording_writer_open(folder, files, &recording->ring, &recording->writer, err);
    if (r < 0)
        return r;
    recording->gap = true;
    file_order(recording);
    r = recording->ordered ? file_ordered(recording, true) : -recording->gap_error;
    if (r < 0 && !is_disks(r))
        return err_sys(err, -r, "no recording can be begun in %s", folder);
    if (r < 0)
        drop_from_here(recording, -r);
    return 0;
}

int recording_open(const char *folder, uint64_t max_bytes, uint32_t files,
                   const struct engine *engine, struct recording **ret_recording, struct err *err)
{
    struct recording *recording = calloc(1, sizeof(*recording));
    if (!recording)
        return err_sys(err, ENOMEM, "%s", folder);
    snprintf(recording->folder, sizeof(recording->folder), "%s", folder);
    recording->max_bytes = max_bytes;
    int r = begin(recording, files, engine, err);
    if (r < 0) {
        recording_close(recording);
        return r;
    }
    *ret_recording = recording;
    return 0;
}

void recording_bound(struct recording *recording, uint64_t max_bytes)
{
    recording->max_bytes = max_bytes;
}

void recording_counters(const struct recording *recording, struct recording_counters *ret_counters)
{
    *ret_counters = recording->counters;
    ret_counters->dropped = dropped(recording);
}

void recording_close(struct recording *recording)
{
    if (!recording)
        return;
    recording_writer_close(recording->writer, recording->gap);
    recording_dump_done(&recording->dump);
    recording_ring_done(&recording->ring);
    free(recording);
}
