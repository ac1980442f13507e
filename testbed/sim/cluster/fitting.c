#include "testbed/sim/cluster/fitting.h"

#include <errno.h>
#include <inttypes.h>

static bool unit_holds(const struct cluster_unit *unit, const struct workload_demand *demand)
{
    return unit->slots >= demand->slots && unit->cpu_milli >= demand->cpu_milli &&
           unit->mem_bytes >= demand->mem_bytes && unit->gpu_milli >= demand->gpu_milli &&
           unit->gpu_mem_bytes >= demand->gpu_mem_bytes && unit->io_bytes_s >= demand->io_bytes_s;
}

static bool class_holds(const struct cluster_class *class, uint32_t slots,
                        const struct workload_demand *demand)
{
    const struct cluster_unit plain = {.slots = slots};
    for (uint32_t u = 0; u < class->n_units; u++)
        if (unit_holds(&class->units[u], demand))
            return true;
    return !class->n_units && unit_holds(&plain, demand);
}

static bool host_meets(const struct cluster_host *host, const char *constraint)
{
    char labels[CLUSTER_LABELS_MAX * sizeof(struct cluster_label)];
    cluster_labels(host->class, labels, sizeof(labels));
    const struct constraint_host words = {host->name, host->class->rack, labels};
    return constraint_is_met(constraint, &words);
}

/* NULL: some host could run it; else what is missing. */
static const char *missing(const struct cluster *cluster, uint32_t slots,
                           const struct workload_demand *demand, const char *constraint)
{
    const struct cluster_class plain = {.n_units = 0};
    bool met = false;
    if (!cluster->n_hosts)
        return class_holds(&plain, slots, demand) ? NULL : "no host has so much in one unit";
    for (uint32_t h = 0; h < cluster->n_hosts; h++) {
        if (!host_meets(&cluster->hosts[h], constraint))
            continue;
        met = true;
        if (class_holds(cluster->hosts[h].class, slots, demand))
            return NULL;
    }
    return !met          ? "no host meets its constraint"
           : *constraint ? "no host that meets its constraint has so much in one unit"
                         : "no host has so much in one unit";
}

int fitting_check(const struct cluster *cluster, uint32_t slots, const struct workload_job *job,
                  struct err *err)
{
    for (uint32_t s = 0; s < job->n_stages; s++) {
        const struct workload_stage *stage = &job->stages[s];
        for (uint32_t v = 0; stage->n_variants && v <= stage->n_variants; v++) {
            const char *what = missing(cluster, slots, workload_demand_of(stage, v),
                                       workload_constraint_of(stage, v));
            if (what)
                return err_set(err, EINVAL,
                               "stage %u of job %" PRIu64 " can never run as variant %u: %s", s,
                               job->id, v, what);
        }
    }
    return 0;
}
