#include "hostagent/nl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define RECEIVE_BYTES (256 * 1024)

int netlink_open(struct nl_sock **ret_sock, struct err *err)
{
    struct nl_sock *sock = nl_socket_alloc();
    if (!sock)
        return err_sys(err, ENOMEM, "netlink");
    int r = nl_connect(sock, NETLINK_ROUTE);
    if (r < 0) {
        nl_socket_free(sock);
        return netlink_err(err, r, "opening a netlink socket");
    }
    nl_socket_set_buffer_size(sock, RECEIVE_BYTES, 0);
    nl_socket_set_msg_buf_size(sock, RECEIVE_BYTES);
    *ret_sock = sock;
    return 0;
}

static int to_errno(int error)
{
    switch (error) {
    case NLE_PERM:
        return EPERM;
    case NLE_NODEV:
        return ENODEV;
    case NLE_OBJ_NOTFOUND:
        return ENOENT;
    case NLE_NOMEM:
        return ENOMEM;
    case NLE_EXIST:
        return EEXIST;
    case NLE_BUSY:
        return EBUSY;
    case NLE_DUMP_INTR:
        return EAGAIN;
    case NLE_INVAL:
        return EINVAL;
    case NLE_OPNOTSUPP:
        return EOPNOTSUPP;
    default:
        return EIO;
    }
}

int netlink_err(struct err *err, int error, const char *format, ...)
{
    char words[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof(words), format, ap);
    va_end(ap);
    return err_set(err, to_errno(error < 0 ? -error : error), "%s: %s", words, nl_geterror(error));
}

int netlink_dump(struct nl_sock *sock, int type, void *request, size_t bytes,
                 int (*each)(struct nl_msg *msg, void *arg), void *arg)
{
    int r = nl_send_simple(sock, type, NLM_F_DUMP, request, bytes);
    if (r < 0)
        return r;
    r = nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, each, arg);
    if (r >= 0)
        r = nl_recvmsgs_default(sock);
    nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_DEFAULT, NULL, NULL);
    return r < 0 ? r : 0;
}
