#include "lib/attempt.h"
#include "lib/number.h"

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
        return -EINVAL; /* none, or cut short */
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

/* Words that each end with a NUL: ids, paths, then the command's. */
int attempt_format_order(const struct attempt_order *order, char text[ATTEMPT_ORDER])
{
    int used = snprintf(text, ATTEMPT_ORDER, "%" PRIu32 "%c%" PRIu32 "%c%s%c%s", order->uid, 0,
                        order->gid, 0, order->record, 0, order->output);
    for (size_t i = 0; order->argv[i]; i++) {
        if (i == ATTEMPT_ARGUMENTS || used >= ATTEMPT_ORDER - 1)
            return -E2BIG;
        used++;
        used += snprintf(text + used, (size_t)(ATTEMPT_ORDER - used), "%s", order->argv[i]);
    }
    return used < ATTEMPT_ORDER ? used + 1 : -E2BIG;
}

static int parse_id(const char *text, uint32_t *ret_id)
{
    uint64_t id = 0;
    int r = number_read(text, 1, INT32_MAX, &id);
    *ret_id = (uint32_t)id;
    return r;
}

int attempt_parse_order(const char *text, size_t n, struct attempt_order *ret_order)
{
    const char *words[ATTEMPT_ARGUMENTS + 4] = {0}, *end = text + n;
    struct attempt_order order = {0};
    size_t count = 0;
    if (n == 0 || text[n - 1])
        return -EINVAL;
    for (; text < end; text += strlen(text) + 1) {
        if (count == sizeof(words) / sizeof(words[0]))
            return -EINVAL;
        words[count++] = text;
    }
    if (count < 5 || parse_id(words[0], &order.uid) < 0 || parse_id(words[1], &order.gid) < 0)
        return -EINVAL;
    order.record = words[2];
    order.output = words[3];
    memcpy(order.argv, words + 4, (count - 4) * sizeof(words[0]));
    *ret_order = order;
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
