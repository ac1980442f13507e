package duopoly.spark;

import java.util.HashMap;
import java.util.Map;

/**
 * Slots that have just become free, of which duopoly may still want one for a task that waits for
 * it: Spark offers them at once, before duopoly knows. Until it has acknowledged the end, and for
 * at most ANSWER_NS, no task takes one that needs no allow. Numbers are those of messages in one
 * session. O(1) each; at most one place for each executor.
 */
final class Slots {
    static final long ANSWER_NS = 30_000_000L;

    private static final class Freed {
        final long task;
        final long untilNs;
        long number = Long.MAX_VALUE; /* of the message that reported it */

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

    /** The message with this number was the last that concerns it. */
    synchronized void told(String executor, long task, long number) {
        Freed freed = newest.get(executor);
        if (freed != null && freed.task == task)
            freed.number = number;
    }

    /** All messages up to this number have taken effect. */
    synchronized void answered(long number) {
        answered = number;
    }

    /** Whether the message with this number has taken effect. */
    synchronized boolean isAnswered(long number) {
        return number <= answered;
    }

    /** A session has ended: no answers will come. */
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
