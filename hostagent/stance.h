/* How far this agent reaches into its host, and what brings that about.
 *
 *   observe   it decides and reports; no packet is marked, no port has a queue or a filter of ours
 *   mark      packets bear marks; the queues are as they were before us
 *   enforce   marks, and our queues on every port
 *
 * Two say how far: the controller (stance_tell), and an operator on this host (stance_say, from
 * another process, with or without a running agent). The lower one is in force. Both words are kept
 * in STATE/stance-told and STATE/stance, so that an agent without a controller begins as it ended.
 * The files are there from the beginning and are written over in their place: a full disk hinders
 * nobody.
 *
 * On the way down the marks go first: one write ends them, then the ports are left. On the way up
 * the queues come first. One thread; blocking for a few exchanges with the kernel for each port. */
#pragma once

#include "hostagent/marks/marks.h"
#include "hostagent/switches/switches.h"
#include "schemas/duopoly.pb.h"

#include <systemd/sd-event.h>

struct stance_config {
    const char *state_dir;   /* exists; borrowed until close */
    struct switches *queues; /* NULL: queues are not ours */
    struct marks *marks;
    void (*on_change)(void *user); /* another one is in force */
    void *user;
};

struct stance;

/* The one to begin with. */
duopoly_Stance stance_kept(const char *state_dir);
enum mark_reach stance_reach(duopoly_Stance stance);

/* Its word: "observe", … */
const char *stance_said_as(duopoly_Stance stance);

/* The files that stance_open would write; writes none. */
int stance_plan(const char *state_dir, struct changes *changes, struct err *err);

/* The queues and marks are as `stance_kept` says. */
int stance_open(const struct stance_config *config, sd_event *event, struct stance **ret_stance,
                struct err *err);
void stance_close(struct stance *stance); /* takes NULL */

duopoly_Stance stance_now(const struct stance *stance);

/* The controller's word. In force when it returns; what fails is logged. Ends a trial. */
void stance_tell(struct stance *stance, duopoly_Stance told);

/* The same, where it is said only because a session began: a trial goes on if it is nothing new. */
void stance_greet(struct stance *stance, duopoly_Stance told);

/* In force for so many seconds, unless the controller says its word again before: then what was in
 * force returns by itself, also without a controller, and also when the agent begins again. */
void stance_try(struct stance *stance, duopoly_Stance tried, uint32_t confirm_s);

/* Seconds of the trial that are left; 0: there is none. */
uint32_t stance_trial_s(const struct stance *stance);

/* The operator's word on this host, for an agent that runs or that will: −EINVAL when there is no
 * such stance. */
int stance_say(const char *state_dir, const char *word, duopoly_Stance *ret_stance,
               struct err *err);
/* Waits for a running agent to have it in force. −ETIMEDOUT after 2 s. */
int stance_wait(const char *state_dir, duopoly_Stance stance, struct err *err);
