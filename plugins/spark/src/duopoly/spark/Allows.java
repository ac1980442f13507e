package duopoly.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * What duopoly allows an application to start, by the newest snapshot of its session
 * (schemas/duopoly.proto, Snapshot). A snapshot is valid for the time that it gives; after that
 * nothing is held. No input and no output: Spark's scheduler calls this under its own lock.
 */
final class Allows {
    private static final long NS_PER_MS = 1_000_000;
    private static final int NAME_MOST = 63;
    /* Fields of Snapshot and of Allow. */
    private static final int NUMBER = 1, WHOLE = 2, LAST = 3, VALID_MS = 4, ALLOWS = 5, ENDED = 6, OPENED = 7, ORDERED = 9, ORDER = 10, BOUND = 11;

    /** Permission to start one task of a stage on a host, once. */
    static final class Allow {
        long number;
        int job;
        int stage;
        int task;
        String host = "";
        long sinceNs;
        long untilNs;

        private static Allow of(Fields fields, long nowNs) {
            Allow allow = new Allow();
            allow.sinceNs = nowNs;
            while (fields.next())
                switch (fields.field()) {
                case 1:
                    allow.number = fields.number();
                    break;
                case 2:
                    allow.job = (int) fields.number();
                    break;
                case 3:
                    allow.stage = (int) fields.number();
                    break;
                case 4:
                    allow.task = (int) fields.number();
                    break;
                case 5:
                    allow.host = fields.text();
                    break;
                case 8:
                    allow.untilNs = nowNs + fields.number() * NS_PER_MS;
                    break;
                default:
                    break;
                }
            return allow;
        }
    }

    private final Map<Long, Allow> all = new HashMap<>();
    private final Map<Long, List<Allow>> ofStage = new HashMap<>();
    private final Map<String, List<Allow>> ofHost = new HashMap<>();
    private final Set<Long> opened = new HashSet<>();
    private final Set<Long> bound = new HashSet<>();
    private List<Integer> order = List.of();
    private long validUntilNs;
    private boolean said;    /* there was a whole snapshot: validUntilNs counts */
    private boolean partial; /* more of a whole snapshot is to come */

    static long key(int job, int stage) {
        return (long) job << 32 | stage;
    }

    /** Returns whether the order of jobs has changed. */
    synchronized boolean take(Fields snapshot, long nowNs) {
        List<Integer> before = order;
        boolean whole = false;
        boolean last = false;
        boolean ordered = false;
        long validMs = 0;
        List<Allow> allowed = new ArrayList<>();
        List<Long> ended = new ArrayList<>();
        List<Long> open = new ArrayList<>();
        List<Long> bind = new ArrayList<>();
        List<Integer> turns = new ArrayList<>();
        while (snapshot.next())
            switch (snapshot.field()) {
            case NUMBER:
                partial &= snapshot.number() != 1; /* a session that ended in the middle of one */
                break;
            case WHOLE:
                whole = snapshot.number() != 0;
                break;
            case LAST:
                last = snapshot.number() != 0;
                break;
            case VALID_MS:
                validMs = snapshot.number();
                break;
            case ALLOWS:
                allowed.add(Allow.of(snapshot.part(), nowNs));
                break;
            case ENDED:
                for (long number : snapshot.numbers())
                    ended.add(number);
                break;
            case OPENED:
                open.add(stageOf(snapshot.part()));
                break;
            case BOUND:
                bind.add(stageOf(snapshot.part()));
                break;
            case ORDERED:
                ordered = snapshot.number() != 0;
                break;
            case ORDER:
                for (long job : snapshot.numbers())
                    turns.add((int) job);
                break;
            default:
                break;
            }
        if (whole && !partial)
            clear();
        partial = whole && !last;
        opened.addAll(open);
        bound.addAll(bind);
        allowed.forEach(this::add);
        ended.forEach(number -> remove(all.get(number)));
        if (ordered)
            order = turns;
        validUntilNs = nowNs + validMs * NS_PER_MS;
        said |= whole && last;
        return !order.equals(before);
    }

    private static long stageOf(Fields fields) {
        int job = 0;
        int stage = 0;
        while (fields.next())
            if (fields.field() == 1)
                job = (int) fields.number();
            else if (fields.field() == 2)
                stage = (int) fields.number();
        return key(job, stage);
    }

    private void clear() {
        all.clear();
        ofStage.clear();
        ofHost.clear();
        opened.clear();
        bound.clear();
    }

    private void add(Allow allow) {
        if (all.putIfAbsent(allow.number, allow) != null)
            return;
        ofStage.computeIfAbsent(key(allow.job, allow.stage), key -> new ArrayList<>()).add(allow);
        ofHost.computeIfAbsent(allow.host, host -> new ArrayList<>()).add(allow);
    }

    private void remove(Allow allow) {
        if (allow == null)
            return;
        all.remove(allow.number);
        remove(ofStage, key(allow.job, allow.stage), allow);
        remove(ofHost, allow.host, allow);
    }

    private static <K> void remove(Map<K, List<Allow>> lists, K key, Allow allow) {
        List<Allow> others = lists.get(key);
        others.remove(allow);
        if (others.isEmpty())
            lists.remove(key);
    }

    /** Whether this stage starts nothing without an allow, now. */
    synchronized boolean hold(int job, int stage, long nowNs) {
        return isValid(nowNs) && !opened.contains(key(job, stage));
    }

    /** Whether this stage, which reads no shuffle, starts nothing without an allow either, now. */
    synchronized boolean isBound(int job, int stage, long nowNs) {
        return bound.contains(key(job, stage)) && hold(job, stage, nowNs);
    }

    /** Whether the last snapshot is still valid. */
    synchronized boolean isValid(long nowNs) {
        return said && nowNs < validUntilNs;
    }

    /** An allow of the stage for that host, which stays until it is used; null: there is none. */
    synchronized Allow find(int job, int stage, String offered, long nowNs) {
        String host = Message.named(offered, NAME_MOST);
        for (Allow allow : ofStage.getOrDefault(key(job, stage), List.of()))
            if (allow.host.equals(host) && nowNs < allow.untilNs)
                return allow;
        return null;
    }

    /**
     * Whether an accepted allow that came at most `agoNs` ago waits for a slot of that host; not if
     * its stage is open.
     */
    synchronized boolean waits(String host, Predicate<Allow> counts, long agoNs, long nowNs) {
        for (Allow allow : ofHost.getOrDefault(Message.named(host, NAME_MOST), List.of()))
            if (nowNs < allow.untilNs && nowNs - allow.sinceNs < agoNs && !opened.contains(key(allow.job, allow.stage)) && counts.test(allow))
                return true;
        return false;
    }

    synchronized void use(Allow allow) {
        remove(all.get(allow.number));
    }

    /** The job's place in duopoly's order; behind all of them if it has none. */
    synchronized int place(int job) {
        int at = order.indexOf(job);
        return at < 0 ? order.size() : at;
    }
}
