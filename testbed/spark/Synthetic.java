import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * Jobs from concurrent threads, whose shuffles are over two decades of size: one stage of reduce tasks, two in a chain, or one with two
 * parents; reduce tasks of a job receive in the proportion 1 : 2 : 3 : …
 *     Synthetic JOBS SEED SECONDS       that they arrive in, by a Poisson process; each is one line of the output when it has ended:
 *     job INDEX SUBMITTED ENDED BYTES   times in seconds since the first
 */
public final class Synthetic implements Serializable {
    private static final int CHUNK = 1000;
    private static final double LEAST = 1e6, MOST = 1e8;

    private final int index;
    private final long bytes;
    private final int maps;
    private final int reduces;

    private Synthetic(int index, Random random) {
        this.index = index;
        this.bytes = (long) (LEAST * Math.pow(MOST / LEAST, random.nextDouble()));
        this.maps = (int) Math.min(8, 1 + bytes / 5_000_000);
        this.reduces = (int) Math.min(6, 1 + bytes / 4_000_000);
    }

    /** Of one map: the reduce task each chunk is for, and the chunk. */
    private List<Tuple2<Integer, byte[]>> chunks(int map, long of) {
        Random random = new Random(31L * index + map);
        List<Tuple2<Integer, byte[]>> all = new ArrayList<>();
        int shares = reduces * (reduces + 1) / 2;
        for (int reduce = 0; reduce < reduces; reduce++)
            for (long n = 0; n < of / maps / CHUNK * (reduce + 1) / shares; n++) {
                byte[] chunk = new byte[CHUNK]; /* its own: a repeated one would be written once */
                random.nextBytes(chunk);
                all.add(new Tuple2<>(reduce, chunk));
            }
        return all;
    }

    private JavaPairRDD<Integer, byte[]> shuffled(JavaSparkContext spark, long of) {
        List<Integer> numbers = new ArrayList<>();
        for (int map = 0; map < maps; map++)
            numbers.add(map);
        return spark.parallelize(numbers, maps).flatMapToPair(map -> chunks(map, of).iterator()).partitionBy(new HashPartitioner(reduces));
    }

    private static long count(java.util.Iterator<?> all) {
        long n = 0;
        for (; all.hasNext(); n++)
            all.next();
        return n;
    }

    /** How many chunks came, over all its shuffles. */
    private long run(JavaSparkContext spark) {
        if (index % 4 == 1) /* a chain */
            return shuffled(spark, bytes / 2).mapToPair(chunk -> new Tuple2<>(chunk._1() + 1, chunk._2())).partitionBy(new HashPartitioner(reduces))
                .mapPartitions(all -> List.of(count(all)).iterator()).reduce(Long::sum);
        if (index % 4 == 3) /* two parents */
            return shuffled(spark, bytes / 2).zipPartitions(shuffled(spark, bytes / 2), (a, b) -> List.of(count(a) + count(b)).iterator()).reduce(Long::sum);
        return shuffled(spark, bytes).mapPartitions(all -> List.of(count(all)).iterator()).reduce(Long::sum);
    }

    private void report(JavaSparkContext spark, long begin) {
        double submitted = (System.nanoTime() - begin) / 1e9;
        spark.setJobDescription("synthetic " + index);
        spark.setLocalProperty("spark.scheduler.pool", "job" + index); /* which only FAIR reads */
        long chunks = run(spark);
        double ended = (System.nanoTime() - begin) / 1e9;
        System.out.printf("job %d %.3f %.3f %d%n", index, submitted, ended, chunks * CHUNK);
    }

    public static void main(String[] words) throws InterruptedException {
        int jobs = Integer.parseInt(words[0]);
        Random random = new Random(Long.parseLong(words[1]));
        double between = Double.parseDouble(words[2]) / jobs;
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
            ExecutorService threads = Executors.newCachedThreadPool();
            long begin = System.nanoTime();
            double at = 0;
            for (int i = 0; i < jobs; i++) {
                Synthetic job = new Synthetic(i, random);
                at += -Math.log(1 - random.nextDouble()) * between;
                TimeUnit.NANOSECONDS.sleep((long) (at * 1e9) - (System.nanoTime() - begin));
                threads.execute(() -> job.report(spark, begin));
            }
            threads.shutdown();
            threads.awaitTermination(1, TimeUnit.HOURS);
        }
    }
}
