#include "controller/cli/history.h"

#include "controller/cli/since.h"
#include "controller/cli/table.h"
#include "lib/wire.h"

#include <errno.h>
#include <string.h>

static int word_take(char *to, size_t size, const char *word, const char *option, struct err *err)
{
    if (word && !*word)
        return err_set(err, EINVAL, "%s needs a word", option);
    return word ? wire_take(to, size, word, option, err) : 0;
}

static int result_take(const char *word, duopoly_List *list, struct err *err)
{
    static const char *const results[] = {"done", "failed", "cancelled"};
    for (size_t i = 0; word && i < sizeof(results) / sizeof(results[0]); i++)
        if (strcmp(word, results[i]) == 0)
            return wire_take(list->result, sizeof(list->result), word, "--result", err);
    return word ? err_set(err, EINVAL, "--result is done, failed or cancelled, not '%s'", word) : 0;
}

static int own_take(const struct request *request, duopoly_List *list, struct err *err)
{
    int r = word_take(list->who, sizeof(list->who), request->who, "--who", err);
    if (r == 0)
        r = word_take(list->what, sizeof(list->what), request->what, "--what", err);
    if (r == 0)
        r = result_take(request->result, list, err);
    return r;
}

int history_check(const struct request *request, struct err *err)
{
    duopoly_List list = {0};
    return own_take(request, &list, err);
}

/* WHY --since goes besides as a time, not only as a condition on rows: the first job that ended
 * before it ends the list. */
int run_history(struct client *client, const struct request *request, struct writer *writer,
                struct err *err)
{
    duopoly_List list = {0};
    int r = own_take(request, &list, err);
    if (r == 0 && request->since)
        r = since_parse(request->since, NULL, &list.since_ns, err);
    return r < 0 ? r : list_show(client, &list_of_history, request, list, writer, err);
}
