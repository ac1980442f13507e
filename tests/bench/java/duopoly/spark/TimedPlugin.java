package duopoly.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * The plug-in, with what each task's start waits for it: a line of ns in FOLDER/starts-EXECUTOR, FOLDER being spark.duopoly.bench.
 */
public final class TimedPlugin implements SparkPlugin {
    private final SparkPlugin plugin = new Plugin();

    @Override
    public DriverPlugin driverPlugin() {
        return plugin.driverPlugin();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new Executor(plugin.executorPlugin());
    }

    private static final class Executor implements ExecutorPlugin {
        private final ExecutorPlugin executor;
        private Path out;

        Executor(ExecutorPlugin executor) {
            this.executor = executor;
        }

        @Override
        public void init(PluginContext plugin, Map<String, String> extra) {
            out = Path.of(plugin.conf().get("spark.duopoly.bench"), "starts-" + plugin.executorID());
            executor.init(plugin, extra);
        }

        @Override
        public void onTaskStart() {
            long begin = System.nanoTime();
            executor.onTaskStart();
            String took = System.nanoTime() - begin + "\n";
            try {
                Files.writeString(out, took, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void onTaskSucceeded() {
            executor.onTaskSucceeded();
        }

        @Override
        public void onTaskFailed(TaskFailedReason why) {
            executor.onTaskFailed(why);
        }

        @Override
        public void shutdown() {
            executor.shutdown();
        }
    }
}
