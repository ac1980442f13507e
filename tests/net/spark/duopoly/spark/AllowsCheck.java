package duopoly.spark;

/** Allows as snapshots make them, without Spark. Ends with 0 where all holds. */
public final class AllowsCheck {
    private static final long MS = 1_000_000;

    private static Message snapshot(long number, boolean whole, boolean last) {
        return new Message().number(1, number).flag(2, whole).flag(3, last).number(4, 2000);
    }

    private static Message allow(long number, int stage, int task, String host, long untilMs) {
        return new Message().number(1, number).number(2, 7).number(3, stage).number(4, task).text(5, host, 63).number(8, untilMs);
    }

    private static boolean take(Allows allows, Message snapshot, long nowMs) {
        return allows.take(new Fields(snapshot.bytes()), nowMs * MS);
    }

    private static void check(boolean holds, String what) {
        if (!holds)
            throw new AssertionError(what);
    }

    public static void main(String[] words) {
        Allows allows = new Allows();
        check(!allows.hold(7, 1, 0), "nothing was said: nothing is held");
        take(allows, snapshot(1, true, false).part(5, allow(10, 1, 0, "w1", 5000)), 0);
        check(!allows.hold(7, 1, 0), "not whole yet");
        take(allows, snapshot(2, true, true).part(5, allow(11, 1, 1, "w2", 100)), 0);
        check(allows.hold(7, 1, 1999 * MS) && !allows.hold(7, 1, 2000 * MS), "two seconds");
        check(allows.find(7, 1, "w1", 0).number == 10 && allows.find(7, 1, "w3", 0) == null && allows.find(7, 2, "w1", 0) == null, "by stage and host");
        check(allows.find(7, 1, "w2", 99 * MS).task == 1 && allows.find(7, 1, "w2", 100 * MS) == null, "until it ends");

        check(allows.waits("w2", one -> true, 50 * MS, 49 * MS) && !allows.waits("w2", one -> true, 50 * MS, 50 * MS), "for so long");
        check(!allows.waits("w3", one -> true, 50 * MS, 0) && !allows.waits("w2", one -> false, 50 * MS, 0), "by host, of those that count");
        take(allows, snapshot(3, false, true).part(5, allow(12, 1, 2, "w1", 5000)).numbers(6, new long[] {10}, 0, 1), 1000);
        check(allows.find(7, 1, "w1", 1000 * MS).number == 12, "one came, one is no more");
        allows.use(allows.find(7, 1, "w1", 1000 * MS));
        check(allows.find(7, 1, "w1", 1000 * MS) == null, "used once");
        take(allows, snapshot(4, false, true).part(5, allow(13, 1, 3, "w4", 5000)).part(5, allow(14, 2, 0, "w5", 5000)), 1500);
        check(allows.waits("w4", one -> true, 500 * MS, 1500 * MS), "a slot is left to it");
        take(allows, snapshot(4, false, true).part(7, new Message().number(1, 7).number(2, 1)), 1500);
        check(!allows.waits("w4", one -> true, 500 * MS, 1500 * MS) && allows.waits("w5", one -> true, 500 * MS, 1500 * MS), "an opened stage keeps no slot");
        check(!allows.hold(7, 1, 1500 * MS) && allows.hold(7, 2, 1500 * MS), "an opened stage is Spark's");

        check(!allows.isBound(7, 2, 1500 * MS), "nothing was bound");
        take(allows, snapshot(4, false, true).part(11, new Message().number(1, 7).number(2, 2)).part(11, new Message().number(1, 7).number(2, 1)), 1500);
        check(allows.isBound(7, 2, 1500 * MS) && !allows.isBound(7, 1, 1500 * MS), "a bound stage, and one that was opened");
        check(!allows.isBound(7, 2, 3500 * MS), "bound as long as what was said counts");
        check(take(allows, snapshot(5, false, true).flag(9, true).numbers(10, new long[] {9, 7, 8}, 0, 3), 1500), "another order");
        check(allows.place(9) == 0 && allows.place(8) == 2 && allows.place(4) == 3, "places");
        check(!take(allows, snapshot(6, false, true), 1500), "the same order");

        take(allows, snapshot(1, true, false).part(5, allow(20, 1, 0, "w1", 5000)), 1500);
        take(allows, snapshot(1, true, true).part(5, allow(21, 3, 0, "w1", 5000)), 1600);
        check(allows.find(7, 1, "w1", 1600 * MS) == null && allows.find(7, 3, "w1", 1600 * MS).number == 21, "another session's first begins anew");
        check(allows.hold(7, 1, 1600 * MS) && !allows.isBound(7, 2, 1600 * MS), "and so does what was opened and bound");
    }
}
