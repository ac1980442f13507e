/* duopoly-sim cluster: the hosts of a cluster file. */
#include "testbed/sim/cluster/cluster_file.h"
#include "testbed/sim/commands.h"

#include "lib/conf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *rate(uint64_t bps, char *words, size_t size)
{
    return bps ? conf_words(CONF_RATE, (int64_t)bps, words, size) : "-";
}

/* "4 slots 1000 mem_bytes", only amounts that are not 0. */
static void print_unit(const struct cluster_unit *unit)
{
    const struct {
        const char *name;
        int64_t amount;
    } all[] = {{"slots", unit->slots},
               {"cpu_milli", unit->cpu_milli},
               {"mem_bytes", unit->mem_bytes},
               {"gpu_milli", unit->gpu_milli},
               {"gpu_mem_bytes", unit->gpu_mem_bytes},
               {"io_bytes_s", unit->io_bytes_s}};
    const char *between = *unit->name ? ": " : "";
    fputs(unit->name, stdout);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].amount) {
            printf("%s%" PRId64 " %s", between, all[i].amount, all[i].name);
            between = " ";
        }
}

static void print_host(const struct cluster_host *host)
{
    const struct cluster_class *class = host->class;
    char labels[CLUSTER_LABELS_MAX * sizeof(struct cluster_label)], words[3][40];
    cluster_labels(class, labels, sizeof(labels));
    printf("%-16s %-10s %-20s %-10s %-10s %-10s ", host->name, *class->rack ? class->rack : "-",
           *labels ? labels : "-", rate(cluster_uplink_bps(class), words[0], sizeof(words[0])),
           rate(cluster_downlink_bps(class), words[1], sizeof(words[1])),
           class->disk_bytes_s
               ? conf_words(CONF_BYTES, class->disk_bytes_s, words[2], sizeof(words[2]))
               : "-");
    for (uint32_t u = 0; u < class->n_units; u++) {
        fputs(u ? ", " : "", stdout);
        print_unit(&class->units[u]);
    }
    puts(class->n_units ? "" : "-");
}

static int run_cluster(int argc, char **argv)
{
    struct cluster cluster = {0};
    struct err err = {0};
    if (argc != 2 || argv[1][0] == '-') {
        fputs("duopoly-sim cluster: give one cluster file (schemas/cluster.md)\n", stderr);
        return 2;
    }
    if (cluster_file_read(argv[1], &cluster, &err) < 0) {
        fprintf(stderr, "duopoly-sim cluster: %s\n", err.text);
        return 2;
    }
    printf("%-16s %-10s %-20s %-10s %-10s %-10s %s\n", "HOST", "RACK", "LABELS", "UPLINK",
           "DOWNLINK", "DISK", "UNITS");
    for (uint32_t h = 0; h < cluster.n_hosts; h++)
        print_host(&cluster.hosts[h]);
    cluster_file_done(&cluster);
    return 0;
}

const struct command command_cluster = {"cluster", "the hosts of a cluster file, as it is read",
                                        "cluster FILE", run_cluster};
