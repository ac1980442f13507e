#include "testbed/sim/coflows/coflows.h"

#include "testbed/sim/coflows/coflow_policies.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct coflow_policy *const coflow_policies[] = {
    &coflow_fifo,  &coflow_scf,  &coflow_ncf,  &coflow_lcf, &coflow_sebf,
    &coflow_dclas, &coflow_srtf, &coflow_fair, NULL,
};

const struct coflow_policy *coflow_policy_find(const char *name)
{
    for (const struct coflow_policy *const *p = coflow_policies; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}

double coflow_flow_bytes(const struct coflows_config *config, const struct workload_fb_coflow *c,
                         uint32_t reducer)
{
    double bytes = (double)c->reducers[reducer].bytes / c->n_mappers;
    return config->compat_coflowsim ? ceil(bytes / 1048576) * 1048576 : bytes;
}

double coflow_arrival_s(const struct coflows_config *config, const struct workload_fb_coflow *c)
{
    if (!config->compat_coflowsim)
        return (double)c->arrival_ms / 1000;
    double epochs = ceil((double)c->arrival_ms / 10240 - 1);
    return epochs > 0 ? epochs * 10 : 0;
}

double coflow_bound_s(const struct coflows_config *config, const struct workload_fb_coflow *c)
{
    uint32_t n = config->trace->n_ports;
    double *port = calloc(2 * (size_t)n, sizeof(*port)), most = 0;
    for (uint32_t r = 0; port && r < c->n_reducers; r++)
        for (uint32_t m = 0; m < c->n_mappers; m++) {
            if (config->local_free && c->mappers[m] == c->reducers[r].port)
                continue;
            double bytes = coflow_flow_bytes(config, c, r);
            most = fmax(most, port[c->mappers[m]] += bytes);
            most = fmax(most, port[n + c->reducers[r].port] += bytes);
        }
    free(port);
    return most / config->port_bytes_s;
}

struct arrival {
    double at_s;
    uint32_t index;
};

static int by_arrival(const void *x, const void *y)
{
    const struct arrival *a = x, *b = y;
    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

uint32_t *coflows_by_arrival(const struct coflows_config *config)
{
    size_t n = config->trace->n_coflows;
    struct arrival *arrivals = malloc(n * sizeof(*arrivals));
    uint32_t *order = malloc(n * sizeof(*order));
    for (uint32_t i = 0; arrivals && i < n; i++)
        arrivals[i] = (struct arrival){(double)config->trace->coflows[i].arrival_ms, i};
    if (arrivals)
        qsort(arrivals, n, sizeof(*arrivals), by_arrival);
    for (uint32_t i = 0; arrivals && order && i < n; i++)
        order[i] = arrivals[i].index;
    if (!arrivals) {
        free(order);
        order = NULL;
    }
    free(arrivals);
    return order;
}

int coflows_simulate(const struct coflow_policy *policy, const struct coflows_config *config,
                     double *ret_cct_s, struct err *err)
{
    if (config->compat_coflowsim && !policy->compat)
        return err_set(
            err, EINVAL,
            "policy %s has no coflowsim rules; leave --compat away or choose an ordered policy "
            "or dclas",
            policy->name);
    if (policy->dense && config->trace->n_ports > COFLOWS_DENSE_PORTS)
        return err_set(err, EINVAL, "policy %s takes traces of up to %d ports, this one has %u",
                       policy->name, COFLOWS_DENSE_PORTS, config->trace->n_ports);
    if (policy->simulate(policy, config, ret_cct_s))
        return err_set(err, ENOMEM, "not enough memory to simulate %zu coflows",
                       config->trace->n_coflows);
    return 0;
}
