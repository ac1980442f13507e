/* A switch driver killed somewhere on its way, for tests and benchmarks: another process brings the
 * switch about and takes it back, over and over, until SIGKILL; what it left is taken back here. */
#pragma once

#include "hostagent/switches/switch.h"
#include "tests/unit/test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void schedule_step(int r, const struct err *err)
{
    if (r >= 0)
        return;
    fprintf(stderr, "a switch between kills: %s\n", err->text);
    _exit(EXIT_FAILURE);
}

static inline void schedule_apply(const struct switch_driver *driver, struct switch_state *sw)
{
    struct switch_plan *plan = NULL;
    struct err err = {0};
    schedule_step(driver->plan(sw, false, &plan, &err), &err);
    schedule_step(driver->apply(sw, plan, &err), &err);
    driver->free_plan(plan);
}

/* Within `most_us` of its start. */
static inline void schedule_kill(const struct switch_driver *driver,
                                 const struct switch_config *config, uint64_t *stream,
                                 uint32_t most_us)
{
    struct switch_state *sw = NULL;
    struct err err = {0};
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        schedule_step(driver->open(config, &sw, &err), &err);
        for (;;) {
            schedule_apply(driver, sw);
            schedule_step(driver->restore(sw, &err), &err);
        }
    }
    int status = 0;
    usleep((useconds_t)(test_random(stream) % most_us));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    if (child < 0 || !WIFSIGNALED(status))
        _exit(EXIT_FAILURE); /* it said why */
    schedule_step(driver->open(config, &sw, &err), &err);
    schedule_step(driver->restore(sw, &err), &err);
    driver->close(sw);
}
