import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/** The plug-in by another name: Spark takes no name twice. */
public final class Twin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return new duopoly.spark.Plugin().driverPlugin();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return null;
    }
}
