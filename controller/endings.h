/* From facts and decisions to the sentences that history.h keeps: how an attempt ended and why a
 * job did, with host, attempt and the last words.
 *
 * What an agent says is a peer's text: it is bounded and every byte that is not printable ASCII
 * becomes '?' here, before anybody keeps, logs or prints it. Pure; nothing is changed but the
 * history. */
#pragma once

#include "controller/history.h"

#include "schemas/duopoly.pb.h"

/* Copies at most size − 1 bytes of a peer's text; what is not printable ASCII becomes '?'. */
void endings_words(const char *peers_words, char *ret_words, size_t size);

/* To be called with each fact before the engine takes it, while it still knows the attempt. `words`
 * are the last words of the attempt that the fact is about, "" without; of a framework's attempt what
 * its framework calls it. */
void endings_note(struct history *history, const struct engine *engine, int64_t now_ns,
                  const struct event *event, const char *words);

/* The attempt that a fact is about, before the engine takes it: as the engine knows it, or, if it does
 * not, as `before` tells, the fact just before (an attempt may be told as seen and as ended at
 * once); NULL: none. −ENOENT: nobody knows it. */
int endings_attempt(const struct engine *engine, const struct event *before,
                    const struct event *event, struct attempt_view *ret_attempt);
/* As endings_note, for an attempt that only `before` knows; else nothing. */
void endings_note_unknown(struct history *history, const struct engine *engine, int64_t now_ns,
                          const struct event *before, const struct event *event, const char *words);

/* "active", "done", "failed: WHY", "cancelled by WHOM"; `ending` may be NULL. */
void endings_say_state(const struct job_view *job, const struct job_ending *ending, char *text,
                       size_t size);

/* Why the job of DECISION_JOB_DONE or DECISION_JOB_FAILED ended; `asker` says who asked for its
 * cancellation. */
void endings_of_job(const struct history *history, const struct engine *engine,
                    const struct decision *decision, const char *asker,
                    struct job_ending *ret_ending);

/* Whether an end counts that came while no controller listened. One that failed counts once: an inventory
 * may tell it again before it heard that it was taken. `epoch`: this controller's. */
bool endings_is_wanted(const struct history *history, const struct engine *engine, uint32_t epoch,
                       const duopoly_AttemptState *state);
