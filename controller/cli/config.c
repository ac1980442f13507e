#include "controller/cli/config.h"

#include "controller/cli/daemon_check.h"
#include "controller/cli/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const struct {
    const char *verb;
    int least_words, most_words; /* with the verb */
} verbs[] = {{"show", 1, 1}, {"check", 2, 2}, {"diff", 1, 2}, {"reload", 1, 1}};

static bool is_told_to(const struct request *request, const char *verb)
{
    return strcmp(request->words[0], verb) == 0;
}

int config_check(const struct request *request, struct err *err)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (is_told_to(request, verbs[i].verb) && request->n_words >= verbs[i].least_words &&
            request->n_words <= verbs[i].most_words)
            return 0;
    return err_set(err, EINVAL,
                   "the configuration can be told to: show, check FILE, diff [FILE], reload");
}

bool config_alone(const struct request *request)
{
    return is_told_to(request, "check");
}

const struct list *config_list(const struct request *request)
{
    if (is_told_to(request, "show"))
        return &list_of_config;
    if (!is_told_to(request, "diff"))
        return NULL;
    return request->n_words == 2 ? &list_of_file_changes : &list_of_config_changes;
}

/* Keys of a file of this machine, beside those of the controller. */
struct comparison {
    const struct conf_keys *keys;
    struct table table;
    size_t seen;
    bool enough; /* no more rows are wanted */
};

static int row_compare(void *user, const void *row, struct err *err)
{
    struct comparison *comparison = user;
    duopoly_ConfigRow change = *(const duopoly_ConfigRow *)row;
    const struct conf_key *key = conf_keys_find(comparison->keys, change.key);
    if (!key)
        return err_set(err, EPROTO, "duopolyd here is older than the controller: it has no key %s",
                       change.key);
    comparison->seen++;
    if (strcmp(key->value, change.configured) == 0)
        return 0;
    wire_copy(change.next, sizeof(change.next), key->value);
    change.next_line = key->at.line;
    change.next_column = key->at.column;
    int r = table_row(&comparison->table, &change, err);
    comparison->enough = r > 0;
    return r;
}

static int file_compare(struct client *client, const char *path, const struct selection *selection,
                        struct writer *writer, struct err *err)
{
    struct conf_keys keys;
    struct comparison comparison = {.keys = &keys};
    int r = daemon_check(path, &keys, err);
    if (r < 0)
        return r;
    writer_field(writer, "file", "file", value_text(path));
    table_begin(&comparison.table, selection->list->key, selection->list->cells, selection, writer);
    r = list_read(client, &list_of_config, (duopoly_List){0}, row_compare, NULL, &comparison, NULL,
                  err);
    if (r == 0 && !comparison.enough && comparison.seen != keys.n)
        r = err_set(err, EPROTO, "duopolyd here is newer than the controller: it has more keys");
    r = table_end(&comparison.table, r);
    conf_keys_done(&keys);
    return r;
}

static int file_judge(const char *path, struct writer *writer, struct err *err)
{
    struct conf_keys keys;
    uint64_t set = 0;
    int r = daemon_check(path, &keys, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < keys.n; i++)
        set += keys.at[i].at.line > 0;
    writer_schema(writer, "config_check", NULL);
    writer_field(writer, "file", "file", value_text(path));
    writer_field(writer, "verdict", "verdict", value_text("right"));
    writer_field(writer, "set", "keys that it sets", value_number(set));
    writer_field(writer, "keys", "of", value_number(keys.n));
    conf_keys_done(&keys);
    return 0;
}

/* A page of no keys, which has the path all the same. */
static int path_write(struct client *client, struct writer *writer, struct err *err)
{
    const duopoly_Envelope *answer;
    client_request(client, duopoly_Envelope_list_tag)->body.list =
        (duopoly_List){.of = duopoly_ListOf_LIST_CONFIG, .cursor = UINT64_MAX};
    int r = client_call(client, duopoly_Envelope_config_page_tag, &answer, err);
    if (r < 0)
        return r;
    const char *path = answer->body.config_page.file;
    writer_field(writer, "file", "file", *path ? value_text(path) : value_absent());
    return 0;
}

static int keys_write(struct client *client, const struct selection *selection,
                      struct writer *writer, struct err *err)
{
    duopoly_List ask = {0};
    int r = path_write(client, writer, err);
    strcpy(ask.filter, selection->text);
    return r < 0 ? r : list_table(client, selection->list, ask, selection, writer, NULL, err);
}

int run_config(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    struct selection selection;
    if (is_told_to(request, "check"))
        return file_judge(request->words[1], writer, err);
    if (is_told_to(request, "reload")) {
        client_request(client, duopoly_Envelope_reload_config_tag);
        return accepted_write(client, writer, err);
    }
    int r = selection_read(request, config_list(request), &selection, err);
    if (r < 0)
        return r;
    selection_schema(&selection, writer);
    return selection.list->local ? file_compare(client, request->words[1], &selection, writer, err)
                                 : keys_write(client, &selection, writer, err);
}
