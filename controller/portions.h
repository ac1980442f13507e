/* Does long work in portions of PORTION_NS, one in each turn of the loop, between other work. One
 * thread. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#define PORTION_NS INT64_C(500000)

struct portions;

/* `go_on` does a small part of the work (at most a fifth of a portion) and returns whether there is
 * more. */
int portions_open(sd_event *loop, bool (*go_on)(void *user), void *user,
                  struct portions **ret_portions, struct err *err);
/* There may be work: `go_on` is called from the loop until it returns false. */
void portions_begin(struct portions *portions);
/* NULL is fine; the rest of the work is not done. */
void portions_close(struct portions *portions);
