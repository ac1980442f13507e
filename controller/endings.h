/* The sentences of facts (fact.h), which history.h keeps: how an attempt ended and why a job did, with host,
 * attempt and the last words.
 *
 * What an agent says is a peer's text: it is bounded and every byte that is not printable ASCII
 * becomes '?' here, before anybody keeps, logs or prints it. Pure. */
#pragma once

#include "controller/history.h"

#include "schemas/duopoly.pb.h"

/* Copies at most size − 1 bytes of a peer's text; what is not printable ASCII becomes '?'. */
void endings_words(const char *peers_words, char *ret_words, size_t size);

/* How an attempt ended: a clause without a full stop, "" for one that is done. `peers_words` are its last
 * words, "" without; of a framework's attempt what its framework calls it. */
void endings_say(const struct engine *engine, const struct ending *ending, const char *peers_words,
                 char ret_text[HISTORY_WORDS]);

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
