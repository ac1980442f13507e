#include "controller/cli/transfers.h"

#include "controller/cli/table.h"

int run_coflows(struct client *client, const struct request *request, struct writer *writer,
                struct err *err)
{
    return list_show(client, &list_of_coflows, request, (duopoly_List){0}, writer, err);
}

int run_macroflows(struct client *client, const struct request *request, struct writer *writer,
                   struct err *err)
{
    return list_show(client, &list_of_macroflows, request, (duopoly_List){0}, writer, err);
}
