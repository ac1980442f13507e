#include "controller/clients/questions.h"

#include "lib/container_of.h"

#include <stdio.h>
#include <string.h>

static void end(struct question *question)
{
    timers_disarm(question->questions->timers, &question->timer);
    question->number = 0;
}

static void on_due(struct timer *timer, int64_t now_ns)
{
    struct question *question = container_of(timer, struct question, timer);
    struct questions *questions = question->questions;
    const struct question over = *question;
    (void)now_ns;
    question->number = 0;
    questions->late(questions->user, over.client, over.host);
}

void questions_init(struct questions *questions, struct timers *timers,
                    void (*late)(void *user, uint64_t client, const char *host), void *user)
{
    *questions = (struct questions){.timers = timers, .late = late, .user = user};
    for (uint32_t i = 0; i < QUESTIONS_MOST; i++) {
        questions->at[i].questions = questions;
        questions->at[i].timer.fire = on_due;
    }
}

void questions_done(struct questions *questions)
{
    for (uint32_t i = 0; i < QUESTIONS_MOST; i++)
        if (questions->at[i].number)
            end(&questions->at[i]);
}

/* A free place; NULL: too many are open. */
static struct question *place_find(struct questions *questions, const char *host)
{
    struct question *place = NULL;
    uint32_t of_host = 0;
    for (uint32_t i = 0; i < QUESTIONS_MOST; i++) {
        struct question *one = &questions->at[i];
        if (!one->number)
            place = one;
        else
            of_host += strcmp(one->host, host) == 0;
    }
    return of_host < QUESTIONS_OF_HOST ? place : NULL;
}

uint64_t questions_begin(struct questions *questions, int64_t now_ns, uint64_t client,
                         const char *host)
{
    struct question *question = place_find(questions, host);
    if (!question)
        return 0;
    question->number = ++questions->begun * QUESTIONS_MOST + (uint64_t)(question - questions->at);
    question->client = client;
    snprintf(question->host, sizeof(question->host), "%s", host);
    timers_arm(questions->timers, &question->timer, now_ns + QUESTIONS_WAIT_NS);
    return question->number;
}

uint64_t questions_answered(struct questions *questions, const char *host, uint64_t number)
{
    struct question *question = &questions->at[number % QUESTIONS_MOST];
    if (!number || question->number != number || strcmp(question->host, host) != 0)
        return 0;
    end(question);
    return question->client;
}

void questions_drop(struct questions *questions, uint64_t client)
{
    for (uint32_t i = 0; i < QUESTIONS_MOST; i++)
        if (questions->at[i].number && questions->at[i].client == client)
            end(&questions->at[i]);
}
