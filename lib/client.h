/* A client of duopolyd, on its Unix socket or over TCP with a key: one request, one answer, and job
 * events as they come. Shared by duopolyctl and drivers; the listening sides are wire_unix.h and
 * wire_zmq.h.
 *
 * Blocking, with a limit: every call that waits gives up after a time (CLIENT_TIMEOUT_MS for an
 * answer), since a local controller that does not answer for so long is stuck. Requests and answers
 * keep their order on one connection. Events that come while an answer is awaited are kept, at most
 * CLIENT_EVENTS of them: beyond that calls fail with −ENOBUFS, since a watcher that does not read
 * has lost its place anyway.
 *
 * A failed call other than a refusal leaves the connection unusable: close it. One thread per
 * client at a time; no globals. */
#pragma once

#include "lib/err.h"
#include "lib/wire.h"

#define CLIENT_SOCKET     "/run/duopoly/duopolyd.sock"
#define CLIENT_TIMEOUT_MS 10000
#define CLIENT_EVENTS     65536

struct client;

/* Connects. −ENOENT, −ECONNREFUSED: no controller there; −EACCES: not root and not in the socket's
 * group. */
int client_open(const char *path, struct client **ret_client, struct err *err);

/* Connects over TCP ("tcp://10.0.0.1:7600") with the key in that file (lib/keys.h). The
 * controller's next key is written into the file when the controller announces one. −ECONNREFUSED,
 * −ETIMEDOUT: no controller there; −EACCES: it does not accept the key; −EPROTO: it is not the
 * controller that the file names; else as key_file_read. */
int client_open_remote(const char *address, const char *key_path, struct client **ret_client,
                       struct err *err);

/* Connects anew, to where it was opened and as it was; whatever was asked before is void. Errors as
 * when it was opened: then it can only be called again, or closed. */
int client_reopen(struct client *client, struct err *err);

/* From now on requests are dry runs: the controller judges them and does nothing. −EOPNOTSUPP: it
 * is older and would do them; else as client_call. */
int client_dry_run(struct client *client, struct err *err);

/* Requests are refused if the controller's version is another one than this, until one is accepted.
 * −EOPNOTSUPP: it is older and would ignore it; else as client_call. */
int client_if_version(struct client *client, uint64_t version, struct err *err);

/* Whether a request may have confirm_s: −EOPNOTSUPP: the controller is older and would not undo it;
 * else as client_call. */
int client_may_confirm(struct client *client, struct err *err);

/* Whether a list's request may have a filter: −EOPNOTSUPP: the controller is older and would list
 * everything; else as client_call. */
int client_may_filter(struct client *client, struct err *err);

/* Whether a list's request may have a limit or be in turn: −EOPNOTSUPP: the controller is older and
 * would fill its pages; else as client_call. */
int client_may_limit(struct client *client, struct err *err);

/* Returns the envelope of the next request, emptied and of this kind. The client owns it; it is
 * valid until the next call. */
duopoly_Envelope *client_request(struct client *client, pb_size_t kind);

/* The request as filled in so far. */
const duopoly_Envelope *client_outgoing(const struct client *client);

/* Sends the request and waits for its answer, which must be of `answer_kind`; the answer is
 * borrowed until the next call. −EREMOTEIO: refused, with the controller's sentence; −ETIMEDOUT;
 * −ECONNRESET: the controller went away; −EPROTO: another kind. */
int client_call(struct client *client, pb_size_t answer_kind, const duopoly_Envelope **ret_answer,
                struct err *err);

/* Sets how long an answer, and a connection that is made anew, may take from now on. */
void client_patience(struct client *client, int timeout_ms);

/* The two halves of client_call, for streams of parts: each request is answered once, in order. */
int client_send(struct client *client, struct err *err);
int client_answer(struct client *client, pb_size_t answer_kind, const duopoly_Envelope **ret_answer,
                  struct err *err);
/* The same, where the answer may be of one of two kinds. */
int client_answer_or(struct client *client, pb_size_t kind, pb_size_t other_kind,
                     const duopoly_Envelope **ret_answer, struct err *err);
/* As client_answer, of a request that was sent, but without waiting. −EAGAIN, without a sentence:
 * the answer is not there yet, and the connection stays of use. Whoever polls client_fd meanwhile
 * looks again now and then, since over TCP it may become readable but once. */
int client_take(struct client *client, pb_size_t answer_kind, const duopoly_Envelope **ret_answer,
                struct err *err);

/* The reason of the last −EREMOTEIO. */
duopoly_Reason client_refusal(const struct client *client);
/* Sets the reason, when one of several refusals is the one to report. */
void client_refusal_set(struct client *client, duopoly_Reason reason);

/* Asks for the events of one job, or of all (0). */
int client_watch(struct client *client, uint64_t job, struct err *err);

/* Returns the next job event. If its `missed` is set, that many ends of jobs were lost. −ETIMEDOUT
 * after `timeout_ms` without an event (0: do not wait, −1: wait for ever). */
int client_event(struct client *client, int timeout_ms, duopoly_JobEvent *ret_event,
                 struct err *err);

/* For poll: readable means that client_event may have something. Events kept during a call do not
 * make it readable: take them with client_event and timeout 0 until −ETIMEDOUT before waiting. */
int client_fd(const struct client *client);

/* NULL is fine. */
void client_close(struct client *client);
