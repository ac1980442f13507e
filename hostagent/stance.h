/* The agent's stance: how much of its host it may change. This module also carries the stance out.
 *
 *   observe   reports only; no packet is marked, no port has a queue or a filter of ours
 *   mark      packets carry marks; the queues are as they were before us
 *   enforce   marks, and our queues on every port
 *
 * Two parties set it: the controller (stance_tell), and an operator on this host (stance_say, from
 * another process, with or without a running agent). The lower one is in force. Both are kept in
 * STATE/stance-told and STATE/stance, so an agent without a controller starts as it ended. The
 * files exist from the beginning and are overwritten in place, so this also works on a full disk.
 *
 * Going down, marks end first, by one write, then the queues are removed. Going up, the queues come
 * first. One thread; blocking for a few exchanges with the kernel for each port. */
#pragma once

#include "hostagent/marks/marks.h"
#include "hostagent/switches/switches.h"
#include "schemas/duopoly.pb.h"

#include <systemd/sd-event.h>

struct stance_config {
    const char *state_dir;     /* exists; borrowed until close */
    struct switches *switches; /* NULL: the queues are not ours */
    struct marks *marks;
    void (*on_change)(void *user); /* called when the stance in force changes */
    void *user;
};

struct stance;

/* The stance to begin with. */
duopoly_Stance stance_kept(const char *state_dir);
enum mark_reach stance_reach(duopoly_Stance stance);

/* Its name: "observe", … */
const char *stance_said_as(duopoly_Stance stance);

/* The files that stance_open would write; writes none. */
int stance_plan(const char *state_dir, struct changes *changes, struct err *err);

/* Requires that queues and marks are as `stance_kept` says. */
int stance_open(const struct stance_config *config, sd_event *event, struct stance **ret_stance,
                struct err *err);
void stance_close(struct stance *stance); /* takes NULL */

duopoly_Stance stance_now(const struct stance *stance);

/* Sets the controller's stance. In force when it returns; failures are logged. Ends a trial. */
void stance_tell(struct stance *stance, duopoly_Stance told);

/* The same at the begin of a session: a trial continues if the stance is unchanged. */
void stance_greet(struct stance *stance, duopoly_Stance told);

/* Sets a stance for `confirm_s` seconds. Unless the controller repeats it before that, the former
 * stance returns by itself, also without a controller and after a restart of the agent. */
void stance_try(struct stance *stance, duopoly_Stance tried, uint32_t confirm_s);

/* Seconds left of the trial; 0: there is none. */
uint32_t stance_trial_s(const struct stance *stance);

/* Sets the operator's stance on this host, for a running or a later agent. −EINVAL: there is no
 * such stance. */
int stance_say(const char *state_dir, const char *word, duopoly_Stance *ret_stance,
               struct err *err);
/* Waits until a running agent has put it in force. −ETIMEDOUT after 2 s. */
int stance_wait(const char *state_dir, duopoly_Stance stance, struct err *err);
