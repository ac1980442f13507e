#include "hostagent/marks/mark_programs.h"

#include "hostagent/queues/link_speed.h"

#include "hostagent/marks/mark.skel.h"

#include <net/if_arp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ARPHRD_NOTHING 0xfffe /* linux/if_arp.h: ARPHRD_NONE, WireGuard */
#define ARPHRD_RAW_IP  519

static bool is_bare_ip(const char *port)
{
    static const int types[] = {ARPHRD_NOTHING, ARPHRD_RAW_IP, ARPHRD_TUNNEL,    ARPHRD_TUNNEL6,
                                ARPHRD_SIT,     ARPHRD_IPGRE,  823 /* IP6GRE */, ARPHRD_PPP};
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), type = link_type(sock, port);
    if (sock >= 0)
        close(sock);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i] == type)
            return true;
    return false;
}

static bool is_tunnel(const struct mark_config *config, const char *port)
{
    for (uint32_t i = 0; i < config->tunnels_n; i++)
        if (strcmp(config->tunnels[i], port) == 0)
            return true;
    return false;
}

void mark_programs_of(const struct mark_bpf *skel, const struct mark_config *config,
                      const char *port, int *ret_egress, int *ret_ingress)
{
    const struct bpf_program *const egress[2][2][2] = {
        {{skel->progs.mark, skel->progs.mark_ip}, {skel->progs.inner, skel->progs.inner_ip}},
        {{skel->progs.classify, skel->progs.classify_ip},
         {skel->progs.inner_classify, skel->progs.inner_classify_ip}}};
    bool ip = is_bare_ip(port);
    *ret_egress = bpf_program__fd(egress[config->is_switch][is_tunnel(config, port)][ip]);
    *ret_ingress =
        config->is_switch ? -1 : bpf_program__fd(ip ? skel->progs.follow_ip : skel->progs.follow);
}
