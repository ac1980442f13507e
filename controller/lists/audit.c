#include "controller/lists/list.h"

#define ROW duopoly_AuditRow
static const struct cell cells[] = {
    CELL("n", "NUMBER", ID, n),
    CELL("time", "TIME", TIME, at_ns, .since = true),
    CELL("who", "WHO", TEXT, who),
    CELL("what", "WHAT", TEXT, what),
    CELL("result", "RESULT", TEXT, result),
    {0},
};

const struct list list_of_audit = {.key = "audit",
                                   .cells = cells,
                                   .fields = duopoly_AuditRow_fields,
                                   .row_bytes = sizeof(duopoly_AuditRow)};
