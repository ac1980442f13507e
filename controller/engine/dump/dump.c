#include "controller/engine/dump/dump.h"

#include "controller/engine/base/numbered.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/split.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/mode.h"
#include "controller/engine/watch/opened.h"
#include "controller/engine/watch/order.h"
#include "controller/engine/watch/remaining.h"
#include "controller/engine/watch/source.h"
#include "lib/fnv1a.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct clock_record {
    int64_t now_ns, mode_since_ns;
    uint64_t mode_sequence, attempt_counter, keyed_slots, keyed_bps;
    uint64_t rekeyed, before_slots, before_bps;
    uint64_t draws; /* former */
    uint32_t mode;
    bool congested;
};
/* Older dumps kept a policy's count of draws with the clock. */
#define NO_DRAWS UINT64_MAX

struct config_record {
    struct engine_config config;
    uint32_t mode_rule; /* former; policies have these as parameters now: */
    int64_t even_wait_ns, start_wait_ns;
    bool mode_ignore_held;
};

enum { RECORD_CONFIG, RECORD_CLOCK, RECORD_END, RECORDS };

#define F      FIELD_OF
#define ADDED  FIELD_ADDED
#define FORMER FIELD_FORMER

static const struct record_kind kinds[RECORDS] = {
    [RECORD_CONFIG] = {"config",
                       {F(config_record, config.seed, U64),
                        F(config_record, config.epoch, U32),
                        F(config_record, config.turn, CHARS),
                        F(config_record, config.place, CHARS),
                        F(config_record, config.commit, CHARS),
                        F(config_record, config.network, CHARS),
                        FORMER(config_record, mode_rule, U32),
                        ADDED(config_record, config.mode, CHARS),
                        FORMER(config_record, mode_ignore_held, BOOL),
                        F(config_record, config.mode_dwell_ns, I64),
                        F(config_record, config.congested_permille, U32),
                        F(config_record, config.congested_share_permille, U32),
                        F(config_record, config.cleared_permille, U32),
                        FORMER(config_record, even_wait_ns, I64),
                        FORMER(config_record, start_wait_ns, I64),
                        F(config_record, config.hold_max_ns, I64),
                        F(config_record, config.stop_grace_ns, I64),
                        F(config_record, config.failures_max, U32),
                        F(config_record, config.coflow, TABLE),
                        F(config_record, config.macroflow, TABLE),
                        F(config_record, config.dclas, TABLE),
                        F(config_record, config.hosts_max, U32),
                        F(config_record, config.units_per_host_max, U32),
                        F(config_record, config.jobs_max, U32),
                        F(config_record, config.stages_per_job_max, U32),
                        F(config_record, config.finished_max, U32),
                        F(config_record, config.shapes_max, U32),
                        F(config_record, config.tasks_max, U64),
                        F(config_record, config.cells_per_job_max, U64),
                        ADDED(config_record, config.rules, U32),
                        FIELD_LEAN(config_record, config.users, CHARS)}},
    [RECORD_CLOCK] = {"clock",
                      {F(clock_record, now_ns, I64), F(clock_record, mode_since_ns, I64),
                       F(clock_record, mode_sequence, U64), F(clock_record, attempt_counter, U64),
                       FORMER(clock_record, draws, U64), F(clock_record, keyed_slots, U64),
                       F(clock_record, keyed_bps, U64), F(clock_record, mode, U32),
                       F(clock_record, congested, BOOL), FIELD_LEAN(clock_record, rekeyed, U64),
                       FIELD_LEAN(clock_record, before_slots, U64),
                       FIELD_LEAN(clock_record, before_bps, U64)}},
    [RECORD_END] = {"end", {{0}}},
};

static const struct dump_kind *const parts[] = {
    cluster_kinds, job_kinds,  attempt_kinds, source_kinds,  failing_kinds, framework_kinds,
    rerun_kinds,   loss_kinds, room_kinds,    account_kinds, user_kinds,    eviction_kinds};

static void send_line(struct dumper *d, int length)
{
    if (d->error)
        return;
    d->error = length < 0 ? length : d->sink(d->context, d->buffer, (size_t)length);
}

void dump_record(struct dumper *d, const struct record_kind *kind, const void *object)
{
    send_line(d, field_encode(kind, object, d->buffer, RECORD_MAX));
}

static int put_line(void *context, const char *line, size_t length)
{
    struct dumper *d = context;
    d->error = d->error ? d->error : d->sink(d->context, line, length);
    return d->error;
}

void dump_event(struct dumper *d, const struct event *event)
{
    send_line(d, record_encode_event(event, d->buffer, RECORD_MAX));
}

/* The longest list of a record: a host's units, a stage's edges (two numbers each) or its tasks. */
static size_t lists_max(const struct engine_config *config)
{
    size_t units = (size_t)config->units_per_host_max * ENGINE_RESOURCES;
    size_t longest = units > config->stages_per_job_max ? units : config->stages_per_job_max;
    return longest > 2 * (size_t)DUMP_CHUNK ? longest : 2 * (size_t)DUMP_CHUNK;
}

static void dump_values(struct dumper *d, const struct engine_config *config)
{
    for (uint32_t i = 0; i < config->n_values; i++) {
        struct event event = {.kind = EVENT_POLICY_PARAMETER};
        event.policy_parameter.word = config->values[i].word;
        event.policy_parameter.value = config->values[i].value;
        dump_event(d, &event);
    }
}

size_t engine_dump_room(const struct engine *engine)
{
    return lists_max(&engine->config) * sizeof(uint64_t) + RECORD_MAX;
}

int engine_dump_in(const struct engine *engine, void *room,
                   int (*sink)(void *context, const char *line, size_t length), void *context)
{
    struct dumper d = {.sink = sink, .context = context, .lists = room};
    struct sorted_node *node;
    d.buffer = (char *)(d.lists + lists_max(&engine->config));
    struct config_record config = {.config = engine->config};
    /* WHY: as dumps of before, where nobody divides. */
    if (strcmp(config.config.users, policy_defaults[QUESTION_USERS]) == 0)
        config.config.users[0] = '\0';
    dump_record(&d, &kinds[RECORD_CONFIG], &config);
    dump_values(&d, &engine->config);
    config_dump(&d, &engine->config);
    account_dump_owners(&d, engine);
    config_dump_frameworks(&d, &engine->config);
    framework_dump_sizes(&d, engine);
    config_dump_users(&d, &engine->config);
    struct clock_record clock = {
        .now_ns = engine->now_ns,
        .mode_since_ns = engine->mode_since_ns,
        .mode_sequence = engine->mode_sequence,
        .attempt_counter = engine->attempt_counter,
        .keyed_slots = engine->keyed.slots,
        .keyed_bps = engine->keyed.bps,
        .rekeyed = engine->rekeyed,
        .before_slots = engine->keyed_before.slots,
        .before_bps = engine->keyed_before.bps,
        .mode = engine->mode,
        .congested = engine->congested,
    };
    dump_record(&d, &kinds[RECORD_CLOCK], &clock);
    /* WHY in their own order: it breaks ties; WHY also shapes without a job: they fill the
     * table. */
    for (uint32_t i = 0; i < engine->n_shapes; i++)
        cluster_dump_shape(&d, engine->shapes[i]);
    for (uint32_t i = 0; i < engine->n_hosts; i++)
        if (engine->hosts[i])
            cluster_dump_host(&d, engine->hosts[i]);
    room_dump(&d, engine);
    user_dump(&d, engine);
    for (node = sorted_first(&engine->finished_age); node; node = sorted_next(node))
        job_dump_finished(&d, container_of(node, struct finished, by_age));
    for (node = sorted_first(&engine->jobs); node; node = sorted_next(node))
        job_dump(&d, container_of(node, struct job, by_number));
    const struct attempt *attempt;
    for (attempt = numbered_after(&engine->attempts, 0); attempt;
         attempt = numbered_after(&engine->attempts, attempt->number))
        attempt_dump(&d, attempt);
    for (node = sorted_first(&engine->blind); node; node = sorted_next(node))
        source_dump_blind(&d, container_of(node, struct blind, by_source));
    rerun_dump_losing(&d, engine);
    account_dump_cut(&d, engine);
    int r = policy_dump(engine, d.buffer, put_line, &d);
    d.error = d.error ? d.error : r;
    dump_record(&d, &kinds[RECORD_END], NULL);
    return d.error;
}

int engine_dump_job(const struct engine *engine, uint64_t number, void *room,
                    int (*sink)(void *context, const char *line, size_t length), void *context)
{
    struct dumper d = {.sink = sink, .context = context, .lists = room};
    const struct job *job = job_find(engine, number);
    const struct finished *finished = job ? NULL : job_find_finished(engine, number);
    d.buffer = (char *)(d.lists + lists_max(&engine->config));
    if (job)
        job_dump_state(&d, job);
    else if (finished)
        job_dump_finished(&d, finished);
    else
        return -ENOENT;
    return d.error;
}

int engine_dump(const struct engine *engine,
                int (*sink)(void *context, const char *line, size_t length), void *context)
{
    void *room = malloc(engine_dump_room(engine));
    int r = room ? engine_dump_in(engine, room, sink, context) : -ENOMEM;
    free(room);
    return r;
}

static int hash_line(void *context, const char *line, size_t length)
{
    uint64_t *hash = context;
    *hash = fnv1a(fnv1a(*hash, line, length), "\n", 1);
    return 0;
}

uint64_t engine_digest(const struct engine *engine)
{
    uint64_t hash = FNV1A_NOTHING;
    engine_dump(engine, hash_line, &hash);
    return hash;
}

static void load_clock(struct engine *engine, const struct clock_record *record)
{
    engine->now_ns = record->now_ns;
    engine->mode_since_ns = record->mode_since_ns;
    engine->mode_sequence = record->mode_sequence;
    engine->attempt_counter = record->attempt_counter;
    engine->mode = record->mode ? MODE_SLOT_STARVED : MODE_SLOT_RICH;
}

/* Loads what needs everything else to be there: holds, and flags that loading hosts has
 * overwritten. */
static void load_end(struct engine *engine, const struct clock_record *clock)
{
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_turn);
        for (uint32_t s = 0; s < job->n_stages; s++) {
            struct stage *way;
            split_look(engine, job->stages[s]);
            VARIANT_FOREACH (way, job->stages[s])
                if (way->held || way->overdue)
                    hold_restore(engine, way);
            if (!job->framework)
                continue;
            gate_restore(engine, job->stages[s]);
            opened_follow(engine, job->stages[s]);
        }
    }
    engine->congested = clock->congested;
    engine->keyed = (struct keyed){clock->keyed_slots, clock->keyed_bps};
    engine->rekeyed = clock->rekeyed;
    engine->keyed_before = (struct keyed){clock->before_slots, clock->before_bps};
    order_rebuild(engine);
    mode_restore(engine);
    memset(&engine->counters, 0, sizeof(engine->counters));
}

/* All facts are there: policies make their states from them. */
static void load_policies(struct engine *engine, const struct clock_record *clock)
{
    if (!engine->suspended)
        return;
    remaining_restore(engine);
    policy_begin(engine);
    if (clock->draws != NO_DRAWS)
        policy_load_former(engine, "draws", clock->draws);
}

struct loader {
    struct engine *engine;
    struct record_room room;
    struct decisions decisions;
    struct clock_record clock;
    bool ended;
};

static int load_event(struct loader *l, const char *line, struct err *err)
{
    struct event event;
    int r = record_decode_event(line, &l->room, &event, err);
    if (r < 0)
        return r;
    l->decisions.n = 0;
    engine_apply(l->engine, &event);
    return l->decisions.n ? err_set(err, EINVAL, "the engine rejects it (%s)",
                                    reason_name(l->decisions.at[0].reason))
                          : 0;
}

static int load_clock_line(struct loader *l, const char *line, struct err *err)
{
    l->clock = (struct clock_record){.draws = NO_DRAWS};
    int r = field_decode(&kinds[RECORD_CLOCK], line, NULL, &l->clock, err);
    if (r < 0)
        return r;
    const int64_t now_ns = l->clock.now_ns, since_ns = l->clock.mode_since_ns;
    /* INT64_MIN: before the first step. */
    if ((now_ns < 0 && now_ns != INT64_MIN) || since_ns < MODE_NEVER_NS ||
        (since_ns > now_ns && since_ns != MODE_NEVER_NS))
        return err_set(err, EINVAL, "the clock's times are out of range");
    load_clock(l->engine, &l->clock);
    return 0;
}

static int load_end_line(struct loader *l, const char *line, struct err *err)
{
    int r = field_decode(&kinds[RECORD_END], line, NULL, NULL, err);
    if (r < 0)
        return r;
    l->ended = true;
    load_policies(l->engine, &l->clock);
    load_end(l->engine, &l->clock);
    return 0;
}

static const struct dump_kind *find_kind(const char *line)
{
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        for (const struct dump_kind *at = parts[i]; at->load; at++)
            if (field_kind(&at->kind, 1, line, NULL) == 0)
                return at;
    return NULL;
}

static int load_part(struct engine *engine, const struct dump_kind *kind, const char *line,
                     struct err *err)
{
    _Alignas(max_align_t) char record[DUMP_RECORD_MAX] = {0};
    int r = field_decode(&kind->kind, line, NULL, record, err);
    return r < 0 ? r : kind->load(engine, record, err);
}

/* Older dumps have the rule's number. */
static int mode_of_former(struct config_record *first, struct err *err)
{
    const struct policy *rule = policy_listed(QUESTION_MODE, first->mode_rule);
    if (!rule)
        return err_set(err, EINVAL, "there is no rule number %u of the mode", first->mode_rule);
    strcpy(first->config.mode, rule->name);
    return 0;
}

static int values_of_former(struct config_record *first, struct err *err)
{
    const struct engine_value former[] = {{"even_wait", first->even_wait_ns},
                                          {"start_wait", first->start_wait_ns},
                                          {"ignore_held", first->mode_ignore_held}};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(former) / sizeof(former[0]); i++)
        if (former[i].value)
            r = engine_config_say(&first->config, former[i].word, former[i].value, err);
    return r;
}

static int load_first(struct loader *l, const char *line, struct err *err)
{
    struct config_record first = {0};
    int kind = field_kind(kinds, RECORDS, line, err);
    if (kind != RECORD_CONFIG)
        return err_set(err, EINVAL, "a dump begins with its configuration");
    int r = field_decode(&kinds[RECORD_CONFIG], line, NULL, &first, err);
    if (r == 0 && !first.config.mode[0])
        r = mode_of_former(&first, err);
    if (!first.config.users[0])
        strcpy(first.config.users, policy_defaults[QUESTION_USERS]);
    r = r < 0 ? r : values_of_former(&first, err);
    r = r < 0 ? r : engine_create(&first.config, &l->engine, err);
    if (r == 0)
        policy_suspend(l->engine);
    return r;
}

static int load_line(struct loader *l, const char *line, struct err *err)
{
    if (!l->engine)
        return load_first(l, line, err);
    /* WHY: as in engine_step. */
    l->engine->out = &l->decisions;
    if (setjmp(l->engine->no_memory))
        return err_set(err, ENOMEM, "no memory");
    if (policy_is_record(line)) {
        load_policies(l->engine, &l->clock);
        return policy_load(l->engine, line, err);
    }
    switch (field_kind(kinds, RECORDS, line, NULL)) {
    case RECORD_CONFIG:
        return err_set(err, EINVAL, "a second configuration");
    case RECORD_CLOCK:
        return load_clock_line(l, line, err);
    case RECORD_END:
        return load_end_line(l, line, err);
    default:
        break;
    }
    if (config_is_record(line))
        return config_load(l->engine, line, err);
    const struct dump_kind *kind = find_kind(line);
    return kind ? load_part(l->engine, kind, line, err) : load_event(l, line, err);
}

int engine_load(int (*next)(void *context, const char **ret_line), void *context,
                struct engine **ret_engine, struct err *err)
{
    struct loader l = {0};
    const char *line;
    int r = 0, number = 0;
    while (!l.ended && r >= 0) {
        r = next(context, &line);
        if (r <= 0)
            break;
        number++;
        r = load_line(&l, line, err);
        if (r < 0)
            err_prefix(err, "line %d", number);
    }
    if (r >= 0 && !l.ended)
        r = err_set(err, EINVAL, "line %d: the dump ends before its end", number);
    record_room_done(&l.room);
    decisions_done(&l.decisions);
    if (r < 0) {
        engine_destroy(l.engine);
        return r;
    }
    l.engine->out = NULL;
    *ret_engine = l.engine;
    return 0;
}
