#include "lib/attempt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int parse_missing(const char *rest, struct attempt_said *said)
{
    int end = 0;
    if (sscanf(rest, "%" SCNu32 " %" SCNu32 " %" SCNu64 " %63s%n", &said->stage, &said->task,
               &said->attempt, said->addresses, &end) != 4 ||
        rest[end])
        return -EINVAL;
    return 0;
}

static int parse_connection(const char *rest, struct attempt_said *said)
{
    char local[48], peer[48];
    unsigned local_port, peer_port;
    int end = 0;
    if (sscanf(rest, "%47s %u %47s %u%n", local, &local_port, peer, &peer_port, &end) != 4 ||
        rest[end] || local_port > 65535 || peer_port > 65535)
        return -EINVAL;
    snprintf(said->addresses, sizeof(said->addresses), "%s %u %s %u", local, local_port, peer,
             peer_port);
    return 0;
}

static int parse_source(const char *rest, bool flows, struct attempt_said *said)
{
    int end = 0;
    if (sscanf(rest, "%63s%n", said->addresses, &end) != 1)
        return -EINVAL;
    if (!flows && sscanf(rest, "%63s %" SCNu32 "%n", said->addresses, &said->others, &end) != 2)
        return -EINVAL;
    return rest[end] ? -EINVAL : 0;
}

int attempt_parse_said(const char *text, struct attempt_said *ret_said)
{
    struct attempt_said said = {0};
    int r = 0;
    if (strcmp(text, "received") == 0) {
        said.word = ATTEMPT_RECEIVED;
    } else if (strcmp(text, "done") == 0) {
        said.word = ATTEMPT_DONE;
    } else if (strncmp(text, "missing ", 8) == 0) {
        said.word = ATTEMPT_MISSING;
        r = parse_missing(text + 8, &said);
    } else if (strncmp(text, "connection ", 11) == 0) {
        said.word = ATTEMPT_CONNECTION;
        r = parse_connection(text + 11, &said);
    } else if (strncmp(text, "stalled ", 8) == 0) {
        said.word = ATTEMPT_STALLED;
        r = parse_source(text + 8, false, &said);
    } else if (strncmp(text, "flows ", 6) == 0) {
        said.word = ATTEMPT_FLOWS;
        r = parse_source(text + 6, true, &said);
    } else {
        r = -EINVAL;
    }
    if (r >= 0)
        *ret_said = said;
    return r;
}

void attempt_format_status(const struct attempt_status *status,
                           char ret_text[ATTEMPT_STATUS_SIZE + 1])
{
    char words[ATTEMPT_LINE + 16] = "";
    if (status)
        snprintf(words, sizeof(words), " %" PRId32 " %s", status->exit_status, status->last_line);
    snprintf(ret_text, ATTEMPT_STATUS_SIZE + 1, "status%-*s\n", ATTEMPT_STATUS_SIZE - 7, words);
}

int attempt_parse_status(const char *text, struct attempt_status *ret_status)
{
    struct attempt_status status = {0};
    size_t n = strcspn(text, "\n");
    int at = 0;
    if (strncmp(text, "status", 6) != 0 || text[n] != '\n')
        return -EINVAL; /* none, or incomplete */
    while (n > 6 && text[n - 1] == ' ')
        n--;
    if (n == 6)
        return -ENOENT;
    if (sscanf(text, "status %" SCNd32 "%n", &status.exit_status, &at) != 1 || (size_t)at > n)
        return -EINVAL;
    at += text[at] == ' ' && (size_t)at < n;
    snprintf(status.last_line, sizeof(status.last_line), "%.*s", (int)(n - (size_t)at), text + at);
    *ret_status = status;
    return 0;
}

bool attempt_parse_output(const char *name, uint64_t *ret_job, uint32_t *ret_stage,
                          uint32_t *ret_task, uint64_t *ret_attempt)
{
    int end = 0;
    return sscanf(name, "%" SCNu64 "-%" SCNu32 "-%" SCNu32 "-%" SCNu64 "%n", ret_job, ret_stage,
                  ret_task, ret_attempt, &end) == 4 &&
           !name[end];
}

static const char count_word[] = "count";

/* Words that each end with a NUL: the folder or `count` alone, or output, record, command. */
int attempt_format_order(const struct attempt_order *order, char text[ATTEMPT_ORDER])
{
    int n = order->command
                ? snprintf(text, ATTEMPT_ORDER, "%s%c%s%c%s", order->output, 0, order->record, 0,
                           order->command)
                : snprintf(text, ATTEMPT_ORDER, "%s", order->counts ? count_word : order->output);
    return n < ATTEMPT_ORDER ? n + 1 : -E2BIG;
}

int attempt_parse_order(const char *text, size_t n, struct attempt_order *ret_order)
{
    const char *words[3] = {0}, *end = text + n;
    size_t count = 0;
    if (n == 0 || text[n - 1])
        return -EINVAL;
    for (; text < end; text += strlen(text) + 1) {
        if (count == sizeof(words) / sizeof(words[0]) || !*text)
            return -EINVAL;
        words[count++] = text;
    }
    if (count == 2)
        return -EINVAL;
    if (count == 1 && strcmp(words[0], count_word) == 0)
        *ret_order = (struct attempt_order){.counts = true};
    else
        *ret_order =
            (struct attempt_order){.output = words[0], .record = words[1], .command = words[2]};
    return 0;
}

void attempt_tail_add(struct attempt_tail *tail, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n') {
            tail->ended = true;
            continue;
        }
        if (tail->ended) {
            tail->ended = false;
            tail->used = 0;
        }
        if (tail->used < ATTEMPT_LINE - 1)
            tail->line[tail->used++] = c >= ' ' && c < 127 ? (char)c : '?';
        tail->line[tail->used] = 0;
    }
}
