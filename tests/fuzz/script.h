/* An input that is a script: steps of one byte (who, or what), two of a length, low byte first, and
 * so many bytes; the last may be cut. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct script {
    const uint8_t *at;
    size_t left;
};

struct script_step {
    uint8_t what;
    const uint8_t *bytes;
    size_t length;
};

/* False at the end. */
static inline bool script_next(struct script *script, struct script_step *ret_step)
{
    if (script->left < 3)
        return false;
    size_t length = script->at[1] | (size_t)script->at[2] << 8, rest = script->left - 3;
    length = length < rest ? length : rest;
    *ret_step = (struct script_step){script->at[0], script->at + 3, length};
    script->at += 3 + length;
    script->left = rest - length;
    return true;
}
