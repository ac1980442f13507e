/* Fuzz target of what a process's command line says of an executor
 * (hostagent/guests/executor_line.h): what is taken is within its bounds, and a line of its words
 * alone says the same. */
#include "hostagent/guests/executor_line.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct executor_line line, again;
    char *copy = malloc(size ? size : 1); /* a byte too far is seen */
    memcpy(copy, data, size);
    if (executor_line_parse(copy, size, &line) == 0) {
        char text[256];
        int n = snprintf(text, sizeof(text), "x%c--cores%c%u%c--app-id%c%s%c--executor-id%c%s", 0,
                         0, line.cores, 0, 0, line.application, 0, 0, line.executor);
        must(n > 0 && (size_t)n < sizeof(text) && line.cores && line.cores <= EXECUTOR_CORES);
        must(wire_name_valid(line.application) && wire_name_valid(line.executor));
        must(executor_line_parse(text, (size_t)n + 1, &again) == 0 && again.cores == line.cores);
        must(strcmp(again.application, line.application) == 0 &&
             strcmp(again.executor, line.executor) == 0);
    }
    free(copy);
    return 0;
}
