#include "hostagent/queues/qdisc.h"

#include <string.h>

const struct qdisc_driver *const qdisc_all[] = {&qdisc_htb, &qdisc_recorder, NULL};

const struct qdisc_driver *qdisc_find(const char *name)
{
    for (size_t i = 0; qdisc_all[i]; i++)
        if (strcmp(qdisc_all[i]->name, name) == 0)
            return qdisc_all[i];
    return NULL;
}
