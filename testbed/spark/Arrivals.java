import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Jobs that arrive by a Poisson process, each on a thread of its own. The output has a line `begin` when the first may arrive, and one for
 * each that has ended: job INDEX SUBMITTED ENDED RESULT, times in seconds since then. What FAIR shares slots between are pools, one a job.
 */
final class Arrivals {
    interface Job {
        String name();

        /** Its result in one word: the same in any order of its tasks. */
        String run(JavaSparkContext spark);
    }

    private static final int WARM_UPS = 3; /* so often before the others: each executor has loaded then what jobs need */

    private Arrivals() {}

    static void run(JavaSparkContext spark, Job warmUp, List<? extends Job> jobs, Random random, double seconds) throws InterruptedException {
        for (int i = 0; i < WARM_UPS; i++)
            warmUp.run(spark);
        ExecutorService threads = Executors.newCachedThreadPool();
        System.out.println("begin");
        long begin = System.nanoTime();
        double at = 0;
        for (int i = 0; i < jobs.size(); i++) {
            int index = i;
            at += -Math.log(1 - random.nextDouble()) * seconds / jobs.size();
            TimeUnit.NANOSECONDS.sleep((long) (at * 1e9) - (System.nanoTime() - begin));
            threads.execute(() -> report(spark, index, jobs.get(index), begin));
        }
        threads.shutdown();
        threads.awaitTermination(1, TimeUnit.HOURS);
    }

    private static void report(JavaSparkContext spark, int index, Job job, long begin) {
        double submitted = (System.nanoTime() - begin) / 1e9;
        spark.setJobDescription(job.name() + " " + index);
        spark.setLocalProperty("spark.scheduler.pool", "job" + index);
        String result = job.run(spark);
        System.out.printf("job %d %.3f %.3f %s%n", index, submitted, (System.nanoTime() - begin) / 1e9, result);
    }
}
