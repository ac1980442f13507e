/* The placement model: GPUs go to the stages that gain most by them beside their like, whatever the
 * turn and whatever is asked of the disk now; the rest by turn. */
#include "tests/model/script.h"

#include <string.h>

enum { GPUS = 2, SLOTS = 2 };
#define DISK UINT64_C(100000000)

static void begin(struct script *s, uint64_t disk_bytes_s)
{
    const uint64_t vector[ENGINE_RESOURCES] = {[RES_SLOTS] = SLOTS, [RES_GPU_MILLI] = 1000 * GPUS};
    struct engine_config config = script_config();
    strcpy(config.turn, "drf");
    strcpy(config.place, "model");
    script_begin(s, &config);
    s->reload = true;
    struct event join = script_join(0, SLOTS, vector);
    join.host_join.disk_bytes_s = disk_bytes_s;
    script_event(s, join);
}

/* Tasks that read for `read_s` alone and compute for `gpu_s` on a GPU, or take `slot_s` (0: they
 * cannot) in a slot. */
static void submit(struct script *s, uint64_t job, uint32_t tasks, uint64_t read_s, uint64_t gpu_s,
                   uint64_t slot_s)
{
    static const uint64_t slot[ENGINE_RESOURCES] = {[RES_SLOTS] = 1};
    const uint64_t profiles[] = {read_s * DISK, DISK, 1, gpu_s * SECOND, 0, 0, 0, slot_s * SECOND};
    struct event stage = script_stage_event(job, 0, tasks, NULL, NULL);
    stage.job_stage.demand = (struct resources){{[RES_GPU_MILLI] = 1000}};
    stage.job_stage.variant_demands = (struct u64s){slot, slot_s ? ENGINE_RESOURCES : 0};
    stage.job_stage.profiles = (struct u64s){profiles, slot_s ? 8 : 4};
    script_job_begin(s, job);
    script_event(s, stage);
    script_tasks(s, job, 0, tasks, 0, 0, NULL);
    script_job_end(s, job);
}

static uint64_t on_gpu(const struct script *s, uint64_t job)
{
    uint64_t n = 0;
    const struct decision *d;
    for (size_t i = 0; (d = script_decision(s, DECISION_START, i)); i++)
        n += d->start.job == job && d->start.resources.amount[RES_GPU_MILLI] > 0;
    return n;
}

/* All are ready when the host comes back. */
static void meet(struct script *s)
{
    script_host_event(s, EVENT_HOST_BACK, 0);
}

static void test_gpus_go_to_who_gains_most(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 0);
    script_host_event(&s, EVENT_HOST_SILENT, 0);
    submit(&s, 1, 2, 0, 10, 40);
    submit(&s, 2, 2, 0, 10, 50);
    submit(&s, 3, 2, 0, 10, 30);
    meet(&s);
    assert_int_equal(on_gpu(&s, 2), GPUS);
    assert_int_equal(script_count(&s, DECISION_START), GPUS + SLOTS);
    assert_non_null(script_start(&s, 1, 0, 0)); /* by dominant shares one of each */
    assert_non_null(script_start(&s, 3, 0, 0));
    assert_int_equal(script_start(&s, 2, 0, 0)->left, 5000);
    script_end(&s);
}

/* Beside its like the first reads for 2 s and not 1: 24 ÷ 3 against 21 ÷ 2. */
static void test_gains_count_its_like_on_the_disk(void **state)
{
    (void)state;
    struct script s;
    for (int disk = 0; disk < 2; disk++) {
        begin(&s, disk ? DISK : 0);
        script_host_event(&s, EVENT_HOST_SILENT, 0);
        submit(&s, 1, 2, 1, 1, 24);
        submit(&s, 2, 2, 0, 2, 21);
        meet(&s);
        assert_int_equal(on_gpu(&s, disk ? 2 : 1), GPUS);
        script_end(&s);
    }
}

/* It does not look: that is affinity's. */
static void test_what_is_asked_now_does_not_count(void **state)
{
    (void)state;
    struct script s;
    begin(&s, DISK);
    struct event load = {.kind = EVENT_HOST_LOAD};
    load.host_load.resource = LOAD_DISK;
    load.host_load.permille = 100000;
    load.host_load.users = 9;
    script_event(&s, load);
    script_host_event(&s, EVENT_HOST_SILENT, 0);
    submit(&s, 1, 2, 1, 1, 100);
    submit(&s, 2, 2, 0, 2, 21);
    meet(&s);
    assert_int_equal(on_gpu(&s, 1), GPUS);
    script_end(&s);
}

static void test_who_runs_on_gpus_alone_gains_most(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 0);
    script_host_event(&s, EVENT_HOST_SILENT, 0);
    submit(&s, 1, 2, 0, 1, 1000);
    submit(&s, 2, 2, 0, 10, 0);
    meet(&s);
    assert_int_equal(on_gpu(&s, 2), GPUS);
    assert_int_equal(on_gpu(&s, 1), 0);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpus_go_to_who_gains_most),
        cmocka_unit_test(test_gains_count_its_like_on_the_disk),
        cmocka_unit_test(test_what_is_asked_now_does_not_count),
        cmocka_unit_test(test_who_runs_on_gpus_alone_gains_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
