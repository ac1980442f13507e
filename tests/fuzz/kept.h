/* Memory of a fuzz target that makes its world anew for each input: what is large is kept for the
 * next one of its size, which the sanitizer's allocator would map and unmap each time. Freed, it is
 * poisoned as any other.
 *
 * Include it once in a target that is linked with --wrap= of malloc, calloc, realloc, reallocarray
 * and free. */
#pragma once

#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_PLACES = 64, KEPT_BYTES = 8 * 1024 /* or more */ };

static struct kept {
    void *at;
    size_t size;
    bool taken;
} kept_blocks[KEPT_PLACES];
static char *kept_first, *kept_end; /* between them all blocks are */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__real_reallocarray(void *at, size_t n, size_t size);
void *__wrap_reallocarray(void *at, size_t n, size_t size);
void __real_free(void *at);
void __wrap_free(void *at);

static void kept_note(char *at, size_t size)
{
    if (!kept_first || at < kept_first)
        kept_first = at;
    if (at + size > kept_end)
        kept_end = at + size;
}

/* NULL: all places are taken, or memory is short. */
static void *kept_take(size_t size)
{
    struct kept *place = kept_blocks;
    while (place < kept_blocks + KEPT_PLACES && place->at && (place->taken || place->size != size))
        place++;
    if (place == kept_blocks + KEPT_PLACES || (!place->at && !(place->at = __real_malloc(size))))
        return NULL;
    kept_note(place->at, size);
    place->size = size;
    place->taken = true;
    ASAN_UNPOISON_MEMORY_REGION(place->at, size);
    return place->at;
}

void *__wrap_malloc(size_t size)
{
    void *at = size < (size_t)KEPT_BYTES ? NULL : kept_take(size);
    return at ? at : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    size_t all;
    bool small = __builtin_mul_overflow(n, size, &all) || all < (size_t)KEPT_BYTES;
    void *at = small ? NULL : kept_take(all);
    return at ? memset(at, 0, all) : __real_calloc(n, size);
}

static struct kept *kept_at(const char *at)
{
    struct kept *place = kept_blocks;
    if (at < kept_first || at >= kept_end)
        return NULL;
    while (place < kept_blocks + KEPT_PLACES && place->at != at)
        place++;
    return place < kept_blocks + KEPT_PLACES ? place : NULL;
}

void __wrap_free(void *at)
{
    struct kept *place = at ? kept_at(at) : NULL;
    if (!place) {
        __real_free(at);
        return;
    }
    if (!place->taken)
        abort();
    place->taken = false;
    ASAN_POISON_MEMORY_REGION(at, place->size);
}

/* One that grows is kept no longer. */
void *__wrap_realloc(void *at, size_t size)
{
    const struct kept *place = at ? kept_at(at) : NULL;
    if (!place)
        return __real_realloc(at, size);
    void *grown = __real_malloc(size);
    if (grown) {
        memcpy(grown, at, size < place->size ? size : place->size);
        __wrap_free(at);
    }
    return grown;
}

void *__wrap_reallocarray(void *at, size_t n, size_t size)
{
    size_t all;
    if (!at || !kept_at(at) || __builtin_mul_overflow(n, size, &all))
        return __real_reallocarray(at, n, size);
    return __wrap_realloc(at, all);
}
