#include "hostagent/queues/link_speed.h"

#include <errno.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>

/* The kernel reports how many words of modes it has. */
union question {
    struct ethtool_link_settings link;
    __u32 words[sizeof(struct ethtool_link_settings) / sizeof(__u32) + 3 * SCHAR_MAX];
};

static int ask(int fd, const char *port, union question *question)
{
    struct ifreq request = {.ifr_data = (void *)question};
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", port);
    question->link.cmd = ETHTOOL_GLINKSETTINGS;
    return ioctl(fd, SIOCETHTOOL, &request);
}

uint64_t link_speed_bps(int sock, const char *port)
{
    union question question = {.words = {0}};
    int r = ask(sock, port, &question);
    if (r >= 0 && question.link.link_mode_masks_nwords < 0) {
        question.link.link_mode_masks_nwords = (__s8)-question.link.link_mode_masks_nwords;
        r = ask(sock, port, &question);
    }
    __u32 mbps = question.link.speed;
    return r < 0 || mbps == (__u32)SPEED_UNKNOWN ? 0 : (uint64_t)mbps * 1000000;
}

static int ask_device(int sock, unsigned long what, const char *port, struct ifreq *request,
                      struct err *err)
{
    *request = (struct ifreq){.ifr_ifindex = 0};
    snprintf(request->ifr_name, sizeof(request->ifr_name), "%s", port);
    if (ioctl(sock, what, request) == 0)
        return 0;
    return errno == ENODEV
               ? err_set(err, ENODEV, "there is no interface %s in this network namespace", port)
               : err_sys(err, errno, "asking about %s", port);
}

int link_index(int sock, const char *port, struct err *err)
{
    struct ifreq request;
    int r = ask_device(sock, SIOCGIFINDEX, port, &request, err);
    return r < 0 ? r : request.ifr_ifindex;
}

int link_type(int sock, const char *port)
{
    struct ifreq request;
    int r = ask_device(sock, SIOCGIFHWADDR, port, &request, NULL);
    return r < 0 ? r : request.ifr_hwaddr.sa_family;
}

bool link_is_up(int sock, const char *port)
{
    struct ifreq request;
    return ask_device(sock, SIOCGIFFLAGS, port, &request, NULL) >= 0 &&
           (request.ifr_flags & IFF_UP) && (request.ifr_flags & IFF_RUNNING);
}

int link_mtu(int sock, const char *port, uint32_t *ret_bytes, struct err *err)
{
    struct ifreq request;
    int r = ask_device(sock, SIOCGIFMTU, port, &request, err);
    if (r >= 0)
        *ret_bytes = (uint32_t)request.ifr_mtu;
    return r;
}
