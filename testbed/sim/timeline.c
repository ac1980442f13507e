#include "testbed/sim/timeline.h"

#include "lib/grow.h"
#include "testbed/sim/areas.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct timeline_life {
    uint64_t attempt;
    bool received;
    UT_hash_handle hh;
};

static void advance(struct timeline *t, int64_t now_ns)
{
    const double parts[TIME_BINS_PARTS] = {(double)t->receiving, (double)t->computing};
    if (t->now_ns || t->receiving || t->computing)
        time_bins_add(&t->bins, t->now_ns, now_ns, parts);
    t->now_ns = now_ns;
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

static void add_band(struct timeline *t)
{
    if (!array_grow(t->bands, t->n_bands, t->bands_allocated, 64)) {
        t->failed = true;
        return;
    }
    t->bands[t->n_bands++] =
        (struct figure_band){(double)t->starved_ns * 1e-9, (double)t->now_ns * 1e-9};
}

static void set_starved(struct timeline *t, bool starved)
{
    if (t->starved && !starved)
        add_band(t);
    if (!t->starved)
        t->starved_ns = t->now_ns;
    t->starved = starved;
}

void timeline_watch(void *timeline, const struct run_news *news)
{
    struct timeline *t = timeline;
    struct timeline_life *life;
    if (t->failed)
        return;
    advance(t, news->now_ns);
    HASH_FIND(hh, t->live, &news->attempt, sizeof(news->attempt), life);
    if (news->moment == RUN_MODE) {
        set_starved(t, news->mode == MODE_SLOT_STARVED);
    } else if (news->moment == RUN_STARTED) {
        begin(t, news->attempt);
    } else if (life && news->moment == RUN_RECEIVED) {
        life->received = true;
        t->receiving--;
        t->computing++;
    } else if (life) {
        end(t, life);
    }
}

/* Joins neighbours that are closer than a bin: they could not be told apart. */
static void join_bands(struct timeline *t)
{
    double width_s = (double)((int64_t)1 << t->bins.shift) * 1e-9;
    size_t n = 0;
    for (size_t i = 0; i < t->n_bands; i++)
        if (n && t->bands[i].from - t->bands[n - 1].to < width_s)
            t->bands[n - 1].to = t->bands[i].to;
        else
            t->bands[n++] = t->bands[i];
    t->n_bands = n;
}

int timeline_write(struct timeline *t, const char *title, uint64_t slots, FILE *out)
{
    struct areas areas;
    set_starved(t, false);
    if (t->failed)
        return -ENOMEM;
    join_bands(t);
    areas_of(&t->bins, &areas);
    struct figure f = {
        .kind = FIGURE_AREAS,
        .title = title,
        .x_name = "time, s",
        .y_name = "slots",
        .top = (double)slots,
        .n_series = 2,
        .series = {areas_series(&areas, 0, "receiving"), areas_series(&areas, 1, "computing")},
        .band_name = "slot-starved",
        .bands = t->bands,
        .n_bands = t->n_bands};
    figure_write(&f, out);
    return 0;
}

void timeline_done(struct timeline *t)
{
    struct timeline_life *life, *next;
    HASH_ITER (hh, t->live, life, next) {
        HASH_DELETE(hh, t->live, life);
        free(life);
    }
    free(t->bands);
    *t = (struct timeline){0};
}
