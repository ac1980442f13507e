/* Finds the structure that holds a member, for callbacks that are given the member. */
#pragma once

#include <stddef.h>

/* The `type` whose `member` stands at `pointer`. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
