/* Ways to run a stage: its variants. Private to controller/engine.
 *
 * A stage lists 1 to ENGINE_VARIANTS_MAX of them, in order of preference; the first is the stage
 * itself. Each other one is a stage of its own in the queues, with a task for each task of the
 * stage's that stands for it: while that is ready, both stand in the bucket of their variant, and
 * all leave when one starts. So each index has them, every placement may take either, and none
 * knows of variants. A claim names the task of the variant that is to run. All else is the first's
 * alone: edges, bytes and blocks (which the others share), attempts, what runs and what is done.
 *
 * Two rules follow from there being several, and stand here:
 * - what counts ready tasks counts each once, against the variant of which most fit now
 *   (ways_roomiest);
 * - what estimates work takes the shortest variant that the cluster can hold, which is that some
 *   joined host could (variant_work_ns). Sums of it follow hosts that come and go (watch/works.h).
 *
 * Between equals their order is the preference: of a job's buckets with the same turn the one goes
 * first whose next task lists it sooner (bucket_is_sooner in watch/queues.h), and on the host that
 * was chosen a task runs in the first way for which there is room (variant_prefer).
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Variant number v of a stage, which is a first one and has so many. O(1). */
static inline struct stage *variant_of(struct stage *stage, uint32_t v)
{
    return v ? stage->others[v - 1] : stage;
}
static inline uint32_t variant_count(const struct stage *stage)
{
    return 1 + stage->n_others;
}
/* Each variant of the first one `stage`, which is the first that `at` is. */
#define VARIANT_FOREACH(at, stage)                                                                 \
    for (uint32_t at##_v = 0;                                                                      \
         at##_v < variant_count(stage) && ((at) = variant_of((stage), at##_v)); at##_v++)

/* The task that it stands for, or is. */
static inline struct task *variant_first(const struct task *task)
{
    return &task->stage->first->tasks[task->index];
}

/* What an event says of a stage's further variants and of all their profiles: how many further
 * ones, or −1 where that is not valid. */
int variant_told(const struct event *event);
/* The shapes of all, each with one user more; false: the table of shapes or that of ways, of which
 * there are shapes_max at most, or the account is full. O(hosts). */
bool variant_find_shapes(struct engine *engine, const struct event *event, struct account *account,
                         struct shape *ret_shapes[static ENGINE_VARIANTS_MAX]);
void variant_leave_shapes(const struct event *event, struct shape *const *shapes);
/* A stage gets what the event says of its further variants. */
void variant_make(struct engine *engine, struct stage *stage, const struct event *event,
                  struct shape *const *shapes);
/* Computing of its tasks by that variant, from task `first` on. */
void variant_take_work(struct stage *variant, uint32_t first, const struct u64s *compute_ns);
/* For its event: the profiles of all its variants, PROFILE_NUMBERS each; how many numbers, 0 where
 * none has one. */
uint32_t variant_tell_profiles(const struct stage *stage,
                               uint64_t ret_numbers[static ENGINE_VARIANTS_MAX * PROFILE_NUMBERS]);
/* The stage has come whole: its other ways' tasks are made one by one. */
void variant_make_task(struct stage *stage, uint32_t task);
void variant_end_job(struct engine *engine, struct job *job);

/* So many tasks more are ready of the choice. */
void choice_count(struct choice *choice, int by);
/* The shape of which most fit now, of equals the first that a host which is up could hold. */
struct shape *ways_roomiest(const struct engine *engine, const struct ways *ways);
/* Variants that some joined host could hold, a bit each. */
uint32_t ways_held(const struct ways *ways);
/* Its first variant that no joined host could ever hold; NULL: there is none. */
const struct stage *variant_impossible(const struct stage *stage);
/* Some of its tasks fit somewhere now. */
bool variant_has_room(const struct stage *stage);

/* What its computing counts as: by the shortest of ways->held, by the first where there are none.
 * O(1). */
uint64_t variant_work_ns(const struct task *task);

/* A claim for a task that could run there in a way that its stage prefers is for that. */
void variant_prefer(struct claim *claim);
