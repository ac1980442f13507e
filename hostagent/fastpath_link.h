/* The agent's connection to a data plane in user space (duopoly-fastpath), over its control socket:
 * one request, one answer, within the given time. A lost connection is made again by the next call
 * and every FASTPATH_LINK_RETRY_MS. A data plane that did not answer in time is not asked again for
 * FASTPATH_LINK_PAUSE_MS, so that one that hangs does not stall its agent. Any number of links may
 * be open. One thread. */
#pragma once

#include "lib/err.h"
#include "lib/wire.h"

#define FASTPATH_LINK_SOCKET   "/run/duopoly-fastpath/fastpath.sock"
#define FASTPATH_LINK_RETRY_MS 500
#define FASTPATH_LINK_PAUSE_MS 10000

struct fastpath_link;

/* Connects. −ENOENT, −ECONNREFUSED: no data plane listens there. */
int fastpath_link_open(const char *path, int wait_ms, struct fastpath_link **ret_link,
                       struct err *err);
/* Does not connect yet: fastpath_link_notice reports when a data plane is there. */
int fastpath_link_create(const char *path, int wait_ms, struct fastpath_link **ret_link,
                         struct err *err);
void fastpath_link_close(struct fastpath_link *link); /* takes NULL */

/* Returns the next request, emptied and of this kind; the link owns it; valid until the next
 * call. */
duopoly_Envelope *fastpath_link_request(struct fastpath_link *link, pb_size_t kind);

/* The answer is borrowed until the next call. −EREMOTEIO: refused, with the data plane's sentence;
 * fastpath_link_refusal returns the reason. −ETIMEDOUT. */
int fastpath_link_call(struct fastpath_link *link, pb_size_t answer_kind,
                       const duopoly_Envelope **ret_answer, struct err *err);
duopoly_Reason fastpath_link_refusal(const struct fastpath_link *link);

/* Readable when fastpath_link_notice has news; the same descriptor until close. */
int fastpath_link_fd(const struct fastpath_link *link);

/* 1: the data plane was lost and is back, without any state that we gave it; 0: no news. −errno: it
 * was lost just now (reported once). Never waits. */
int fastpath_link_notice(struct fastpath_link *link, struct err *err);
