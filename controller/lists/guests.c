#include "controller/lists/list.h"

const char *rung_word(duopoly_Rung rung)
{
    static const char *const words[] = {"none", "read", "observe", "mark", "hold"};
    return (uint32_t)rung < sizeof(words) / sizeof(words[0]) ? words[rung] : "other";
}

#define ROW duopoly_GuestRow
static struct value rung(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_text(rung_word(((const ROW *)row)->application.rung));
}

static const struct cell guest_cells[] = {
    CELL("application", "APPLICATION", TEXT, application.name),
    CELL("host", "HOST", TEXT, host),
    CELL("user", "USER", ID, application.user),
    CELL_OF("rung", "RUNG", TEXT, rung),
    CELL("level", "LEVEL", SIGNED, application.level, UNLESS_NEGATIVE),
    CELL("executors", "EXECUTORS", NUMBER, application.guests),
    CELL("marked", "MARKED", NUMBER, application.marked),
    CELL("cores", "CORES", NUMBER, application.cores),
    CELL("received_bytes", "RECEIVED", BYTES, application.received_bytes),
    CELL("text", "WHY NO HIGHER RUNG", TEXT, application.text, UNLESS_NOTHING),
    {0},
};
#undef ROW
const struct list list_of_guests =
    LIST_IN(LIST_GUESTS, "guests", guest_cells, GuestRow, guest_page, rows);
