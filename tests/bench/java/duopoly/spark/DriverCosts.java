package duopoly.spark;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.SchedulableBuilder;
import org.apache.spark.scheduler.TaskLocality;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.util.SystemClock;
import scala.Enumeration;
import scala.Tuple2;

/**
 * What the plug-in takes of the time of Spark's scheduler, in a driver with the gate on. Files of lines of ns in FOLDER:
 *     starts-…     of tasks that wait most of the time (calm), and that do not (hurried): TimedPlugin
 *     sets-N       a stage of N tasks is put into the pools
 *     held         an offer to a stage that is held
 *     gated, bare  offers to a stage that reads no shuffle, behind the gate and as Spark's own
 * and in the file `doing` which of these it is at.
 *     DriverCosts FOLDER
 */
public final class DriverCosts {
    private static final int BATCH = 100; /* offers under the lock at once */
    private static final int OFFERS = 20_000;
    private static final int HELD_TASKS = 8;      /* more than run at once */
    private static final long PATIENCE_S = 60;    /* for one step that takes a second or two */

    private final Path folder;
    private final JavaSparkContext spark;
    private final TaskSchedulerImpl scheduler;
    private final Gate gate;

    private DriverCosts(Path folder, JavaSparkContext spark) throws ReflectiveOperationException {
        this.folder = folder;
        this.spark = spark;
        scheduler = (TaskSchedulerImpl) spark.sc().taskScheduler();
        Method builder = TaskSchedulerImpl.class.getDeclaredMethod("schedulableBuilder");
        builder.setAccessible(true);
        gate = (Gate) builder.invoke(scheduler);
    }

    private void write(String name, List<Long> times) throws IOException {
        Files.write(folder.resolve(name), times.stream().map(String::valueOf).toList());
    }

    private void begin(String what) throws IOException {
        Files.writeString(folder.resolve("doing"), what);
    }

    private JavaRDD<Integer> numbers(int n) {
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < n; i++)
            numbers.add(i);
        return spark.parallelize(numbers, n);
    }

    /** Stands before the gate. */
    private final class Timed implements SchedulableBuilder {
        final List<Long> times = new ArrayList<>();
        volatile TaskSetManager last; /* as Spark made it */

        @Override
        public Pool rootPool() {
            return gate.rootPool();
        }

        @Override
        public void buildPools() {
            gate.buildPools();
        }

        @Override
        public void addTaskSetManager(Schedulable made, Properties properties) {
            long begin = System.nanoTime();
            gate.addTaskSetManager(made, properties);
            times.add(System.nanoTime() - begin);
            last = (TaskSetManager) made;
        }
    }

    private Timed timed() throws ReflectiveOperationException {
        Timed timed = new Timed();
        Method set = TaskSchedulerImpl.class.getDeclaredMethod("schedulableBuilder_$eq", SchedulableBuilder.class);
        set.setAccessible(true);
        synchronized (scheduler) {
            set.invoke(scheduler, timed);
        }
        return timed;
    }

    private void sets(Timed timed, int tasks, int jobs) throws IOException {
        begin("sets-" + tasks);
        timed.times.clear();
        for (int i = 0; i < jobs; i++)
            numbers(tasks).mapToPair(n -> new Tuple2<>(n, n)).reduceByKey(Integer::sum, 4).count();
        write("sets-" + tasks, timed.times);
    }

    private void calm(int tasks) throws IOException {
        begin("starts-calm");
        spark.setLocalProperty(TimedPlugin.KIND, "calm");
        numbers(tasks).foreach(n -> Thread.sleep(20));
        spark.setLocalProperty(TimedPlugin.KIND, "hurried");
    }

    private long offer(TaskSetManager tasks, String host, Enumeration.Value most) {
        long begin = System.nanoTime();
        tasks.dequeueTaskHelper("0", host, most, false);
        return System.nanoTime() - begin;
    }

    /* Of one stage, some tasks run and wait; the others are held. WHY not a certain number: the policy decides how many it allows at once. */
    @SuppressWarnings("unchecked")
    private GatedTasks held() throws ReflectiveOperationException {
        Field own = Gate.class.getDeclaredField("managers");
        own.setAccessible(true);
        scala.collection.mutable.HashMap<Object, scala.collection.mutable.HashMap<Object, TaskSetManager>> managers =
            (scala.collection.mutable.HashMap<Object, scala.collection.mutable.HashMap<Object, TaskSetManager>>) own.get(gate);
        GatedTasks[] found = {null};
        synchronized (scheduler) {
            managers.valuesIterator().foreach(attempts -> {
                attempts.valuesIterator().foreach(tasks -> {
                    if (tasks instanceof GatedTasks && ((GatedTasks) tasks).readsShuffle && tasks.runningTasks() > 0 && gate.holds((GatedTasks) tasks))
                        found[0] = (GatedTasks) tasks;
                    return null;
                });
                return null;
            });
        }
        return found[0];
    }

    private static void pause(long sinceNs, int ms, String what) throws InterruptedException {
        if (System.nanoTime() - sinceNs > TimeUnit.SECONDS.toNanos(PATIENCE_S))
            throw new IllegalStateException("not within " + PATIENCE_S + " s: " + what);
        Thread.sleep(ms);
    }

    /* WHY only while they are held: any other offer would take a task, which then never runs. */
    private boolean offerHeld(GatedTasks tasks, String host, List<Long> times) {
        if (!gate.holds(tasks) || gate.find(gate.stageOf(tasks.taskSet()), host) != null)
            return false;
        times.add(offer(tasks, host, TaskLocality.ANY()));
        return true;
    }

    private void heldOffers() throws Exception {
        begin("held");
        Path open = folder.resolve("open");
        String waits = open.toString();
        /* Each reduce task has something to wait with: one without input would end at once. */
        JavaFutureAction<Long> job = numbers(HELD_TASKS).mapToPair(n -> new Tuple2<>(n, n)).reduceByKey(Integer::sum, HELD_TASKS).map(pair -> {
            while (!Files.exists(Path.of(waits)))
                Thread.sleep(10);
            return pair;
        }).countAsync();
        long since = System.nanoTime();
        GatedTasks tasks = held();
        for (; tasks == null; tasks = held())
            pause(since, 10, "a stage of which some tasks run and the others are held");
        List<Long> times = new ArrayList<>();
        String host = tasks.taskInfos().valuesIterator().next().host();
        while (times.size() < OFFERS) {
            synchronized (scheduler) {
                int n = 0;
                while (n < BATCH && offerHeld(tasks, host, times))
                    n++;
            }
            pause(since, 1, "offers to a stage that is held: " + times.size()); /* others want the lock, too */
        }
        write("held", times);
        Files.createFile(open);
        job.get(PATIENCE_S, TimeUnit.SECONDS);
    }

    /* Tasks that are offered slots here only, of a stage that Spark forgets meanwhile. */
    private void otherOffers(Timed timed) throws Exception {
        begin("gated, bare");
        timed.last = null;
        JavaFutureAction<Long> job = numbers(OFFERS).map(n -> n).countAsync();
        long since = System.nanoTime();
        while (timed.last == null)
            pause(since, 1, "a stage of " + OFFERS + " tasks");
        TaskSetManager made = timed.last;
        job.cancel(true);
        TaskSetManager bare = new TaskSetManager(scheduler, made.taskSet(), 4, scheduler.healthTrackerOpt(), new SystemClock());
        GatedTasks gated = new GatedTasks(gate, scheduler, bare, false);
        List<Long> behind = new ArrayList<>();
        List<Long> own = new ArrayList<>();
        while (own.size() < OFFERS) {
            synchronized (scheduler) {
                for (int i = 0; i < BATCH; i++) {
                    behind.add(offer(gated, "localhost", TaskLocality.ANY()));
                    own.add(offer(bare, "localhost", TaskLocality.ANY()));
                }
            }
            Thread.sleep(1);
        }
        write("gated", behind);
        write("bare", own);
    }

    public static void main(String[] words) throws Exception {
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
            DriverCosts costs = new DriverCosts(Path.of(words[0]), spark);
            Timed timed = costs.timed();
            spark.setLocalProperty(TimedPlugin.KIND, "hurried");
            costs.sets(timed, 100, 10);
            costs.sets(timed, 1000, 3);
            costs.calm(1000);
            costs.heldOffers();
            costs.otherOffers(timed);
            costs.begin("its end");
        }
    }
}
