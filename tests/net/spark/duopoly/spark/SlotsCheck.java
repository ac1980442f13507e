package duopoly.spark;

/** Slots that are kept until duopoly has answered, without Spark. Ends with 0 where all holds. */
public final class SlotsCheck {
    private static void check(boolean holds, String what) {
        if (!holds)
            throw new AssertionError(what);
    }

    public static void main(String[] words) {
        Slots slots = new Slots();
        check(!slots.isKept("1", 0), "nothing has ended");
        slots.free("1", 10, 0);
        check(slots.isKept("1", 0) && !slots.isKept("2", 0), "by executor");
        slots.answered(4);
        check(slots.isKept("1", 0), "not told yet");
        slots.told("1", 10, 5);
        check(slots.isKept("1", 0), "not answered yet");
        slots.answered(5);
        check(!slots.isKept("1", 0), "answered");

        check(slots.isAnswered(5) && !slots.isAnswered(6) && !slots.isAnswered(Long.MAX_VALUE), "what has taken effect");

        slots.free("1", 11, 0);
        slots.told("1", 11, 5);
        check(!slots.isKept("1", 0), "answered before it is known what was told");
        slots.free("1", 12, 0);
        check(slots.isKept("1", Slots.ANSWER_NS - 1) && !slots.isKept("1", Slots.ANSWER_NS), "not for ever");

        slots.free("1", 13, 0);
        slots.free("1", 14, 0);
        slots.told("1", 13, 5);
        check(slots.isKept("1", 0), "the newest counts");
        slots.forget();
        slots.told("1", 14, 1);
        check(!slots.isKept("1", 0), "the session is over");
        slots.free("1", 15, 0);
        slots.told("1", 15, 1);
        check(slots.isKept("1", 0), "the next one counts anew");
    }
}
