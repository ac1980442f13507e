#include "controller/cli/flows.h"

#include "controller/cli/asked.h"

int run_flows(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    return asked_write(client, &list_of_flows, request, writer, err);
}
