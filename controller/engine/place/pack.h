/* Which jobs run on one host, their home, and which reduce tasks have all their input on one.
 * Private to controller/engine/place; part of joint.
 *
 * A job whose maps have no place (their input is made, or lies in a store that is on no host) may
 * run anywhere. Where it is spread, its shuffle goes over the network; on one host it reads
 * nothing, and computes for longer.
 *
 * 1. When the first map of a job is placed, and no task of the job has a block, no edge is
 *    pipelined and all tasks have one demand, the job is *packed*, and the host of that map its
 *    *home*, where
 *
 *        C + I/B  <  C/H + (max(I/H, i) + sum over stages of max(S_i/H, m_i))/B + (n·S + L)/(H·B)
 *
 *    C: computing of all tasks ÷ slots of that host; H: hosts that can run them; S_i: bytes into
 *    stage i; m_i: of its largest task; S: all of these; I: bytes that tasks read from a place that
 *    is no host, i: the most that one does; B: the mean rate of the links; n: active jobs behind it
 *    in turn, L: what those before it still receive. Only jobs that wait for links are counted in
 *    either: no packed ones, for they leave the links alone, and none of which what is left takes
 *    all links (where racks are short, their uplinks) for less than PACK_LINKS/PACK_LINKS_OF as
 *    long as its computing takes all slots (RULE_LINKS_SHORT; a framework's jobs are counted all
 *    the same, for what they will compute is not known). PACK_BEHIND jobs at most are looked at on
 *    each side. On the left is its time on one host, on the right its time when spread, and what
 *    its transfers cost those behind it. WHY only those: while the tasks of the others wait for
 *    slots, transfers find the links free. A job that computes little beside many that compute for
 *    long would be packed for nobody, and wait for slots of its home. WHY 3/4: half packs too much
 *    where computing is most of the time, and all too little where racks are short. WHY L: all
 *    links together are one fast server and each host is a slow one. The first job takes the links
 *    while they are free, and others are done sooner at home than behind it. WHY one host or all:
 *    on k hosts computing takes C/k, shuffles (k − 1)/k² of their time on one link, and those
 *    behind it wait for 1 − 1/k of it. In 1/k the first and last are linear and the second is
 *    concave, so the least is at k = 1 or k = H.
 * 2. It is not where C is more than a third of hold_max, nor where it has more than PACK_TASKS
 *    tasks: all of them are looked at in one step, which holds everybody (10⁶: 10 ms). A
 *    framework's is not, either, where C is more than PACK_GUESSED_NS, or S/B while any bytes of it
 *    are guessed: C is a guess (its tasks compute for as long as such maps took lately).
 * 3. While all outputs of a packed job are at home its tasks start only there, maps first, then the
 *    largest reduce task: until 4·S/B after the next of them was ready. S is what is known of it
 *    now: a framework tells it when it is made. hold_max ends the wait of maps as it ends all that
 *    they wait for. It does not wait while its home cannot run it. What such a task reads does not
 *    come over the network, so no rule about receivers concerns it. WHY the job's bytes and not the
 *    task's: by the task's siblings leave together and share the one uplink of their home.
 * 4. A job that has outputs elsewhere follows the ordinary rules. A job of which a block is told is
 *    packed no more. WHY it was: its framework announces a stage before it tells where its input
 *    is, and the first map may be placed between the two.
 * 5. Where hosts tell what their rack may send to others, and that is less than what its hosts may,
 *    a further choice is one rack, that of the first map. With k of the H hosts there, R racks and
 *    U, the sum of their uplinks, (H − k)/H of what a spread job moves crosses these, which takes
 *    D(x) = x·(H − k)/(H·U):
 *
 *        spread:  C/H + max(I/H, i)/B + sum of max(S_i/(H·B), m_i/B, D(S_i))
 *                 + max((n·S + L)/(H·B), n·D(S) + D(L))
 *        rack:    C/k + (max(I/k, i) + sum of max(S_i/k, m_i))/B + (n·S + L)/(H·B)
 *
 *    The least is taken; beside spread the rack counts half. WHY half: measured; who comes later
 *    gains as well. The rack is not taken where C/k is more than a third of hold_max. All stages of
 *    its job have its constraint then (narrow.h), and follow the ordinary rules, until the next
 *    task has been ready for 4·R·D(S), at most for hold_max. A framework's job is kept to no rack:
 *    its stages come one by one.
 * 6. A framework starts maps where it likes. Those of a packed job are bound (gate.h) where it
 *    reports that it follows: they start where they are allowed.
 *
 * Beside that, where `lies_there` says so: all outputs of a job are on one host, and its largest
 * ready reduce task reads them alone. It may start there as well, since nothing of it comes over
 * the network.
 *
 * Whether a job is packed or kept to a rack, where and for how long its tasks wait at most is
 * decided once, as long as something of the job runs or is done; a dump keeps it. Only the wait
 * follows bytes that a framework tells later (RULE_HOME_TOLD). All else follows from facts.
 * O(tasks) once a job, O(log n) and the job's stages an event.
 *
 * One object in several files: joint.h. */
#pragma once

#include "controller/engine/policy/policy.h"

enum { PACK_BEHIND = 64, PACK_PATIENCE = 4, PACK_MEAN = 16, PACK_TASKS = 16384, PACK_RACK = 2 };
enum { PACK_LINKS = 3, PACK_LINKS_OF = 4 };
#define PACK_GUESSED_NS INT64_C(10000000000)

struct pack_engine {
    uint64_t took_ns; /* the moving mean of PACK_MEAN maps of frameworks; 0: none was done yet */
    struct sorted packed;  /* jobs, by home */
    struct sorted waiting; /* those that wait for it, or in a rack, by until when */
};
struct pack_job {
    bool packed, racked;       /* one of them at most */
    uint32_t home;             /* where the first map went */
    int64_t one_ns, spread_ns; /* what was compared; one_ns: of its rack, if it is racked */
    int64_t wait_ns;           /* from when a task was ready */
    struct sorted_node of_packed, of_waiting;
};

extern const struct engine_parameter parameter_pack, parameter_lies_there;

/* place_policy.chosen: where the claim is for the first task of its job, the job is packed, or kept
 * to its rack, or neither. False: it is kept to its rack from now on, so the claim is void. */
bool pack_consider(struct engine *engine, struct claim *claim);
/* The first by turn that has a home with room, for its next task; NULL: none. O(shapes · log n). */
struct bucket *pack_first(struct engine *engine);
struct claim pack_claim(struct engine *engine, struct bucket *bucket);
/* Why the stage's tasks wait; its bucket is `homed`. */
struct policy_why pack_held(const struct engine *engine, const struct stage *stage);

/* Whatever a job's home depends on may have changed; the job is about to go. */
void pack_follow(struct engine *engine, struct job *job);
void pack_forget(struct engine *engine, struct job *job);
/* The host can run what it could not, or the other way round. O(jobs that are packed there or have
 * outputs there). */
void pack_follow_host(struct engine *engine, struct host *host);
/* The task is counted, perhaps with a block or bytes that nobody knew. O(its replicas). */
void pack_follow_task(struct engine *engine, const struct task *task);
/* A task is done. */
void pack_learn(struct engine *engine, const struct task *task);
/* Nobody waits for longer than it may. */
void pack_expire(struct engine *engine);
int64_t pack_deadline_ns(const struct engine *engine);
/* For load: the job is packed. */
void pack_restore(struct engine *engine, struct job *job);

#define REASON_HOME      ((enum reason)61)
#define REASON_FOR_HOME  ((enum reason)62)
#define REASON_ALL_THERE ((enum reason)63)
#define REASON_RACK      ((enum reason)65)
#define PACK_REASONS                                                                               \
    {DECISION_START,                                                                               \
     REASON_HOME,                                                                                  \
     "home",                                                                                       \
     "ns that its job takes on one host",                                                          \
     "ns that it takes when spread, and costs those behind it",                                    \
     "Runs on {host}, its job's home: on one host the job takes {left.1s} s; spread, it would "    \
     "take and cost those behind it {right.1s} s. "},                                              \
        {DECISION_HOLD,                                                                            \
         REASON_FOR_HOME,                                                                          \
         "for-home",                                                                               \
         "ns that it waits at most",                                                               \
         "its job's home",                                                                         \
         "it waits at most {left.1s} s more for a slot on {right.host}, its job's home."},         \
        {DECISION_START,                                                                           \
         REASON_RACK,                                                                              \
         "rack",                                                                                   \
         "ns that its job takes in one rack, and costs those behind it",                           \
         "ns that it takes when spread, and costs those behind it",                                \
         "Runs on {host}, in its job's rack: there the job would take and cost those behind it "   \
         "{left.1s} s; spread, {right.1s} s. "},                                                   \
    {                                                                                              \
        DECISION_START, REASON_ALL_THERE, "all-there", NULL, "outputs of its job there",           \
            "Runs on {host}, where all {right} outputs of its job are. "                           \
    }
