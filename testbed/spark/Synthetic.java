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
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;

/**
 * Jobs whose shuffles are over two decades of size: one stage of reduce tasks, two in a chain, or one with two parents; reduce tasks of a
 * job receive in the proportion 1 : 2 : 3 : … A job has MAPS maps, and of its input, which is as large as what they write, as much lies on each
 * host as on any other (Blocks). Its result is how many bytes came.
 *     Synthetic JOBS SEED SECONDS [HOST…]       SECONDS: that they arrive in (Arrivals); HOSTs: of the input, which has no place without
 */
public final class Synthetic implements Arrivals.Job, Serializable {
    private static final int CHUNK = 10_000, MAPS = 8, REDUCES_MOST = 6;
    private static final double LEAST = 1e6, MOST = 1e8;

    private final int index;
    private final long bytes;
    private final int reduces;
    private final List<String> hosts;

    private Synthetic(int index, double bytes, List<String> hosts) {
        this.index = index;
        this.hosts = hosts;
        this.bytes = (long) bytes;
        this.reduces = (int) Math.min(REDUCES_MOST, 1 + bytes / 4_000_000);
    }

    /* Of its block. */
    private List<String> host(int map) {
        return hosts.isEmpty() ? hosts : List.of(hosts.get(map % hosts.size()));
    }

    /**
     * Of one map, which reads as much as it writes: the reduce task each chunk is for, and the chunk. Nothing compresses them, and making them is to
     * cost no more than it must.
     */
    private List<Tuple2<Integer, byte[]>> chunks(int map, long of) {
        host(map).forEach(host -> Blocks.read(host, of / MAPS));
        List<Tuple2<Integer, byte[]>> all = new ArrayList<>();
        int shares = reduces * (reduces + 1) / 2;
        for (int reduce = 0; reduce < reduces; reduce++)
            for (long n = 0; n < of * (reduce + 1) / shares / MAPS / CHUNK; n++)
                all.add(new Tuple2<>(reduce, new byte[CHUNK])); /* its own: a repeated one would be written once */
        return all;
    }

    private JavaPairRDD<Integer, byte[]> shuffled(JavaSparkContext spark, long of) {
        List<Tuple2<Integer, Seq<String>>> blocks = new ArrayList<>();
        for (int map = 0; map < MAPS; map++)
            blocks.add(new Tuple2<>(map, CollectionConverters.asScala(host(map)).toSeq()));
        return spark.sc().makeRDD(CollectionConverters.asScala(blocks).toSeq(), ClassTag.<Integer>apply(Integer.class)).toJavaRDD()
            .flatMapToPair(map -> chunks(map, of).iterator()).partitionBy(new HashPartitioner(reduces));
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
        List<String> hosts = new ArrayList<>(List.of(words).subList(3, words.length)); /* which can be sent, as a part of a list cannot */
        List<Synthetic> jobs = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(words[0]); i++)
            jobs.add(new Synthetic(i, LEAST * Math.pow(MOST / LEAST, random.nextDouble()), hosts));
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
            Arrivals.run(spark, new Synthetic(-1, REDUCES_MOST * 4e6, hosts), jobs, random, Double.parseDouble(words[2]));
        }
    }
}
