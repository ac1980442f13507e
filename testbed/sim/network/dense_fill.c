/* Rates by progressive filling of dense.h's sheets, level by level, each from the last checkpoint
 * before anything differs from the remembered filling. */
#include "testbed/sim/network/dense.h"

#include <math.h>
#include <string.h>

/* Differences below this part of a capacity or a rate are rounding. */
static const double NOISE = 1e-12;

/* Marks `open` of a filled link: low enough that later subtractions do not matter. */
static const double GAVE = -1e300;

static double *saved(const struct dense *net, double *table, uint32_t checkpoint)
{
    return table + (size_t)checkpoint * net->width;
}

static void save(const struct dense *net, struct sheet *sheet, uint32_t checkpoint, double given)
{
    size_t size = net->width * sizeof(double);
    sheet->given_below[checkpoint] = given;
    for (int i = 0; i < 2; i++) {
        struct side *s = &sheet->side[i];
        memcpy(saved(net, s->saved_open, checkpoint), net->open[i], size);
        memcpy(saved(net, s->saved_left, checkpoint), net->left[i], size);
        memcpy(s->saved_gave + checkpoint * net->words, net->gave[i],
               net->words * sizeof(uint64_t));
    }
}

static void restore(const struct dense *net, struct sheet *sheet, uint32_t checkpoint)
{
    size_t size = net->width * sizeof(double);
    for (int i = 0; i < 2; i++) {
        struct side *s = &sheet->side[i];
        memcpy(net->open[i], saved(net, s->saved_open, checkpoint), size);
        memcpy(net->left[i], saved(net, s->saved_left, checkpoint), size);
        memcpy(net->gave[i], s->saved_gave + checkpoint * net->words,
               net->words * sizeof(uint64_t));
    }
}

static void begin(const struct dense *net, struct sheet *sheet, double *const upper[2])
{
    size_t size = net->width * sizeof(double);
    for (int i = 0; i < 2; i++) {
        memcpy(net->open[i], sheet->side[i].flows, size);
        memcpy(net->left[i], upper[i], size);
        memset(net->gave[i], 0, net->words * sizeof(uint64_t));
    }
}

/* The steps before the checkpoint stay the same if no changed link was filled in one of them, and
 * none has so small a share now that it would be. */
static bool holds_at(const struct dense *net, const struct sheet *sheet, int side,
                     double *const upper[2], uint32_t checkpoint)
{
    const struct side *s = &sheet->side[side];
    const double *open = saved(net, s->saved_open, checkpoint);
    const double *left = saved(net, s->saved_left, checkpoint);
    double given = sheet->given_below[checkpoint] * (1 - NOISE);
    for (uint32_t w = 0; w < net->words; w++) {
        if (s->changed[w] & s->saved_gave[checkpoint * net->words + w])
            return false;
        for (uint64_t set = s->changed[w]; set; set &= set - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(set);
            double open_now = open[i] + s->flows[i] - s->filled_flows[i];
            double left_now = left[i] + upper[side][i] - s->filled_capacity[i];
            if (left_now < open_now * given - NOISE * net->capacity)
                return false;
        }
    }
    return true;
}

/* Corrects the valid checkpoints for the changed links. */
static void patch(struct dense *net, struct sheet *sheet, int side, double *const upper[2],
                  uint32_t n_checkpoints)
{
    struct side *s = &sheet->side[side];
    for (uint32_t w = 0; w < net->words; w++) {
        for (uint64_t set = s->changed[w]; set; set &= set - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(set);
            double more_flows = s->flows[i] - s->filled_flows[i];
            double more_bytes = upper[side][i] - s->filled_capacity[i];
            for (uint32_t at = 1; at < n_checkpoints; at++) {
                saved(net, s->saved_open, at)[i] += more_flows;
                saved(net, s->saved_left, at)[i] += more_bytes;
            }
            s->filled_flows[i] = s->flows[i];
            s->filled_capacity[i] = upper[side][i];
            if (s->flows[i] > 0)
                bit_set(s->active, i);
            else
                bit_clear(s->active, i);
        }
        net->redo[side][w] = s->changed[w];
        s->changed[w] = 0;
    }
}

/* Sets the state to continue filling from. Returns the number of steps before it. */
static uint32_t resume(struct dense *net, struct sheet *sheet, double *const upper[2])
{
    uint32_t at = sheet->n_checkpoints ? sheet->n_checkpoints - 1 : 0;
    while (at > 0 && !(holds_at(net, sheet, 0, upper, at) && holds_at(net, sheet, 1, upper, at)))
        at--;
    patch(net, sheet, 0, upper, at + 1);
    patch(net, sheet, 1, upper, at + 1);
    if (at > 0)
        restore(net, sheet, at);
    else
        begin(net, sheet, upper);
    for (int side = 0; side < 2; side++)
        for (uint32_t w = 0; w < net->words; w++)
            net->redo[side][w] |= sheet->side[side].active[w] & ~net->gave[side][w];
    return at;
}

/* Takes from four links of a side what the filled links of the other side give, and sets their
 * shares, which are infinite without open flows. WHY four: each filled link's row is read once, and
 * the totals stay in registers. */
LANES_FUNCTION lanes take_block(const struct dense *net, int side, uint32_t block,
                                const struct giver *givers, uint32_t n)
{
    const lanes zero = {0};
    lanes open = *(lanes *)(net->open[side] + block), left = *(lanes *)(net->left[side] + block);
    for (uint32_t k = 0; k < n; k++) {
        lanes row = *(const lanes *)(givers[k].row + block);
        open -= row;
        left -= row * givers[k].rate;
    }
    lanes share = choose(open > zero + .5, larger(left, zero) / open, zero + INFINITY);
    *(lanes *)(net->open[side] + block) = open;
    *(lanes *)(net->left[side] + block) = left;
    *(lanes *)(net->share[side] + block) = share;
    return share;
}

/* The same for all links of the side that may have open flows. Returns the least share. */
static double take(const struct dense *net, const struct sheet *sheet, int side,
                   const struct giver *givers, uint32_t n)
{
    const struct side *s = &sheet->side[side];
    lanes low = (lanes){0} + INFINITY;
    for (uint32_t w = 0; w < net->words; w++) {
        uint64_t todo = s->active[w] & ~net->gave[side][w];
        while (todo)
            low = smaller(low, take_block(net, side, next_block(&todo, w), givers, n));
    }
    return least_of(low);
}

/* Takes over flows of this link that it limits now and did not before. */
static void take_over_new(struct dense *net, struct sheet *sheet, int side, uint32_t port)
{
    const struct side *s = &sheet->side[side];
    const uint64_t *has = s->has + (size_t)port * net->words,
                   *mine = s->mine + (size_t)port * net->words, *gave = net->gave[!side];
    for (uint32_t w = 0; w < net->words; w++)
        for (uint64_t new = has[w] & ~mine[w] & ~gave[w]; new; new &= new - 1)
            sheet_take_over(net, sheet, side, port, w * 64 + (uint32_t)__builtin_ctzll(new));
}

static struct giver give(struct dense *net, struct sheet *sheet, int side, uint32_t port)
{
    struct side *s = &sheet->side[side];
    s->rate[port] = net->share[side][port];
    take_over_new(net, sheet, side, port);
    bit_set(net->gave[side], port);
    net->open[side][port] = GAVE;
    return (struct giver){s->count + (size_t)port * net->width, s->rate[port]};
}

/* Fills the links of a block whose share is at most `most`; returns the least share of the others.
 * Filled links and those without open flows have infinite shares. */
LANES_FUNCTION lanes give_block(struct dense *net, struct sheet *sheet, int side, uint32_t block,
                                double most, uint32_t *n, double *largest)
{
    const lanes infinite = (lanes){0} + INFINITY, limit = (lanes){0} + most;
    double *share = net->share[side] + block;
    lanes shares = *(lanes *)share;
    unsigned set = bits_of(shares <= limit) & bits_of(shares < infinite);
    for (; set; set &= set - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(set);
        *largest = share[i] > *largest ? share[i] : *largest;
        net->givers[(*n)++] = give(net, sheet, side, block + i);
        share[i] = INFINITY;
    }
    return choose(shares <= limit, infinite, shares);
}

/* WHY all links of a side up to the other side's least share at once: filling them leaves the other
 * side's shares equal or larger, and links of one side have no flow in common. Returns the largest
 * share given. */
static double step(struct dense *net, struct sheet *sheet, int side, double low[2])
{
    double largest = 0, most = low[!side];
    lanes least = (lanes){0} + INFINITY;
    const struct side *s = &sheet->side[side];
    uint32_t n = 0;
    for (uint32_t w = 0; w < net->words; w++)
        for (uint64_t todo = s->active[w] & ~net->gave[side][w]; todo;)
            least = smaller(least,
                            give_block(net, sheet, side, next_block(&todo, w), most, &n, &largest));
    low[side] = least_of(least);
    low[!side] = take(net, sheet, !side, net->givers, n);
    net->fluid->visited += n;
    return largest;
}

static bool news_of(const struct dense *net, struct side *s, int side, uint32_t port, double rest)
{
    if (fabs(rest - s->rest[port]) <= NOISE * net->capacity)
        return false;
    s->rest[port] = rest;
    bit_set(net->news[side], port);
    return true;
}

/* A link that limits flows is full. WHY two links are compared first: most have not changed. */
static bool leave_block(const struct dense *net, struct side *s, int side, uint32_t block)
{
    const lanes zero = {0}, little = zero + 1e-9 * net->capacity;
    const lanes noise = zero + NOISE * net->capacity;
    lanes open = *(lanes *)(net->open[side] + block), left = *(lanes *)(net->left[side] + block);
    lanes rest = choose(open > zero + GAVE / 2, choose(left > little, left, zero), zero);
    lanes more = rest - *(lanes *)(s->rest + block);
    bool news = false;
    for (unsigned set = bits_of(more > noise) | bits_of(-more > noise); set; set &= set - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(set);
        news |= news_of(net, s, side, block + i, ((const double *)&rest)[i]);
    }
    return news;
}

static bool leave(const struct dense *net, struct sheet *sheet, int side)
{
    bool news = false;
    memset(net->news[side], 0, net->words * sizeof(uint64_t));
    for (uint32_t w = 0; w < net->words; w++)
        for (uint64_t set = net->redo[side][w]; set;)
            news |= leave_block(net, &sheet->side[side], side, next_block(&set, w));
    return news;
}

bool sheet_fill(struct dense *net, struct sheet *sheet, double *const upper[2])
{
    uint32_t at = resume(net, sheet, upper);
    double given = at ? sheet->given_below[at] : 0;
    double low[2] = {take(net, sheet, 0, NULL, 0), take(net, sheet, 1, NULL, 0)};
    for (; low[0] < INFINITY || low[1] < INFINITY; at++) {
        if (at && at < CHECKPOINTS)
            save(net, sheet, at, given);
        given = step(net, sheet, low[1] < low[0], low);
    }
    sheet->n_checkpoints = at < CHECKPOINTS ? at : CHECKPOINTS;
    sheet->changed = false;
    bool news = leave(net, sheet, 0);
    return leave(net, sheet, 1) || news;
}

bool sheet_pass(struct dense *net, struct sheet *sheet, double *const upper[2])
{
    bool news = false;
    for (int side = 0; side < 2; side++)
        for (uint32_t w = 0; w < net->words; w++) {
            uint64_t set = net->news[side][w];
            net->news[side][w] = 0;
            for (; set; set &= set - 1) {
                uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(set);
                news |= news_of(net, &sheet->side[side], side, i, upper[side][i]);
            }
        }
    return news;
}
