#include "controller/lists/list.h"

#define SECOND_NS UINT64_C(1000000000)

#define ROW duopoly_HostRow
/* A switch runs nothing; a row of a host that is gone is out of date. */
static bool is_of_switch(const void *row)
{
    return ((const ROW *)row)->role == duopoly_Role_ROLE_SWITCH;
}

static bool is_not_now(const void *row)
{
    return ((const ROW *)row)->gone || is_of_switch(row);
}

static bool has_no_disk(const void *row)
{
    return !((const ROW *)row)->has_disk_permille || is_not_now(row);
}

static struct value host_role(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_text(is_of_switch(row) ? "switch" : "host");
}

static struct value host_stance(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return stance_value(((const ROW *)row)->stance);
}

static const struct cell host_cells[] = {
    CELL("name", "HOST", TEXT, name),
    CELL("state", "STATE", TEXT, state),
    CELL_OF("role", "ROLE", TEXT, host_role),
    CELL("rack", "RACK", TEXT, rack, UNLESS_NOTHING),
    CELL_OF("stance", "STANCE", TEXT, host_stance),
    CELL("slots_free", "FREE", SIGNED, free.slots, .lacks = is_not_now),
    CELL("slots", "SLOTS", SIGNED, total.slots, .lacks = is_of_switch),
    CELL("running", "RUNNING", NUMBER, running, .lacks = is_of_switch),
    CELL("receiving", "RECEIVING", NUMBER, receiving, .lacks = is_not_now),
    CELL("uplink_permille", "UPLINK", PERMILLE, uplink_permille, .lacks = is_not_now),
    CELL("downlink_permille", "DOWNLINK", PERMILLE, downlink_permille, .lacks = is_not_now),
    CELL("disk_permille", "DISK", PERMILLE, disk_permille, .lacks = has_no_disk),
    CELL("disk_readers", NULL, NUMBER, disk_readers, .lacks = has_no_disk),
    CELL("disk_read_bytes_s", NULL, NUMBER, disk_read_bytes_s, .lacks = has_no_disk),
    CELL("disk_hangs", NULL, BOOL, disk_hangs, .lacks = has_no_disk),
    CELL("silent_ns", "LAST HEARD", DURATION, silent_ns, UNLESS_NEGATIVE),
    CELL("lost_ns", NULL, DURATION, lost_ns, UNLESS_NOTHING),
    CELL("boot", NULL, ID, boot),
    CELL("readers", NULL, NUMBER, readers),
    CELL("sources", NULL, NUMBER, sources),
    CELL("failed_in_a_row", NULL, NUMBER, failed_in_a_row),
    CELL("refused_words", NULL, NUMBER, refused_words),
    CELL("queues", NULL, TEXT, queues, UNLESS_NOTHING),
    CELL("marks", "MARKS", TEXT, marks, UNLESS_NOTHING),
    CELL("text", "NOTE", TEXT, text, UNLESS_NOTHING),
    {0},
};
#undef ROW

#define ROW duopoly_CounterRow
static const struct cell counter_cells[] = {
    CELL("source", "SOURCE", TEXT, source),
    CELL("name", "NAME", TEXT, name),
    CELL("value", "VALUE", NUMBER, value),
    {0},
};
#undef ROW

#define ROW duopoly_KeyRow
static struct value time_of(int64_t seconds)
{
    return seconds > 0 ? value_time((uint64_t)seconds * SECOND_NS) : value_absent();
}

static struct value key_since(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return time_of(((const ROW *)row)->since_s);
}

static struct value key_until(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return time_of(((const ROW *)row)->until_s);
}

static const struct cell key_cells[] = {
    CELL("name", "NAME", TEXT, name),
    CELL("serial", "SERIAL", ID, serial),
    CELL("role", "ROLE", TEXT, role),
    CELL("state", "STATE", TEXT, state),
    CELL_OF("since", "SINCE", TIME, key_since, .since = true),
    CELL_OF("until", "UNTIL", TIME, key_until),
    CELL("public_key", "PUBLIC", TEXT, public_key),
    {0},
};
#undef ROW

const struct list list_of_hosts = LIST_IN(LIST_HOSTS, "hosts", host_cells, HostRow, page, hosts);
const struct list list_of_counters =
    LIST_IN(LIST_COUNTERS, "counters", counter_cells, CounterRow, page, counters);
const struct list list_of_keys = LIST_IN(LIST_KEYS, "keys", key_cells, KeyRow, page, keys);
