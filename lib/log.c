#include "lib/log.h"

#include "lib/fnv1a.h"
#include "lib/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *program_name = "duopoly";
static enum log_level least_urgent_level = LOG_LEVEL_NOTE, opened_level = LOG_LEVEL_NOTE;
static bool to_journal, with_times;
static struct log_limit limit;

const char *const log_levels[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_NOTE] = "note",
    [LOG_LEVEL_DEBUG] = "debug",
    NULL,
};
static const char *const level_words[] = {
    [LOG_LEVEL_ERROR] = "error: ",
    [LOG_LEVEL_WARNING] = "warning: ",
    [LOG_LEVEL_NOTE] = "",
    [LOG_LEVEL_DEBUG] = "debug: ",
};
static const char *const fault_words[] = {
    [LOG_FAULT_NONE] = "",
    [LOG_FAULT_PEER] = "peer: ",
    [LOG_FAULT_CONFIGURATION] = "configuration: ",
    [LOG_FAULT_US] = "internal: ",
};
static const char *const journal_priorities[] = {
    [LOG_LEVEL_ERROR] = "<3>",
    [LOG_LEVEL_WARNING] = "<4>",
    [LOG_LEVEL_NOTE] = "<5>",
    [LOG_LEVEL_DEBUG] = "<7>",
};

/* The variable alone proves nothing: a service's children inherit it, whatever their standard error
 * is. */
static bool is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat st;
    return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 && fstat(fd, &st) == 0 &&
           st.st_dev == device && st.st_ino == inode;
}

void log_open(const char *program, enum log_level least_urgent)
{
    program_name = program;
    least_urgent_level = opened_level = least_urgent;
    to_journal = is_journal(STDERR_FILENO);
}

void log_everything(bool everything)
{
    least_urgent_level = everything ? LOG_LEVEL_DEBUG : opened_level;
}

bool log_level_is_chosen(void)
{
    return least_urgent_level != opened_level;
}

bool log_reopen(enum log_level least_urgent)
{
    bool chosen = log_level_is_chosen();
    opened_level = least_urgent;
    if (!chosen)
        least_urgent_level = least_urgent;
    return !chosen;
}

enum log_level log_level_get(void)
{
    return least_urgent_level;
}

void log_level_set(enum log_level least_urgent)
{
    least_urgent_level = least_urgent;
}

void log_with_times(void)
{
    with_times = true;
}

bool log_is_wanted(enum log_level level)
{
    return level <= least_urgent_level;
}

static struct log_place *place_find(struct log_limit *l, const void *place, uint64_t now_ms)
{
    struct log_place *oldest = &l->places[0];
    for (struct log_place *p = l->places; p < l->places + LOG_PLACES; p++) {
        if (p->place == place)
            return p;
        if (!p->place || (oldest->place && p->window_start_ms < oldest->window_start_ms))
            oldest = p;
        if (!p->place)
            break;
    }
    *oldest = (struct log_place){.place = place, .window_start_ms = now_ms};
    return oldest;
}

static bool admit(struct log_limit *l, const void *place, uint32_t burst, uint64_t now_ms,
                  uint32_t *ret_left_out)
{
    struct log_place *p = place_find(l, place, now_ms);
    *ret_left_out = 0;
    if (now_ms - p->window_start_ms >= LOG_WINDOW_MS) {
        p->window_start_ms = now_ms;
        p->lines = 0;
        *ret_left_out = p->left_out;
        p->left_out = 0;
    }
    if (p->lines >= burst) {
        p->left_out++;
        return false;
    }
    p->lines++;
    return true;
}

bool log_limit_admit(struct log_limit *l, const void *place, uint64_t now_ms,
                     uint32_t *ret_left_out)
{
    return admit(l, place, LOG_BURST, now_ms, ret_left_out);
}

bool log_limit_admit_debug(struct log_limit *l, const void *place, uint64_t now_ms,
                           uint32_t *ret_left_out)
{
    return admit(l, place, LOG_DEBUG_BURST, now_ms, ret_left_out);
}

bool log_limit_admit_of(struct log_limit *l, const void *place, const char *peer, uint64_t now_ms,
                        uint32_t *ret_left_out)
{
    uint64_t hash = fnv1a(fnv1a(FNV1A_NOTHING, &place, sizeof(place)), peer, strlen(peer));
    uint32_t of_all;
    return admit(l, (const void *)(uintptr_t)hash, LOG_BURST, now_ms, ret_left_out) &&
           admit(l, place, LOG_BURST * LOG_PEERS, now_ms, &of_all);
}

static uint64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The beginning of a line. */
static void lead_write(enum log_level level, char *lead, size_t size)
{
    struct timespec now;
    struct tm tm;
    char seconds[32], zone[8];
    if (to_journal || !with_times) {
        snprintf(lead, size, "%s", to_journal ? journal_priorities[level] : "");
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    tzset(); /* the machine's zone may have changed */
    localtime_r(&now.tv_sec, &tm);
    strftime(seconds, sizeof(seconds), "%FT%T", &tm);
    strftime(zone, sizeof(zone), "%z", &tm);
    snprintf(lead, size, "%s.%03ld%s ", seconds, now.tv_nsec / 1000000, zone);
}

static void line_write(enum log_level level, enum log_fault fault, uint32_t left_out,
                       const char *format, va_list ap)
{
    char text[1024], more[48] = "";
    vsnprintf(text, sizeof(text), format, ap);
    printable_clean(text);
    if (left_out)
        snprintf(more, sizeof(more), " (%u like it left out)", left_out);
    /* One write a line, so that lines of several processes on one terminal do not mix. */
    char lead[64], line[1280];
    lead_write(level, lead, sizeof(lead));
    snprintf(line, sizeof(line), "%s%s: %s%s%s%s\n", lead, program_name, level_words[level],
             fault_words[fault], text, more);
    fputs(line, stderr);
}

void log_line(enum log_level level, enum log_fault fault, const char *format, ...)
{
    uint32_t left_out;
    if (!log_is_wanted(level) ||
        !(level == LOG_LEVEL_DEBUG ? log_limit_admit_debug
                                   : log_limit_admit)(&limit, format, monotonic_ms(), &left_out))
        return;
    va_list ap;
    va_start(ap, format);
    line_write(level, fault, left_out, format, ap);
    va_end(ap);
}

void log_of(const char *peer, enum log_level level, enum log_fault fault, const char *format, ...)
{
    uint32_t left_out;
    if (!log_is_wanted(level) ||
        !log_limit_admit_of(&limit, format, peer, monotonic_ms(), &left_out))
        return;
    va_list ap;
    va_start(ap, format);
    line_write(level, fault, left_out, format, ap);
    va_end(ap);
}

void log_change(const char *format, ...)
{
    if (!log_is_wanted(LOG_LEVEL_NOTE))
        return;
    va_list ap;
    va_start(ap, format);
    line_write(LOG_LEVEL_NOTE, LOG_FAULT_NONE, 0, format, ap);
    va_end(ap);
}
