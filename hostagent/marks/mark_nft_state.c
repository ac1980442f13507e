#include "hostagent/marks/mark_nft_state.h"

#include "hostagent/marks/listening_nl.h"
#include "lib/now.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE    (NFT_NAME + 64)
#define COMMENT "of a running duopoly-agent, which makes it: need not be saved"

const char *const mark_nft_lively[LIVELY] = {
    MARK_NFT_SERVED,        MARK_NFT_SENDERS "4",  MARK_NFT_SENDERS "6",  MARK_NFT_RECEIVERS "4",
    MARK_NFT_RECEIVERS "6", MARK_NFT_RECEIVED_TCP, MARK_NFT_RECEIVED_UDP,
};

const struct nft_table *mark_nft_state(const struct mark *mark)
{
    return &mark->wish.tables[0];
}

void mark_nft_note(const struct mark_config *config, char path[FILES_PATH])
{
    files_path(path, "%s/nftables", config->state_dir);
}

void mark_nft_forget_task(struct task **tasks, struct task *task)
{
    HASH_DEL(*tasks, task);
    free(task->path);
    free(task);
}

void mark_nft_forget_tasks(struct task **tasks)
{
    struct task *task, *next;
    HASH_ITER (hh, *tasks, task, next)
        mark_nft_forget_task(tasks, task);
}

void mark_nft_forget_singles(struct single **singles)
{
    struct single *single, *next;
    HASH_ITER (hh, *singles, single, next) {
        HASH_DEL(*singles, single);
        free(single);
    }
}

struct task *mark_nft_find_task(struct task *tasks, uint64_t cgroup)
{
    struct task *task;
    HASH_FIND(hh, tasks, &cgroup, sizeof(cgroup), task);
    return task;
}

struct task *mark_nft_make_task(struct task **tasks, uint64_t cgroup)
{
    struct task *task = mark_nft_find_task(*tasks, cgroup);
    if (task)
        return task;
    task = calloc(1, sizeof(*task));
    if (!task)
        return NULL;
    task->cgroup = cgroup;
    HASH_ADD(hh, *tasks, cgroup, sizeof(task->cgroup), task);
    return task;
}

struct single *mark_nft_make_single(struct single **singles, const uint8_t key[NFT_KEY])
{
    struct single *single;
    HASH_FIND(hh, *singles, key, NFT_KEY, single);
    if (single)
        return single;
    single = calloc(1, sizeof(*single));
    if (!single)
        return NULL;
    memcpy(single->key, key, NFT_KEY);
    HASH_ADD(hh, *singles, key, NFT_KEY, single);
    return single;
}

void mark_nft_forget_single(struct single **singles, struct single *single)
{
    HASH_DEL(*singles, single);
    free(single);
}

void mark_nft_remains_done(struct mark_nft_remains *remains)
{
    for (int i = 0; i < LIVELY; i++)
        free(remains->elements[i]);
}

static void fresh_counters(struct mark_nft_remains *remains)
{
    remains->counters_n = MARK_NFT_COUNTERS;
    for (uint32_t i = 0; i < MARK_NFT_COUNTERS; i++) {
        remains->counters[i] = (struct nft_counter){0};
        snprintf(remains->counters[i].name, NFT_NAME, "%s", mark_nft_counter(i));
    }
}

/* Ports that have a listener already. */
static int find_served(struct mark_nft_remains *remains, struct err *err)
{
    uint16_t *ports;
    uint32_t n;
    int r = listening_ports(&ports, &n, err);
    if (r < 0)
        return r;
    remains->elements[SERVED] = calloc(n ? n : 1, sizeof(*remains->elements[SERVED]));
    for (uint32_t i = 0; remains->elements[SERVED] && i < n; i++) {
        remains->elements[SERVED][i].key_bytes = sizeof(ports[i]);
        memcpy(remains->elements[SERVED][i].key, &ports[i], sizeof(ports[i]));
        remains->n[SERVED] = i + 1;
    }
    free(ports);
    return remains->elements[SERVED] ? 0 : err_sys(err, ENOMEM, "ports");
}

static int read_remains(struct mark *mark, bool stands, struct mark_nft_remains *remains,
                        struct err *err)
{
    if (!stands) {
        fresh_counters(remains);
        return mark->config->is_switch ? 0 : find_served(remains, err);
    }
    int r = nft_counters(mark->nft, mark_nft_state(mark), remains->counters, MARK_NFT_COUNTERS,
                         &remains->counters_n, err);
    for (int i = 0; r >= 0 && i < LIVELY; i++)
        r = nft_elements_of(mark->nft, mark_nft_state(mark), mark_nft_lively[i],
                            &remains->elements[i], &remains->n[i], err);
    return r;
}

/* Milliseconds, 0: it is over. */
uint64_t mark_nft_lease_left(const struct mark *mark)
{
    uint64_t now = now_ns(CLOCK_BOOTTIME);
    return mark->expiry_ns > now ? (mark->expiry_ns - now + 999999) / 1000000 : 0;
}

static void add_state(struct mark *mark, const struct mark_nft_remains *remains)
{
    const struct nft_table *table = mark_nft_state(mark);
    for (struct task *task = mark->tasks; task; task = task->hh.next)
        if (!task->gone)
            mark_nft_put_task(mark->nft, table, task->cgroup, task->word, false);
    for (struct single *single = mark->singles; single; single = single->hh.next)
        mark_nft_put_connection(mark->nft, table, single->key, single->word, false);
    mark_nft_mode(mark->nft, &mark->wish, mark->mode, false);
    mark_nft_lease(mark->nft, &mark->wish, mark_nft_lease_left(mark));
    for (int i = 0; i < LIVELY; i++) {
        const uint32_t most = mark->config->flows_max;
        bool bounded = i >= SENDERS4 && i <= RECEIVERS6;
        for (uint32_t j = 0; j < remains->n[i] && !(bounded && j == most); j++)
            nft_element_add(mark->nft, table, mark_nft_lively[i], &remains->elements[i][j],
                            NFT_PLAIN);
    }
}

static int read_prints(struct mark *mark, struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < mark->wish.tables_n; i++)
        r = nft_table_print(mark->nft, &mark->wish.tables[i], &mark->prints[i], err);
    return r;
}

/* The note: our tables' name and, once they exist, what they were made of and became. */
static int write_note(struct mark *mark, struct err *err)
{
    char path[FILES_PATH], text[NOTE];
    mark_nft_note(mark->config, path);
    int n = snprintf(text, sizeof(text), "%s %" PRIx64 " %" PRIx64 " %" PRIx64,
                     mark_nft_state(mark)->name, mark->shape, mark->prints[0], mark->prints[1]);
    return files_write(path, text, (size_t)n, 0600, err);
}

static bool stand_as_noted(struct mark *mark, uint64_t shape)
{
    uint64_t prints[MARK_NFT_FAMILIES] = {0};
    bool same = mark->shape == shape;
    for (uint32_t i = 0; same && i < mark->wish.tables_n; i++)
        same = nft_table_print(mark->nft, &mark->wish.tables[i], &prints[i], NULL) >= 0 &&
               prints[i] == mark->prints[i];
    return same;
}

static void add_tables(struct mark *mark, const bool *stands,
                       const struct mark_nft_remains *remains)
{
    for (uint32_t i = 0; i < mark->wish.tables_n; i++) {
        if (stands[i])
            nft_table_delete(mark->nft, &mark->wish.tables[i]);
        nft_table_add(mark->nft, &mark->wish.tables[i], COMMENT);
    }
    for (uint32_t i = 0; i < remains->counters_n; i++)
        nft_counter_add(mark->nft, mark_nft_state(mark), &remains->counters[i]);
}

/* Begins the transaction that makes them; what the rules come to. */
static uint64_t begin_tables(struct mark *mark, const bool *stands,
                             const struct mark_nft_remains *remains)
{
    nft_begin(mark->nft);
    add_tables(mark, stands, remains);
    nft_shape(mark->nft);
    mark_nft_rules(mark->nft, &mark->wish);
    return nft_shape(mark->nft);
}

static int write_over(struct mark *mark, const bool *stands, const struct mark_nft_remains *remains,
                      bool anyway, struct err *err)
{
    uint64_t shape = begin_tables(mark, stands, remains);
    if (!anyway && stands[0] && stand_as_noted(mark, shape)) {
        nft_abort(mark->nft);
        return 0;
    }
    add_state(mark, remains);
    int r = nft_commit(mark->nft, "making the table of marks", err);
    if (r >= 0)
        r = read_prints(mark, err);
    mark->shape = shape;
    return r < 0 ? r : write_note(mark, err);
}

static int look(struct mark *mark, bool stands[MARK_NFT_FAMILIES], struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < mark->wish.tables_n; i++) {
        r = nft_table_stands(mark->nft, &mark->wish.tables[i], err);
        stands[i] = r == 1;
    }
    mark->wish.single = mark->singles != NULL;
    return r;
}

int mark_nft_plan(struct mark *mark, struct changes *changes, struct err *err)
{
    struct mark_nft_remains remains = {0};
    bool stands[MARK_NFT_FAMILIES] = {false}, same = false;
    int r = look(mark, stands, err);
    if (r >= 0)
        r = read_remains(mark, stands[0], &remains, err);
    if (r >= 0)
        same = stand_as_noted(mark, begin_tables(mark, stands, &remains)) && stands[0];
    nft_abort(mark->nft);
    mark_nft_remains_done(&remains);
    for (uint32_t i = 0; r >= 0 && !same && i < mark->wish.tables_n; i++)
        r = changes_tell(changes, stands[i] ? CHANGE_CHANGE : CHANGE_ADD, "table",
                         mark->wish.tables[i].name, err, "rules and sets of nftables that mark");
    return r;
}

/* Writes tables, rules and state as they should be, instead of the present ones; unless `anyway`
 * these are kept if a former agent made the very same. */
int mark_nft_write(struct mark *mark, bool anyway, struct err *err)
{
    struct mark_nft_remains remains = {0};
    bool stands[MARK_NFT_FAMILIES] = {false};
    int r = look(mark, stands, err);
    if (r >= 0)
        r = read_remains(mark, stands[0], &remains, err);
    if (r >= 0)
        r = write_over(mark, stands, &remains, anyway, err);
    mark_nft_remains_done(&remains);
    return r;
}

static void take_level(uint64_t *word, uint32_t mode, uint8_t level)
{
    *word = (*word & ~(0xffull << 8 * mode)) | (uint64_t)level << 8 * mode;
}

static uint64_t *word_of(struct mark *mark, enum mark_nft_kind kind, const uint8_t *key)
{
    uint64_t cgroup;
    memcpy(&cgroup, key, sizeof(cgroup));
    struct task *task = kind == MARK_NFT_TASKS ? mark_nft_make_task(&mark->tasks, cgroup) : NULL;
    struct single *single =
        kind == MARK_NFT_TASKS ? NULL : mark_nft_make_single(&mark->singles, key);
    return task ? &task->word : single ? &single->word : NULL;
}

static int take_levels(struct mark *mark, enum mark_nft_kind kind, uint32_t mode, struct err *err)
{
    struct nft_element *found;
    uint32_t n;
    int r = mark_nft_levels(mark->nft, mark_nft_state(mark), kind, mode, &found, &n, err);
    if (r < 0)
        return r;
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        uint64_t *word = word_of(mark, kind, found[i].key);
        if (word)
            take_level(word, mode, mark_nft_level(&found[i]));
        r = word ? 0 : err_sys(err, ENOMEM, "levels");
    }
    free(found);
    return r;
}

/* Takes over what a former agent left, if the table exists. */
int mark_nft_take_over(struct mark *mark, struct err *err)
{
    uint64_t lease_ms = 0;
    int r = nft_table_stands(mark->nft, mark_nft_state(mark), err);
    if (r <= 0)
        return r;
    for (int i = 0; r >= 0 && i < 2 * MARK_NFT_KINDS; i++)
        r = take_levels(mark, (enum mark_nft_kind)(i / 2), (uint32_t)i % 2, err);
    if (r >= 0)
        r = mark_nft_read_mode(mark->nft, mark_nft_state(mark), &mark->mode, err);
    if (r >= 0)
        r = mark_nft_read_lease(mark->nft, mark_nft_state(mark), &lease_ms, err);
    if (r >= 0 && lease_ms)
        mark->expiry_ns = now_ns(CLOCK_BOOTTIME) + lease_ms * 1000000;
    return r;
}

bool mark_nft_read_note(const struct mark_config *config, char name[NFT_NAME], uint64_t *ret_shape,
                        uint64_t ret_prints[MARK_NFT_FAMILIES])
{
    char path[FILES_PATH], text[NOTE];
    mark_nft_note(config, path);
    return files_read(path, text, sizeof(text), NULL, NULL) >= 0 &&
           sscanf(text, "%63s %" SCNx64 " %" SCNx64 " %" SCNx64, name, ret_shape, &ret_prints[0],
                  &ret_prints[1]) == 4;
}

int mark_nft_find_name(struct mark *mark, struct err *err)
{
    const struct mark_config *config = mark->config;
    char name[NFT_NAME];
    bool noted = mark_nft_read_note(config, name, &mark->shape, mark->prints);
    if (!noted)
        snprintf(name, sizeof(name), "duopoly-%s", config->ports_n ? config->ports[0] : "none");
    mark_nft_tables(name, config->is_switch, &mark->wish);
    for (uint32_t i = 0; !noted && i < mark->wish.tables_n; i++) {
        int r = nft_table_stands(mark->nft, &mark->wish.tables[i], err);
        if (r < 0)
            return r;
        if (r == 1)
            return err_set(err, EEXIST,
                           "there is a table %s in nftables already, and it is not this agent's: "
                           "end the agent that made it with its --restore, or delete it",
                           name);
    }
    return noted;
}

int mark_nft_name_tables(struct mark *mark, struct err *err)
{
    int r = mark_nft_find_name(mark, err);
    return r ? (r < 0 ? r : 0) : write_note(mark, err);
}
