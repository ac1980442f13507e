/* Fuzz target of what an OVSDB server says: its framing, its answers, and rows that are nothing
 * like Open vSwitch's. What can be read is planned, taken back and said. */
#include "hostagent/switches/ovs/ovs_rows.h"
#include "tests/fuzz/switch_stream.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_rows(const struct ovs_rows *rows, const struct switch_settings *settings)
{
    const struct switch_config config = {
        .settings = settings, .owner = "me", .wish = port_wish_preset, .replace = true};
    struct switch_plan plan = {0};
    json_t *operations = json_array();
    char *text = NULL;
    size_t n;
    if (ovs_rows_plan(rows, &config, false, &plan, operations, NULL) == 0 && plan.steps_n &&
        !json_array_size(operations))
        abort();
    json_array_clear(operations);
    ovs_rows_restore(rows, "me", operations, NULL);
    json_decref(operations);
    switch_plan_done(&plan);
    FILE *out = open_memstream(&text, &n);
    if (!out)
        abort();
    ovs_rows_say(rows, "me", out, NULL);
    fclose(out);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct switch_settings settings = {.driver = "ovs", .bridge = "br0"};
    struct ovs_rows rows;
    struct ovsdb *db;
    stream_bytes = data;
    stream_left = size;
    if (ovsdb_open(NULL, &db, NULL) < 0)
        abort();
    if (ovs_rows_read(db, &settings, &rows, NULL) == 0) {
        try_rows(&rows, &settings);
        ovs_rows_free(&rows);
    }
    ovsdb_notice(db, NULL);
    ovsdb_close(db);
    return 0;
}
