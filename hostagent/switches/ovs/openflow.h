/* The messages of OpenFlow 1.3 (ONF TS-006) that are needed to put packets into queues, and flows:
 * a structure describes our flows completely, other flows as far as they matter to us. Pure;
 * nothing allocates; every length is checked before it is used.
 *
 * Numbers on the wire are big-endian. Flows are compared by structure: a switch may send the fields
 * of a match in another order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OF_VERSION    4
#define OF_HEADER     8
#define OF_MOST       65535 /* bytes of a message */
#define OF_FLOW_BYTES 160   /* of a change of a flow of ours */
#define OF_NO_QUEUE   (-1)
#define OF_ANY_TABLE  255

#define OF_VERSIONS_WORDS 40 /* bytes that they need at most */

enum of_type {
    OF_HELLO = 0,
    OF_ERROR = 1,
    OF_ECHO = 2,
    OF_ECHO_REPLY = 3,
    OF_SET_CONFIG = 9,
    OF_FLOW_REMOVED = 11,
    OF_FLOW_MOD = 14,
    OF_MULTIPART = 18,
    OF_MULTIPART_REPLY = 19,
    OF_BARRIER = 20,
    OF_BARRIER_REPLY = 21,
    OF_SET_ASYNC = 28,
};

enum of_multipart { OF_MULTIPART_FLOW = 1, OF_MULTIPART_QUEUE = 5 };

struct of_header {
    uint8_t version, type;
    uint16_t length; /* with the header; ≥ OF_HEADER */
    uint32_t xid;
};

/* What a packet must match; 0: anything. */
struct of_match {
    uint16_t eth_type;
    bool has_dscp;
    uint8_t dscp;
    uint8_t proto;
    uint16_t tcp_src, tcp_dst;
    uint8_t icmp6_type;
    bool other; /* it also matches on something else */
};

enum of_then { OF_NOTHING, OF_NORMAL, OF_GOTO, OF_OTHER };

struct of_flow {
    uint8_t table;
    uint16_t priority, flags;
    uint64_t cookie;
    struct of_match match;
    int32_t queue; /* OF_NO_QUEUE: none is set */
    enum of_then then;
    uint8_t next;      /* table of OF_GOTO */
    uint8_t jumps[32]; /* a bit for each table that it sends packets to */
};

#define OF_SEND_REMOVED 1 /* flags of our flows: their removal is reported */

enum of_command { OF_ADD = 0, OF_DELETE = 3, OF_DELETE_STRICT = 4 };

/* Each writes a message and returns its length. `buffer` has OF_FLOW_BYTES. */
size_t of_put_hello(uint8_t *buffer);
size_t of_put_header(uint8_t *buffer, enum of_type type, uint32_t xid); /* barrier */
/* Asks for reports of removed flows, and for no other unrequested messages: two messages. */
size_t of_put_wishes(uint8_t *buffer);
/* OF_DELETE: all of this cookie, whatever else `flow` says. */
size_t of_put_flow(uint8_t *buffer, uint32_t xid, enum of_command command,
                   const struct of_flow *flow);
size_t of_put_ask_flows(uint8_t *buffer, uint32_t xid, uint8_t table); /* OF_ANY_TABLE: of all */
size_t of_put_ask_queues(uint8_t *buffer, uint32_t xid);

/* −EBADMSG: this is not a header. Reads OF_HEADER bytes. */
int of_get_header(const uint8_t *bytes, struct of_header *ret_header);

/* The versions that the sender of this HELLO (a whole message) supports: bit OF_VERSION for 1.3,
 * and so on. Without a list of versions: all up to its own. */
uint32_t of_hello_versions(const uint8_t *message, size_t length);
/* In words, "1.0 and 1.4". */
const char *of_versions_words(uint32_t versions, char words[OF_VERSIONS_WORDS]);

/* A part of a multipart answer: its kind, and whether others follow. −EBADMSG. */
int of_get_part(const uint8_t *message, size_t length, uint16_t *ret_kind, bool *ret_more);

/* Reads the flow at *offset of a part (OF_PART_BEGIN for the first) and advances: 1; 0: there is no
 * more; −EBADMSG. */
#define OF_PART_BEGIN 16
int of_next_flow(const uint8_t *message, size_t length, size_t *offset, struct of_flow *ret_flow);

struct of_queue_stats {
    uint32_t port, queue;
    uint64_t bytes, packets;
};
int of_next_queue(const uint8_t *message, size_t length, size_t *offset,
                  struct of_queue_stats *ret_stats);

/* An error's type and code. −EBADMSG. */
int of_get_error(const uint8_t *message, size_t length, uint16_t *ret_type, uint16_t *ret_code);

bool of_same_match(const struct of_match *a, const struct of_match *b);
bool of_matches_all(const struct of_match *match);

/* "ip dscp 3", "arp", … */
void of_say_match(const struct of_match *match, char *text, size_t size);
