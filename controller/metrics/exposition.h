/* Text in which Prometheus reads metrics (its exposition format, version 0.0.4): families of
 * samples, each with a type and a sentence, and each whole in one place however its samples come.
 *
 * Names are ours, so they are right; labels' values are peers' texts and are escaped. Pure, but for
 * memory; adding is O(1) if samples come in the same order for each host, else O(families). */
#pragma once

#include "lib/histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE };

struct metric {
    const char *name; /* letters, digits, '_', '.'. Its unit may be at its end: _ns and _us are
                       * shown in seconds, _permille as a ratio. A counter gets _total. */
    const char *what; /* a sentence for people */
    enum metric_type type;
};

struct label {
    const char *name, *value;
};

struct exposition;

/* NULL: out of memory. */
struct exposition *exposition_begin(void);

/* One sample, with labels (`n` of them), no two with the same ones. All metrics of a name have one
 * type and one sentence. Nothing is borrowed. */
void exposition_add(struct exposition *exposition, const struct metric *metric,
                    const struct label *labels, unsigned n, uint64_t value);
/* A histogram of durations, in seconds. */
void exposition_histogram(struct exposition *exposition, const char *name, const char *what,
                          const struct histogram *histogram);

/* The whole text, `*ret_size` bytes; the caller frees it. NULL: out of memory, now or before. Ends
 * the exposition. */
char *exposition_end(struct exposition *exposition, size_t *ret_size);
