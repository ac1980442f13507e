#include "controller/cli/graph.h"

#include "lib/join.h"
#include "lib/xml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 20, TOP = 40, BOX_WIDE = 130, BOX_HIGH = 30, COLUMN = 250, ROW = 64 };
enum { PLACES = 4 /* of labels along their arcs, so that few meet */ };

/* Arcs between the same two nodes are drawn as one: a host's slots, which get dearer. */
struct bundle {
    const duopoly_ArcRow *first;
    uint64_t flow, capacity;
    char costs[96];
};

struct picture {
    struct bundle *bundles;
    size_t n;
    uint32_t nodes;
    const char **is; /* by node; NULL: no arc has it */
    int *column, *row;
    int64_t *supplies;
    int columns, rows;
};

static void bundle_add(struct picture *picture, const duopoly_ArcRow *arc)
{
    char cost[24];
    struct bundle *bundle = picture->bundles, *end = bundle + picture->n;
    while (bundle < end && (bundle->first->tail != arc->tail || bundle->first->head != arc->head))
        bundle++;
    if (bundle == end) {
        *bundle = (struct bundle){.first = arc};
        picture->n++;
    }
    bundle->flow += arc->flow;
    bundle->capacity += arc->capacity;
    snprintf(cost, sizeof(cost), "%" PRId64, arc->cost);
    join_word(bundle->costs, sizeof(bundle->costs), ", ", cost);
}

/* A node's column is as far from the last one as its longest way to the sink; the graph has no
 * cycle. What has no way stands beside the hosts. */
static void columns_find(struct picture *picture)
{
    int *after = picture->column; /* columns between it and the last one */
    bool moved = true;
    for (uint32_t node = 2; node <= picture->nodes; node++)
        after[node] = 1;
    for (uint32_t i = 0; moved && i < picture->nodes; i++) {
        moved = false;
        for (size_t b = 0; b < picture->n; b++) {
            const duopoly_ArcRow *arc = picture->bundles[b].first;
            if (after[arc->tail] > after[arc->head])
                continue;
            after[arc->tail] = after[arc->head] + 1;
            moved = true;
        }
    }
    for (uint32_t node = 1; node <= picture->nodes; node++)
        if (picture->is[node] && after[node] >= picture->columns)
            picture->columns = after[node] + 1;
    for (uint32_t node = 1; node <= picture->nodes; node++)
        picture->column[node] = picture->columns - 1 - after[node];
}

static void rows_find(struct picture *picture)
{
    int *used = calloc((size_t)picture->nodes + 2, sizeof(*used));
    for (uint32_t node = 1; used && node <= picture->nodes; node++) {
        if (!picture->is[node])
            continue;
        int column = picture->column[node];
        picture->row[node] = used[column]++;
        picture->rows = used[column] > picture->rows ? used[column] : picture->rows;
    }
    free(used);
}

static int picture_make(const struct graph_read *read, struct picture *picture)
{
    size_t nodes = (size_t)read->nodes + 1;
    picture->nodes = read->nodes;
    picture->bundles = calloc(read->n + 1, sizeof(*picture->bundles));
    picture->is = calloc(nodes, sizeof(*picture->is));
    picture->column = calloc(nodes, sizeof(int));
    picture->row = calloc(nodes, sizeof(int));
    picture->supplies = graph_supplies(read);
    if (!picture->bundles || !picture->is || !picture->column || !picture->row ||
        !picture->supplies)
        return -ENOMEM;
    for (size_t i = 0; i < read->n; i++) {
        bundle_add(picture, &read->arcs[i]);
        picture->is[read->arcs[i].tail] = read->arcs[i].tail_is;
        picture->is[read->arcs[i].head] = read->arcs[i].head_is;
    }
    columns_find(picture);
    rows_find(picture);
    return 0;
}

static void picture_done(struct picture *picture)
{
    free(picture->bundles);
    free(picture->is);
    free(picture->column);
    free(picture->row);
    free(picture->supplies);
}

/* ---- writing ---- */

static int x_of(const struct picture *picture, uint32_t node)
{
    return LEFT + picture->column[node] * COLUMN;
}

/* The middle of its box. A column with fewer rows stands in the middle of the picture. */
static double y_of(const struct picture *picture, uint32_t node)
{
    int in_column = 0;
    for (uint32_t other = 1; other <= picture->nodes; other++)
        in_column += picture->is[other] && picture->column[other] == picture->column[node];
    return TOP + ROW * (picture->row[node] + .5 * (picture->rows - in_column)) + BOX_HIGH / 2.;
}

static void line_write(const struct picture *picture, const struct bundle *bundle, FILE *out)
{
    double x = x_of(picture, bundle->first->tail) + BOX_WIDE,
           y = y_of(picture, bundle->first->tail), to_x = x_of(picture, bundle->first->head),
           to_y = y_of(picture, bundle->first->head), bend = (to_x - x) / 2;
    fprintf(out,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" d=\"M%.0f %.0fC%.0f %.0f %.0f "
            "%.0f %.0f %.0f\"/>\n",
            bundle->flow ? "#0072b2" : "#bbb",
            bundle->flow ? 1.5 + (double)(bundle->flow < 8 ? bundle->flow : 8) / 2 : 1, x, y,
            x + bend, y, to_x - bend, to_y, to_x, to_y);
}

static void label_write(const struct picture *picture, size_t number, FILE *out)
{
    const struct bundle *bundle = &picture->bundles[number];
    double x = x_of(picture, bundle->first->tail) + BOX_WIDE,
           y = y_of(picture, bundle->first->tail), to_x = x_of(picture, bundle->first->head),
           to_y = y_of(picture, bundle->first->head),
           at = .2 + .6 * (double)(number % PLACES) / (PLACES - 1),
           up = at * at * (3 - 2 * at); /* of the curve there */
    fprintf(out, "<text class=\"arc\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\" fill=\"%s\">",
            x + at * (to_x - x), y + up * (to_y - y) - 3, bundle->flow ? "#000" : "#666");
    if (bundle->flow)
        fprintf(out, "%" PRIu64 " at ", bundle->flow);
    fprintf(out, "%s</text>\n", bundle->costs);
}

static void box_write(const struct picture *picture, uint32_t node, FILE *out)
{
    double y = y_of(picture, node);
    fprintf(out,
            "<rect x=\"%d\" y=\"%.0f\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"#fff\" "
            "stroke=\"#000\"/><text x=\"%d\" y=\"%.0f\" text-anchor=\"middle\">",
            x_of(picture, node), y - BOX_HIGH / 2., BOX_WIDE, BOX_HIGH,
            x_of(picture, node) + BOX_WIDE / 2, y + 4);
    if (picture->supplies[node] > 0)
        fprintf(out, "%" PRId64 " ", picture->supplies[node]);
    xml_text(out, picture->is[node]);
    fprintf(out, "</text>\n");
}

int graph_picture(const struct graph_read *read, FILE *out)
{
    struct picture picture = {0};
    int r = picture_make(read, &picture);
    if (r == 0) {
        fprintf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                "font-family=\"sans-serif\" font-size=\"12\">\n"
                "<title>Placement as a minimum-cost flow, cost %" PRId64 "</title>\n"
                "<style>.arc{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:3px}"
                "</style>\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                2 * LEFT + (picture.columns - 1) * COLUMN + BOX_WIDE, 2 * TOP + picture.rows * ROW,
                graph_cost(read));
        for (size_t b = 0; b < picture.n; b++)
            line_write(&picture, &picture.bundles[b], out);
        for (uint32_t node = 1; node <= picture.nodes; node++)
            if (picture.is[node])
                box_write(&picture, node, out);
        for (size_t b = 0; b < picture.n; b++)
            label_write(&picture, b, out);
        fprintf(out, "</svg>\n");
    }
    picture_done(&picture);
    return r;
}
