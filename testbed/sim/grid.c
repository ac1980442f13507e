#include "testbed/sim/grid.h"

#include "lib/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int grid_set_policies(struct grid *grid, const char *list, struct err *err)
{
    char words[GRID_MAX][32];
    int n = batch_split(list, words, GRID_MAX, err);
    for (int i = 0; i < n; i++) {
        grid->policies[i] = preset_find(words[i]);
        if (!grid->policies[i])
            return err_set(err, EINVAL, "there is no policy '%s'", words[i]);
    }
    grid->n_policies = n;
    return n < 0 ? n : 0;
}

int grid_set_values(struct grid *grid, const char *option, const char *list, struct err *err)
{
    int n = batch_split(list, grid->values, GRID_MAX, err);
    grid->option = option;
    grid->n_values = n;
    return n < 0 ? n : 0;
}

int grid_read_seeds(const char *value, int otherwise, int *ret, struct err *err)
{
    uint64_t n = (uint64_t)otherwise;
    if (value && number_read(value, 1, GRID_SEEDS_MAX, &n) < 0)
        return err_set(err, EINVAL, "--seeds takes a number from 1 to %d, not '%s'", GRID_SEEDS_MAX,
                       value);
    *ret = (int)n;
    return 0;
}

static struct batch_item *item(const struct grid *g, int policy, int value, int seed)
{
    return &g->items[(policy * g->n_values + value) * g->n_seeds + seed];
}

/* "a=1+b=2" */
static int set_options(struct run_setup *setup, const char *list, struct err *err)
{
    char copy[32], *rest = copy, *word;
    int r = 0;
    snprintf(copy, sizeof(copy), "%s", list);
    while (!r && (word = strsep(&rest, "+"))) {
        char *value = strchr(word, '=');
        if (!value)
            return err_set(err, EINVAL, "'%s' is not OPTION=VALUE", word);
        *value++ = 0;
        r = run_setup_set(setup, word, value, err);
    }
    return r;
}

static int set_value(const struct grid *g, struct run_setup *setup, int value, struct err *err)
{
    if (!g->option)
        return 0;
    return strcmp(g->option, "options") == 0
               ? set_options(setup, g->values[value], err)
               : run_setup_set(setup, g->option, g->values[value], err);
}

static size_t items_of(const struct grid *g)
{
    return (size_t)(g->n_policies * g->n_values * g->n_seeds);
}

int grid_prepare(struct grid *g, const struct run_setup *base, int seeds, struct err *err)
{
    int r = 0;
    g->n_seeds = seeds;
    g->n_values = g->option ? g->n_values : 1;
    g->items = calloc(items_of(g), sizeof(*g->items));
    if (!g->items)
        return err_set(err, ENOMEM, "not enough memory for %zu simulations", items_of(g));
    for (int p = 0; p < g->n_policies; p++)
        for (int v = 0; v < g->n_values; v++)
            for (int s = 0; s < seeds && !r; s++) {
                struct run_setup *setup = &item(g, p, v, s)->setup;
                *setup = *base;
                setup->policy = g->policies[p];
                setup->convert.seed += (uint64_t)s;
                r = set_value(g, setup, v, err);
            }
    return r;
}

int grid_run(struct grid *const *grids, size_t n, struct err *err)
{
    size_t total = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        total += items_of(grids[i]);
    struct batch_item **items = calloc(total ? total : 1, sizeof(struct batch_item *));
    if (!items)
        return err_set(err, ENOMEM, "not enough memory for %zu simulations", total);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < items_of(grids[i]); k++)
            items[at++] = &grids[i]->items[k];
    int r = batch_run(items, total, err);
    free(items);
    return r;
}

void grid_done(struct grid *grid)
{
    free(grid->items);
    grid->items = NULL;
}

double grid_median(const struct grid *g, int policy, int value, size_t offset)
{
    const struct batch_item *items[GRID_SEEDS_MAX];
    for (int s = 0; s < g->n_seeds; s++)
        items[s] = item(g, policy, value, s);
    return batch_median(items, (size_t)g->n_seeds, offset);
}

void grid_range(const struct grid *g, int policy, int value, size_t offset, double *ret_least,
                double *ret_most)
{
    for (int s = 0; s < g->n_seeds; s++) {
        double x;
        memcpy(&x, (const char *)&item(g, policy, value, s)->row + offset, sizeof(x));
        if (s == 0 || x < *ret_least)
            *ret_least = x;
        if (s == 0 || x > *ret_most)
            *ret_most = x;
    }
}

bool grid_proven(const struct grid *g, int value)
{
    bool proven = true;
    for (int s = 0; s < g->n_seeds; s++)
        proven &= item(g, 0, value, s)->row.proven;
    return proven;
}

double grid_gain(double ours, double theirs)
{
    return theirs > 0 ? 100 * (1 - ours / theirs) : 0;
}
