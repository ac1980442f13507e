/* What duopoly-task, the parent of one attempt, and duopoly-agent tell each other (pure, but for
 * the two calls on the status file).
 *
 * The attempt's directory holds `input` (schemas/task.md), `s` (the parent's listening Unix socket,
 * SOCK_SEQPACKET) and, once the command has ended, `status`. The agent that starts the parent hands
 * it one connection; a later agent connects to `s`, and the newest connection wins. On each
 * connection the parent says first who it is, then everything that the command has said so far (so
 * a new agent misses nothing; what it knows already is harmless), then what comes. Text datagrams
 * of at most ATTEMPT_MESSAGE bytes: parent to agent   "parent PID START_TICKS"       of the
 * command, as in /proc/PID/stat "said TEXT"                    what the command wrote to its socket
 *   agent to parent   "stop GRACE_MS"                SIGTERM to the command's process group,
 * SIGKILL to all that is left of the attempt after the grace The end is told by the status file and
 * the parent's own end. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTEMPT_MESSAGE     640 /* bytes of a datagram between parent and agent */
#define ATTEMPT_SAID        512 /* bytes of what a command says (schemas/task.md) */
#define ATTEMPT_LINE        256 /* of the last line on standard error, with its NUL */
#define ATTEMPT_STATUS_FILE "status"
#define ATTEMPT_SOCKET_FILE "s"

struct attempt_status {
    int32_t exit_status;          /* ≥ 0 exit code, < 0 −signal */
    char last_line[ATTEMPT_LINE]; /* of standard error, printable, "" if none */
};

/* What a command says. */
enum attempt_word { ATTEMPT_RECEIVED, ATTEMPT_MISSING, ATTEMPT_CONNECTION, ATTEMPT_DONE };

struct attempt_said {
    enum attempt_word word;
    uint32_t stage, task; /* MISSING: whose output */
    uint64_t attempt;
    char addresses[128]; /* CONNECTION: the four words; MISSING: the source's address */
};

/* −EINVAL for words that are not in schemas/task.md: they are ignored and counted. */
int attempt_parse_said(const char *text, struct attempt_said *ret_said);

/* Text of a status file; returns its length, always < size for size ≥ 512. */
size_t attempt_format_status(const struct attempt_status *status, char *text, size_t size);
int attempt_parse_status(const char *text, struct attempt_status *ret_status);

/* Keeps the last line of a stream of bytes: `line` holds what is known so far, to be zeroed at
 * first. Bytes that are not printable become '?'. O(n). */
struct attempt_tail {
    char line[ATTEMPT_LINE];
    size_t used;
    bool ended; /* a newline came: the next byte begins another line */
};
void attempt_tail_add(struct attempt_tail *tail, const char *bytes, size_t n);

/* Start time of a process in clock ticks since boot (field 22 of /proc/PID/stat); 0 if there is
 * none. */
uint64_t attempt_start_ticks(int32_t pid);
