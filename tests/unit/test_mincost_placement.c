/* The graph of placement: under random changes each round is certified, costs what LEMON finds on
 * the same arcs and what the same graph costs when it is made anew, and runs what that one runs
 * when names have decided between several. The last optimum stays to be seen while changes
 * come. Then the source's examples. */
#include "tests/unit/test.h"

#include "controller/engine/place/flow_graph.h"
#include "lib/fnv1a.h"
#include "tests/mincost/plain.h"

#include <errno.h>
#include <string.h>

enum { HOSTS = 7, RACKS = 3, JOBS = 4, STAGES = 3, GROUPS = JOBS * STAGES };
/* Kinds of tasks: two that are always classes, one that is while it has groups, one with bounds. */
enum { PLAIN = 2, OWN = PLAIN, BOUNDED, KINDS };
enum { PROBLEMS = 60, ROUNDS = 40, CHANGES = 6, ARCS = 1024 };

/* What a graph is made of. */
struct world {
    struct {
        bool there;
        uint32_t taken, free, times[KINDS], most;
        int64_t load_cost, cost;
    } host[HOSTS];
    uint32_t in_rack[RACKS];
    struct {
        int64_t cost;
        uint32_t lower, upper;
    } job[JOBS];
    struct {
        bool there;
        uint32_t tasks, wishes[HOSTS], rack_wishes[RACKS];
        uint32_t home; /* where one of its tasks runs, + 1; 0: none does */
        int64_t anywhere, cost, rack_cost, home_cost, wait;
    } group[GROUPS];
};

struct standing {
    struct flow_graph *graph;
    struct flow_waiter *waiter[JOBS];
    struct flow_group *group[GROUPS];
    uint32_t class[KINDS], users[KINDS];
};

static uint32_t draw(uint64_t *stream, uint32_t n)
{
    return (uint32_t)(test_random(stream) % n);
}

/* ---- making it ---- */

static void set_host(struct standing *s, const struct world *w, uint32_t h)
{
    flow_set_host(s->graph, h, h % RACKS, w->host[h].taken, w->host[h].free, w->host[h].load_cost,
                  h + w->host[h].taken);
    for (uint32_t k = 0; k < KINDS; k++)
        if (k < PLAIN || s->users[k])
            flow_set_room(s->graph, h, s->class[k], w -> host[h].there ? w->host[h].times[k] : 0,
                          k < PLAIN ? 0 : w->host[h].cost);
    if (s->users[BOUNDED])
        flow_set_most(s->graph, h, s->class[BOUNDED], w -> host[h].most, w->in_rack[h % RACKS]);
}

static uint32_t groups_of(const struct standing *s, uint32_t job)
{
    uint32_t n = 0;
    for (uint32_t g = job * STAGES; g < (job + 1) * STAGES; g++)
        n += s->group[g] != NULL;
    return n;
}

static void set_job(struct standing *s, const struct world *w, uint32_t job)
{
    if (groups_of(s, job))
        flow_set_waiter(s->graph, s->waiter[job], w->job[job].lower, w->job[job].upper,
                        w->job[job].cost);
}

static void wish(struct standing *s, const struct world *w, uint32_t g, int sign)
{
    for (uint32_t h = 0; h < HOSTS; h++)
        if (w->group[g].wishes[h])
            flow_wish_host(s->graph, s->group[g], h, sign * (int32_t)w->group[g].wishes[h],
                           w->group[g].cost);
    for (uint32_t r = 0; r < RACKS; r++)
        if (w->group[g].rack_wishes[r])
            flow_wish_rack(s->graph, s->group[g], r, r + 100,
                           sign * (int32_t)w->group[g].rack_wishes[r], w->group[g].rack_cost);
}

static uint32_t class_of(struct standing *s, const struct world *w, uint32_t kind)
{
    if (kind < PLAIN || s->users[kind]++)
        return s->class[kind];
    s->class[kind] = flow_add_class(s->graph, kind == BOUNDED);
    flow_name_class(s->graph, s->class[kind], kind + 1);
    for (uint32_t h = 0; h < HOSTS; h++)
        set_host(s, w, h);
    return s->class[kind];
}

static void remove_group(struct standing *s, uint32_t g)
{
    uint32_t kind = g % KINDS;
    flow_remove_group(s->graph, s->group[g]);
    s->group[g] = NULL;
    if (kind >= PLAIN && !--s->users[kind])
        flow_remove_class(s->graph, s->class[kind]);
}

static void add_group(struct standing *s, const struct world *w, uint32_t g)
{
    uint32_t job = g / STAGES, class = class_of(s, w, g % KINDS);
    if (!groups_of(s, job))
        s->waiter[job] = flow_add_waiter(s->graph, job + 1);
    s->group[g] = flow_add_group(s->graph, s->waiter[job], class, job + 1, g % STAGES,
                                 (void *)(uintptr_t)(g + 1));
    set_job(s, w, job);
    flow_set_tasks(s->graph, s->group[g], w->group[g].tasks);
    flow_set_anywhere(s->graph, s->group[g], w->group[g].anywhere);
    flow_set_wait(s->graph, s->group[g], w->group[g].wait, g);
    wish(s, w, g, 1);
    if (w->group[g].home)
        flow_set_home(s->graph, s->group[g], w->group[g].home - 1, w->group[g].home_cost);
}

static void make(struct standing *s, const struct world *w)
{
    *s = (struct standing){0};
    assert_int_equal(flow_graph_create(PLAIN, &s->graph), 0);
    for (uint32_t k = 0; k < PLAIN; k++) {
        s->class[k] = k;
        flow_name_class(s->graph, k, k + 1);
    }
    for (uint32_t h = 0; h < HOSTS; h++)
        set_host(s, w, h);
    for (uint32_t g = 0; g < GROUPS; g++)
        if (w->group[g].there)
            add_group(s, w, g);
}

/* ---- changing it ---- */

static void change_host(struct standing *s, struct world *w, uint64_t *stream)
{
    uint32_t h = draw(stream, HOSTS);
    w->host[h].there = draw(stream, 8) > 0;
    w->host[h].taken = draw(stream, 6);
    w->host[h].free = draw(stream, 12);
    w->host[h].load_cost = draw(stream, 2) ? 100 : 0;
    for (uint32_t k = 0; k < KINDS; k++)
        w->host[h].times[k] = draw(stream, 5);
    w->host[h].cost = draw(stream, 3) * 50;
    w->host[h].most = draw(stream, 4);
    w->in_rack[h % RACKS] = draw(stream, 3) * 2;
    for (uint32_t of_rack = h % RACKS; of_rack < HOSTS; of_rack += RACKS)
        set_host(s, w, of_rack);
}

static void change_job(struct standing *s, struct world *w, uint64_t *stream)
{
    uint32_t job = draw(stream, JOBS);
    w->job[job].cost = 200 + draw(stream, 4) * 100;
    w->job[job].lower = draw(stream, 10) ? 0 : draw(stream, 4);
    w->job[job].upper = draw(stream, 10) ? 1000 : draw(stream, 8);
    set_job(s, w, job);
}

static void draw_wishes(struct world *w, uint32_t g, uint64_t *stream)
{
    w->group[g].cost = (int64_t)draw(stream, 4) * 10 - 10;
    w->group[g].rack_cost = draw(stream, 4) * 20;
    for (uint32_t h = 0; h < HOSTS; h++)
        w->group[g].wishes[h] = draw(stream, 3) ? 0 : draw(stream, 3);
    for (uint32_t r = 0; r < RACKS; r++)
        w->group[g].rack_wishes[r] = draw(stream, 3) ? 0 : draw(stream, 4);
}

/* One in three groups is a running task, which at times may not wait. */
static void draw_home(struct world *w, uint32_t g, uint64_t *stream)
{
    w->group[g].home = draw(stream, 3) ? 0 : 1 + draw(stream, HOSTS);
    w->group[g].home_cost = (int64_t)draw(stream, 3) * 20;
    if (!w->group[g].home)
        return;
    w->group[g].tasks = 1;
    if (draw(stream, 8) == 0)
        w->group[g].wait = FLOW_NOWHERE;
}

static void change_group(struct standing *s, struct world *w, uint64_t *stream)
{
    uint32_t g = draw(stream, GROUPS);
    if (w->group[g].there && (w->group[g].home || draw(stream, 3) == 0)) {
        w->group[g].there = false;
        remove_group(s, g);
        return;
    }
    if (w->group[g].there)
        wish(s, w, g, -1);
    draw_wishes(w, g, stream);
    w->group[g].tasks = draw(stream, 7);
    w->group[g].anywhere = draw(stream, 5) ? draw(stream, 4) * 30 : FLOW_NOWHERE;
    w->group[g].wait = draw(stream, 4) * 40;
    if (!w->group[g].there) {
        draw_home(w, g, stream);
        w->group[g].there = true;
        add_group(s, w, g);
        return;
    }
    flow_set_tasks(s->graph, s->group[g], w->group[g].tasks);
    flow_set_anywhere(s->graph, s->group[g], w->group[g].anywhere);
    flow_set_wait(s->graph, s->group[g], w->group[g].wait, g);
    wish(s, w, g, 1);
}

static void change(struct standing *s, struct world *w, uint64_t *stream)
{
    uint32_t which = draw(stream, 5);
    if (which < 2)
        change_host(s, w, stream);
    else if (which == 2)
        change_job(s, w, stream);
    else
        change_group(s, w, stream);
}

/* ---- what is true of a round ---- */

/* The same arcs as the graph's. */
static void plain_of(const struct flow_graph *graph, struct plain *ret_plain)
{
    struct flow_arc arc;
    *ret_plain = (struct plain){0};
    for (uint32_t a = 1; a <= mincost_max_arc(flow_problem(graph)); a++) {
        if (!flow_arc(graph, a, &arc))
            continue;
        for (int end = 0; end < 2; end++) {
            uint32_t node = end ? arc.head : arc.tail;
            plain_apply(ret_plain, &(struct mincost_change){.kind = MINCOST_NODE,
                                                            .id = node,
                                                            .cost = flow_supply(graph, node)});
        }
        plain_apply(ret_plain, &(struct mincost_change){.kind = MINCOST_ARC,
                                                        .id = a,
                                                        .tail = arc.tail,
                                                        .head = arc.head,
                                                        .lower = arc.lower,
                                                        .capacity = arc.capacity,
                                                        .cost = arc.ranked});
    }
}

/* The list says what the arcs carry, and nobody runs where there is no room. */
static void check_places(const struct standing *s, const struct world *w)
{
    uint32_t n, by_host[HOSTS][KINDS] = {{0}}, by_group[GROUPS] = {0}, total[HOSTS] = {0};
    uint32_t bounded[HOSTS] = {0}, in_rack[RACKS] = {0};
    const struct flow_place *places = flow_places(s->graph, &n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t g = (uint32_t)(uintptr_t)places[i].tag - 1, h = places[i].host;
        assert_true(w->host[h].there || places[i].way == FLOW_BY_HOST);
        by_group[g] += places[i].tasks;
        total[h] += places[i].tasks;
        if (places[i].way == FLOW_BY_HOST)
            assert_true(places[i].tasks <= w->group[g].wishes[h] + (w->group[g].home == h + 1));
        else
            by_host[h][g % KINDS] += places[i].tasks;
        bounded[h] += g % KINDS == BOUNDED ? places[i].tasks : 0;
        if (g % KINDS == BOUNDED && places[i].way == FLOW_BY_CLUSTER)
            in_rack[h % RACKS] += places[i].tasks;
        if (places[i].way == FLOW_BY_RACK)
            assert_true(w->group[g].rack_wishes[h % RACKS] > 0);
    }
    for (uint32_t g = 0; g < GROUPS; g++) {
        assert_true(by_group[g] <= w->group[g].tasks);
        if (w->group[g].there && w->group[g].wait == FLOW_NOWHERE)
            assert_int_equal(by_group[g], w->group[g].tasks);
    }
    for (uint32_t h = 0; h < HOSTS; h++) {
        assert_true(total[h] <= w->host[h].free);
        for (uint32_t k = 0; k < KINDS; k++)
            assert_true(by_host[h][k] <= w->host[h].times[k]);
        assert_true(bounded[h] <= w->host[h].most);
        assert_true(in_rack[h % RACKS] <= w->in_rack[h % RACKS]);
    }
}

/* A number of what the optimum runs. */
static uint64_t digest_of(const struct flow_graph *graph)
{
    uint64_t digest = FNV1A_NOTHING;
    uint32_t n;
    const struct flow_place *places = flow_places(graph, &n);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t what[] = {(uintptr_t)places[i].tag, places[i].host, places[i].tasks,
                                 places[i].way};
        digest = fnv1a(digest, what, sizeof(what));
    }
    return digest;
}

static void check_same_places(const struct flow_graph *a, const struct flow_graph *b)
{
    uint32_t n_a, n_b;
    const struct flow_place *left = flow_places(a, &n_a), *right = flow_places(b, &n_b);
    assert_int_equal(n_a, n_b);
    for (uint32_t i = 0; i < n_a; i++) {
        assert_ptr_equal(left[i].tag, right[i].tag);
        assert_int_equal(left[i].host, right[i].host);
        assert_int_equal(left[i].tasks, right[i].tasks);
        assert_int_equal(left[i].way, right[i].way);
    }
}

/* What the arcs were in the last optimum. */
struct memory {
    uint32_t n;
    bool there[ARCS];
    struct flow_arc arc[ARCS];
};

static void remember(const struct flow_graph *graph, struct memory *memory)
{
    memory->n = mincost_max_arc(flow_problem(graph)) + 1;
    assert_true(memory->n <= ARCS);
    for (uint32_t a = 1; a < memory->n; a++)
        memory->there[a] = flow_arc(graph, a, &memory->arc[a]);
}

static void check_last(const struct flow_graph *graph, const struct memory *memory)
{
    struct flow_arc is;
    for (uint32_t a = 1; a <= flow_last_max(graph); a++) {
        bool there = flow_last_arc(graph, a, &is);
        const struct flow_arc *was = &memory->arc[a];
        assert_int_equal(there, a < memory->n && memory->there[a]);
        if (!there)
            continue;
        assert_true(is.kind == was->kind && is.tail == was->tail && is.head == was->head);
        assert_true(is.lower == was->lower && is.capacity == was->capacity);
        assert_true(is.flow == was->flow && is.cost == was->cost && is.ranked == was->ranked);
        assert_true(is.host == was->host && is.rack == was->rack && is.class == was->class);
        assert_true(is.name == was->name && is.part == was->part);
    }
}

struct seen {
    unsigned feasible, infeasible, settled, other; /* other: was found first, of several */
};

/* False: no flow keeps the bounds, and the last optimum is what it was. */
static bool check_round(struct standing *s, const struct world *w, struct seen *seen)
{
    struct plain plain;
    struct standing fresh;
    struct mincost_certificate certificate;
    int64_t cost = 0, cpu_ns;
    int r = flow_solve(s->graph);
    plain_of(s->graph, &plain);
    plain.supply[1] = 0;
    for (uint32_t v = 2; v <= plain.max_node; v++)
        plain.supply[1] -= plain.supply[v];
    bool feasible = lemon_solve(&plain, LEMON_NETWORK_SIMPLEX, &cost, &cpu_ns);
    plain_done(&plain);
    make(&fresh, w);
    assert_int_equal(r, feasible ? 0 : -EDOM);
    assert_int_equal(flow_solve(fresh.graph), r);
    seen->feasible += feasible;
    seen->infeasible += !feasible;
    if (feasible) {
        assert_true(mincost_certify(flow_problem(s->graph), &certificate));
        assert_true(mincost_cost(flow_problem(s->graph)) == cost);
        assert_true(mincost_cost(flow_problem(fresh.graph)) == cost);
        check_places(s, w);
        uint64_t looks, found = digest_of(s->graph);
        bool settled = flow_settle(s->graph, &looks);
        assert_int_equal(flow_settle(fresh.graph, &looks), settled);
        if (settled)
            check_same_places(s->graph, fresh.graph);
        assert_true(mincost_certify(flow_problem(s->graph), &certificate));
        assert_true(mincost_cost(flow_problem(s->graph)) == cost);
        check_places(s, w);
        seen->settled += settled;
        seen->other += digest_of(s->graph) != found;
    }
    flow_graph_destroy(fresh.graph);
    return feasible;
}

static void changes_are_patched(void **state)
{
    (void)state;
    struct seen seen = {0};
    for (unsigned i = 0; i < PROBLEMS; i++) {
        uint64_t stream = test_seed() + i;
        static struct world w;
        static struct memory memory;
        struct standing s;
        memset(&w, 0, sizeof(w));
        memset(&memory, 0, sizeof(memory));
        for (uint32_t job = 0; job < JOBS; job++)
            w.job[job].upper = 1000;
        make(&s, &w);
        for (unsigned round = 0; round < ROUNDS; round++) {
            for (unsigned n = draw(&stream, CHANGES); n > 0; n--)
                change(&s, &w, &stream);
            check_last(s.graph, &memory);
            if (check_round(&s, &w, &seen))
                remember(s.graph, &memory);
        }
        flow_graph_destroy(s.graph);
    }
    fprintf(stderr, "# %u rounds, %u of them settled, %u by names; %u infeasible\n", seen.feasible,
            seen.settled, seen.other, seen.infeasible);
    assert_int_equal(seen.settled, seen.feasible);
    assert_true(seen.feasible > 500 && seen.other > 10 && seen.infeasible > 10);
}

/* All hosts are taken, and all jobs wait at another cost than before, as when the cluster has
 * become twice as large: that is priced again, and no task is sent anywhere anew. */
static void all_that_wait_get_dearer(void **state)
{
    (void)state;
    enum { MANY = 200, WISHES = 20, TASKS = 100 };
    struct flow_graph *graph;
    struct flow_waiter *waiters[MANY];
    struct mincost_certificate certificate;
    struct mincost_stats stats;
    assert_int_equal(flow_graph_create(1, &graph), 0);
    for (uint32_t h = 0; h < MANY; h++) {
        flow_set_host(graph, h, 0, 4, 0, 255, h);
        flow_set_room(graph, h, 0, 4, 0);
        flow_set_room(graph, h, 0, 0, 0);
    }
    for (uint32_t j = 0; j < MANY; j++) {
        waiters[j] = flow_add_waiter(graph, j + 1);
        struct flow_group *group = flow_add_group(graph, waiters[j], 0, j + 1, 0, NULL);
        flow_set_waiter(graph, waiters[j], 0, UINT32_MAX, 10000 + j);
        flow_set_tasks(graph, group, TASKS);
        flow_set_anywhere(graph, group, 1000);
        for (uint32_t w = 0; w < WISHES; w++)
            flow_wish_host(graph, group, (j * 7 + w) % MANY, 3, 0);
    }
    assert_int_equal(flow_solve(graph), 0);
    for (int64_t more = 64; more >= -64; more -= 128) {
        for (uint32_t j = 0; j < MANY; j++)
            flow_set_waiter(graph, waiters[j], 0, UINT32_MAX, 10000 + j * more / 64 + more);
        assert_int_equal(flow_solve(graph), 0);
        mincost_get_stats(flow_problem(graph), &stats);
        assert_true(mincost_certify(flow_problem(graph), &certificate));
        assert_string_equal(stats.algorithm, "incremental");
        assert_int_equal(stats.searches, 0);
        assert_true(stats.arcs_looked_at < 8 * stats.arcs);
    }
    flow_graph_destroy(graph);
}

/* ---- the source's examples ---- */

static uint32_t tasks_of(const struct flow_graph *graph, uintptr_t tag)
{
    uint32_t n, tasks = 0;
    const struct flow_place *places = flow_places(graph, &n);
    for (uint32_t i = 0; i < n; i++)
        tasks += places[i].tag == (void *)tag ? places[i].tasks : 0;
    return tasks;
}

static void host(struct flow_graph *graph, uint32_t index, uint32_t slots)
{
    flow_set_host(graph, index, 0, 0, slots, 0, 0);
    flow_set_room(graph, index, 0, slots, 0);
}

static struct flow_group *job(struct flow_graph *graph, uint64_t number, uint32_t tasks,
                              int64_t anywhere)
{
    struct flow_waiter *waiter = flow_add_waiter(graph, number);
    struct flow_group *group =
        flow_add_group(graph, waiter, 0, number, 0, (void *)(uintptr_t)number);
    flow_set_waiter(graph, waiter, 0, UINT32_MAX, 1000);
    flow_set_tasks(graph, group, tasks);
    flow_set_anywhere(graph, group, anywhere);
    return group;
}

/* Section 3.1.1, figure 3: 3 and 4 tasks on 4 machines of one task each, shares of 2. */
static void shares_are_bounds_of_who_waits(void **state)
{
    (void)state;
    struct flow_graph *graph;
    assert_int_equal(flow_graph_create(1, &graph), 0);
    for (uint32_t h = 0; h < 4; h++)
        host(graph, h, 1);
    struct flow_waiter *first = flow_add_waiter(graph, 1), *second = flow_add_waiter(graph, 2);
    struct flow_group *of_first = flow_add_group(graph, first, 0, 1, 0, (void *)1),
                      *of_second = flow_add_group(graph, second, 0, 2, 0, (void *)2);
    flow_set_tasks(graph, of_first, 3);
    flow_set_tasks(graph, of_second, 4);
    flow_set_anywhere(graph, of_first, 0);
    flow_set_anywhere(graph, of_second, 0);
    flow_set_waiter(graph, first, 1, 1, 1000);
    flow_set_waiter(graph, second, 2, 2, 10);
    assert_int_equal(flow_solve(graph), 0);
    assert_int_equal(tasks_of(graph, 1), 2);
    assert_int_equal(tasks_of(graph, 2), 2);

    flow_set_waiter(graph, second, 1, 1, 10);
    assert_int_equal(flow_solve(graph), -EDOM);
    assert_true(strlen(flow_reason(graph)) > 0);
    flow_set_waiter(graph, second, 0, 4, 10);
    assert_int_equal(flow_solve(graph), 0);
    assert_int_equal(tasks_of(graph, 1), 2);
    assert_int_equal(tasks_of(graph, 2), 2);
    flow_graph_destroy(graph);
}

/* Section 3.1.2, figure 4: the image task gains 1 on the machine with a GPU. */
static void a_utility_is_a_cost_below_others(void **state)
{
    (void)state;
    for (uint32_t gpu = 0; gpu < 2; gpu++) {
        struct flow_graph *graph;
        uint32_t n;
        assert_int_equal(flow_graph_create(1, &graph), 0);
        host(graph, 0, 1);
        host(graph, 1, 1);
        struct flow_group *image = job(graph, 1, 1, 0);
        flow_wish_host(graph, image, gpu, 1, -1);
        assert_int_equal(flow_solve(graph), 0);
        const struct flow_place *places = flow_places(graph, &n);
        assert_int_equal(n, 1);
        assert_int_equal(places[0].host, gpu);
        assert_int_equal(places[0].way, FLOW_BY_HOST);
        flow_graph_destroy(graph);
    }
}

/* Section 3.1.3, figure 5: of priorities 1, 2 and 5, 1 being the highest, the first runs. */
static void the_first_priority_runs(void **state)
{
    (void)state;
    static const int64_t priority[] = {5, 1, 2};
    struct flow_graph *graph;
    assert_int_equal(flow_graph_create(1, &graph), 0);
    host(graph, 0, 1);
    for (uint64_t i = 0; i < 3; i++)
        job(graph, i + 1, 1, priority[i] * 10);
    assert_int_equal(flow_solve(graph), 0);
    assert_int_equal(tasks_of(graph, 2), 1);
    assert_int_equal(tasks_of(graph, 1) + tasks_of(graph, 3), 0);
    flow_graph_destroy(graph);
}

/* Slots get dearer as a host fills, so tasks that are alike spread. */
static void load_spreads(void **state)
{
    (void)state;
    struct flow_graph *graph;
    uint32_t n;
    assert_int_equal(flow_graph_create(1, &graph), 0);
    for (uint32_t h = 0; h < 4; h++) {
        flow_set_host(graph, h, 0, h, 16 - h, 255, 0);
        flow_set_room(graph, h, 0, 16 - h, 0);
    }
    job(graph, 1, 26, 0);
    assert_int_equal(flow_solve(graph), 0);
    const struct flow_place *places = flow_places(graph, &n);
    assert_int_equal(n, 4);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(places[i].tasks + places[i].host, 8);
    flow_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_patched),
        cmocka_unit_test(all_that_wait_get_dearer),
        cmocka_unit_test(shares_are_bounds_of_who_waits),
        cmocka_unit_test(a_utility_is_a_cost_below_others),
        cmocka_unit_test(the_first_priority_runs),
        cmocka_unit_test(load_spreads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
