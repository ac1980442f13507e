package duopoly.spark;

import java.util.HashMap;
import java.util.Map;

/**
 * Slots that have just fallen free, of which duopoly may still want one for a task that waits for it: Spark offers them at once, before
 * duopoly has heard of it. Until it has answered what it was told of the end, and for ANSWER_NS at most, no task takes one that needs no
 * allow. Numbers are those of messages in one session. O(1) each; at most one place an executor.
 */
final class Slots {
    static final long ANSWER_NS = 30_000_000L;

    private static final class Freed {
        final long task;
        final long untilNs;
        long number = Long.MAX_VALUE; /* of the message that told it */

        Freed(long task, long untilNs) {
            this.task = task;
            this.untilNs = untilNs;
        }
    }

    private final Map<String, Freed> newest = new HashMap<>(); /* by executor */
    private long answered;

    /** A task has ended there. */
    synchronized void free(String executor, long task, long nowNs) {
        newest.put(executor, new Freed(task, nowNs + ANSWER_NS));
    }

    /** The message of this number was the last that has to do with it. */
    synchronized void told(String executor, long task, long number) {
        Freed freed = newest.get(executor);
        if (freed != null && freed.task == task)
            freed.number = number;
    }

    /** Up to this number all that was told has had its effect. */
    synchronized void answered(long number) {
        answered = number;
    }

    /** A session has ended: nobody answers. */
    synchronized void forget() {
        newest.clear();
        answered = 0;
    }

    synchronized boolean isKept(String executor, long nowNs) {
        Freed freed = newest.get(executor);
        if (freed == null || (freed.number > answered && nowNs < freed.untilNs))
            return freed != null;
        newest.remove(executor);
        return false;
    }
}
