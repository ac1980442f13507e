/* A set of numbers other than 0, which only grows. Private to controller/frameworks.
 *
 * Open addressing, linear probing, at most half full: a look and an addition are O(1), an addition
 * that doubles the table O(n). A zeroed set is valid and empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_set {
    uint64_t *at; /* 0: free */
    size_t n, size;
};

/* Adds it, unless it is there. False: memory is short. */
bool number_set_add(struct number_set *set, uint64_t number);
bool number_set_has(const struct number_set *set, uint64_t number);
/* Frees the memory; the set is then empty. */
void number_set_clear(struct number_set *set);
