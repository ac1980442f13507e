/* Where an endpoint such as tcp://ctrl.example:7600 leads: the addresses of a name, of both families,
 * in the order in which they are to be tried (RFC 6724), and why one of them cannot be reached, which
 * ZeroMQ does not say.
 *
 * reach_find blocks while it asks for a name, as long as the system's resolver waits (resolv.conf);
 * reach_ask does not: a thread of its own asks. Nothing here logs. */
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
    uint32_t n; /* from 1 */
};

/* The addresses of `endpoint`; a name is asked for. −EINVAL if it is no tcp://HOST:PORT;
 * −EADDRNOTAVAIL if its name has no address, or nobody could be asked. */
int reach_find(const char *endpoint, struct reach_found *ret_found, struct err *err);

/* The same where nobody needs to be asked. −EAGAIN, without a sentence: it has a name. */
int reach_read(const char *endpoint, struct reach_found *ret_found, struct err *err);

struct reach_question;

/* As reach_find, without blocking: `on_answer` is called from the loop, once, with what was found or
 * NULL and the sentence (both borrowed); the question is over then. It may end the question's owner. */
int reach_ask(sd_event *loop, const char *endpoint,
              void (*on_answer)(void *user, const struct reach_found *found, const struct err *err),
              void *user, struct reach_question **ret_question, struct err *err);

/* Nobody waits for it any more; NULL is fine. The thread ends by itself. */
void reach_forget(struct reach_question *question);

/* "tcp://10.0.0.1:7600", "tcp://[fe80::1%eth0]:7600". */
void reach_print(const struct reach_address *address, char ret_text[REACH_TEXT]);

bool reach_is_v6(const struct reach_address *address);

/* Begins to connect, to learn why it does not go: a descriptor that becomes writable when it is known, or
 * −errno. */
int reach_try(const struct reach_address *address);

/* What became of it: 0 or −errno. Closes the descriptor. */
int reach_outcome(int fd);

/* Both, waiting `timeout_ms` at most. */
int reach_wait(const struct reach_address *address, int timeout_ms);

/* "tcp://10.0.0.1:7600: Connection refused (errno 111)" behind what is in text[size]; cut at its end. */
void reach_say(const struct reach_address *address, int code, char *text, size_t size);
