/* A change of the mode in words. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Why it changed: by that rule of the mode, with those numbers of ready tasks and free slots. */
void mode_why_say(const char *rule, int64_t ready, int64_t free_slots, char *text, size_t size);

/* What people call it. */
const char *mode_word(uint32_t mode);
