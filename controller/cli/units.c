#include "controller/cli/units.h"

#include "controller/cli/table.h"

int run_units(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    return list_show_of(client, &list_of_units, request, "a host's name", writer, err);
}
