/* Work that would hold the loop for too long, done in portions: one of PORTION_NS with each turn of the loop,
 * beside whatever else is to be done. One thread. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#define PORTION_NS INT64_C(500000)

struct portions;

/* `go_on` does a small part of the work (a fifth of a portion, or less) and returns whether there is more. */
int portions_open(sd_event *loop, bool (*go_on)(void *user), void *user,
                  struct portions **ret_portions, struct err *err);
/* There is work, or may be: `go_on` is called from the loop until it returns false. */
void portions_begin(struct portions *portions);
/* NULL is fine; what is not done stays so. */
void portions_close(struct portions *portions);
