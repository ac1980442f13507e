/* Attempts: from the decision to start one to the news that it ended. Private to controller/engine.
 *
 * An attempt holds its resources from the decision until its host says that it ended (or is lost
 * itself), also when it was told to stop. What agents report is adopted, however surprising.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

struct attempt *attempt_find(const struct engine *engine, uint64_t number);
/* The one that a fact speaks of; an unknown one is counted and ignored: NULL. */
struct attempt *attempt_known(struct engine *engine, const struct event *event);
/* It has received so many bytes in all; fewer than before say nothing. */
void attempt_count_bytes(struct engine *engine, struct attempt *attempt, uint64_t total);
/* Tells its host to end it; it holds its resources until it has. Twice is once. */
void attempt_stop(struct engine *engine, struct attempt *attempt, enum reason reason, bool requeue);
enum { ATTEMPT_INPUTS = 256 }; /* in one message (StartInputs) */
/* For load: the messages that brought it to its host. O(maps). */
void attempt_count_messages(struct attempt *attempt);
/* What is answered makes room for another start on its host. */
void attempt_set_state(struct engine *engine, struct attempt *attempt, enum attempt_state state);
/* It belongs to no task any more. */
void attempt_orphan(struct engine *engine, struct attempt *attempt);
/* Makes the record and its places in all indexes; for starts, adoption and load. The caller touches
 * the host. */
struct attempt *attempt_create(struct engine *engine, uint64_t number, struct task *task,
                               struct host *host, uint32_t unit, const struct resources *resources);
/* Its sizes of now. O(maps). */
void attempt_measure(struct attempt *attempt);
/* Whether a controller gave the number: this one, or one before it. */
bool attempt_is_ours(const struct engine *engine, uint64_t number);
/* It receives over the network from now on, or no more. */
void attempt_set_receiving(struct engine *engine, struct attempt *attempt, bool receiving);
/* What the task reads of its parents' tasks, from where that is now; returns how many. O(maps). */
int task_outputs_read(const struct task *task,
                      void (*each)(void *context, const struct engine_input *input), void *context);
/* Whether it reads something of that map, whose job is not a framework's. O(edges). */
bool task_reads_output(const struct task *task, uint32_t parent, uint32_t map);
void attempt_destroy(struct engine *engine, struct attempt *attempt);

/* It ends without a result: its task is ready again unless another attempt of it runs. */
void attempt_end(struct engine *engine, struct attempt *attempt);
