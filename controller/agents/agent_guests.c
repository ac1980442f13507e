#include "controller/agents/agent_guests.h"

#include "lib/invariant.h"
#include "lib/wire.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

__extension__ typedef unsigned __int128 wide;

struct guest_key {
    char name[64]; /* zeros after its end */
    uint32_t user;
};

struct guest_level {
    UT_hash_handle hh;
    struct guest_key key;
    uint32_t agents; /* that report it */
    wide bytes;      /* of all of them: what agents report may be any number */
    uint32_t level;
};

static struct guest_key key_of(const duopoly_GuestApplication *row)
{
    struct guest_key key = {.user = row->user};
    wire_copy(key.name, sizeof(key.name), row->name);
    return key;
}

static struct guest_level *find(const struct guest_levels *levels,
                                const duopoly_GuestApplication *row)
{
    const struct guest_key key = key_of(row);
    struct guest_level *application;
    HASH_FIND(hh, levels->applications, &key, sizeof(key), application);
    return application;
}

static struct guest_level *get(struct guest_levels *levels, const duopoly_GuestApplication *row)
{
    struct guest_level *application = find(levels, row);
    if (!application && (application = calloc(1, sizeof(*application)))) {
        application->key = key_of(row);
        HASH_ADD(hh, levels->applications, key, sizeof(application->key), application);
    }
    return application;
}

static uint64_t level_of(const struct guest_levels *levels, wide bytes)
{
    uint64_t level =
        level_table_level(&levels->table, bytes < UINT64_MAX ? (uint64_t)bytes : UINT64_MAX);
    return level < AGENT_GUEST_LEVELS ? level : AGENT_GUEST_LEVELS - 1;
}

static bool add(struct guest_levels *levels, const duopoly_GuestApplication *row)
{
    struct guest_level *application = wire_name_valid(row->name) ? get(levels, row) : NULL;
    if (!application)
        return false;
    application->agents++;
    application->bytes += row->received_bytes;
    uint64_t level = level_of(levels, application->bytes);
    if (level > application->level)
        application->level = (uint32_t)level;
    return true;
}

static void subtract(struct guest_levels *levels, const struct agent_guests *guests)
{
    for (uint32_t i = 0; i < guests->n; i++) {
        struct guest_level *application = find(levels, &guests->rows[i]);
        assert(application && application->agents > 0 &&
               application->bytes >= guests->rows[i].received_bytes);
        application->agents--;
        application->bytes -= guests->rows[i].received_bytes;
    }
}

/* Drops applications that were here before or are now, and that no agent reports any more. */
static void drop_untold(struct guest_levels *levels, const struct agent_guests *guests)
{
    for (uint32_t i = 0; i < guests->n; i++) {
        struct guest_level *application = find(levels, &guests->rows[i]);
        if (application && !application->agents) {
            HASH_DEL(levels->applications, application);
            free(application);
        }
    }
}

static void add_rows(struct guest_levels *levels, struct agent_guests *guests,
                     const duopoly_GuestsPart *part, uint32_t n)
{
    guests->rows = n ? calloc(n, sizeof(*guests->rows)) : NULL;
    guests->n = 0;
    for (uint32_t i = 0; guests->rows && i < n; i++)
        if (add(levels, &part->applications[i]))
            guests->rows[guests->n++] = part->applications[i];
}

void agent_guests_take(struct guest_levels *levels, struct agent_guests *guests,
                       const duopoly_GuestsPart *part, uint32_t n,
                       bool (*vouched)(void *user, const duopoly_GuestApplication *row), void *user,
                       duopoly_GuestLevels *ret_levels)
{
    struct agent_guests before = *guests;
    subtract(levels, &before);
    add_rows(levels, guests, part, n);
    drop_untold(levels, &before);
    free(before.rows);
    guests->refused = part->refused;
    guests->left_out = part->left_out + part->applications_count - n;
    ret_levels->levels_count = 0;
    for (uint32_t i = 0; i < guests->n; i++) {
        const struct guest_level *application = find(levels, &guests->rows[i]);
        bool is_vouched = vouched(user, &guests->rows[i]);
        if (guests->rows[i].level == (int32_t)application->level &&
            guests->rows[i].vouched == is_vouched)
            continue;
        duopoly_GuestLevel *told = &ret_levels->levels[ret_levels->levels_count++];
        *told = (duopoly_GuestLevel){
            .user = application->key.user, .level = application->level, .vouched = is_vouched};
        wire_copy(told->name, sizeof(told->name), application->key.name);
    }
}

bool agent_guests_has(const struct agent_guests *guests, const char *name)
{
    for (uint32_t i = 0; i < guests->n; i++)
        if (strcmp(guests->rows[i].name, name) == 0)
            return true;
    return false;
}

void agent_guests_done(struct guest_levels *levels, struct agent_guests *guests)
{
    subtract(levels, guests);
    drop_untold(levels, guests);
    free(guests->rows);
    *guests = (struct agent_guests){0};
}
