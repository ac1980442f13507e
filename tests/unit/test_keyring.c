/* The controller's list of keys: who enters, under what name, until when. */
#include "tests/unit/test.h"

#include "controller/keyring.h"

#include <errno.h>
#include <string.h>

#define KEYS 8

static struct keyring *keyring;
static struct key_pair pairs[KEYS];
static char kept[16][2][128]; /* identity, value; "" forgotten */
static int n_kept, cuts;
static char last_cut[WIRE_USER_ID];
static struct err err;

static void keep(void *user, const char *identity, const char *value)
{
    int i = 0;
    (void)user;
    while (i < n_kept && strcmp(kept[i][0], identity) != 0)
        i++;
    n_kept += i == n_kept;
    assert_true(n_kept <= 16);
    strcpy(kept[i][0], identity);
    strcpy(kept[i][1], value ? value : "");
}

static void cut(void *user, const char *identity)
{
    (void)user;
    cuts++;
    strcpy(last_cut, identity);
}

static const struct keyring_hooks hooks = {keep, cut, NULL};

static int keyring_open(void **state)
{
    (void)state;
    n_kept = cuts = 0;
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(key_pair_make(&pairs[i], NULL), 0);
    return keyring_create(&hooks, &keyring);
}

static int keyring_close(void **state)
{
    (void)state;
    keyring_destroy(keyring);
    return 0;
}

static struct key_new new_of(const char *name, int pair, enum role role)
{
    return (struct key_new){name, pairs[pair].public, role};
}

static int add(int64_t now_s, const char *name, int pair, enum role role)
{
    struct key_new key = new_of(name, pair, role);
    int judged = keyring_may_take(keyring, now_s, &key, 1, false, &err);
    assert_int_equal(keyring_add(keyring, now_s, &key, 1, &err), judged);
    return judged;
}

static int rotate(int64_t now_s, const char *name, int pair, int64_t overlap_s)
{
    struct key_new key = new_of(name, pair, ROLE_NOBODY);
    int judged = keyring_may_take(keyring, now_s, &key, 1, true, &err);
    assert_int_equal(keyring_rotate(keyring, now_s, &key, 1, overlap_s, &err), judged);
    return judged;
}

static int name_revoke(int64_t now_s, const char *name)
{
    int judged = keyring_may_revoke(keyring, now_s, &name, 1, &err);
    assert_int_equal(keyring_revoke(keyring, now_s, &name, 1, &err), judged);
    return judged;
}

/* "" where the key is kept out. */
static const char *admitted(int64_t now_s, int pair)
{
    const char *why = NULL, *identity = keyring_admit(keyring, now_s, pairs[pair].public, &why);
    assert_true((identity == NULL) == (why != NULL));
    return identity ? identity : "";
}

static bool holds(int64_t now_s, const char *identity, const char *name, enum role role)
{
    struct key_holder holder;
    return keyring_holder(keyring, now_s, identity, &holder) == 0 &&
           strcmp(holder.name, name) == 0 && holder.role == role;
}

static void a_key_has_a_name_and_a_role(void **state)
{
    (void)state;
    assert_int_equal(add(100, "w1", 0, ROLE_AGENT), 0);
    assert_int_equal(add(100, "ann", 1, ROLE_ADMIN), 0);
    assert_string_equal(admitted(100, 0), "w1/1");
    assert_string_equal(admitted(100, 1), "ann/1");
    assert_string_equal(admitted(100, 2), "");
    assert_true(holds(100, "w1/1", "w1", ROLE_AGENT));
    assert_true(holds(100, "ann/1", "ann", ROLE_ADMIN));
    assert_false(holds(100, "w1/2", "w1", ROLE_AGENT));
    assert_false(holds(100, "w1", "w1", ROLE_AGENT));
}

static void what_is_wrong_with_one_changes_nothing(void **state)
{
    static const char *const bad[] = {"", "a/b", "a b"};
    struct key_new keys[2];
    (void)state;
    assert_int_equal(add(100, "w1", 0, ROLE_AGENT), 0);
    keys[0] = new_of("w2", 2, ROLE_AGENT);
    keys[1] = new_of("w1", 3, ROLE_AGENT);
    assert_int_equal(keyring_add(keyring, 100, keys, 2, &err), -EEXIST);
    keys[1] = new_of("w3", 0, ROLE_AGENT);
    assert_int_equal(keyring_add(keyring, 100, keys, 2, &err), -EEXIST);
    keys[1] = new_of("w2", 3, ROLE_AGENT);
    assert_int_equal(keyring_add(keyring, 100, keys, 2, &err), -EEXIST);
    keys[1] = new_of("w3", 2, ROLE_AGENT);
    assert_int_equal(keyring_add(keyring, 100, keys, 2, &err), -EEXIST);
    keys[1] = new_of("w3", 3, ROLE_CONTROLLER);
    assert_int_equal(keyring_add(keyring, 100, keys, 2, &err), -EINVAL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        keys[1] = new_of(bad[i], 3, ROLE_AGENT);
        assert_int_equal(keyring_add(keyring, 100, keys, 2, &err), -EINVAL);
    }
    keys[1] = (struct key_new){"w3", "short", ROLE_AGENT};
    assert_int_equal(keyring_add(keyring, 100, keys, 2, &err), -EINVAL);
    keys[0] = new_of("w1", 2, ROLE_AGENT);
    keys[1] = new_of("w4", 3, ROLE_AGENT);
    assert_int_equal(keyring_rotate(keyring, 100, keys, 2, 0, &err), -ENOENT);
    assert_int_equal(keyring_revoke(keyring, 100, (const char *[]){"w1", "w4"}, 2, &err), -ENOENT);
    assert_int_equal(keyring_count(keyring), 1);
    assert_string_equal(admitted(100, 0), "w1/1");
    assert_int_equal(n_kept, 1);
    assert_int_equal(cuts, 0);
}

static void a_revoked_key_is_cut_at_once(void **state)
{
    const char *why;
    (void)state;
    assert_int_equal(add(100, "w1", 0, ROLE_AGENT), 0);
    assert_int_equal(name_revoke(101, "w1"), 0);
    assert_int_equal(cuts, 1);
    assert_string_equal(last_cut, "w1/1");
    assert_string_equal(admitted(101, 0), "");
    assert_null(keyring_admit(keyring, 101, pairs[0].public, &why));
    assert_string_equal(why, "its key is revoked");
    assert_false(holds(101, "w1/1", "w1", ROLE_AGENT));
    assert_int_equal(name_revoke(101, "w1"), -ENOENT);
    /* The name can have another one, of which nobody can say that it is the old one. */
    assert_int_equal(add(102, "w1", 1, ROLE_READER), 0);
    assert_string_equal(admitted(102, 1), "w1/2");
    assert_true(holds(102, "w1/2", "w1", ROLE_READER));
    assert_false(holds(102, "w1/1", "w1", ROLE_AGENT));
    assert_int_equal(keyring_count(keyring), 1);
}

static void two_keys_are_valid_for_a_while(void **state)
{
    (void)state;
    assert_int_equal(add(100, "w1", 0, ROLE_AGENT), 0);
    assert_int_equal(rotate(200, "w1", 1, 60), 0);
    assert_string_equal(admitted(200, 0), "w1/1");
    assert_string_equal(admitted(200, 1), "w1/2");
    assert_true(holds(259, "w1/1", "w1", ROLE_AGENT));
    assert_true(holds(259, "w1/2", "w1", ROLE_AGENT));
    assert_int_equal(keyring_expire(keyring, 259), 260);
    assert_int_equal(cuts, 0);
    assert_false(holds(260, "w1/1", "w1", ROLE_AGENT));
    assert_int_equal(keyring_expire(keyring, 260), INT64_MAX);
    assert_int_equal(cuts, 1);
    assert_string_equal(last_cut, "w1/1");
    keyring_expire(keyring, 261);
    assert_int_equal(cuts, 1);
    assert_string_equal(admitted(260, 0), "");
    assert_string_equal(admitted(260, 1), "w1/2");
    /* A third one within the time of two: the first keeps its own end. */
    assert_int_equal(rotate(300, "w1", 2, 10), 0);
    assert_int_equal(rotate(305, "w1", 3, 100), 0);
    assert_true(holds(309, "w1/2", "w1", ROLE_AGENT));
    assert_false(holds(310, "w1/2", "w1", ROLE_AGENT));
    assert_true(holds(404, "w1/3", "w1", ROLE_AGENT));
    /* Without a while the old one is cut. */
    cuts = 0;
    assert_int_equal(rotate(500, "w1", 4, 0), 0);
    assert_true(cuts >= 1);
    assert_string_equal(admitted(500, 3), "");
    assert_string_equal(admitted(500, 4), "w1/5");
}

static void what_is_kept_is_the_same_list(void **state)
{
    struct keyring *again;
    struct key_view a, b;
    (void)state;
    assert_int_equal(add(100, "w1", 0, ROLE_AGENT), 0);
    assert_int_equal(add(100, "w2", 1, ROLE_AGENT), 0);
    assert_int_equal(add(100, "sue", 2, ROLE_SCHEDULER), 0);
    assert_int_equal(rotate(200, "w1", 3, 60), 0);
    assert_int_equal(name_revoke(201, "w2"), 0);
    assert_int_equal(rotate(300, "sue", 4, 0), 0);
    assert_int_equal(rotate(400, "sue", 5, 50), 0); /* forgets the first */
    assert_int_equal(keyring_create(&hooks, &again), 0);
    for (int i = 0; i < n_kept; i++)
        if (*kept[i][1])
            assert_int_equal(keyring_load(again, kept[i][0], kept[i][1]), 0);
    assert_int_equal(keyring_count(again), keyring_count(keyring));
    for (uint32_t i = 0; i < keyring_count(keyring); i++) {
        assert_int_equal(keyring_at(keyring, 410, i, &a), 0);
        assert_int_equal(keyring_at(again, 410, i, &b), 0);
        assert_string_equal(a.name, b.name);
        assert_string_equal(a.public, b.public);
        assert_int_equal(a.serial, b.serial);
        assert_int_equal(a.state, b.state);
        assert_true(a.role == b.role && a.since_s == b.since_s && a.until_s == b.until_s);
    }
    assert_int_equal(keyring_at(again, 410, keyring_count(again), &b), -ENOENT);
    /* One that is loaded is cut as any other. */
    cuts = 0;
    assert_int_equal(keyring_revoke(again, 411, (const char *[]){"w1"}, 1, &err), 0);
    assert_int_equal(cuts, 1);
    keyring_destroy(again);
}

static void what_nobody_kept_is_not_loaded(void **state)
{
    char value[128];
    static const char *const identities[] = {"w1", "w1/0", "/1", "a b/1", "w1/x", "w1/1 "};
    static const char *const values[] = {
        "",
        "agent",
        "king %s 1 valid",
        "agent short 1 valid",
        "agent %s x valid",
        "agent %s 1 never",
        "agent %s 1 valid more",
    };
    (void)state;
    snprintf(value, sizeof(value), "agent %s 1 valid", pairs[0].public);
    for (size_t i = 0; i < sizeof(identities) / sizeof(identities[0]); i++)
        assert_int_equal(keyring_load(keyring, identities[i], value), -EINVAL);
    assert_int_equal(keyring_load(keyring, "w1/1", value), 0);
    assert_int_equal(keyring_load(keyring, "w1/1", value), -EINVAL);
    assert_int_equal(keyring_load(keyring, "w2/1", value), -EINVAL); /* the same key */
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const char *hole = strstr(values[i], "%s");
        snprintf(value, sizeof(value), "%.*s%s%s", hole ? (int)(hole - values[i]) : 99, values[i],
                 hole ? pairs[1].public : "", hole ? hole + 2 : "");
        assert_int_equal(keyring_load(keyring, "w3/1", value), -EINVAL);
    }
    assert_int_equal(keyring_count(keyring), 1);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, keyring_open, keyring_close)
    const struct CMUnitTest tests[] = {
        WITH(a_key_has_a_name_and_a_role),   WITH(what_is_wrong_with_one_changes_nothing),
        WITH(a_revoked_key_is_cut_at_once),  WITH(two_keys_are_valid_for_a_while),
        WITH(what_is_kept_is_the_same_list), WITH(what_nobody_kept_is_not_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
