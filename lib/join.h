/* Lists in sentences: "a, b, c". Pure; O(length of the list). */
#pragma once

#include <stddef.h>

/* Appends a word to a list, behind `between` unless it is the first one. A list that is full is cut
 * (`size` bytes with the terminating zero). */
void join_word(char *list, size_t size, const char *between, const char *word);
