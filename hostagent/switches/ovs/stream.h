/* A byte stream to a switch: unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT (a HOST with colons stands
 * in brackets), as Open vSwitch writes them.
 *
 * Connecting goes step by step, so that a loop can wait for it; everything else waits never, or at
 * most for the given time. ssl: TLS 1.2 or newer; both ends show a certificate, and the switch's
 * must be signed by `ca`. Names in it are not compared, as in Open vSwitch's own programs: its
 * certificates name no hosts. One thread. */
#pragma once

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>

/* Certificates and key for ssl, read once: connecting again needs no files. */
struct stream_tls;

/* PEM files. −EINVAL if one is not. */
int stream_tls_open(const char *ca, const char *certificate, const char *private_key,
                    struct stream_tls **ret_tls, struct err *err);
void stream_tls_close(struct stream_tls *tls); /* takes NULL; after the streams with it */

struct stream;

/* Whether `where` is one of the three. −EINVAL with a sentence. */
int stream_check(const char *where, struct err *err);

/* Begins to connect. `tls` is needed when `where` is ssl, and borrowed until close. */
int stream_open(const char *where, struct stream_tls *tls, struct stream **ret_stream,
                struct err *err);
void stream_close(struct stream *stream); /* takes NULL */

/* 1: connected; 0: in progress. −errno: it failed for good. */
int stream_step(struct stream *stream, struct err *err);

/* The same within `wait_ms`: 0, or −ETIMEDOUT. */
int stream_connect(struct stream *stream, int wait_ms, struct err *err);

/* Reads what is there, up to `size` bytes; 0: nothing now. −ECONNRESET: the switch closed it. */
int stream_read(struct stream *stream, void *buffer, size_t size, struct err *err);

/* Writes all of it. −ETIMEDOUT: the switch does not read it within `wait_ms`. */
int stream_write(struct stream *stream, const void *bytes, size_t n, int wait_ms, struct err *err);

/* Waits until there may be something to read: 0, or −ETIMEDOUT at `until_ns` (CLOCK_MONOTONIC). */
int stream_wait(struct stream *stream, uint64_t until_ns, struct err *err);

const char *stream_where(const struct stream *stream);
int stream_fd(const struct stream *stream);
uint32_t stream_events(const struct stream *stream); /* to wait for: EPOLLIN, EPOLLOUT */
