/* Charts as SVG: a title, axes with names, units and ticks, a legend above the plot. For the width
 * of a column (440 px, letters of 12), also on paper without colour (markers and dashes differ),
 * without script or style sheet; alone or inside HTML. Labels never overlap: one without room is
 * turned, or left out.
 *
 * Lines and steps have points (x, y), bars one y per group, areas are stacked in the order of the
 * series, which share their x; where an x occurs twice, an area has a step. Writes to a stream;
 * pure otherwise: the same figure gives the same bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { FIGURE_SERIES = 10 };

enum figure_kind { FIGURE_LINES, FIGURE_STEPS, FIGURE_BARS, FIGURE_AREAS };

enum figure_dashes {
    FIGURE_SOLID,
    FIGURE_DASHED,
    FIGURE_DOTTED,
    FIGURE_DASH_DOT,
    FIGURE_EVEN,
    FIGURE_SPARSE,
    FIGURE_DASHES, /* their number */
};

enum figure_marker {
    FIGURE_CIRCLE,
    FIGURE_SQUARE,
    FIGURE_TRIANGLE,
    FIGURE_DIAMOND,
    FIGURE_DOWN,
    FIGURE_CROSS,
    FIGURE_MARKERS, /* their number */
};

struct figure_style {
    const char *colour; /* #rrggbb */
    enum figure_dashes dashes;
    enum figure_marker marker;
};

struct figure_series {
    const char *name;
    const struct figure_style *style; /* NULL: by its place in the figure */
    size_t n;
    const double *x;            /* never less than the one before; bars: not read */
    const double *y;            /* ≥ 0 */
    const double *least, *most; /* a range around each y; NULL: none */
};

/* A part of x that is shaded. */
struct figure_band {
    double from, to;
};

struct figure {
    enum figure_kind kind;
    const char *title, *x_name, *y_name; /* names with units; plain text */
    bool log_x;                          /* every x > 0 */
    const char *const *labels;           /* bars: of each group */
    double top;                          /* of y; 0: as the data need */
    int n_series;
    struct figure_series series[FIGURE_SERIES];
    const char *band_name;
    const struct figure_band *bands;
    size_t n_bands;
};

/* Borrows everything. */
void figure_write(const struct figure *figure, FILE *out);
