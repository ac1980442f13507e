#include "testbed/sim/timeline.h"

#include "testbed/sim/figure.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* More than an SVG of a column's width can show. */
enum { BINS = 366 };

struct timeline_change {
    int64_t now_ns;
    uint32_t receiving, computing;
    bool starved;
};

struct timeline_life {
    uint64_t attempt;
    bool received;
    UT_hash_handle hh;
};

static void add_change(struct timeline *t, int64_t now_ns)
{
    struct timeline_change change = {now_ns, (uint32_t)t->receiving, (uint32_t)t->computing,
                                     t->starved};
    if (t->n && t->changes[t->n - 1].now_ns == now_ns) {
        t->changes[t->n - 1] = change;
        return;
    }
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 1024;
        void *grown = realloc(t->changes, room * sizeof(*t->changes));
        if (!grown) {
            t->failed = true;
            return;
        }
        t->changes = grown;
        t->room = room;
    }
    t->changes[t->n++] = change;
}

static void begin(struct timeline *t, uint64_t attempt)
{
    struct timeline_life *life = calloc(1, sizeof(*life));
    if (!life) {
        t->failed = true;
        return;
    }
    life->attempt = attempt;
    HASH_ADD(hh, t->live, attempt, sizeof(life->attempt), life);
    t->failed |= !life->hh.tbl;
    t->receiving++;
}

static void end(struct timeline *t, struct timeline_life *life)
{
    if (life->received)
        t->computing--;
    else
        t->receiving--;
    HASH_DELETE(hh, t->live, life);
    free(life);
}

void timeline_watch(void *timeline, const struct run_news *news)
{
    struct timeline *t = timeline;
    struct timeline_life *life;
    if (t->failed)
        return;
    HASH_FIND(hh, t->live, &news->attempt, sizeof(news->attempt), life);
    if (news->moment == RUN_MODE) {
        t->starved = news->mode == MODE_SLOT_STARVED;
    } else if (news->moment == RUN_STARTED) {
        begin(t, news->attempt);
    } else if (life && news->moment == RUN_RECEIVED) {
        life->received = true;
        t->receiving--;
        t->computing++;
    } else if (life) {
        end(t, life);
    }
    add_change(t, news->now_ns);
}

struct bins {
    double x[BINS], receiving[BINS], computing[BINS];
    struct figure_band bands[BINS];
    size_t n_bands;
    double from_s, width_s;
};

/* Spreads what was so from one instant to the next over the bins that it touches. */
static void add_span(struct bins *b, const struct timeline_change *was, double from_s, double to_s)
{
    double at_s = from_s;
    while (at_s < to_s) {
        size_t bin = (size_t)((at_s - b->from_s) / b->width_s);
        bin = bin < BINS ? bin : BINS - 1;
        double edge_s = b->from_s + (double)(bin + 1) * b->width_s;
        double until_s = bin + 1 < BINS && edge_s < to_s && edge_s > at_s ? edge_s : to_s;
        double part = (until_s - at_s) / b->width_s;
        b->receiving[bin] += part * was->receiving;
        b->computing[bin] += part * was->computing;
        at_s = until_s;
    }
}

/* Neighbours closer than a bin are one: more could not be seen. */
static void add_band(struct bins *b, double from_s, double to_s)
{
    struct figure_band *last = b->n_bands ? &b->bands[b->n_bands - 1] : NULL;
    if (last && from_s - last->to < b->width_s)
        last->to = to_s;
    else if (b->n_bands < BINS)
        b->bands[b->n_bands++] = (struct figure_band){from_s, to_s};
}

static void fill(struct bins *b, const struct timeline *t)
{
    for (size_t i = 0; i + 1 < t->n; i++) {
        double from_s = (double)t->changes[i].now_ns * 1e-9;
        double to_s = (double)t->changes[i + 1].now_ns * 1e-9;
        add_span(b, &t->changes[i], from_s, to_s);
        if (t->changes[i].starved)
            add_band(b, from_s, to_s);
    }
}

int timeline_write(const struct timeline *t, const char *title, uint64_t slots, FILE *out)
{
    struct bins *b = calloc(1, sizeof(*b));
    if (!b || t->failed || !t->n) {
        free(b);
        return -ENOMEM;
    }
    b->from_s = (double)t->changes[0].now_ns * 1e-9;
    double span_s = (double)t->changes[t->n - 1].now_ns * 1e-9 - b->from_s;
    b->width_s = span_s > 0 ? span_s / BINS : 1;
    for (size_t i = 0; i < BINS; i++)
        b->x[i] = b->from_s + ((double)i + .5) * b->width_s;
    fill(b, t);
    struct figure f = {.kind = FIGURE_AREAS,
                       .title = title,
                       .x_name = "time, s",
                       .y_name = "slots",
                       .top = (double)slots,
                       .n_series = 2,
                       .series = {{"receiving", BINS, b->x, b->receiving, NULL, NULL},
                                  {"computing", BINS, b->x, b->computing, NULL, NULL}},
                       .band_name = "slot-starved",
                       .bands = b->bands,
                       .n_bands = b->n_bands};
    figure_write(&f, out);
    free(b);
    return 0;
}

void timeline_done(struct timeline *t)
{
    struct timeline_life *life, *next;
    HASH_ITER (hh, t->live, life, next) {
        HASH_DELETE(hh, t->live, life);
        free(life);
    }
    free(t->changes);
    *t = (struct timeline){0};
}
