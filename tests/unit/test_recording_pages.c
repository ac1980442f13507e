/* Memory in huge pages before a fork: all that is there whole, and no more of it than before; what
 * a fork costs then; and a thread that is ended in between. */
#include "tests/unit/test.h"

#include "controller/recording/recording_pages.h"
#include "lib/now.h"
#include "lib/sanitized.h"

#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE     (UINT64_C(256) << 20)
#define HUGE_PAGE (UINT64_C(2) << 20)
#define PAGE      4096
#define SLACK     65536 /* of others in the same region */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Aligned to huge pages; zero, and not there yet. */
static char *memory(void)
{
    char *at =
        mmap(NULL, LARGE + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    return at + -(uintptr_t)at % HUGE_PAGE;
}

static char *whole_memory(void)
{
    char *at = memory();
    memset(at, 1, LARGE);
    return at;
}

static bool gives_huge_pages_unasked(void)
{
    char words[64] = "";
    FILE *in = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (!in)
        return false;
    bool told = fgets(words, sizeof(words), in);
    fclose(in);
    return told && strstr(words, "[always]");
}

/* Else the rest of a test is skipped. */
static void need_kernel(void)
{
    if (SANITIZED)
        skip_since("built with a sanitizer, and then no memory is moved");
    if (gives_huge_pages_unasked())
        skip_since("this kernel gives huge pages without being asked");
    char *at = whole_memory();
    int r = madvise(at, HUGE_PAGE, MADV_COLLAPSE);
    munmap(at, LARGE);
    if (r < 0)
        skip_since("this kernel moves no memory into huge pages");
}

/* Bytes of that memory of such a kind: a line of /proc/self/smaps. */
static uint64_t bytes_of(const char *at, const char *kind)
{
    char line[512], wanted[32];
    uint64_t kilobytes = 0;
    bool ours = false;
    FILE *in = fopen("/proc/self/smaps", "r");
    assert_non_null(in);
    snprintf(wanted, sizeof(wanted), "%s: %%" SCNu64, kind);
    while (fgets(line, sizeof(line), in)) {
        uintptr_t from, to;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            ours = from <= (uintptr_t)at && (uintptr_t)at < to;
        else if (ours && !kilobytes)
            sscanf(line, wanted, &kilobytes);
    }
    fclose(in);
    return kilobytes << 10;
}

static void wait_ready(struct recording_pages *pages)
{
    struct pollfd ended = {.fd = pages->ended, .events = POLLIN};
    while (!recording_pages_ready(pages))
        assert_int_equal(poll(&ended, 1, 20000), 1);
}

/* The thread's processor time for one, in µs. */
static uint64_t fork_us(void)
{
    uint64_t before_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    pid_t child = fork();
    uint64_t took_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return took_ns / 1000;
}

static void without_much_memory_nothing_is_to_be_done(void **state)
{
    struct recording_pages pages;
    (void)state;
    assert_int_equal(recording_pages_init(&pages), 0);
    assert_true(recording_pages_ready(&pages));
    assert_string_equal(recording_pages_words(&pages), "");
    recording_pages_done(&pages);
}

static void memory_that_is_there_whole_is_moved(void **state)
{
    struct recording_pages pages;
    (void)state;
    need_kernel();
    char *at = whole_memory();
    uint64_t before_us = fork_us(), resident = bytes_of(at, "Rss");
    assert_int_equal(recording_pages_init(&pages), 0);
    assert_false(recording_pages_ready(&pages));
    wait_ready(&pages);
    uint64_t huge = bytes_of(at, "AnonHugePages"), after_us = fork_us();
    fprintf(stderr,
            "# a fork: %" PRIu64 " µs before, %" PRIu64 " after; %" PRIu64
            " MB moved, %u calls refused: %s\n",
            before_us, after_us, huge >> 20, pages.refused, strerror(pages.error));
    assert_true(huge > LARGE / 10 * 9);
    assert_true(after_us < before_us / 2);
    assert_true(bytes_of(at, "Rss") <= resident + SLACK);
    for (uint64_t i = 0; i < LARGE; i += PAGE)
        assert_int_equal(at[i], 1);
    recording_pages_done(&pages);
    munmap(at, LARGE);
}

/* One page of each range is missing. */
static void memory_that_is_there_in_part_stays_so(void **state)
{
    struct recording_pages pages;
    (void)state;
    need_kernel();
    char *at = memory();
    for (uint64_t i = 0; i < LARGE; i += PAGE)
        if (i % HUGE_PAGE)
            at[i] = 1;
    uint64_t resident = bytes_of(at, "Rss");
    assert_int_equal(recording_pages_init(&pages), 0);
    assert_false(recording_pages_ready(&pages));
    wait_ready(&pages);
    assert_int_equal(bytes_of(at, "AnonHugePages"), 0);
    assert_true(bytes_of(at, "Rss") <= resident + SLACK);
    recording_pages_done(&pages);
    munmap(at, LARGE);
}

static int count_threads(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static void it_ends_early_and_begins_again(void **state)
{
    struct recording_pages pages;
    (void)state;
    need_kernel();
    char *at = whole_memory();
    int threads = count_threads();
    for (int round = 0; round < 3; round++) {
        assert_int_equal(recording_pages_init(&pages), 0);
        assert_false(recording_pages_ready(&pages));
        recording_pages_done(&pages);
        assert_int_equal(count_threads(), threads);
    }
    assert_int_equal(recording_pages_init(&pages), 0);
    wait_ready(&pages);
    assert_true(bytes_of(at, "AnonHugePages") > LARGE / 10 * 9);
    recording_pages_done(&pages);
    munmap(at, LARGE);
}

/* As where the kernel cannot: a fork may follow all the same. */
static void what_cannot_be_moved_is_said(void **state)
{
    struct recording_pages pages;
    (void)state;
    need_kernel();
    char *at = memory();
    assert_int_equal(madvise(at, LARGE, MADV_NOHUGEPAGE), 0);
    memset(at, 1, LARGE);
    assert_int_equal(recording_pages_init(&pages), 0);
    wait_ready(&pages);
    assert_int_equal(bytes_of(at, "AnonHugePages"), 0);
    assert_non_null(strstr(recording_pages_words(&pages), "takes Linux 6.1"));
    recording_pages_done(&pages);
    munmap(at, LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_much_memory_nothing_is_to_be_done),
        cmocka_unit_test(memory_that_is_there_whole_is_moved),
        cmocka_unit_test(memory_that_is_there_in_part_stays_so),
        cmocka_unit_test(it_ends_early_and_begins_again),
        cmocka_unit_test(what_cannot_be_moved_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
