#include "controller/cli/users.h"

#include "controller/cli/table.h"
#include "lib/number.h"
#include "lib/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SHARE_MAX (UINT64_C(1) << 31)

int run_users(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    return list_show(client, &list_of_users, request, (duopoly_List){0}, writer, err);
}

int run_debts(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    return list_show(client, &list_of_debts, request, (duopoly_List){0}, writer, err);
}

static int number_of(const char *text, const char *word, uint64_t least, uint64_t most,
                     uint32_t *ret_number, struct err *err)
{
    uint64_t number;
    const char *end = number_take(text, most, &number);
    if (!end || *end || number < least)
        return err_set(err, EINVAL, "%s is a number from %" PRIu64 " to %" PRIu64 ", not '%s'",
                       word, least, most, text);
    *ret_number = (uint32_t)number;
    return 0;
}

/* share=N or number=N. */
static int member_take(const char *text, duopoly_SetUser *set, struct err *err)
{
    if (strncmp(text, "share=", 6) == 0) {
        set->has_share = true;
        return number_of(text + 6, "share", 1, SHARE_MAX, &set->share, err);
    }
    if (strncmp(text, "number=", 7) == 0) {
        set->has_user = true;
        return number_of(text + 7, "number", 0, UINT32_MAX, &set->user, err);
    }
    return err_set(err, EINVAL, "of a user can be set: share=N, number=N, not '%s'", text);
}

static int read_request(const struct request *request, duopoly_SetUser *set, struct err *err)
{
    *set = (duopoly_SetUser){.leave = strcmp(request->words[0], "leave") == 0};
    int r = 0;
    if (!set->leave && strcmp(request->words[0], "set") != 0)
        return err_set(err, EINVAL, "a user can be told to: set NAME, leave NAME; not '%s'",
                       request->words[0]);
    if (set->leave && request->n_words > 2)
        return err_set(err, EINVAL, "user leave takes a NAME and nothing more");
    if (!wire_name_valid(request->words[1]))
        return err_set(err, EINVAL, "'%s' cannot be a user's name", request->words[1]);
    for (int i = 2; r == 0 && i < request->n_words; i++)
        r = member_take(request->words[i], set, err);
    return r < 0 ? r
                 : wire_take(set->name, sizeof(set->name), request->words[1], "a user's name", err);
}

int user_check(const struct request *request, struct err *err)
{
    duopoly_SetUser set;
    return read_request(request, &set, err);
}

int run_user(struct client *client, const struct request *request, struct writer *writer,
             struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_Envelope *asked = client_request(client, duopoly_Envelope_set_user_tag);
    int r = read_request(request, &asked->body.set_user, err);
    r = r < 0 ? r : client_call(client, duopoly_Envelope_accepted_tag, &answer, err);
    if (r == 0)
        writer_field(writer, "text", "accepted", value_text(answer->body.accepted.text));
    return r;
}
