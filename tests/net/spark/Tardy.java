import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** A slow listener, behind which events wait: when the application ends, some have not been heard of yet. Its time is the fault, nothing waits by it. */
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
