#include "hostagent/marks/listening_nl.h"

#include "hostagent/tcp_list_nl.h"
#include "lib/grow.h"

#include <linux/inet_diag.h>
#include <netinet/tcp.h>
#include <stdlib.h>

struct ports {
    uint16_t *all;
    uint32_t n, most;
};

static int take(const struct nlmsghdr *message, void *arg)
{
    struct ports *ports = arg;
    const struct inet_diag_msg *found = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*found))
        return MNL_CB_OK;
    if (!array_grow(ports->all, ports->n, ports->most, 64))
        return MNL_CB_ERROR;
    ports->all[ports->n++] = found->id.idiag_sport;
    return MNL_CB_OK;
}

int listening_ports(uint16_t **ret_ports, uint32_t *ret_n, struct err *err)
{
    struct ports ports = {0};
    int r = tcp_list(1u << TCP_LISTEN, 0, take, &ports, err);
    if (r < 0) {
        free(ports.all);
        return r;
    }
    *ret_ports = ports.all;
    *ret_n = ports.n;
    return 0;
}
