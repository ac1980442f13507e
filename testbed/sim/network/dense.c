#include "testbed/sim/network/dense.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *take_doubles(char **at, size_t n)
{
    void *taken = *at;
    *at += n * sizeof(double);
    return taken;
}

/* Lays out all arrays in one block, each aligned to lanes, bits last. */
static size_t side_place(const struct dense *net, struct side *s, char *block)
{
    size_t width = net->width, words = net->words;
    char *at = block;
    s->count = take_doubles(&at, net->n * width);
    double **by_host[] = {&s->flows, &s->rest, &s->rate,         &s->served,
                          &s->due,   &s->low,  &s->filled_flows, &s->filled_capacity};
    for (size_t i = 0; i < sizeof(by_host) / sizeof(*by_host); i++)
        *by_host[i] = take_doubles(&at, width);
    s->saved_open = take_doubles(&at, CHECKPOINTS * width);
    s->saved_left = take_doubles(&at, CHECKPOINTS * width);
    s->has = take_doubles(&at, net->n * words);
    s->mine = take_doubles(&at, net->n * words);
    s->changed = take_doubles(&at, words);
    s->stale = take_doubles(&at, words);
    s->active = take_doubles(&at, words);
    s->saved_gave = take_doubles(&at, CHECKPOINTS * words);
    return ((size_t)(at - block) + 63) / 64 * 64;
}

static void *zeroed(size_t bytes)
{
    bytes = (bytes + 63) / 64 * 64;
    void *block = aligned_alloc(64, bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

static struct sheet *sheet_make(struct dense *net)
{
    struct side measure;
    size_t head = (sizeof(struct sheet) + 63) / 64 * 64, side = side_place(net, &measure, NULL);
    struct sheet *sheet = zeroed(head + 2 * side + net->n * sizeof(struct row_list));
    if (!sheet || fluid_list_add(&net->sheets, sheet)) {
        free(sheet);
        return NULL;
    }
    char *block = (char *)sheet + head;
    for (int i = 0; i < 2; i++) {
        side_place(net, &sheet->side[i], block + (size_t)i * side);
        for (uint32_t port = 0; port < net->width; port++)
            sheet->side[i].low[port] = sheet->side[i].due[port] = INFINITY;
    }
    sheet->of_target = (struct row_list *)(void *)(block + 2 * side);
    return sheet;
}

static struct sheet *sheet_get(struct dense *net, uint32_t level)
{
    struct sheet **at = &net->first, *upper = NULL;
    while (*at && (*at)->level < level) {
        upper = *at;
        at = &upper->lower;
    }
    if (*at && (*at)->level == level)
        return *at;
    struct sheet *sheet = net->spare ? net->spare : sheet_make(net);
    if (!sheet)
        return NULL;
    if (sheet == net->spare)
        net->spare = sheet->lower;
    sheet->level = level;
    sheet->lower = *at;
    sheet->at_ns = net->fluid->now_ns;
    sheet->end_ns = FLUID_NEVER;
    for (int i = 0; i < 2; i++) {
        const double *capacity = upper ? upper->side[i].rest : net->all[i];
        memcpy(sheet->side[i].rest, capacity, net->width * sizeof(double));
        memcpy(sheet->side[i].filled_capacity, capacity, net->width * sizeof(double));
    }
    return *at = sheet;
}

/* Its flows have all left, and its last filling gave nothing: counters start at 0 again. */
static void sheet_retire(struct dense *net, struct sheet **at)
{
    struct sheet *sheet = *at;
    *at = sheet->lower;
    for (int i = 0; i < 2; i++)
        memset(sheet->side[i].served, 0, net->width * sizeof(double));
    sheet->n_checkpoints = 0;
    sheet->lower = net->spare;
    net->spare = sheet;
}

static void sheet_advance(const struct dense *net, struct sheet *sheet)
{
    double seconds = (double)(net->fluid->now_ns - sheet->at_ns) * 1e-9;
    for (int i = 0; i < 2; i++) {
        lanes *served = (lanes *)sheet->side[i].served;
        const lanes *rate = (lanes *)sheet->side[i].rate;
        for (uint32_t k = 0; k < net->width / LANES; k++)
            served[k] += rate[k] * seconds;
    }
    sheet->at_ns = net->fluid->now_ns;
}

/* The side whose link limits the flow; −1 before the first filling. */
static int limit_of(const struct dense *net, const struct row *row, uint32_t source)
{
    if (row->key[0][source] < INFINITY)
        return 0;
    return bit(row->sheet->side[1].mine + (size_t)row->target * net->words, source) ? 1 : -1;
}

/* At the sheet's at_ns; `side` as in limit_of. */
static double left_on(const struct row *row, uint32_t source, int side)
{
    if (side < 0)
        return row->key[1][source];
    double left =
        row->key[side][source] - row->sheet->side[side].served[side ? row->target : source];
    return left > 0 ? left : 0;
}

static double flow_left(const struct dense *net, const struct row *row, uint32_t source)
{
    return left_on(row, source, limit_of(net, row, source));
}

/* The flow's link (`side` as in limit_of) no longer limits it: the link's least key may be another
 * one. */
static void unlimit(struct row *row, uint32_t source, int side)
{
    if (side < 0)
        return;
    struct side *s = &row->sheet->side[side];
    uint32_t port = side ? row->target : source;
    if (row->key[side][source] <= s->low[port])
        bit_set(s->stale, port);
}

static void limit(struct row *row, uint32_t source, int side, double left)
{
    struct side *s = &row->sheet->side[side];
    uint32_t port = side ? row->target : source;
    double key = left + s->served[port];
    row->key[!side][source] = INFINITY;
    row->key[side][source] = key;
    if (key < s->low[port])
        s->low[port] = key;
}

static void count(const struct dense *net, struct sheet *sheet, uint32_t source, uint32_t target,
                  double more)
{
    struct side *from = &sheet->side[0], *to = &sheet->side[1];
    from->count[(size_t)source * net->width + target] += more;
    to->count[(size_t)target * net->width + source] += more;
    from->flows[source] += more;
    to->flows[target] += more;
    bit_set(from->changed, source);
}

static void flow_leave(const struct dense *net, struct row *row, uint32_t source)
{
    struct sheet *sheet = row->sheet;
    size_t from = (size_t)source * net->words, to = (size_t)row->target * net->words;
    unlimit(row, source, limit_of(net, row, source));
    row->key[0][source] = row->key[1][source] = INFINITY;
    count(net, sheet, source, row->target, -1);
    if (sheet->side[1].count[(size_t)row->target * net->width + source] > 0)
        return;
    bit_clear(sheet->side[0].has + from, row->target);
    bit_clear(sheet->side[0].mine + from, row->target);
    bit_clear(sheet->side[1].has + to, source);
    bit_clear(sheet->side[1].mine + to, source);
}

static void flow_enter(const struct dense *net, struct row *row, uint32_t source, double left)
{
    struct sheet *sheet = row->sheet;
    size_t from = (size_t)source * net->words, to = (size_t)row->target * net->words;
    count(net, sheet, source, row->target, 1);
    bit_set(sheet->side[0].has + from, row->target);
    bit_set(sheet->side[1].has + to, source);
    if (bit(sheet->side[1].mine + to, source))
        limit(row, source, 1, left);
    else if (bit(sheet->side[0].mine + from, row->target))
        limit(row, source, 0, left);
    else
        row->key[1][source] = left, sheet->fresh = true;
}

void sheet_take_over(struct dense *net, struct sheet *sheet, int side, uint32_t port, uint32_t peer)
{
    uint32_t source = side ? peer : port, target = side ? port : peer;
    struct row *row;
    LIST_FOREACH (row, &sheet->of_target[target], of_target) {
        if (!bit(row->has, source))
            continue;
        int before = limit_of(net, row, source);
        double left = left_on(row, source, before);
        unlimit(row, source, before);
        limit(row, source, side, left);
    }
    bit_set(sheet->side[side].mine + (size_t)port * net->words, peer);
    bit_clear(sheet->side[!side].mine + (size_t)peer * net->words, port);
}

static struct row *row_make(struct dense *net)
{
    struct row *row = net->spare_rows;
    if (row) {
        net->spare_rows = row->next;
        return row;
    }
    size_t head = (sizeof(*row) + 63) / 64 * 64, keys = net->width * sizeof(double);
    row = zeroed(head + 2 * keys + net->words * sizeof(uint64_t));
    if (!row || fluid_list_add(&net->rows, row)) {
        free(row);
        return NULL;
    }
    row->key[0] = (double *)(void *)((char *)row + head);
    row->key[1] = row->key[0] + net->width;
    row->has = (uint64_t *)(void *)(row->key[1] + net->width);
    for (uint32_t i = 0; i < 2 * net->width; i++)
        row->key[0][i] = INFINITY;
    return row;
}

/* Its keys are the bytes left. */
static int row_enter(struct dense *net, struct row *row, uint32_t level)
{
    struct sheet *sheet = sheet_get(net, level);
    if (!sheet || fluid_grow((void **)&sheet->rows, &sheet->rows_allocated, sheet->n_rows + 1,
                             sizeof(*sheet->rows)))
        return -ENOMEM;
    sheet_advance(net, sheet);
    row->sheet = sheet;
    row->place = (uint32_t)sheet->n_rows;
    sheet->rows[sheet->n_rows++] = row;
    LIST_INSERT_HEAD(&sheet->of_target[row->target], row, of_target);
    for (uint32_t w = 0; w < net->words; w++)
        for (uint64_t set = row->has[w]; set; set &= set - 1) {
            uint32_t source = w * 64 + (uint32_t)__builtin_ctzll(set);
            flow_enter(net, row, source, row->key[1][source]);
        }
    bit_set(sheet->side[1].changed, row->target);
    sheet->changed = true;
    return 0;
}

static void row_detach(struct row *row)
{
    struct sheet *sheet = row->sheet;
    sheet->rows[row->place] = sheet->rows[--sheet->n_rows];
    sheet->rows[row->place]->place = row->place;
    LIST_REMOVE(row, of_target);
    row->sheet = NULL;
}

/* Its keys become the bytes left. */
static void row_leave(struct dense *net, struct row *row)
{
    struct sheet *sheet = row->sheet;
    sheet_advance(net, sheet);
    for (uint32_t w = 0; w < net->words; w++)
        for (uint64_t set = row->has[w]; set; set &= set - 1) {
            uint32_t source = w * 64 + (uint32_t)__builtin_ctzll(set);
            double left = flow_left(net, row, source);
            flow_leave(net, row, source);
            row->key[1][source] = left;
        }
    bit_set(sheet->side[1].changed, row->target);
    sheet->changed = true;
    row_detach(row);
}

/* The first of the Macroflow's rows that has no flow from there yet. */
static struct row *row_for(struct dense *net, uint32_t id, uint32_t source)
{
    struct macroflow *m = &net->fluid->macroflows[id];
    struct row *row = m->flows;
    while (row && bit(row->has, source))
        row = row->next;
    if (row)
        return row;
    row = row_make(net);
    if (row) {
        row->macroflow = id;
        row->target = m->target;
        row->n_left = 0;
        row->next = m->flows;
        m->flows = row;
    }
    return row;
}

static int start(struct fluid *f, uint32_t id, const struct fluid_source *sources, uint32_t n)
{
    struct macroflow *m = &f->macroflows[id];
    for (uint32_t i = 0; i < n; i++) {
        struct row *row = row_for(f->net, id, sources[i].host);
        if (!row)
            return -ENOMEM;
        bit_set(row->has, sources[i].host);
        row->key[1][sources[i].host] = (double)sources[i].bytes;
        row->n_left++;
        m->n_left++;
    }
    for (struct row *row = m->flows; row; row = row->next)
        if (row_enter(f->net, row, m->level))
            return -ENOMEM;
    return 0;
}

static int move(struct fluid *f, uint32_t id, uint32_t to_level)
{
    f->macroflows[id].level = to_level;
    for (struct row *row = f->macroflows[id].flows; row; row = row->next) {
        if (!row->sheet)
            continue;
        row_leave(f->net, row);
        if (row_enter(f->net, row, to_level))
            return -ENOMEM;
    }
    return 0;
}

static int stop(struct fluid *f, uint32_t id)
{
    for (struct row *row = f->macroflows[id].flows; row; row = row->next)
        if (row->sheet)
            row_leave(f->net, row);
    return 0;
}

/* Stopped flows left their bytes behind. */
static void forget(struct fluid *f, uint32_t id)
{
    struct dense *net = f->net;
    struct row *row = f->macroflows[id].flows, *next;
    for (; row; row = next) {
        next = row->next;
        for (uint32_t w = 0; w < net->words; w++)
            for (; row->has[w]; row->has[w] &= row->has[w] - 1)
                row->key[1][w * 64 + (uint32_t)__builtin_ctzll(row->has[w])] = INFINITY;
        row->next = net->spare_rows;
        net->spare_rows = row;
    }
    f->macroflows[id].flows = NULL;
}

static double row_left_fresh(const struct dense *net, const struct row *row, double seconds)
{
    double sum = 0;
    for (uint32_t source = 0; source < net->n; source++) {
        int side = bit(row->has, source) ? limit_of(net, row, source) : -1;
        double left = bit(row->has, source) ? flow_left(net, row, source) : 0;
        if (side >= 0)
            left -= row->sheet->side[side].rate[side ? row->target : source] * seconds;
        sum += left > 0 ? left : 0;
    }
    return sum;
}

static double row_left(const struct dense *net, const struct row *row)
{
    const struct side *from = &row->sheet->side[0], *to = &row->sheet->side[1];
    double seconds = (double)(net->fluid->now_ns - row->sheet->at_ns) * 1e-9;
    if (row->sheet->fresh)
        return row_left_fresh(net, row, seconds);
    const lanes zero = {0}, infinite = zero + INFINITY;
    const lanes served_to = zero + to->served[row->target] + to->rate[row->target] * seconds;
    half_lanes sum = {0};
    for (uint32_t w = 0; w < net->words; w++)
        for (uint64_t set = row->has[w]; set;) {
            uint32_t block = next_block(&set, w);
            lanes served =
                *(lanes *)(from->served + block) + *(lanes *)(from->rate + block) * seconds;
            lanes left = smaller(*(lanes *)(row->key[0] + block) - served,
                                 *(lanes *)(row->key[1] + block) - served_to);
            left = choose(left < infinite, larger(left, zero), zero);
            sum += (half_lanes){left[0], left[1]};
            sum += (half_lanes){left[2], left[3]};
        }
    return sum[0] + sum[1];
}

static double left_bytes(const struct fluid *f, uint32_t id)
{
    double left = 0;
    for (const struct row *row = f->macroflows[id].flows; row; row = row->next)
        left += row->sheet ? row_left(f->net, row) : 0;
    return left;
}

static void set_due(const struct dense *net, struct sheet *sheet, int side)
{
    const lanes zero = {0}, now = zero + (double)sheet->at_ns;
    struct side *s = &sheet->side[side];
    for (uint32_t w = 0; w < net->words; w++)
        for (uint64_t set = net->redo[side][w]; set;) {
            uint32_t block = next_block(&set, w);
            lanes rate = *(lanes *)(s->rate + block);
            lanes wait = (*(lanes *)(s->low + block) - *(lanes *)(s->served + block)) / rate * 1e9;
            *(lanes *)(s->due + block) =
                choose(rate > zero, now + larger(wait, zero), zero + INFINITY);
        }
}

static double least(const struct dense *net, const double *values)
{
    const lanes *v = (const lanes *)values;
    lanes low = v[0];
    for (uint32_t i = 1; i < net->width / LANES; i++)
        low = smaller(low, v[i]);
    return least_of(low);
}

static double least_of_port(const struct dense *net, const struct sheet *sheet, int side,
                            uint32_t port)
{
    double low = INFINITY;
    const struct row *row;
    for (size_t i = 0; !side && i < sheet->n_rows; i++)
        low = sheet->rows[i]->key[0][port] < low ? sheet->rows[i]->key[0][port] : low;
    if (!side)
        return low;
    LIST_FOREACH (row, &sheet->of_target[port], of_target) {
        double of_row = least(net, row->key[1]);
        low = of_row < low ? of_row : low;
    }
    return low;
}

/* Recomputes the stale `low` of links that would be the next to end a flow. Returns whether there
 * were any. */
static bool refresh(const struct dense *net, struct sheet *sheet, int side, double next)
{
    struct side *s = &sheet->side[side];
    bool some = false;
    for (uint32_t w = 0; w < net->words; w++)
        for (uint64_t set = s->stale[w]; set; set &= set - 1) {
            uint32_t port = w * 64 + (uint32_t)__builtin_ctzll(set);
            if (s->due[port] > next)
                continue;
            bit_clear(s->stale, port);
            s->low[port] = least_of_port(net, sheet, side, port);
            double wait = (s->low[port] - s->served[port]) / s->rate[port] * 1e9;
            s->due[port] = (double)sheet->at_ns + (wait > 0 ? wait : 0);
            some = true;
        }
    return some;
}

/* Call after a filling, when every flow is limited by a link. */
static void sheet_schedule(const struct dense *net, struct sheet *sheet)
{
    double next = INFINITY;
    for (int side = 0; side < 2; side++) {
        double of_side;
        set_due(net, sheet, side);
        do
            of_side = least(net, sheet->side[side].due);
        while (of_side < INFINITY && refresh(net, sheet, side, of_side));
        next = of_side < next ? of_side : next;
    }
    next = ceil(next);
    sheet->end_ns = next < 9e18 ? (int64_t)next : FLUID_NEVER;
}

static int flow_end(struct dense *net, struct row *row, uint32_t source)
{
    flow_leave(net, row, source);
    bit_clear(row->has, source);
    bit_set(row->sheet->side[1].changed, row->target);
    row->sheet->changed = true;
    if (!--row->n_left)
        row_detach(row);
    return fluid_flow_ended(net->fluid, row->macroflow);
}

static int end_of_source(struct dense *net, struct sheet *sheet, uint32_t source, double by)
{
    for (size_t i = sheet->n_rows; i-- > 0;)
        if (sheet->rows[i]->key[0][source] <= by && flow_end(net, sheet->rows[i], source))
            return -ENOMEM;
    return 0;
}

static int end_of_target(struct dense *net, struct sheet *sheet, uint32_t target, double by)
{
    struct row *row, *next;
    for (row = LIST_FIRST(&sheet->of_target[target]); row; row = next) {
        next = LIST_NEXT(row, of_target);
        for (uint32_t source = 0; source < net->n; source++)
            if (row->key[1][source] <= by && flow_end(net, row, source))
                return -ENOMEM;
    }
    return 0;
}

static int end_of_side(struct dense *net, struct sheet *sheet, int side)
{
    const struct side *s = &sheet->side[side];
    /* How far a counter may miss an end by rounding. A nanosecond's worth is met exactly, since
     * instants are rounded up. */
    const lanes zero = {0}, slack = zero + 1e-6;
    int r = 0;
    for (uint32_t block = 0; block < net->width; block += LANES) {
        lanes served = *(lanes *)(s->served + block), by = served + (slack + 1e-15 * served);
        unsigned set = bits_of(*(lanes *)(s->low + block) <= by);
        for (; set && !r; set &= set - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(set);
            double until = ((const double *)&by)[i];
            r = side ? end_of_target(net, sheet, block + i, until)
                     : end_of_source(net, sheet, block + i, until);
        }
    }
    return r;
}

static int sheet_end(struct dense *net, struct sheet *sheet)
{
    sheet_advance(net, sheet);
    if (end_of_side(net, sheet, 0) || end_of_side(net, sheet, 1))
        return -ENOMEM;
    if (sheet->changed)
        return 0;
    /* Rounding left a nanosecond to go, or a stale `low` was the next: no filling will look. */
    for (int side = 0; side < 2; side++)
        memcpy(net->redo[side], sheet->side[side].active, net->words * sizeof(uint64_t));
    sheet_schedule(net, sheet);
    sheet->end_ns += sheet->end_ns <= sheet->at_ns;
    return 0;
}

static int64_t next_ns(const struct fluid *f)
{
    const struct dense *net = f->net;
    int64_t next = FLUID_NEVER;
    for (const struct sheet *sheet = net->first; sheet; sheet = sheet->lower)
        next = sheet->end_ns < next ? sheet->end_ns : next;
    return next;
}

static int end(struct fluid *f)
{
    struct dense *net = f->net;
    for (struct sheet *sheet = net->first; sheet; sheet = sheet->lower)
        if (sheet->end_ns <= f->now_ns && sheet_end(net, sheet))
            return -ENOMEM;
    return 0;
}

/* Marks links of which the levels above leave another part now. */
static void sheet_hear(const struct dense *net, struct sheet *sheet)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t w = 0; w < net->words; w++) {
            struct side *s = &sheet->side[side];
            s->changed[w] |= net->news[side][w];
            sheet->changed |= (net->news[side][w] & s->active[w]) != 0;
        }
}

static int report(const struct dense *net, double *const rest[2])
{
    for (uint32_t w = 0; net->fluid->config.hot_per_mille && w < net->words; w++)
        for (uint64_t set = net->news[0][w]; set; set &= set - 1) {
            uint32_t host = w * 64 + (uint32_t)__builtin_ctzll(set);
            if (fluid_uplink_used(net->fluid, host, net->capacity - rest[0][host]))
                return -ENOMEM;
        }
    return 0;
}

static int solve(struct fluid *f)
{
    struct dense *net = f->net;
    double *upper[2] = {net->all[0], net->all[1]};
    bool news = false;
    for (struct sheet **at = &net->first, *sheet; (sheet = *at);) {
        if (news)
            sheet_hear(net, sheet);
        if (sheet->changed) {
            sheet_advance(net, sheet);
            news = sheet_fill(net, sheet, upper);
            sheet->fresh = false;
            sheet_schedule(net, sheet);
        } else if (news) {
            news = sheet_pass(net, sheet, upper);
        }
        if (sheet->n_rows) {
            upper[0] = sheet->side[0].rest;
            upper[1] = sheet->side[1].rest;
            at = &sheet->lower;
        } else {
            sheet_retire(net, at);
        }
    }
    return news ? report(net, upper) : 0;
}

static double flow_rate(const struct dense *net, const struct row *row, uint32_t source)
{
    int side = limit_of(net, row, source);
    return side < 0 ? 0 : row->sheet->side[side].rate[side ? row->target : source];
}

static double rate_from(const struct fluid *f, uint32_t id, uint32_t host)
{
    for (const struct row *row = f->macroflows[id].flows; row; row = row->next)
        if (row->sheet && bit(row->has, host))
            return flow_rate(f->net, row, host);
    return 0;
}

static void downlinks(const struct fluid *f, double *ret_bytes_s)
{
    const struct dense *net = f->net;
    const struct sheet *last = NULL;
    for (const struct sheet *sheet = net->first; sheet; sheet = sheet->lower)
        last = sheet;
    for (uint32_t h = 0; h < net->n; h++)
        ret_bytes_s[h] = last ? net->capacity - last->side[1].rest[h] : 0;
}

static int each_of_row(const struct dense *net, const struct row *row, bundle_rate_fn fn,
                       void *context)
{
    int r = 0;
    for (uint32_t source = 0; !r && source < net->n; source++) {
        if (!bit(row->has, source))
            continue;
        struct bundle_rate flow = {
            .path = topology_path(net->fluid->config.topology, source, row->target, 0),
            .level = row->sheet->level,
            .n = 1,
            .rate = flow_rate(net, row, source)};
        r = fn(context, &flow);
    }
    return r;
}

/* Flow by flow, without the solver's counters. */
static int each(const struct fluid *f, bundle_rate_fn fn, void *context)
{
    const struct dense *net = f->net;
    int r = 0;
    for (const struct sheet *sheet = net->first; sheet; sheet = sheet->lower)
        for (size_t i = 0; !r && i < sheet->n_rows; i++)
            r = each_of_row(net, sheet->rows[i], fn, context);
    return r;
}

static int create(struct fluid *f)
{
    struct dense *net = f->net = calloc(1, sizeof(*net));
    if (!net)
        return -ENOMEM;
    net->fluid = f;
    net->n = f->config.topology->n_hosts;
    net->width = (net->n + 7) / 8 * 8;
    net->words = (net->n + 63) / 64;
    net->capacity = f->config.topology->edge_bytes_s;
    net->givers = calloc(net->n, sizeof(*net->givers));
    bool made = net->givers;
    for (int side = 0; side < 2; side++) {
        double **tables[] = {&net->all[side], &net->open[side], &net->left[side],
                             &net->share[side]};
        for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
            made &= (*tables[i] = zeroed(net->width * sizeof(double))) != NULL;
        made &= (net->gave[side] = calloc(net->words, sizeof(uint64_t))) != NULL;
        made &= (net->news[side] = calloc(net->words, sizeof(uint64_t))) != NULL;
        made &= (net->redo[side] = calloc(net->words, sizeof(uint64_t))) != NULL;
        for (uint32_t i = 0; made && i < net->n; i++)
            net->all[side][i] = net->capacity;
    }
    return made ? 0 : -ENOMEM;
}

static void destroy(struct fluid *f)
{
    struct dense *net = f->net;
    if (!net)
        return;
    for (size_t i = 0; i < net->sheets.n; i++) {
        free(((struct sheet *)net->sheets.items[i])->rows);
        free(net->sheets.items[i]);
    }
    for (size_t i = 0; i < net->rows.n; i++)
        free(net->rows.items[i]);
    for (int side = 0; side < 2; side++) {
        free(net->all[side]);
        free(net->open[side]);
        free(net->left[side]);
        free(net->share[side]);
        free(net->gave[side]);
        free(net->news[side]);
        free(net->redo[side]);
    }
    free(net->givers);
    free(net->sheets.items);
    free(net->rows.items);
    free(net);
}

const struct fluid_method fluid_dense = {
    .create = create,
    .destroy = destroy,
    .start = start,
    .move = move,
    .stop = stop,
    .forget = forget,
    .left_bytes = left_bytes,
    .solve = solve,
    .next_ns = next_ns,
    .end = end,
    .rate_from = rate_from,
    .downlinks = downlinks,
    .each = each,
};
