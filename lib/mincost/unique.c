/* Whether an optimum could carry the same units at the same cost in another way.
 *
 * Two flows of equal cost differ by cycles of residual arcs whose reduced costs are 0, whatever the
 * prices. An arc that can carry one unit more as well as one less makes its ends one place. A cycle
 * is closed by a second such arc within a place, by any other arc within it, and by a way round
 * between places. */
#include <errno.h>
#include <stdlib.h>

#include "lib/mincost/graph.h"

#define NONE UINT32_MAX

struct step {
    uint32_t from, to, next; /* `next` of those from the same place */
};

struct places {
    struct mincost *m;
    uint32_t *parent; /* of a place's nodes, towards the one that stands for it */
    uint32_t *first, *arriving, *idle;
    struct step *steps;
    uint32_t n_places, n_steps;
};

static uint32_t place_of(struct places *p, uint32_t node)
{
    struct label *label = &p->m->labels[node];
    if (label->stamp != p->m->stamp) {
        *label = (struct label){.via = p->n_places, .stamp = p->m->stamp};
        p->parent[p->n_places] = p->n_places;
        p->n_places++;
    }
    uint32_t i = label->via;
    while (p->parent[i] != i)
        i = p->parent[i] = p->parent[p->parent[i]];
    return i;
}

/* Joins the ends of arcs that can carry more and less; false: they close a cycle. */
static bool join(struct places *p, const uint32_t *arcs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct arc *a = &p->m->arcs[arcs[i]];
        if (!arc_is_tight(p->m, arcs[i]) || a->flow >= a->capacity || a->flow <= a->lower)
            continue;
        uint32_t tail = place_of(p, arc_tail(p->m, arcs[i])),
                 head = place_of(p, arc_head(p->m, arcs[i]));
        if (tail == head)
            return false;
        p->parent[tail] = head;
    }
    return true;
}

/* Notes the steps that go one way only; false: one stays in its place, and closes a cycle. */
static bool note_steps(struct places *p, const uint32_t *arcs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct arc *a = &p->m->arcs[arcs[i]];
        if (!arc_is_tight(p->m, arcs[i]) || (a->flow < a->capacity) == (a->flow > a->lower))
            continue;
        uint32_t tail = place_of(p, arc_tail(p->m, arcs[i])),
                 head = place_of(p, arc_head(p->m, arcs[i]));
        if (tail == head)
            return false;
        bool more = a->flow < a->capacity;
        p->steps[p->n_steps++] = (struct step){more ? tail : head, more ? head : tail, NONE};
    }
    return true;
}

/* Takes away places at which no step arrives, until none is left or a cycle remains. */
static bool is_free_of_cycles(struct places *p)
{
    uint32_t n_idle = 0, taken = 0;
    for (uint32_t i = 0; i < p->n_places; i++) {
        p->first[i] = NONE;
        p->arriving[i] = 0;
    }
    for (uint32_t i = 0; i < p->n_steps; i++) {
        p->steps[i].next = p->first[p->steps[i].from];
        p->first[p->steps[i].from] = i;
        p->arriving[p->steps[i].to]++;
    }
    for (uint32_t i = 0; i < p->n_places; i++)
        if (!p->arriving[i])
            p->idle[n_idle++] = i;
    for (; taken < n_idle; taken++)
        for (uint32_t s = p->first[p->idle[taken]]; s != NONE; s = p->steps[s].next)
            if (--p->arriving[p->steps[s].to] == 0)
                p->idle[n_idle++] = p->steps[s].to;
    return taken == p->n_places;
}

int mincost_is_unique(struct mincost *m, const uint32_t *arcs, size_t count, bool *ret_unique)
{
    struct places p = {.m = m};
    size_t nodes = 2 * count + 1;
    uint32_t *room = malloc(nodes * 4 * sizeof(*room));
    p.steps = malloc((count + 1) * sizeof(*p.steps));
    if (room && p.steps) {
        p.parent = room;
        p.first = room + nodes;
        p.arriving = room + 2 * nodes;
        p.idle = room + 3 * nodes;
        m->stamp++;
        *ret_unique = join(&p, arcs, count) && note_steps(&p, arcs, count) && is_free_of_cycles(&p);
    }
    bool done = room && p.steps;
    free(room);
    free(p.steps);
    return done ? 0 : -ENOMEM;
}
