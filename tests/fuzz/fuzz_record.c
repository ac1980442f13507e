/* Fuzz target of records: whatever decodes as an event or a decision must encode to the very same
 * text. `make fuzz` explores from the seeds in tests/fuzz/record; test_record_fuzz replays them in
 * every variant. */
#include "controller/engine/base/record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(int length, const char *again, const char *line)
{
    if (length != (int)strcspn(line, "\n") || memcmp(again, line, (size_t)length) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char again[RECORD_MAX + 1];
    struct record_room room = {0};
    struct event event;
    struct decision decision;
    char *line = malloc(size + 1);
    uint64_t value;
    if (!line)
        return 0;
    memcpy(line, data, size);
    line[size] = 0;
    if (record_decode_event(line, &room, &event, NULL) == 0)
        same(record_encode_event(&event, again, sizeof(again)), again, line);
    if (record_decode_decision(line, &decision, NULL) == 0)
        same(record_encode_decision(&decision, again, sizeof(again)), again, line);
    record_field_u64(line, "job", &value);
    record_room_done(&room);
    free(line);
    return 0;
}
