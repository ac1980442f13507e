/* `duopolyctl policy --all`: every combination of policies, and whether it works. */
#pragma once

#include "lib/client.h"
#include "lib/writer.h"

int combinations_write(struct client *client, struct writer *writer, struct err *err);
