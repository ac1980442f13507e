/* What names something crosses whole, or is refused in words. */
#include "tests/unit/agents_world.h"

#include "hostagent/files.h"
#include "lib/wire.h"

#include <unistd.h>

static void a_name_is_taken_whole_or_not_at_all(void **state)
{
    char field[8];
    struct err err = {0};
    (void)state;
    assert_int_equal(wire_take(field, sizeof(field), "1234567", "a rack's name", &err), 0);
    assert_string_equal(field, "1234567");
    assert_int_equal(wire_take(field, sizeof(field), "", "a rack's name", &err), 0);
    assert_string_equal(field, "");
    assert_int_equal(wire_take(field, sizeof(field), "12345678", "a rack's name", &err),
                     -ENAMETOOLONG);
    assert_string_equal(field, "");
    assert_string_equal(err.text,
                        "'12345678' is longer than a rack's name, which has 7 bytes at most");
}

/* A cut path would be another file's. */
static void a_path_is_whole_or_no_file(void **state)
{
    char path[FILES_PATH], name[FILES_PATH + 1];
    struct err err = {0};
    (void)state;
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    files_path(path, "/%s", name + 2);
    assert_int_equal(strlen(path), FILES_PATH - 1);
    files_path(path, "/%s", name + 1);
    assert_string_equal(path, FILES_TOO_LONG);
    assert_true(access(path, F_OK) < 0);
    assert_true(files_write(path, "x", 1, 0600, &err) < 0);
    assert_non_null(strstr(err.text, "longer-than-511-bytes"));
}

static void all_labels_are_kept_whole(void **state)
{
    struct agent_kept kept;
    (void)state;
    duopoly_Hello *h = hello(1, "h1", 7, 1);
    h->labels_count = sizeof(h->labels) / sizeof(h->labels[0]);
    for (pb_size_t i = 0; i < h->labels_count; i++) {
        memset(h->labels[i], 'a' + i, sizeof(h->labels[i]) - 1);
        h->labels[i][sizeof(h->labels[i]) - 1] = '\0';
    }
    deliver(1);
    inventory_end(1, 0);
    assert_int_equal(agents_kept(world.agents, 0, &kept), 0);
    assert_int_equal(strlen(kept.labels), 8 * 31 + 7);
    assert_non_null(strstr(kept.labels, ",hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_taken_whole_or_not_at_all),
        cmocka_unit_test(a_path_is_whole_or_no_file),
        CASE(all_labels_are_kept_whole),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
