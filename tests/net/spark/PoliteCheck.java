import duopoly.spark.Plugin;
import java.util.Map;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;

/** What Spark calls of a plug-in, where it is to decline: none of it throws, and its log has why. */
public final class PoliteCheck {
    public static void main(String[] words) {
        Plugin plugin = new Plugin();
        DriverPlugin driver = plugin.driverPlugin();
        driver.init(null, null);
        driver.registerMetrics("app-1", null);
        ExecutorPlugin executor = plugin.executorPlugin();
        executor.init(null, Map.of());
        executor.onTaskStart();
        executor.shutdown();
        driver.shutdown();
    }
}
