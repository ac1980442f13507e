#include "testbed/sim/figure_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST = -4, MOST = 5 };

static const char *const prefixes[] = {"p", "n", "µ", "m", "", "k", "M", "G", "T", "P"};

/* As it is printed: 999.7 with three digits is 1000. */
static double rounded(double value, int digits)
{
    char text[FIGURE_NUMBER_MAX];
    snprintf(text, sizeof(text), "%.*e", digits - 1, value);
    return strtod(text, NULL);
}

static int group_of(double value, double plain_below)
{
    double size = fabs(value);
    if (!(size > 0) || !isfinite(size) || (size < plain_below && size >= 1e-3))
        return 0;
    int group = (int)floor(log10(size) / 3 + 1e-12);
    return group < LEAST || group > MOST ? 0 : group;
}

static void put(double value, int digits, int group, char *ret_text)
{
    snprintf(ret_text, FIGURE_NUMBER_MAX, "%.*g%s", digits, value / pow(1000, group),
             value != 0 ? prefixes[group - LEAST] : "");
}

void figure_number(double value, char ret_text[FIGURE_NUMBER_MAX])
{
    double shown = rounded(value, 3);
    put(shown, 3, group_of(shown, 1e3), ret_text);
}

void figure_tick(double value, double most, char ret_text[FIGURE_NUMBER_MAX])
{
    put(rounded(value, 6), 6, group_of(most, 1e4), ret_text);
}
