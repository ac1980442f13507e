/* Fuzz target of the wire's decoder: whatever decodes must encode, and decode again to the same
 * bytes; sessions must judge it without a crash. `make fuzz` explores from the seeds in
 * tests/fuzz/wire; test_wire_fuzz replays them in every variant. */
#include "lib/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static duopoly_Envelope first, second;
    static uint8_t first_bytes[WIRE_MAX_BYTES], second_bytes[WIRE_MAX_BYTES];
    size_t first_length, second_length;
    struct wire_session session;
    if (wire_decode(data, size, &first, NULL) < 0)
        return 0;
    wire_session_init(&session, first.version, first.epoch);
    wire_session_accept(&session, &first);
    wire_session_effected(&session, first.sequence);
    if (wire_encode(&first, first_bytes, sizeof(first_bytes), &first_length, NULL) < 0 ||
        wire_decode(first_bytes, first_length, &second, NULL) < 0 ||
        wire_encode(&second, second_bytes, sizeof(second_bytes), &second_length, NULL) < 0 ||
        first_length != second_length || memcmp(first_bytes, second_bytes, first_length) != 0)
        abort();
    return 0;
}
