#include "hostagent/switches/ovs/stream.h"

#include "lib/now.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WHERE 256

struct stream_tls {
    SSL_CTX *context;
};

struct stream {
    char where[WHERE];
    int fd;
    SSL *ssl; /* NULL: in plain text */
    bool connected, wants_write;
};

/* HOST and PORT of tcp: and ssl:; −EINVAL if there are none. */
static int split(const char *where, char host[WHERE], char port[WHERE])
{
    const char *begin = where + 4, *colon = strrchr(begin, ':');
    if (!colon || colon == begin || !colon[1] || strlen(begin) >= WHERE)
        return -EINVAL;
    size_t n = (size_t)(colon - begin);
    bool brackets = begin[0] == '[' && begin[n - 1] == ']';
    snprintf(host, WHERE, "%.*s", (int)(brackets ? n - 2 : n), begin + brackets);
    snprintf(port, WHERE, "%s", colon + 1);
    return strspn(port, "0123456789") == strlen(port) ? 0 : -EINVAL;
}

int stream_check(const char *where, struct err *err)
{
    char host[WHERE], port[WHERE];
    struct sockaddr_un name;
    size_t n = strlen(where);
    if (strncmp(where, "unix:", 5) == 0 && where[5] == '/' && n - 5 < sizeof(name.sun_path))
        return 0;
    if ((strncmp(where, "tcp:", 4) == 0 || strncmp(where, "ssl:", 4) == 0) && n < WHERE &&
        split(where, host, port) == 0)
        return 0;
    return err_set(err, EINVAL,
                   "'%s' is no place of a switch: unix:/PATH, tcp:HOST:PORT or ssl:HOST:PORT",
                   where);
}

static int tls_err(struct err *err, const char *where, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *why = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return err_set(err, EPROTO, "%s: %s%s%s", where, what, why ? ": " : "", why ? why : "");
}

static int read_tls(SSL_CTX *context, const char *ca, const char *certificate,
                    const char *private_key, struct err *err)
{
    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
        return tls_err(err, ca, "TLS cannot begin");
    if (SSL_CTX_load_verify_locations(context, ca, NULL) != 1)
        return tls_err(err, ca, "no file of certificates to trust (switch.ca)");
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
        return tls_err(err, certificate, "no certificate (switch.certificate)");
    if (SSL_CTX_use_PrivateKey_file(context, private_key, SSL_FILETYPE_PEM) != 1)
        return tls_err(err, private_key, "not the certificate's key (switch.private_key)");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return 0;
}

int stream_tls_open(const char *ca, const char *certificate, const char *private_key,
                    struct stream_tls **ret_tls, struct err *err)
{
    struct stream_tls *tls = calloc(1, sizeof(*tls));
    if (!tls)
        return err_sys(err, ENOMEM, "TLS");
    ERR_clear_error();
    tls->context = SSL_CTX_new(TLS_client_method());
    int r = read_tls(tls->context, ca, certificate, private_key, err);
    if (r < 0) {
        stream_tls_close(tls);
        return r;
    }
    *ret_tls = tls;
    return 0;
}

void stream_tls_close(struct stream_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    free(tls);
}

static int begin_tls(struct stream *stream, struct stream_tls *tls, struct err *err)
{
    ERR_clear_error();
    stream->ssl = SSL_new(tls->context);
    if (!stream->ssl || SSL_set_fd(stream->ssl, stream->fd) != 1)
        return tls_err(err, stream->where, "TLS cannot begin");
    SSL_set_connect_state(stream->ssl);
    return 0;
}

static int begin(struct stream *stream, const struct sockaddr *address, socklen_t n,
                 struct err *err)
{
    int one = 1;
    stream->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (stream->fd < 0)
        return err_sys(err, errno, "%s", stream->where);
    if (address->sa_family != AF_UNIX)
        setsockopt(stream->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(stream->fd, address, n) < 0 && errno != EINPROGRESS)
        return err_sys(err, errno, "%s", stream->where);
    stream->wants_write = true;
    return 0;
}

static int begin_unix(struct stream *stream, struct err *err)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof(name.sun_path), "%s", stream->where + 5);
    return begin(stream, (struct sockaddr *)&name, sizeof(name), err);
}

/* WHY: only numeric addresses; a name server may take longer than everything else together. */
static int begin_ip(struct stream *stream, struct err *err)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[WHERE], port[WHERE];
    split(stream->where, host, port);
    int r = getaddrinfo(host, port, &hints, &found);
    if (r != 0)
        return err_set(err, EINVAL, "%s: an address in numbers is wanted (%s)", stream->where,
                       gai_strerror(r));
    r = begin(stream, found->ai_addr, found->ai_addrlen, err);
    freeaddrinfo(found);
    return r;
}

int stream_open(const char *where, struct stream_tls *tls, struct stream **ret_stream,
                struct err *err)
{
    int r = stream_check(where, err);
    if (r < 0)
        return r;
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return err_sys(err, ENOMEM, "%s", where);
    snprintf(stream->where, sizeof(stream->where), "%s", where);
    stream->fd = -1;
    r = where[0] == 'u' ? begin_unix(stream, err) : begin_ip(stream, err);
    if (r >= 0 && where[0] == 's')
        r = begin_tls(stream, tls, err);
    if (r < 0) {
        stream_close(stream);
        return r;
    }
    *ret_stream = stream;
    return 0;
}

void stream_close(struct stream *stream)
{
    if (!stream)
        return;
    SSL_free(stream->ssl);
    if (stream->fd >= 0)
        close(stream->fd);
    free(stream);
}

/* The result of a call of OpenSSL: 0: try again, −errno. */
static int tls_result(struct stream *stream, int n, const char *what, struct err *err)
{
    int why = SSL_get_error(stream->ssl, n);
    stream->wants_write = why == SSL_ERROR_WANT_WRITE;
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        return 0;
    long verified = SSL_get_verify_result(stream->ssl);
    if (verified != X509_V_OK) {
        ERR_clear_error();
        return err_set(err, EPROTO, "%s: its certificate is not to be trusted by switch.ca: %s",
                       stream->where, X509_verify_cert_error_string(verified));
    }
    if (why == SSL_ERROR_ZERO_RETURN || (why == SSL_ERROR_SYSCALL && !ERR_peek_error()))
        return err_set(err, ECONNRESET,
                       "%s: the switch ended the connection: does it believe switch.certificate?",
                       stream->where);
    return tls_err(err, stream->where, what);
}

int stream_step(struct stream *stream, struct err *err)
{
    struct pollfd poll_of = {.fd = stream->fd, .events = POLLOUT};
    int code = 0;
    socklen_t n = sizeof(code);
    if (stream->connected)
        return 1;
    if (poll(&poll_of, 1, 0) == 0)
        return 0;
    if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &code, &n) < 0 || code)
        return err_sys(err, code ? code : errno, "%s", stream->where);
    stream->wants_write = false;
    if (stream->ssl) {
        ERR_clear_error();
        int r = SSL_do_handshake(stream->ssl);
        if (r != 1)
            return tls_result(stream, r, "no TLS with it", err);
    }
    stream->connected = true;
    return 1;
}

/* 0 when the events came, −ETIMEDOUT. */
static int wait_for(struct stream *stream, short events, uint64_t until_ns, struct err *err)
{
    for (;;) {
        struct pollfd poll_of = {.fd = stream->fd, .events = events};
        uint64_t now = now_ns(CLOCK_MONOTONIC);
        int left_ms = now < until_ns ? (int)((until_ns - now + 999999) / 1000000) : 0;
        int n = poll(&poll_of, 1, left_ms);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return err_sys(err, errno, "%s", stream->where);
        if (n == 0)
            return err_set(err, ETIMEDOUT, "%s: the switch does not answer in time", stream->where);
    }
}

static uint64_t until(int wait_ms)
{
    return now_ns(CLOCK_MONOTONIC) + (uint64_t)wait_ms * 1000000;
}

int stream_connect(struct stream *stream, int wait_ms, struct err *err)
{
    uint64_t until_ns = until(wait_ms);
    int r = stream_step(stream, err);
    while (r == 0) {
        r = wait_for(stream, stream->wants_write ? POLLOUT : POLLIN, until_ns, err);
        if (r == 0)
            r = stream_step(stream, err);
    }
    return r < 0 ? r : 0;
}

static int ended(const struct stream *stream, struct err *err)
{
    return err_set(err, ECONNRESET, "%s: the switch ended the connection", stream->where);
}

int stream_read(struct stream *stream, void *buffer, size_t size, struct err *err)
{
    if (stream->ssl) {
        ERR_clear_error();
        int n = SSL_read(stream->ssl, buffer, size > INT32_MAX ? INT32_MAX : (int)size);
        return n > 0 ? n : tls_result(stream, n, "TLS broke off", err);
    }
    ssize_t n = recv(stream->fd, buffer, size > INT32_MAX ? INT32_MAX : size, 0);
    if (n > 0)
        return (int)n;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0 && errno != ECONNRESET)
        return err_sys(err, errno, "%s", stream->where);
    return ended(stream, err);
}

static int write_some(struct stream *stream, const void *bytes, size_t n, struct err *err)
{
    if (stream->ssl) {
        ERR_clear_error();
        int done = SSL_write(stream->ssl, bytes, n > INT32_MAX ? INT32_MAX : (int)n);
        return done > 0 ? done : tls_result(stream, done, "TLS broke off", err);
    }
    ssize_t done = send(stream->fd, bytes, n > INT32_MAX ? INT32_MAX : n, MSG_NOSIGNAL);
    if (done >= 0)
        return (int)done;
    stream->wants_write = errno == EAGAIN;
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    return errno == EPIPE || errno == ECONNRESET ? ended(stream, err)
                                                 : err_sys(err, errno, "%s", stream->where);
}

int stream_write(struct stream *stream, const void *bytes, size_t n, int wait_ms, struct err *err)
{
    const char *next = bytes;
    uint64_t until_ns = until(wait_ms);
    while (n) {
        int done = write_some(stream, next, n, err);
        if (done < 0)
            return done;
        next += done;
        n -= (size_t)done;
        int r = done ? 0 : wait_for(stream, stream->wants_write ? POLLOUT : POLLIN, until_ns, err);
        if (r < 0)
            return r;
    }
    stream->wants_write = false;
    return 0;
}

int stream_wait(struct stream *stream, uint64_t until_ns, struct err *err)
{
    if (stream->ssl && SSL_pending(stream->ssl) > 0)
        return 0;
    return wait_for(stream, POLLIN, until_ns, err);
}

const char *stream_where(const struct stream *stream)
{
    return stream->where;
}

int stream_fd(const struct stream *stream)
{
    return stream->fd;
}

uint32_t stream_events(const struct stream *stream)
{
    return !stream->connected && stream->wants_write ? EPOLLOUT : EPOLLIN;
}
