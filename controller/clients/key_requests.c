#include "controller/clients/key_requests.h"

#include "controller/clients/listing_place.h"
#include "controller/clients/refusal.h"
#include "lib/fnv1a.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define OVERLAP_MAX_S (366 * 86400) /* the longest time for which two keys of one name are valid */

#define MOST(rows) (sizeof(rows) / sizeof((rows)[0]))

/* NULL, with a refusal as the answer: there are no keys. */
static struct keyring *keyring_of(const struct agents_zmq *door, duopoly_Envelope *answer)
{
    struct keyring *keyring = agents_zmq_keyring(door);
    if (!keyring)
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "this controller runs without keys (schemas/duopolyd.yaml: trust, keys)");
    return keyring;
}

static void failure_answer(int r, const struct err *err, duopoly_Envelope *answer)
{
    refused_answer(answer,
                   r == -EEXIST   ? duopoly_Reason_REASON_CONFLICT
                   : r == -ENOENT ? duopoly_Reason_REASON_UNKNOWN
                   : r == -EINVAL ? duopoly_Reason_REASON_MALFORMED
                                  : duopoly_Reason_REASON_LIMIT,
                   "%s", err->text);
}

static void taken_answer(duopoly_Envelope *answer, const char *text)
{
    duopoly_Accepted *accepted = &wire_begin(answer, duopoly_Envelope_accepted_tag)->body.accepted;
    wire_copy(accepted->text, sizeof(accepted->text), text);
}

static bool overlap_refuse(uint64_t overlap_s, duopoly_Envelope *answer)
{
    if (overlap_s <= OVERLAP_MAX_S)
        return false;
    refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                   "an old key may stay valid for a year at most");
    return true;
}

static int keys_take(struct agents_zmq *door, const duopoly_KeySet *set, const struct key_new *keys,
                     bool judge, struct err *err)
{
    struct keyring *keyring = agents_zmq_keyring(door);
    const int64_t now_s = time(NULL), overlap_s = (int64_t)set->overlap_s;
    if (judge)
        return keyring_may_take(keyring, now_s, keys, set->keys_count, set->rotate, err);
    int r = set->rotate ? keyring_rotate(keyring, now_s, keys, set->keys_count, overlap_s, err)
                        : keyring_add(keyring, now_s, keys, set->keys_count, err);
    agents_zmq_keys_changed(door);
    return r;
}

void key_set_answer(struct agents_zmq *door, const duopoly_KeySet *set, bool judge,
                    duopoly_Envelope *answer)
{
    struct key_new keys[MOST(set->keys)];
    struct err err;
    char text[128];
    int r = 0;
    if (!keyring_of(door, answer) || overlap_refuse(set->overlap_s, answer))
        return;
    for (pb_size_t i = 0; r == 0 && i < set->keys_count; i++) {
        keys[i] = (struct key_new){set->keys[i].name, set->keys[i].public_key, ROLE_NOBODY};
        if (!set->rotate)
            r = role_parse(set->keys[i].role, &keys[i].role, &err);
    }
    if (r == 0)
        r = keys_take(door, set, keys, judge, &err);
    if (r < 0) {
        failure_answer(r, &err, answer);
        return;
    }
    if (set->rotate)
        snprintf(text, sizeof(text),
                 "new keys are valid: %u; the old ones are for %" PRIu64 " s more", set->keys_count,
                 set->overlap_s);
    else
        snprintf(text, sizeof(text), "new keys are valid: %u", set->keys_count);
    taken_answer(answer, text);
}

void key_revoke_answer(struct agents_zmq *door, const duopoly_KeyRevoke *revoke, bool judge,
                       duopoly_Envelope *answer)
{
    struct keyring *keyring = keyring_of(door, answer);
    const char *names[MOST(revoke->keys)];
    struct err err;
    char text[128];
    if (!keyring)
        return;
    for (pb_size_t i = 0; i < revoke->keys_count; i++)
        names[i] = revoke->keys[i].name;
    int r = judge ? keyring_may_revoke(keyring, time(NULL), names, revoke->keys_count, &err)
                  : keyring_revoke(keyring, time(NULL), names, revoke->keys_count, &err);
    if (!judge)
        agents_zmq_keys_changed(door);
    if (r < 0) {
        failure_answer(r, &err, answer);
        return;
    }
    snprintf(text, sizeof(text), "names that have no valid key any more, and are cut off: %u",
             revoke->keys_count);
    taken_answer(answer, text);
}

void rotate_controller_answer(struct agents_zmq *door, const duopoly_RotateController *rotate,
                              bool judge, duopoly_Envelope *answer)
{
    struct err err;
    char text[192];
    if (!keyring_of(door, answer) || overlap_refuse(rotate->overlap_s, answer))
        return;
    int r = judge ? 0 : agents_zmq_rotate(door, (int64_t)rotate->overlap_s, &err);
    if (r < 0) {
        failure_answer(r, &err, answer);
        return;
    }
    snprintf(text, sizeof(text),
             "the controller's next key is in force in %" PRIu64
             " s; every peer that connects until then learns it by itself",
             rotate->overlap_s);
    taken_answer(answer, text);
}

void controller_keys_answer(const struct agents_zmq *door, duopoly_Envelope *answer)
{
    if (keyring_of(door, answer))
        agents_zmq_own_keys(
            door, &wire_begin(answer, duopoly_Envelope_controller_keys_tag)->body.controller_keys);
}

static void row_fill(const struct key_view *key, duopoly_KeyRow *ret_row)
{
    static const char *const states[] = {[KEY_VALID] = "valid",
                                         [KEY_ENDING] = "ending",
                                         [KEY_ENDED] = "ended",
                                         [KEY_REVOKED] = "revoked"};
    wire_copy(ret_row->name, sizeof(ret_row->name), key->name);
    wire_copy(ret_row->role, sizeof(ret_row->role), role_name(key->role));
    wire_copy(ret_row->state, sizeof(ret_row->state), states[key->state]);
    wire_copy(ret_row->public_key, sizeof(ret_row->public_key), key->public);
    ret_row->serial = key->serial;
    ret_row->since_s = key->since_s;
    ret_row->until_s = key->state == KEY_ENDING || key->state == KEY_ENDED ? key->until_s : 0;
}

static bool key_at(const void *list, uint32_t place, uint64_t *ret_identity)
{
    struct key_view key;
    if (keyring_at((struct keyring *)(uintptr_t)list, time(NULL), place, &key) < 0)
        return false;
    *ret_identity =
        fnv1a(fnv1a(FNV1A_NOTHING, key.name, strlen(key.name)), &key.serial, sizeof(key.serial));
    return true;
}

uint64_t keys_page(const struct agents_zmq *door, uint64_t cursor, struct sieve *sieve,
                   duopoly_Page *page)
{
    struct keyring *keyring = agents_zmq_keyring(door);
    const struct listing_order order = {key_at, keyring};
    struct key_view key;
    uint32_t row;
    if (!keyring)
        return 0;
    for (uint32_t place = listing_resume(&order, cursor, &row);
         keyring_at(keyring, time(NULL), place, &key) == 0; place++) {
        if (page->keys_count == MOST(page->keys) || sieve_is_worn(sieve))
            return listing_cursor(&order, place, 0);
        row_fill(&key, &page->keys[page->keys_count]);
        page->keys_count += sieve_keeps(sieve, &page->keys[page->keys_count]);
    }
    return 0;
}
