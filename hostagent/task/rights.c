#include "hostagent/task/rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For capabilities below number 32, as ours are. A capability that the process lacks is not gained.
 */
static int keep(uint32_t capabilities)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) < 0)
        return -errno;
    data[0].effective = data[0].permitted &= capabilities;
    data[1].effective = data[1].permitted = 0;
    data[0].inheritable = data[1].inheritable = 0;
    if (syscall(SYS_capset, &header, data) < 0 ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return -errno;
    return 0;
}

int rights_become(uint32_t uid, uint32_t gid)
{
    if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return keep(0);
}

int rights_look_as(uint32_t uid, uint32_t gid)
{
    setfsgid(gid);
    setfsuid(uid);
    /* Those with −1 change nothing, and tell what is. */
    if ((uint32_t)setfsgid((gid_t)-1) != gid || (uint32_t)setfsuid((uid_t)-1) != uid)
        return -EPERM;
    return keep(0);
}

int rights_keep_kill(void)
{
    return keep(1u << CAP_KILL);
}
