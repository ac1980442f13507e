#include "testbed/sim/link_picture.h"

#include "testbed/sim/figure.h"

#include <errno.h>
#include <stdlib.h>

/* More than an SVG of a column's width can show. */
enum { BINS = 183, PARTS = 4 };

static const char *const names[PARTS] = {"carried", "awaits senders", "tasks held",
                                         "nothing ready"};

void link_picture_listen(void *picture, const struct run_links *links)
{
    struct link_picture *p = picture;
    if (p->n == p->room && !p->failed) {
        size_t room = p->room ? 2 * p->room : 1024;
        void *grown = realloc(p->spans, room * sizeof(*p->spans));
        p->failed = !grown;
        p->spans = grown ? grown : p->spans;
        p->room = grown ? room : p->room;
    }
    if (!p->failed)
        p->spans[p->n++] = *links;
}

struct bins {
    double x[BINS], part[PARTS][BINS], all[PARTS];
    double from_ns, width_ns;
};

/* Spreads what was so from one instant to the next over the bins that it touches. */
static void add_span(struct bins *b, const struct run_links *s)
{
    const double parts[PARTS] = {s->carried, s->awaited, s->held, s->nothing};
    double at_ns = (double)s->from_ns, to_ns = (double)s->to_ns;
    while (at_ns < to_ns) {
        size_t bin = (size_t)((at_ns - b->from_ns) / b->width_ns);
        bin = bin < BINS ? bin : BINS - 1;
        double edge_ns = b->from_ns + (double)(bin + 1) * b->width_ns;
        double until_ns = bin + 1 < BINS && edge_ns < to_ns && edge_ns > at_ns ? edge_ns : to_ns;
        for (int i = 0; i < PARTS; i++) {
            b->part[i][bin] += 100 * parts[i] * (until_ns - at_ns) / b->width_ns;
            b->all[i] += 100 * parts[i] * (until_ns - at_ns) / (b->width_ns * BINS);
        }
        at_ns = until_ns;
    }
}

int link_picture_write(const struct link_picture *picture, const char *title, FILE *out)
{
    char said[PARTS][32];
    struct bins *b = calloc(1, sizeof(*b));
    if (!b || picture->failed || !picture->n) {
        free(b);
        return -ENOMEM;
    }
    b->from_ns = (double)picture->spans[0].from_ns;
    b->width_ns = ((double)picture->spans[picture->n - 1].to_ns - b->from_ns) / BINS;
    for (size_t i = 0; i < BINS; i++)
        b->x[i] = (b->from_ns + ((double)i + .5) * b->width_ns) * 1e-9;
    for (size_t i = 0; i < picture->n; i++)
        add_span(b, &picture->spans[i]);
    struct figure f = {.kind = FIGURE_AREAS,
                       .title = title,
                       .x_name = "time, s",
                       .y_name = "downlinks' rate, %",
                       .top = 100,
                       .n_series = PARTS};
    for (int i = 0; i < PARTS; i++) {
        snprintf(said[i], sizeof(said[i]), "%s %.0f %%", names[i], b->all[i]);
        f.series[i] = (struct figure_series){said[i], BINS, b->x, b->part[i], NULL, NULL};
    }
    figure_write(&f, out);
    free(b);
    return 0;
}

void link_picture_done(struct link_picture *picture)
{
    free(picture->spans);
    *picture = (struct link_picture){0};
}
