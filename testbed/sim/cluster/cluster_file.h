/* Cluster files (schemas/cluster.md): which hosts there are, and how they differ.
 *
 * A file lists classes of equal hosts; the hosts are numbered in that order. An error has file,
 * line and column, and nothing is returned. Constant after reading,
 * so threads may share it. */
#pragma once

#include "lib/err.h"
#include "lib/unit_devices.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CLUSTER_CLASSES_MAX = 64,
    CLUSTER_NAMES_MAX = 64, /* of one class */
    CLUSTER_HOSTS_MAX = 100000,
    CLUSTER_UNITS_MAX = 16, /* of one host */
    CLUSTER_LABELS_MAX = 8,
};

struct cluster_unit {
    char name[32]; /* "": none */
    int64_t slots, cpu_milli, mem_bytes, gpu_milli, gpu_mem_bytes, io_bytes_s;
    struct unit_devices devices;
};

struct cluster_class {
    char name[32]; /* of counted hosts: NAME1, NAME2, … */
    int64_t hosts; /* their number; 0: the named ones */
    struct cluster_word {
        char text[64];
    } names[CLUSTER_NAMES_MAX];
    uint32_t n_names;
    char rack[32]; /* "": none */
    struct cluster_label {
        char text[32];
    } labels[CLUSTER_LABELS_MAX];
    uint32_t n_labels;
    struct cluster_unit units[CLUSTER_UNITS_MAX];
    uint32_t n_units;                           /* 0: one with the run's slots */
    int64_t link_bps, uplink_bps, downlink_bps; /* 0: the run's link; for both directions, or for
                                                   one */
    int64_t disk_bytes_s;                       /* 0: it has none to speak of */
    int64_t disk_loss; /* per mille of its rate that each reader beyond the first costs (disk.h) */
};

struct cluster_host {
    char name[64];
    const struct cluster_class *class;
};

struct cluster {
    struct cluster_class *classes;
    struct cluster_host *hosts;
    uint32_t n_classes, n_hosts;
};

/* 0; −EINVAL or −ENOMEM with a sentence, or the error of reading the file. End it with
 * cluster_file_done. */
int cluster_file_read(const char *path, struct cluster *ret_cluster, struct err *err);
/* Zeroed ones are fine. */
void cluster_file_done(struct cluster *cluster);

/* Slots of all units of a host; `slots` if it has no units. */
uint64_t cluster_slots(const struct cluster_class *class, uint32_t slots);
/* Its labels, separated by commas, cut at `size`. */
void cluster_labels(const struct cluster_class *class, char *ret_labels, size_t size);
/* The names of its units, separated by commas, cut at `size`; "" if none has one. */
void cluster_unit_names(const struct cluster_class *class, char *ret_names, size_t size);
/* The rate that all links of all hosts give; 0: some give none, or rates differ. O(classes). */
uint64_t cluster_every_link_bps(const struct cluster *cluster);
/* The rates of its links in bit/s; 0: the run's. */
uint64_t cluster_uplink_bps(const struct cluster_class *class);
uint64_t cluster_downlink_bps(const struct cluster_class *class);
