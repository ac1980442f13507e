#include "controller/mode_words.h"

#include "controller/engine/engine.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void mode_why_say(const char *rule, int64_t ready, int64_t free_slots, char *text, size_t size)
{
    if (strcmp(rule, "rich") == 0 || strcmp(rule, "starved") == 0)
        snprintf(text, size, "the rule %s forces it", rule);
    else
        snprintf(text, size, "%s had %" PRId64 " ready task%s for %" PRId64 " free slot%s",
                 strcmp(rule, "all") == 0 ? "all jobs" : "the first job", ready,
                 plural((uint64_t)ready), free_slots, plural((uint64_t)free_slots));
}

const char *mode_word(uint32_t mode)
{
    return mode == MODE_SLOT_STARVED ? "slot-starved" : "slot-rich";
}
