/* How each policy looks in every picture: one colour, one dash and one marker each, so that two
 * pictures can be read side by side. The only table of them; a new policy gets a row here
 * (tests/unit/test_figure.c finds those without). */
#pragma once

#include "testbed/sim/figure.h"

struct policy_style {
    const char *policy; /* of presets, or of coflow_policies */
    struct figure_style style;
};

extern const struct policy_style policy_styles[]; /* ends with a NULL policy */

/* NULL: there is none of that name. */
const struct figure_style *policy_style(const char *policy);
