#include "controller/cli/whatif.h"

#include "controller/cli/beside.h"
#include "controller/cli/explain.h"
#include "lib/join.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* As the simulator ends where what was named is not there. */
enum { SIM_NOT_FOUND = 5 };

enum { BUSY_MS = 2000, PAUSE_MS = 50 };

#define SIM   "duopoly-sim"
#define STATE "/dev/stdin" /* which it can read twice */
#define FAULT SIM " whatif: "

static const struct change {
    const char *word, *what, *option;
} changes[] = {
    {"policy", "NAME", "--policy"},
    {"host-down", "HOST", "--host-down"},
    {"job", "FILE", "--job"},
    {NULL, NULL, NULL},
};

static const struct change *change_find(const char *word)
{
    for (const struct change *change = changes; change->word; change++)
        if (strcmp(change->word, word) == 0)
            return change;
    return NULL;
}

int whatif_check(const struct request *request, struct err *err)
{
    const char *word = request->words[0], *value = request->words[1];
    char known[96] = "";
    if (!change_find(word)) {
        for (const struct change *change = changes; change->word; change++) {
            join_word(known, sizeof(known), ", ", change->word);
            join_word(known, sizeof(known), " ", change->what);
        }
        return err_set(err, EINVAL, "whatif takes one of: %s; not '%s'", known, word);
    }
    if (strcmp(word, "host-down") == 0 && !wire_name_valid(value))
        return err_set(err, EINVAL, "'%s' cannot be a host's name", value);
    return 0;
}

/* ---- the state ---- */

static int page_take(const duopoly_StatePage *page, uint64_t *taken, FILE *state, struct err *err)
{
    *taken += page->part.size;
    if (!page->part.size && !page->last)
        return err_set(err, EPROTO, "the controller told nothing of its state where more was due");
    if (*taken > WHATIF_STATE_MOST)
        return err_set(err, E2BIG, "the state has more than %" PRIu64 " bytes: it is not taken",
                       WHATIF_STATE_MOST);
    if (fwrite(page->part.bytes, 1, page->part.size, state) != page->part.size ||
        (page->last && fflush(state) != 0))
        return err_sys(err, errno, "a file in memory");
    return 0;
}

static int state_ask(struct client *client, uint64_t from, const duopoly_StatePage **ret_page,
                     struct err *err)
{
    const duopoly_Envelope *answer;
    client_request(client, duopoly_Envelope_get_state_tag)->body.get_state.from = from;
    int r = client_call(client, duopoly_Envelope_state_page_tag, &answer, err);
    if (r == -EREMOTEIO && client_refusal(client) == duopoly_Reason_REASON_UNSUPPORTED)
        return err_set(err, EOPNOTSUPP, "this controller is older and does not tell its state");
    if (r == 0)
        *ret_page = &answer->body.state_page;
    return r;
}

/* WHY again and again: where others just asked, the controller tells a state some milliseconds
 * later. */
static int state_begin(struct client *client, const duopoly_StatePage **ret_page, struct err *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    int r = state_ask(client, 0, ret_page, err);
    for (int ms = 0;
         ms < BUSY_MS && r == -EREMOTEIO && client_refusal(client) == duopoly_Reason_REASON_LIMIT;
         ms += PAUSE_MS) {
        nanosleep(&pause, NULL);
        r = state_ask(client, 0, ret_page, err);
    }
    return r;
}

static int state_fetch(struct client *client, FILE *state, struct err *err)
{
    const duopoly_StatePage *page = NULL;
    uint64_t taken = 0;
    int r = state_begin(client, &page, err);
    while (r == 0) {
        r = page_take(page, &taken, state, err);
        if (r < 0 || page->last)
            break;
        r = state_ask(client, taken, &page, err);
    }
    return r;
}

/* ---- the answer ---- */

static struct value text_at(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? value_text(text) : value_absent();
}

static struct value number_at(json_t *object, const char *key)
{
    return value_signed(json_integer_value(json_object_get(object, key)));
}

static int64_t ns_of(double seconds)
{
    return llround(seconds * 1e9);
}

/* Seconds; null: there is no such time. */
static struct value duration_at(json_t *object, const char *key)
{
    json_t *at = json_object_get(object, key);
    return json_is_number(at) ? value_duration(ns_of(json_number_value(at))) : value_absent();
}

static const struct column start_columns[] = {
    {"job", "JOB"},
    {"stage", "STAGE"},
    {"task", "TASK"},
    {"host", "HOST AS IT IS"},
    {"starts_ns", "STARTS AFTER"},
    {"changed_host", "HOST CHANGED"},
    {"changed_starts_ns", "STARTS AFTER"},
    {NULL, NULL},
};

static void start_write(json_t *row, struct writer *writer)
{
    struct subject task = {0};
    const char *words = json_string_value(json_object_get(row, "task"));
    if (words)
        subject_parse(words, &task, NULL);
    writer_cell(writer, value_id(task.job));
    writer_cell(writer, value_id(task.stage));
    writer_cell(writer, value_id(task.task));
    for (int changed = 0; changed < 2; changed++) {
        json_t *start = json_object_get(row, changed ? "changed" : "as_it_is");
        writer_cell(writer, text_at(start, "host"));
        writer_cell(writer, duration_at(start, "after_s"));
    }
}

static const struct column job_columns[] = {
    {"job", "JOB"},
    {"jct_ns", "JCT AS IT IS"},
    {"changed_jct_ns", "JCT CHANGED"},
    {"later_ns", "LATER BY"},
    {"name", "NAME"},
    {"new", "NEW"},
    {"end", NULL},
    {"left_ns", NULL},
    {"changed_end", NULL},
    {"changed_left_ns", NULL},
    {NULL, NULL},
};

static struct value later(json_t *before, json_t *after)
{
    before = json_object_get(before, "jct_s");
    after = json_object_get(after, "jct_s");
    return json_is_number(before) && json_is_number(after)
               ? value_duration(ns_of(json_number_value(after) - json_number_value(before)))
               : value_absent();
}

static void job_write(json_t *row, struct writer *writer)
{
    json_t *before = json_object_get(row, "as_it_is"), *after = json_object_get(row, "changed");
    const char *number = json_string_value(json_object_get(row, "job"));
    writer_cell(writer, value_id(number ? strtoull(number, NULL, 10) : 0));
    writer_cell(writer, duration_at(before, "jct_s"));
    writer_cell(writer, duration_at(after, "jct_s"));
    writer_cell(writer, later(before, after));
    writer_cell(writer, text_at(row, "name"));
    writer_cell(writer, value_bool(json_is_true(json_object_get(row, "new"))));
    writer_cell(writer, text_at(before, "end"));
    writer_cell(writer, duration_at(before, "ends_in_s"));
    writer_cell(writer, text_at(after, "end"));
    writer_cell(writer, duration_at(after, "ends_in_s"));
}

static const struct column assumed_columns[] = {
    {"count", "COUNT"}, {"text", "ASSUMED"}, {NULL, NULL}};

static void assumed_write(json_t *row, struct writer *writer)
{
    writer_cell(writer, number_at(row, "n"));
    writer_cell(writer, text_at(row, "what"));
}

enum { COLUMNS = sizeof(job_columns) / sizeof(job_columns[0]) /* of the widest */ };

/* People see none that has no rows. */
static void table_write(json_t *rows, const char *key, const struct column *columns,
                        void (*row_write)(json_t *row, struct writer *writer),
                        struct writer *writer)
{
    struct column quiet[COLUMNS] = {{NULL, NULL}};
    for (size_t i = 0; columns[i].key; i++)
        quiet[i].key = columns[i].key;
    writer_table(writer, key, json_array_size(rows) ? columns : quiet);
    for (size_t i = 0; i < json_array_size(rows); i++)
        row_write(json_array_get(rows, i), writer);
    writer_table_end(writer);
}

/* Shown to people where there are any. */
static void rare_write(json_t *sums, const char *of, const char *key, const char *heading,
                       struct writer *writer)
{
    struct value count = number_at(sums, of);
    writer_field(writer, key, count.signed_number ? heading : NULL, count);
}

static void sums_write(json_t *sums, struct writer *writer)
{
    writer_field(writer, "ended_jobs", "jobs that end in both", number_at(sums, "jobs"));
    writer_field(writer, "mean_jct_ns", "mean JCT as it is",
                 duration_at(sums, "mean_jct_as_it_is_s"));
    writer_field(writer, "changed_mean_jct_ns", "mean JCT changed",
                 duration_at(sums, "mean_jct_changed_s"));
    writer_field(writer, "earlier_jobs", "jobs that end earlier", number_at(sums, "gain"));
    writer_field(writer, "later_jobs", "jobs that end later", number_at(sums, "lose"));
    writer_field(writer, "same_jobs", "at the same time", number_at(sums, "same"));
    rare_write(sums, "failed_as_it_is", "failed_jobs", "jobs that fail as it is", writer);
    rare_write(sums, "failed_changed", "changed_failed_jobs", "jobs that fail changed", writer);
    rare_write(sums, "never_as_it_is", "endless_jobs", "jobs that never end as it is", writer);
    rare_write(sums, "never_changed", "changed_endless_jobs", "jobs that never end changed",
               writer);
}

static void answer_write(json_t *answer, struct writer *writer)
{
    json_t *compared = json_object_get(answer, "all_starts_compared");
    writer_schema(writer, "whatif", NULL);
    writer_field(writer, "what_if", "what if", text_at(answer, "what_if"));
    writer_field(writer, "hosts_up", "hosts up", number_at(answer, "hosts_up"));
    writer_field(writer, "slots", "slots", number_at(answer, "slots"));
    writer_field(writer, "attempts", "tasks running", number_at(answer, "running_tasks"));
    sums_write(json_object_get(answer, "sum"), writer);
    writer_field(writer, "otherwise", "next starts decided otherwise",
                 number_at(answer, "decided_otherwise"));
    writer_field(writer, "all_compared", json_is_true(compared) ? NULL : "all starts compared",
                 value_bool(json_is_true(compared)));
    writer_field(writer, "assumes", "assumed", text_at(answer, "always"));
    table_write(json_object_get(answer, "first"), "starts", start_columns, start_write, writer);
    table_write(json_object_get(answer, "jobs"), "jobs", job_columns, job_write, writer);
    table_write(json_object_get(answer, "assumed"), "assumed", assumed_columns, assumed_write,
                writer);
}

static int answer_take(FILE *out, struct writer *writer, struct err *err)
{
    json_error_t error = {.text = "a member is missing"};
    json_t *answer = json_loadf(out, 0, &error);
    if (!json_is_object(json_object_get(answer, "sum"))) {
        json_decref(answer);
        return err_set(err, EBADMSG, SIM " is of another version: its answer cannot be read: %s",
                       error.text);
    }
    answer_write(answer, writer);
    json_decref(answer);
    return 0;
}

/* ---- the simulator ---- */

static int complaint_take(FILE *complaints, int status, struct err *err)
{
    const int code = status == SIM_NOT_FOUND ? ENOENT : EBADMSG;
    char line[1024];
    beside_complaint(complaints, line, sizeof(line));
    const char *said = strncmp(line, FAULT, strlen(FAULT)) == 0 ? line + strlen(FAULT) : line;
    if (!*said)
        return err_set(err, EBADMSG, SIM " ended with status %d and said nothing", status);
    if (strncmp(said, STATE ": ", strlen(STATE ": ")) == 0)
        return err_set(err, EBADMSG, "the controller's state cannot be run on: %s",
                       said + strlen(STATE ": "));
    return err_set(err, code, "%s", said);
}

static int simulate(const char *program, const struct request *request,
                    const struct beside_files *files, struct writer *writer, struct err *err)
{
    const struct change *change = change_find(request->words[0]);
    const char *const words[] = {SIM,      "whatif", STATE, change->option, request->words[1],
                                 "--json", NULL};
    int r = beside_run(program, words, files, err);
    return r < 0 ? r
           : r   ? complaint_take(files->complaints, r, err)
                 : answer_take(files->out, writer, err);
}

static int find(const struct request *request, char program[PATH_MAX], struct err *err)
{
    static const char *const places[] = {SIM, NULL};
    if (beside_find(places, program) < 0)
        return err_set(err, ENOENT, SIM " is not installed beside this program: it runs what-ifs");
    if (strcmp(request->words[0], "job") == 0 && access(request->words[1], R_OK) < 0)
        return err_sys(err, errno, "%s cannot be read", request->words[1]);
    return 0;
}

int run_whatif(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    char program[PATH_MAX];
    int r = find(request, program, err);
    if (r < 0)
        return r;
    struct beside_files files = {beside_file("state"), beside_file("answer"),
                                 beside_file("complaints")};
    if (!files.in || !files.out || !files.complaints)
        r = err_sys(err, errno, "a file in memory");
    if (r == 0)
        r = state_fetch(client, files.in, err);
    if (r == 0)
        r = simulate(program, request, &files, writer, err);
    FILE *const opened[] = {files.in, files.out, files.complaints};
    for (size_t i = 0; i < sizeof(opened) / sizeof(opened[0]); i++)
        if (opened[i])
            fclose(opened[i]);
    return r;
}
