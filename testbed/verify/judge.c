#include "testbed/verify/judge.h"

#include "lib/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLOWING_NS      100000000
#define LEAST_GRACE_NS  500000000
#define UNLIMITED_GRACE INT64_MAX

static const int64_t age_limits_ns[JUDGE_AGES] = {20000000, 100000000, 500000000, INT64_MAX};

static int64_t close_grace_ns(const struct judge_windows *windows)
{
    return windows->change_ns > LEAST_GRACE_NS ? windows->change_ns : LEAST_GRACE_NS;
}

static void count_age(struct verdict *verdict, const struct packet *packet, int64_t age_ns)
{
    unsigned i = 0;
    while (age_ns > age_limits_ns[i])
        i++;
    verdict->ages[i]++;
    verdict->in_window++;
    verdict->window_bytes += packet->payload_bytes;
}

/* Until when a mark was in force, and for whom. */
struct judge_old {
    enum judge_whose whose;
    int64_t until_ns;
};

static struct judge_example *find_example(struct verdict *verdict, uint64_t attempt, uint8_t dscp)
{
    for (unsigned i = 0; i < verdict->n_examples; i++) {
        struct judge_example *example = &verdict->examples[i];
        if (example->dscp == dscp && example->connection->number == attempt)
            return example;
    }
    return NULL;
}

static void count_wrong(struct verdict *verdict, const struct packet_key *key,
                        const struct packet *packet, const struct truth_connection *connection,
                        uint8_t expected, const struct judge_old *old)
{
    struct judge_example *example = find_example(verdict, connection->number, packet->dscp);
    verdict->wrong++;
    verdict->wrong_bytes += packet->payload_bytes;
    if (!example && verdict->n_examples == JUDGE_EXAMPLES) {
        verdict->wrong_others++;
        return;
    }
    if (!example) {
        example = &verdict->examples[verdict->n_examples++];
        memcpy(&example->key, key, sizeof(*key));
        example->first_ns = packet->time_ns;
        example->connection = connection;
        example->dscp = packet->dscp;
        example->expected = expected;
        example->whose = old->whose;
    }
    if (old->whose != JUDGE_NOBODYS && packet->time_ns - old->until_ns > example->longest_ns)
        example->longest_ns = packet->time_ns - old->until_ns;
    example->last_ns = packet->time_ns;
    example->n++;
    example->bytes += packet->payload_bytes;
}

static void count_unattributed(const struct truth *truth, const struct packet_key *key,
                               const struct packet *packet, struct verdict *verdict)
{
    verdict->unattributed++;
    if (verdict->n_strays == JUDGE_STRAYS)
        return;
    struct judge_stray *stray = &verdict->strays[verdict->n_strays++];
    memcpy(&stray->key, key, sizeof(*key));
    stray->packet = *packet;
    stray->last = truth_connection(truth, key, packet->time_ns, UNLIMITED_GRACE);
}

static bool has_levels(const struct truth_connection *connection)
{
    return connection && connection->attempt && connection->attempt->n_levels > 0;
}

/* Whose a packet's mark was: its attempt's, or that of the one that had the connection before. */
static struct judge_old old_mark(const struct truth *truth,
                                 const struct truth_connection *connection,
                                 const struct packet *packet)
{
    const struct truth_attempt *attempt = connection->attempt;
    int64_t until_ns = truth_last_in_force(truth, attempt, packet->dscp, packet->time_ns);
    if (until_ns != INT64_MIN)
        return (struct judge_old){JUDGE_ITS_OWN, until_ns};
    if (!attempt->framework)
        return (struct judge_old){JUDGE_NOBODYS, INT64_MIN};
    const struct truth_connection *before = truth_before(truth, connection);
    until_ns = has_levels(before) ? truth_last_in_force(truth, before->attempt, packet->dscp,
                                                        connection->opened_ns)
                                  : connection->opened_ns;
    return (struct judge_old){until_ns != INT64_MIN ? JUDGE_OF_BEFORE : JUDGE_NOBODYS, until_ns};
}

static void judge_other(const struct packet_key *key, const struct packet *packet,
                        const struct truth_connection *connection, uint8_t expected,
                        const struct judge_old *old, const struct judge_windows *windows,
                        struct verdict *verdict)
{
    int64_t age_ns = old->whose == JUDGE_NOBODYS ? 0 : packet->time_ns - old->until_ns;
    if (old->whose == JUDGE_ITS_OWN && age_ns <= windows->change_ns)
        count_age(verdict, packet, age_ns);
    else if (old->whose == JUDGE_OF_BEFORE && age_ns <= windows->begin_ns) {
        verdict->of_begin++;
        verdict->begin_bytes += packet->payload_bytes;
    } else
        count_wrong(verdict, key, packet, connection, expected, old);
}

/* Whether its mark was right when it was sent, before it waited for `waited_ns`. */
static bool was_right(const struct truth *truth, const struct packet_key *key,
                      const struct packet *packet, int64_t waited_ns)
{
    const int64_t sent_ns = packet->time_ns - waited_ns;
    const struct truth_connection *connection = truth_connection(truth, key, sent_ns, 0);
    int64_t since_ns;
    return has_levels(connection) &&
           packet->dscp == truth_dscp(truth_level(truth, connection->attempt, sent_ns, &since_ns));
}

static void judge_packet(const struct truth *truth, const struct packets *packets,
                         const struct packet *packet, const struct judge_windows *windows,
                         struct verdict *verdict)
{
    const struct packet_key *key = &packets->flows[packet->flow]->key;
    const struct truth_connection *connection =
        truth_connection(truth, key, packet->time_ns, close_grace_ns(windows));
    int64_t since_ns;
    verdict->checked++;
    if (!has_levels(connection)) {
        if (connection && connection->attempt && connection->attempt->framework)
            verdict->unlevelled++;
        else
            count_unattributed(truth, key, packet, verdict);
        return;
    }
    uint8_t expected =
        truth_dscp(truth_level(truth, connection->attempt, packet->time_ns, &since_ns));
    if (packet->dscp == expected) {
        verdict->right++;
        verdict->right_bytes += packet->payload_bytes;
        return;
    }
    if (was_right(truth, key, packet, packet_waited(packets, packet))) {
        verdict->late++;
        verdict->late_bytes += packet->payload_bytes;
        return;
    }
    const struct judge_old old = old_mark(truth, connection, packet);
    judge_other(key, packet, connection, expected, &old, windows, verdict);
}

int judge_add_delay(struct judge_delays *delays, int64_t delay_ns)
{
    if (!array_grow(delays->at_ns, delays->n, delays->allocated, 256))
        return -ENOMEM;
    delays->at_ns[delays->n++] = delay_ns;
    return 0;
}

static int add_seen(struct verdict *verdict, const struct packet *packet, int64_t change_ns)
{
    if (!array_grow(verdict->seen, verdict->n_seen, verdict->seen_allocated, 256))
        return -ENOMEM;
    verdict->seen[verdict->n_seen++] =
        (struct judge_seen){packet->flow, change_ns, packet->time_ns};
    return 0;
}

static int add_change(struct verdict *verdict, bool flowing, bool promoted,
                      const struct packet *packet, int64_t change_ns)
{
    int64_t delay_ns = packet->time_ns - change_ns;
    if (!flowing)
        return judge_add_delay(&verdict->starved, delay_ns);
    if (add_seen(verdict, packet, change_ns) < 0)
        return -ENOMEM;
    int r = judge_add_delay(promoted ? &verdict->promoted : &verdict->demoted, delay_ns);
    return r < 0 ? r : judge_add_delay(&verdict->flowing, delay_ns);
}

/* A flow's packets in order of time, as a slice of an index. */
struct slice {
    const struct packets *packets;
    const uint32_t *at;
    size_t n;
};

static const struct packet *slice_packet(const struct slice *slice, size_t i)
{
    return &slice->packets->at[slice->at[i]];
}

/* The first one not before `time_ns`. */
static size_t slice_find(const struct slice *slice, int64_t time_ns)
{
    size_t low = 0, high = slice->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_packet(slice, middle)->time_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int judge_change(const struct truth *truth, const struct slice *slice,
                        const struct packet_key *key, const struct truth_mode *change,
                        int64_t next_ns, struct verdict *verdict)
{
    const struct truth_connection *c = truth_connection(truth, key, change->since_ns, 0);
    int64_t since_ns;
    if (!c || !c->attempt || c->attempt->n_levels == 0 || c->opened_ns > change->since_ns ||
        c->closed_ns <= change->since_ns || memcmp(&c->task, &key->to, sizeof(c->task)) != 0)
        return 0;
    uint64_t old = truth_level(truth, c->attempt, change->since_ns - 1, &since_ns);
    uint64_t new = truth_level(truth, c->attempt, change->since_ns, &since_ns);
    if (truth_dscp(old) == truth_dscp(new))
        return 0;
    size_t first = slice_find(slice, change->since_ns);
    size_t before = first - slice_find(slice, change->since_ns - FLOWING_NS);
    for (size_t i = first; i < slice->n && slice_packet(slice, i)->time_ns < next_ns; i++)
        if (slice_packet(slice, i)->dscp == truth_dscp(new))
            return add_change(verdict, before >= JUDGE_FLOWING_PACKETS, new < old,
                              slice_packet(slice, i), change->since_ns);
    verdict->unseen++;
    return 0;
}

static int judge_flow(const struct truth *truth, const struct slice *slice,
                      const struct packet_key *key, struct verdict *verdict)
{
    int64_t begin_ns = slice_packet(slice, 0)->time_ns,
            end_ns = slice_packet(slice, slice->n - 1)->time_ns;
    for (size_t i = 0; i < truth->n_modes; i++) {
        const struct truth_mode *change = &truth->modes[i];
        int64_t next_ns = i + 1 < truth->n_modes ? change[1].since_ns : INT64_MAX;
        if (change->since_ns < begin_ns || change->since_ns > end_ns)
            continue;
        if (judge_change(truth, slice, key, change, next_ns, verdict) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int by_flow_and_time(const void *a, const void *b, void *context)
{
    const struct packets *packets = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const struct packet *x = &packets->at[i], *y = &packets->at[j];
    if (x->flow != y->flow)
        return x->flow < y->flow ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return i < j ? -1 : i > j;
}

static int judge_flows(const struct truth *truth, const struct packets *packets,
                       struct verdict *verdict)
{
    int r = 0;
    uint32_t *order = reallocarray(NULL, packets->n + 1, sizeof(*order));
    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < packets->n; i++)
        order[i] = i;
    qsort_r(order, packets->n, sizeof(*order), by_flow_and_time, (void *)(uintptr_t)packets);
    for (size_t first = 0, end; r == 0 && first < packets->n; first = end) {
        uint32_t flow = packets->at[order[first]].flow;
        for (end = first + 1; end < packets->n && packets->at[order[end]].flow == flow;)
            end++;
        const struct slice slice = {packets, order + first, end - first};
        r = judge_flow(truth, &slice, &packets->flows[flow]->key, verdict);
    }
    free(order);
    return r;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void judge_sort_delays(struct judge_delays *delays)
{
    if (delays->n)
        qsort(delays->at_ns, delays->n, sizeof(*delays->at_ns), by_value);
}

int judge(const struct truth *truth, const struct packets *packets,
          const struct judge_windows *windows, struct verdict *ret_verdict, struct err *err)
{
    *ret_verdict = (struct verdict){.lost = packets->lost, .mode_changes = truth->n_modes};
    for (size_t i = 0; i < packets->n; i++)
        judge_packet(truth, packets, &packets->at[i], windows, ret_verdict);
    if (judge_flows(truth, packets, ret_verdict) < 0)
        return err_sys(err, ENOMEM, "judging the packets");
    judge_sort_delays(&ret_verdict->flowing);
    judge_sort_delays(&ret_verdict->promoted);
    judge_sort_delays(&ret_verdict->demoted);
    judge_sort_delays(&ret_verdict->starved);
    return 0;
}

bool verdict_is_good(const struct verdict *verdict)
{
    return verdict->checked > 0 && verdict->wrong == 0 && verdict->unattributed == 0;
}

void verdict_done(struct verdict *verdict)
{
    free(verdict->flowing.at_ns);
    free(verdict->promoted.at_ns);
    free(verdict->demoted.at_ns);
    free(verdict->starved.at_ns);
    free(verdict->seen);
    *verdict = (struct verdict){0};
}
