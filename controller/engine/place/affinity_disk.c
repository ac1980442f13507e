#include "controller/engine/place/affinity_disk.h"

#include "controller/engine/place/kinds.h"

static struct affinity_reader *reader_of(const struct attempt *attempt)
{
    return attempt->kept[QUESTION_PLACE];
}

static struct affinity_readers *readers_of(const struct host *host)
{
    return host->kept[QUESTION_PLACE];
}

void affinity_init_readers(struct engine *engine, union policy_of of, void *state)
{
    struct affinity_readers *readers = state;
    (void)engine;
    (void)of;
    TAILQ_INIT(&readers->to_count);
}

/* WHY not at once: of a new attempt its way is not known yet. */
static void count_later(struct affinity_reader *reader)
{
    reader->counted = AFFINITY_TO_COUNT;
    TAILQ_INSERT_TAIL(&readers_of(reader->attempt->host)->to_count, reader, to_count);
}

void affinity_init_reader(struct affinity_reader *reader, struct attempt *attempt)
{
    reader->unreported = 1;
    reader->attempt = attempt;
    count_later(reader);
}

void affinity_drop_reader(struct affinity_reader *reader)
{
    struct affinity_readers *readers = readers_of(reader->attempt->host);
    if (reader->counted == AFFINITY_TO_COUNT)
        TAILQ_REMOVE(&readers->to_count, reader, to_count);
    if (reader->counted == AFFINITY_COUNTED) {
        readers->asked_bytes_s -= reader->asked_bytes_s;
        readers->readers -= reader->reads;
    }
    reader->counted = AFFINITY_NOT_COUNTED;
}

void affinity_readers_reported(struct engine *engine, struct host *host)
{
    struct attempt *attempt;
    TAILQ_FOREACH (attempt, &host->attempts, on_host) {
        struct affinity_reader *reader = reader_of(attempt);
        engine->counters.visits++;
        affinity_drop_reader(reader);
        reader->unreported = attempt->state == ATTEMPT_SENT;
        if (reader->unreported)
            count_later(reader);
    }
}

void affinity_readers_profiled(struct engine *engine, struct stage *stage)
{
    struct attempt *attempt;
    TAILQ_FOREACH (attempt, &stage->attempts, of_stage) {
        struct affinity_reader *reader = reader_of(attempt);
        engine->counters.visits++;
        if (reader->counted != AFFINITY_COUNTED)
            continue;
        affinity_drop_reader(reader);
        count_later(reader);
    }
}

static void count(struct affinity_readers *readers, struct affinity_reader *reader)
{
    const struct attempt *attempt = reader->attempt;
    const struct stage *stage = attempt->task ? attempt->task->stage : NULL;
    TAILQ_REMOVE(&readers->to_count, reader, to_count);
    reader->counted = AFFINITY_NOT_COUNTED;
    if (!stage || !reader->unreported || attempt->variant > stage->n_others)
        return;
    const struct stage *way = attempt->variant ? stage->others[attempt->variant - 1] : stage;
    reader->counted = AFFINITY_COUNTED;
    reader->reads = way->profile.read_bytes > 0;
    reader->asked_bytes_s = profile_asked_bytes_s(&way->profile);
    readers->asked_bytes_s += reader->asked_bytes_s;
    readers->readers += reader->reads;
}

struct affinity_disk affinity_disk_of(struct engine *engine, struct host *host)
{
    struct affinity_readers *readers = readers_of(host);
    struct affinity_reader *reader;
    while ((reader = TAILQ_FIRST(&readers->to_count))) {
        engine->counters.visits++;
        count(readers, reader);
    }
    engine_wide asked = (engine_wide)host->disk_bytes_s * host->disk_permille / 1000;
    asked = (asked < KINDS_TIME_MOST ? asked : KINDS_TIME_MOST) + readers->asked_bytes_s;
    return (struct affinity_disk){host->disk_bytes_s,
                                  asked < AFFINITY_NEVER_NS ? (uint64_t)asked : AFFINITY_NEVER_NS,
                                  host->disk_readers + readers->readers, host->disk_hangs};
}
