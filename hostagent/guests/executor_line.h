/* Reads a framework's executor from a command line (pure).
 *
 * Spark starts an executor, under every cluster manager, as a program with the options --app-id,
 * --executor-id and --cores, each followed by its value as a word of its own
 * (CoarseGrainedExecutorBackend, Spark 3.5 to 4.3). The rest of the line is ignored; of repeated
 * options the last one counts, as in Spark. The caller decides whom to trust: anybody can start a
 * program with such words. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EXECUTOR_LINE_MOST (256u << 10) /* bytes of a line that are read */
#define EXECUTOR_CORES     4096

struct executor_line {
    char application[64]; /* as wire_name_valid wants it */
    char executor[32];
    uint32_t cores; /* tasks at once: 1 … EXECUTOR_CORES */
};

/* `line`: n bytes of words, each ended by NUL, as in /proc/PID/cmdline. 0; −ENOENT: not an
 * executor; −EINVAL: an executor whose names or cores are out of range. O(n). */
int executor_line_parse(const char *line, size_t n, struct executor_line *ret_line);
