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
    } else {
        r = -EINVAL;
    }
    if (r >= 0)
        *ret_said = said;
    return r;
}

size_t attempt_format_status(const struct attempt_status *status, char *text, size_t size)
{
    int n = snprintf(text, size, "duopoly-task-status 1\nexit %" PRId32 "\nline %s\n",
                     status->exit_status, status->last_line);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

int attempt_parse_status(const char *text, struct attempt_status *ret_status)
{
    struct attempt_status status = {0};
    int at = 0;
    if (sscanf(text, "duopoly-task-status 1\nexit %" SCNd32 "\nline%n", &status.exit_status, &at) !=
            1 ||
        !at)
        return -EINVAL;
    text += at + (text[at] == ' ');
    size_t n = strcspn(text, "\n");
    if (text[n] != '\n')
        return -EINVAL; /* cut short */
    n = n < ATTEMPT_LINE ? n : ATTEMPT_LINE - 1;
    memcpy(status.last_line, text, n);
    *ret_status = status;
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

uint64_t attempt_start_ticks(int32_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = 0;
    /* The command's name, in brackets, may hold anything; the fields after the last one are
     * numbers. */
    const char *field = strrchr(text, ')');
    for (int i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    uint64_t ticks = 0;
    return field && sscanf(field, " %" SCNu64, &ticks) == 1 ? ticks : 0;
}
