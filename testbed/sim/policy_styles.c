#include "testbed/sim/policy_styles.h"

#include <stddef.h>
#include <string.h>

/* People without red-green vision can tell the first seven colours apart, too (Okabe and Ito 2008);
 * no two rows have the same dash and marker, which tell them apart without colour. */
const struct policy_style policy_styles[] = {
    {"joint", {"#d55e00", FIGURE_SOLID, FIGURE_CIRCLE}},
    {"duopoly", {"#0072b2", FIGURE_DASHED, FIGURE_SQUARE}},
    {"duopoly-paper", {"#56b4e9", FIGURE_DOTTED, FIGURE_TRIANGLE}},
    {"aalo", {"#009e73", FIGURE_DASH_DOT, FIGURE_DIAMOND}},
    {"neat", {"#cc79a7", FIGURE_EVEN, FIGURE_DOWN}},
    {"neat-fair", {"#e69f00", FIGURE_SPARSE, FIGURE_CROSS}},
    {"fair", {"#000000", FIGURE_SOLID, FIGURE_SQUARE}},
    {"joint-ageless", {"#7f2704", FIGURE_DASHED, FIGURE_TRIANGLE}},
    {"fifo", {"#8c8c8c", FIGURE_DOTTED, FIGURE_DIAMOND}},
    {"fair-nats", {"#5b5b33", FIGURE_DASH_DOT, FIGURE_DOWN}},
    {"duopoly-i", {"#7d3c98", FIGURE_EVEN, FIGURE_CROSS}},
    {"duopoly-ic", {"#b7950b", FIGURE_SPARSE, FIGURE_CIRCLE}},
    {"duopoly-im", {"#1b6e37", FIGURE_SOLID, FIGURE_TRIANGLE}},
    {"duopoly-if", {"#c2185b", FIGURE_DASHED, FIGURE_DIAMOND}},
    {"duopoly-ia", {"#00b3b3", FIGURE_DOTTED, FIGURE_DOWN}},
    {"duopoly-c", {"#10307a", FIGURE_DASH_DOT, FIGURE_CROSS}},
    {"duopoly-m", {"#6a51e3", FIGURE_EVEN, FIGURE_CIRCLE}},
    {"duopoly-f", {"#a6bddb", FIGURE_SPARSE, FIGURE_SQUARE}},
    {"duopoly-a", {"#3f5f7d", FIGURE_SOLID, FIGURE_DIAMOND}},
    {"scf", {"#332288", FIGURE_DASHED, FIGURE_DOWN}},
    {"ncf", {"#c9b458", FIGURE_DOTTED, FIGURE_CROSS}},
    {"lcf", {"#88ccee", FIGURE_DASH_DOT, FIGURE_CIRCLE}},
    {"sebf", {"#882255", FIGURE_EVEN, FIGURE_SQUARE}},
    {"dclas", {"#44aa99", FIGURE_SPARSE, FIGURE_TRIANGLE}},
    {"flow", {"#ee7733", FIGURE_SPARSE, FIGURE_DOWN}},
    {"affinity", {"#3cd800", FIGURE_DASH_DOT, FIGURE_TRIANGLE}},
    {"model", {"#aa4499", FIGURE_DOTTED, FIGURE_SQUARE}},
    {"drf", {"#999933", FIGURE_EVEN, FIGURE_DIAMOND}},
    {"srtf", {"#e07b91", FIGURE_SOLID, FIGURE_DOWN}},
    {0},
};

const struct figure_style *policy_style(const char *policy)
{
    for (const struct policy_style *s = policy_styles; s->policy; s++)
        if (strcmp(s->policy, policy) == 0)
            return &s->style;
    return NULL;
}
