#include "controller/cli/transfers.h"

#include "controller/cli/table.h"

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
    CELL_OF("left_bytes", "LEFT", coflow_left),
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

static const struct cell macroflow_cells[] = {
    CELL("job", "JOB", ID, job),
    CELL("stage", "STAGE", ID, stage),
    CELL("task", "TASK", ID, task),
    CELL("attempt", "ATTEMPT", ID, attempt),
    CELL("host", "HOST", TEXT, host, UNLESS_NOTHING),
    CELL("level", "LEVEL", SIGNED, level, UNLESS_NEGATIVE),
    CELL("coflow_level", "COFLOW", SIGNED, coflow_level, UNLESS_NEGATIVE),
    CELL("macroflow_level", "MACROFLOW", SIGNED, macroflow_level, UNLESS_NEGATIVE),
    CELL("bytes", "BYTES", BYTES, bytes, UNLESS_NOTHING),
    CELL("received_bytes", "RECEIVED", BYTES, received_bytes),
    CELL_OF("left_bytes", "LEFT", macroflow_left),
    CELL("age_ns", "SINCE", DURATION, age_ns, UNLESS_NEGATIVE),
    {0},
};
#undef ROW

static const struct list list_of_coflows =
                             LIST_IN(LIST_COFLOWS, "coflows", coflow_cells, coflow_page, rows,
                                     .stage = offsetof(duopoly_Envelope, body.coflow_page.stage)),
                         list_of_macroflows = LIST_IN(LIST_MACROFLOWS, "macroflows",
                                                      macroflow_cells, macroflow_page, rows);

static int list_write_all(struct client *client, const struct list *list, struct writer *writer,
                          struct err *err)
{
    writer_schema(writer, list->key, list->key);
    return list_table(client, list, (duopoly_List){0}, writer, NULL, err);
}

int run_coflows(struct client *client, const struct request *request, struct writer *writer,
                struct err *err)
{
    (void)request;
    return list_write_all(client, &list_of_coflows, writer, err);
}

int run_macroflows(struct client *client, const struct request *request, struct writer *writer,
                   struct err *err)
{
    (void)request;
    return list_write_all(client, &list_of_macroflows, writer, err);
}
