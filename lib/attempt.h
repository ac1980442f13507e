/* The messages between duopoly-task and duopoly-agent (pure). duopoly-task starts attempts and is
 * the parent of each.
 *
 * The agent orders each attempt over one Unix SOCK_SEQPACKET socket, by one datagram (struct
 * attempt_order) with three descriptors: the attempt's own socket (SOCK_SEQPACKET), its parent's
 * cgroup, its command's cgroup. An order names a command of duopoly-task's own list, and no user.
 * duopoly-task forks; the fork is the attempt's parent. One other order has no descriptors and no
 * answer: it removes what the commands left in a folder. Another one, the first on a connection of
 * its own, makes the process that serves this a counter: each datagram then is a request, ATTEMPT
 * and a newline, then the processes of its command's cgroup, a line each; the answer is ATTEMPT
 * BYTES, what these and the children that they waited for have read from disks, and none where
 * nothing can be seen. Everything else goes over the attempt's socket, in text datagrams of at most
 * ATTEMPT_MESSAGE bytes. To the agent:
 *
 * - parent BEFORE_NS AFTER_NS: the command's process exists; CLOCK_MONOTONIC before its parent was
 *   forked and after the process was there
 * - said TEXT: what the command wrote to its socket
 * - failed TEXT: there will be no command, and why
 *
 * To the parent:
 *
 * - stop GRACE_MS: SIGTERM to the command's process group; after the grace SIGKILL to everything
 *   that is left of the attempt
 *
 * When the connection ends, the parent and everything else of the attempt have ended, and the
 * status is in the attempt's record. A parent that loses its agent listens at its record's path
 * plus ".s". To an agent that connects there it repeats "parent" and everything that the command
 * has said so far, then what follows. A new agent thus misses nothing; hearing a message twice does
 * no harm.
 *
 * The record of an attempt is one file: the command's input (schemas/task.md). It begins with lines
 * at fixed places that the command does not know. They are overwritten in place, so a full disk
 * cannot keep an attempt's end from being recorded. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTEMPT_MESSAGE       640  /* bytes of a datagram between parent and agent */
#define ATTEMPT_SAID          512  /* bytes of what a command says (schemas/task.md) */
#define ATTEMPT_LINE          256  /* of the last line on standard error, with its NUL */
#define ATTEMPT_ORDER         2048 /* bytes of an order, at most */
#define ATTEMPT_ARGUMENTS     32
#define ATTEMPT_RECORD        "duopoly-task-input 1\n" /* the first line of a record */
#define ATTEMPT_STATUS_AT     21                       /* where its second line is */
#define ATTEMPT_STATUS_SIZE   280                      /* including the newline */
#define ATTEMPT_SOCKET_END    ".s"
#define ATTEMPT_GONE          "gone-" /* an output that is no longer needed */
#define ATTEMPT_LISTED        "outputs-listed"
#define ATTEMPT_COUNT_REQUEST 4096 /* bytes of a request to a counter, at most */
#define ATTEMPT_ORDERS_FD     3    /* duopoly-task's end of the socket for orders */

struct attempt_status {
    int32_t exit_status;          /* ≥ 0 exit code, < 0 −signal */
    char last_line[ATTEMPT_LINE]; /* of standard error, printable, "" if none */
};

/* A command's words. */
enum attempt_word {
    ATTEMPT_RECEIVED,
    ATTEMPT_MISSING,
    ATTEMPT_CONNECTION,
    ATTEMPT_DONE,
    ATTEMPT_STALLED,
    ATTEMPT_FLOWS
};

struct attempt_said {
    enum attempt_word word;
    uint32_t stage, task; /* MISSING: whose output */
    uint64_t attempt;
    uint32_t others;     /* STALLED: sources that gave something meanwhile */
    char addresses[128]; /* CONNECTION: the four words; MISSING, STALLED, FLOWS: the source's */
};

/* −EINVAL for words that are not in schemas/task.md: they are ignored and counted. */
int attempt_parse_said(const char *text, struct attempt_said *ret_said);

/* The line of a record that tells the end, of ATTEMPT_STATUS_SIZE bytes and a NUL; NULL: not ended.
 * Blanks at the end of last_line are lost. */
void attempt_format_status(const struct attempt_status *status,
                           char ret_text[ATTEMPT_STATUS_SIZE + 1]);
/* −ENOENT: the attempt has not ended. −EINVAL: this is not such a line. */
int attempt_parse_status(const char *text, struct attempt_status *ret_status);

/* Parses an output's name, exactly JOB-STAGE-TASK-ATTEMPT; false if it is none. */
bool attempt_parse_output(const char *name, uint64_t *ret_job, uint32_t *ret_stage,
                          uint32_t *ret_task, uint64_t *ret_attempt);

/* An order to start; without a command, to clear a folder of outputs as the commands' user. Two
 * kinds of entries are removed: those whose names begin with ATTEMPT_GONE, and those with an
 * output's name that are no outputs: `attempts`, beside the folder, has neither the attempt's
 * record nor the output's name. (ATTEMPT_LISTED beside it says that all names are there.) */
struct attempt_order {
    const char *command; /* its name in the list; NULL: clear */
    const char *record;  /* its path; DUOPOLY_TASK_INPUT */
    const char *output;  /* DUOPOLY_TASK_OUTPUT; the folder to clear, by its whole path */
    bool counts;         /* to be a counter; nothing else is said then */
};
enum {
    ATTEMPT_ORDER_SOCKET,
    ATTEMPT_ORDER_PARENT_CGROUP,
    ATTEMPT_ORDER_TASK_CGROUP,
    ATTEMPT_ORDER_FDS
};

/* Returns the length, or −E2BIG. `record` and `command` are left out together. */
int attempt_format_order(const struct attempt_order *order, char text[ATTEMPT_ORDER]);
/* The strings point into `text`, which ends with a NUL. −EINVAL. */
int attempt_parse_order(const char *text, size_t n, struct attempt_order *ret_order);

/* Keeps the last line of a stream of bytes. `line` holds what is known so far; zero it first. Bytes
 * that are not printable become '?'. O(n). */
struct attempt_tail {
    char line[ATTEMPT_LINE];
    size_t used;
    bool ended; /* a newline came: the next byte begins another line */
};
void attempt_tail_add(struct attempt_tail *tail, const char *bytes, size_t n);
