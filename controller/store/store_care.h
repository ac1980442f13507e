/* Slow work: reading the whole file and checking each row, or copying it. Runs in a thread and on a
 * connection of its own, beside the writer. */
#pragma once

#include "controller/store/store_file.h"

#include <systemd/sd-event.h>

/* `rows` were read; err->code 0: all are sound. */
typedef void store_care_done(void *user, const struct err *err, uint64_t rows);

struct store_care;

/* `to` NULL: checks the store at `path`; else copies it to the new file `to` and checks the copy.
 * `on_done` is called once from the loop; call store_care_end after it. Strings are copied. */
int store_care_begin(const char *path, const char *to, const struct store_schema *schema,
                     sd_event *loop, store_care_done *on_done, void *user,
                     struct store_care **ret_care, struct err *err);
/* Ends it, soon, if it is not done. NULL is fine. */
void store_care_end(struct store_care *care);
