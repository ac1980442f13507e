#include "tests/mincost/plain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *grow(void *array, size_t old_count, size_t count, size_t size)
{
    char *grown = realloc(array, count * size);
    if (!grown)
        abort();
    memset(grown + old_count * size, 0, (count - old_count) * size);
    return grown;
}

void changes_add(struct changes *changes, struct mincost_change change)
{
    if (changes->count == changes->room) {
        size_t room = changes->room * 2 + 64;
        changes->items = grow(changes->items, changes->room, room, sizeof change);
        changes->room = room;
    }
    changes->items[changes->count++] = change;
}

static void set_node(struct plain *plain, uint32_t id, bool there, int64_t supply)
{
    if (id >= plain->nodes_room) {
        uint32_t room = 2 * id + 64;
        plain->supply = grow(plain->supply, plain->nodes_room, room, sizeof *plain->supply);
        plain->node_there =
            grow(plain->node_there, plain->nodes_room, room, sizeof *plain->node_there);
        plain->nodes_room = room;
    }
    if (id > plain->max_node)
        plain->max_node = id;
    plain->supply[id] = supply;
    plain->node_there[id] = there;
}

static struct plain_arc *find_arc(struct plain *plain, uint32_t id)
{
    if (id >= plain->arcs_room) {
        uint32_t room = 2 * id + 64;
        plain->arcs = grow(plain->arcs, plain->arcs_room, room, sizeof *plain->arcs);
        plain->arcs_room = room;
    }
    if (id > plain->max_arc)
        plain->max_arc = id;
    return &plain->arcs[id];
}

void plain_apply(struct plain *plain, const struct mincost_change *c)
{
    switch (c->kind) {
    case MINCOST_NODE:
        set_node(plain, c->id, true, c->cost);
        break;
    case MINCOST_NODE_GONE:
        set_node(plain, c->id, false, 0);
        break;
    case MINCOST_ARC:
        *find_arc(plain, c->id) =
            (struct plain_arc){c->tail, c->head, c->lower, c->capacity, c->cost};
        break;
    case MINCOST_ARC_MODIFIED: {
        struct plain_arc *arc = find_arc(plain, c->id);
        *arc = (struct plain_arc){arc->tail, arc->head, c->lower, c->capacity, c->cost};
        break;
    }
    case MINCOST_ARC_GONE:
        find_arc(plain, c->id)->tail = 0;
        break;
    }
}

void plain_done(struct plain *plain)
{
    free(plain->arcs);
    free(plain->supply);
    free(plain->node_there);
}

void plain_write_dimacs(const struct plain *plain, FILE *file)
{
    uint32_t arcs = 0;
    for (uint32_t a = 1; a <= plain->max_arc; a++)
        arcs += plain->arcs[a].tail != 0;
    fprintf(file, "p min %" PRIu32 " %" PRIu32 "\n", plain->max_node, arcs);
    for (uint32_t v = 1; v <= plain->max_node; v++)
        if (plain->node_there[v] && plain->supply[v])
            fprintf(file, "n %" PRIu32 " %" PRId64 "\n", v, plain->supply[v]);
    for (uint32_t a = 1; a <= plain->max_arc; a++) {
        const struct plain_arc *arc = &plain->arcs[a];
        if (arc->tail)
            fprintf(file, "a %" PRIu32 " %" PRIu32 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                    arc->tail, arc->head, arc->lower, arc->capacity, arc->cost);
    }
}

static void write_change(const struct mincost_change *c, FILE *file)
{
    switch (c->kind) {
    case MINCOST_NODE:
        fprintf(file, "n %" PRIu32 " %" PRId64 "\n", c->id, c->cost);
        break;
    case MINCOST_NODE_GONE:
        fprintf(file, "x %" PRIu32 "\n", c->id);
        break;
    case MINCOST_ARC:
        fprintf(file, "a %" PRIu32 " %" PRIu32 " %" PRIu32 " ", c->id, c->tail, c->head);
        fprintf(file, "%" PRId64 " %" PRId64 " %" PRId64 "\n", c->lower, c->capacity, c->cost);
        break;
    case MINCOST_ARC_MODIFIED:
        fprintf(file, "m %" PRIu32 " %" PRId64 " %" PRId64 " %" PRId64 "\n", c->id, c->lower,
                c->capacity, c->cost);
        break;
    case MINCOST_ARC_GONE:
        fprintf(file, "d %" PRIu32 "\n", c->id);
        break;
    }
}

void changes_write(const struct changes *changes, FILE *file)
{
    fprintf(file, "r\n");
    for (size_t i = 0; i < changes->count; i++)
        write_change(&changes->items[i], file);
}

int64_t cpu_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}
