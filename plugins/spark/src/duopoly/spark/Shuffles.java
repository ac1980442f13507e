package duopoly.spark;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.DAGScheduler;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import scala.Option;

/**
 * Sizes of shuffles as Spark's map output tracker knows them (compressed, some 5 % high). Whole
 * matrices up to CELLS_MOST cells, sums of larger ones. Sent on the session's thread.
 */
final class Shuffles {
    private static final long CELLS_MOST = 1_000_000;
    private static final int NUMBERS_MOST = 1024; /* in one message */
    private static final int HOSTS_MOST = 256;
    private static final int SUMS = 0, ROW = 1, CELLS = 2, HOSTS = 3;

    private final MapOutputTrackerMaster tracker;
    private final DAGScheduler scheduler;

    Shuffles(MapOutputTrackerMaster tracker, DAGScheduler scheduler) {
        this.tracker = tracker;
        this.scheduler = scheduler;
    }

    /**
     * The known outputs of a shuffle, by map: null if one is missing; none of an unknown shuffle.
     */
    MapStatus[] outputs(int shuffle) {
        Option<ShuffleStatus> status = tracker.shuffleStatuses().get(shuffle);
        return status.isEmpty() ? new MapStatus[0] : status.get().mapStatuses().clone();
    }

    /**
     * What tasks of this stage of Spark's read from files; null: unknown. Spark's own thread may
     * change what it is looked up in: a miss is as if nothing were known.
     */
    Inputs inputs(int stageId, int tasks) {
        try {
            Option<Stage> stage = scheduler.stageIdToStage().get(stageId);
            return stage.isEmpty() ? null : Inputs.of(stage.get().rdd(), tasks);
        } catch (RuntimeException | LinkageError e) {
            return null;
        }
    }

    /**
     * What `stage` receives from `parent`. `placed`: its maps ran in the same job, so the engine
     * knows where their outputs are. Nothing is known if the stage has another number of tasks than
     * the shuffle has parts (coalesced, split or several shuffles at once): it is unknown which
     * task reads which part.
     */
    Fact received(int job, int stage, int tasks, int parent, int shuffle, boolean placed) {
        return teller -> {
            Message head = new Message().number(1, job).number(2, stage).number(3, parent);
            MapStatus[] maps = outputs(shuffle);
            if (tasks == 0 || parts(shuffle) != tasks)
                return;
            if ((long) maps.length * tasks > CELLS_MOST)
                sums(teller, head, maps, tasks);
            else if (placed)
                rows(teller, head, maps, tasks);
            else
                places(teller, head, maps, tasks);
        };
    }

    /** The same for one map, if a message has space for it. */
    void output(Fact.Teller teller, int job, int stage, int tasks, int parent, int shuffle, MapStatus[] maps, int map) throws IOException {
        if (tasks <= NUMBERS_MOST && (long) maps.length * tasks <= CELLS_MOST && parts(shuffle) == tasks)
            row(teller, new Message().number(1, job).number(2, stage).number(3, parent), maps[map], map, tasks);
    }

    /* The scheduler's thread changes this table meanwhile: at worst the shuffle is not found. */
    private int parts(int shuffle) {
        try {
            Option<ShuffleMapStage> stage = scheduler.shuffleIdToMapStage().get(shuffle);
            return stage.isEmpty() ? -1 : stage.get().shuffleDep().partitioner().numPartitions();
        } catch (RuntimeException e) {
            return -1;
        }
    }

    private static void sums(Fact.Teller teller, Message head, MapStatus[] maps, int tasks) throws IOException {
        long[] sums = new long[tasks];
        for (MapStatus map : maps)
            for (int task = 0; map != null && task < tasks; task++)
                sums[task] += map.getSizeForBlock(task);
        for (int from = 0; from < tasks; from += NUMBERS_MOST)
            teller.tell(Fact.BYTES, bytes(head, SUMS, from).numbers(8, sums, from, Math.min(from + NUMBERS_MOST, tasks)));
    }

    private static void rows(Fact.Teller teller, Message head, MapStatus[] maps, int tasks) throws IOException {
        for (int map = 0; map < maps.length; map++)
            if (maps[map] != null)
                row(teller, head, maps[map], map, tasks);
    }

    private static void row(Fact.Teller teller, Message head, MapStatus status, int map, int tasks) throws IOException {
        long[] sizes = new long[tasks];
        long[] at = new long[tasks];
        for (int task = 0; task < tasks; task++) {
            sizes[task] = status.getSizeForBlock(task);
            at[task] = task;
        }
        if (tasks <= NUMBERS_MOST) {
            teller.tell(Fact.BYTES, bytes(head, ROW, map).numbers(8, sizes, 0, tasks));
            return;
        }
        for (int from = 0; from < tasks; from += NUMBERS_MOST) {
            int to = Math.min(from + NUMBERS_MOST, tasks);
            teller.tell(Fact.BYTES, bytes(head, CELLS, map).numbers(6, at, from, to).numbers(8, sizes, from, to));
        }
    }

    private static void places(Fact.Teller teller, Message head, MapStatus[] maps, int tasks) throws IOException {
        Map<String, long[]> sizes = new LinkedHashMap<>();
        for (MapStatus map : maps) {
            if (map == null || map.location() == null)
                continue;
            long[] row = sizes.computeIfAbsent(map.location().host(), host -> new long[tasks]);
            for (int task = 0; task < tasks; task++)
                row[task] += map.getSizeForBlock(task);
        }
        if (sizes.size() > HOSTS_MOST) {
            sums(teller, head, maps, tasks);
            return;
        }
        for (int task = 0; task < tasks && !sizes.isEmpty(); task++) {
            Message body = bytes(head, HOSTS, task);
            int reduce = task;
            sizes.keySet().forEach(host -> body.name(7, host, 63));
            long[] column = sizes.values().stream().mapToLong(row -> row[reduce]).toArray();
            teller.tell(Fact.BYTES, body.numbers(8, column, 0, column.length));
        }
    }

    private static Message bytes(Message head, int form, int first) {
        return head.copy().number(4, form).number(5, first);
    }
}
