#include "controller/cli/links.h"

#include "controller/cli/table.h"

#include <errno.h>

int host_name_check(const struct request *request, struct err *err)
{
    return !request->n_words || wire_name_valid(request->words[0])
               ? 0
               : err_set(err, EINVAL, "'%s' cannot be a host's name", request->words[0]);
}

int run_links(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    return list_show_of(client, &list_of_links, request, "an agent's name", writer, err);
}
