package duopoly.spark;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The application's executors, each with its host's name in Spark and the number of tasks that it
 * runs at once. No locks: its owner has one; look-ups of a fact that is being sent belong to the
 * session's thread.
 */
final class Executors {
    private static final int NAME_MOST = 63;
    private static final int ADDRESS_BYTES = 16;

    private static final class Executor {
        final String id;
        final String host;
        final int slots;

        Executor(String id, String host, int slots) {
            this.id = id;
            this.host = host;
            this.slots = slots;
        }
    }

    private final int taskCores;
    private final Map<String, Executor> executors = new LinkedHashMap<>();
    private boolean over;
    private final Map<String, byte[]> addresses = new HashMap<>(); /* by host; empty: unknown */

    Executors(int taskCores) {
        this.taskCores = Math.max(taskCores, 1);
    }

    void added(String id, String host, int cores, Consumer<Fact> say) {
        Executor executor = new Executor(id, host, cores / taskCores);
        if (over)
            return;
        executors.put(id, executor);
        say.accept(come(executor));
    }

    Fact removed(String id) {
        executors.remove(id);
        return Fact.of(Fact.EXECUTOR, new Message().name(1, id, NAME_MOST).flag(5, true));
    }

    /** All are removed, and none comes any more. */
    void over(Consumer<Fact> say) {
        over = true;
        List.copyOf(executors.keySet()).forEach(id -> say.accept(removed(id)));
    }

    void whole(Consumer<Fact> say) {
        executors.values().forEach(executor -> say.accept(come(executor)));
    }

    private Fact come(Executor executor) {
        return teller -> teller.tell(Fact.EXECUTOR, new Message().name(1, executor.id, NAME_MOST).name(2, executor.host, NAME_MOST)
                                                                 .bytes(3, addresses.computeIfAbsent(executor.host, Executors::address))
                                                                 .part(4, new Message().number(1, executor.slots)));
    }

    /* An address in duopoly's form, IPv4 in IPv6. A local address means nothing to others. */
    private static byte[] address(String host) {
        try {
            InetAddress address = InetAddress.getByName(host);
            byte[] bytes = address.getAddress();
            byte[] wide = new byte[ADDRESS_BYTES];
            if (address.isLoopbackAddress() || address.isAnyLocalAddress())
                return new byte[0];
            System.arraycopy(bytes, 0, wide, ADDRESS_BYTES - bytes.length, bytes.length);
            if (bytes.length < ADDRESS_BYTES)
                wide[10] = wide[11] = (byte) 0xff;
            return wide;
        } catch (UnknownHostException e) {
            return new byte[0];
        }
    }
}
