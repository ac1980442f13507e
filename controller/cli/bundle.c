#include "controller/cli/bundle.h"

#include "controller/cli/bundle_parts.h"
#include "controller/cli/exits.h"
#include "lib/join.h"
#include "lib/printable.h"
#include "lib/program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- parts ---- */

static void row_write(struct bundle *bundle, const char *name, uint64_t bytes, const char *note)
{
    writer_cell(bundle->writer, value_text(name));
    writer_cell(bundle->writer, value_bytes(bytes));
    writer_cell(bundle->writer, *note ? value_text(note) : value_absent());
    fprintf(bundle->index, "%-26s %11" PRIu64 "%s", name, bytes, *note ? "  " : "");
    printable_put(note, bundle->index);
    fputc('\n', bundle->index);
}

void bundle_lack(struct bundle *bundle, const char *name, uint64_t bytes, const char *why)
{
    if (strlen(bundle->lacks) + strlen(name) + 3 > sizeof(bundle->lacks))
        bundle->more++;
    else
        join_word(bundle->lacks, sizeof(bundle->lacks), ", ", name);
    row_write(bundle, name, bytes, why);
}

int bundle_add(struct bundle *bundle, const char *name, const char *bytes, size_t n,
               const char *note, struct err *err)
{
    char path[TAR_NAME_MAX + 1];
    if (n > tar_room(bundle->tar)) {
        bundle_lack(bundle, name, 0, "left out: the bundle would be too long");
        return 0;
    }
    snprintf(path, sizeof(path), BUNDLE_FOLDER "%s", name);
    int r = tar_add(bundle->tar, path, bytes, n, err);
    if (r == 0 && *note)
        bundle_lack(bundle, name, n, note);
    else if (r == 0)
        row_write(bundle, name, n, "");
    return r;
}

int bundle_add_file(struct bundle *bundle, const char *name, int fd, uint64_t most, struct err *err)
{
    char path[TAR_NAME_MAX + 1];
    uint64_t bytes = 0;
    bool cut = false;
    snprintf(path, sizeof(path), BUNDLE_FOLDER "%s", name);
    int r = tar_add_file(bundle->tar, path, fd, most, &bytes, &cut, err);
    if (r == 0 && cut)
        bundle_lack(bundle, name, bytes, "its beginning: the rest is too long, or not readable");
    else if (r == 0)
        row_write(bundle, name, bytes, "");
    return r;
}

/* WHY as if it were written: whoever writes has more to say, and what came before is kept. */
static ssize_t sink_write(void *cookie, const char *bytes, size_t n)
{
    struct bundle_sink *sink = cookie;
    size_t room = BUNDLE_AT_ONCE - sink->used, taken = n < room ? n : room;
    memcpy(sink->bytes + sink->used, bytes, taken);
    sink->used += taken;
    sink->cut |= taken < n;
    return (ssize_t)n;
}

FILE *bundle_sink_open(struct bundle *bundle, struct bundle_sink *ret_sink)
{
    *ret_sink = (struct bundle_sink){.bytes = bundle->bytes};
    return fopencookie(ret_sink, "w", (cookie_io_functions_t){.write = sink_write});
}

/* ---- the whole ---- */

static void readme_begin(FILE *readme, const struct request *request)
{
    char when[32];
    const time_t now = time(NULL);
    struct tm utc;
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    fprintf(readme, "duopolyctl " DUOPOLY_VERSION " made this support bundle at %s, of ", when);
    printable_put(request->controller ? request->controller : "this machine's controller", readme);
    fputs(".\n\n"
          "It has no key, no token and nothing of the controller's store. It has names of hosts,\n"
          "users and jobs, commands and addresses: look before you give it away.\n\n"
          "answers/NAME.txt   what `duopolyctl NAME` prints, with all columns\n"
          "answers/NAME.json  the same for programs\n"
          "duopoly.log        the newest recording: duopoly-sim replay FILE\n"
          "duopolyd.yaml      the controller's configuration\n"
          "log                the end of the controller's log\n"
          "machine/           what the kernel tells of this machine\n"
          "versions           of duopolyctl and the kernel\n\n"
          "What has a note is missing, or not whole.\n\n",
          readme);
    fprintf(readme, "%-26s %11s  NOTE\n", "PART", "BYTES");
}

static int readme_add(struct bundle *bundle, char **text, size_t *size, struct err *err)
{
    if (fclose(bundle->index) != 0)
        return err_sys(err, ENOMEM, "the bundle's README");
    return tar_add(bundle->tar, BUNDLE_FOLDER "README", *text, *size, err);
}

static int parts_add(struct bundle *bundle, const struct request *request, struct err *err)
{
    static const struct column columns[] = {
        {"part", "PART"}, {"bytes", "SIZE"}, {"text", "NOTE"}, {NULL, NULL}};
    char *text = NULL;
    size_t size = 0;
    if (!(bundle->index = open_memstream(&text, &size)))
        return err_sys(err, ENOMEM, "the bundle's README");
    readme_begin(bundle->index, request);
    writer_table(bundle->writer, "parts", columns);
    int r = bundle_machine(bundle, err);
    if (r == 0)
        r = bundle_answers(bundle, err);
    writer_table_end(bundle->writer);
    if (r == 0)
        r = readme_add(bundle, &text, &size, err);
    else
        fclose(bundle->index);
    free(text);
    return r;
}

static int bundle_write(struct bundle *bundle, const struct request *request, struct err *err)
{
    int r = tar_create(request->words[0], BUNDLE_MOST, &bundle->tar, err);
    if (r < 0)
        return r;
    writer_schema(bundle->writer, "bundle", NULL);
    writer_field(bundle->writer, "file", "file", value_text(request->words[0]));
    r = parts_add(bundle, request, err);
    int closed = tar_close(bundle->tar, r == 0, err);
    return r < 0 ? r : closed;
}

int bundle_check(const struct request *request, struct err *err)
{
    return *request->words[0] ? 0 : err_set(err, EINVAL, "support-bundle needs a FILE");
}

int run_bundle(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    struct bundle bundle = {.client = client,
                            .remote = request->controller != NULL,
                            .writer = writer,
                            .bytes = malloc(BUNDLE_AT_ONCE)};
    if (!bundle.bytes)
        return err_sys(err, ENOMEM, "the bundle");
    if (!client)
        snprintf(bundle.mute, sizeof(bundle.mute), "%s", request->unreached);
    int r = bundle_write(&bundle, request, err);
    free(bundle.bytes);
    if (r < 0 || !*bundle.lacks)
        return r;
    char more[48] = "";
    if (bundle.more)
        snprintf(more, sizeof(more), ", and %u more, which its README names", bundle.more);
    err_set(err, ENODATA, "%s is written; it lacks, in part or as a whole: %s%s", request->words[0],
            bundle.lacks, more);
    return EXIT_PARTIAL;
}
