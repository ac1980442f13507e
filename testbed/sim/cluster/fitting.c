#include "testbed/sim/cluster/fitting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool unit_holds(const struct cluster_unit *unit, const struct workload_demand *demand)
{
    bool splits = unit->gpu_milli > UNIT_DEVICE_MILLI && demand->gpu_milli % UNIT_DEVICE_MILLI != 0;
    return !splits && unit->slots >= demand->slots && unit->cpu_milli >= demand->cpu_milli &&
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

/* The constraint's first `length` bytes. */
static bool host_meets(const struct cluster_host *host, const char *constraint, size_t length)
{
    char labels[CLUSTER_LABELS_MAX * sizeof(struct cluster_label)];
    cluster_labels(host->class, labels, sizeof(labels));
    const struct constraint_host words = {host->name, host->class->rack, labels};
    return !*constraint || constraint_part_is_met(constraint, length, &words);
}

static bool any_meets(const struct cluster *cluster, const char *constraint, size_t length)
{
    for (uint32_t h = 0; h < cluster->n_hosts; h++)
        if (host_meets(&cluster->hosts[h], constraint, length))
            return true;
    return false;
}

/* Names the first part that is met by none of the hosts that meet all parts before it. */
static void say_unmet(const struct cluster *cluster, const char *constraint, char *text,
                      size_t size)
{
    struct constraint_span part;
    size_t before = 0;
    for (unsigned i = 0;
         constraint_part(constraint, i, &part) && any_meets(cluster, constraint, part.end); i++)
        before = part.end;
    snprintf(text, size, "no host%s%.*s%s meets '%.*s'", before ? " that meets '" : "", (int)before,
             constraint, before ? "'" : "", (int)(part.end - part.begin), constraint + part.begin);
}

/* "": some host could run it; else what is missing. */
static void say_missing(const struct cluster *cluster, uint32_t slots,
                        const struct workload_demand *demand, const char *constraint, char *text,
                        size_t size)
{
    const struct cluster_class plain = {.n_units = 0};
    bool met = false, holds = !cluster->n_hosts && class_holds(&plain, slots, demand);
    for (uint32_t h = 0; !holds && h < cluster->n_hosts; h++) {
        bool meets = host_meets(&cluster->hosts[h], constraint, strlen(constraint));
        met |= meets;
        holds = meets && class_holds(cluster->hosts[h].class, slots, demand);
    }
    *text = '\0';
    if (!holds && !met && cluster->n_hosts)
        say_unmet(cluster, constraint, text, size);
    else if (!holds)
        snprintf(text, size, "no host%s has so much in one unit%s",
                 *constraint ? " that meets its constraint" : "",
                 demand->gpu_milli % UNIT_DEVICE_MILLI
                     ? ", where several devices are handed out whole, for 1000 gpu_milli each"
                     : "");
}

int fitting_check(const struct cluster *cluster, uint32_t slots, const struct workload_job *job,
                  struct err *err)
{
    char what[2 * CONSTRAINT_MAX + 64], way[32] = "";
    for (uint32_t s = 0; s < job->n_stages; s++) {
        const struct workload_stage *stage = &job->stages[s];
        for (uint32_t v = 0; v <= stage->n_variants; v++) {
            if (!stage->n_variants && !cluster->n_hosts)
                continue;
            say_missing(cluster, slots, workload_demand_of(stage, v),
                        workload_constraint_of(stage, v), what, sizeof(what));
            if (stage->n_variants)
                snprintf(way, sizeof(way), " as variant %u", v);
            if (*what)
                return err_set(err, EINVAL, "stage %u of job %" PRIu64 " can never run%s: %s", s,
                               job->id, way, what);
        }
    }
    return 0;
}
