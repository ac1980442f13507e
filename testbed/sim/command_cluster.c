/* duopoly-sim cluster: the hosts of a cluster file. */
#include "testbed/sim/cluster/cluster_file.h"
#include "testbed/sim/commands.h"

#include "lib/conf.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *rate(uint64_t bps, char *words, size_t size)
{
    return bps ? conf_words(CONF_RATE, (int64_t)bps, words, size) : "-";
}

struct amount {
    const char *name;
    int64_t amount;
};
enum { AMOUNTS = 6 };

static void amounts_of(const struct cluster_unit *unit, struct amount ret_amounts[AMOUNTS])
{
    const struct amount all[AMOUNTS] = {{"slots", unit->slots},
                                        {"cpu_milli", unit->cpu_milli},
                                        {"mem_bytes", unit->mem_bytes},
                                        {"gpu_milli", unit->gpu_milli},
                                        {"gpu_mem_bytes", unit->gpu_mem_bytes},
                                        {"io_bytes_s", unit->io_bytes_s}};
    memcpy(ret_amounts, all, sizeof(all));
}

/* "4 slots 1000 mem_bytes (gpu0)", only amounts that are not 0. */
static void print_unit(const struct cluster_unit *unit)
{
    struct amount all[AMOUNTS];
    const char *between = *unit->name ? ": " : "";
    amounts_of(unit, all);
    fputs(unit->name, stdout);
    for (size_t i = 0; i < AMOUNTS; i++)
        if (all[i].amount) {
            printf("%s%" PRId64 " %s", between, all[i].amount, all[i].name);
            between = " ";
        }
    for (uint32_t d = 0; d < unit->devices.n; d++)
        printf("%s%s%s", d ? "+" : " (", unit->devices.at[d].name,
               d + 1 == unit->devices.n ? ")" : "");
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

static json_t *unit_json(const struct cluster_unit *unit)
{
    struct amount all[AMOUNTS];
    json_t *devices = json_array(),
           *row = json_pack("{s:s, s:o}", "name", unit->name, "devices", devices);
    amounts_of(unit, all);
    for (uint32_t d = 0; d < unit->devices.n; d++)
        json_array_append_new(devices, json_string(unit->devices.at[d].name));
    for (size_t i = 0; i < AMOUNTS; i++)
        json_object_set_new(row, all[i].name, json_integer(all[i].amount));
    return row;
}

static json_t *host_json(const struct cluster_host *host)
{
    const struct cluster_class *class = host->class;
    json_t *labels = json_array(), *units = json_array();
    for (uint32_t i = 0; i < class->n_labels; i++)
        json_array_append_new(labels, json_string(class->labels[i].text));
    for (uint32_t u = 0; u < class->n_units; u++)
        json_array_append_new(units, unit_json(&class->units[u]));
    return json_pack("{s:s, s:s, s:o, s:I, s:I, s:I, s:o}", "name", host->name, "rack", class->rack,
                     "labels", labels, "uplink_bps", (json_int_t)cluster_uplink_bps(class),
                     "downlink_bps", (json_int_t)cluster_downlink_bps(class), "disk_bytes_s",
                     (json_int_t) class->disk_bytes_s, "units", units);
}

/* What is not said is 0, "" or empty. */
static int print_json(const struct cluster *cluster)
{
    json_t *hosts = json_array(), *all = json_pack("{s:o}", "hosts", hosts);
    for (uint32_t h = 0; h < cluster->n_hosts; h++)
        json_array_append_new(hosts, host_json(&cluster->hosts[h]));
    int r = json_dumpf(all, stdout, 0);
    puts("");
    json_decref(all);
    return r < 0 ? 1 : 0;
}

static int print_table(const struct cluster *cluster)
{
    printf("%-16s %-10s %-20s %-10s %-10s %-10s %s\n", "HOST", "RACK", "LABELS", "UPLINK",
           "DOWNLINK", "DISK", "UNITS");
    for (uint32_t h = 0; h < cluster->n_hosts; h++)
        print_host(&cluster->hosts[h]);
    return 0;
}

static int run_cluster(int argc, char **argv)
{
    struct cluster cluster = {0};
    struct err err = {0};
    const bool json = argc == 3 && strcmp(argv[1], "--json") == 0;
    const char *path = argv[argc - 1];
    if (argc != 2 + json || path[0] == '-') {
        fputs("duopoly-sim cluster: give one cluster file (schemas/cluster.md), after --json for "
              "programs\n",
              stderr);
        return 2;
    }
    if (cluster_file_read(path, &cluster, &err) < 0) {
        fprintf(stderr, "duopoly-sim cluster: %s\n", err.text);
        return 2;
    }
    int status = (json ? print_json : print_table)(&cluster);
    cluster_file_done(&cluster);
    return status;
}

const struct command command_cluster = {"cluster", "the hosts of a cluster file, as it is read",
                                        "cluster [--json] FILE", run_cluster};
