#include "controller/cli/links.h"

#include <errno.h>

static const struct column columns[] = {
    {"host", "HOST"},
    {"port", "PORT"},
    {"rate_bps", "RATE"},
    {"sent_permille", "SENT USE"},
    {"received_permille", "RECEIVED USE"},
    {"sent_bps", "SENT"},
    {"sent_peak_bps", "SENT PEAK"},
    {"received_bps", "RECEIVED"},
    {"received_peak_bps", "RECEIVED PEAK"},
    {"dropped", "DROPPED"},
    {"age_ns", "TOLD"},
    {"text", "NOTE"},
    {NULL, NULL},
};

static struct value use(uint64_t bps, uint64_t rate_bps)
{
    return rate_bps ? value_permille((uint64_t)((unsigned __int128)bps * 1000 / rate_bps))
                    : value_absent();
}

static void link_row(const duopoly_LinkRow *row, struct writer *writer)
{
    const duopoly_Link *link = &row->link;
    writer_cell(writer, value_text(row->host));
    writer_cell(writer, value_text(link->port));
    writer_cell(writer, link->rate_bps ? value_bit_rate(link->rate_bps) : value_absent());
    const struct value carried[] = {
        use(link->sent_bps, link->rate_bps), use(link->received_bps, link->rate_bps),
        value_bit_rate(link->sent_bps),      value_bit_rate(link->sent_peak_bps),
        value_bit_rate(link->received_bps),  value_bit_rate(link->received_peak_bps),
        value_number(link->dropped),
    };
    for (size_t i = 0; i < sizeof(carried) / sizeof(carried[0]); i++)
        writer_cell(writer, row->gone ? value_absent() : carried[i]);
    writer_cell(writer, value_duration(row->age_ns));
    writer_cell(writer, *row->text ? value_text(row->text) : value_absent());
}

int links_check(const struct request *request, struct err *err)
{
    return !request->n_words || wire_name_valid(request->words[0])
               ? 0
               : err_set(err, EINVAL, "'%s' cannot be a host's name", request->words[0]);
}

int run_links(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_LINKS};
    int took = request->n_words ? wire_take(list.name, sizeof(list.name), request->words[0],
                                            "an agent's name", err)
                                : 0;
    if (took < 0)
        return took;
    writer_table(writer, "links", columns);
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_link_page_tag, &answer, err);
        if (r < 0)
            return r;
        for (pb_size_t i = 0; i < answer->body.link_page.rows_count; i++)
            link_row(&answer->body.link_page.rows[i], writer);
        list.cursor = answer->body.link_page.cursor;
    } while (list.cursor);
    writer_table_end(writer);
    return 0;
}
