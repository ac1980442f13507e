/* Line charts as inline SVG: axes with units, ticks, a legend; readable at column width without
 * script or style sheet. Writes to a stream; pure otherwise. */
#pragma once

#include <stdio.h>

enum { FIGURE_LINES = 8, FIGURE_POINTS = 32 };

struct figure {
    const char *title, *x_name, *y_name; /* with units; plain text without < and & */
    int n_lines, n_points;
    const char *labels[FIGURE_POINTS]; /* at the ticks of x, evenly spaced */
    const char *names[FIGURE_LINES];
    double y[FIGURE_LINES][FIGURE_POINTS]; /* ≥ 0 */
    int bars;                              /* else lines: the points are not ordered */
};

void figure_write(const struct figure *figure, FILE *out);
