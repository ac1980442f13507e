/* affinity beside a literal model of its rules: every start of random runs is the one that a scan
 * over all hosts, jobs and ways finds, under both readings of the lost formulas, also while disks
 * hang, and however inputs count that wait for downlinks; and no job is passed over for longer than
 * affinity.h says, over 10^5 random mixes of jobs. */
#include "tests/model/script.h"
#include "tests/unit/draws.h"

#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

enum { HOSTS = 3, JOBS = 48, FEW = 16, WAYS = 2, ATTEMPTS = 64, TASKS = 6, LINK_BPS = 1000000000 };
enum { ALIKE, ADDED, BEHIND, DOWNLINKS };
#define NONE UINT32_MAX

struct l_host {
    uint64_t slots, gpus; /* free */
    uint32_t running;
    uint64_t disk_bytes_s, permille, readers;
    bool hangs;
};
/* A stage of a job: its only one, or one of two. */
struct l_job {
    uint64_t number; /* 0: this place is free */
    uint32_t stage;
    struct l_job *reads;    /* the stage that reads what this one makes; NULL: none */
    uint64_t bytes;         /* of each task; 0: it reads none */
    uint32_t makers[TASKS]; /* whose tasks' outputs it reads: the hosts where they ran, */
    uint32_t n_makers;      /* and how many tasks */
    uint32_t n_ways, ready, started, done, n_tasks;
    bool gpu[WAYS];
    struct profile profile[WAYS];
    uint64_t on_gpus, since;
    int64_t submitted_ns;
    uint32_t passed; /* starts since its own where it would have fitted */
};
struct l_attempt {
    uint64_t number; /* 0: this place is free */
    uint32_t job, way, host;
    bool confirmed, unreported;
    uint64_t left_bytes; /* to receive, as far as is reported */
};
struct world {
    struct script s;
    uint64_t stream, starts, patience, next_job, most_passed, most_jobs;
    bool parts, rate, disks_hang;
    bool still; /* no time passes: all jobs come at once */
    bool shuffles;
    int downlink;
    uint64_t moved; /* starts that would be others if no wait counted */
    struct engine_config config;
    struct l_host host[HOSTS];
    struct l_job job[JOBS];
    struct l_attempt attempt[ATTEMPTS];
};

static uint64_t draw(struct world *w, uint64_t n)
{
    return test_random(&w->stream) % n;
}

static void begin(struct world *w, uint64_t seed, uint32_t hosts, uint64_t most_patience)
{
    static const char *const networks[] = {"none", "cans-coflow", "cans-macroflow", "rank"};
    struct engine_config config = script_config();
    *w = (struct world){.stream = seed};
    w->patience = 1 + draw(w, most_patience);
    w->most_jobs = JOBS;
    w->parts = draw(w, 2);
    w->rate = draw(w, 2);
    w->downlink = (int)draw(w, DOWNLINKS);
    strcpy(config.network, networks[draw(w, 4)]);
    strcpy(config.turn, "fifo");
    strcpy(config.place, "affinity");
    engine_config_say(&config, "patience", (int64_t)w->patience, NULL);
    engine_config_say(&config, "stretch", w->parts, NULL);
    engine_config_say(&config, "progress", w->rate, NULL);
    if (w->downlink)
        engine_config_say(&config, "downlink", w->downlink, NULL);
    w->config = config;
    script_begin(&w->s, &config);
    for (uint32_t h = 0; h < hosts; h++) {
        struct l_host *host = &w->host[h];
        host->slots = 2 + draw(w, 4);
        host->gpus = draw(w, 3);
        host->disk_bytes_s = draw(w, 4) ? 100 + draw(w, 100) : 0;
        const uint64_t vector[ENGINE_RESOURCES] = {
            [RES_SLOTS] = host->slots, [RES_GPU_MILLI] = 1000 * host->gpus};
        struct event join = script_join(h, host->slots, vector);
        join.host_join.disk_bytes_s = host->disk_bytes_s;
        script_event(&w->s, join);
    }
}

/* ---- the rules, by a scan ---- */

static bool fits(const struct world *w, const struct l_job *job, uint32_t way, uint32_t host)
{
    return job->ready && w->host[host].slots && (!job->gpu[way] || w->host[host].gpus) &&
           !(w->host[host].hangs && job->profile[way].read_bytes);
}

static bool fits_some_way(const struct world *w, const struct l_job *job, uint32_t host)
{
    for (uint32_t way = 0; way < job->n_ways; way++)
        if (fits(w, job, way, host))
            return true;
    return false;
}

static bool has_room(const struct world *w, uint32_t host)
{
    for (uint32_t j = 0; j < w->most_jobs; j++)
        if (fits_some_way(w, &w->job[j], host))
            return true;
    return false;
}

static uint64_t lone_ns(const struct profile *p)
{
    uint64_t read_ns = p->read_bytes ? p->read_bytes * 1000000000 / p->read_bytes_s : 0;
    uint64_t ns = p->before ? p->compute_ns + read_ns : p->compute_ns;
    return ns ? ns : 1;
}

static uint64_t asked_of(const struct profile *p)
{
    if (p->before || !p->read_bytes)
        return p->read_bytes ? p->read_bytes_s : 0;
    uint64_t mean = (uint64_t)((wide)p->read_bytes * 1000000000 / p->compute_ns);
    return mean < p->read_bytes_s ? mean : p->read_bytes_s;
}

/* Whether b is served no later than a is. */
static bool is_ahead(const struct world *w, const struct l_job *a, const struct l_job *b)
{
    const struct engine_config *c = &w->config;
    if (strcmp(c->network, "rank") == 0)
        return b->number <= a->number;
    if (strcmp(c->network, "cans-coflow") == 0)
        return level_table_level(&c->coflow, b->bytes * b->n_tasks) <=
               level_table_level(&c->coflow, a->bytes * a->n_tasks);
    return strcmp(c->network, "none") == 0 ||
           level_table_level(&c->macroflow, b->bytes) <= level_table_level(&c->macroflow, a->bytes);
}

static uint64_t wait_ns(const struct world *w, const struct l_job *job, uint32_t h)
{
    wide ahead = 0;
    for (uint32_t a = 0; a < ATTEMPTS && job->bytes; a++) {
        const struct l_attempt *at = &w->attempt[a];
        if (at->number && at->host == h && is_ahead(w, job, &w->job[at->job]))
            ahead += at->left_bytes;
    }
    return w->downlink == ALIKE ? 0 : (uint64_t)(ahead * 8000000000u / LINK_BPS);
}

static uint64_t by_disk_ns(const struct world *w, const struct profile *p, uint32_t h)
{
    const struct l_host *host = &w->host[h];
    uint64_t asked = host->disk_bytes_s * host->permille / 1000, readers = host->readers;
    if (!p->read_bytes || !host->disk_bytes_s)
        return lone_ns(p);
    for (uint32_t a = 0; a < ATTEMPTS; a++) {
        const struct l_attempt *at = &w->attempt[a];
        if (!at->number || at->host != h || !at->unreported)
            continue;
        const struct profile *other = &w->job[at->job].profile[at->way];
        asked += asked_of(other);
        readers += other->read_bytes > 0;
    }
    uint64_t needed = w->parts ? p->read_bytes_s * (readers + 1) : asked + asked_of(p);
    uint64_t read_ns = p->read_bytes * 1000000000 / p->read_bytes_s;
    uint64_t rest_ns = lone_ns(p) - read_ns;
    if (needed > host->disk_bytes_s)
        read_ns = (uint64_t)((wide)read_ns * needed / host->disk_bytes_s);
    return read_ns + rest_ns ? read_ns + rest_ns : 1;
}

static int compare(wide a, wide b)
{
    return a < b ? -1 : a > b;
}

static int by_age(const struct l_job *a, const struct l_job *b)
{
    int order = compare((wide)a->submitted_ns, (wide)b->submitted_ns);
    return order ? order : compare(a->number, b->number);
}

/* a ÷ b against c ÷ d */
static int by_parts(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return compare((wide)a * d, (wide)c * b);
}

static bool is_gpu_alone(const struct l_job *job)
{
    return job->n_ways == 1 && job->gpu[0];
}

struct pick {
    uint32_t job, way;
};

static const struct profile *profile_of(const struct world *w, struct pick pick)
{
    return &w->job[pick.job].profile[pick.way];
}

static uint64_t predicted_ns(const struct world *w, struct pick pick, uint32_t h)
{
    return by_disk_ns(w, profile_of(w, pick), h) + wait_ns(w, &w->job[pick.job], h);
}

static bool on_gpu_before(const struct world *w, uint32_t host, struct pick x, struct pick y)
{
    const struct l_job *a = &w->job[x.job], *b = &w->job[y.job];
    int order = by_parts(predicted_ns(w, x, host), lone_ns(profile_of(w, x)),
                         predicted_ns(w, y, host), lone_ns(profile_of(w, y)));
    order = order ? order : compare(a->on_gpus, b->on_gpus);
    order = order ? order : compare(!is_gpu_alone(a), !is_gpu_alone(b));
    return (order ? order : by_age(a, b)) < 0;
}

static uint64_t best_ns(const struct l_job *job)
{
    uint64_t best = UINT64_MAX;
    for (uint32_t way = 0; way < job->n_ways; way++)
        if (lone_ns(&job->profile[way]) < best)
            best = lone_ns(&job->profile[way]);
    return best;
}

/* Of x against y; waits: of their inputs, where those are added. */
static int by_progress(const struct world *w, struct pick x, struct pick y,
                       const uint64_t waits_ns[2])
{
    const struct l_job *a = &w->job[x.job], *b = &w->job[y.job];
    wide mine = (wide)a->started * lone_ns(&a->profile[x.way]) + waits_ns[0],
         other = (wide)b->started * lone_ns(&b->profile[y.way]) + waits_ns[1];
    uint64_t age = (uint64_t)(w->s.now_ns - a->submitted_ns),
             age_of_other = (uint64_t)(w->s.now_ns - b->submitted_ns);
    age += !age;
    age_of_other += !age_of_other;
    return w->rate ? compare(mine * age_of_other, other * age)
                   : compare(mine + (uint64_t)a->submitted_ns, other + (uint64_t)b->submitted_ns);
}

static bool on_slot_before(const struct world *w, uint32_t host, struct pick x, struct pick y)
{
    static const uint64_t no_waits[2];
    const struct l_job *a = &w->job[x.job], *b = &w->job[y.job];
    const uint64_t waits_ns[] = {wait_ns(w, a, host), wait_ns(w, b, host)};
    int order = w->downlink == BEHIND ? compare(waits_ns[0], waits_ns[1]) : 0;
    order = order ? order : by_progress(w, x, y, w->downlink == ADDED ? waits_ns : no_waits);
    order = order ? order
                  : -by_parts(best_ns(a), predicted_ns(w, x, host), best_ns(b),
                              predicted_ns(w, y, host));
    return (order ? order : by_age(a, b)) < 0;
}

static bool waits_longer(const struct world *w, struct pick x, struct pick y)
{
    const struct l_job *a = &w->job[x.job], *b = &w->job[y.job];
    int order = compare(a->since, b->since);
    order = order ? order : compare(a->number, b->number);
    order = order ? order : compare(!a->gpu[x.way], !b->gpu[y.way]);
    return (order ? order : compare(x.way, y.way)) < 0;
}

static uint64_t without_gpu_ns(const struct l_job *job)
{
    uint64_t least = 0;
    for (uint32_t way = 0; way < job->n_ways; way++)
        if (!job->gpu[way] && (!least || lone_ns(&job->profile[way]) < least))
            least = lone_ns(&job->profile[way]);
    return least;
}

static bool are_alike(const struct world *w, struct pick x, struct pick y)
{
    const struct l_job *a = &w->job[x.job], *b = &w->job[y.job];
    const struct profile *p = profile_of(w, x), *q = profile_of(w, y);
    return a->gpu[x.way] == b->gpu[y.way] && a->stage == b->stage && best_ns(a) == best_ns(b) &&
           without_gpu_ns(a) == without_gpu_ns(b) && p->read_bytes == q->read_bytes &&
           p->read_bytes_s == q->read_bytes_s && p->before == q->before &&
           p->compute_ns == q->compute_ns;
}

/* It stands for those that are like it, as the first of them without waits. */
static bool stands(const struct world *w, struct pick one)
{
    static const uint64_t no_waits[2];
    const struct l_job *a = &w->job[one.job];
    for (uint32_t j = 0; j < w->most_jobs; j++)
        for (uint32_t way = 0; way < w->job[j].n_ways; way++) {
            const struct pick other = {j, way};
            const struct l_job *b = &w->job[j];
            if (j == one.job || !b->ready || !are_alike(w, one, other))
                continue;
            int order = a->gpu[one.way] ? compare(b->on_gpus, a->on_gpus)
                                        : by_progress(w, other, one, no_waits);
            if ((order ? order : by_age(b, a)) < 0)
                return false;
        }
    return true;
}

static struct pick literal(const struct world *w, uint32_t host, const char **ret_word)
{
    struct pick overdue = {NONE, 0}, gpu = {NONE, 0}, slot = {NONE, 0};
    for (uint32_t j = 0; j < w->most_jobs; j++)
        for (uint32_t way = 0; way < w->job[j].n_ways; way++) {
            const struct pick one = {j, way};
            const struct l_job *job = &w->job[j];
            if (!fits(w, job, way, host))
                continue;
            if (w->starts - job->since >= w->patience &&
                (overdue.job == NONE || waits_longer(w, one, overdue)))
                overdue = one;
            if (job->gpu[way] && (gpu.job == NONE || on_gpu_before(w, host, one, gpu)) &&
                stands(w, one))
                gpu = one;
            if (!job->gpu[way] && (slot.job == NONE || on_slot_before(w, host, one, slot)) &&
                stands(w, one))
                slot = one;
        }
    *ret_word = overdue.job != NONE ? "patience" : gpu.job != NONE ? "least-delayed" : "slowest";
    return overdue.job != NONE ? overdue : gpu.job != NONE ? gpu : slot;
}

/* ---- what the engine did ---- */

static uint32_t place_of(const struct world *w, uint64_t job, uint32_t stage)
{
    for (uint32_t j = 0; j < w->most_jobs; j++)
        if (w->job[j].number == job && w->job[j].stage == stage)
            return j;
    fail_msg("a start of job %llu", (unsigned long long)job);
    return 0;
}

static struct l_attempt *free_attempt(struct world *w)
{
    for (uint32_t a = 0; a < ATTEMPTS; a++)
        if (!w->attempt[a].number)
            return &w->attempt[a];
    fail_msg("too many attempts");
    return NULL;
}

/* What the task reads from other hosts. */
static uint64_t remote_bytes(const struct l_job *job, uint32_t host)
{
    uint64_t bytes = 0;
    for (uint32_t m = 0; m < job->n_makers; m++)
        if (job->makers[m] != host)
            bytes += job->bytes / job->n_makers + (m < job->bytes % job->n_makers);
    return bytes;
}

static void take(struct world *w, const struct decision *d, struct pick pick)
{
    struct l_job *job = &w->job[pick.job];
    struct l_host *host = &w->host[d->start.host];
    for (uint32_t j = 0; j < w->most_jobs; j++)
        if (j != pick.job && fits_some_way(w, &w->job[j], d->start.host))
            w->job[j].passed++;
    job->passed = 0;
    job->since = ++w->starts;
    job->on_gpus += job->gpu[pick.way];
    job->ready--;
    job->started++;
    host->slots--;
    host->gpus -= job->gpu[pick.way];
    host->running++;
    if (job->reads)
        job->reads->makers[d->start.task] = d->start.host;
    *free_attempt(w) = (struct l_attempt){d->start.attempt,
                                          pick.job,
                                          pick.way,
                                          d->start.host,
                                          false,
                                          true,
                                          remote_bytes(job, d->start.host)};
}

static void check_passed(struct world *w)
{
    for (uint32_t j = 0; j < w->most_jobs; j++) {
        assert_true(w->job[j].passed <= w->patience + w->most_jobs - 1);
        if (w->job[j].passed > w->most_passed)
            w->most_passed = w->job[j].passed;
    }
}

static void count_moved(struct world *w, uint32_t host, struct pick pick)
{
    const int downlink = w->downlink;
    const char *word;
    w->downlink = ALIKE;
    w->moved += literal(w, host, &word).job != pick.job;
    w->downlink = downlink;
}

static void check_start(struct world *w, const struct decision *d)
{
    const char *word;
    const struct l_host *host = &w->host[d->start.host];
    for (uint32_t h = 0; h < HOSTS; h++)
        assert_true(!has_room(w, h) || host->hangs < w->host[h].hangs ||
                    (host->hangs == w->host[h].hangs && host->running <= w->host[h].running));
    const struct pick pick = literal(w, d->start.host, &word);
    assert_true(pick.job != NONE);
    if (w->shuffles)
        count_moved(w, d->start.host, pick);
    assert_int_equal(w->job[pick.job].number, d->start.job);
    assert_int_equal(w->job[pick.job].stage, d->start.stage);
    assert_int_equal(pick.way, d->start.variant);
    assert_reason(d, word);
    if (strcmp(word, "patience") == 0) {
        assert_int_equal(d->left, w->starts - w->job[pick.job].since);
        assert_int_equal(d->right, w->patience);
    } else {
        assert_int_equal(d->left, predicted_ns(w, pick, d->start.host));
        assert_int_equal(d->right, lone_ns(profile_of(w, pick)));
    }
}

static void follow(struct world *w, bool check)
{
    const struct decision *d;
    for (size_t i = 0; (d = script_decision(&w->s, DECISION_START, i)); i++) {
        if (check)
            check_start(w, d);
        take(w, d, (struct pick){place_of(w, d->start.job, d->start.stage), d->start.variant});
        check_passed(w);
    }
    for (uint32_t h = 0; check && h < HOSTS; h++)
        assert_false(has_room(w, h));
}

/* ---- what happens ---- */

static struct profile random_profile(struct world *w, bool gpu)
{
    uint64_t rate = 1 + draw(w, 150), bytes = draw(w, 5) ? draw(w, 1000) : 0;
    uint64_t compute_ns = 1 + draw(w, 10) * 1000000000;
    if (!gpu)
        compute_ns += bytes * 1000000000 / rate;
    return (struct profile){bytes, rate, gpu, compute_ns};
}

/* Few kinds, so that some jobs are alike. */
static void random_ways(struct world *w, struct l_job *job)
{
    uint64_t stream = w->stream, kind = draw(w, 4);
    if (kind == 0)
        w->stream = 7 + draw(w, 2);
    job->n_ways = 1 + (uint32_t)draw(w, 2);
    job->gpu[0] = job->n_ways == 2 || draw(w, 2);
    for (uint32_t way = 0; way < job->n_ways; way++)
        job->profile[way] = random_profile(w, job->gpu[way]);
    if (kind == 0)
        w->stream = stream * 3 + 1;
}

static struct l_job *free_job(struct world *w)
{
    for (uint32_t j = 0; j < w->most_jobs; j++)
        if (!w->job[j].number)
            return &w->job[j];
    return NULL;
}

/* What no host fits is refused. */
static bool any_gpu(struct world *w, uint32_t hosts)
{
    bool gpu = false;
    for (uint32_t h = 0; h < hosts; h++)
        gpu |= script_host_view(&w->s, h).total.amount[RES_GPU_MILLI] > 0;
    return gpu;
}

static void make_stage(struct world *w, uint32_t hosts, uint32_t most_tasks, struct l_job *job)
{
    *job = (struct l_job){.number = w->next_job, .n_tasks = 1 + (uint32_t)draw(w, most_tasks)};
    random_ways(w, job);
    if (!any_gpu(w, hosts)) {
        job->n_ways = 1;
        job->profile[0] = random_profile(w, false);
        job->gpu[0] = false;
    }
    job->submitted_ns = w->s.now_ns;
}

/* Its tasks are ready. */
static void open_stage(struct world *w, struct l_job *job)
{
    job->ready = job->n_tasks;
    job->since = w->starts;
}

static void tell_stage(struct world *w, const struct l_job *job)
{
    static const uint32_t parent, barrier = EDGE_BARRIER;
    uint64_t numbers[WAYS * PROFILE_NUMBERS], slot[ENGINE_RESOURCES] = {[RES_SLOTS] = 1};
    for (uint32_t way = 0; way < job->n_ways; way++) {
        const struct profile *p = &job->profile[way];
        const uint64_t of[] = {p->read_bytes, p->read_bytes_s, p->before, p->compute_ns};
        memcpy(numbers + way * PROFILE_NUMBERS, of, sizeof(of));
    }
    struct event stage = script_stage_event(job->number, job->stage, job->n_tasks,
                                            job->stage ? &parent : NULL, &barrier);
    stage.job_stage.demand.amount[RES_GPU_MILLI] = job->gpu[0] ? 1000 : 0;
    stage.job_stage.variant_demands = (struct u64s){slot, job->n_ways == 2 ? ENGINE_RESOURCES : 0};
    stage.job_stage.profiles = (struct u64s){numbers, job->n_ways * PROFILE_NUMBERS};
    script_event(&w->s, stage);
    assert_int_equal(script_rejection(&w->s), REASON_NONE);
}

/* A stage that reads what the other one will have made: of few bytes, or many. */
static struct l_job *make_reader(struct world *w, struct l_job *of)
{
    struct l_job *job = free_job(w);
    if (!w->shuffles || !job)
        return NULL;
    make_stage(w, HOSTS, TASKS, job);
    job->stage = 1;
    job->bytes = (UINT64_C(1) << (20 + draw(w, 11))) + draw(w, 1000);
    job->n_makers = of->n_tasks;
    return of->reads = job;
}

/* False: there are jobs enough. */
static bool submit(struct world *w, uint32_t hosts)
{
    struct l_job *job = free_job(w);
    if (!job)
        return false;
    w->next_job++;
    make_stage(w, hosts, w->shuffles ? 2 : TASKS, job);
    open_stage(w, job);
    struct l_job *reader = make_reader(w, job);
    script_job_begin(&w->s, job->number);
    tell_stage(w, job);
    script_tasks(&w->s, job->number, 0, job->n_tasks, 0, 0, NULL);
    if (reader) {
        tell_stage(w, reader);
        script_tasks(&w->s, job->number, 1, reader->n_tasks, 0, 0, NULL);
        script_bytes(&w->s, job->number, 1, 0, reader->n_tasks, reader->bytes);
    }
    script_job_end(&w->s, job->number);
    return true;
}

static void end_one(struct world *w, struct l_attempt *a)
{
    struct l_job *job = &w->job[a->job];
    struct l_host *host = &w->host[a->host];
    uint64_t number = a->number;
    host->slots++;
    host->gpus += job->gpu[a->way];
    host->running--;
    a->number = 0;
    if (++job->done == job->n_tasks) {
        if (job->reads)
            open_stage(w, job->reads);
        *job = (struct l_job){0};
    }
    script_attempt(&w->s, EVENT_ATTEMPT_DONE, number, 0);
}

static struct l_attempt *random_attempt(struct world *w)
{
    struct l_attempt *a = &w->attempt[draw(w, ATTEMPTS)];
    for (uint32_t i = 0; i < ATTEMPTS && !a->number; i++)
        a = a + 1 < w->attempt + ATTEMPTS ? a + 1 : w->attempt;
    return a->number ? a : NULL;
}

static void confirm(struct world *w, struct l_attempt *a)
{
    a->confirmed = true;
    script_attempt(&w->s, EVENT_ATTEMPT_STARTED, a->number, 0);
}

/* Some of its input came, or the last of it. */
static void receive(struct world *w, struct l_attempt *a)
{
    uint64_t all = remote_bytes(&w->job[a->job], a->host);
    a->left_bytes = draw(w, 3) ? draw(w, a->left_bytes + 1) : 0;
    script_attempt(&w->s, a->left_bytes ? EVENT_ATTEMPT_PROGRESS : EVENT_ATTEMPT_RECEIVED,
                   a->number, all - a->left_bytes);
}

static void report(struct world *w, uint32_t h)
{
    struct event event = {.kind = EVENT_HOST_LOAD};
    w->host[h].permille = draw(w, 4000);
    w->host[h].readers = draw(w, 6);
    for (uint32_t a = 0; a < ATTEMPTS; a++)
        if (w->attempt[a].host == h)
            w->attempt[a].unreported = !w->attempt[a].confirmed;
    event.host_load.host = h;
    event.host_load.resource = LOAD_DISK;
    event.host_load.permille = (uint32_t)w->host[h].permille;
    event.host_load.users = (uint32_t)w->host[h].readers;
    event.host_load.hangs = w->host[h].hangs = w->disks_hang && !draw(w, 3);
    script_event(&w->s, event);
}

/* False: nothing happened. */
static bool happens(struct world *w)
{
    struct l_attempt *a = random_attempt(w);
    uint64_t what = draw(w, w->shuffles ? 7 : 6);
    if (what < 2)
        return submit(w, HOSTS);
    if (what == 2)
        report(w, (uint32_t)draw(w, HOSTS));
    else if (what == 6 && a && a->confirmed && a->left_bytes)
        receive(w, a);
    else if (what == 3 && a && !a->confirmed)
        confirm(w, a);
    else if (a && (what == 4 || (what == 5 && !a->left_bytes)))
        end_one(w, a);
    else
        return false;
    return true;
}

static void something(struct world *w)
{
    if (!w->still)
        w->s.now_ns += (int64_t)draw(w, 3) * (int64_t)draw(w, 2000000000);
    if (happens(w))
        follow(w, true);
}

static void test_every_start_is_the_literal_one(void **state)
{
    (void)state;
    uint64_t seed = test_seed(), starts = 0, moved[DOWNLINKS] = {0};
    for (int run = 0; run < 60; run++) {
        static struct world w;
        begin(&w, test_random(&seed), HOSTS, run % 4 < 2 ? 6 : 1000);
        w.still = run % 5 == 0;
        w.s.reload = run % 3 == 0;
        w.disks_hang = run % 2;
        w.shuffles = run % 8 >= 4;
        w.most_jobs = w.shuffles ? FEW : JOBS; /* so that inputs meet */
        for (int i = 0; i < 400; i++)
            something(&w);
        starts += w.starts;
        moved[w.downlink] += w.moved;
        script_end(&w.s);
    }
    assert_true(starts > 2000 && moved[ADDED] > 3 && moved[BEHIND] > 10);
}

/* A mix: some jobs at once on one host, more while they run, till all have ended. */
static void test_nobody_starves(void **state)
{
    (void)state;
    enum { MIXES = DRAWS(100000, 10000), MIXES_EACH = 500, RUNS = MIXES / MIXES_EACH };
    uint64_t seed = test_seed(), most = 0, beyond = 0;
    for (int run = 0; run < RUNS; run++) {
        static struct world w;
        begin(&w, test_random(&seed), 1, 6);
        for (int mix = 0; mix < MIXES_EACH; mix++) {
            uint64_t jobs = w.most_jobs = 2 + draw(&w, 4);
            struct l_attempt *a;
            while (jobs--) {
                submit(&w, 1);
                follow(&w, false);
            }
            while ((a = random_attempt(&w))) {
                w.s.now_ns += (int64_t)draw(&w, 1000000000);
                if (!draw(&w, 3))
                    report(&w, 0);
                end_one(&w, a);
                follow(&w, false);
            }
            for (uint32_t j = 0; j < JOBS; j++)
                assert_int_equal(w.job[j].number, 0);
        }
        most = w.most_passed > most ? w.most_passed : most;
        beyond += w.most_passed >= w.patience;
        script_end(&w.s);
    }
    assert_true(most > 3 && beyond > RUNS / 10); /* it comes near the bound */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_start_is_the_literal_one),
        cmocka_unit_test(test_nobody_starves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
