#include "hostagent/queues/qdisc.h"

#include <string.h>

/* Classes depend on neither rate nor packets. */
static const struct port_facts any = {.link_bps = UINT64_C(1) << 60,
                                      .mtu_bytes = 1500,
                                      .queues_n = PORT_TRAFFIC,
                                      .abilities = {.strict = true}};

const struct qdisc_driver *const qdisc_all[] = {
    &qdisc_htb, &qdisc_prio, &qdisc_ets, &qdisc_mqprio, &qdisc_auto, &qdisc_recorder, NULL};

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
    struct port want;
    int r = port_want(wish, &any, &want, err);
    if (r < 0)
        return r;
    for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++)
        ret_class[traffic] = driver ? (uint32_t)QDISC_MAJOR << 16 |
                                          QDISC_MINOR(want.queues[want.queue_of[traffic]].first)
                                    : 0;
    return 0;
}
