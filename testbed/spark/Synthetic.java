import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * Jobs whose shuffles are over two decades of size: one stage of reduce tasks, two in a chain, or one with two parents; reduce tasks of a
 * job receive in the proportion 1 : 2 : 3 : … Each job has MAPS maps, as where its input lies on all hosts. Its result is how many bytes came.
 *     Synthetic JOBS SEED SECONDS       that they arrive in (Arrivals)
 */
public final class Synthetic implements Arrivals.Job, Serializable {
    private static final int CHUNK = 10_000, MAPS = 8, REDUCES_MOST = 6;
    private static final double LEAST = 1e6, MOST = 1e8;

    private final int index;
    private final long bytes;
    private final int reduces;

    private Synthetic(int index, double bytes) {
        this.index = index;
        this.bytes = (long) bytes;
        this.reduces = (int) Math.min(REDUCES_MOST, 1 + bytes / 4_000_000);
    }

    /** Of one map: the reduce task each chunk is for, and the chunk. Nothing compresses them, and making them is to cost no more than it must. */
    private List<Tuple2<Integer, byte[]>> chunks(long of) {
        List<Tuple2<Integer, byte[]>> all = new ArrayList<>();
        int shares = reduces * (reduces + 1) / 2;
        for (int reduce = 0; reduce < reduces; reduce++)
            for (long n = 0; n < of * (reduce + 1) / shares / MAPS / CHUNK; n++)
                all.add(new Tuple2<>(reduce, new byte[CHUNK])); /* its own: a repeated one would be written once */
        return all;
    }

    private JavaPairRDD<Integer, byte[]> shuffled(JavaSparkContext spark, long of) {
        List<Integer> numbers = new ArrayList<>();
        for (int map = 0; map < MAPS; map++)
            numbers.add(map);
        return spark.parallelize(numbers, MAPS).flatMapToPair(map -> chunks(of).iterator()).partitionBy(new HashPartitioner(reduces));
    }

    private static long count(Iterator<?> all) {
        long n = 0;
        for (; all.hasNext(); n++)
            all.next();
        return n;
    }

    /** How many chunks came, over all its shuffles. */
    private long chunks(JavaSparkContext spark) {
        if (index % 4 == 1) /* a chain */
            return shuffled(spark, bytes / 2).mapToPair(chunk -> new Tuple2<>(chunk._1() + 1, chunk._2())).partitionBy(new HashPartitioner(reduces))
                .mapPartitions(all -> List.of(count(all)).iterator()).reduce(Long::sum);
        if (index % 4 == 3) /* two parents */
            return shuffled(spark, bytes / 2).zipPartitions(shuffled(spark, bytes / 2), (a, b) -> List.of(count(a) + count(b)).iterator()).reduce(Long::sum);
        return shuffled(spark, bytes).mapPartitions(all -> List.of(count(all)).iterator()).reduce(Long::sum);
    }

    @Override
    public String name() {
        return "synthetic";
    }

    @Override
    public String run(JavaSparkContext spark) {
        return Long.toString(chunks(spark) * CHUNK);
    }

    public static void main(String[] words) throws InterruptedException {
        Random random = new Random(Long.parseLong(words[1]));
        List<Synthetic> jobs = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(words[0]); i++)
            jobs.add(new Synthetic(i, LEAST * Math.pow(MOST / LEAST, random.nextDouble())));
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
            Arrivals.run(spark, new Synthetic(-1, REDUCES_MOST * 4e6), jobs, random, Double.parseDouble(words[2]));
        }
    }
}
