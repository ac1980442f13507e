#include "controller/cli/shares.h"

#include "lib/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { OVER_TIME = 7 /* of the columns */ };
enum { WIDTH = 32 /* of a sparkline */, RIGHT = 4 /* its level of the right share */, LEVELS = 8 };
enum { TRIES = 8 /* until no span ends between two pages */ };

static const struct column columns[] = {
    {"user", "USER"},
    {"name", "NAME"},
    {"share", "SHARE"},
    {"right_permille", "RIGHT"},
    {"used_permille", "USED"},
    {"mem_permille", "MEMORY"},
    {"wanted_permille", "WITH WORK"},
    [OVER_TIME] = {"over_time", NULL},
    {NULL, NULL},
};
static const struct column span_columns[] = {
    {"user", NULL},      {"age_ns", NULL},          {"slots_milli", NULL}, {"mem_mb", NULL},
    {"right_ppm", NULL}, {"wanted_permille", NULL}, {NULL, NULL},
};

/* ---- reading ---- */

/* 0: all pages are of the same spans. 1: they are not. */
static int read_once(struct client *client, struct shares_read *read, struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_SHARES};
    uint64_t version = 0;
    read->n = 0;
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_share_page_tag, &answer, err);
        if (r < 0)
            return r;
        const duopoly_SharePage *page = &answer->body.share_page;
        if (version && page->version != version)
            return 1;
        version = page->version;
        read->head = *page;
        for (pb_size_t i = 0; i < page->rows_count; i++) {
            if (!array_grow(read->rows, read->n, read->size, 16))
                return err_sys(err, ENOMEM, "the users' shares");
            read->rows[read->n++] = page->rows[i];
        }
        list.cursor = page->cursor;
    } while (list.cursor);
    return 0;
}

static bool has_spans(const duopoly_ShareSpans *spans, size_t n)
{
    return spans->slots_milli_count == n && spans->mem_mb_count == n &&
           spans->right_ppm_count == n && spans->wanted_permille_count == n;
}

/* WHY: a row without spans is of a user that is new, and others would be a controller's error. */
static void fill_up(struct shares_read *read)
{
    size_t n = read->head.all.slots_milli_count;
    if (!has_spans(&read->head.all, n))
        read->head.all = (duopoly_ShareSpans){0};
    n = read->head.all.slots_milli_count;
    for (size_t i = 0; i < read->n; i++) {
        duopoly_ShareSpans *spans = &read->rows[i].spans;
        if (!has_spans(spans, n))
            *spans = (duopoly_ShareSpans){.slots_milli_count = (pb_size_t)n,
                                          .mem_mb_count = (pb_size_t)n,
                                          .right_ppm_count = (pb_size_t)n,
                                          .wanted_permille_count = (pb_size_t)n};
    }
}

static int read_all(struct client *client, struct shares_read *read, struct err *err)
{
    for (int i = 0; i < TRIES; i++) {
        int r = read_once(client, read, err);
        if (r < 0)
            return r;
        if (r == 0) {
            fill_up(read);
            return 0;
        }
    }
    return err_set(err, EAGAIN, "the shares change faster than they are read: ask again");
}

/* ---- what stands in a row ---- */

static double sum(const uint32_t *values, size_t n)
{
    double all = 0;
    for (size_t i = 0; i < n; i++)
        all += values[i];
    return all;
}

static struct value part(double of, double all)
{
    return all > 0 ? value_permille((uint64_t)(1000 * of / all + .5)) : value_absent();
}

int64_t shares_part_ppm(const struct shares_read *read, const duopoly_ShareRow *row, size_t span)
{
    uint32_t all = read->head.all.slots_milli[span];
    return all ? (int64_t)((uint64_t)row->spans.slots_milli[span] * 1000000 / all) : -1;
}

/* Of the spans from…to: 0 (nothing) to LEVELS, RIGHT for the right share; −1: nobody had
 * anything. */
static int level_of(const struct shares_read *read, const duopoly_ShareRow *row, size_t from,
                    size_t to)
{
    double all = sum(read->head.all.slots_milli + from, to - from),
           used = sum(row->spans.slots_milli + from, to - from),
           right = sum(row->spans.right_ppm + from, to - from) / 1e6 / (double)(to - from);
    if (!(all > 0))
        return -1;
    double level = right > 0 ? RIGHT * used / all / right + .5 : 0;
    return level < LEVELS ? (int)level : LEVELS;
}

static void sparkline(const struct shares_read *read, const duopoly_ShareRow *row, bool has_blocks,
                      char *text, size_t size)
{
    static const char *const bars[] = {"_",      "\u2581", "\u2582", "\u2583", "\u2584",
                                       "\u2585", "\u2586", "\u2587", "\u2588"};
    size_t n = read->head.all.slots_milli_count, width = n < WIDTH ? n : WIDTH, used = 0;
    *text = '\0';
    for (size_t i = 0; i < width && used < size; i++) {
        int level = level_of(read, row, i * n / width, (i + 1) * n / width);
        char digit[2] = {(char)('0' + level), '\0'};
        used += (size_t)snprintf(text + used, size - used, "%s",
                                 level < 0    ? "."
                                 : has_blocks ? bars[level]
                                              : digit);
    }
}

static void row_write(const struct shares_read *read, const duopoly_ShareRow *row, bool has_blocks,
                      struct writer *writer)
{
    size_t n = read->head.all.slots_milli_count;
    const duopoly_ShareSpans *spans = &row->spans, *all = &read->head.all;
    char line[4 * WIDTH + 1];
    writer_cell(writer, value_id(row->user));
    writer_cell(writer, value_text(row->name));
    writer_cell(writer, value_number(row->share));
    writer_cell(writer, part(sum(spans->right_ppm, n) / 1e6, (double)n));
    writer_cell(writer, part(sum(spans->slots_milli, n), sum(all->slots_milli, n)));
    writer_cell(writer, part(sum(spans->mem_mb, n), sum(all->mem_mb, n)));
    writer_cell(writer, part(sum(spans->wanted_permille, n) / 1000, (double)n));
    sparkline(read, row, has_blocks, line, sizeof(line));
    writer_cell(writer, value_text(line));
}

static void span_write(const struct shares_read *read, const duopoly_ShareSpans *spans, size_t i,
                       struct value user, struct writer *writer)
{
    size_t later = read->head.all.slots_milli_count - 1 - i;
    writer_cell(writer, user);
    writer_cell(writer, value_duration(read->head.age_ns + (int64_t)(later * read->head.span_ns)));
    writer_cell(writer, value_number(spans->slots_milli[i]));
    writer_cell(writer, value_number(spans->mem_mb[i]));
    writer_cell(writer, value_number(spans->right_ppm[i]));
    writer_cell(writer, value_number(spans->wanted_permille[i]));
}

static void spans_write(const struct shares_read *read, struct writer *writer)
{
    size_t n = read->head.all.slots_milli_count;
    writer_table(writer, "spans", span_columns);
    for (size_t i = 0; i < n; i++) {
        span_write(read, &read->head.all, i, value_absent(), writer);
        for (size_t u = 0; u < read->n; u++)
            span_write(read, &read->rows[u].spans, i, value_id(read->rows[u].user), writer);
    }
    writer_table_end(writer);
}

static void drift_write(const duopoly_SharePage *head, struct writer *writer, const char *key,
                        const char *heading, uint64_t ahead, uint64_t behind)
{
    char text[96], raw[48];
    snprintf(text, sizeof(text), "%.2f units ahead of its share, %.2f behind",
             (double)ahead / head->entries, (double)behind / head->entries);
    writer_field(writer, key, heading, value_text(text));
    snprintf(raw, sizeof(raw), "%s_ahead", key);
    writer_field(writer, raw, NULL, value_number(ahead));
    snprintf(raw, sizeof(raw), "%s_behind", key);
    writer_field(writer, raw, NULL, value_number(behind));
}

static void write_all(const struct shares_read *read, struct writer *writer)
{
    const duopoly_SharePage *head = &read->head;
    writer_schema(writer, "shares", "shares");
    setlocale(LC_CTYPE, "");
    bool has_blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    writer_field(writer, "spans_kept", "spans", value_number(head->all.slots_milli_count));
    writer_field(writer, "span_ns", "each of", value_duration((int64_t)head->span_ns));
    writer_field(writer, "entries", "places of a turn", value_number(head->entries));
    if (head->entries) {
        drift_write(head, writer, "literal", "at most, in the source's order", head->literal_ahead,
                    head->literal_behind);
        drift_write(head, writer, "even", "at most, in the even order", head->even_ahead,
                    head->even_behind);
    }
    struct column headed[sizeof(columns) / sizeof(columns[0])];
    memcpy(headed, columns, sizeof(columns));
    headed[OVER_TIME].heading =
        has_blocks ? "OVER TIME, \u2584: ITS SHARE" : "OVER TIME, 4: ITS SHARE";
    writer_table(writer, "shares", headed);
    for (size_t i = 0; i < read->n; i++)
        row_write(read, &read->rows[i], has_blocks, writer);
    writer_table_end(writer);
    spans_write(read, writer);
}

static int picture_write(const struct shares_read *read, const char *path, struct err *err)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return err_sys(err, errno, "%s", path);
    shares_picture(read, out);
    bool bad = ferror(out);
    return fclose(out) != 0 || bad ? err_sys(err, bad ? EIO : errno, "%s", path) : 0;
}

int run_shares(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    struct shares_read *read = calloc(1, sizeof(*read));
    if (!read)
        return err_sys(err, ENOMEM, "the users' shares");
    int r = read_all(client, read, err);
    if (r == 0 && request->svg)
        r = picture_write(read, request->svg, err);
    if (r == 0)
        write_all(read, writer);
    free(read->rows);
    free(read);
    return r;
}
