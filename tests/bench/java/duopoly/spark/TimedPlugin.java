package duopoly.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * The plug-in, with what each task's start waits for it: a line of ns in FOLDER/starts-KIND-EXECUTOR, FOLDER being spark.duopoly.bench and
 * KIND the local property KIND of its job.
 */
public final class TimedPlugin implements SparkPlugin {
    static final String KIND = "duopoly.bench.kind";

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
        private String folder;
        private String name;

        Executor(ExecutorPlugin executor) {
            this.executor = executor;
        }

        @Override
        public void init(PluginContext plugin, Map<String, String> extra) {
            folder = plugin.conf().get("spark.duopoly.bench");
            name = plugin.executorID();
            executor.init(plugin, extra);
        }

        @Override
        public void onTaskStart() {
            long begin = System.nanoTime();
            executor.onTaskStart();
            String took = System.nanoTime() - begin + "\n";
            try {
                Path out = Path.of(folder, "starts-" + TaskContext.get().getLocalProperty(KIND) + "-" + name);
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
