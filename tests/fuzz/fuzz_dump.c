/* Fuzz target of an engine's dump: what loads is dumped as lines that load and are dumped the same,
 * and such an engine steps. */
#include "controller/engine/engine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 1 << 20 };

struct text {
    char *at;
    size_t length, next;
};

static int line_next(void *context, const char **ret_line)
{
    struct text *text = context;
    char *line = text->at + text->next;
    size_t left = text->length - text->next, length = strcspn(line, "\n");
    if (!left)
        return 0;
    line[length] = '\0';
    text->next += length < left ? length + 1 : left;
    *ret_line = line;
    return (int)length + 1;
}

static int line_keep(void *context, const char *line, size_t length)
{
    struct text *text = context;
    if (text->length + length + 1 > TEXT_MAX)
        return -1;
    memcpy(text->at + text->length, line, length);
    text->at[text->length + length] = '\n';
    text->length += length + 1;
    text->at[text->length] = '\0';
    return 0;
}

static void dump_again(const struct engine *engine)
{
    static char room[TEXT_MAX + 1];
    struct text text = {.at = room};
    struct engine *again;
    struct err err;
    if (engine_dump(engine, line_keep, &text) < 0)
        return;
    if (engine_load(line_next, &text, &again, &err) < 0 ||
        engine_digest(engine) != engine_digest(again))
        abort();
    engine_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char room[65537];
    struct text text = {.at = room, .length = size < sizeof(room) ? size : sizeof(room) - 1};
    struct decisions decisions = {0};
    struct engine *engine;
    struct err err;
    memcpy(room, data, text.length);
    room[text.length] = '\0';
    if (engine_load(line_next, &text, &engine, &err) < 0)
        return 0;
    dump_again(engine);
    engine_step(engine, INT64_C(1) << 40, NULL, 0, &decisions);
    decisions_done(&decisions);
    engine_destroy(engine);
    return 0;
}
