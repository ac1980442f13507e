#include "testbed/sim/coflows/coflow_live.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void live_destroy(struct coflow_live *c)
{
    if (!c)
        return;
    free(c->left);
    free(c->row_left);
    free(c->row_live);
    free(c->extras);
    free(c);
}

/* Each pair of tables of one type is one allocation, rows first. */
static int live_tables(struct coflow_live *c)
{
    size_t rows = c->spec->n_reducers, columns = c->spec->n_mappers, both = rows + columns;
    c->left = malloc(rows * columns * sizeof(*c->left));
    c->row_left = calloc(2 * both, sizeof(*c->row_left));
    c->row_live = calloc(2 * both, sizeof(*c->row_live));
    if (!c->left || !c->row_left || !c->row_live)
        return -ENOMEM;
    c->column_left = c->row_left + rows;
    c->row_share = c->row_left + both;
    c->column_share = c->row_share + rows;
    c->column_live = c->row_live + rows;
    c->rows = c->row_live + both;
    c->columns = c->rows + rows;
    return 0;
}

static void live_fill(struct coflow_live *c, const struct coflows_config *config)
{
    const struct workload_fb_coflow *spec = c->spec;
    double *flow = c->left;
    for (uint32_t r = 0; r < spec->n_reducers; r++) {
        double bytes = coflow_flow_bytes(config, spec, r);
        c->largest = fmax(c->largest, bytes * spec->n_mappers);
        for (uint32_t m = 0; m < spec->n_mappers; m++, flow++) {
            bool local = config->local_free && spec->mappers[m] == spec->reducers[r].port;
            *flow = local || bytes <= COFLOW_ZERO ? 0 : bytes;
            if (*flow == 0)
                continue;
            c->row_left[r] += bytes;
            c->column_left[m] += bytes;
            c->row_live[r]++;
            c->column_live[m]++;
            c->n_live++;
        }
        c->total += c->row_left[r];
    }
}

static struct coflow_live *live_create(const struct coflow_sim *sim, uint32_t index,
                                       uint32_t arrived)
{
    struct coflow_live *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->spec = &sim->config->trace->coflows[index];
    c->index = index;
    c->arrived = arrived;
    c->arrival_s = coflow_arrival_s(sim->config, c->spec);
    c->scale = 1;
    if (live_tables(c)) {
        live_destroy(c);
        return NULL;
    }
    live_fill(c, sim->config);
    return c;
}

/* Call after the flow's bytes were taken from the sums: the sum of a line without live flows is
 * only rounding. */
static void flow_ended(struct coflow_live *c, uint32_t row, uint32_t column)
{
    c->n_live--;
    if (--c->row_live[row] == 0)
        c->row_left[row] = 0;
    if (--c->column_live[column] == 0)
        c->column_left[column] = 0;
}

static void end_all(struct coflow_live *c)
{
    c->n_live = 0;
}

static void rescale(struct coflow_live *c)
{
    size_t rows = c->spec->n_reducers, columns = c->spec->n_mappers;
    for (size_t i = 0; i < rows * columns; i++)
        c->left[i] *= c->scale;
    for (size_t i = 0; i < rows + columns; i++)
        c->row_left[i] *= c->scale;
    c->scale = 1;
}

static void move_row(struct coflow_live *c, uint32_t i, double dt)
{
    uint32_t row = c->rows[i], n = c->n_columns;
    double *left = c->left + (size_t)row * c->spec->n_mappers, moved = 0,
           share = c->row_share[i] * dt;
    double zero = COFLOW_ZERO / c->scale;
    for (uint32_t j = 0; j < n; j++) {
        uint32_t column = c->columns[j];
        double has = left[column], take = c->column_share[j] * dt;
        if (has <= 0)
            continue;
        take = take < share ? take : share;
        take = has - take <= zero ? has : take;
        left[column] = has - take;
        moved += take;
        c->column_left[column] -= take;
        if (take == has)
            flow_ended(c, row, column);
    }
    c->row_left[row] = c->row_live[row] ? c->row_left[row] - moved : 0;
    c->sent += moved * c->scale;
}

static void move_extra(struct coflow_live *c, const struct coflow_extra *e, double dt)
{
    double *left = c->left + (size_t)e->row * c->spec->n_mappers + e->column;
    double take = e->bytes_s * dt / c->scale;
    if (*left <= 0)
        return;
    bool ends = (*left - take) * c->scale <= COFLOW_ZERO;
    take = ends ? *left : take;
    *left -= take;
    c->row_left[e->row] -= take;
    c->column_left[e->column] -= take;
    c->sent += take * c->scale;
    if (ends)
        flow_ended(c, e->row, e->column);
}

static void live_move(struct coflow_live *c, double dt)
{
    double part = c->pace * dt;
    if (part >= 1 - 1e-12) {
        end_all(c);
        return;
    }
    c->scale *= 1 - part;
    if (c->scale < 1e-6)
        rescale(c);
    for (uint32_t i = 0; i < c->n_rows; i++)
        move_row(c, i, dt / c->scale);
    for (uint32_t i = 0; i < c->n_extras; i++)
        move_extra(c, &c->extras[i], dt);
}

static int sim_init(struct coflow_sim *sim)
{
    uint32_t n = sim->config->trace->n_ports;
    sim->ports.n = n;
    sim->ports.rate = sim->config->port_bytes_s;
    sim->ports.send_free = calloc(4 * (size_t)n, sizeof(double));
    sim->live = calloc(sim->config->trace->n_coflows, sizeof(*sim->live));
    if (!sim->ports.send_free || !sim->live)
        return -ENOMEM;
    sim->ports.recv_free = sim->ports.send_free + n;
    sim->ports.send_need = sim->ports.recv_free + n;
    sim->ports.recv_need = sim->ports.send_need + n;
    return 0;
}

static void sim_done(struct coflow_sim *sim)
{
    for (size_t i = 0; i < sim->n_live; i++)
        live_destroy(sim->live[i]);
    free(sim->live);
    free(sim->ports.send_free);
}

/* Removes Coflows that ended; the others keep their order. */
static void sim_depart(struct coflow_sim *sim, double *ret_cct_s)
{
    size_t kept = 0;
    for (size_t i = 0; i < sim->n_live; i++) {
        struct coflow_live *c = sim->live[i];
        if (c->n_live) {
            sim->live[kept++] = c;
            continue;
        }
        ret_cct_s[c->index] = sim->now_s - c->arrival_s;
        live_destroy(c);
    }
    sim->n_live = kept;
}

static void sim_move(struct coflow_sim *sim, double dt)
{
    sim->now_s += dt;
    for (size_t i = 0; i < sim->n_live; i++)
        live_move(sim->live[i], dt);
}

/* In steps of 8 ms, of which 1 024 ms are a second, rounded up. */
static double whole_steps(double dt)
{
    double steps = ceil(dt * 128 - 1e-9);
    return (steps > 1 ? steps : 1) / 128;
}

static int admit(struct coflow_sim *sim, const uint32_t *order, size_t *arrived)
{
    const struct workload_fb *trace = sim->config->trace;
    while (*arrived < trace->n_coflows &&
           coflow_arrival_s(sim->config, &trace->coflows[order[*arrived]]) <= sim->now_s) {
        struct coflow_live *c = live_create(sim, order[*arrived], (uint32_t)*arrived);
        if (!c)
            return -ENOMEM;
        c->entered = sim->entered++;
        sim->live[sim->n_live++] = c;
        (*arrived)++;
    }
    return 0;
}

static int sim_run(struct coflow_sim *sim, coflow_planner *plan, const uint32_t *order,
                   double *ret_cct_s)
{
    const struct workload_fb *trace = sim->config->trace;
    size_t arrived = 0;
    while (arrived < trace->n_coflows || sim->n_live) {
        if (admit(sim, order, &arrived))
            return -ENOMEM;
        sim_depart(sim, ret_cct_s);
        double dt = plan(sim), next = INFINITY;
        if (dt < 0)
            return -ENOMEM;
        if (sim->config->compat_coflowsim)
            dt = whole_steps(dt);
        if (arrived < trace->n_coflows)
            next = coflow_arrival_s(sim->config, &trace->coflows[order[arrived]]);
        bool arrival = next <= sim->now_s + dt;
        sim_move(sim, arrival ? next - sim->now_s : dt);
        if (arrival)
            sim->now_s = next;
        sim_depart(sim, ret_cct_s);
        if (sim->config->progress)
            sim->config->progress(sim->config->user,
                                  (double)(arrived - sim->n_live) / (double)trace->n_coflows);
    }
    return 0;
}

int coflow_live_run(const struct coflow_policy *policy, const struct coflows_config *config,
                    coflow_planner *plan, double *ret_cct_s)
{
    struct coflow_sim sim = {.policy = policy, .config = config};
    uint32_t *order = coflows_by_arrival(config);
    int r = order && sim_init(&sim) == 0 ? sim_run(&sim, plan, order, ret_cct_s) : -ENOMEM;
    sim_done(&sim);
    free(order);
    return r;
}
