/* The agent's connection to a data plane in user space (duopoly-fastpath), by its control socket: one
 * request, one answer, for at most as long as it is told; a connection that is lost is sought again,
 * by the next call and every PLANE_RETRY_MS. One that did not answer in its time is not asked for
 * PLANE_PAUSE_MS, so that who hangs does not hold up its agent, too. Any number of them may be open. One
 * thread. */
#pragma once

#include "lib/err.h"
#include "lib/wire.h"

#define PLANE_SOCKET   "/run/duopoly-fastpath/fastpath.sock"
#define PLANE_RETRY_MS 500
#define PLANE_PAUSE_MS 10000

struct plane_link;

/* Connects. −ENOENT, −ECONNREFUSED: no data plane listens there. */
int plane_link_open(const char *path, int wait_ms, struct plane_link **ret_link, struct err *err);
/* Does not connect yet: plane_link_notice says when a data plane is there. */
int plane_link_create(const char *path, int wait_ms, struct plane_link **ret_link, struct err *err);
void plane_link_close(struct plane_link *link); /* takes NULL */

/* The next request, emptied and of this kind; owned by the link, until the next call. */
duopoly_Envelope *plane_link_request(struct plane_link *link, pb_size_t kind);

/* The answer is borrowed until the next call. −EREMOTEIO: refused, with the data plane's sentence, and
 * plane_link_refusal says why; −ETIMEDOUT. */
int plane_link_call(struct plane_link *link, pb_size_t answer_kind,
                    const duopoly_Envelope **ret_answer, struct err *err);
duopoly_Reason plane_link_refusal(const struct plane_link *link);

/* Readable when plane_link_notice has something to say; the same until close. */
int plane_link_fd(const struct plane_link *link);

/* 1: it was lost and is here again, with nothing that it was told before; 0: nothing. −errno: it was
 * lost just now (told once). Never waits. */
int plane_link_notice(struct plane_link *link, struct err *err);
