import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Keeps Spark's events back: when the application ends, some have not been heard of yet. */
public final class Tardy extends SparkListener {
    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
        try {
            Thread.sleep(400);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
