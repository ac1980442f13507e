/* Descriptions of switches for duopolyctl switch NAME render: the manual is one, and what is wrong
 * is told with its place. */
#include "tests/unit/folder.h"
#include "tests/unit/test.h"

#include "controller/cli/description.h"
#include "controller/cli/render.h"

#include <errno.h>
#include <unistd.h>

static int read_text(const char *text, struct description **ret_description, struct err *err)
{
    FILE *file = fopen(path_of("switch.yaml"), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return description_read(path_of("switch.yaml"), ret_description, err);
}

static void test_the_manual_is_one(void **state)
{
    (void)state;
    struct description *description = NULL;
    struct port_wish wish;
    struct err err = {0};
    if (description_read("schemas/switch.yaml", &description, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(description->ports_n, 2);
    assert_int_equal(description_wish(description, &wish, &err), 0);
    assert_memory_equal(&wish, &port_wish_preset, sizeof(wish));
    free(description);
}

/* Its commented lines are the defaults: with them it says the same. */
static void test_the_manuals_defaults_are_true(void **state)
{
    (void)state;
    struct description *plain = NULL, *full = NULL;
    struct err err = {0};
    char line[512], *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size), *in = fopen("schemas/switch.yaml", "r");
    assert_true(in && out);
    while (fgets(line, sizeof(line), in)) {
        char key[32], value[64];
        bool is_default = sscanf(line, "# %31[a-z_]: %63s", key, value) == 2;
        fputs(is_default ? line + 2 : line, out);
    }
    fclose(in);
    fclose(out);
    assert_int_equal(description_read("schemas/switch.yaml", &plain, &err), 0);
    if (read_text(text, &full, &err) < 0)
        fail_msg("%s", err.text);
    assert_memory_equal(plain, full, sizeof(*plain));
    free(text);
    free(plain);
    free(full);
}

static void test_what_is_wrong_is_told(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "rate: 1 Gbps\n",
        "ports: []\nrate: 1 Gbps\n",
        "ports: [e1]\n",
        "ports: [\"e1; reload\"]\nrate: 1 Gbps\n",
        "ports: [\"e1\\nreload\"]\nrate: 1 Gbps\n",
        "ports: [e1, e1]\nrate: 1 Gbps\n",
        "ports: [e1]\nrate: 1 Gbps\nqueues: 9\n",
        "ports: [e1]\nrate: 1 Gbps\nqueues: 4\nlossless: [4]\n",
        "ports: [e1]\nrate: 1 Gbps\ndscp: [1, 2]\n",
        "ports: [e1]\nrate: 1 Gbps\nkeep: [64]\n",
        "ports: [e1]\nrate: 1 Gbps\nfloor: 1\n",
        "name: a\nports: [e1]\nrate: 1 Gbps\n",
        "ports: [e1]\nrate: 1 Gbps\ncolour: red\n",
    };
    struct err err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct description *description = NULL;
        err = (struct err){0};
        assert_int_equal(read_text(bad[i], &description, &err), -EINVAL);
        assert_non_null(strstr(err.text, "switch.yaml:"));
        assert_null(description);
    }
}

static void test_our_code_points_cannot_be_kept(void **state)
{
    (void)state;
    static const char *const bad[] = {"keep: [48]", "keep: [7]"};
    for (size_t i = 0; i < 2; i++) {
        struct description *description = NULL;
        struct port_wish wish;
        struct err err = {0};
        char text[256];
        snprintf(text, sizeof(text), "ports: [e1]\nrate: 1 Gbps\n%s\n", bad[i]);
        assert_int_equal(read_text(text, &description, &err), 0);
        assert_int_equal(description_wish(description, &wish, &err), -EINVAL);
        free(description);
    }
}

static const char *written(const struct request *request, int want)
{
    static char text[65536];
    struct err err = {0};
    struct writer *writer = writer_new(&writer_form_text);
    FILE *out = fmemopen(text, sizeof(text), "w");
    int r = run_render(NULL, request, writer, &err);
    if (r != want)
        fail_msg("%d: %s", r, err.text);
    if (r < 0) {
        writer_drop(writer);
        snprintf(text, sizeof(text), "%s", err.text);
    } else {
        assert_int_equal(writer_end(writer, out, &err), 0);
    }
    fclose(out);
    return text;
}

static void test_render_needs_what_its_format_needs(void **state)
{
    (void)state;
    struct request request = {
        .words = {"leaf1", "render"}, .n_words = 2, .as = "eos", .from = "schemas/switch.yaml"};
    struct err err = {0};
    assert_int_equal(render_check(&request, &err), 0);
    assert_non_null(strstr(written(&request, 0), "\ninterface Ethernet2\n   service-profile"));
    request.undo = true;
    assert_non_null(strstr(written(&request, 0), "\nno qos profile duopoly-0\n"));
    request.as = "ios";
    assert_int_equal(render_check(&request, &err), -EINVAL);
    assert_non_null(strstr(err.text, "sonic-patch"));
    request.as = "sonic-patch";
    assert_non_null(strstr(written(&request, -EINVAL), "sonic-cfggen"));
    request.as = "eos";
    request.from = "no-such-file.yaml";
    written(&request, -ENOENT);
    request.as = NULL;
    assert_int_equal(render_check(&request, &err), -EINVAL);
    request.as = "eos";
    request.from = "schemas/switch.yaml";
    request.words[0] = "leaf1;reload";
    assert_int_equal(render_check(&request, &err), -EINVAL);
}

/* From a file such as sonic-cfggen prints: there and back. */
static void test_a_patch_comes_from_config_db(void **state)
{
    (void)state;
    static const char site[] =
        "{\"DEVICE_METADATA\": {\"localhost\": {\"hwsku\": \"x\"}},"
        " \"PORT\": {\"Ethernet0\": {\"speed\": \"100000\", \"mtu\": \"9100\"}},"
        " \"PORT_QOS_MAP\": {\"Ethernet0\": {\"pfc_enable\": \"3,4\"}}}";
    struct request request = {.words = {"leaf1", "render"}, .n_words = 2, .as = "sonic-patch"};
    char text[256], place[128];
    FILE *file = fopen(path_of("config_db.json"), "w");
    fputs(site, file);
    fclose(file);
    file = fopen(path_of("switch.yaml"), "w");
    fprintf(file, "ports: [Ethernet0]\nrate: 1 Gbps\nsite: %s\n", path_of("config_db.json"));
    fclose(file);
    snprintf(place, sizeof(place), "%s", path_of("switch.yaml"));
    request.from = place;
    const char *patch = written(&request, 0);
    assert_non_null(strstr(patch, "\"path\": \"/PORT_QOS_MAP/Ethernet0/dscp_to_tc_map\""));
    assert_non_null(strstr(patch, "\"path\": \"/SCHEDULER\""));
    assert_null(strstr(patch, "Ethernet0|3\""));
    snprintf(text, sizeof(text), "%s", path_of("config_db.json"));
    assert_int_equal(unlink(text), 0);
    written(&request, -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_manual_is_one),
        cmocka_unit_test(test_the_manuals_defaults_are_true),
        cmocka_unit_test(test_what_is_wrong_is_told),
        cmocka_unit_test(test_our_code_points_cannot_be_kept),
        cmocka_unit_test(test_render_needs_what_its_format_needs),
        cmocka_unit_test(test_a_patch_comes_from_config_db),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
