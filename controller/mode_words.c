#include "controller/mode_words.h"

#include "controller/engine/engine.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool mode_is_forced(const char *rule)
{
    return strcmp(rule, "rich") == 0 || strcmp(rule, "starved") == 0;
}

bool mode_is_of_all(const char *rule)
{
    return strcmp(rule, "all") == 0;
}

const char *mode_whose(const char *rule)
{
    return mode_is_of_all(rule) ? "all jobs" : "the first job";
}

void mode_why_say(const char *rule, int64_t ready, int64_t free_slots, char *text, size_t size)
{
    if (mode_is_forced(rule))
        snprintf(text, size, "the rule %s forces it", rule);
    else
        snprintf(text, size, "%s had %" PRId64 " ready task%s for %" PRId64 " free slot%s",
                 mode_whose(rule), ready, plural((uint64_t)ready), free_slots,
                 plural((uint64_t)free_slots));
}

const char *mode_word(uint32_t mode)
{
    return mode == MODE_SLOT_STARVED ? "slot-starved" : "slot-rich";
}
