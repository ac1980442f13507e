/* A program's messages to its operator: one line on standard error for each thing worth knowing.
 *
 * Every line has a level and, for errors and warnings, whose fault it is, because that decides who
 * has to act: a peer (another program sent something wrong), the configuration (the operator), or
 * us (a bug or this machine). Libraries do not log; a failure is logged once, by the caller that
 * gives up on it.
 *
 * Repeats are limited for each place in the source: LOG_BURST lines in LOG_WINDOW_MS. Further lines
 * are counted, and the next one that is printed says how many were left out. So a misbehaving peer
 * cannot fill a disk. For lines that name a peer (log_of) the limit holds for each peer, and
 * LOG_PEERS times the limit for all peers together, so one peer cannot silence lines about another.
 * Changes by operators are never left out (log_change). If standard error is the journal
 * (JOURNAL_STREAM names it, systemd.exec(5)), a line begins with the journal's <priority>;
 * otherwise a daemon's line begins with the time in ISO 8601, to the millisecond.
 *
 * One thread only (the daemons have one). The limiter itself is pure and takes the time as a
 * parameter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_NOTE, LOG_LEVEL_DEBUG };

enum log_fault { LOG_FAULT_NONE, LOG_FAULT_PEER, LOG_FAULT_CONFIGURATION, LOG_FAULT_US };

/* Names of levels in configurations, in the order of the enum; ends with NULL. */
extern const char *const log_levels[];

/* True: prints everything, also debug lines. False: goes back to the level of log_open. A daemon's
 * loop calls it on SIGUSR1 and SIGUSR2 (loop.h). */
void log_everything(bool everything);

/* Names the program and the least urgent level that is printed. `program` is borrowed for ever.
 * Without this call the name is "duopoly" and notes are printed. */
void log_open(const char *program, enum log_level least_urgent);

/* The level of log_open is another one from now on. What is printed follows it, unless
 * log_level_set or log_everything has chosen another: then false. */
bool log_reopen(enum log_level least_urgent);
/* Whether one of these has. */
bool log_level_is_chosen(void);

/* The least urgent level that is printed; sets it, until log_everything or log_open is called. */
enum log_level log_level_get(void);
void log_level_set(enum log_level least_urgent);

/* From now on lines begin with the time unless the journal adds it: for daemons. */
void log_with_times(void);

/* Whether lines of this level are printed: ask before building a line that is costly. */
bool log_is_wanted(enum log_level level);

__attribute__((format(printf, 3, 4))) void log_line(enum log_level level, enum log_fault fault,
                                                    const char *format, ...);

/* A line about `peer` (its name, or its address). */
__attribute__((format(printf, 4, 5))) void log_of(const char *peer, enum log_level level,
                                                  enum log_fault fault, const char *format, ...);
/* A note that the limit never leaves out. */
__attribute__((format(printf, 1, 2))) void log_change(const char *format, ...);

#define log_error(fault, ...)   log_line(LOG_LEVEL_ERROR, fault, __VA_ARGS__)
#define log_warning(fault, ...) log_line(LOG_LEVEL_WARNING, fault, __VA_ARGS__)
#define log_note(...)           log_line(LOG_LEVEL_NOTE, LOG_FAULT_NONE, __VA_ARGS__)
#define log_debug(...)          log_line(LOG_LEVEL_DEBUG, LOG_FAULT_NONE, __VA_ARGS__)

/* Instead of LOG_BURST, for debug lines: the operator asked for them. */
#define LOG_DEBUG_BURST 1000

#define LOG_BURST     10
#define LOG_PEERS     20
#define LOG_WINDOW_MS 10000
/* Places that are remembered at once; a new one replaces the one that was quiet for longest, whose
 * count is lost. */
#define LOG_PLACES 256

struct log_limit {
    struct log_place {
        const void *place; /* any address that stands for the place in the source; NULL: free */
        uint64_t window_start_ms;
        uint32_t lines;
        uint32_t left_out;
    } places[LOG_PLACES];
};

/* Whether a line of `place` may be printed at `now_ms`; sets how many were left out before it.
 * O(LOG_PLACES). */
bool log_limit_admit(struct log_limit *limit, const void *place, uint64_t now_ms,
                     uint32_t *ret_left_out);
/* The same for a line about that peer; *ret_left_out then counts that peer's lines. */
bool log_limit_admit_of(struct log_limit *limit, const void *place, const char *peer,
                        uint64_t now_ms, uint32_t *ret_left_out);
/* As log_limit_admit, for a debug line. */
bool log_limit_admit_debug(struct log_limit *limit, const void *place, uint64_t now_ms,
                           uint32_t *ret_left_out);
