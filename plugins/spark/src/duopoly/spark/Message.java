package duopoly.spark;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Writes a protobuf message (proto3): as much of the format as schemas/duopoly.proto needs, so that
 * the plug-in brings no library into a driver that may have another version of it. Not thread-safe.
 */
final class Message {
    private byte[] bytes = new byte[64];
    private int length;

    int length() {
        return length;
    }

    byte[] bytes() {
        return Arrays.copyOf(bytes, length);
    }

    Message copy() {
        return new Message().raw(bytes, length);
    }

    /** A missing field means zero. */
    Message number(int field, long value) {
        return value == 0 ? this : tag(field, 0).varint(value);
    }

    Message flag(int field, boolean value) {
        return number(field, value ? 1 : 0);
    }

    /** The name of a host, an executor or an application, as `named` shortens it. */
    Message name(int field, String value, int most) {
        return text(field, named(value, most), most);
    }

    /**
     * A name of at most `most` bytes of UTF-8. A longer one ends in a digest (FNV-1a) of the whole:
     * a cut name could be another's. Names from duopoly are compared with the same.
     */
    static String named(String value, int most) {
        if (value == null || value.length() <= most / 3)
            return value;
        byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
        if (utf8.length <= most)
            return value;
        long hash = 0xcbf29ce484222325L;
        for (byte one : utf8)
            hash = (hash ^ (one & 0xff)) * 0x100000001b3L;
        return new String(utf8, 0, whole(utf8, most - 17), StandardCharsets.UTF_8) + String.format("~%016x", hash);
    }

    /* At most so many bytes, without splitting a character. */
    private static int whole(byte[] utf8, int most) {
        int n = Math.min(utf8.length, most);
        while (n > 0 && n < utf8.length && (utf8[n] & 0xc0) == 0x80)
            n--;
        return n;
    }

    /** Words for people, cut to `most` bytes of UTF-8, never inside a character. */
    Message text(int field, String value, int most) {
        byte[] utf8 = value == null ? new byte[0] : value.getBytes(StandardCharsets.UTF_8);
        int n = whole(utf8, most);
        return n == 0 ? this : tag(field, 2).varint(n).raw(utf8, n);
    }

    Message bytes(int field, byte[] value) {
        return value.length == 0 ? this : tag(field, 2).varint(value.length).raw(value, value.length);
    }

    Message part(int field, Message value) {
        return tag(field, 2).varint(value.length).raw(value.bytes, value.length);
    }

    /** Packed: values[from] until values[to]. */
    Message numbers(int field, long[] values, int from, int to) {
        Message packed = new Message();
        for (int i = from; i < to; i++)
            packed.varint(values[i]);
        return to > from ? part(field, packed) : this;
    }

    private Message tag(int field, int kind) {
        return varint((long) field << 3 | kind);
    }

    private Message varint(long value) {
        for (; (value & ~0x7fL) != 0; value >>>= 7)
            add((int) value | 0x80);
        return add((int) value);
    }

    private Message add(int value) {
        room(1);
        bytes[length++] = (byte) value;
        return this;
    }

    private Message raw(byte[] from, int n) {
        room(n);
        System.arraycopy(from, 0, bytes, length, n);
        length += n;
        return this;
    }

    private void room(int n) {
        if (bytes.length - length < n)
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + n));
    }
}
