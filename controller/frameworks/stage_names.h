/* An application's names for its stages: its own number and attempt of each, and a name for people.
 * They are kept outside the engine, which knows only positions in a job, while the job runs; at
 * most STAGE_NAMES_MAX of an application, further stages have none. O(log n); forgetting a job
 * O(its stages). One thread. */
#pragma once

#include <bsd/sys/tree.h>
#include <stdint.h>

#define STAGE_NAMES_MAX 65536
#define STAGE_NAME_SIZE 64

struct stage_name {
    RB_ENTRY(stage_name) node;
    uint64_t job;
    uint32_t stage;       /* its place in the job */
    uint32_t id, attempt; /* the application's */
    char text[STAGE_NAME_SIZE];
};

RB_HEAD(stage_name_tree, stage_name);
struct stage_names { /* zero it first */
    struct stage_name_tree tree;
    uint32_t n;
};

/* Replaces the names of a stage that has some. */
void stage_names_put(struct stage_names *names, uint64_t job, uint32_t stage, uint32_t id,
                     uint32_t attempt, const char *text);
/* NULL: it has none. */
const struct stage_name *stage_names_find(const struct stage_names *names, uint64_t job,
                                          uint32_t stage);
void stage_names_forget(struct stage_names *names, uint64_t job);
void stage_names_clear(struct stage_names *names);
