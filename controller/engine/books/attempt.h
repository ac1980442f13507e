/* Attempts: from the decision to start one to the news of its end. Private to controller/engine.
 *
 * An attempt holds its resources from the decision until its host reports its end (or is lost),
 * even when it was told to stop. Reports of agents are adopted, however surprising.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

struct attempt *attempt_find(const struct engine *engine, uint64_t number);
/* The attempt of a fact; an unknown one is counted and ignored: NULL. */
struct attempt *attempt_known(struct engine *engine, const struct event *event);
/* `total` bytes received so far; a smaller number than before is ignored. */
void attempt_count_bytes(struct engine *engine, struct attempt *attempt, uint64_t total);
/* Decides to stop it; it holds its resources until it has ended. Stopping again does nothing.
 * Returns the decision, for the caller to complete before the next one is taken; NULL: none. */
struct decision *attempt_stop(struct engine *engine, struct attempt *attempt, enum reason reason,
                              bool requeue);
enum { ATTEMPT_INPUTS = 256 }; /* in one message (StartInputs) */
/* For load: recounts the messages that brought it to its host. O(maps). */
void attempt_count_messages(struct attempt *attempt);
/* An answered start makes room for another one on its host. */
void attempt_set_state(struct engine *engine, struct attempt *attempt, enum attempt_state state);
/* Takes it from its task. */
void attempt_orphan(struct engine *engine, struct attempt *attempt);
/* Makes the attempt and enters it into all indexes; for starts, adoption and load. The caller
 * touches the host. */
struct attempt *attempt_create(struct engine *engine, uint64_t number, struct task *task,
                               struct host *host, uint32_t unit, const struct resources *resources);
/* Measures the sizes that its levels come from. O(1). */
void attempt_measure(struct attempt *attempt);
/* Measures what it reads from other hosts; returns how many inputs that was. O(maps). */
uint32_t attempt_measure_inputs(struct attempt *attempt);
/* Whether this controller or an earlier one gave the number. */
bool attempt_is_ours(const struct engine *engine, uint64_t number);
/* Whether it receives over the network from now on. */
void attempt_set_receiving(struct engine *engine, struct attempt *attempt, bool receiving);
/* It became an allow, which receives nothing: its task's part of the job's time counts otherwise
 * (split.h). */
void attempt_share_time(struct engine *engine, struct attempt *attempt);
/* Calls `each` for what the task reads of its parents' tasks, with the present host; returns their
 * number. O(maps). */
int task_outputs_read(const struct task *task,
                      void (*each)(void *context, const struct engine_input *input), void *context);
/* Whether it reads something of that map; not for frameworks' jobs. O(edges). */
bool task_reads_output(const struct task *task, uint32_t parent, uint32_t map);
void attempt_destroy(struct engine *engine, struct attempt *attempt);

/* Ends it without a result: its task is ready again unless another attempt of it runs. */
void attempt_end(struct engine *engine, struct attempt *attempt);
