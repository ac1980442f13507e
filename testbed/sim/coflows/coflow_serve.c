/* What a Coflow gets of its ports: MADD for it as a whole, then equal sharing on rows and columns
 * that still have a free port, then back-filling flow by flow (coflow_live.h explains the three
 * parts). */
#include "testbed/sim/coflows/coflow_live.h"

#include "lib/grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A port with no more than this left is full (10⁻³ bit/s, as in coflowsim). */
static const double FULL = COFLOW_ZERO / 8;

void coflow_ports_reset(struct coflow_sim *sim)
{
    for (uint32_t i = 0; i < sim->ports.n; i++)
        sim->ports.send_free[i] = sim->ports.recv_free[i] = sim->ports.rate;
    for (size_t i = 0; i < sim->n_live; i++) {
        struct coflow_live *c = sim->live[i];
        c->pace = c->share_bytes_s = 0;
        c->n_rows = c->n_columns = c->n_extras = 0;
    }
}

static void need_add(struct coflow_sim *sim, const struct coflow_live *c)
{
    const struct workload_fb_coflow *s = c->spec;
    for (uint32_t m = 0; m < s->n_mappers; m++)
        sim->ports.send_need[s->mappers[m]] += c->scale * c->column_left[m];
    for (uint32_t r = 0; r < s->n_reducers; r++)
        sim->ports.recv_need[s->reducers[r].port] += c->scale * c->row_left[r];
}

static void need_clear(struct coflow_sim *sim, const struct coflow_live *c)
{
    for (uint32_t m = 0; m < c->spec->n_mappers; m++)
        sim->ports.send_need[c->spec->mappers[m]] = 0;
    for (uint32_t r = 0; r < c->spec->n_reducers; r++)
        sim->ports.recv_need[c->spec->reducers[r].port] = 0;
}

static double port_time(double need, double free)
{
    if (need <= COFLOW_ZERO)
        return 0;
    return free > FULL ? need / free : INFINITY;
}

double coflow_bottleneck_s(struct coflow_sim *sim, const struct coflow_live *c)
{
    const struct workload_fb_coflow *s = c->spec;
    const struct coflow_ports *p = &sim->ports;
    double longest = 0;
    need_add(sim, c);
    for (uint32_t m = 0; m < s->n_mappers; m++)
        longest =
            fmax(longest, port_time(p->send_need[s->mappers[m]], p->send_free[s->mappers[m]]));
    for (uint32_t r = 0; r < s->n_reducers; r++)
        longest = fmax(longest, port_time(p->recv_need[s->reducers[r].port],
                                          p->recv_free[s->reducers[r].port]));
    need_clear(sim, c);
    return longest;
}

void coflow_serve_madd(struct coflow_sim *sim, struct coflow_live *c, double duration_s)
{
    const struct workload_fb_coflow *s = c->spec;
    c->pace = 1 / duration_s;
    double bytes_s = c->scale * c->pace;
    for (uint32_t m = 0; m < s->n_mappers; m++)
        sim->ports.send_free[s->mappers[m]] -= bytes_s * c->column_left[m];
    for (uint32_t r = 0; r < s->n_reducers; r++)
        sim->ports.recv_free[s->reducers[r].port] -= bytes_s * c->row_left[r];
}

/* Finds rows and columns that have live flows and a free port; returns whether these are all live
 * flows. */
static bool open_lines(const struct coflow_sim *sim, struct coflow_live *c)
{
    const struct workload_fb_coflow *s = c->spec;
    uint32_t rows = 0, columns = 0;
    c->n_rows = c->n_columns = 0;
    for (uint32_t r = 0; r < s->n_reducers; r++) {
        rows += c->row_live[r] > 0;
        if (c->row_live[r] && sim->ports.recv_free[s->reducers[r].port] > FULL)
            c->rows[c->n_rows++] = r;
    }
    for (uint32_t m = 0; m < s->n_mappers; m++) {
        columns += c->column_live[m] > 0;
        if (c->column_live[m] && sim->ports.send_free[s->mappers[m]] > FULL)
            c->columns[c->n_columns++] = m;
    }
    return c->n_rows == rows && c->n_columns == columns;
}

/* Counts live flows per open row and column into row_share and column_share; all_open avoids a look
 * at each. */
static void count_open(struct coflow_live *c, bool all_open)
{
    for (uint32_t j = 0; j < c->n_columns; j++)
        c->column_share[j] = all_open ? c->column_live[c->columns[j]] : 0;
    for (uint32_t i = 0; i < c->n_rows; i++) {
        const double *left = c->left + (size_t)c->rows[i] * c->spec->n_mappers;
        uint32_t n = 0;
        for (uint32_t j = 0; j < c->n_columns && !all_open; j++) {
            bool live = left[c->columns[j]] > 0;
            c->column_share[j] += live;
            n += live;
        }
        c->row_share[i] = all_open ? c->row_live[c->rows[i]] : n;
    }
}

/* Turns counts into shares: lines on one port divide it by the live flows of all of them. */
static void counts_to_shares(struct coflow_sim *sim, struct coflow_live *c)
{
    const struct workload_fb_coflow *s = c->spec;
    struct coflow_ports *p = &sim->ports;
    for (uint32_t j = 0; j < c->n_columns; j++)
        p->send_need[s->mappers[c->columns[j]]] += c->column_share[j];
    for (uint32_t i = 0; i < c->n_rows; i++)
        p->recv_need[s->reducers[c->rows[i]].port] += c->row_share[i];
    for (uint32_t j = 0; j < c->n_columns; j++) {
        uint32_t port = s->mappers[c->columns[j]];
        c->column_share[j] = p->send_need[port] > 0 ? p->send_free[port] / p->send_need[port] : 0;
    }
    for (uint32_t i = 0; i < c->n_rows; i++) {
        uint32_t port = s->reducers[c->rows[i]].port;
        c->row_share[i] = p->recv_need[port] > 0 ? p->recv_free[port] / p->recv_need[port] : 0;
    }
    need_clear(sim, c);
}

static double take_row(struct coflow_sim *sim, const struct coflow_live *c, uint32_t i)
{
    const double *left = c->left + (size_t)c->rows[i] * c->spec->n_mappers;
    double share = c->row_share[i], taken = 0;
    for (uint32_t j = 0; j < c->n_columns; j++) {
        uint32_t column = c->columns[j];
        double rate = c->column_share[j] < share ? c->column_share[j] : share;
        rate = left[column] > 0 ? rate : 0;
        sim->ports.send_need[c->spec->mappers[column]] += rate;
        taken += rate;
    }
    return taken;
}

void coflow_serve_share(struct coflow_sim *sim, struct coflow_live *c)
{
    const struct workload_fb_coflow *s = c->spec;
    bool all_open = open_lines(sim, c);
    if (!c->n_rows || !c->n_columns) {
        c->n_rows = c->n_columns = 0;
        return;
    }
    count_open(c, all_open);
    counts_to_shares(sim, c);
    for (uint32_t i = 0; i < c->n_rows; i++) {
        double taken = take_row(sim, c, i);
        sim->ports.recv_free[s->reducers[c->rows[i]].port] -= taken;
        c->share_bytes_s += taken;
    }
    for (uint32_t j = 0; j < c->n_columns; j++) {
        uint32_t port = s->mappers[c->columns[j]];
        sim->ports.send_free[port] -= sim->ports.send_need[port];
        sim->ports.send_need[port] = 0;
    }
}

static int extra_add(struct coflow_live *c, uint32_t row, uint32_t column, double bytes_s)
{
    if (!array_grow(c->extras, c->n_extras, c->room_extras, 16))
        return -ENOMEM;
    c->extras[c->n_extras++] = (struct coflow_extra){row, column, bytes_s};
    return 0;
}

static int serve_row_rest(struct coflow_sim *sim, struct coflow_live *c, uint32_t row,
                          const uint32_t *columns, uint32_t n)
{
    struct coflow_ports *p = &sim->ports;
    const double *left = c->left + (size_t)row * c->spec->n_mappers;
    double *recv = &p->recv_free[c->spec->reducers[row].port];
    for (uint32_t j = 0; j < n && FULL < *recv; j++) {
        double *send = &p->send_free[c->spec->mappers[columns[j]]];
        if (*send <= FULL || left[columns[j]] <= 0)
            continue;
        double rest = *send < *recv ? *send : *recv;
        if (extra_add(c, row, columns[j], rest))
            return -ENOMEM;
        *send -= rest;
        *recv -= rest;
    }
    return 0;
}

int coflow_serve_rest(struct coflow_sim *sim, struct coflow_live *c)
{
    const struct workload_fb_coflow *s = c->spec;
    uint32_t n = 0, columns[256];
    for (uint32_t m = 0; m < s->n_mappers; m++) {
        if (c->column_live[m] && sim->ports.send_free[s->mappers[m]] > FULL)
            columns[n++] = m;
        if (n < 256 && m + 1 < s->n_mappers)
            continue;
        for (uint32_t r = 0; r < s->n_reducers && n; r++)
            if (c->row_live[r] && serve_row_rest(sim, c, r, columns, n))
                return -ENOMEM;
        n = 0;
    }
    return 0;
}

double coflow_share_end_s(const struct coflow_live *c)
{
    uint32_t served = 0;
    double last = 0;
    for (uint32_t i = 0; i < c->n_rows; i++)
        served += c->row_live[c->rows[i]];
    if (served < c->n_live)
        return INFINITY;
    served = 0;
    for (uint32_t j = 0; j < c->n_columns; j++)
        served += c->column_live[c->columns[j]];
    if (served < c->n_live)
        return INFINITY;
    for (uint32_t i = 0; i < c->n_rows; i++) {
        const double *left = c->left + (size_t)c->rows[i] * c->spec->n_mappers;
        double slowest = 1 / c->row_share[i];
        for (uint32_t j = 0; j < c->n_columns; j++) {
            double seconds_per_byte = fmax(slowest, 1 / c->column_share[j]);
            last = fmax(last, (left[c->columns[j]] * c->scale - COFLOW_ZERO) * seconds_per_byte);
        }
    }
    return last;
}
