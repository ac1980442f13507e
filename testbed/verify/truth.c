#include "testbed/verify/truth.h"

#include "lib/grow.h"
#include "lib/number.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The handshake comes before the task's own line. */
#define OPEN_GRACE_NS 1000000000

static int by_attempt(const struct truth_attempt *a, const struct truth_attempt *b)
{
    return a->attempt < b->attempt ? -1 : a->attempt > b->attempt;
}
RB_GENERATE_INTERNAL(truth_attempts, truth_attempt, entry, by_attempt,
                     __attribute__((unused)) static)

static int by_stage(const struct truth_source *a, const struct truth_source *b)
{
    if (a->job != b->job)
        return a->job < b->job ? -1 : 1;
    return a->stage < b->stage ? -1 : a->stage > b->stage;
}
RB_GENERATE_INTERNAL(truth_sources, truth_source, entry, by_stage, __attribute__((unused)) static)

void truth_init(struct truth *truth)
{
    *truth = (struct truth){0};
    RB_INIT(&truth->attempts);
    RB_INIT(&truth->sources);
}

void truth_done(struct truth *truth)
{
    struct truth_attempt *attempt, *next;
    struct truth_source *source, *later;
    if (!truth)
        return;
    RB_FOREACH_SAFE (source, truth_sources, &truth->sources, later) {
        RB_REMOVE(truth_sources, &truth->sources, source);
        free(source);
    }
    RB_FOREACH_SAFE (attempt, truth_attempts, &truth->attempts, next) {
        RB_REMOVE(truth_attempts, &truth->attempts, attempt);
        free(attempt->levels);
        free(attempt);
    }
    free(truth->modes);
    free(truth->connections);
    truth_init(truth);
}

/* The number of " NAME=NUMBER" in a record. */
static bool field(const char *line, const char *name, uint64_t *ret_number)
{
    size_t length = strlen(name);
    for (const char *at = strchr(line, ' '); at; at = strchr(at + 1, ' ')) {
        if (strncmp(at + 1, name, length) != 0 || at[1 + length] != '=')
            continue;
        return number_take(at + length + 2, UINT64_MAX, ret_number) != NULL;
    }
    return false;
}

static struct truth_attempt *find_attempt(const struct truth *truth, uint64_t number)
{
    struct truth_attempt key = {.attempt = number};
    return RB_FIND(truth_attempts, (struct truth_attempts *)(uintptr_t)&truth->attempts, &key);
}

static int add_attempt(struct truth *truth, uint64_t number, struct truth_attempt **ret_attempt)
{
    struct truth_attempt *attempt = find_attempt(truth, number);
    if (!attempt) {
        attempt = calloc(1, sizeof(*attempt));
        if (!attempt)
            return -ENOMEM;
        attempt->attempt = number;
        attempt->ended_ns = INT64_MAX;
        RB_INSERT(truth_attempts, &truth->attempts, attempt);
    }
    *ret_attempt = attempt;
    return 0;
}

static int add_levels(struct truth_attempt *attempt, const struct truth_levels *levels)
{
    struct truth_levels *grown =
        reallocarray(attempt->levels, attempt->n_levels + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    attempt->levels = grown;
    grown[attempt->n_levels++] = *levels;
    return 0;
}

/* `name`: the field that has the attempt's number. */
static int read_levels(struct truth *truth, const char *record, const char *name,
                       struct truth_attempt **ret_attempt)
{
    struct truth_levels levels = {.since_ns = truth->now_ns};
    uint64_t number;
    if (!field(record, name, &number) || !field(record, "coflow_level", &levels.level[0]) ||
        !field(record, "macroflow_level", &levels.level[1]))
        return -EINVAL;
    int r = add_attempt(truth, number, ret_attempt);
    return r < 0 ? r : add_levels(*ret_attempt, &levels);
}

static int take_levels(struct truth *truth, const char *record)
{
    struct truth_attempt *attempt;
    return read_levels(truth, record, "attempt", &attempt);
}

static bool read_place(const char *record, struct truth_attempt *attempt)
{
    return field(record, "job", &attempt->job) && field(record, "stage", &attempt->stage) &&
           field(record, "task", &attempt->task);
}

static int take_allow(struct truth *truth, const char *record)
{
    struct truth_attempt *attempt;
    int r = read_levels(truth, record, "allow", &attempt);
    if (r < 0)
        return r;
    attempt->allow = true;
    return read_place(record, attempt) ? 0 : -EINVAL;
}

static struct truth_source *find_source(const struct truth *truth, uint64_t job, uint64_t stage)
{
    struct truth_source key = {.job = job, .stage = stage};
    return RB_FIND(truth_sources, (struct truth_sources *)(uintptr_t)&truth->sources, &key);
}

/* It is told again as it changes: the newest counts. */
static int take_stage(struct truth *truth, const char *record)
{
    static const char none[] = " edges= ";
    uint64_t job, stage;
    if (!field(record, "job", &job) || !field(record, "stage", &stage))
        return -EINVAL;
    struct truth_source *source = find_source(truth, job, stage);
    bool reads = !strstr(record, none);
    if (reads == !source)
        return 0;
    if (reads) {
        RB_REMOVE(truth_sources, &truth->sources, source);
        free(source);
        return 0;
    }
    if (!(source = calloc(1, sizeof(*source))))
        return -ENOMEM;
    source->job = job;
    source->stage = stage;
    RB_INSERT(truth_sources, &truth->sources, source);
    return 0;
}

/* The newest one of that task. */
static const struct truth_attempt *allow_of(const struct truth *truth,
                                            const struct truth_attempt *place)
{
    struct truth_attempts *all = (struct truth_attempts *)(uintptr_t)&truth->attempts;
    struct truth_attempt *one;
    const struct truth_attempt *newest = NULL;
    RB_FOREACH (one, truth_attempts, all)
        if (one->allow && one->job == place->job && one->stage == place->stage &&
            one->task == place->task)
            newest = one;
    return newest;
}

/* Other decisions of the step may change its levels. */
static int take_start(struct truth *truth, const char *record)
{
    struct truth_attempt *attempt, place = {0};
    uint64_t number, allow;
    if (!field(record, "attempt", &number) || !field(record, "allow", &allow) ||
        !read_place(record, &place))
        return -EINVAL;
    if (add_attempt(truth, number, &attempt) < 0)
        return -ENOMEM;
    const struct truth_attempt *used = allow ? find_attempt(truth, allow) : allow_of(truth, &place);
    attempt->framework = true;
    attempt->job = place.job;
    attempt->stage = place.stage;
    attempt->task = place.task;
    if (attempt->n_levels || !used || !used->n_levels || find_source(truth, place.job, place.stage))
        return 0;
    struct truth_levels levels = used->levels[used->n_levels - 1];
    return add_levels(attempt, &levels);
}

static int take_mode(struct truth *truth, const char *record)
{
    uint64_t mode;
    if (!field(record, "mode", &mode) || mode > 1)
        return -EINVAL;
    struct truth_mode *grown = reallocarray(truth->modes, truth->n_modes + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    truth->modes = grown;
    grown[truth->n_modes++] = (struct truth_mode){truth->now_ns, (unsigned)mode};
    return 0;
}

static int take_end(struct truth *truth, const char *record)
{
    uint64_t number;
    if (!field(record, "attempt", &number))
        return -EINVAL;
    struct truth_attempt *attempt = find_attempt(truth, number);
    if (attempt)
        attempt->ended_ns = truth->now_ns;
    return 0;
}

static int take_step(struct truth *truth, const char *words)
{
    uint64_t now_ns;
    if (number_read(words + strspn(words, " "), 0, INT64_MAX, &now_ns) < 0)
        return -EINVAL;
    truth->now_ns = (int64_t)now_ns;
    return 0;
}

int truth_recording_line(struct truth *truth, const char *line, struct err *err)
{
    static const struct {
        const char *begin;
        int (*take)(struct truth *truth, const char *words);
    } kinds[] = {{"step ", take_step},
                 {"d start ", take_levels},
                 {"d allow ", take_allow},
                 {"e framework_stage ", take_stage},
                 {"e framework_started ", take_start},
                 {"e framework_done ", take_end},
                 {"d level ", take_levels},
                 {"d mode ", take_mode},
                 {"e attempt_done ", take_end},
                 {"e attempt_failed ", take_end},
                 {"e attempt_killed ", take_end},
                 {"e attempt_lost ", take_end}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t length = strlen(kinds[i].begin);
        if (strncmp(line, kinds[i].begin, length) != 0)
            continue;
        int r = kinds[i].take(truth, line + length - 1);
        if (r == -EINVAL)
            return err_set(err, EINVAL, "\"%.100s\" lacks a field", line);
        return r < 0 ? err_sys(err, -r, "the recording's attempts") : 0;
    }
    return 0;
}

static int add_connection(struct truth *truth, const struct truth_connection *connection)
{
    if (!array_grow(truth->connections, truth->n_connections, truth->connections_allocated, 1024))
        return -ENOMEM;
    truth->connections[truth->n_connections++] = *connection;
    return 0;
}

static bool same_ends(const struct truth_connection *a, const struct truth_connection *b)
{
    return memcmp(&a->task, &b->task, sizeof(a->task)) == 0 &&
           memcmp(&a->peer, &b->peer, sizeof(a->peer)) == 0;
}

/* A file's lines come together, so the one that is closed is among the last. */
static bool close_connection(struct truth *truth, const struct truth_connection *closed)
{
    for (size_t i = truth->n_connections; i > 0; i--) {
        struct truth_connection *c = &truth->connections[i - 1];
        if (c->number != closed->number)
            return false;
        if (c->closed_ns != INT64_MAX || !same_ends(c, closed))
            continue;
        c->closed_ns = closed->closed_ns;
        return true;
    }
    return false;
}

int truth_ports_line(struct truth *truth, uint64_t attempt, const char *line, struct err *err)
{
    char what[8], task[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];
    struct truth_connection c;
    int64_t time_ns;
    memset(&c, 0, sizeof(c));
    c.number = attempt;
    if (sscanf(line, "%7s %45s %" SCNu16 " %45s %" SCNu16 " %" SCNd64, what, task, &c.task.port,
               peer, &c.peer.port, &time_ns) != 6 ||
        !packet_address(task, &c.task.address) || !packet_address(peer, &c.peer.address))
        return err_set(err, EINVAL, "\"%.100s\" is no line of a ports file", line);
    c.opened_ns = time_ns;
    c.closed_ns = INT64_MAX;
    if (strcmp(what, "connect") == 0 || strcmp(what, "first") == 0)
        return 0;
    if (strcmp(what, "open") == 0)
        return add_connection(truth, &c) < 0 ? err_sys(err, ENOMEM, "connections") : 0;
    c.closed_ns = time_ns;
    if (strcmp(what, "close") == 0 && close_connection(truth, &c))
        return 0;
    return err_set(err, EINVAL, "\"%.100s\" closes what was not opened", line);
}

static int by_ends(const void *a, const void *b)
{
    const struct truth_connection *x = a, *y = b;
    int order = memcmp(&x->task, &y->task, sizeof(x->task));
    if (order == 0)
        order = memcmp(&x->peer, &y->peer, sizeof(x->peer));
    return order ? order : (x->opened_ns > y->opened_ns) - (x->opened_ns < y->opened_ns);
}

void truth_finish(struct truth *truth)
{
    if (truth->n_connections)
        qsort(truth->connections, truth->n_connections, sizeof(*truth->connections), by_ends);
    for (size_t i = 0; i < truth->n_connections; i++)
        truth->connections[i].attempt = find_attempt(truth, truth->connections[i].number);
}

/* The last connection of these ends that was opened not after `time_ns`. */
static const struct truth_connection *last_opened(const struct truth *truth,
                                                  const struct packet_end *task,
                                                  const struct packet_end *peer, int64_t time_ns)
{
    struct truth_connection key;
    size_t low = 0, high = truth->n_connections;
    memset(&key, 0, sizeof(key));
    memcpy(&key.task, task, sizeof(*task));
    memcpy(&key.peer, peer, sizeof(*peer));
    key.opened_ns = time_ns;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_ends(&truth->connections[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct truth_connection *found = low ? &truth->connections[low - 1] : NULL;
    return found && same_ends(found, &key) ? found : NULL;
}

static const struct truth_connection *connection_of(const struct truth *truth,
                                                    const struct packet_end *task,
                                                    const struct packet_end *peer, int64_t time_ns,
                                                    int64_t grace_ns)
{
    const struct truth_connection *c = last_opened(truth, task, peer, time_ns);
    if (c && (c->closed_ns == INT64_MAX || time_ns - c->closed_ns <= grace_ns))
        return c;
    /* Its first packets are a little older than the task's own line. */
    c = last_opened(truth, task, peer, time_ns + OPEN_GRACE_NS);
    return c && c->opened_ns >= time_ns ? c : NULL;
}

const struct truth_connection *truth_connection(const struct truth *truth,
                                                const struct packet_key *key, int64_t time_ns,
                                                int64_t grace_ns)
{
    const struct truth_connection *c =
        connection_of(truth, &key->to, &key->from, time_ns, grace_ns);
    return c ? c : connection_of(truth, &key->from, &key->to, time_ns, grace_ns);
}

const struct truth_connection *truth_before(const struct truth *truth,
                                            const struct truth_connection *connection)
{
    return connection > truth->connections && same_ends(connection - 1, connection) ? connection - 1
                                                                                    : NULL;
}

static const struct truth_mode *mode_at(const struct truth *truth, int64_t time_ns)
{
    size_t low = 0, high = truth->n_modes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (truth->modes[middle].since_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &truth->modes[low - 1] : NULL;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

uint64_t truth_level(const struct truth *truth, const struct truth_attempt *attempt,
                     int64_t time_ns, int64_t *ret_since_ns)
{
    const struct truth_mode *mode = mode_at(truth, time_ns);
    size_t i = attempt->n_levels - 1;
    while (i > 0 && attempt->levels[i].since_ns > time_ns)
        i--;
    int64_t since_ns = i > 0 ? attempt->levels[i].since_ns : INT64_MIN;
    if (mode && mode->since_ns > since_ns)
        since_ns = mode->since_ns;
    *ret_since_ns = since_ns;
    return attempt->levels[i].level[mode ? mode->mode : 0];
}

/* The same for the attempt's levels number `i`, in each mode that overlapped with them. */
static int64_t levels_last_in_force(const struct truth *truth, const struct truth_attempt *attempt,
                                    size_t i, uint8_t dscp, int64_t time_ns)
{
    const struct truth_levels *levels = &attempt->levels[i];
    int64_t begin_ns = i > 0 ? levels->since_ns : INT64_MIN;
    int64_t end_ns = i + 1 < attempt->n_levels ? least(levels[1].since_ns, time_ns) : time_ns;
    for (size_t k = truth->n_modes + 1; k > 0; k--) {
        const struct truth_mode *mode = k > 1 ? &truth->modes[k - 2] : NULL;
        int64_t until_ns =
            k > truth->n_modes ? end_ns : least(truth->modes[k - 1].since_ns, end_ns);
        if (until_ns < begin_ns)
            break;
        if ((!mode || mode->since_ns <= until_ns) &&
            truth_dscp(levels->level[mode ? mode->mode : 0]) == dscp)
            return until_ns;
    }
    return INT64_MIN;
}

int64_t truth_last_in_force(const struct truth *truth, const struct truth_attempt *attempt,
                            uint8_t dscp, int64_t time_ns)
{
    int64_t last_ns = INT64_MIN;
    for (size_t i = attempt->n_levels; i > 0 && last_ns == INT64_MIN; i--)
        if (i == 1 || attempt->levels[i - 1].since_ns <= time_ns)
            last_ns = levels_last_in_force(truth, attempt, i - 1, dscp, time_ns);
    return last_ns;
}

uint8_t truth_dscp(uint64_t level)
{
    return (uint8_t)(4 * level + 3);
}
