#include "controller/cli/stance.h"

#include "controller/cli/confirm.h"
#include "controller/cli/table.h"
#include "lib/join.h"
#include "lib/now.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WAIT_NS 2000000000ull /* for all of them */

static duopoly_Stance stance_of(const char *word)
{
    for (int i = duopoly_Stance_STANCE_OBSERVE; i <= duopoly_Stance_STANCE_ENFORCE; i++)
        if (strcmp(word, stance_value((duopoly_Stance)i).text) == 0)
            return (duopoly_Stance)i;
    return duopoly_Stance_STANCE_UNSAID;
}

int stance_check(const struct request *request, struct err *err)
{
    int scopes = request->all + (request->host != NULL) + (request->rack != NULL);
    const char *name = request->host ? request->host : request->rack;
    uint32_t seconds;
    if (confirm_seconds(request, &seconds, err) < 0)
        return -EINVAL;
    if (stance_of(request->words[0]) == duopoly_Stance_STANCE_UNSAID)
        return err_set(err, EINVAL, "there is no stance '%s'; there are: observe, mark, enforce",
                       request->words[0]);
    if (scopes != 1)
        return err_set(err, EINVAL, "name the hosts: --all, --host NAME or --rack NAME");
    if (name && !wire_name_valid(name))
        return err_set(err, EINVAL, "'%s' cannot be the name of a %s", name,
                       request->host ? "host" : "rack");
    return 0;
}

enum { OTHERS_NAMED = 4 };

struct census {
    const struct request *request;
    duopoly_Stance stance;
    uint32_t hosts, there, away; /* in scope; of these with the stance; of these not up */
    uint32_t different;          /* up, with another stance */
    char others[320];            /* names of these, the first OTHERS_NAMED */
};

static int count(void *user, const void *host, struct err *err)
{
    struct census *census = user;
    const duopoly_HostRow *row = host;
    const struct request *request = census->request;
    (void)err;
    if ((request->host && strcmp(request->host, row->name) != 0) ||
        (request->rack && strcmp(request->rack, row->rack) != 0))
        return 0;
    census->hosts++;
    if (strcmp(row->state, "silent") == 0 || strcmp(row->state, "lost") == 0)
        census->away++;
    else if (row->stance == census->stance)
        census->there++;
    else if (census->different++ < OTHERS_NAMED)
        join_word(census->others, sizeof(census->others), ", ", row->name);
    return 0;
}

static int take_census(struct client *client, const struct request *request, duopoly_Stance stance,
                       struct census *ret_census, struct err *err)
{
    struct census census = {.request = request, .stance = stance};
    int r = list_read(client, &list_of_hosts, (duopoly_List){0}, count, NULL, &census, NULL, err);
    if (r < 0)
        return r;
    size_t used = strlen(census.others);
    if (census.different > OTHERS_NAMED)
        snprintf(census.others + used, sizeof(census.others) - used, " and %u more",
                 census.different - OTHERS_NAMED);
    *ret_census = census;
    return 0;
}

int run_stance(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    duopoly_Stance stance = stance_of(request->words[0]);
    const struct timespec pause = {.tv_nsec = 2000000};
    struct census census = {0};
    uint64_t begin = now_ns(CLOCK_MONOTONIC), took;
    const duopoly_Envelope *answer;
    duopoly_SetStance *set =
        &confirm_request(client, duopoly_Envelope_set_stance_tag, request)->body.set_stance;
    set->stance = stance;
    int r = wire_take(set->host, sizeof(set->host), request->host ? request->host : "",
                      "a host's name", err);
    if (r == 0)
        r = wire_take(set->rack, sizeof(set->rack), request->rack ? request->rack : "",
                      "a rack's name", err);
    if (r == 0 && request->dry_run)
        return accepted_write(client, writer, err);
    if (r == 0)
        r = client_call(client, duopoly_Envelope_accepted_tag, &answer, err);
    if (r < 0)
        return r;
    for (;;) {
        r = take_census(client, request, stance, &census, err);
        if (r < 0)
            return r;
        took = now_ns(CLOCK_MONOTONIC) - begin;
        if (!*census.others || took > WAIT_NS)
            break;
        nanosleep(&pause, NULL);
    }
    writer_schema(writer, "stance", NULL);
    writer_field(writer, "stance", "stance", stance_value(stance));
    writer_field(writer, "hosts", "hosts", value_number(census.hosts));
    writer_field(writer, "there", "have it", value_number(census.there));
    writer_field(writer, "away", census.away ? "not up, told when back" : NULL,
                 value_number(census.away));
    if (*census.others)
        writer_field(writer, "others", "have another", value_text(census.others));
    writer_field(writer, "took_ns", "after", value_duration((int64_t)took));
    return *census.others ? err_set(err, ETIMEDOUT, "not all hosts have it after %llu s: %s",
                                    WAIT_NS / 1000000000, census.others)
                          : 0;
}
