/* Each policy's colour, dash and marker, the same in every picture, so that two pictures can be
 * compared. A new policy gets a row here (tests/unit/test_figure.c finds those without). */
#pragma once

#include "testbed/sim/figure.h"

struct policy_style {
    const char *policy; /* of presets, or of coflow_policies */
    struct figure_style style;
};

extern const struct policy_style policy_styles[]; /* ends with a NULL policy */

/* NULL: no policy has this name. */
const struct figure_style *policy_style(const char *policy);
