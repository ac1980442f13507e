/* The files of attempts: what is written comes back, a full disk is answered, links are not
 * followed. */
#include "tests/unit/removal.h"
#include "tests/unit/test.h"

#include "hostagent/tasks/attempt_store.h"

#include <errno.h>
#include <fcntl.h>
#include <pb_encode.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/duopoly-test-XXXXXX";
static struct attempt_store store;
static const struct attempt_place nowhere;

static void clear(void *user, const char *folder)
{
    (void)user;
    int fd = beneath_root(folder, NULL);
    assert_int_equal(beneath_clear(fd, ATTEMPT_GONE, 1000, NULL), 0);
    close(fd);
}

static int init(struct attempt_store *one, const char *folder)
{
    const struct attempt_store_owner owner = {.gid = getgid(), .clear = clear};
    return attempt_store_init(one, folder, &owner, NULL);
}

static duopoly_Start start_of(uint64_t attempt, uint64_t job)
{
    duopoly_Start start = {.attempt = attempt,
                           .job = job,
                           .stage = 1,
                           .task = 3,
                           .unit = 2,
                           .has_resources = true,
                           .resources = {.slots = 1,
                                         .mem_bytes = 1ll << 33,
                                         .gpu_milli = 1500,
                                         .gpu_mem_bytes = 2000000000},
                           .coflow_level = 2,
                           .macroflow_level = 7,
                           .compute_ns = 25500000,
                           .output_bytes = 4000000,
                           .stall_ms = 10000};
    strcpy(start.command, "reduce");
    return start;
}

static void count_one(void *user, uint64_t attempt)
{
    *(uint64_t *)user += attempt;
}

static void count_output(void *user, const duopoly_OutputHeld *output)
{
    *(uint64_t *)user += output->attempt;
}

static void test_input_is_the_schema_s_example(void **state)
{
    (void)state;
    duopoly_Start start = start_of(4294967297, 12);
    start.variant = 1;
    duopoly_Input inputs[3] = {{.bytes = 1500000, .stage = 0, .task = 2, .attempt = 4294967290},
                               {.bytes = 4000000, .block = true},
                               {.bytes = 9, .stage = 1, .attempt = 5}};
    memcpy(inputs[0].address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x4d\0\x03", 16);
    memcpy(inputs[1].address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x4d\0\x05", 16);
    memcpy(inputs[2].address, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
    char path[FILES_PATH], text[1024];
    struct stat st;
    const struct attempt_place place = {
        .unit = "gpu0",
        .devices = {{.name = "g0", .at = "GPU-5", .mem_bytes = 8000000000}, {.name = "g1"}},
        .devices_n = 2};
    assert_int_equal(attempt_store_make(&store, &start, &place, inputs, 3, NULL), 0);
    attempt_store_path(&store, start.attempt, path);
    assert_int_equal(files_read(path, text, sizeof(text), NULL, NULL), 0);
    assert_memory_equal(text, ATTEMPT_RECORD, strlen(ATTEMPT_RECORD));
    assert_non_null(strstr(text, "\njob 12\n"));
    assert_string_equal(strstr(text, "job 12"), "job 12\nstage 1\ntask 3\nattempt 4294967297\n"
                                                "compute_ns 25500000\noutput_bytes 4000000\n"
                                                "stall_ms 10000\nvariant 1\nunit_name gpu0\n"
                                                "gpu_milli 1500\ngpu_mem_bytes 2000000000\n"
                                                "device g0 8000000000 GPU-5\ndevice g1 0 -\n"
                                                "input 10.77.0.3 1500000 map 0 2 4294967290\n"
                                                "input 10.77.0.5 4000000 block\n"
                                                "input fd00::1 9 map 1 0 5\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(attempt_store_make(&store, &start, &nowhere, NULL, 0, NULL), -EEXIST);
    attempt_store_remove(&store, start.attempt);
}

/* By what a peer would see of them: structures have bytes between their fields. */
static void assert_same_start(const duopoly_Start *one, const duopoly_Start *other)
{
    uint8_t a[duopoly_Start_size], b[duopoly_Start_size];
    pb_ostream_t to_a = pb_ostream_from_buffer(a, sizeof(a));
    pb_ostream_t to_b = pb_ostream_from_buffer(b, sizeof(b));
    assert_true(pb_encode(&to_a, duopoly_Start_fields, one));
    assert_true(pb_encode(&to_b, duopoly_Start_fields, other));
    assert_int_equal(to_a.bytes_written, to_b.bytes_written);
    assert_memory_equal(a, b, to_a.bytes_written);
}

static void test_an_attempt_comes_back(void **state)
{
    (void)state;
    duopoly_Start start = start_of(77, 12), back;
    start.proof = UINT64_MAX;
    start.variant = 3;
    start.has_profile = true;
    start.profile = (duopoly_Profile){UINT64_MAX, 1, true, 5000000000};
    struct attempt_status status = {.exit_status = 3, .last_line = "no luck"}, read;
    uint64_t sum = 0;
    enum attempt_stopped stopped;
    struct attempt_place place = {.unit = "gpu0", .devices_n = DEVICES_MAX}, there;
    for (uint32_t d = 0; d < DEVICES_MAX; d++) {
        struct device *device = &place.devices[d];
        memset(device->name, 'a' + (int)d, sizeof(device->name) - 1);
        memset(device->at, 'A' + (int)d, d % 2 ? sizeof(device->at) - 1 : 0);
        device->mem_bytes = INT64_MAX;
    }
    assert_int_equal(attempt_store_make(&store, &start, &place, NULL, 0, NULL), 0);
    assert_int_equal(attempt_store_read(&store, 77, &back, &there, &stopped, NULL), 0);
    assert_same_start(&start, &back);
    assert_int_equal(stopped, ATTEMPT_NOT_STOPPED);
    assert_string_equal(there.unit, "gpu0");
    assert_int_equal(there.devices_n, DEVICES_MAX);
    for (uint32_t d = 0; d < DEVICES_MAX; d++) {
        assert_string_equal(there.devices[d].name, place.devices[d].name);
        assert_string_equal(there.devices[d].at, place.devices[d].at);
        assert_int_equal(there.devices[d].mem_bytes, place.devices[d].mem_bytes);
    }
    start.coflow_level = UINT32_MAX;
    assert_int_equal(attempt_store_write_levels(&store, &start, NULL), 0);
    attempt_store_set_stopped(&store, 77, ATTEMPT_STOPPED);
    assert_int_equal(attempt_store_status(&store, 77, &read, NULL), -ENOENT);
    assert_int_equal(attempt_store_write_status(&store, 77, &status, NULL), 0);
    assert_int_equal(attempt_store_status(&store, 77, &read, NULL), 0);
    assert_int_equal(read.exit_status, 3);
    assert_string_equal(read.last_line, "no luck");
    assert_int_equal(attempt_store_read(&store, 77, &back, &there, &stopped, NULL), 0);
    assert_same_start(&start, &back);
    assert_int_equal(stopped, ATTEMPT_STOPPED);
    attempt_store_set_stopped(&store, 77, ATTEMPT_STOPPED_BY_HOST);
    assert_int_equal(attempt_store_read(&store, 77, &back, &there, &stopped, NULL), 0);
    assert_int_equal(stopped, ATTEMPT_STOPPED_BY_HOST);
    assert_int_equal(attempt_store_list(&store, count_one, &sum, NULL), 0);
    assert_int_equal(sum, 77);
    attempt_store_remove(&store, 77);
    sum = 0;
    attempt_store_list(&store, count_one, &sum, NULL);
    assert_int_equal(sum, 0);
    assert_int_equal(attempt_store_read(&store, 77, &back, &there, &stopped, NULL), -ENOENT);
}

/* What is written later has its place from the beginning: a full file system refuses a new record
 * with a sentence, and takes a status. */
static void test_a_full_file_system(void **state)
{
    (void)state;
    char small[FILES_PATH], filler[FILES_PATH], bytes[4096] = "";
    struct attempt_store on_small;
    struct err err = {0};
    duopoly_Start start = start_of(7, 1), next = start_of(8, 1);
    struct attempt_status status = {.exit_status = 1}, back;
    memset(status.last_line, 'x', sizeof(status.last_line) - 1);
    if (getuid() != 0)
        skip_since("another user is needed: only root can be one");
    files_path(small, "%s/small", directory);
    files_path(filler, "%s/filler", small);
    assert_int_equal(mkdir(small, 0755), 0);
    assert_int_equal(mount("none", small, "tmpfs", 0, "size=128k"), 0);
    int made = init(&on_small, small);
    int had_room = attempt_store_room(&on_small, NULL);
    made = made < 0 ? made : attempt_store_make(&on_small, &start, &nowhere, NULL, 0, NULL);
    int fd = open(filler, O_WRONLY | O_CREAT, 0600);
    while (write(fd, bytes, sizeof(bytes)) > 0)
        ;
    close(fd);
    int no_room = attempt_store_room(&on_small, &err);
    int refused = attempt_store_make(&on_small, &next, &nowhere, NULL, 0, &err);
    int written = attempt_store_write_status(&on_small, 7, &status, NULL);
    int read = attempt_store_status(&on_small, 7, &back, NULL);
    uint64_t sum = 0;
    attempt_store_list(&on_small, count_one, &sum, NULL);
    umount(small);
    assert_int_equal(made, 0);
    assert_int_equal(had_room, 0);
    assert_int_equal(no_room, -ENOSPC);
    assert_int_equal(refused, -ENOSPC);
    assert_non_null(strstr(err.text, "No space left"));
    assert_int_equal(sum, 7);
    assert_int_equal(written, 0);
    assert_int_equal(read, 0);
    assert_string_equal(back.last_line, status.last_line);
}

static void make_output(const duopoly_Start *start)
{
    char path[FILES_PATH];
    attempt_store_output_path(&store, start, path);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(attempt_store_make(&store, start, &nowhere, NULL, 0, NULL), 0);
}

static bool is_there(const char *format, ...)
{
    char path[FILES_PATH], name[FILES_PATH];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof(name), format, ap);
    va_end(ap);
    files_path(path, "%.100s/%.255s", directory, name);
    return access(path, F_OK) == 0;
}

static uint64_t outputs(void)
{
    uint64_t sum = 0;
    assert_int_equal(attempt_store_list_outputs(&store, count_output, &sum, NULL), 0);
    return sum;
}

static void test_outputs_are_held_until_their_job_is_forgotten(void **state)
{
    (void)state;
    const duopoly_Start good = start_of(1, 12), bad = start_of(10, 12), other = start_of(100, 13),
                        none = start_of(1000, 12);
    make_output(&good);
    make_output(&bad);
    make_output(&other);
    assert_true(attempt_store_settle_output(&store, &good, true));
    assert_false(attempt_store_settle_output(&store, &bad, false));
    assert_true(attempt_store_settle_output(&store, &other, true));
    assert_false(attempt_store_settle_output(&store, &none, true));
    assert_int_equal(outputs(), 0); /* they have records */
    assert_int_equal(attempt_store_keep(&store, &good, NULL), 0);
    assert_int_equal(attempt_store_keep(&store, &other, NULL), 0);
    assert_int_equal(attempt_store_keep(&store, &none, NULL), -ENOENT);
    attempt_store_remove(&store, 10);
    assert_false(is_there("attempts/%016x", 1));
    assert_int_equal(outputs(), 101);
    assert_int_equal(attempt_store_forget_job(&store, 12, NULL), 0);
    assert_int_equal(outputs(), 100);
    assert_int_equal(attempt_store_forget_job(&store, 13, NULL), 0);
    assert_int_equal(outputs(), 0);
    assert_false(is_there("outputs/12-1-3-1") || is_there("outputs/13-1-3-100"));
}

/* Commands may write the folder of outputs: what they call so is none. */
static void test_a_folder_that_is_named_as_an_output_is_none(void **state)
{
    (void)state;
    char path[FILES_PATH];
    files_path(path, "%s/outputs/12-1-3-5", directory);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(outputs(), 0);
    rmdir(path);
}

/* An agent from that kept no list knew outputs by their folders. */
static void test_outputs_of_an_older_agent_are_held(void **state)
{
    (void)state;
    char older[FILES_PATH], path[FILES_PATH];
    struct attempt_store its;
    uint64_t sum = 0;
    files_path(older, "%s/older", directory);
    files_path(path, "%s/outputs/12-1-3-7", older);
    assert_int_equal(files_make_dirs(path, 0755, NULL), 0);
    files_path(path, "%s/outputs/12-1-3", older);
    assert_int_equal(mkdir(path, 0755), 0);
    for (int times = 0; times < 2; times++, sum = 0) {
        assert_int_equal(init(&its, older), 0);
        assert_int_equal(attempt_store_list_outputs(&its, count_output, &sum, NULL), 0);
        assert_int_equal(sum, 7);
    }
}

/* What a former agent let go, and did not see the end of. */
static void test_what_is_on_its_way_out_goes_with_the_next_agent(void **state)
{
    (void)state;
    char path[FILES_PATH];
    files_path(path, "%s/outputs/" ATTEMPT_GONE "1-2-3-4", directory);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(outputs(), 0);
    attempt_store_clear(&store);
    assert_int_equal(access(path, F_OK), -1);
}

/* A link that a command puts in the place of its output must not lead us out of its directory. */
static void test_a_link_is_no_output_and_is_not_followed(void **state)
{
    (void)state;
    const duopoly_Start start = start_of(5, 20);
    char path[FILES_PATH], precious[FILES_PATH];
    files_path(precious, "%s/precious", directory);
    assert_int_equal(mkdir(precious, 0755), 0);
    attempt_store_output_path(&store, &start, path);
    assert_int_equal(symlink(precious, path), 0);
    assert_false(attempt_store_settle_output(&store, &start, true));
    assert_int_equal(access(precious, F_OK), 0);
    assert_int_equal(lstat(path, &(struct stat){0}), -1);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(directory) ? init(&store, directory) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return removal_of(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input_is_the_schema_s_example),
        cmocka_unit_test(test_an_attempt_comes_back),
        cmocka_unit_test(test_a_full_file_system),
        cmocka_unit_test(test_outputs_are_held_until_their_job_is_forgotten),
        cmocka_unit_test(test_a_folder_that_is_named_as_an_output_is_none),
        cmocka_unit_test(test_outputs_of_an_older_agent_are_held),
        cmocka_unit_test(test_what_is_on_its_way_out_goes_with_the_next_agent),
        cmocka_unit_test(test_a_link_is_no_output_and_is_not_followed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
