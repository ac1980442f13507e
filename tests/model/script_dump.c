#include "tests/model/script_dump.h"

int lines_keep(void *context, const char *line, size_t length)
{
    struct lines *lines = context;
    if (lines->used + length + 2 > lines->size) {
        lines->size = 2 * (lines->used + length + 2);
        lines->text = realloc(lines->text, lines->size);
        assert_non_null(lines->text);
    }
    memcpy(lines->text + lines->used, line, length);
    lines->used += length;
    if (!length || line[length - 1] != '\n')
        lines->text[lines->used++] = '\n';
    lines->text[lines->used] = 0;
    return 0;
}

int lines_next(void *context, const char **ret_line)
{
    struct lines *lines = context;
    if (lines->at >= lines->used)
        return 0;
    *ret_line = lines->text + lines->at;
    size_t length = strcspn(*ret_line, "\n");
    lines->at += length + 1;
    return (int)length;
}

struct engine *load_dump_of(const struct engine *engine)
{
    struct lines lines = {0}, again = {0};
    struct engine *twin = NULL;
    struct err err = {0};
    assert_int_equal(engine_dump(engine, lines_keep, &lines), 0);
    if (engine_load(lines_next, &lines, &twin, &err) < 0)
        fail_msg("engine_load: %s", err.text);
    assert_int_equal(engine_dump(twin, lines_keep, &again), 0);
    assert_true(again.used == lines.used && memcmp(again.text, lines.text, lines.used) == 0);
    free(lines.text);
    free(again.text);
    return twin;
}
