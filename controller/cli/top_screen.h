/* A screen of duopolyctl top as lines of text (pure: rows in, lines out). Each line has at most the
 * screen's columns, and no character that a terminal would obey: names come from anybody.
 *
 * Columns that are too many for the screen are left out by their rank, then the last is cut; what
 * is cut ends with '~'. A column gets wider and never narrower while the same list is shown, so
 * that nothing jumps. O(rows × columns). */
#pragma once

#include "controller/cli/top_keys.h"

enum {
    TOP_LINES = 500, /* larger screens are filled that far */
    TOP_COLUMNS = 500,
    TOP_LINE = 4 * TOP_COLUMNS + 1,
    TOP_AROUND = 5, /* lines around the rows */
};

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_HEADINGS, TOP_ALARM, TOP_FOOT };

struct top_line {
    enum top_style style;
    char text[TOP_LINE]; /* UTF-8, or ASCII */
};

/* What came from the controller. */
struct top_shown {
    bool known; /* the status came once */
    duopoly_Status status;
    unsigned view;    /* of the rows */
    uint64_t changes; /* top_state.changes when they were wanted */
    const void *rows; /* of top_views[view].list */
    size_t n;
    bool cut;           /* the filter keeps so few that no more were sought */
    char trouble[512];  /* why nothing comes; "": it does, */
    uint64_t trouble_s; /* for how long */
};

/* Zero it first, then set the size, and change that at will. */
struct top_screen {
    unsigned lines, columns;
    bool ascii; /* the terminal shows nothing else */
    uint16_t widths[CELLS_MAX];
    unsigned view, wide; /* those that the widths belong to */
    unsigned n;          /* lines that are there */
    struct top_line line[TOP_LINES];
};

/* How many rows there is room for. */
unsigned top_screen_rows(const struct top_screen *screen);
/* With characters that are not ASCII LC_CTYPE is to be one of UTF-8, by which widths are told. */
void top_screen_draw(struct top_screen *screen, const struct top_state *state,
                     const struct top_shown *shown);
