/* Resolves an endpoint such as tcp://ctrl.example:7600 to its addresses, of both families, in the
 * order in which to try them (RFC 6724), and finds out why an address cannot be reached, which
 * ZeroMQ does not say.
 *
 * reach_find blocks while it resolves a name, as long as the system's resolver waits (resolv.conf);
 * reach_ask resolves in a thread of its own. Nothing here logs. */
#pragma once

#include "lib/err.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#define REACH_MAX      8   /* addresses of one name; the rest are left out */
#define REACH_TEXT     96  /* bytes of an address as ZeroMQ takes it, with its NUL */
#define REACH_ENDPOINT 300 /* bytes of an endpoint, with its NUL */

struct reach_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at;
    socklen_t length;
};

struct reach_found {
    struct reach_address addresses[REACH_MAX];
    uint32_t n; /* ≥ 1 */
};

/* The addresses of `endpoint`; blocks to resolve a name. −EINVAL: not tcp://HOST:PORT;
 * −EADDRNOTAVAIL: the name has no address, or no resolver answered. */
int reach_find(const char *endpoint, struct reach_found *ret_found, struct err *err);

/* The same for a numeric address. −EAGAIN, without a sentence: it is a name. */
int reach_read(const char *endpoint, struct reach_found *ret_found, struct err *err);

struct reach_question;

/* As reach_find, without blocking: calls `on_answer` once, from the loop, with what was found or
 * with NULL and the sentence (both borrowed). The question is over then. The call may destroy the
 * question's owner. */
int reach_ask(sd_event *loop, const char *endpoint,
              void (*on_answer)(void *user, const struct reach_found *found, const struct err *err),
              void *user, struct reach_question **ret_question, struct err *err);

/* Abandons the question; NULL is fine. The thread ends by itself. */
void reach_forget(struct reach_question *question);

/* "tcp://10.0.0.1:7600", "tcp://[fe80::1%eth0]:7600". */
void reach_print(const struct reach_address *address, char ret_text[REACH_TEXT]);

bool reach_is_v6(const struct reach_address *address);

/* Begins a connection, to learn why it fails. Returns a descriptor that becomes writable when the
 * outcome is known, or −errno. */
int reach_try(const struct reach_address *address);

/* The outcome: 0 or −errno. Closes the descriptor. */
int reach_outcome(int fd);

/* reach_try and reach_outcome, waiting at most `timeout_ms`. */
int reach_wait(const struct reach_address *address, int timeout_ms);

/* Appends "tcp://10.0.0.1:7600: Connection refused (errno 111)" to text[size]; cut at its end. */
void reach_say(const struct reach_address *address, int code, char *text, size_t size);
