/* On which hosts a task may run: an expression over a host's labels, rack and name.
 *
 *     constraint = all { "|" all }       one of them is enough
 *     all        = one { "&" one }       each of them is needed
 *     one        = "!" one | "(" constraint ")" | WORD
 *
 * WORD is a label; `rack=NAME` is a rack, `host=NAME` a host. Blanks between them mean nothing. The
 * empty constraint is met everywhere. Whatever it is, a host with a label of these very characters
 * meets it, as it did when a constraint was one label.
 *
 * Pure; O(length), with at most CONSTRAINT_MAX frames on the stack. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { CONSTRAINT_MAX = 128 }; /* bytes, with the terminating zero */

/* The properties of a host that constraints ask for. Strings are borrowed, none is NULL. */
struct constraint_host {
    const char *name, *rack;
    const char *labels; /* separated by commas */
};

/* 0, or −EINVAL with a sentence that names the column. */
int constraint_check(const char *text, struct err *err);
/* Whether the host meets it. What is no constraint is a label. */
bool constraint_is_met(const char *text, const struct constraint_host *host);
/* The same of its first `length` bytes, which end where constraint_part says. */
bool constraint_part_is_met(const char *text, size_t length, const struct constraint_host *host);

/* Part number `index`, from 0, of those that are each needed: false, when there are no more. "a &
 * (b | c)" has two, "a | b" is one. What is no constraint is one. */
struct constraint_span {
    size_t begin, end; /* bytes of the text */
};
bool constraint_part(const char *text, unsigned index, struct constraint_span *ret_span);
