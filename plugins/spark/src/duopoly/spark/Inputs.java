package duopoly.spark;

import java.io.IOException;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.Partition;
import org.apache.spark.rdd.RDD;
import scala.collection.Iterable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * How much each task of a stage reads from files that are near no host (S3), as far as Spark knows
 * it before any of them has run: the lengths of its splits. WHY by the names of their methods:
 * their classes (Hadoop's, those of Spark's SQL) are in no jar that this one is compiled against,
 * and need not be in the driver.
 */
final class Inputs {
    private static final int TASKS_MOST = 128;    /* in one message */
    private static final int LOOKED_MOST = 65536; /* tasks: Spark's thread looks at each */
    private static final int DEEP = 8;            /* partitions in partitions */
    private static final int LINEAGE_MOST = 256;  /* data sets that others are made of */

    private final long[] bytes;

    private Inputs(long[] bytes) {
        this.bytes = bytes;
    }

    /** null: nothing is known of them, or Spark would rather run them on certain hosts. */
    static Inputs of(RDD<?> rdd, int tasks) {
        Partition[] partitions = rdd.partitions();
        if (partitions.length != tasks || tasks == 0 || tasks > LOOKED_MOST || isPlaced(rdd, partitions[0]))
            return null;
        long[] bytes = new long[tasks];
        long all = 0;
        for (int task = 0; task < tasks; task++)
            all += bytes[task] = bytesOf(partitions[task], DEEP);
        return all == 0 ? null : new Inputs(bytes);
    }

    /* As Spark's scheduler finds it, by the first of them; also if that takes long. */
    private static boolean isPlaced(RDD<?> rdd, Partition first) {
        ArrayDeque<Map.Entry<RDD<?>, Partition>> open = new ArrayDeque<>();
        open.add(Map.entry(rdd, first));
        for (int looks = 0; !open.isEmpty(); looks++) {
            RDD<?> from = open.peek().getKey();
            Partition partition = open.poll().getValue();
            if (looks == LINEAGE_MOST || from.isCheckpointed() || !from.preferredLocations(partition).isEmpty())
                return true;
            for (Dependency<?> dependency : CollectionConverters.asJava(from.dependencies()))
                if (dependency instanceof NarrowDependency)
                    for (Object parent : CollectionConverters.asJava(((NarrowDependency<?>) dependency).getParents(partition.index())))
                        open.add(Map.entry(dependency.rdd(), dependency.rdd().partitions()[((Number) parent).intValue()]));
        }
        return false;
    }

    /* 0: unknown. */
    private static long bytesOf(Object part, int deep) {
        if (deep == 0)
            return 0;
        for (String name : new String[] {"inputSplit", "serializableHadoopSplit"}) { /* Hadoop's */
            Object split = call(call(part, name), "value");
            if (split != null)
                return length(call(split, "getLength"));
        }
        Object files = call(part, "files"); /* of Spark's SQL */
        long sum = 0;
        for (Object file : several(files))
            sum += length(call(file, "length"));
        if (files != null)
            return sum;
        for (String name : new String[] {"inputPartitions", "parents", "partitions", "parentPartition"})
            for (Object inner : several(call(part, name)))
                sum += bytesOf(inner, deep - 1);
        return sum;
    }

    private static long length(Object number) {
        return number instanceof Number && ((Number) number).longValue() > 0 ? ((Number) number).longValue() : 0;
    }

    /* null: it has no such method. */
    private static Object call(Object of, String name) {
        if (of == null)
            return null;
        try {
            Method method = of.getClass().getMethod(name);
            method.setAccessible(true);
            return method.invoke(of);
        } catch (ReflectiveOperationException | RuntimeException e) {
            return null;
        }
    }

    private static List<Object> several(Object what) {
        List<Object> all = new ArrayList<>();
        if (what instanceof Iterable)
            CollectionConverters.asJava((Iterable<?>) what).forEach(all::add);
        else if (what != null && what.getClass().isArray())
            for (int i = 0; i < Array.getLength(what); i++)
                all.add(Array.get(what, i));
        else if (what instanceof Partition)
            all.add(what);
        return all;
    }

    Fact fact(int job, int stage) {
        return teller -> tell(teller, job, stage);
    }

    private void tell(Fact.Teller teller, int job, int stage) throws IOException {
        for (int first = 0; first < bytes.length; first += TASKS_MOST) {
            Message body = new Message().number(1, job).number(2, stage).number(3, first);
            for (int task = first; task < bytes.length && task < first + TASKS_MOST; task++)
                body.part(5, new Message().number(2, bytes[task]));
            teller.tell(Fact.TASKS, body);
        }
    }
}
