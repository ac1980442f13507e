/* A big switch as matrices: dense.c keeps flows, dense_fill.c sets rates; dense_avx2.c compiles
 * both for processors with AVX2.
 *
 * The flows of one level form a *sheet*: the number of flows from each host to each. Its
 * progressive filling is arithmetic on rows and columns without pointers. For some hundred hosts
 * and workloads full of shuffles, where a change reaches a third of all links, that is many times
 * faster than looking for what changed. A sheet's filling is remembered step by step, and the next
 * one continues from the last step before anything differs.
 *
 * A *row* is the flows into one task, by source host: for each the count at which it ends, on the
 * counter of the link that limits it. A Macroflow with several flows from one host is several rows.
 * A link here is a *side* (0: uplinks, of senders; 1: downlinks, of receivers) and a host. */
#pragma once

#include "testbed/sim/network/fluid_state.h"

#include <sys/queue.h>

#ifdef DENSE_AVX2
#include <immintrin.h>
#endif

/* Four hosts at a time, for the compiler's vector registers. */
typedef double lanes __attribute__((vector_size(32)));
typedef double half_lanes __attribute__((vector_size(16)));
enum { LANES = 4 };
#define LANES_FUNCTION static inline __attribute__((always_inline))

enum { CHECKPOINTS = 16 };

struct row {
    LIST_ENTRY(row) of_target; /* in sheet.of_target[target] */
    struct row *next;          /* of its Macroflow, or spare */
    struct sheet *sheet;       /* NULL: all its flows have ended */
    uint32_t place;            /* in sheet.rows */
    uint32_t macroflow, target, n_left;
    /* By source host: the `served` of the limiting link, on that link's side, at which the flow
     * ends; infinite on the other side and for ended flows. While nothing limits it yet (its cell
     * is in neither `mine`), key[1] is the bytes left. */
    double *key[2];
    uint64_t *has; /* sources with a flow */
};

LIST_HEAD(row_list, row);

/* Arrays are by host (`width` doubles), or by host and host of the other side. */
struct side {
    double *count;     /* n × width: flows to or from each host of the other side */
    double *flows;     /* sums of those */
    double *rest;      /* what this level and the levels above leave of the link */
    double *rate;      /* of the flows that this link limits; anything if it limits none */
    double *served;    /* bytes that each of them got, by at_ns */
    double *due;       /* instant at which the flow with that key ends, ns; infinite: never */
    double *low;       /* least key of a flow limited here */
    uint64_t *has;     /* n × words: hosts of the other side with flows */
    uint64_t *mine;    /* n × words: those of them whose flows are limited here */
    uint64_t *changed; /* words: capacity or flows changed since the last filling */
    uint64_t *stale;   /* words: `low` may be too low, and `due` too early */
    /* Of the last filling: hosts with flows, and its result. */
    uint64_t *active;
    double *filled_flows, *filled_capacity;
    /* Per checkpoint, as in struct dense: what was left before that step. */
    double *saved_open, *saved_left;
    uint64_t *saved_gave;
};

struct sheet {
    uint32_t level;
    struct sheet *lower; /* the next less urgent one in use, or spare */
    struct side side[2];
    struct row_list *of_target;
    struct row **rows;
    size_t n_rows, rows_allocated;
    bool changed, fresh;             /* fresh: flows came that no link limits yet */
    int64_t at_ns, end_ns;           /* end_ns: of the next flow; FLUID_NEVER */
    uint32_t n_checkpoints;          /* the first one is the beginning */
    double given_below[CHECKPOINTS]; /* the last share that was given before the step */
};

/* A link that is filled in one step of a filling: the number of its flows to or from each host, and
 * the bytes a second of each. */
struct giver {
    const double *row;
    double rate;
};

struct dense {
    struct fluid *fluid;
    uint32_t n, width, words;
    double capacity;     /* of every link */
    double *all[2];      /* by side: capacity of each link; 0 beyond the hosts */
    struct sheet *first; /* sheets with flows, most urgent first */
    struct sheet *spare;
    struct row *spare_rows;
    struct list sheets, rows; /* all that were made */
    /* Scratch of the filling, by side and host: flows that no link limits yet, bytes a second left
     * for them, the share of each, and links that are filled. */
    double *open[2], *left[2], *share[2];
    /* Links whose share or flows may have changed since the last filling. */
    uint64_t *redo[2];
    uint64_t *gave[2];
    uint64_t *news[2]; /* links of which the levels above leave another part than before */
    struct giver *givers;
};

/* dense.c */
void sheet_take_over(struct dense *net, struct sheet *sheet, int side, uint32_t port,
                     uint32_t peer);

/* dense_fill.c. `upper`: what the levels above leave of each link, by side; net->news: where that
 * changed. Both return whether what is left for the levels below changed, and set where in
 * net->news. */
/* Sets new rates for a sheet, at its at_ns. */
bool sheet_fill(struct dense *net, struct sheet *sheet, double *const upper[2]);
/* For a sheet without flows where there is news. */
bool sheet_pass(struct dense *net, struct sheet *sheet, double *const upper[2]);

typedef int64_t masks __attribute__((vector_size(sizeof(lanes))));

LANES_FUNCTION lanes choose(masks which, lanes yes, lanes no)
{
    return (lanes)(((masks)yes & which) | ((masks)no & ~which));
}

/* WHY not choose() with AVX2: compilers do not recognize this single instruction. */
LANES_FUNCTION lanes smaller(lanes a, lanes b)
{
#ifdef DENSE_AVX2
    return _mm256_min_pd(a, b);
#else
    return choose(a < b, a, b);
#endif
}

LANES_FUNCTION lanes larger(lanes a, lanes b)
{
#ifdef DENSE_AVX2
    return _mm256_max_pd(a, b);
#else
    return choose(a > b, a, b);
#endif
}

/* The true lanes, as bits. */
LANES_FUNCTION unsigned bits_of(masks which)
{
#ifdef DENSE_AVX2
    return (unsigned)_mm256_movemask_pd((lanes)which);
#else
    return (unsigned)((which[0] & 1) | (which[1] & 2) | (which[2] & 4) | (which[3] & 8));
#endif
}

LANES_FUNCTION double least_of(lanes v)
{
    double a = v[0] < v[1] ? v[0] : v[1], b = v[2] < v[3] ? v[2] : v[3];
    return a < b ? a : b;
}

/* The first block of hosts with one in the set's word; removes the block from the word. */
static inline uint32_t next_block(uint64_t *set, uint32_t word)
{
    uint32_t at = (uint32_t)__builtin_ctzll(*set) / LANES * LANES;
    *set &= ~((((uint64_t)1 << LANES) - 1) << at);
    return word * 64 + at;
}

static inline bool bit(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *set, uint32_t i)
{
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

static inline void bit_clear(uint64_t *set, uint32_t i)
{
    set[i / 64] &= ~((uint64_t)1 << (i % 64));
}
