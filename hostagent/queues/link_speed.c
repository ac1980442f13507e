#include "hostagent/queues/link_speed.h"

#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel says how many words of modes it has. */
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

uint64_t link_speed_bps(const char *port)
{
    union question question = {.words = {0}};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    int r = ask(fd, port, &question);
    if (r >= 0 && question.link.link_mode_masks_nwords < 0) {
        question.link.link_mode_masks_nwords = (__s8)-question.link.link_mode_masks_nwords;
        r = ask(fd, port, &question);
    }
    close(fd);
    __u32 mbps = question.link.speed;
    return r < 0 || mbps == (__u32)SPEED_UNKNOWN ? 0 : (uint64_t)mbps * 1000000;
}
