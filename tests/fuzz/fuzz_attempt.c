/* Fuzz target of what goes between agent, duopoly-task and commands (lib/attempt.h): orders, what a
 * command says, the line that tells an attempt's end, and a command's standard error. */
#include "lib/address.h"
#include "lib/attempt.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void order_try(const char *text, size_t n)
{
    static char again[ATTEMPT_ORDER];
    struct attempt_order order, second;
    if (n > ATTEMPT_ORDER || attempt_parse_order(text, n, &order) < 0)
        return;
    int length = attempt_format_order(&order, again);
    must(length > 0 && attempt_parse_order(again, (size_t)length, &second) == 0);
    must(same(order.command, second.command) && same(order.record, second.record) &&
         same(order.output, second.output) && order.counts == second.counts);
}

static void said_try(const char *text)
{
    struct attempt_said said;
    uint8_t address[16];
    if (attempt_parse_said(text, &said) < 0)
        return;
    must(said.word <= ATTEMPT_FLOWS && memchr(said.addresses, 0, sizeof(said.addresses)));
    address_parse(said.addresses, address);
}

static void status_try(const char *text)
{
    char again[ATTEMPT_STATUS_SIZE + 1];
    struct attempt_status status, same;
    if (attempt_parse_status(text, &status) < 0)
        return;
    attempt_format_status(&status, again);
    must(strlen(again) == ATTEMPT_STATUS_SIZE && attempt_parse_status(again, &same) == 0);
    must(same.exit_status == status.exit_status);
}

static void tail_try(const char *bytes, size_t n)
{
    struct attempt_tail tail = {0};
    attempt_tail_add(&tail, bytes, n / 2);
    attempt_tail_add(&tail, bytes + n / 2, n - n / 2);
    must(tail.used == strlen(tail.line));
    for (const char *c = tail.line; *c; c++)
        must(*c >= ' ' && *c < 127);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    order_try(text, size);
    said_try(text);
    status_try(text);
    tail_try(text, size);
    free(text);
    return 0;
}
