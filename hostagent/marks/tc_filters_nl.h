/* The filters on one hook of a port's clsact, in the order in which packets meet them. Blocking,
 * for a dump. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_filter {
    uint32_t preference, handle;
    uint32_t program; /* of a bpf filter: its number */
    char kind[16];
};

/* Finds the first filter that `wanted` accepts. 1: found; 0: none, or there is no clsact. Looks at
 * chain 0, where all packets begin. −errno. */
int tc_filters_find(int ifindex, uint32_t parent,
                    bool (*wanted)(const struct tc_filter *filter, void *user), void *user,
                    struct tc_filter *ret_filter, struct err *err);
