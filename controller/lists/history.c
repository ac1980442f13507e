#include "controller/lists/list.h"

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
    CELL_OF("ended", "ENDED", TIME, ended, .since = true),
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
const struct list list_of_history =
    LIST_IN(LIST_HISTORY, "history", cells, HistoryRow, history_page, rows);
