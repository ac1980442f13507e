package duopoly.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskLocation;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The hosts with the input of a stage's tasks, by task, as Spark places them. Spark does not say
 * how much it is.
 */
final class Blocks {
    private static final int HOSTS_MOST = 128, TASKS_MOST = 128, REPLICAS_MOST = 8, NAME_MOST = 63;

    private final String[][] hosts;

    /** `hosts`: of each task. */
    Blocks(String[][] hosts) {
        this.hosts = hosts;
    }

    /** null: nothing is known of them. */
    static Blocks of(StageInfo info, int tasks) {
        Seq<Seq<TaskLocation>> told = info.taskLocalityPreferences();
        if (told.size() != tasks || told.forall(Seq::isEmpty))
            return null;
        String[][] hosts = new String[tasks][];
        int i = 0;
        for (int task : order(tasks))
            hosts[task] = CollectionConverters.asJava(told.apply(i++)).stream().map(TaskLocation::host).distinct().limit(REPLICAS_MOST).toArray(String[]::new);
        return new Blocks(hosts);
    }

    /* Spark has them in a map by partition, and takes its values in that map's order. */
    private static List<Integer> order(int tasks) {
        List<Tuple2<Integer, Integer>> all = new ArrayList<>();
        for (int task = 0; task < tasks; task++)
            all.add(new Tuple2<>(task, task));
        return new ArrayList<>(CollectionConverters.asJava(scala.collection.immutable.Map.from(CollectionConverters.asScala(all))).keySet());
    }

    Fact fact(int job, int stage) {
        return teller -> tell(teller, job, stage);
    }

    /* In parts, each with a list of its hosts. */
    private void tell(Fact.Teller teller, int job, int stage) throws IOException {
        for (int first = 0, next; first < hosts.length; first = next) {
            Map<String, Integer> known = new LinkedHashMap<>();
            List<Message> tasks = new ArrayList<>();
            for (next = first; next < hosts.length && tasks.size() < TASKS_MOST && known.size() + hosts[next].length <= HOSTS_MOST; next++)
                tasks.add(task(hosts[next], known));
            Message body = new Message().number(1, job).number(2, stage).number(3, first);
            known.keySet().forEach(host -> body.name(4, host, NAME_MOST));
            tasks.forEach(task -> body.part(5, task));
            teller.tell(Fact.TASKS, body);
        }
    }

    private static Message task(String[] on, Map<String, Integer> known) {
        long[] replicas = new long[on.length];
        for (int i = 0; i < on.length; i++) {
            known.putIfAbsent(on[i], known.size());
            replicas[i] = known.get(on[i]);
        }
        return new Message().numbers(1, replicas, 0, replicas.length);
    }
}
