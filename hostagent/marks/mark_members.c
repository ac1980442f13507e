#include "hostagent/marks/mark_members.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

static bool is_key_of(const struct mark_member_key *key, const struct mark_prefix *member)
{
    return key->prefix_bits == member->bits &&
           memcmp(key->address, member->address, sizeof(key->address)) == 0;
}

static bool is_configured(const struct mark_member_key *key, const struct mark_config *config)
{
    for (uint32_t i = 0; i < config->members_n; i++)
        if (is_key_of(key, &config->members[i]))
            return true;
    return false;
}

static bool is_in(const uint8_t address[16], const struct mark_prefix *prefix)
{
    for (uint32_t bit = 0; bit < prefix->bits; bit++)
        if ((address[bit / 8] ^ prefix->address[bit / 8]) & 0x80u >> bit % 8)
            return false;
    return true;
}

static bool is_member(const uint8_t address[16], const struct mark_config *config)
{
    for (uint32_t i = 0; i < config->members_n; i++)
        if (is_in(address, &config->members[i]))
            return true;
    return config->members_n == 0;
}

/* Removes prefixes that are no longer configured. */
static int drop_members(int fd, const struct mark_config *config)
{
    struct mark_member_key key, next;
    bool more = bpf_map_get_next_key(fd, NULL, &next) == 0;
    while (more) {
        key = next;
        more = bpf_map_get_next_key(fd, &key, &next) == 0;
        if (!is_configured(&key, config) && bpf_map_delete_elem(fd, &key) < 0)
            return -errno;
    }
    return 0;
}

int mark_members_drop_strangers(int fd, const struct mark_config *config)
{
    struct mark_flow_key key, next;
    int n = 0;
    bool more = bpf_map_get_next_key(fd, NULL, &next) == 0;
    while (more) {
        key = next;
        more = bpf_map_get_next_key(fd, &key, &next) == 0;
        if (!is_member(key.peer, config))
            n += bpf_map_delete_elem(fd, &key) == 0;
    }
    return n;
}

int mark_members_set(int fd, const struct mark_config *config, struct err *err)
{
    int r = 0;
    struct mark_member_key member;
    const uint8_t one = 1;
    for (uint32_t i = 0; r >= 0 && i < config->members_n; i++) {
        member.prefix_bits = config->members[i].bits;
        memcpy(member.address, config->members[i].address, sizeof(member.address));
        r = bpf_map_update_elem(fd, &member, &one, BPF_ANY) < 0 ? -errno : 0;
    }
    if (r >= 0)
        r = drop_members(fd, config);
    return r < 0 ? err_sys(err, -r, "setting the member prefixes") : 0;
}

/* A lookup would find a shorter prefix, too. */
static bool stands(int fd, const struct mark_prefix *member)
{
    struct mark_member_key key;
    bool more = bpf_map_get_next_key(fd, NULL, &key) == 0;
    while (more && !is_key_of(&key, member))
        more = bpf_map_get_next_key(fd, &key, &key) == 0;
    return more;
}

int mark_members_plan(int fd, const struct mark_config *config, const char *where,
                      struct changes *changes, struct err *err)
{
    struct mark_member_key key;
    uint32_t missing = 0, others = 0;
    for (uint32_t i = 0; i < config->members_n; i++)
        missing += !stands(fd, &config->members[i]);
    bool more = bpf_map_get_next_key(fd, NULL, &key) == 0;
    for (; more; more = bpf_map_get_next_key(fd, &key, &key) == 0)
        others += !is_configured(&key, config);
    return missing || others ? changes_tell(changes, CHANGE_CHANGE, "map", where, err,
                                            "%u member prefixes come, %u go", missing, others)
                             : 0;
}
