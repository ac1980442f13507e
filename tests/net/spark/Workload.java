import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * Two jobs: MAPS maps and REDUCES reduce tasks, which wait until the file GATE is there, and a query of Spark's SQL.
 *     Workload GATE MAPS REDUCES BYTES       bytes a map, random, to the reduce tasks in the proportion 1 : 2 : 3 : …
 */
public final class Workload implements Serializable {
    private static final int CHUNK = 1000;

    private static List<Tuple2<Integer, byte[]>> chunks(int map, int reduces, int bytes) {
        java.util.Random random = new java.util.Random(map);
        List<Tuple2<Integer, byte[]>> all = new ArrayList<>();
        int shares = reduces * (reduces + 1) / 2;
        for (int reduce = 0; reduce < reduces; reduce++)
            for (int n = 0; n < bytes / CHUNK * (reduce + 1) / shares; n++) {
                byte[] chunk = new byte[CHUNK];
                random.nextBytes(chunk);
                all.add(new Tuple2<>(reduce, chunk));
            }
        return all;
    }

    /* Who waits is seen by files beside it. */
    private static void await(String gate) throws Exception {
        Files.write(Path.of(gate + "-" + TaskContext.getPartitionId()), new byte[0]);
        while (!Files.exists(Path.of(gate)))
            Thread.sleep(10);
    }

    public static void main(String[] words) throws Exception {
        String gate = words[0];
        int maps = Integer.parseInt(words[1]);
        int reduces = Integer.parseInt(words[2]);
        int bytes = Integer.parseInt(words[3]);
        try (SparkSession spark = SparkSession.builder().getOrCreate()) {
            JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
            List<Integer> numbers = new ArrayList<>();
            for (int map = 0; map < maps; map++)
                numbers.add(map);
            context.setJobDescription("two stages");
            long chunks = context.parallelize(numbers, maps).flatMapToPair(map -> chunks(map, reduces, bytes).iterator())
                              .groupByKey(reduces)
                              .mapPartitions(groups -> {
                                  await(gate);
                                  return groups;
                              }).flatMap(group -> group._2().iterator()).count();
            context.setJobDescription("a query");
            long rows = spark.sql("select a.k, count(*) from (select id % 7 k from range(1000)) a "
                                  + "join (select id % 7 k from range(100)) b on a.k = b.k group by a.k order by a.k").collectAsList().size();
            System.out.println("chunks " + chunks + " rows " + rows);
        }
    }
}
