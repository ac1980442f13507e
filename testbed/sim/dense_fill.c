#include "testbed/sim/dense.h"

#include <math.h>
#include <string.h>

/* Differences below this part of a capacity or a rate are rounding. */
static const double NOISE = 1e-12;

/* Of a link that has given: more flows than any can be taken from. */
static const double GIVEN = -1e300;

typedef int64_t masks __attribute__((vector_size(64)));

/* WHY not a function: one that takes vectors has another ABI with each instruction set. */
#define CHOOSE(which, yes, no) ((lanes)(((masks)(yes) & (which)) | ((masks)(no) & ~(which))))

static double least(const double *values, uint32_t width)
{
    const lanes *v = (const lanes *)values;
    lanes low = v[0];
    for (uint32_t i = 1; i < width / LANES; i++)
        low = CHOOSE(v[i] < low, v[i], low);
    double least = low[0];
    for (int i = 1; i < LANES; i++)
        least = low[i] < least ? low[i] : least;
    return least;
}

/* Links without open flows have an infinite share. Returns the least. */
static double shares(const struct dense *net, int side)
{
    const lanes *open = (const lanes *)net->open[side], *left = (const lanes *)net->free[side];
    const lanes zero = {0}, half = zero + .5, infinite = zero + INFINITY;
    lanes *share = (lanes *)net->share[side];
    for (uint32_t i = 0; i < net->width / LANES; i++)
        share[i] =
            CHOOSE(open[i] > half, CHOOSE(left[i] > zero, left[i], zero) / open[i], infinite);
    return least(net->share[side], net->width);
}

/* ---- checkpoints ---- */

static void save(const struct dense *net, struct side *s, int side, double *const upper[2],
                 uint32_t checkpoint)
{
    const size_t at = (size_t)checkpoint * net->width;
    const lanes *flows = (lanes *)s->flows, *open = (lanes *)net->open[side],
                *capacity = (lanes *)upper[side], *left = (lanes *)net->free[side];
    lanes *fixed = (lanes *)(s->fixed + at), *given = (lanes *)(s->given + at);
    for (uint32_t i = 0; i < net->width / LANES; i++) {
        fixed[i] = flows[i] - open[i];
        given[i] = capacity[i] - left[i];
    }
    memcpy(s->unfixed + checkpoint * net->words, net->unfixed[side], net->words * sizeof(uint64_t));
}

static void restore(const struct dense *net, struct side *s, int side, double *const upper[2],
                    uint32_t checkpoint)
{
    const size_t at = (size_t)checkpoint * net->width;
    const lanes *flows = (lanes *)s->flows, *capacity = (lanes *)upper[side],
                *fixed = (lanes *)(s->fixed + at), *given = (lanes *)(s->given + at);
    const lanes zero = {0};
    lanes *open = (lanes *)net->open[side], *left = (lanes *)net->free[side],
          *rate = (lanes *)s->rate;
    for (uint32_t i = 0; i < net->width / LANES; i++) {
        open[i] = flows[i] - fixed[i];
        left[i] = capacity[i] - given[i];
        rate[i] = CHOOSE(open[i] < zero + GIVEN / 2, rate[i], zero);
    }
    memcpy(net->unfixed[side], s->unfixed + checkpoint * net->words, net->words * sizeof(uint64_t));
}

static void begin(const struct dense *net, struct side *s, int side, double *const upper[2])
{
    size_t size = net->width * sizeof(double);
    memcpy(net->open[side], s->flows, size);
    memcpy(net->free[side], upper[side], size);
    memset(s->rate, 0, size);
    memset(net->unfixed[side], 0xff, net->words * sizeof(uint64_t));
}

/* The steps before the checkpoint give what they gave if no changed link gave in one of them, and
 * none has so little for each of its flows now that it would have. */
static bool holds_at(const struct dense *net, const struct sheet *sheet, int side,
                     double *const upper[2], uint32_t checkpoint)
{
    const struct side *s = &sheet->side[side];
    const double *fixed = s->fixed + (size_t)checkpoint * net->width;
    const double *given = s->given + (size_t)checkpoint * net->width;
    for (uint32_t w = 0; w < net->words; w++) {
        if (s->changed[w] & ~s->unfixed[checkpoint * net->words + w])
            return false;
        for (uint64_t set = s->changed[w]; set; set &= set - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(set);
            double open = s->flows[i] - fixed[i], left = upper[side][i] - given[i];
            if (left < open * sheet->given_below[checkpoint] * (1 - NOISE) - NOISE * net->capacity)
                return false;
        }
    }
    return true;
}

/* Sets the state to fill on from. Returns the number of steps that it has behind it. */
static uint32_t resume(const struct dense *net, struct sheet *sheet, double *const upper[2])
{
    uint32_t at = sheet->n_checkpoints ? sheet->n_checkpoints - 1 : 0;
    while (at > 0 && !(holds_at(net, sheet, 0, upper, at) && holds_at(net, sheet, 1, upper, at)))
        at--;
    for (int side = 0; side < 2; side++)
        if (at > 0)
            restore(net, &sheet->side[side], side, upper, at);
        else
            begin(net, &sheet->side[side], side, upper);
    return at;
}

/* ---- filling ---- */

/* Links of this side whose share is at most `most`. */
static uint32_t pick(const struct dense *net, int side, double most)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < net->n; i++) {
        net->picked[n] = i;
        n += net->share[side][i] <= most && net->share[side][i] < INFINITY;
    }
    return n;
}

/* Flows of this link that it limits now and did not before. */
static void take_over_new(struct dense *net, struct sheet *sheet, int side, uint32_t port)
{
    const struct side *s = &sheet->side[side];
    const uint64_t *has = s->has + (size_t)port * net->words,
                   *mine = s->mine + (size_t)port * net->words, *unfixed = net->unfixed[!side];
    for (uint32_t w = 0; w < net->words; w++)
        for (uint64_t new = has[w] & ~mine[w] & unfixed[w]; new; new &= new - 1)
            sheet_take_over(net, sheet, side, port, w * 64 + (uint32_t)__builtin_ctzll(new));
}

/* All open flows of a link get `rate`: takes them from the other side's links. */
static void take(const struct dense *net, int other, const double *row, double rate)
{
    const lanes *n = (const lanes *)row;
    lanes *open = (lanes *)net->open[other], *left = (lanes *)net->free[other];
    for (uint32_t i = 0; i < net->width / LANES; i++) {
        open[i] -= n[i];
        left[i] -= n[i] * rate;
    }
}

/* WHY all links of a side up to the other's least share at once: what they give leaves the other
 * side's shares as they are or larger, and links of one side have no flow in common. Returns the
 * largest share given. */
static double step(struct dense *net, struct sheet *sheet, int side, double most)
{
    struct side *s = &sheet->side[side];
    uint32_t n = pick(net, side, most);
    double largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t port = net->picked[i];
        double share = net->share[side][port];
        largest = share > largest ? share : largest;
        s->rate[port] = share;
        take_over_new(net, sheet, side, port);
        bit_clear(net->unfixed[side], port);
        net->open[side][port] = GIVEN;
        net->share[side][port] = INFINITY;
        take(net, !side, s->count + (size_t)port * net->width, share);
    }
    net->fluid->visited += n;
    return largest;
}

/* A link that limits flows is full. */
static void set_used(const struct dense *net, struct side *s, int side, double *const upper[2])
{
    const lanes *open = (lanes *)net->open[side], *left = (lanes *)net->free[side],
                *capacity = (lanes *)upper[side];
    const lanes zero = {0};
    lanes *used = (lanes *)s->used;
    for (uint32_t i = 0; i < net->width / LANES; i++)
        used[i] = CHOOSE(open[i] < zero + GIVEN / 2, capacity[i], capacity[i] - left[i]);
    memset(s->changed, 0, net->words * sizeof(uint64_t));
}

void sheet_fill(struct dense *net, struct sheet *sheet, double *const upper[2])
{
    uint32_t at = resume(net, sheet, upper);
    double given = at ? sheet->given_below[at] : 0;
    double low[2] = {shares(net, 0), shares(net, 1)};
    for (; low[0] < INFINITY || low[1] < INFINITY; at++) {
        for (int side = 0; side < 2 && at && at < CHECKPOINTS; side++)
            save(net, &sheet->side[side], side, upper, at);
        if (at < CHECKPOINTS)
            sheet->given_below[at] = given;
        int side = low[1] < low[0];
        given = step(net, sheet, side, low[!side]);
        low[side] = least(net->share[side], net->width);
        low[!side] = shares(net, !side);
    }
    sheet->n_checkpoints = at < CHECKPOINTS ? at : CHECKPOINTS;
    for (int side = 0; side < 2; side++)
        set_used(net, &sheet->side[side], side, upper);
    sheet->changed = false;
}
