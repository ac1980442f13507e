/* Fuzz target of the stream's framing: however the bytes arrive, the same messages come out of
 * them, and the same sentence ends them. */
#include "lib/wire_stream.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    uint64_t messages, bytes;
    int end;
};

static struct outcome feed(const uint8_t *data, size_t size, size_t step)
{
    static struct wire_stream_input input;
    static duopoly_Envelope envelope;
    struct outcome outcome = {0};
    struct err err;
    input.begin = input.end = 0;
    for (size_t at = 0; at < size && outcome.end == 0;) {
        size_t room, n = size - at < step ? size - at : step;
        uint8_t *to = wire_stream_room(&input, &room);
        if (!room)
            abort();
        n = n < room ? n : room;
        memcpy(to, data + at, n);
        input.end += n;
        at += n;
        while ((outcome.end = wire_stream_take(&input, &envelope, &err)) > 0) {
            outcome.messages++;
            outcome.bytes += wire_length(&envelope);
        }
        if (outcome.end == 0 && input.end - input.begin == sizeof(input.bytes))
            abort();
    }
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t steps[] = {1, 3, 7, 4096};
    const struct outcome whole = feed(data, size, size);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const struct outcome parts = feed(data, size, steps[i]);
        if (parts.messages != whole.messages || parts.bytes != whole.bytes ||
            parts.end != whole.end)
            abort();
    }
    return 0;
}
