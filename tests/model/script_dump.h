/* The records of a dump, and the engine that they make. */
#pragma once

#include "tests/model/script.h"

/* Records one behind the other, each with its line end; whoever begins it with zeros frees
 * `text`. */
struct lines {
    char *text;
    size_t used, size, at; /* at: what lines_next() gives next */
};

/* A line_write: appends, with or without a line end of its own. */
int lines_keep(void *context, const char *line, size_t length);

/* A line_read: the next line's length without its end; 0: no more. */
int lines_next(void *context, const char **ret_line);

/* The engine that a dump of `engine` makes; its own dump is the same. */
struct engine *load_dump_of(const struct engine *engine);
