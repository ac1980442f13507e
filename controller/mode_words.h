/* A change of the mode in words. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a rule of the mode forces one; compares all jobs' tasks with the free slots, or the first
 * job's; and whose tasks these are: "all jobs", "the first job". */
bool mode_is_forced(const char *rule);
bool mode_is_of_all(const char *rule);
const char *mode_whose(const char *rule);

/* Why it changed: by that rule of the mode, with those numbers of ready tasks and free slots. */
void mode_why_say(const char *rule, int64_t ready, int64_t free_slots, char *text, size_t size);

/* What people call it. */
const char *mode_word(uint32_t mode);
