#include "controller/cli/graph.h"

#include "controller/cli/table.h"
#include "lib/grow.h"
#include "lib/join.h"
#include "lib/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPH_NODES = 1 << 24, TRIES = 8 /* until no other optimum is found between two pages */ };

/* ---- reading ---- */

static int take_page(struct graph_read *read, const duopoly_ArcPage *page, struct err *err)
{
    for (pb_size_t i = 0; i < page->rows_count; i++) {
        const duopoly_ArcRow *row = &page->rows[i];
        if (row->tail > GRAPH_NODES || row->head > GRAPH_NODES)
            return err_set(err, EBADMSG, "the controller names node %" PRIu32 "; %d are possible",
                           row->tail > row->head ? row->tail : row->head, GRAPH_NODES);
        if (!array_grow(read->arcs, read->n, read->size, 256))
            return err_sys(err, ENOMEM, "the graph");
        duopoly_ArcRow *arc = &read->arcs[read->n++];
        *arc = *row;
        printable_clean(arc->tail_is); /* documents are printed as they are */
        printable_clean(arc->head_is);
        read->nodes = row->tail > read->nodes ? row->tail : read->nodes;
        read->nodes = row->head > read->nodes ? row->head : read->nodes;
    }
    return 0;
}

/* 0: all pages are of one optimum. 1: they are not. */
static int read_once(struct client *client, struct graph_read *read, struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_ARCS};
    read->n = 0;
    read->nodes = 1;
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_arc_page_tag, &answer, err);
        if (r < 0)
            return r;
        const duopoly_ArcPage *page = &answer->body.arc_page;
        if (list.cursor && page->round != read->round)
            return 1;
        read->round = page->round;
        r = take_page(read, page, err);
        if (r < 0)
            return r;
        list.cursor = page->cursor;
    } while (list.cursor);
    return 0;
}

static int read_all(struct client *client, struct graph_read *read, struct err *err)
{
    for (int i = 0; i < TRIES; i++) {
        int r = read_once(client, read, err);
        if (r < 0)
            return r;
        if (r == 0)
            return read->n ? 0
                           : err_set(err, EAGAIN,
                                     "there is no optimum yet: ask again when a task was placed");
    }
    return err_set(err, EAGAIN, "the graph changes faster than it is read: ask again");
}

/* ---- sums ---- */

static int64_t cut(__int128 sum)
{
    return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

int64_t graph_cost(const struct graph_read *read)
{
    __int128 sum = 0;
    for (size_t i = 0; i < read->n; i++)
        sum += (__int128)read->arcs[i].cost * (int64_t)read->arcs[i].flow;
    return cut(sum);
}

int64_t graph_ranked_cost(const struct graph_read *read)
{
    __int128 sum = 0;
    for (size_t i = 0; i < read->n; i++)
        sum += (__int128)read->arcs[i].ranked * (int64_t)read->arcs[i].flow;
    return cut(sum);
}

int64_t *graph_supplies(const struct graph_read *read)
{
    int64_t *supplies = calloc((size_t)read->nodes + 1, sizeof(*supplies));
    for (size_t i = 0; supplies && i < read->n; i++) {
        supplies[read->arcs[i].tail] += (int64_t)read->arcs[i].flow;
        supplies[read->arcs[i].head] -= (int64_t)read->arcs[i].flow;
    }
    return supplies;
}

/* Marks the heads of arcs whose tails are marked, until no more are: at most as many turns as the
 * longest way has arcs. */
static void spread_marks(const struct graph_read *read, bool *marked)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < read->n; i++) {
            const duopoly_ArcRow *arc = &read->arcs[i];
            bool is_new = marked[arc->tail] && !marked[arc->head];
            marked[arc->head] |= is_new;
            more |= is_new;
        }
    }
}

int graph_reached(const struct graph_read *read, struct graph_read *ret_reached)
{
    int64_t *supplies = graph_supplies(read);
    bool *marked = calloc((size_t)read->nodes + 1, sizeof(*marked));
    struct graph_read reached = {.round = read->round, .nodes = read->nodes};
    reached.arcs = calloc(read->n + 1, sizeof(*reached.arcs));
    bool made = supplies && marked && reached.arcs;
    for (uint32_t node = 1; made && node <= read->nodes; node++)
        marked[node] = supplies[node] > 0;
    if (made)
        spread_marks(read, marked);
    for (size_t i = 0; made && i < read->n; i++)
        if (marked[read->arcs[i].tail])
            reached.arcs[reached.n++] = read->arcs[i];
    free(supplies);
    free(marked);
    if (!made)
        free(reached.arcs);
    else
        *ret_reached = reached;
    return made ? 0 : -ENOMEM;
}

/* ---- texts ---- */

static void quoted_write(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', out);
}

static void node_write(uint32_t node, const char *is, bool *said, const int64_t *supplies,
                       FILE *out)
{
    char label[sizeof(((duopoly_ArcRow *)0)->tail_is) + 32];
    if (said[node])
        return;
    said[node] = true;
    if (supplies[node] > 0)
        snprintf(label, sizeof(label), "%s: %" PRId64, is, supplies[node]);
    else
        snprintf(label, sizeof(label), "%s", is);
    fprintf(out, "  n%" PRIu32 " [label=", node);
    quoted_write(label, out);
    fprintf(out, "];\n");
}

/* An arc is labelled with its flow, its capacity where one is set, and its cost. */
static void arc_write(const duopoly_ArcRow *arc, FILE *out)
{
    fprintf(out, "  n%" PRIu32 " -> n%" PRIu32 " [label=\"", arc->tail, arc->head);
    if (arc->lower)
        fprintf(out, "[%" PRIu64 ", %" PRIu64 "] ", arc->lower, arc->capacity);
    fprintf(out, "%" PRIu64 " of %" PRIu64 " at %" PRId64 "\"%s];\n", arc->flow, arc->capacity,
            arc->cost, arc->flow ? ", penwidth=2" : ", color=gray");
}

static int reached_dot_write(const struct graph_read *read, FILE *out)
{
    int64_t *supplies = graph_supplies(read);
    bool *said = calloc((size_t)read->nodes + 1, sizeof(*said));
    if (supplies && said) {
        fprintf(out,
                "// optimum %" PRIu64 ", cost %" PRId64
                ". An arc: what it carries, of what it can, at what cost each.\n"
                "digraph placement {\n  rankdir=LR;\n",
                read->round, graph_cost(read));
        for (size_t i = 0; i < read->n; i++) {
            const duopoly_ArcRow *arc = &read->arcs[i];
            node_write(arc->tail, arc->tail_is, said, supplies, out);
            node_write(arc->head, arc->head_is, said, supplies, out);
            arc_write(arc, out);
        }
        fprintf(out, "}\n");
    }
    int r = supplies && said ? 0 : -ENOMEM;
    free(supplies);
    free(said);
    return r;
}

static int dot_write(const struct graph_read *all, FILE *out)
{
    struct graph_read read;
    int r = graph_reached(all, &read);
    if (r < 0)
        return r;
    r = reached_dot_write(&read, out);
    free(read.arcs);
    return r;
}

/* WHY ranked costs: those are what was minimised. What decides between equals adds up over many
 * tasks, so an optimum of the plain costs may cost a little less. */
static int dimacs_write(const struct graph_read *read, FILE *out)
{
    int64_t *supplies = graph_supplies(read);
    if (!supplies)
        return -ENOMEM;
    fprintf(out,
            "c duopolyctl graph, optimum %" PRIu64 "\n"
            "c cost %" PRId64 "; with what decides between equals, as below: %" PRId64 "\n"
            "p min %" PRIu32 " %zu\n",
            read->round, graph_cost(read), graph_ranked_cost(read), read->nodes, read->n);
    for (uint32_t node = 1; node <= read->nodes; node++)
        if (supplies[node])
            fprintf(out, "n %" PRIu32 " %" PRId64 "\n", node, supplies[node]);
    for (size_t i = 0; i < read->n; i++) {
        const duopoly_ArcRow *arc = &read->arcs[i];
        fprintf(out,
                "a %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRId64 "\n"
                "c   %s -> %s: %" PRIu64 " at %" PRId64 "\n",
                arc->tail, arc->head, arc->lower, arc->capacity, arc->ranked, arc->tail_is,
                arc->head_is, arc->flow, arc->cost);
    }
    free(supplies);
    return 0;
}

/* ---- the command ---- */

static const struct format {
    const char *name;
    int (*write)(const struct graph_read *read, FILE *out);
} formats[] = {{"dot", dot_write}, {"dimacs", dimacs_write}, {0}};

static const struct format *format_find(const char *name)
{
    for (const struct format *f = formats; f->name; f++)
        if (!name || strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

int graph_check(const struct request *request, struct err *err)
{
    char names[32] = "";
    if (format_find(request->as))
        return 0;
    for (const struct format *f = formats; f->name; f++)
        join_word(names, sizeof(names), ", ", f->name);
    return err_set(err, EINVAL, "there is no format '%s' of a graph; there are: %s", request->as,
                   names);
}

static int document_write(const struct graph_read *read, const struct format *format,
                          struct writer *writer, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return err_sys(err, ENOMEM, "the graph");
    int r = format->write(read, out);
    if (fclose(out) != 0 || r < 0) {
        r = err_sys(err, ENOMEM, "the graph");
    } else {
        writer_field(writer, "format", NULL, value_text(format->name));
        writer_document(writer, "document", text);
    }
    free(text);
    return r;
}

static int reached_picture_write(const struct graph_read *read, const char *path, struct err *err)
{
    if (read->n > GRAPH_PICTURE_ARCS)
        return err_set(
            err, E2BIG,
            "a graph of %zu arcs makes no picture, which has at most %d: give its DOT to "
            "another program",
            read->n, GRAPH_PICTURE_ARCS);
    FILE *out = fopen(path, "we");
    if (!out)
        return err_sys(err, errno, "%s", path);
    int r = graph_picture(read, out);
    bool bad = ferror(out);
    if (fclose(out) != 0 || bad || r < 0)
        return err_sys(err, r < 0 ? -r : bad ? EIO : errno, "%s", path);
    return 0;
}

static int picture_write(const struct graph_read *all, const char *path, struct err *err)
{
    struct graph_read read;
    int r = graph_reached(all, &read);
    if (r < 0)
        return err_sys(err, -r, "the graph");
    r = reached_picture_write(&read, path, err);
    free(read.arcs);
    return r;
}

#define ROW duopoly_ArcRow
/* For JSON alone. */
static const struct cell cells[] = {
    CELL("arc", NULL, ID, arc),
    CELL("what", NULL, TEXT, what),
    CELL("tail", NULL, ID, tail),
    CELL("head", NULL, ID, head),
    CELL("tail_is", NULL, TEXT, tail_is),
    CELL("head_is", NULL, TEXT, head_is),
    CELL("lower", NULL, NUMBER, lower),
    CELL("capacity", NULL, NUMBER, capacity),
    CELL("flow", NULL, NUMBER, flow),
    CELL("cost", NULL, SIGNED, cost),
    CELL("ranked_cost", NULL, SIGNED, ranked),
    {0},
};

static void arcs_write(const struct graph_read *read, struct writer *writer)
{
    struct table table;
    writer_field(writer, "round", NULL, value_number(read->round));
    writer_field(writer, "cost", NULL, value_signed(graph_cost(read)));
    writer_field(writer, "ranked_cost", NULL, value_signed(graph_ranked_cost(read)));
    table_begin(&table, "arcs", cells, NULL, writer);
    for (size_t i = 0; i < read->n; i++)
        table_row(&table, &read->arcs[i], NULL);
    table_end(&table, 0);
}

int run_graph(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    struct graph_read read = {0};
    writer_schema(writer, "graph", NULL);
    int r = read_all(client, &read, err);
    if (r == 0 && request->svg)
        r = picture_write(&read, request->svg, err);
    if (r == 0)
        r = document_write(&read, format_find(request->as), writer, err);
    if (r == 0)
        arcs_write(&read, writer);
    free(read.arcs);
    return r;
}
