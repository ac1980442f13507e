#include "hostagent/queues/qdisc.h"

#include <string.h>

#define MTU_ANY 1500 /* classes do not depend on it */

const struct qdisc_driver *const qdisc_all[] = {&qdisc_htb, &qdisc_recorder, NULL};

const struct qdisc_driver *qdisc_find(const char *name)
{
    for (size_t i = 0; qdisc_all[i]; i++)
        if (strcmp(qdisc_all[i]->name, name) == 0)
            return qdisc_all[i];
    return NULL;
}

int qdisc_classes(const struct qdisc_driver *driver, const struct port_wish *wish,
                  uint32_t ret_class[PORT_TRAFFIC], struct err *err)
{
    const struct port_facts facts = {.mtu_bytes = MTU_ANY};
    struct port want;
    int r = port_want(wish, &facts, &want, err);
    if (r < 0)
        return r;
    for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++)
        ret_class[traffic] = driver ? driver->class_of(&want, (enum port_traffic)traffic) : 0;
    return 0;
}
