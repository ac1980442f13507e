/* What the keys of duopolyctl top do: which list is looked at, from where, through which filter.
 * Pure: it neither reads keys nor asks the controller. */
#pragma once

#include "controller/cli/top_views.h"
#include "controller/lists/filter.h"

/* Keys that are no byte. */
enum {
    TOP_KEY_NEXT = 256, /* page */
    TOP_KEY_BACK,
    TOP_KEY_FIRST,
    TOP_KEY_ERASE,
    TOP_KEY_ESCAPE,
    TOP_KEY_OTHER,
};

/* What the key asks for. */
enum top_want {
    TOP_NOTHING,
    TOP_DRAW,
    TOP_ASK, /* other rows */
    TOP_END,
};

enum { TOP_PAGES = 4096 /* that one can go forward, and back again */ };

/* Zeroed: hosts, from the first on, all of them. */
struct top_state {
    unsigned view;                        /* of top_views */
    char filters[TOP_VIEWS][FILTER_TEXT]; /* as they are in force; "": all rows */
    uint64_t starts[TOP_PAGES];           /* cursors of the pages up to this one */
    unsigned page;                        /* from 0 */
    uint64_t changes;                     /* of what rows are wanted: older rows are of no use */
    bool answered;                        /* the rows of this page came, */
    uint64_t next;                        /* and the cursor behind them; 0: there are no more */
    bool paused, helps;                   /* helps: the keys are shown instead of rows */
    bool edits;                           /* the filter is being written: */
    char edit[FILTER_TEXT];
    char complaint[512]; /* about what was typed last; "": none */
};

/* To the first page; other rows are wanted. */
void top_rewind(struct top_state *state);
/* The rows that were wanted at `changes` came. False: others are wanted by now. */
bool top_answer(struct top_state *state, uint64_t changes, uint64_t next);
/* A key: a byte, or TOP_KEY_…. */
enum top_want top_key(struct top_state *state, int key);
