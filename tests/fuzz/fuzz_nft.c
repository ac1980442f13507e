/* Fuzz target of what the kernel's nftables say of tables, sets, counters and rules. The first byte
 * chooses what is asked; then each step of the script is one message of the answer, as `put` makes
 * it of the step's bytes, and ends of dumps follow. libmnl and libnftnl themselves run, on a socket
 * that goes nowhere; attributes have the types that the kernel gives them, since libnftnl ends the
 * process where they have not. */
#include "hostagent/marks/mark_nft_state.h"
#include "tests/fuzz/script.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#define COUNTERS 4
#define TEXT     300 /* a name may be longer than ours are */
#define MESSAGE  4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct script script;
static uint16_t asked; /* NFT_MSG_GET… */

/* ---- the kernel's words ---- */

/* The next of a step's bytes; zeros after its end. */
static void take(struct script_step *step, void *into, size_t n)
{
    size_t there = n < step->length ? n : step->length;
    memset(into, 0, n);
    memcpy(into, step->bytes, there);
    step->bytes += there;
    step->length -= there;
}

static uint8_t take_byte(struct script_step *step)
{
    uint8_t byte;
    take(step, &byte, 1);
    return byte;
}

static void put_number(struct nlmsghdr *message, uint16_t type, struct script_step *step)
{
    uint64_t value;
    take(step, &value, sizeof(value));
    mnl_attr_put_u64(message, type, value);
}

/* A length, and so many bytes. */
static void put_bytes(struct nlmsghdr *message, uint16_t type, struct script_step *step)
{
    uint8_t bytes[64];
    size_t n = 1 + take_byte(step) % sizeof(bytes);
    take(step, bytes, n);
    mnl_attr_put(message, type, n, bytes);
}

static void put_name(struct nlmsghdr *message, uint16_t type, struct script_step *step)
{
    char name[TEXT];
    size_t n = take_byte(step);
    take(step, name, n);
    name[n] = 0;
    mnl_attr_put_strz(message, type, name);
}

static void put_counts(struct nlmsghdr *message, uint8_t which, struct script_step *step)
{
    if (which & 1)
        put_number(message, NFTA_COUNTER_BYTES, step);
    if (which & 2)
        put_number(message, NFTA_COUNTER_PACKETS, step);
}

static void put_data(struct nlmsghdr *message, struct script_step *step, bool is_chain)
{
    struct nlattr *data = mnl_attr_nest_start(message, NFTA_SET_ELEM_DATA);
    if (is_chain) {
        struct nlattr *verdict = mnl_attr_nest_start(message, NFTA_DATA_VERDICT);
        mnl_attr_put_u32(message, NFTA_VERDICT_CODE, htonl((uint32_t)NFT_GOTO));
        put_name(message, NFTA_VERDICT_CHAIN, step);
        mnl_attr_nest_end(message, verdict);
    } else {
        put_bytes(message, NFTA_DATA_VALUE, step);
    }
    mnl_attr_nest_end(message, data);
}

static void put_element(struct nlmsghdr *message, struct script_step *step)
{
    uint8_t has = take_byte(step);
    struct nlattr *element = mnl_attr_nest_start(message, NFTA_LIST_ELEM);
    if (has & 1) {
        struct nlattr *key = mnl_attr_nest_start(message, NFTA_SET_ELEM_KEY);
        put_bytes(message, NFTA_DATA_VALUE, step);
        mnl_attr_nest_end(message, key);
    }
    if (has & 6)
        put_data(message, step, has & 2);
    if (has & 8)
        put_number(message, NFTA_SET_ELEM_TIMEOUT, step);
    if (has & 16)
        put_number(message, NFTA_SET_ELEM_EXPIRATION, step);
    if (has & 32) {
        struct nlattr *expression = mnl_attr_nest_start(message, NFTA_SET_ELEM_EXPR);
        mnl_attr_put_strz(message, NFTA_EXPR_NAME, "counter");
        struct nlattr *counts = mnl_attr_nest_start(message, NFTA_EXPR_DATA);
        put_counts(message, has >> 6, step);
        mnl_attr_nest_end(message, counts);
        mnl_attr_nest_end(message, expression);
    }
    mnl_attr_nest_end(message, element);
}

static void put_elements(struct nlmsghdr *message, struct script_step *step)
{
    struct nlattr *elements = mnl_attr_nest_start(message, NFTA_SET_ELEM_LIST_ELEMENTS);
    for (int i = 0; step->length && i < 5; i++)
        put_element(message, step);
    mnl_attr_nest_end(message, elements);
}

static void put_counter(struct nlmsghdr *message, struct script_step *step)
{
    uint8_t has = take_byte(step);
    if (has & 4)
        put_name(message, NFTA_OBJ_NAME, step);
    mnl_attr_put_u32(message, NFTA_OBJ_TYPE, htonl(NFT_OBJECT_COUNTER));
    struct nlattr *counts = mnl_attr_nest_start(message, NFTA_OBJ_DATA);
    put_counts(message, has, step);
    mnl_attr_nest_end(message, counts);
}

/* The rest of a step, or none of it: an error, an end, something else than was asked for. */
static void put_control(struct nlmsghdr *message, struct script_step *step)
{
    uint8_t bytes[8];
    size_t n = take_byte(step) % (sizeof(bytes) + 1);
    message->nlmsg_type = take_byte(step) % NLMSG_MIN_TYPE;
    take(step, bytes, n);
    memcpy(mnl_nlmsg_put_extra_header(message, n), bytes, n);
    message->nlmsg_len ^= take_byte(step) & 0x80 ? 0x80000000u : 0;
}

static void put(struct nlmsghdr *message, struct script_step *step)
{
    if (step->what % 5 == 4) {
        put_control(message, step);
        return;
    }
    message->nlmsg_type = (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | (asked - 1)); /* …NEW… */
    message->nlmsg_flags = step->what & 0x80 ? NLM_F_DUMP_INTR : NLM_F_MULTI;
    struct nfgenmsg *more = mnl_nlmsg_put_extra_header(message, sizeof(*more));
    *more = (struct nfgenmsg){.nfgen_family = NFPROTO_INET};
    if (asked == NFT_MSG_GETSETELEM)
        put_elements(message, step);
    else if (asked == NFT_MSG_GETOBJ)
        put_counter(message, step);
    else if (take_byte(step) & 1)
        put_number(message, asked == NFT_MSG_GETRULE ? NFTA_RULE_HANDLE : NFTA_TABLE_HANDLE, step);
}

/* Between attributes stands nothing that was in memory before. */
static void gaps_check(const struct nlmsghdr *request)
{
    const char *end = mnl_nlmsg_get_payload_tail(request);
    const struct nlattr *attribute = mnl_nlmsg_get_payload_offset(request, sizeof(struct nfgenmsg));
    for (; mnl_attr_ok(attribute, (int)(end - (const char *)attribute));
         attribute = mnl_attr_next(attribute))
        for (int i = attribute->nla_len; i < MNL_ALIGN(attribute->nla_len); i++)
            if (((const uint8_t *)attribute)[i])
                abort();
}

/* In the place of libmnl's (the linker's --wrap). */
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *sock, const void *bytes, size_t n);
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *sock, const void *bytes, size_t n)
{
    const struct nlmsghdr *request = bytes;
    (void)sock;
    asked = NFNL_MSG_TYPE(request->nlmsg_type);
    if (asked != NFNL_MSG_BATCH_BEGIN)
        gaps_check(request);
    return (ssize_t)n;
}

ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *sock, void *buffer, size_t size);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *sock, void *buffer, size_t size)
{
    static const uint8_t end[] = {4, NLMSG_DONE}; /* as put_control takes it */
    static char room[MESSAGE];
    struct script_step step;
    (void)sock;
    if (!script_next(&script, &step))
        step = (struct script_step){4, end, sizeof(end)};
    struct nlmsghdr *message = mnl_nlmsg_put_header(room);
    put(message, &step);
    size_t n = message->nlmsg_len & 0x7fffffff;
    if (n > size || n > sizeof(room))
        abort();
    memcpy(buffer, room, n);
    return (ssize_t)n;
}

/* ---- what we make of them ---- */

static struct mark *begin(void)
{
    static const struct mark_config config = {.flows_max = 64};
    struct mark *mark = calloc(1, sizeof(*mark));
    struct err err;
    if (!mark || nft_open(&mark->nft, &err) < 0)
        abort();
    mark->config = &config;
    mark_nft_tables("duopoly-fuzz", false, &mark->wish);
    return mark;
}

static void end(struct mark *mark)
{
    nft_close(mark->nft);
    mark_nft_forget_tasks(&mark->tasks);
    mark_nft_forget_tasks(&mark->received);
    mark_nft_forget_singles(&mark->singles);
    free(mark);
}

static void check_words(const struct mark *mark)
{
    if (mark->mode > 1)
        abort();
    for (const struct task *task = mark->tasks; task; task = task->hh.next)
        for (int mode = 0; mode < 2; mode++) {
            uint8_t level = (uint8_t)(task->word >> 8 * mode);
            if (level >= MARK_LEVELS && level != MARK_UNMARKED)
                abort();
        }
}

static void counters_try(struct mark *mark)
{
    struct nft_counter counters[COUNTERS];
    uint32_t n = 0;
    if (nft_counters(mark->nft, mark_nft_state(mark), counters, COUNTERS, &n, NULL) < 0)
        return;
    if (n > COUNTERS)
        abort();
    while (n-- > 0)
        if (!memchr(counters[n].name, 0, NFT_NAME))
            abort();
}

static void elements_try(struct mark *mark)
{
    struct nft_element *elements;
    uint32_t n = 0;
    if (nft_elements(mark->nft, mark_nft_state(mark), "tasks", &elements, &n, NULL) < 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (elements[i].key_bytes > NFT_KEY || !memchr(elements[i].chain, 0, 16))
            abort();
    free(elements);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mark_stats stats = {0};
    struct err err = {0};
    uint64_t print;
    if (!size)
        return 0;
    script = (struct script){data + 1, size - 1};
    struct mark *mark = begin();
    switch (*data % 6) {
    case 0:
        if (mark_nft_take_over(mark, &err) >= 0)
            check_words(mark);
        else if (!err.text[0])
            abort();
        break;
    case 1:
        mark_nft_read_stats(mark, &stats, &err);
        break;
    case 2:
        mark_nft_read_received(mark, &err);
        break;
    case 3:
        nft_table_print(mark->nft, mark_nft_state(mark), &print, &err);
        break;
    case 4:
        counters_try(mark);
        break;
    default:
        elements_try(mark);
    }
    end(mark);
    return 0;
}
