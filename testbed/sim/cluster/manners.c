#include "testbed/sim/cluster/manners.h"

#include <stddef.h>
#include <string.h>

const struct manners manners[] = {
    {.name = "prompt", .what = "starts what it may, where and when it may", .advised = true},
    {.name = "late",
     .what = "as prompt, but tells sizes when they are made, and computing never",
     .advised = true,
     .late = true},
    {.name = "free", .what = "as prompt, but its maps start wherever it has a slot"},
    {.name = "bound",
     .what = "as free, but its maps stay where they are bound to",
     .bindable = true},
    {.name = "slow", .what = "acts on many allows up to 7 s later", .slow = 600, .bindable = true},
    {.name = "disobedient",
     .what = "often takes another host or partition, or starts unasked",
     .disobedient = 400,
     .bindable = true},
    {.name = "forgetful",
     .what = "never acts on many of its allows",
     .forgetful = 400,
     .bindable = true},
    {.name = "speculating", .what = "starts second attempts by itself", .copies = 100},
    {.name = "growing", .what = "tells of a stage when those before it are done", .growing = true},
    {.name = "losing",
     .what = "loses executors, with what runs and all outputs there",
     .losing = true,
     .bindable = true},
    {0},
};

const struct manners *manners_find(const char *name)
{
    for (const struct manners *m = manners; m->name; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}
