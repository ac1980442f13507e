#include "hostagent/tasks/counting.h"

#include "lib/log.h"
#include "lib/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct counting {
    struct starter_config config;
    sd_event *event;
    int socket; /* −1: there is no connection */
    sd_event_source *answers;
    bool failed; /* so it was said in the log */
    void (*on_count)(void *user, uint64_t attempt, uint64_t bytes);
    void *user;
};

static void part(struct counting *counting)
{
    counting->answers = sd_event_source_disable_unref(counting->answers);
    if (counting->socket >= 0)
        close(counting->socket);
    counting->socket = -1;
}

static void take_answer(const struct counting *counting, const char *text)
{
    uint64_t attempt, bytes;
    const char *end = number_take(text, UINT64_MAX, &attempt);
    if (end && *end == ' ' && number_read(end + 1, 0, UINT64_MAX, &bytes) == 0)
        counting->on_count(counting->user, attempt, bytes);
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct counting *counting = arg;
    char text[ATTEMPT_MESSAGE + 1];
    (void)source;
    (void)events;
    ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        part(counting);
        return 0;
    }
    text[n] = '\0';
    take_answer(counting, text);
    return 0;
}

static int say_failed(struct counting *counting, const struct err *err)
{
    if (!counting->failed)
        log_warning(LOG_FAULT_CONFIGURATION,
                    "what tasks read from the disk is not seen, so their profiles say it: %s",
                    err->text);
    counting->failed = true;
    return -1;
}

static int begin(struct counting *counting)
{
    char text[ATTEMPT_ORDER];
    struct err err = {0};
    int n = attempt_format_order(&(struct attempt_order){.counts = true}, text);
    counting->socket = starter_connect(&counting->config, &err);
    if (counting->socket < 0)
        return say_failed(counting, &err);
    if (send(counting->socket, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
        sd_event_add_io(counting->event, &counting->answers, counting->socket, EPOLLIN, on_answer,
                        counting) < 0) {
        part(counting);
        err_set(&err, EIO, "duopoly-task takes no requests");
        return say_failed(counting, &err);
    }
    counting->failed = false;
    return 0;
}

void counting_ask(struct counting *counting, uint64_t attempt, const char *pids)
{
    char text[ATTEMPT_COUNT_REQUEST];
    if (!counting || (counting->socket < 0 && begin(counting) < 0))
        return;
    int n = snprintf(text, sizeof(text), "%" PRIu64 "\n%s", attempt, pids);
    size_t size = n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1;
    if (send(counting->socket, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN)
        part(counting);
}

int counting_open(const struct starter_config *config, sd_event *event,
                  void (*on_count)(void *user, uint64_t attempt, uint64_t bytes), void *user,
                  struct counting **ret_counting, struct err *err)
{
    struct counting *counting = calloc(1, sizeof(*counting));
    if (!counting)
        return err_sys(err, ENOMEM, "the counter of what tasks read");
    *counting = (struct counting){.config = *config,
                                  .event = sd_event_ref(event),
                                  .socket = -1,
                                  .on_count = on_count,
                                  .user = user};
    *ret_counting = counting;
    return 0;
}

void counting_close(struct counting *counting)
{
    if (!counting)
        return;
    part(counting);
    sd_event_unref(counting->event);
    free(counting);
}
