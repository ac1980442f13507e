/* dataplane/kept.h: what the next one finds, and when it begins empty. */
#include "tests/unit/folder.h"

#include "dataplane/kept.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 1000

static struct kept *open_it(uint32_t most)
{
    struct kept *kept = NULL;
    struct err err;
    assert_int_equal(kept_open(path_of("sock"), most, 1, &kept, &err), 0);
    return kept;
}

static void fill(uint32_t most)
{
    struct kept *kept = open_it(most);
    atomic_store(&kept->mode, 1);
    atomic_store(&kept->expiry_ns, 77);
    kept->flows[most - 1].owner = 5;
    kept_close(kept);
}

static bool is_filled(uint32_t most)
{
    struct kept *kept = open_it(most);
    const bool filled = kept->flows[most - 1].owner == 5;
    assert_int_equal(atomic_load(&kept->mode), filled);
    assert_int_equal(atomic_load(&kept->expiry_ns), filled ? 77 : 0);
    kept_close(kept);
    return filled;
}

static void test_the_next_one_finds_it(void **state)
{
    struct stat stat_of;
    (void)state;
    assert_false(is_filled(MOST));
    fill(MOST);
    assert_true(is_filled(MOST));
    assert_int_equal(stat(path_of("sock.flows"), &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 07777, 0600);
}

static void write_byte(off_t at, uint8_t byte)
{
    FILE *file = fopen(path_of("sock.flows"), "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte, file), byte);
    assert_int_equal(fclose(file), 0);
}

static void test_what_is_not_the_same_begins_empty(void **state)
{
    const off_t places[] = {offsetof(struct kept, boot), offsetof(struct kept, layout),
                            offsetof(struct kept, flows_most), offsetof(struct kept, parts),
                            offsetof(struct kept, mode)};
    (void)state;
    fill(MOST);
    assert_false(is_filled(MOST + 1));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        uint8_t byte;
        fill(MOST);
        FILE *file = fopen(path_of("sock.flows"), "r");
        assert_non_null(file);
        assert_int_equal(fseek(file, places[i], SEEK_SET), 0);
        assert_int_equal(fread(&byte, 1, 1, file), 1);
        assert_int_equal(fclose(file), 0);
        write_byte(places[i], byte ^ 2);
        assert_false(is_filled(MOST));
    }
    fill(MOST);
    assert_int_equal(truncate(path_of("sock.flows"), 100), 0);
    assert_false(is_filled(MOST));
}

static void test_says_what_it_cannot_open(void **state)
{
    struct kept *kept = NULL;
    struct err err;
    (void)state;
    assert_int_equal(kept_open(path_of("nosuch/sock"), MOST, 1, &kept, &err), -ENOENT);
    assert_non_null(strstr(err.text, "nosuch/sock.flows, where 1000 flows are kept"));
    assert_int_equal(mkfifo(path_of("fifo.flows"), 0600), 0);
    assert_int_equal(kept_open(path_of("fifo"), MOST, 1, &kept, &err), -EINVAL);
    assert_int_equal(symlink("sock.flows", path_of("link.flows")), 0);
    assert_int_equal(kept_open(path_of("link"), MOST, 1, &kept, &err), -ELOOP);
    assert_null(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_one_finds_it),
        cmocka_unit_test(test_what_is_not_the_same_begins_empty),
        cmocka_unit_test(test_says_what_it_cannot_open),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
