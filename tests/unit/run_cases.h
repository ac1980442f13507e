/* What tests of the simulated run share: jobs from text, configurations, and a run that must
 * succeed. Links of 8 · UNIT bit/s carry UNIT bytes a second. */
#pragma once

#include "tests/unit/test.h"

#include "controller/engine/policy/presets.h"
#include "testbed/sim/cluster/run.h"

#include <string.h>

enum { UNIT = 1000000 };

static inline struct workload_job job_of(const char *line)
{
    static const struct workload_header header = {.hosts = 64, .scale = 1};
    struct workload_job job;
    struct err err = {0};
    if (workload_job_parse(&header, line, strlen(line), &job, &err))
        fail_msg("%s", err.text);
    return job;
}

static inline struct run_config config_of(const char *policy, uint32_t hosts, uint32_t slots,
                                          uint64_t link_bps)
{
    struct run_config config = {
        .hosts = hosts, .slots = slots, .link_bps = link_bps, .local_free = true};
    engine_config_default(&config.engine);
    assert_non_null(preset_find(policy));
    preset_apply(preset_find(policy), &config.engine);
    config.engine.mode_dwell_ns = 0;
    config.engine.losses_max = 0; /* WHY: as the simulator has it (run_setup.c) */
    config.engine.hosts_max = hosts;
    return config;
}

static inline struct run_result simulate(const struct run_config *config,
                                         const struct workload_job *jobs, size_t n, double *jct_s)
{
    struct run_result result = {.jct_s = jct_s};
    struct err err = {0};
    if (run_simulate(config, jobs, n, &result, &err))
        fail_msg("%s", err.text);
    return result;
}
