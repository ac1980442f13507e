#include "hostagent/marks/mark_nft_state.h"
#include "lib/now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECENT_MS 1000
#define PORTS     8 /* bytes at the end of a connection's key: both ports, each filled up to 4 */

static int read_received_in(struct mark *mark, const char *set, struct err *err)
{
    struct nft_element *found;
    uint32_t n;
    int r = nft_elements(mark->nft, mark_nft_state(mark), set, &found, &n, err);
    if (r < 0)
        return r;
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        const uint64_t headers = mark_nft_header_bytes(&found[i]) * found[i].packets;
        uint64_t cgroup;
        memcpy(&cgroup, found[i].key, sizeof(cgroup));
        struct task *task = mark_nft_make_task(&mark->received, cgroup);
        if (task)
            task->bytes += found[i].bytes > headers ? found[i].bytes - headers : 0;
        r = task ? 0 : err_sys(err, ENOMEM, "tasks");
    }
    free(found);
    return r;
}

int mark_nft_read_received(struct mark *mark, struct err *err)
{
    mark_nft_forget_tasks(&mark->received);
    int r = read_received_in(mark, MARK_NFT_RECEIVED_TCP, err);
    if (r >= 0)
        r = read_received_in(mark, MARK_NFT_RECEIVED_UDP, err);
    mark->received_ns = r < 0 ? 0 : now_ns(CLOCK_MONOTONIC);
    return r;
}

/* A cgroup's counts are several: by what headers its packets had. */
static int drop_received_in(struct mark *mark, const char *set, uint64_t cgroup, struct err *err)
{
    struct nft_element *found;
    uint32_t n;
    int r = nft_elements(mark->nft, mark_nft_state(mark), set, &found, &n, err);
    if (r < 0)
        return r;
    nft_begin(mark->nft);
    for (uint32_t i = 0; i < n; i++)
        if (memcmp(found[i].key, &cgroup, sizeof(cgroup)) == 0)
            nft_element_delete(mark->nft, mark_nft_state(mark), set, &found[i]);
    free(found);
    mark->received_ns = 0;
    return nft_commit(mark->nft, "forgetting the bytes of a task", err);
}

int mark_nft_drop_received(struct mark *mark, uint64_t cgroup, struct err *err)
{
    int r = drop_received_in(mark, MARK_NFT_RECEIVED_TCP, cgroup, err);
    return r < 0 ? r : drop_received_in(mark, MARK_NFT_RECEIVED_UDP, cgroup, err);
}

static int count_bytes(struct mark *mark, struct mark_stats *stats, struct err *err)
{
    struct nft_counter counters[MARK_NFT_COUNTERS];
    uint32_t n;
    int r = nft_counters(mark->nft, mark_nft_state(mark), counters, MARK_NFT_COUNTERS, &n, err);
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        uint64_t link = mark->config->is_switch ? 0 : 14 * counters[i].packets;
        for (uint32_t level = 0; level < MARK_LEVELS; level++)
            if (strcmp(counters[i].name, mark_nft_counter(level)) == 0)
                stats->marked_bytes[level] = counters[i].bytes + link;
        if (strcmp(counters[i].name, mark_nft_counter(MARK_COUNT_UNMARKED)) == 0)
            stats->unmarked_bytes = counters[i].bytes + link;
        if (strcmp(counters[i].name, mark_nft_counter(MARK_COUNT_CONTROL)) == 0)
            stats->control_bytes = counters[i].bytes + link;
        if (strcmp(counters[i].name, mark_nft_counter(MARK_COUNT_BLEACHED)) == 0)
            stats->bleached_packets = counters[i].packets;
    }
    return r;
}

static bool is_served(const struct mark_nft_remains *remains, const uint8_t port[2])
{
    for (uint32_t i = 0; i < remains->n[SERVED]; i++)
        if (memcmp(remains->elements[SERVED][i].key, port, 2) == 0)
            return true;
    return false;
}

static bool is_recent(const struct nft_element *element)
{
    return element->left_ms + RECENT_MS > MARK_NFT_SILENT_MS;
}

static void count_flow(const struct mark_nft_remains *remains, const struct nft_element *element,
                       struct mark_stats *stats)
{
    stats->flows++;
    stats->followed_flows += is_served(remains, element->key + element->key_bytes - PORTS);
}

/* A connection is counted once, even if it is among both senders and receivers. */
static void count_flows(const struct mark_nft_remains *remains, struct mark_stats *stats)
{
    struct single *seen = NULL;
    for (int set = SENDERS4; set <= RECEIVERS6; set++) {
        for (uint32_t i = 0; i < remains->n[set]; i++) {
            const struct nft_element *element = &remains->elements[set][i];
            struct single *known;
            if (element->key_bytes < PORTS)
                continue; /* nobody of ours put it there */
            *(set <= SENDERS6 ? &stats->senders : &stats->receivers) += is_recent(element);
            HASH_FIND(hh, seen, element->key, NFT_KEY, known);
            if (!known && mark_nft_make_single(&seen, element->key))
                count_flow(remains, element, stats);
        }
    }
    mark_nft_forget_singles(&seen);
}

int mark_nft_read_stats(struct mark *mark, struct mark_stats *stats, struct err *err)
{
    struct mark_nft_remains remains = {0};
    int r = count_bytes(mark, stats, err);
    for (int i = 0; r >= 0 && i < RECEIVED_TCP; i++)
        r = nft_elements(mark->nft, mark_nft_state(mark), mark_nft_lively[i], &remains.elements[i],
                         &remains.n[i], err);
    if (r >= 0)
        count_flows(&remains, stats);
    mark_nft_remains_done(&remains);
    return r;
}
