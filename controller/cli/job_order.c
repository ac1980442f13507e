#include "controller/cli/job_order.h"

#include "lib/number.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static const char *const words[] = {[duopoly_JobOrder_ORDER_PRIORITY] = "set",
                                    [duopoly_JobOrder_ORDER_HOLD] = "hold",
                                    [duopoly_JobOrder_ORDER_RELEASE] = "release",
                                    [duopoly_JobOrder_ORDER_REQUEUE] = "requeue"};
#define WORDS (sizeof(words) / sizeof(words[0]))

/* WORDS: it is none. */
static size_t order_of(const struct request *request)
{
    size_t order = 0;
    while (order < WORDS && strcmp(words[order], request->words[0]) != 0)
        order++;
    return order;
}

bool job_order_is(const struct request *request)
{
    return request->n_words > 0 && order_of(request) < WORDS;
}

static int priority_parse(const char *word, int64_t *ret_priority, struct err *err)
{
    static const char key[] = "priority=";
    uint64_t amount;
    if (strncmp(word, "deadline=", 9) == 0)
        return err_set(err, EINVAL,
                       "a job's deadline cannot be set: no policy looks at it; set its priority");
    if (strncmp(word, key, strlen(key)) != 0)
        return err_set(err, EINVAL, "'%s' cannot be set of a job: write priority=N", word);
    const char *text = word + strlen(key);
    bool below = *text == '-';
    const char *end = number_take(text + below, INT64_MAX, &amount);
    if (!end || *end)
        return err_set(err, EINVAL, "a priority is a whole number such as 10 or -5, not '%s'",
                       text);
    *ret_priority = below ? -(int64_t)amount : (int64_t)amount;
    return 0;
}

int job_order_check(const struct request *request, struct err *err)
{
    bool sets = order_of(request) == duopoly_JobOrder_ORDER_PRIORITY;
    uint64_t job;
    int64_t priority;
    if (request->n_words != 2 + sets)
        return err_set(err, EINVAL, "write: duopolyctl job %s JOB%s", request->words[0],
                       sets ? " priority=N" : "");
    int r = number_parse(request->words[1], "a job", &job, err);
    return r == 0 && sets ? priority_parse(request->words[2], &priority, err) : r;
}

int job_order(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    duopoly_OrderJob *order =
        &client_request(client, duopoly_Envelope_order_job_tag)->body.order_job;
    order->order = (duopoly_JobOrder)order_of(request);
    int r = number_parse(request->words[1], "a job", &order->job, err);
    if (r == 0 && order->order == duopoly_JobOrder_ORDER_PRIORITY)
        r = priority_parse(request->words[2], &order->priority, err);
    return r < 0 ? r : accepted_write(client, writer, err);
}
