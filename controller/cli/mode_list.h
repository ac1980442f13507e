/* `duopolyctl mode history`: the changes of the mode. */
#pragma once

#include "lib/client.h"
#include "lib/writer.h"

/* "slot-rich", "slot-starved". */
const char *mode_word(uint32_t mode);

int mode_history_write(struct client *client, struct writer *writer, struct err *err);
