#include "controller/lists/list.h"

/* What is still to come; attempts that ran again received more than there is. */
static struct value left(uint64_t bytes, uint64_t received)
{
    return !bytes ? value_absent() : value_bytes(bytes > received ? bytes - received : 0);
}

#define ROW duopoly_CoflowRow
static struct value coflow_left(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return left(((const ROW *)row)->bytes, ((const ROW *)row)->received_bytes);
}

static bool coflow_is_untimed(const void *row)
{
    return !((const ROW *)row)->has_rate_bps;
}

static const struct cell coflow_cells[] = {
    CELL("job", "JOB", ID, job),
    CELL("name", "NAME", TEXT, name),
    CELL("user", "USER", ID, user),
    CELL("stage", "STAGE", ID, stage),
    CELL("priority", "PRIORITY", SIGNED, priority),
    CELL("level", "LEVEL", SIGNED, coflow_level, UNLESS_NEGATIVE),
    CELL("on_wire", "ON WIRE", BOOL, on_wire),
    CELL("bytes", "BYTES", BYTES, bytes, UNLESS_NOTHING),
    CELL("received_bytes", "RECEIVED", BYTES, received_bytes),
    CELL_OF("left_bytes", "LEFT", BYTES, coflow_left),
    CELL("rate_bps", "RATE", BIT_RATE, rate_bps, .lacks = coflow_is_untimed),
    CELL("receiving", "RECEIVING", NUMBER, receiving),
    CELL("done", "DONE", NUMBER, done),
    CELL("task_count", "TASKS", NUMBER, tasks),
    CELL("hosts", "HOSTS", TEXT, hosts, UNLESS_NOTHING),
    {0},
};
#undef ROW

#define ROW duopoly_MacroflowRow
static struct value macroflow_left(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return left(((const ROW *)row)->bytes, ((const ROW *)row)->received_bytes);
}

static bool macroflow_is_untimed(const void *row)
{
    return !((const ROW *)row)->has_rate_bps;
}

static const struct cell macroflow_cells[] = {
    CELL("job", "JOB", ID, job),
    CELL("stage", "STAGE", ID, stage),
    CELL("task", "TASK", ID, task),
    CELL("attempt", "ATTEMPT", ID, attempt),
    CELL("host", "HOST", TEXT, host, UNLESS_NOTHING),
    CELL("port", "PORT", TEXT, port, UNLESS_NOTHING),
    CELL("level", "LEVEL", SIGNED, level, UNLESS_NEGATIVE),
    CELL("coflow_level", "COFLOW", SIGNED, coflow_level, UNLESS_NEGATIVE),
    CELL("macroflow_level", "MACROFLOW", SIGNED, macroflow_level, UNLESS_NEGATIVE),
    CELL("bytes", "BYTES", BYTES, bytes, UNLESS_NOTHING),
    CELL("received_bytes", "RECEIVED", BYTES, received_bytes),
    CELL_OF("left_bytes", "LEFT", BYTES, macroflow_left),
    CELL("rate_bps", "RATE", BIT_RATE, rate_bps, .lacks = macroflow_is_untimed),
    CELL("age_ns", "SINCE", DURATION, age_ns, UNLESS_NEGATIVE, .since = true),
    {0},
};
#undef ROW

const struct list list_of_coflows =
    LIST_IN(LIST_COFLOWS, "coflows", coflow_cells, CoflowRow, coflow_page, rows,
            .stage = offsetof(duopoly_Envelope, body.coflow_page.stage),
            .so_far = offsetof(duopoly_Envelope, body.coflow_page.so_far));
const struct list list_of_macroflows =
    LIST_IN(LIST_MACROFLOWS, "macroflows", macroflow_cells, MacroflowRow, macroflow_page, rows);
