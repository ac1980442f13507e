#include "testbed/sim/run_policies.h"

#include <stdio.h>
#include <string.h>

const struct run_policy run_policies[] = {
    {"duopoly", "nats and cans, both by mode", "sjf", "nats", "cans", MODE_RULE_FIRST},
    {"aalo", "greedy placement, D-CLAS on the wire", "sjf", "greedy", "dclas", MODE_RULE_FIRST},
    {"fair", "greedy placement, one level", "sjf", "greedy", "none", MODE_RULE_FIRST},
    {"fifo", "first come first served, greedy placement, one level", "fifo", "greedy", "none",
     MODE_RULE_FIRST},
    {"duopoly-c", "duopoly with the Coflow's level always", "sjf", "nats", "cans-coflow",
     MODE_RULE_FIRST},
    {"duopoly-m", "duopoly with the Macroflow's level always", "sjf", "nats", "cans-macroflow",
     MODE_RULE_FIRST},
    {"duopoly-f", "duopoly with random placement instead of nats", "sjf", "random", "cans",
     MODE_RULE_FIRST},
    {"duopoly-a", "duopoly that is starved when all jobs' ready tasks outnumber the free slots",
     "sjf", "nats", "cans", MODE_RULE_ALL},
    {"fair-nats", "nats without cans", "sjf", "nats", "none", MODE_RULE_FIRST},
    {0},
};

const struct run_policy *run_policy_find(const char *name)
{
    for (const struct run_policy *p = run_policies; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

void run_policy_apply(const struct run_policy *policy, struct engine_config *config)
{
    snprintf(config->turn, sizeof(config->turn), "%s", policy->turn);
    snprintf(config->place, sizeof(config->place), "%s", policy->place);
    snprintf(config->network, sizeof(config->network), "%s", policy->network);
    config->mode_rule = policy->mode_rule;
}
