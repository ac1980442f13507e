#include "controller/metrics/metrics.h"

#include "controller/metrics/scrape.h"
#include "controller/metrics/token.h"
#include "controller/portions.h"
#include "lib/invariant.h"
#include "lib/now.h"
#include "lib/reach.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMORY     8192u /* bytes, of a connection: request and headers of the answer */
#define SECOND_NS  UINT64_C(1000000000)
#define AGE        10u /* times what it took to make a text, for which it is given again */
#define WAITING    16  /* connections that the kernel keeps until they are taken */
#define EXPOSITION "text/plain; version=0.0.4; charset=utf-8"
#define WORDS      "text/plain; charset=utf-8"

/* Since when it has had no answer; 0: there is no such connection. */
struct place {
    uint64_t since_ns;
    int fd;
};

struct metrics {
    sd_event_source *io, *timer, *late;
    struct place places[METRICS_CONNECTIONS];
    struct MHD_Daemon *daemon;
    struct listing_sources sources;
    uint32_t hosts;
    char token[TOKEN_MAX + 1];
    char address[NI_MAXHOST + NI_MAXSERV + 4];
    struct MHD_Response *text; /* the last of /metrics; NULL: none */
    uint64_t made_ns, took_ns;
    uint32_t texts; /* that are not freed */
    struct portions *portions;
    struct scraping *scraping; /* the text that is being made, since then; NULL: none */
    uint64_t began_ns;
    struct MHD_Connection *waiting[METRICS_CONNECTIONS]; /* suspended until it is made */
    unsigned n_waiting;
};

/* What goes back to a client. */
struct answer {
    unsigned status;
    const char *words;
    const char *header, *value; /* one more; NULL: none */
};

static enum MHD_Result answer_words(struct MHD_Connection *connection, const struct answer *answer)
{
    char line[160];
    int n = snprintf(line, sizeof(line), "%s\n", answer->words);
    struct MHD_Response *response =
        MHD_create_response_from_buffer((size_t)n, line, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, WORDS);
    if (answer->header)
        MHD_add_response_header(response, answer->header, answer->value);
    enum MHD_Result r = MHD_queue_response(connection, answer->status, response);
    MHD_destroy_response(response);
    return r;
}

/* The text and a count of it, which is freed with it. */
struct held_text {
    struct metrics *metrics;
    char *text;
};

static void text_free(void *user)
{
    struct held_text *held = user;
    held->metrics->texts--;
    free(held->text);
    free(held);
}

static void text_drop(struct metrics *metrics)
{
    if (metrics->text)
        MHD_destroy_response(metrics->text);
    metrics->text = NULL;
}

/* False: there is no room for another one. */
static bool text_begin(struct metrics *metrics)
{
    text_drop(metrics);
    if (metrics->texts == METRICS_TEXTS)
        return false;
    metrics->began_ns = now_ns(CLOCK_MONOTONIC);
    metrics->scraping = scrape_begin(&metrics->sources, metrics->hosts);
    if (metrics->scraping)
        portions_begin(metrics->portions);
    return metrics->scraping != NULL;
}

/* Takes the text, of which NULL stays NULL. */
static struct MHD_Response *text_hold(struct metrics *metrics, char *text, size_t size)
{
    struct held_text *held = text ? malloc(sizeof(*held)) : NULL;
    struct MHD_Response *response =
        held ? MHD_create_response_from_buffer_with_free_callback_cls(size, text, text_free, held)
             : NULL;
    if (!response) {
        free(held);
        free(text);
        return NULL;
    }
    *held = (struct held_text){metrics, text};
    metrics->texts++;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, EXPOSITION);
    return response;
}

/* Without memory there is none, for as long as there would be one. */
static void text_end(struct metrics *metrics)
{
    size_t size = 0;
    char *text = scrape_end(metrics->scraping, &size);
    metrics->scraping = NULL;
    metrics->text = text_hold(metrics, text, size);
    metrics->made_ns = now_ns(CLOCK_MONOTONIC);
    metrics->took_ns = metrics->made_ns - metrics->began_ns;
}

/* Whether the last text is for who asks now. */
static bool text_serves(const struct metrics *metrics)
{
    return !metrics->scraping && (metrics->n_waiting || now_ns(CLOCK_MONOTONIC) - metrics->made_ns <
                                                            AGE * metrics->took_ns);
}

/* The request's state says that it waited, so it does so once. */
static void wait_begin(struct metrics *metrics, struct MHD_Connection *connection, void **state)
{
    assert(metrics->n_waiting < METRICS_CONNECTIONS);
    *state = metrics->waiting;
    metrics->waiting[metrics->n_waiting++] = connection;
    MHD_suspend_connection(connection);
}

static enum MHD_Result metrics_answer(struct metrics *metrics, struct MHD_Connection *connection,
                                      void **state)
{
    static const struct answer who = {MHD_HTTP_UNAUTHORIZED,
                                      "show the token of this port: Authorization: Bearer TOKEN",
                                      MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer"};
    static const struct answer busy = {MHD_HTTP_SERVICE_UNAVAILABLE,
                                       "earlier answers are still being read: ask again later",
                                       MHD_HTTP_HEADER_RETRY_AFTER, "10"};
    const bool waited = *state == metrics->waiting;
    const char *shown =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    if (!token_is_shown(metrics->token, shown))
        return answer_words(connection, &who);
    if (!waited && !text_serves(metrics) && (metrics->scraping || text_begin(metrics))) {
        wait_begin(metrics, connection, state);
        return MHD_YES;
    }
    return metrics->text ? MHD_queue_response(connection, MHD_HTTP_OK, metrics->text)
                         : answer_words(connection, &busy);
}

static enum MHD_Result health_answer(struct metrics *metrics, struct MHD_Connection *connection,
                                     void **state)
{
    static const struct answer ok = {.status = MHD_HTTP_OK, .words = "ok"};
    (void)metrics, (void)state;
    return answer_words(connection, &ok);
}

static enum MHD_Result ready_answer(struct metrics *metrics, struct MHD_Connection *connection,
                                    void **state)
{
    (void)state;
    const char *why = scrape_unready(metrics->sources.parts);
    const struct answer answer = {.status = why ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK,
                                  .words = why ? why : "ready"};
    return answer_words(connection, &answer);
}

static const struct page {
    const char *path;
    /* *state: of the request. */
    enum MHD_Result (*answer)(struct metrics *metrics, struct MHD_Connection *connection,
                              void **state);
} pages[] = {{"/metrics", metrics_answer},
             {"/healthz", health_answer},
             {"/readyz", ready_answer},
             {NULL, NULL}};

/* What is wrong with a request, before its body is read; NULL: nothing. */
static const struct answer *refusal_of(struct MHD_Connection *connection, const char *method)
{
    static const struct answer other = {MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is answered",
                                        MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET};
    static const struct answer body = {.status = MHD_HTTP_CONTENT_TOO_LARGE,
                                       .words = "a request has no body here"};
    const char *length =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return &other;
    if ((length && strcmp(length, "0") != 0) ||
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        return &body;
    return NULL;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    static const struct answer unknown = {.status = MHD_HTTP_NOT_FOUND,
                                          .words = "there are /metrics, /healthz and /readyz"};
    struct metrics *metrics = user;
    (void)version, (void)upload;
    if (!*state) { /* its headers have come; the next call is at its end, others when it waited */
        const struct answer *refusal = refusal_of(connection, method);
        *state = metrics;
        return refusal ? answer_words(connection, refusal) : MHD_YES;
    }
    if (*upload_size)
        return MHD_NO;
    for (const struct page *page = pages; page->path; page++)
        if (strcmp(path, page->path) == 0)
            return page->answer(metrics, connection, state);
    return answer_words(connection, &unknown);
}

static uint64_t due_ns(const struct place *place)
{
    return place->since_ns + METRICS_WHOLE_S * SECOND_NS;
}

/* At the end of what has to end first. */
static void late_arm(struct metrics *metrics)
{
    uint64_t first_ns = UINT64_MAX;
    if (!metrics->late)
        return;
    for (unsigned i = 0; i < METRICS_CONNECTIONS; i++)
        if (metrics->places[i].since_ns && due_ns(&metrics->places[i]) < first_ns)
            first_ns = due_ns(&metrics->places[i]);
    sd_event_source_set_time(metrics->late, first_ns / 1000 + 1);
    sd_event_source_set_enabled(metrics->late,
                                first_ns == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

/* libmicrohttpd sees their end as if the peer had ended them. */
static int on_late(sd_event_source *source, uint64_t usec, void *user)
{
    struct metrics *metrics = user;
    const uint64_t now = now_ns(CLOCK_MONOTONIC);
    (void)source, (void)usec;
    for (unsigned i = 0; i < METRICS_CONNECTIONS; i++)
        if (metrics->places[i].since_ns && due_ns(&metrics->places[i]) <= now) {
            shutdown(metrics->places[i].fd, SHUT_RDWR);
            metrics->places[i].since_ns = 0;
        }
    late_arm(metrics);
    return 0;
}

static void on_connection(void *user, struct MHD_Connection *connection, void **of_socket,
                          enum MHD_ConnectionNotificationCode what)
{
    struct metrics *metrics = user;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct place *place = *of_socket;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED && place)
        *place = (struct place){0};
    for (unsigned i = 0;
         what == MHD_CONNECTION_NOTIFY_STARTED && info && !*of_socket && i < METRICS_CONNECTIONS;
         i++)
        if (!metrics->places[i].fd) {
            metrics->places[i] = (struct place){now_ns(CLOCK_MONOTONIC), info->connect_fd};
            *of_socket = &metrics->places[i];
        }
    late_arm(metrics);
}

static void on_answered(void *user, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode why)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct place *place = info ? info->socket_context : NULL;
    (void)user, (void)state, (void)why;
    if (place && place->since_ns)
        place->since_ns = now_ns(CLOCK_MONOTONIC);
}

/* What libmicrohttpd has to do now, and when it wants to be called next. */
static int serve(struct metrics *metrics)
{
    MHD_UNSIGNED_LONG_LONG ms;
    MHD_run(metrics->daemon);
    if (MHD_get_timeout(metrics->daemon, &ms) != MHD_YES)
        return sd_event_source_set_enabled(metrics->timer, SD_EVENT_OFF);
    int r = sd_event_source_set_time_relative(metrics->timer, ms * 1000);
    return r < 0 ? r : sd_event_source_set_enabled(metrics->timer, SD_EVENT_ONESHOT);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *user)
{
    (void)source, (void)fd, (void)events;
    return serve(user);
}

static int on_time(sd_event_source *source, uint64_t usec, void *user)
{
    (void)source, (void)usec;
    return serve(user);
}

/* A text grows, or who waited for it gets it, one after another: to each goes as much as the kernel
 * takes. */
static bool on_portion(void *user)
{
    struct metrics *metrics = user;
    if (metrics->scraping) {
        if (!scrape_go_on(metrics->scraping))
            text_end(metrics);
    } else if (metrics->n_waiting) {
        MHD_resume_connection(metrics->waiting[metrics->n_waiting - 1]);
        serve(metrics);
        metrics->n_waiting--; /* WHY no sooner: until it has its text, none is begun */
    }
    return metrics->scraping || metrics->n_waiting;
}

/* The address to listen on: numbers, or * for all; port * is a free one. */
static int address_read(const char *listen, struct reach_address *ret_at, struct err *err)
{
    char endpoint[sizeof(((struct settings *)0)->metrics.listen) + 8];
    struct reach_found found;
    const char *colon = strrchr(listen, ':');
    const bool free_port = strcmp(colon, ":*") == 0;
    if (strncmp(listen, "tcp://*:", 8) == 0)
        snprintf(endpoint, sizeof(endpoint), "tcp://[::]%s", free_port ? ":1" : colon);
    else
        snprintf(endpoint, sizeof(endpoint), "%.*s%s", (int)(colon - listen), listen,
                 free_port ? ":1" : colon);
    int r = reach_read(endpoint, &found, err);
    if (r < 0)
        return r == -EAGAIN ? err_set(err, EINVAL,
                                      "metrics: listen: %s names no address of this host, as "
                                      "tcp://127.0.0.1:7601 does",
                                      listen)
                            : r;
    *ret_at = found.addresses[0];
    if (free_port && reach_is_v6(ret_at))
        ret_at->at.v6.sin6_port = 0;
    else if (free_port)
        ret_at->at.v4.sin_port = 0;
    return 0;
}

static int socket_open(const char *listen_on, int *ret_fd, struct err *err)
{
    const int yes = 1, no = 0;
    struct reach_address at;
    int r = address_read(listen_on, &at, err);
    if (r < 0)
        return r;
    int fd = socket(at.at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (fd >= 0 && reach_is_v6(&at))
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (fd < 0 || bind(fd, &at.at.any, at.length) < 0 || listen(fd, WAITING) < 0) {
        r = err_sys(err, errno, "metrics: listen: %s", listen_on);
        if (fd >= 0)
            close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static void address_say(struct metrics *metrics, int fd)
{
    struct reach_address at = {.length = sizeof(at.at)};
    char text[REACH_TEXT];
    getsockname(fd, &at.at.any, &at.length);
    reach_print(&at, text);
    snprintf(metrics->address, sizeof(metrics->address), "%s", strstr(text, "//") + 2);
}

/* Takes the descriptor. */
static int daemon_begin(struct metrics *metrics, int fd, struct err *err)
{
    metrics->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, metrics,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, METRICS_CONNECTIONS,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, metrics, MHD_OPTION_NOTIFY_COMPLETED,
        on_answered, metrics, MHD_OPTION_CONNECTION_TIMEOUT, METRICS_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
    if (metrics->daemon)
        return 0;
    close(fd);
    return err_set(err, EIO, "metrics: libmicrohttpd does not begin to listen");
}

static int sources_add(struct metrics *metrics, sd_event *loop, struct err *err)
{
    int r = portions_open(loop, on_portion, metrics, &metrics->portions, err);
    if (r < 0)
        return r;
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(metrics->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    r = info ? sd_event_add_io(loop, &metrics->io, info->epoll_fd, EPOLLIN, on_io, metrics) : -EIO;
    if (r >= 0)
        r = sd_event_add_time_relative(loop, &metrics->timer, CLOCK_MONOTONIC, 0, 0, on_time,
                                       metrics);
    if (r >= 0)
        r = sd_event_add_time(loop, &metrics->late, CLOCK_MONOTONIC, UINT64_MAX, 1000000, on_late,
                              metrics);
    return r < 0 ? err_sys(err, -r, "metrics: the loop") : 0;
}

static bool is_off(const struct settings *settings)
{
    return strcmp(settings->metrics.listen, "none") == 0;
}

uint32_t metrics_connections(const struct settings *settings)
{
    return is_off(settings) ? 0 : METRICS_CONNECTIONS;
}

int metrics_check(const struct settings *settings, struct err *err)
{
    char token[TOKEN_MAX + 1];
    struct reach_address at;
    if (is_off(settings))
        return 0;
    int r = address_read(settings->metrics.listen, &at, err);
    return r < 0 ? r : token_read(settings->metrics.token, token, err);
}

int metrics_open(sd_event *loop, const struct settings *settings, struct metrics **ret_metrics,
                 struct err *err)
{
    const struct settings_metrics *wanted = &settings->metrics;
    int fd = -1;
    *ret_metrics = NULL;
    if (is_off(settings))
        return 0;
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    if (!metrics)
        return err_sys(err, ENOMEM, "metrics");
    metrics->hosts = (uint32_t)wanted->hosts;
    int r = token_read(wanted->token, metrics->token, err);
    if (r == 0 && (r = socket_open(wanted->listen, &fd, err)) == 0) {
        address_say(metrics, fd);
        if ((r = daemon_begin(metrics, fd, err)) == 0)
            r = sources_add(metrics, loop, err);
    }
    if (r < 0) {
        metrics_close(metrics);
        return r;
    }
    *ret_metrics = metrics;
    return 0;
}

void metrics_attach(struct metrics *metrics, const struct listing_sources *sources)
{
    if (metrics)
        metrics->sources = *sources;
}

const char *metrics_address(const struct metrics *metrics)
{
    return metrics->address;
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics)
        return;
    sd_event_source_disable_unref(metrics->io);
    sd_event_source_disable_unref(metrics->timer);
    sd_event_source_disable_unref(metrics->late);
    metrics->late = NULL;
    portions_close(metrics->portions);
    while (metrics->n_waiting)
        MHD_resume_connection(metrics->waiting[--metrics->n_waiting]);
    if (metrics->daemon)
        MHD_stop_daemon(metrics->daemon);
    text_drop(metrics);
    scrape_drop(metrics->scraping);
    explicit_bzero(metrics->token, sizeof(metrics->token));
    free(metrics);
}
