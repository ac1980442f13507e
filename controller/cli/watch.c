#include "controller/cli/watch.h"

#include "controller/cli/away.h"
#include "controller/cli/events.h"
#include "lib/client.h"
#include "lib/now.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long the controller may hold an answer. WHY no longer: a signal is seen between two. */
#define WAIT_MS 500
#define HANG_MS (WAIT_MS + CLIENT_TIMEOUT_MS)
/* A file is synced that often. */
#define SYNC_NS UINT64_C(1000000000)

/* Where rows go. */
struct stream {
    struct client *client;
    struct event_reading reading;
    struct writer *writer;
    FILE *out;
    const char *path;   /* of a file that is synced; NULL: it is standard output */
    uint64_t synced_ns; /* CLOCK_MONOTONIC */
    bool unsynced;
};

/* ---- how it ends ---- */

static volatile sig_atomic_t asked_to_end;

static void on_signal(int number)
{
    (void)number;
    asked_to_end = 1;
}

/* WHY once: who asks a second time does not want to wait. What is ignored stays so (nohup). */
static void signals_catch(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
    struct sigaction before;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}

/* WHY it looks: where nothing happens nothing is written, and a reader that is gone is not seen.
 * Then it ends as any program does that writes to one. */
static void reader_look(const struct stream *stream)
{
    struct pollfd reader = {fileno(stream->out), 0, 0};
    if (!stream->path && poll(&reader, 1, 0) == 1 && reader.revents & POLLERR)
        raise(SIGPIPE);
}

static bool is_over(const struct stream *stream)
{
    return asked_to_end || stream->reading.rows >= stream->reading.filter.limit;
}

/* ---- rows ---- */

static int stream_sync(struct stream *stream, struct err *err)
{
    if (!stream->path || !stream->unsynced)
        return 0;
    if (fdatasync(fileno(stream->out)) < 0)
        return err_sys(err, errno, "%s", stream->path);
    stream->unsynced = false;
    stream->synced_ns = now_ns(CLOCK_MONOTONIC);
    return 0;
}

static int stream_flush(struct stream *stream, struct err *err)
{
    int r = writer_flush(stream->writer, stream->out, err);
    if (r < 0)
        return stream->path ? err_prefix(err, "%s", stream->path) : r;
    stream->unsynced = true;
    return now_ns(CLOCK_MONOTONIC) - stream->synced_ns < SYNC_NS ? 0 : stream_sync(stream, err);
}

/* ---- a controller that went away ---- */

static void pause_ms(unsigned ms)
{
    const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* Until it is reached again, or asked to end. `err`: why it was lost. */
static int stream_reopen(struct stream *stream, struct err *err)
{
    unsigned ms = AWAY_FIRST_MS;
    int r;
    event_remark_write("disconnected", err->text, 0, stream->writer);
    if ((r = stream_flush(stream, err)) < 0)
        return r;
    do {
        pause_ms(ms);
        ms = away_pause_ms(ms);
        reader_look(stream);
        r = client_reopen(stream->client, err);
    } while (r < 0 && away_may_end(r) && !asked_to_end);
    return asked_to_end ? 0 : r;
}

/* ---- the stream ---- */

static int page_pass(struct stream *stream, struct err *err)
{
    const struct event_reading before = stream->reading;
    int r = event_page_read(stream->client, &stream->reading, WAIT_MS, stream->writer, err);
    if (r < 0)
        return away_is(r) ? stream_reopen(stream, err) : r;
    bool more = stream->reading.rows != before.rows || stream->reading.lost != before.lost ||
                stream->reading.restarts != before.restarts;
    return more ? stream_flush(stream, err) : stream_sync(stream, err);
}

static int stream_pass(struct stream *stream, const struct request *request, struct err *err)
{
    int r = event_filter_parse(request, &stream->reading.filter, err);
    stream->reading.coming = !request->since;
    client_patience(stream->client, HANG_MS);
    signals_catch();
    events_begin(stream->writer);
    while (r == 0 && !is_over(stream)) {
        reader_look(stream);
        r = page_pass(stream, err);
    }
    if (r == 0)
        writer_table_end(stream->writer);
    return r;
}

int run_watch(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    struct stream stream = {.client = client, .writer = writer, .out = stdout};
    return stream_pass(&stream, request, err);
}

/* ---- into a file ---- */

int record_check(const struct request *request, struct err *err)
{
    return *request->words[0] ? events_check(request, err)
                              : err_set(err, EINVAL, "record needs the name of a new file");
}

/* So that its name is on the disk, too. */
static int folder_sync(const char *path, struct err *err)
{
    char *copy = strdup(path);
    DIR *folder = copy ? opendir(dirname(copy)) : NULL;
    int r = !folder || fsync(dirfd(folder)) < 0 ? err_sys(err, errno, "the folder of %s", path) : 0;
    if (folder)
        closedir(folder);
    free(copy);
    return r;
}

static int file_open(const char *path, FILE **ret_file, struct err *err)
{
    FILE *file = fopen(path, "wxe");
    if (!file && errno == EEXIST)
        return err_set(err, EEXIST, "%s is there already: record overwrites nothing", path);
    if (!file)
        return err_sys(err, errno, "%s", path);
    *ret_file = file;
    return folder_sync(path, err);
}

/* Its last line has what is usual behind items (docs/operate/cli.md). */
static int file_end(struct stream *stream, struct err *err)
{
    int r = writer_end(stream->writer, stream->out, err);
    if (r < 0)
        return err_prefix(err, "%s", stream->path);
    stream->unsynced = true;
    return stream_sync(stream, err);
}

static void summary_write(const struct stream *stream, struct writer *writer)
{
    writer_schema(writer, "recorded", NULL);
    writer_field(writer, "file", "file", value_text(stream->path));
    writer_field(writer, "events", "events", value_number(stream->reading.rows));
    writer_field(writer, "lost", "lost", value_number(stream->reading.lost));
    writer_field(writer, "restarts", "restarts", value_number(stream->reading.restarts));
}

static int record(struct stream *stream, const struct request *request, struct err *err)
{
    stream->writer = writer_new(&writer_form_lines);
    writer_enclose(stream->writer, "events", now_ns(CLOCK_REALTIME));
    writer_stream(stream->writer, stream->out);
    int r = stream_pass(stream, request, err);
    if (r == 0)
        return file_end(stream, err);
    writer_drop(stream->writer);
    return r;
}

int run_record(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    struct stream stream = {.client = client, .path = request->words[0]};
    int r = file_open(stream.path, &stream.out, err);
    if (r == 0)
        r = record(&stream, request, err);
    if (stream.out && fclose(stream.out) != 0 && r == 0)
        r = err_sys(err, errno, "%s", stream.path);
    if (r == 0)
        summary_write(&stream, writer);
    return r;
}
