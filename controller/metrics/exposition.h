/* Text in which Prometheus reads metrics (its exposition format, version 0.0.4): families of
 * samples, each with a type and a sentence, and each whole in one place however its samples come.
 *
 * Names are ours, so they are right; labels' values are peers' texts and are escaped. Pure, but for
 * memory. */
#pragma once

#include "lib/histogram.h"
#include "lib/text.h"

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
struct family;

/* NULL: out of memory. */
struct exposition *exposition_begin(void);

/* The family of a metric; the exposition owns it. All metrics of a name have one type and one
 * sentence. Nothing is borrowed. NULL: out of memory. O(families); O(1) if they are asked for in
 * the same order again. */
struct family *exposition_family(struct exposition *exposition, const struct metric *metric);
/* Adds `n` labels as they stand in a sample, for several of them: a="b",c="d". */
void labels_add(struct text *text, const struct label *labels, unsigned n);
/* One sample of the family (NULL: is left out), no two with the same labels: those of labels_add,
 * and more behind them: "", or text of the same kind that begins with a comma. O(1). */
void family_add(struct family *family, const struct text *labels, const char *more, uint64_t value);

/* One sample of a metric, with `n` labels. */
void exposition_add(struct exposition *exposition, const struct metric *metric,
                    const struct label *labels, unsigned n, uint64_t value);
/* A histogram of durations, in seconds. */
void exposition_histogram(struct exposition *exposition, const char *name, const char *what,
                          const struct histogram *histogram);

/* Nothing more is added: puts EXPOSITION_AT_ONCE bytes at most where the whole text will be. False:
 * all of it is there. */
#define EXPOSITION_AT_ONCE (64u << 10)
bool exposition_join(struct exposition *exposition);

/* The whole text, `*ret_size` bytes; the caller frees it. NULL: out of memory, now or before. Ends
 * the exposition. Does what exposition_join has left. */
char *exposition_end(struct exposition *exposition, size_t *ret_size);
/* Ends it without a text. */
void exposition_drop(struct exposition *exposition);
