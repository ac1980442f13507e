package duopoly.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.spark.scheduler.MapStatus;

/**
 * A job as duopoly sees it: one of Spark's, or all those of one SQL execution. Its number is that
 * of its first one in Spark. Stages are numbered in the order in which they were announced, parents
 * first; tasks by their partitions. No locks: its owner has one.
 */
final class Job {
    static final int DONE = 0, FAILED = 1;
    /* Phases of a stage and states of a task attempt in schemas/duopoly.proto. */
    private static final int KNOWN = 0, OFFERED = 1, SKIPPED = 2;
    static final int TASK_STARTED = 0, TASK_DONE = 1, TASK_FAILED = 2, TASK_KILLED = 3, TASK_OUTPUT_LOST = 4;
    private static final int PARENTS_MOST = 16;
    private static final int NAME_MOST = 63;

    final int number;
    final String name;
    final long execution; /* of Spark's SQL; −1: none */
    final Map<Integer, Stage> stages = new LinkedHashMap<>();
    int running; /* of Spark's jobs */

    Job(int number, String name, long execution) {
        this.number = number;
        this.name = name;
        this.execution = execution;
    }

    Fact fact() {
        return Fact.of(Fact.JOB, new Message().number(1, number).text(2, name, NAME_MOST));
    }

    Fact end(int outcome) {
        return Fact.of(Fact.END, new Message().number(1, number).number(2, outcome));
    }

    static final class Stage {
        final Job job;
        final int number;
        final int tasks;
        final Stage[] parents;
        private final List<Stage> children = new ArrayList<>();
        /* tasks that ended: the session's thread's */
        private final List<Integer> untold = new ArrayList<>();
        final int shuffle; /* that it writes; −1: none */
        final boolean ungated;
        final long history;
        final int id; /* Spark's number of it */
        final String name;
        int attempt; /* Spark's, of the stage */
        /* For a stage that computes only some partitions: task numbers in the order of their
         * starts. */
        private final Map<Integer, Integer> partial;
        final Attempt[] done;
        /* allows of partitions that are about to start */
        final Map<Integer, Long> allowed = new ConcurrentHashMap<>();
        private Blocks blocks; /* null: the place of its tasks' input is unknown */
        private final Inputs inputs; /* null: its amount is unknown, or it has a place */
        private boolean bindable;
        /* The number of the message that reported its begin: the session's thread writes it. */
        private volatile long offeredBy = Long.MAX_VALUE;
        private int phase = KNOWN;
        private int ended; /* tasks that are done */
        /* Of its last task: its output and end, and that its slot is free. */
        private final List<Fact> last = new ArrayList<>();
        private Fact lastFreed;

        Stage(Job job, int tasks, Stage[] parents, int shuffle, boolean ungated, boolean partial, long history, int id, String name, Inputs inputs) {
            this.job = job;
            this.number = job.stages.size();
            this.tasks = tasks;
            this.parents = parents;
            this.shuffle = shuffle;
            this.ungated = ungated;
            this.partial = partial ? new HashMap<>() : null;
            this.history = history;
            this.id = id;
            this.name = name;
            this.inputs = inputs;
            this.done = new Attempt[tasks];
            for (Stage parent : parents)
                parent.children.add(this);
        }

        /** Whether its tasks are not one for each partition. */
        boolean isPartial() {
            return partial != null;
        }

        /** Sets where the input of its tasks is; told with its begin. */
        void located(Blocks where) {
            blocks = where;
        }

        /**
         * It is known, or was reported to an earlier session. One without parents is left out until
         * it begins: it could be given away at once, while nothing is known of its input.
         */
        void announce(Consumer<Fact> say) {
            if (parents.length > 0 || phase != KNOWN)
                tell(say);
        }

        /* The stage comes last: from then on duopoly gives its tasks away. */
        private void tell(Consumer<Fact> say) {
            if (inputs != null)
                say.accept(inputs.fact(job.number, number));
            if (blocks != null)
                say.accept(blocks.fact(job.number, number));
            say.accept(fact());
        }

        /** Whether duopoly may bind it (Gate). */
        void bindable(boolean may) {
            bindable = may && parents.length == 0 && partial == null && blocks == null && !ungated && attempt == 0;
        }

        long offeredBy() {
            return offeredBy;
        }

        boolean offered() {
            return phase == OFFERED;
        }

        /** It begins; needed stages that never began have their outputs from an earlier job. */
        void offer(Consumer<Fact> say) {
            for (Stage parent : parents)
                parent.skip(say);
            phase = OFFERED;
            tell(say);
            say.accept(teller -> offeredBy = teller.told());
        }

        private void skip(Consumer<Fact> say) {
            if (phase != KNOWN)
                return;
            for (Stage parent : parents)
                parent.skip(say);
            phase = SKIPPED;
            tell(say);
        }

        /**
         * One of its tasks is done: `end` says so, `freed` that its slot is free. What stages that
         * wait receive of the last one is told before its end, since they can be given away then,
         * and its slot after the stages that begin then, if any do.
         */
        void done(Attempt attempt, Fact end, Fact freed, Shuffles shuffles, Consumer<Fact> say) {
            boolean before = isDone();
            done[attempt.task] = attempt;
            boolean ends = shuffle >= 0 && !before && isDone();
            Consumer<Fact> later = ends && children.stream().anyMatch(child -> child.phase == KNOWN) ? last::add : say;
            output(attempt.task, shuffles, later);
            later.accept(end);
            if (ends)
                lastFreed = freed;
            else
                say.accept(freed);
        }

        private boolean isDone() {
            while (ended < tasks && done[ended] != null)
                ended++;
            return ended == tasks;
        }

        /** A task that was done has to run again. */
        void lost(int task) {
            done[task] = null;
            ended = Math.min(ended, task);
        }

        /** All outputs can be looked up. */
        void completed(Consumer<Fact> say) {
            last.forEach(say);
            last.clear();
        }

        /** It begins, and was reported. */
        void parentsEnded(Consumer<Fact> say) {
            for (Stage parent : parents) {
                parent.completed(say);
                if (parent.lastFreed != null)
                    say.accept(parent.lastFreed);
                parent.lastFreed = null;
            }
        }

        /** The task of a partition; −1: none that was announced. */
        int task(int partition) {
            int task = partial == null ? partition : partial.computeIfAbsent(partition, p -> partial.size());
            return task < tasks ? task : -1;
        }

        Fact fact() {
            Message body = new Message().number(1, job.number).number(2, number).number(3, tasks);
            for (int i = 0; i < parents.length && i < PARENTS_MOST; i++)
                body.part(5, new Message().number(1, parents[i].number));
            return Fact.of(Fact.STAGE, body.number(6, history).number(7, phase).flag(8, ungated)
                                           .number(9, id).number(10, attempt).text(11, name, NAME_MOST).flag(12, bindable));
        }

        /* Its output adds to what is known of stages that have not begun. */
        private void output(int task, Shuffles shuffles, Consumer<Fact> say) {
            Stage[] waiting = children.stream().filter(child -> child.phase == KNOWN && child.partial == null).toArray(Stage[]::new);
            if (shuffle >= 0 && partial == null && waiting.length > 0)
                say.accept(teller -> outputs(teller, task, shuffles, waiting));
        }

        /* Spark reports a task's end before its outputs can be looked up. */
        private void outputs(Fact.Teller teller, int task, Shuffles shuffles, Stage[] waiting) throws IOException {
            MapStatus[] maps = shuffles.outputs(shuffle);
            untold.add(task);
            for (Iterator<Integer> next = untold.iterator(); next.hasNext();) {
                int map = next.next();
                if (map >= maps.length || maps[map] == null)
                    continue;
                for (Stage child : waiting)
                    shuffles.output(teller, job.number, child.number, child.tasks, number, shuffle, maps, map);
                next.remove();
            }
        }

        /** What its tasks receive, if known for each. */
        void sizes(Shuffles shuffles, Consumer<Fact> say) {
            for (Stage parent : parents)
                if (partial == null && parent.shuffle >= 0)
                    say.accept(shuffles.received(job.number, number, tasks, parent.number, parent.shuffle, parent.phase == OFFERED));
        }
    }

    /** One attempt of a task, which keeps its place. */
    static final class Attempt {
        final Stage stage;
        final int task;
        final long number;
        final String host;

        Attempt(Stage stage, int task, long number, String host) {
            this.stage = stage;
            this.task = task;
            this.number = number;
            this.host = host;
        }

        Fact fact(int state, long received) {
            return fact(state, received, 0);
        }

        /** `allow`: the one that it used; 0: none. */
        Fact fact(int state, long received, long allow) {
            return Fact.of(Fact.TASK, new Message().number(1, number & 0xffffffffL).number(2, allow).number(3, stage.job.number).number(4, stage.number)
                                          .number(5, task).name(6, host, NAME_MOST).number(7, state).number(8, received));
        }
    }
}
