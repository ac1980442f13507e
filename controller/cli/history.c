#include "controller/cli/history.h"

#include "controller/cli/since.h"
#include "controller/cli/table.h"
#include "lib/wire.h"

#include <errno.h>
#include <string.h>

#define ROW duopoly_HistoryRow
static bool is_not_divided(const void *row)
{
    return !((const ROW *)row)->divided;
}

static struct value ended(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_time(((const ROW *)row)->ended_ns);
}

static const struct cell cells[] = {
    CELL("job", "JOB", ID, job),
    CELL("name", "NAME", TEXT, name),
    CELL("user", NULL, ID, user),
    CELL("user_name", "USER", TEXT, user_name, UNLESS_NOTHING),
    CELL("state", "STATE", TEXT, state),
    CELL_OF("ended", "ENDED", ended),
    CELL("lasted_ns", "LASTED", DURATION, lasted_ns),
    CELL("turn_ns", "TURN", DURATION, turn_ns, .lacks = is_not_divided),
    CELL("held_ns", "HELD", DURATION, held_ns, .lacks = is_not_divided),
    CELL("ordered_ns", NULL, DURATION, ordered_ns, .lacks = is_not_divided),
    CELL("receive_ns", "TRANSFER", DURATION, receive_ns, .lacks = is_not_divided),
    CELL("compute_ns", "COMPUTE", DURATION, compute_ns, .lacks = is_not_divided),
    CELL("again_ns", "AGAIN", DURATION, again_ns, .lacks = is_not_divided),
    CELL("idle_ns", NULL, DURATION, idle_ns, .lacks = is_not_divided),
    CELL("unknown_ns", NULL, DURATION, unknown_ns, .lacks = is_not_divided),
    CELL("received_bytes", "RECEIVED", BYTES, received_bytes, .lacks = is_not_divided),
    CELL("shuffle_bytes", NULL, BYTES, shuffle_bytes),
    CELL("task_count", "TASKS", NUMBER, tasks),
    CELL("stage_count", NULL, NUMBER, stages),
    CELL("text", "NOTE", TEXT, text, UNLESS_NOTHING),
    {0},
};
#undef ROW

static const struct list list_of_history =
    LIST_IN(LIST_HISTORY, "history", cells, history_page, rows);

static int word_take(char *to, size_t size, const char *word, const char *option, struct err *err)
{
    if (word && !*word)
        return err_set(err, EINVAL, "%s needs a word", option);
    return word ? wire_take(to, size, word, option, err) : 0;
}

static int result_take(const char *word, duopoly_List *list, struct err *err)
{
    static const char *const results[] = {"done", "failed", "cancelled"};
    for (size_t i = 0; word && i < sizeof(results) / sizeof(results[0]); i++)
        if (strcmp(word, results[i]) == 0)
            return wire_take(list->result, sizeof(list->result), word, "--result", err);
    return word ? err_set(err, EINVAL, "--result is done, failed or cancelled, not '%s'", word) : 0;
}

static int filter_take(const struct request *request, duopoly_List *list, uint64_t *ret_limit,
                       struct err *err)
{
    int r = word_take(list->who, sizeof(list->who), request->who, "--who", err);
    if (r == 0)
        r = word_take(list->what, sizeof(list->what), request->what, "--what", err);
    if (r == 0)
        r = result_take(request->result, list, err);
    if (r == 0 && request->since)
        r = since_parse(request->since, &list->since_ns, err);
    return r == 0 && request->limit ? number_parse(request->limit, "--limit", ret_limit, err) : r;
}

int history_check(const struct request *request, struct err *err)
{
    duopoly_List list = {0};
    uint64_t limit;
    return filter_take(request, &list, &limit, err);
}

struct shown {
    struct table table;
    uint64_t left;
};

static int row_show(void *user, const void *row, struct err *err)
{
    struct shown *shown = user;
    (void)err;
    table_row(&shown->table, row);
    return --shown->left == 0;
}

int run_history(struct client *client, const struct request *request, struct writer *writer,
                struct err *err)
{
    duopoly_List list = {0};
    struct shown shown = {.left = UINT64_MAX};
    int r = filter_take(request, &list, &shown.left, err);
    if (r < 0)
        return r;
    writer_schema(writer, list_of_history.key, list_of_history.key);
    table_begin(&shown.table, list_of_history.key, cells, writer);
    r = list_read(client, &list_of_history, list, row_show, &shown, NULL, err);
    if (r == 0)
        table_end(&shown.table);
    return r;
}
