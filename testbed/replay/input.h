/* The input file of a task's command (schemas/task.md), as a struct.
 *
 * Unknown names are skipped, as the schema says; a known name with wrong values is an error with
 * its line. Inputs come sorted by address, then by what they are: each address is one source to
 * connect to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>

#include "lib/err.h"
#include "lib/profile.h"

enum { INPUT_PARTS_MAX = 1000000, INPUT_DEVICES_MAX = 16 };

struct input_device {
    char name[32];
    uint64_t bytes; /* its memory; 0: not known */
};

struct input_part {
    char address[INET6_ADDRSTRLEN]; /* numeric, as written */
    uint64_t bytes;
    bool block;           /* the task's own input block; else a map output: */
    uint32_t stage, task; /* that wrote it */
    uint64_t attempt;
};

struct input {
    uint64_t job;
    uint32_t stage, task;
    uint64_t attempt;
    uint64_t compute_ns;
    struct profile profile; /* all 0: it has none */
    uint64_t output_bytes;
    uint32_t stall_ms;                 /* 0: sources that send nothing are not reported */
    uint64_t gpu_milli, gpu_mem_bytes; /* the task's part of its devices */
    uint32_t n_devices;
    struct input_device devices[INPUT_DEVICES_MAX];
    size_t n_parts;
    struct input_part *parts;
};

/* Parses `size` bytes (borrowed); `name` is used in sentences. 0, −EINVAL, −ENOMEM. The caller ends
 * *ret_input with input_done(); it is untouched on failure. */
int input_parse(const char *text, size_t size, const char *name, struct input *ret_input,
                struct err *err);

/* The same from a file. */
int input_load(const char *path, struct input *ret_input, struct err *err);

/* Frees what the input owns; NULL is fine. */
void input_done(struct input *input);

/* Makes the file in `folder` that the attempt writes down something in; returns its descriptor (the
 * caller closes it) or −errno with a sentence. */
int input_open_notes(const char *folder, const struct input *task, struct err *err);
