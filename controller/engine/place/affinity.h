/* affinity: a host that has room gets the task that suffers least from what runs there. Private to
 * controller/engine/place.
 *
 * HDAS (He, Cui, Feng: heterogeneous dynamic affinity scheduling in Hadoop+, doi
 * 10.3772/j.issn.1002-0470.2016.04.002), algorithm 1, whose body and formulas (3) and (6) the
 * source's text has lost; both readings of each may be chosen. An application is here a stage: its
 * tasks have one profile for each way to run them. What a task would take somewhere:
 * affinity_model.h.
 *
 * 1. The host with room for some ready task that runs the fewest tasks is next. Of the ready stages
 *    whose next task fits there in some way:
 * 2. One that others were started before for `patience` starts goes first, that of the oldest start
 *    (or, without one, that is ready for longest).
 * 3. A GPU, where one can be taken: the stage whose task would be delayed least against its lone
 *    time. Of equals the one that has had the fewest attempts on GPUs, so that those which read
 *    much are not left for the end; then those that run on GPUs alone, then the earliest job.
 * 4. Else the stage with the slowest progress (6), parameter `progress`:
 *
 *        sum     submitted + started · T      it does not move as time passes
 *        rate    started · T ÷ (now − submitted)
 *
 *    started: its tasks that run or are done, in any way; T: its lone time in this way. Among
 *    equals the one whose task gets, here and now, the largest part of the best rate that it
 *    reaches alone in any way, which leaves GPUs to those who gain most by them.
 *
 * Ours, not the source's: parameter `downlink`, for stages whose tasks read what other tasks made.
 * Where that would wait on the host's downlink (affinity_downlink.h), the wait is a delay as what a
 * crowded disk costs is one. On a GPU, 3, the predicted time has it. For a slot, 4, the parameter
 * says what it does, ns as progress:
 *
 *     alike   nothing, nor on a GPU: the source's rules, and the default
 *     added   the stage is so much further: progress + wait (rate: (started · T + wait) ÷ age)
 *     behind  who would wait least goes first, and progress decides among equals: so a slot is not
 *             given to what would only wait in it while something else can run
 *
 * Of stages that look alike (kinds.h) the one that 3 and 4 put first without waits stands for all.
 * WHY: they then are looked at as one, and the wait is that of its next task alone.
 *
 * A host whose disk hangs, by its last report, comes behind all others, and takes nothing that
 * reads until it answers: what reads there would never end.
 *
 * What was compared is kept with the attempt, for people (affinity_runners.h).
 *
 * So there are three queues: stages with GPU ways alone stand in those of 3, without in those of 4,
 * the others in both. A task runs in the way for which it was chosen, whatever its stage prefers.
 * It reads its block on that host, where one of the stage's ready ones is.
 *
 * What is asked of a disk: affinity_disk.h. Each choice counts at once.
 *
 * Cost. A choice looks at each group of kinds of ready stages (kinds.h) three times at most, and in
 * those that fit at a few kinds (affinity_rank.h): O(groups · log kinds · log stages). With `rate`
 * a choice for a slot looks at each kind, and in it at 64 numbers of started tasks at most. With
 * `downlink` each look at a kind whose next task has a Macroflow is O(receivers there), and kinds
 * that would wait are looked at in vain: O(kinds) at worst. Of what is not told apart the starts
 * have a reason that says so.
 *
 * No starvation. Let J stages be ready (of one user, where somebody divides), one of them X, and
 * count the starts that are chosen here on hosts where X's next task fitted as well. Before X
 * starts there are at most patience + J − 1 of them. Proof: each start has a number one higher than
 * the one before (attempt numbers of a controller's epoch). Let X's last start, or the last one
 * when it became ready, have number s. After `patience` starts X is overdue at every host where it
 * fits, by 2. From then on a start there before X is one of another overdue stage whose number is
 * at most s. That stage's number is then that of this start, which is larger than s, and never
 * becomes smaller; so each of the other J − 1 stages goes before X once at most. Stages that become
 * ready after a further start have larger numbers. This holds whatever hosts report. */
#pragma once

#include "controller/engine/place/place.h"

#define REASON_LEAST_DELAYED ((enum reason)110)
#define REASON_SLOWEST       ((enum reason)111)
#define REASON_PATIENCE      ((enum reason)112)
#define REASON_NO_PROFILE    ((enum reason)113)
#define REASON_PROFILES_FULL ((enum reason)114)
