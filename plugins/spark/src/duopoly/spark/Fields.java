package duopoly.spark;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads a protobuf message field by field: `while (fields.next()) switch (fields.field()) …`.
 * Malformed: IllegalArgumentException.
 */
final class Fields {
    private final byte[] bytes;
    private final int end;
    private int at;
    private int field;
    private long number;
    private int begin;
    private int length;
    private boolean packed;

    Fields(byte[] bytes) {
        this(bytes, 0, bytes.length);
    }

    private Fields(byte[] bytes, int from, int end) {
        this.bytes = bytes;
        this.at = from;
        this.end = end;
    }

    boolean next() {
        if (at == end)
            return false;
        long tag = varint();
        field = (int) (tag >>> 3);
        length = 0;
        packed = (tag & 7) == 2;
        switch ((int) tag & 7) {
        case 0:
            number = varint();
            return true;
        case 1:
            return skip(8);
        case 2:
            return skip(varint());
        case 5:
            return skip(4);
        default:
            throw new IllegalArgumentException("a field of kind " + (tag & 7));
        }
    }

    int field() {
        return field;
    }

    long number() {
        return number;
    }

    String text() {
        return new String(bytes, begin, length, StandardCharsets.UTF_8);
    }

    /** Packed numbers, or a single one. */
    long[] numbers() {
        if (!packed)
            return new long[] {number};
        Fields values = part();
        long[] all = new long[length];
        int n = 0;
        while (values.at != values.end)
            all[n++] = values.varint();
        return Arrays.copyOf(all, n);
    }

    Fields part() {
        return new Fields(bytes, begin, begin + length);
    }

    private boolean skip(long n) {
        if (n < 0 || n > end - at)
            throw new IllegalArgumentException("a field that is longer than its message");
        begin = at;
        length = (int) n;
        at += length;
        return true;
    }

    private long varint() {
        long value = 0;
        for (int shift = 0; shift < 64 && at < end; shift += 7) {
            byte b = bytes[at++];
            value |= (b & 0x7fL) << shift;
            if (b >= 0)
                return value;
        }
        throw new IllegalArgumentException("a number that does not end");
    }
}
