/* Resolves a name without blocking the loop: getaddrinfo blocks a thread instead, which reports by
 * an eventfd. The thread cannot be ended while it waits: it owns half of the question. */
#include "lib/reach.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct reach_question {
    atomic_int holders; /* the thread and the asker */
    int done;           /* eventfd */
    char endpoint[REACH_ENDPOINT];
    int result; /* these three are the thread's until `done` */
    struct reach_found found;
    struct err err;
    sd_event_source *io; /* the rest belongs to the asker */
    void (*on_answer)(void *user, const struct reach_found *found, const struct err *err);
    void *user;
};

static void question_release(struct reach_question *question)
{
    if (atomic_fetch_sub(&question->holders, 1) > 1)
        return;
    if (question->done >= 0)
        close(question->done);
    free(question);
}

static void *ask(void *user)
{
    struct reach_question *question = user;
    const uint64_t one = 1;
    question->result = reach_find(question->endpoint, &question->found, &question->err);
    if (write(question->done, &one, sizeof(one)) != sizeof(one))
        abort(); /* an eventfd takes its first number always */
    question_release(question);
    return NULL;
}

static int on_done(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct reach_question *question = user;
    (void)source, (void)fd, (void)revents;
    question->io = sd_event_source_disable_unref(question->io);
    question->on_answer(question->user, question->result < 0 ? NULL : &question->found,
                        &question->err);
    question_release(question);
    return 0;
}

/* Detached, and with no signal of the program's. */
static int thread_start(struct reach_question *question)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    int code = pthread_attr_init(&attributes);
    if (code)
        return -code;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_store(&question->holders, 2);
    code = pthread_create(&thread, &attributes, ask, question);
    if (code)
        atomic_store(&question->holders, 1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -code;
}

int reach_ask(sd_event *loop, const char *endpoint,
              void (*on_answer)(void *user, const struct reach_found *found, const struct err *err),
              void *user, struct reach_question **ret_question, struct err *err)
{
    struct reach_question *question = calloc(1, sizeof(*question));
    if (!question)
        return err_sys(err, ENOMEM, "asking for %s", endpoint);
    question->holders = 1;
    question->on_answer = on_answer;
    question->user = user;
    snprintf(question->endpoint, sizeof(question->endpoint), "%s", endpoint);
    question->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = question->done < 0
                ? -errno
                : sd_event_add_io(loop, &question->io, question->done, EPOLLIN, on_done, question);
    if (r >= 0)
        r = thread_start(question);
    if (r < 0) {
        reach_forget(question);
        return err_sys(err, -r, "asking for %s", endpoint);
    }
    *ret_question = question;
    return 0;
}

void reach_forget(struct reach_question *question)
{
    if (!question)
        return;
    question->io = sd_event_source_disable_unref(question->io);
    question_release(question);
}
