#include "controller/engine/policy/presets.h"

#include <stdio.h>
#include <string.h>

/* WHY aalo and fair are greedy although delay scheduling exists (--place delay): a baseline is to
 * be as good as its rule allows. On the Facebook trace, waiting for a slot next to the block gives
 * that slot to a large job's reduce task for very long: aalo's mean JCT is 144 s greedily, and 186,
 * 240 and 251 s with delays of 0.2, 1 and 5 s.
 *
 * WHY neat has 64 levels, not unlimited ones: bytes left change with every report, ten times a
 * second, and each would be another level; a run would take minutes.
 *
 * duopoly adds to the source: a job's maps run next to their blocks and evenly over the hosts, and
 * wait for that (place/nats.c says why). */
#define EVEN                                                                                       \
    {                                                                                              \
        "even_wait", PRESET_EVEN_WAIT_NS                                                           \
    }
#define PACK                                                                                       \
    {                                                                                              \
        "pack", 1                                                                                  \
    }
const struct preset presets[] = {
    {"joint",
     "rank of the job on the wire; one receiver a job and host, backfill below, slots kept",
     "srpt",
     "joint",
     "rank",
     "first",
     {EVEN, PACK},
     0},
    {"duopoly",
     "nats and cans, both by mode; maps spread evenly",
     "sjf",
     "nats",
     "cans",
     "first",
     {EVEN},
     0},
    {"duopoly-paper",
     "the source's text: maps wherever slots are free",
     "sjf",
     "nats",
     "cans",
     "first",
     {{"", 0}},
     0},
    {"affinity",
     "the task that suffers least from what is asked of a host's disk; GPUs to who gains most",
     "fifo",
     "affinity",
     "none",
     "first",
     {{"", 0}},
     0},
    {"model",
     "GPUs to who gains most by them, the rest by dominant resource fairness",
     "drf",
     "model",
     "none",
     "first",
     {{"", 0}},
     0},
    {"joint-ageless",
     "joint without its bound against starvation",
     "srpt-ageless",
     "joint",
     "rank",
     "first",
     {EVEN, PACK},
     0},
    {"flow",
     "the optimum of a minimum-cost flow over tasks and slots; rank of the job on the wire",
     "srpt",
     "flow",
     "rank",
     "first",
     {{"", 0}},
     0},
    {"aalo",
     "D-CLAS on the wire, greedy placement",
     "sjf",
     "greedy",
     "dclas",
     "first",
     {{"", 0}},
     0},
    {"neat",
     "reducers where their transfers end first, shortest Coflow first on the wire",
     "sjf",
     "neat",
     "scf",
     "first",
     {{"", 0}},
     ENGINE_LEVELS_MAX},
    {"neat-fair",
     "neat's placement for a fair network, one level",
     "sjf",
     "neat-fair",
     "none",
     "first",
     {{"", 0}},
     0},
    {"fair", "greedy placement, one level", "sjf", "greedy", "none", "first", {{"", 0}}, 0},
    {"fifo",
     "first come first served, greedy placement, one level",
     "fifo",
     "greedy",
     "none",
     "first",
     {{"", 0}},
     0},
    {"drf",
     "dominant resource fairness between jobs, greedy placement, one level",
     "drf",
     "greedy",
     "none",
     "first",
     {{"", 0}},
     0},
    {"duopoly-c",
     "duopoly with the Coflow's level always",
     "sjf",
     "nats",
     "cans-coflow",
     "first",
     {EVEN},
     0},
    {"duopoly-m",
     "duopoly with the Macroflow's level always",
     "sjf",
     "nats",
     "cans-macroflow",
     "first",
     {EVEN},
     0},
    {"duopoly-f",
     "duopoly with random placement instead of nats",
     "sjf",
     "random",
     "cans",
     "first",
     {{"", 0}},
     0},
    {"duopoly-a",
     "duopoly that is starved when all jobs' ready tasks outnumber the free slots",
     "sjf",
     "nats",
     "cans",
     "all",
     {EVEN},
     0},
    {"duopoly-i",
     "duopoly with unlimited levels",
     "sjf",
     "nats",
     "cans",
     "first",
     {EVEN},
     PRESET_LEVELS_UNLIMITED},
    {"duopoly-ic",
     "duopoly-c with unlimited levels",
     "sjf",
     "nats",
     "cans-coflow",
     "first",
     {EVEN},
     PRESET_LEVELS_UNLIMITED},
    {"duopoly-im",
     "duopoly-m with unlimited levels",
     "sjf",
     "nats",
     "cans-macroflow",
     "first",
     {EVEN},
     PRESET_LEVELS_UNLIMITED},
    {"duopoly-if",
     "duopoly-f with unlimited levels",
     "sjf",
     "random",
     "cans",
     "first",
     {{"", 0}},
     PRESET_LEVELS_UNLIMITED},
    {"duopoly-ia",
     "duopoly-a with unlimited levels",
     "sjf",
     "nats",
     "cans",
     "all",
     {EVEN},
     PRESET_LEVELS_UNLIMITED},
    {"fair-nats", "nats without cans", "sjf", "nats", "none", "first", {{"", 0}}, 0},
    {0},
};

const struct preset *preset_find(const char *name)
{
    for (const struct preset *p = presets; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

void preset_apply(const struct preset *policy, struct engine_config *config)
{
    snprintf(config->turn, sizeof(config->turn), "%s", policy->turn);
    snprintf(config->place, sizeof(config->place), "%s", policy->place);
    snprintf(config->network, sizeof(config->network), "%s", policy->network);
    snprintf(config->mode, sizeof(config->mode), "%s", policy->mode);
    for (size_t i = 0; i < PRESET_VALUES && policy->values[i].word[0]; i++)
        engine_config_say(config, policy->values[i].word, policy->values[i].value, NULL);
}
