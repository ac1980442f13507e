/* The controller's lists: of each its columns, and where the rows stand in a page. duopolyd looks
 * at rows by them when it filters, duopolyctl when it shows them. Const tables; no state. */
#pragma once

#include "controller/lists/cell.h"
#include "schemas/duopoly.pb.h"

/* One of the controller's lists. */
struct list {
    duopoly_ListOf of;
    const char *key; /* of its table */
    const struct cell *cells;
    const pb_msgdesc_t *fields; /* of a row; NULL: it is no message */
    pb_size_t page;             /* the kind of its answers, and where their rows are: */
    size_t rows, row_bytes, count, cursor;
    pb_size_t most; /* rows in a page */
    size_t stage;   /* where the stage is that goes with the cursor; 0: there is none */
    size_t so_far;  /* and what was counted of it, likewise */
    bool local;     /* the controller does not filter it: who asks gets all rows */
};
/* `of` LIST_…, the answer of kind page_ with rows_, each a row_. Further members of struct list may
 * follow. */
#define LIST_IN(of_, key_, cells_, row_, page_, rows_, ...)                                        \
    {                                                                                              \
        .of = duopoly_ListOf_##of_, .key = (key_), .cells = (cells_),                              \
        .fields = duopoly_##row_##_fields, .page = duopoly_Envelope_##page_##_tag,                 \
        .rows = offsetof(duopoly_Envelope, body.page_.rows_),                                      \
        .row_bytes = sizeof(((duopoly_Envelope *)0)->body.page_.rows_[0]),                         \
        .count = offsetof(duopoly_Envelope, body.page_.rows_##_count),                             \
        .most = sizeof(((duopoly_Envelope *)0)->body.page_.rows_) /                                \
                sizeof(((duopoly_Envelope *)0)->body.page_.rows_[0]),                              \
        .cursor = offsetof(duopoly_Envelope, body.page_.cursor), __VA_ARGS__                       \
    }

extern const struct list list_of_jobs, list_of_tasks, list_of_hosts, list_of_counters, list_of_keys,
    list_of_switches, list_of_ports, list_of_steps, list_of_links, list_of_guests,
    list_of_combinations, list_of_units, list_of_users, list_of_debts, list_of_history,
    list_of_modes, list_of_coflows, list_of_macroflows, list_of_config, list_of_config_changes;
/* An agent tells them; local. */
extern const struct list list_of_flows, list_of_port_queues;
/* These are not asked for by List: page 0. */
extern const struct list list_of_audit;        /* GetAudit */
extern const struct list list_of_policies;     /* GetStatus; local */
extern const struct list list_of_file_changes; /* what a file here would change; local */

/* The list of that kind; NULL: it has no columns here. */
const struct list *list_find(duopoly_ListOf of);

/* A stance in a word; absent of UNSAID. */
struct value stance_value(duopoly_Stance stance);
/* A mode in a word. */
struct value mode_value(uint32_t mode);
/* A rung in a word. */
const char *rung_word(duopoly_Rung rung);
