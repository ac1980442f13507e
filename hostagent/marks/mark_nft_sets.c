#include "hostagent/marks/mark_nft_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTION(address)                                                                        \
    NFT_TYPES(NFT_TYPES(NFT_TYPES((address), (address)), NFT_TYPE_SERVICE), NFT_TYPE_SERVICE)
#define KEY4 16 /* bytes of a connection's key where addresses are IPv4 */

const char *const mark_nft_modes[2] = {"coflow", "macroflow"};
const char *const mark_nft_maps[MARK_NFT_KINDS][2] = {{"task_coflow", "task_macroflow"},
                                                      {"coflow4_of", "macroflow4_of"},
                                                      {"coflow6_of", "macroflow6_of"}};
static const uint32_t key_bytes[MARK_NFT_KINDS] = {8, KEY4, NFT_KEY};
static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

uint32_t mark_nft_dscp(bool v6, uint8_t dscp, uint8_t ret_bytes[2])
{
    ret_bytes[0] = (uint8_t)(v6 ? dscp >> 2 : dscp << 2);
    ret_bytes[1] = (uint8_t)(v6 ? (dscp & 3) << 6 : 0);
    return v6 ? 2 : 1;
}

void mark_nft_key(const struct mark_flow_key *key, uint8_t ret_key[NFT_KEY])
{
    memset(ret_key, 0, NFT_KEY);
    memcpy(ret_key, key->local, 16);
    memcpy(ret_key + 16, key->peer, 16);
    memcpy(ret_key + 32, &key->local_port, 2);
    memcpy(ret_key + 36, &key->peer_port, 2);
}

/* As the sets of IPv4 have it. */
static enum mark_nft_kind shorten(const uint8_t key[NFT_KEY], uint8_t ret_key[NFT_KEY])
{
    memcpy(ret_key, key, NFT_KEY);
    if (memcmp(key, mapped, sizeof(mapped)) != 0)
        return MARK_NFT_CONNECTIONS6;
    memcpy(ret_key, key + 12, 4);
    memcpy(ret_key + 4, key + 28, 4);
    memcpy(ret_key + 8, key + 32, 8);
    return MARK_NFT_CONNECTIONS4;
}

static void lengthen(struct nft_element *element)
{
    uint8_t key[NFT_KEY] = {0};
    if (element->key_bytes != KEY4)
        return;
    memcpy(key, mapped, sizeof(mapped));
    memcpy(key + 12, element->key, 4);
    memcpy(key + 16, mapped, sizeof(mapped));
    memcpy(key + 28, element->key + 4, 4);
    memcpy(key + 32, element->key + 8, 8);
    memcpy(element->key, key, NFT_KEY);
    element->key_bytes = NFT_KEY;
}

/* `chain` NULL: of a plain set. */
static struct nft_element element_of(const void *key, uint32_t n, const char *chain)
{
    struct nft_element element = {.key_bytes = n};
    memcpy(element.key, key, n);
    if (chain)
        snprintf(element.chain, sizeof(element.chain), "%s", chain);
    return element;
}

static void add(struct nft *nft, const struct nft_table *table, const char *set, const void *key,
                uint32_t n, const char *chain)
{
    const struct nft_element element = element_of(key, n, chain);
    nft_element_add(nft, table, set, &element, chain ? NFT_VERDICTS : NFT_PLAIN);
}

static struct nft_element port_element(const char *port)
{
    char name[PORT_NAME] = "";
    snprintf(name, sizeof(name), "%s", port);
    return element_of(name, sizeof(name), NULL);
}

void mark_nft_port_set(struct nft *nft, const struct mark_nft_wish *wish,
                       const struct nft_table *table)
{
    const struct nft_set ports = {
        .name = "ports", .key_bytes = PORT_NAME, .key_type = NFT_TYPE_IFNAME};
    nft_set_add(nft, table, &ports);
    for (uint32_t i = 0; i < mark_ports(wish->config); i++) {
        const struct nft_element port = port_element(mark_port(wish->config, i));
        nft_element_add(nft, table, "ports", &port, NFT_PLAIN);
    }
}

void mark_nft_tunnel_sets(struct nft *nft, const struct mark_nft_wish *wish,
                          const struct nft_table *table, const char *carried)
{
    const struct nft_set tunnels = {
        .name = "tunnels", .key_bytes = PORT_NAME, .key_type = NFT_TYPE_IFNAME};
    const struct nft_set priorities = {
        .name = carried, .key_bytes = 4, .key_type = NFT_TYPE_CLASS, .values = NFT_VERDICTS};
    nft_set_add(nft, table, &tunnels);
    nft_set_add(nft, table, &priorities);
    for (uint32_t i = 0; i < wish->config->tunnels_n; i++) {
        const struct nft_element tunnel = port_element(wish->config->tunnels[i]);
        nft_element_add(nft, table, "tunnels", &tunnel, NFT_PLAIN);
    }
}

void mark_nft_carry(struct nft *nft, const struct nft_table *table, const char *carried,
                    uint32_t priority, const char *chain)
{
    add(nft, table, carried, &priority, sizeof(priority), chain);
}

void mark_nft_bare_set(struct nft *nft, const struct nft_table *table)
{
    static const struct nft_set sets[] = {
        {.name = "bare4",
         .key_bytes = 12,
         .parts = {{NFT_OF_NETWORK, 0, 8}, {NFT_OF_NETWORK, 16, 16}, {NFT_OF_TRANSPORT, 96, 8}},
         .parts_n = 3},
        {.name = "bare6",
         .key_bytes = 8,
         .parts = {{NFT_OF_NETWORK, 32, 16}, {NFT_OF_TRANSPORT, 96, 8}},
         .parts_n = 2}};
    nft_set_add(nft, table, &sets[0]);
    nft_set_add(nft, table, &sets[1]);
    for (uint8_t words = 5; words <= 15; words++) {
        uint8_t v4[12] = {[0] = 0x45, [5] = (uint8_t)(20 + 4 * words), [8] = (uint8_t)(words << 4)};
        uint8_t v6[8] = {[1] = (uint8_t)(4 * words), [4] = (uint8_t)(words << 4)};
        add(nft, table, "bare4", v4, sizeof(v4), NULL);
        add(nft, table, "bare6", v6, sizeof(v6), NULL);
    }
}

void mark_nft_arrived_set(struct nft *nft, const struct nft_table *table)
{
    const struct nft_set arrived = {
        .name = "arrived", .key_bytes = 4, .key_type = NFT_TYPE_MARK, .values = NFT_VERDICTS};
    nft_set_add(nft, table, &arrived);
    for (uint32_t level = 0; level < MARK_LEVELS; level++) {
        const uint32_t mark = (level + 1) << ARRIVED_SHIFT;
        add(nft, table, "arrived", &mark, sizeof(mark), mark_nft_counter(level));
    }
}

static void dscp_sets(struct nft *nft, const struct nft_table *table, bool v6,
                      const uint8_t dscp_of_level[MARK_LEVELS], const char *stem,
                      const char *target)
{
    char ours[NFT_NAME], by[NFT_NAME], chain[16];
    snprintf(ours, sizeof(ours), "ours%d", v6 ? 6 : 4);
    snprintf(by, sizeof(by), "%s%d", stem, v6 ? 6 : 4);
    const struct nft_set codes = {
        .name = ours,
        .key_bytes = v6 ? 2 : 1,
        .parts = {{NFT_OF_NETWORK, v6 ? 0 : 8, v6 ? 16 : 8}},
        .parts_n = 1,
    };
    struct nft_set ways = codes;
    ways.name = by;
    ways.values = NFT_VERDICTS;
    nft_set_add(nft, table, &codes);
    nft_set_add(nft, table, &ways);
    for (uint32_t level = 0; level < MARK_LEVELS; level++) {
        uint8_t bytes[2];
        uint32_t n = mark_nft_dscp(v6, dscp_of_level[level], bytes);
        snprintf(chain, sizeof(chain), "%s%u", target, level);
        add(nft, table, ours, bytes, n, NULL);
        add(nft, table, by, bytes, n, chain);
    }
}

void mark_nft_dscp_sets(struct nft *nft, const struct nft_table *table,
                        const uint8_t dscp_of_level[MARK_LEVELS], const char *stem,
                        const char *target)
{
    dscp_sets(nft, table, false, dscp_of_level, stem, target);
    dscp_sets(nft, table, true, dscp_of_level, stem, target);
}

static struct nft_set connection_set(const char *name, bool v6)
{
    return (struct nft_set){.name = name,
                            .key_bytes = v6 ? NFT_KEY : KEY4,
                            .key_type = CONNECTION(v6 ? NFT_TYPE_IP6 : NFT_TYPE_IP4)};
}

static void lively_sets(struct nft *nft, const struct nft_table *table, uint32_t flows_max)
{
    static const char *const names[] = {MARK_NFT_SENDERS "4", MARK_NFT_SENDERS "6",
                                        MARK_NFT_RECEIVERS "4", MARK_NFT_RECEIVERS "6"};
    static const struct nft_set received[] = {
        {.name = MARK_NFT_RECEIVED_TCP,
         .key_bytes = MARK_NFT_TCP_KEY,
         .parts = {{NFT_OF_CGROUP, 0, 0}, {NFT_OF_VERSION, 0, 0}, {NFT_OF_TRANSPORT, 96, 8}},
         .parts_n = 3,
         .packets_add = true,
         .elements_max = 16 * MARK_TASKS},
        {.name = MARK_NFT_RECEIVED_UDP,
         .key_bytes = 12,
         .parts = {{NFT_OF_CGROUP, 0, 0}, {NFT_OF_VERSION, 0, 0}},
         .parts_n = 2,
         .packets_add = true,
         .elements_max = 2 * MARK_TASKS}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct nft_set set = connection_set(names[i], i % 2);
        set.packets_add = set.expires = true;
        set.elements_max = flows_max;
        nft_set_add(nft, table, &set);
    }
    nft_set_add(nft, table, &received[0]);
    nft_set_add(nft, table, &received[1]);
}

void mark_nft_state_sets(struct nft *nft, const struct mark_nft_wish *wish)
{
    static const struct nft_set sets[] = {
        {.name = "lease", .key_bytes = PORT_NAME, .key_type = NFT_TYPE_IFNAME, .expires = true},
        {.name = "mode",
         .key_bytes = PORT_NAME,
         .key_type = NFT_TYPE_IFNAME,
         .values = NFT_VERDICTS},
        {.name = "tasks", .key_bytes = 8, .key_type = NFT_TYPE_CGROUP},
        {.name = MARK_NFT_SERVED,
         .key_bytes = 2,
         .key_type = NFT_TYPE_SERVICE,
         .packets_add = true,
         .elements_max = 65536}};
    const struct nft_table *table = &wish->tables[0];
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        nft_set_add(nft, table, &sets[i]);
    lively_sets(nft, table, wish->config->flows_max);
    for (int i = 0; i < MARK_NFT_KINDS * 2; i++) {
        const char *name = mark_nft_maps[i / 2][i % 2];
        struct nft_set map = connection_set(name, i / 2 == MARK_NFT_CONNECTIONS6);
        if (i / 2 == MARK_NFT_TASKS)
            map = (struct nft_set){.name = name, .key_bytes = 8, .key_type = NFT_TYPE_CGROUP};
        map.values = NFT_VERDICTS;
        nft_set_add(nft, table, &map);
    }
}

static void drop(struct nft *nft, const struct nft_table *table, enum mark_nft_kind kind,
                 const void *key)
{
    const struct nft_element element = element_of(key, key_bytes[kind], NULL);
    for (int mode = 0; mode < 2; mode++)
        nft_element_delete(nft, table, mark_nft_maps[kind][mode], &element);
}

static void put(struct nft *nft, const struct nft_table *table, enum mark_nft_kind kind,
                const void *key, uint64_t word)
{
    for (int mode = 0; mode < 2; mode++) {
        const uint8_t level = (uint8_t)(mode ? word >> 8 : word);
        add(nft, table, mark_nft_maps[kind][mode], key, key_bytes[kind],
            mark_nft_counter(level < MARK_LEVELS ? level : MARK_COUNT_UNMARKED));
    }
}

void mark_nft_drop_task(struct nft *nft, const struct nft_table *table, uint64_t cgroup)
{
    const struct nft_element element = element_of(&cgroup, sizeof(cgroup), NULL);
    drop(nft, table, MARK_NFT_TASKS, &cgroup);
    nft_element_delete(nft, table, "tasks", &element);
}

void mark_nft_put_task(struct nft *nft, const struct nft_table *table, uint64_t cgroup,
                       uint64_t word, bool stands)
{
    if (stands)
        mark_nft_drop_task(nft, table, cgroup);
    put(nft, table, MARK_NFT_TASKS, &cgroup, word);
    add(nft, table, "tasks", &cgroup, sizeof(cgroup), NULL);
}

void mark_nft_drop_connection(struct nft *nft, const struct nft_table *table,
                              const uint8_t key[NFT_KEY])
{
    uint8_t its[NFT_KEY];
    enum mark_nft_kind kind = shorten(key, its);
    drop(nft, table, kind, its);
}

void mark_nft_put_connection(struct nft *nft, const struct nft_table *table,
                             const uint8_t key[NFT_KEY], uint64_t word, bool stands)
{
    uint8_t its[NFT_KEY];
    enum mark_nft_kind kind = shorten(key, its);
    if (stands)
        drop(nft, table, kind, its);
    put(nft, table, kind, its, word);
}

void mark_nft_mode(struct nft *nft, const struct mark_nft_wish *wish, uint32_t mode, bool stands)
{
    if (stands)
        nft_set_flush(nft, &wish->tables[0], "mode");
    for (uint32_t i = 0; i < mark_ports(wish->config); i++) {
        struct nft_element port = port_element(mark_port(wish->config, i));
        snprintf(port.chain, sizeof(port.chain), "%s", mark_nft_modes[mode]);
        nft_element_add(nft, &wish->tables[0], "mode", &port, NFT_VERDICTS);
    }
}

void mark_nft_lease(struct nft *nft, const struct mark_nft_wish *wish, uint64_t lease_ms)
{
    nft_set_flush(nft, &wish->tables[0], "lease");
    for (uint32_t i = 0; lease_ms && i < mark_ports(wish->config); i++) {
        struct nft_element port = port_element(mark_port(wish->config, i));
        port.life_ms = lease_ms;
        nft_element_add(nft, &wish->tables[0], "lease", &port, NFT_PLAIN);
    }
}

int mark_nft_levels(struct nft *nft, const struct nft_table *table, enum mark_nft_kind kind,
                    uint32_t mode, struct nft_element **ret_elements, uint32_t *ret_n,
                    struct err *err)
{
    int r = nft_elements_of(nft, table, mark_nft_maps[kind][mode], ret_elements, ret_n, err);
    for (uint32_t i = 0; r >= 0 && i < *ret_n; i++)
        if (kind != MARK_NFT_TASKS)
            lengthen(&(*ret_elements)[i]);
    return r;
}

uint8_t mark_nft_level(const struct nft_element *element)
{
    for (uint8_t level = 0; level < MARK_LEVELS; level++)
        if (strcmp(element->chain, mark_nft_counter(level)) == 0)
            return level;
    return MARK_UNMARKED;
}

int mark_nft_read_mode(struct nft *nft, const struct nft_table *table, uint32_t *ret_mode,
                       struct err *err)
{
    struct nft_element *found;
    uint32_t n;
    int r = nft_elements(nft, table, "mode", &found, &n, err);
    if (r < 0)
        return r;
    *ret_mode = n && strcmp(found[0].chain, mark_nft_modes[1]) == 0;
    free(found);
    return 0;
}

int mark_nft_read_lease(struct nft *nft, const struct nft_table *table, uint64_t *ret_ms,
                        struct err *err)
{
    struct nft_element *found;
    uint32_t n;
    int r = nft_elements(nft, table, "lease", &found, &n, err);
    if (r < 0)
        return r;
    *ret_ms = n ? found[0].left_ms : 0;
    free(found);
    return 0;
}
