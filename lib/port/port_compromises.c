#include "lib/bit_rate.h"
#include "lib/port/port.h"

#include <stdarg.h>
#include <stdio.h>

struct words {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(words->text + words->used, words->size - words->used, format, ap);
    va_end(ap);
    words->used += n > 0 ? (size_t)n : 0;
    if (words->used >= words->size)
        words->used = words->size - 1;
}

static void begin(struct words *words)
{
    if (words->used)
        add(words, "; ");
}

static void add_rate(struct words *words, const struct port *port)
{
    char own[BIT_RATE_WORDS], wished[BIT_RATE_WORDS];
    if (port->lacks_bps)
        add(words, "at its link's own %s: the %s wished are above it",
            bit_rate_words(port->link_bps, own),
            bit_rate_words(port->link_bps + port->lacks_bps, wished));
}

/* "level 3", "levels 3 and 4", "levels 3 to 7" */
static void add_levels(struct words *words, uint32_t first, uint32_t last)
{
    if (first == last)
        add(words, "level %u", first);
    else
        add(words, "levels %u %s %u", first, last == first + 1 ? "and" : "to", last);
}

static void add_levels_of(struct words *words, const struct port *port, uint32_t queue)
{
    uint32_t first = PORT_LEVELS, last = 0;
    for (uint32_t level = 0; level < port->levels; level++)
        if (port->queue_of[TRAFFIC_LEVEL0 + level] == queue) {
            first = level < first ? level : first;
            last = level;
        }
    add_levels(words, first, last);
}

/* Levels that share, queue by queue. */
static void add_sharing(struct words *words, const struct port *port)
{
    const uint8_t *queue_of = port->queue_of + TRAFFIC_LEVEL0;
    for (uint32_t first = 0, last; first < port->levels; first = last + 1) {
        for (last = first; last + 1 < port->levels && queue_of[last + 1] == queue_of[first];)
            last++;
        if (last == first)
            continue;
        begin(words);
        add_levels(words, first, last);
        add(words, " share a queue");
    }
}

const char *port_compromises(const struct port *port, char *text, size_t size)
{
    struct words words = {text, size, 0};
    const uint8_t *queue_of = port->queue_of;
    text[0] = 0;
    add_rate(&words, port);
    if (queue_of[TRAFFIC_CONTROL] == queue_of[TRAFFIC_LEVEL0]) {
        begin(&words);
        add(&words, "control shares the queue of level 0");
    }
    add_sharing(&words, port);
    for (uint32_t level = 0; level < port->levels; level++)
        if (queue_of[TRAFFIC_LEVEL0 + level] == queue_of[TRAFFIC_UNMANAGED]) {
            begin(&words);
            add(&words, "unmanaged traffic shares the queue of ");
            add_levels_of(&words, port, queue_of[TRAFFIC_UNMANAGED]);
            break;
        }
    if (port->lossless_n) {
        begin(&words);
        add(&words, "%u lossless queue%s left alone", port->lossless_n,
            port->lossless_n == 1 ? " is" : "s are");
    }
    if (port->lacks_floors) {
        begin(&words);
        add(&words, "no floors");
    }
    if (port->lacks_ecn) {
        begin(&words);
        add(&words, "no ECN marks");
    }
    if (port->lacks_red && !port->lacks_ecn) {
        begin(&words);
        add(&words, "marks by threshold, not at random");
    }
    return text;
}
