/* How a client's messages reach the controller: a Unix socket (client_unix.c) or ZeroMQ with keys
 * (client_zmq.c). For lib/client*.c only. */
#pragma once

#include "lib/err.h"

#include <stdint.h>
#include <sys/types.h>

#define CLIENT_NAME 256

struct client_transport {
    void *wire;
    char name[CLIENT_NAME]; /* where the controller is, for sentences */
    /* Sends a whole message. −EAGAIN: no space for it now. */
    int (*send)(void *wire, const uint8_t *bytes, size_t length);
    /* The next message's length. −EAGAIN: there is none; 0, −ECONNRESET: the peer hung up. */
    ssize_t (*receive)(void *wire, uint8_t *buffer, size_t size);
    /* Waits until it can send (POLLOUT) or a message is there (POLLIN), until CLOCK_MONOTONIC's
     * deadline_ms; −1: for ever. −ETIMEDOUT. It may return early. */
    int (*wait)(void *wire, short events, int64_t deadline_ms);
    int (*fd)(void *wire);
    void (*close)(void *wire);
};

int64_t client_monotonic_ms(void);
/* How long a poll may wait; −1: for ever. */
int client_left_ms(int64_t deadline_ms);

int client_unix_open(const char *path, struct client_transport *ret_transport, struct err *err);
int client_zmq_open(const char *address, const char *key_path, int64_t deadline_ms,
                    struct client_transport *ret_transport, struct err *err);
