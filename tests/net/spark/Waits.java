import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Two jobs of tasks that read nothing, and for which no host is better than another. Two tasks wait
 * until the file FIRST is there; once both have begun, the second job comes, whose four tasks wait
 * until the file GATE is there. Which have begun is seen by files beside these.
 *     Waits FIRST GATE
 */
public final class Waits {
    private Waits() {}

    private static void await(String gate) throws Exception {
        Files.write(Path.of(gate + "-" + TaskContext.getPartitionId()), new byte[0]);
        until(gate);
    }

    private static void until(String path) throws Exception {
        while (!Files.exists(Path.of(path)))
            Thread.sleep(10);
    }

    public static void main(String[] words) throws Exception {
        String first = words[0];
        String gate = words[1];
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf())) {
            JavaFutureAction<Void> before = context.parallelize(List.of(0, 1), 2).foreachAsync(number -> await(first));
            until(first + "-0");
            until(first + "-1");
            context.parallelize(List.of(0, 1, 2, 3), 4).foreach(number -> await(gate));
            before.get();
            System.out.println("tasks 4");
        }
    }
}
