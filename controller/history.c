#include "controller/history.h"

#include "lib/invariant.h"

#include <bsd/sys/queue.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* An ending as it is kept. */
struct kept {
    UT_hash_handle hh;
    struct ending ending;
    uint64_t place; /* grows with time */
    struct past *past;
    TAILQ_ENTRY(kept) of_job, by_age;
    char words[];
};
TAILQ_HEAD(kept_list, kept);

/* One job. */
struct past {
    UT_hash_handle hh;
    uint64_t job;
    bool ended;
    struct job_ending ending;
    struct kept_list endings;
    uint32_t done, others;
    struct spent spent; /* sums */
    uint32_t measured;
    bool divided; /* it has a split, */
    struct job_split split;
    struct stage_split *stages; /* whose stages these are; owned; NULL: none */
    TAILQ_ENTRY(past) by_end;
    TAILQ_ENTRY(past) by_split; /* while it has stages */
};

/* The last failure on a host, whether or not it is still kept. */
struct failure {
    UT_hash_handle hh;
    uint32_t host;
    uint64_t attempt;
};

struct history {
    uint32_t finished_max, finished, n_kept;
    uint64_t places;
    struct past *jobs;
    struct kept *attempts;
    struct failure *failures;
    struct kept_list by_age;
    TAILQ_HEAD(, past) by_end;
    TAILQ_HEAD(, past) by_split;
    uint64_t n_stages; /* of these */
};

struct history *history_create(uint32_t finished_max)
{
    struct history *history = calloc(1, sizeof(*history));
    if (!history)
        return NULL;
    history->finished_max = finished_max;
    TAILQ_INIT(&history->by_age);
    TAILQ_INIT(&history->by_end);
    TAILQ_INIT(&history->by_split);
    return history;
}

static struct past *past_find(const struct history *history, uint64_t job)
{
    struct past *past;
    HASH_FIND(hh, history->jobs, &job, sizeof(job), past);
    return past;
}

static struct kept *kept_find(const struct history *history, uint64_t attempt)
{
    struct kept *kept;
    HASH_FIND(hh, history->attempts, &attempt, sizeof(attempt), kept);
    return kept;
}

static void kept_drop(struct history *history, struct kept *kept)
{
    struct past *past = kept->past;
    assert(*(kept->ending.kind == ENDING_DONE ? &past->done : &past->others) > 0);
    *(kept->ending.kind == ENDING_DONE ? &past->done : &past->others) -= 1;
    TAILQ_REMOVE(&past->endings, kept, of_job);
    TAILQ_REMOVE(&history->by_age, kept, by_age);
    HASH_DEL(history->attempts, kept);
    history->n_kept--;
    free(kept);
}

static void stages_drop(struct history *history, struct past *past)
{
    if (!past->stages)
        return;
    TAILQ_REMOVE(&history->by_split, past, by_split);
    history->n_stages -= past->split.n_stages;
    past->split.n_stages = 0;
    free(past->stages);
    past->split.stages = past->stages = NULL;
}

static void past_drop(struct history *history, struct past *past)
{
    struct kept *kept;
    stages_drop(history, past);
    while ((kept = TAILQ_FIRST(&past->endings)))
        kept_drop(history, kept);
    if (past->ended) {
        TAILQ_REMOVE(&history->by_end, past, by_end);
        history->finished--;
    }
    HASH_DEL(history->jobs, past);
    free(past);
}

void history_destroy(struct history *history)
{
    struct past *past, *next;
    struct failure *failure, *after;
    if (!history)
        return;
    HASH_ITER (hh, history->failures, failure, after) {
        HASH_DEL(history->failures, failure);
        free(failure);
    }
    HASH_ITER (hh, history->jobs, past, next) {
        past_drop(history, past);
    }
    free(history);
}

static struct past *past_add(struct history *history, uint64_t job)
{
    struct past *past = calloc(1, sizeof(*past));
    if (!past)
        return NULL;
    past->job = job;
    TAILQ_INIT(&past->endings);
    HASH_ADD(hh, history->jobs, job, sizeof(past->job), past);
    return past;
}

/* Makes room for one more of its kind: of done attempts the first are kept, of the others the
 * newest. */
static bool room_make(struct history *history, struct past *past, enum ending_kind kind)
{
    struct kept *kept;
    if (kind == ENDING_DONE)
        return past->done < HISTORY_DONE;
    if (past->others < HISTORY_OTHERS)
        return true;
    TAILQ_FOREACH (kept, &past->endings, of_job)
        if (kept->ending.kind != ENDING_DONE)
            break;
    kept_drop(history, kept);
    return true;
}

static void spent_add(struct past *past, const struct spent *one)
{
    past->spent.wait_ns += one->wait_ns;
    past->spent.receive_ns += one->receive_ns;
    past->spent.compute_ns += one->compute_ns;
    past->spent.bytes += one->bytes;
    past->spent.received_bytes += one->received_bytes;
    past->measured++;
}

static bool is_failure(enum ending_kind kind)
{
    return kind == ENDING_FAILED || kind == ENDING_REFUSED;
}

static void failure_note(struct history *history, const struct ending *ending)
{
    struct failure *failure;
    HASH_FIND(hh, history->failures, &ending->host, sizeof(ending->host), failure);
    if (!failure && (failure = calloc(1, sizeof(*failure)))) {
        failure->host = ending->host;
        HASH_ADD(hh, history->failures, host, sizeof(failure->host), failure);
    }
    if (failure)
        failure->attempt = ending->attempt;
}

void history_attempt_ended(struct history *history, const struct ending *ending, bool live)
{
    struct past *past = past_find(history, ending->job);
    if (!past && live)
        past = past_add(history, ending->job);
    struct kept *before = kept_find(history, ending->attempt);
    if (!past || (before && before->ending.kind != ENDING_LOST))
        return;
    if (before)
        kept_drop(history, before);
    if (ending->spent.known)
        spent_add(past, &ending->spent);
    if (!room_make(history, past, ending->kind))
        return;
    const char *words = ending->words ? ending->words : "";
    size_t size = strnlen(words, HISTORY_WORDS - 1) + 1;
    struct kept *kept = calloc(1, sizeof(*kept) + size);
    if (!kept)
        return;
    kept->ending = *ending;
    memcpy(kept->words, words, size - 1);
    kept->ending.words = kept->words;
    kept->past = past;
    kept->place = ++history->places;
    *(ending->kind == ENDING_DONE ? &past->done : &past->others) += 1;
    TAILQ_INSERT_TAIL(&past->endings, kept, of_job);
    TAILQ_INSERT_TAIL(&history->by_age, kept, by_age);
    HASH_ADD(hh, history->attempts, ending.attempt, sizeof(kept->ending.attempt), kept);
    if (is_failure(ending->kind))
        failure_note(history, ending);
    if (++history->n_kept > HISTORY_ENDINGS)
        kept_drop(history, TAILQ_FIRST(&history->by_age));
}

void history_job_ended(struct history *history, const struct job_ending *ending)
{
    struct past *past = past_find(history, ending->job);
    if (!past)
        past = past_add(history, ending->job);
    if (!past || past->ended)
        return;
    past->ended = true;
    past->ending = *ending;
    TAILQ_INSERT_TAIL(&history->by_end, past, by_end);
    if (++history->finished > history->finished_max)
        past_drop(history, TAILQ_FIRST(&history->by_end));
}

void history_job_split(struct history *history, const struct job_split *split)
{
    struct past *past = past_find(history, split->job);
    if (!past || !past->ended)
        return;
    stages_drop(history, past);
    past->divided = true;
    past->split = *split;
    past->split.n_stages = 0;
    past->split.stages = NULL;
    for (uint32_t i = 0; i < split->n_stages; i++)
        history_stage_split(history, split->job, &split->stages[i]);
}

void history_stage_split(struct history *history, uint64_t job, const struct stage_split *stage)
{
    struct past *past = past_find(history, job);
    if (!past || !past->divided || past->split.n_stages == SPLIT_STAGES)
        return;
    struct stage_split *grown =
        reallocarray(past->stages, past->split.n_stages + 1, sizeof(*grown));
    if (!grown)
        return;
    if (!past->stages)
        TAILQ_INSERT_TAIL(&history->by_split, past, by_split);
    past->split.stages = past->stages = grown;
    past->stages[past->split.n_stages++] = *stage;
    if (++history->n_stages > HISTORY_STAGES)
        stages_drop(history, TAILQ_FIRST(&history->by_split));
}

const struct job_split *history_split(const struct history *history, uint64_t job)
{
    const struct past *past = past_find(history, job);
    return past && past->divided ? &past->split : NULL;
}

const struct ending *history_attempt(const struct history *history, uint64_t attempt)
{
    const struct kept *kept = kept_find(history, attempt);
    return kept ? &kept->ending : NULL;
}

const struct ending *history_task(const struct history *history, uint64_t job, uint32_t stage,
                                  uint32_t task)
{
    const struct past *past = past_find(history, job);
    const struct ending *found = NULL;
    const struct kept *kept;
    if (!past)
        return NULL;
    TAILQ_FOREACH (kept, &past->endings, of_job)
        if (kept->ending.stage == stage && kept->ending.task == task &&
            !(found && found->kind == ENDING_DONE))
            found = &kept->ending;
    return found;
}

const struct ending *history_others(const struct history *history, uint64_t job, uint32_t stage,
                                    uint32_t task, uint32_t *ret_n)
{
    const struct past *past = past_find(history, job);
    const struct ending *newest = NULL;
    const struct kept *kept;
    *ret_n = 0;
    if (!past)
        return NULL;
    TAILQ_FOREACH (kept, &past->endings, of_job)
        if (kept->ending.stage == stage && kept->ending.task == task &&
            kept->ending.kind != ENDING_DONE) {
            newest = &kept->ending;
            ++*ret_n;
        }
    return newest;
}

const struct ending *history_failure(const struct history *history, uint64_t job)
{
    const struct past *past = past_find(history, job);
    const struct kept *kept;
    if (!past || !past->others)
        return NULL;
    TAILQ_FOREACH_REVERSE (kept, &past->endings, kept_list, of_job)
        if (is_failure(kept->ending.kind))
            return &kept->ending;
    return NULL;
}

const struct ending *history_failure_on(const struct history *history, uint32_t host)
{
    const struct failure *failure;
    HASH_FIND(hh, history->failures, &host, sizeof(host), failure);
    const struct ending *ending = failure ? history_attempt(history, failure->attempt) : NULL;
    return ending && ending->host == host ? ending : NULL;
}

const struct ending *history_after(const struct history *history, uint64_t job, uint64_t place,
                                   uint64_t *ret_place)
{
    const struct past *past = past_find(history, job);
    const struct kept *kept;
    if (!past)
        return NULL;
    TAILQ_FOREACH (kept, &past->endings, of_job)
        if (kept->place > place) {
            *ret_place = kept->place;
            return &kept->ending;
        }
    return NULL;
}

bool history_spent(const struct history *history, uint64_t job, struct spent *ret_sums,
                   uint32_t *ret_tasks)
{
    const struct past *past = past_find(history, job);
    if (!past)
        return false;
    *ret_sums = past->spent;
    *ret_tasks = past->measured;
    return true;
}

const struct job_ending *history_job(const struct history *history, uint64_t job)
{
    const struct past *past = past_find(history, job);
    return past && past->ended ? &past->ending : NULL;
}
