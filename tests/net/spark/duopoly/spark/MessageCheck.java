package duopoly.spark;

import java.nio.charset.StandardCharsets;

/** Names that are too long for a message stay apart, without Spark. Ends with 0 where all holds. */
public final class MessageCheck {
    private static void check(boolean holds, String what) {
        if (!holds)
            throw new AssertionError(what);
    }

    private static int bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }

    public static void main(String[] words) {
        String fits = "h".repeat(63), one = fits + "1", two = fits + "2", wide = "é".repeat(40);
        check(Message.named(null, 63) == null && Message.named("", 63).isEmpty(), "none");
        check(Message.named(fits, 63).equals(fits), "what fits is whole");
        check(bytes(Message.named(one, 63)) == 63 && Message.named(one, 63).startsWith("h".repeat(46) + "~"), "what does not ends in a digest");
        check(!Message.named(one, 63).equals(Message.named(two, 63)), "of the whole name");
        check(Message.named(one, 63).equals(Message.named(one, 63)), "always the same");
        check(Message.named(wide, 63).startsWith("é".repeat(23) + "~") && bytes(Message.named(wide, 63)) == 63, "whole characters");
        check(bytes(Message.named("x".repeat(500), 31)) == 31, "of any size");
    }
}
