package duopoly.spark;

import java.lang.reflect.Method;
import java.util.Collections;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The class for spark.plugins. Spark ends a driver whose plug-in throws at the start, so this class
 * is bytecode of Java 8, needs nothing but Spark, and loads the rest by name under a catch: if that
 * fails, Spark runs as without it, and its log has one sentence.
 */
public final class Plugin implements SparkPlugin {
    private static final Logger LOG = LoggerFactory.getLogger(Plugin.class);

    @Override
    public DriverPlugin driverPlugin() {
        return new Driver();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new Executor();
    }

    private static final String SCALA = "2.13.";

    /* Another Scala lacks classes that the rest was compiled against, some of which are needed only
     * when Spark already runs. */
    private static boolean fits() {
        return scala.util.Properties.versionNumberString().startsWith(SCALA);
    }

    private static void leftOut(Throwable e) {
        Throwable cause = e.getCause() != null ? e.getCause() : e;
        LOG.warn("duopoly is left out, Spark goes on without it: {} (it needs Java 17 or newer, Spark 3.5 or newer with Scala 2.13)", cause.toString());
    }

    private static final class Executor implements ExecutorPlugin {
        private AutoCloseable guest;
        private Method begins;

        @Override
        public void init(PluginContext plugin, Map<String, String> extra) {
            try {
                if (!fits())
                    return; /* which the driver's log says */
                Class<?> type = Class.forName("duopoly.spark.Guest");
                begins = type.getMethod("taskBegins");
                guest = (AutoCloseable) type.getMethod("of", SparkConf.class, String.class).invoke(null, plugin.conf(), plugin.executorID());
            } catch (Throwable e) {
                leftOut(e);
            }
        }

        @Override
        public void onTaskStart() {
            try {
                if (guest != null)
                    begins.invoke(guest);
            } catch (Throwable e) {
                guest = null;
                leftOut(e);
            }
        }

        @Override
        public void shutdown() {
            try {
                if (guest != null)
                    guest.close();
            } catch (Throwable e) {
                LOG.warn("duopoly could not be ended in good order: {}", e.toString());
            }
        }
    }

    private static final class Driver implements DriverPlugin {
        private SparkContext context;
        private AutoCloseable application;

        @Override
        public Map<String, String> init(SparkContext context, PluginContext plugin) {
            this.context = context;
            return Collections.emptyMap();
        }

        /* The application has no name before this call. */
        @Override
        public void registerMetrics(String name, PluginContext plugin) {
            try {
                if (!fits())
                    throw new UnsupportedOperationException("this Spark was built for Scala " + scala.util.Properties.versionNumberString());
                application = (AutoCloseable) Class.forName("duopoly.spark.Application")
                                  .getConstructor(SparkContext.class, String.class)
                                  .newInstance(context, name);
            } catch (Throwable e) {
                leftOut(e);
            }
        }

        @Override
        public void shutdown() {
            try {
                if (application != null)
                    application.close();
            } catch (Throwable e) {
                LOG.warn("duopoly could not be ended in good order: {}", e.toString());
            }
        }
    }
}
