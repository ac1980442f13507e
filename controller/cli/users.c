#include "controller/cli/users.h"

#include "lib/number.h"
#include "lib/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SHARE_MAX (UINT64_C(1) << 31)

static const struct column columns[] = {
    {"user", "USER"},    {"name", "NAME"}, {"share", "SHARE"}, {"jobs", "JOBS"}, {"owed", "OWED"},
    {"age_ns", "SINCE"}, {"leaves", NULL}, {"text", "NOTE"},   {NULL, NULL},
};
static const struct column debt_columns[] = {
    {"borrower", "USER"},    {"lender", "OWES"},    {"amount", "GRANULES"}, {"age_ns", "SINCE"},
    {"borrower_user", NULL}, {"lender_user", NULL}, {NULL, NULL},
};

static struct value note(const duopoly_UserRow *row)
{
    if (row->leaves)
        return value_text(row->jobs ? "leaves with the last of its jobs"
                                    : "leaves when it has paid back");
    return row->user ? value_absent() : value_text("and jobs of users that are not listed");
}

static void row_write(const duopoly_UserRow *row, struct writer *writer)
{
    writer_cell(writer, value_id(row->user));
    writer_cell(writer, value_text(row->name));
    writer_cell(writer, value_number(row->share));
    writer_cell(writer, value_number(row->jobs));
    writer_cell(writer, value_signed(row->owed));
    writer_cell(writer, row->age_ns < 0 ? value_absent() : value_duration(row->age_ns));
    writer_cell(writer, value_bool(row->leaves));
    writer_cell(writer, note(row));
}

int run_users(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_USERS};
    (void)request;
    writer_schema(writer, "users", "users");
    writer_table(writer, "users", columns);
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_user_page_tag, &answer, err);
        if (r < 0)
            return r;
        for (pb_size_t i = 0; i < answer->body.user_page.rows_count; i++)
            row_write(&answer->body.user_page.rows[i], writer);
        list.cursor = answer->body.user_page.cursor;
    } while (list.cursor);
    writer_table_end(writer);
    return 0;
}

int run_debts(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_DEBTS};
    (void)request;
    writer_schema(writer, "debts", "debts");
    writer_table(writer, "debts", debt_columns);
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_debt_page_tag, &answer, err);
        if (r < 0)
            return r;
        for (pb_size_t i = 0; i < answer->body.debt_page.rows_count; i++) {
            const duopoly_DebtRow *row = &answer->body.debt_page.rows[i];
            writer_cell(writer, value_text(row->borrower_name));
            writer_cell(writer, value_text(row->lender_name));
            writer_cell(writer, value_number(row->amount));
            writer_cell(writer, value_duration(row->age_ns));
            writer_cell(writer, value_id(row->borrower));
            writer_cell(writer, value_id(row->lender));
        }
        list.cursor = answer->body.debt_page.cursor;
    } while (list.cursor);
    writer_table_end(writer);
    return 0;
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
