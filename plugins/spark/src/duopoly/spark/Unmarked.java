package duopoly.spark;

import java.util.Locale;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.util.Utils;

/**
 * Shuffles that Spark does not move from executor to executor itself: their packets are not those
 * of tasks, and carry no level.
 */
final class Unmarked {
    private static final String MANAGER = "spark.shuffle.manager";
    private static final String STORE = "spark.shuffle.sort.io.plugin.class";
    private static final Set<String> OWN_MANAGERS = Set.of("sort", "tungsten-sort", "org.apache.spark.shuffle.sort.SortShuffleManager");
    private static final String OWN_STORE = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO";

    private Unmarked() {}

    /** A sentence for people; empty: there are none. */
    static String why(SparkConf conf) {
        String manager = conf.get(MANAGER, "sort");
        String store = conf.get(STORE, OWN_STORE);
        if (!OWN_MANAGERS.contains(manager) && !OWN_MANAGERS.contains(manager.toLowerCase(Locale.ROOT)))
            return "unmarked: the shuffles of " + MANAGER + " " + shortName(manager);
        if (!store.equals(OWN_STORE))
            return "unmarked: the shuffles of " + STORE + " " + shortName(store);
        return isPushed(conf) ? "unmarked: what spark.shuffle.push.enabled merges" : "";
    }

    /* On YARN only: elsewhere the setting has no effect. */
    private static boolean isPushed(SparkConf conf) {
        return conf.getBoolean("spark.shuffle.push.enabled", false) && Utils.isPushBasedShuffleEnabled(conf, true, true);
    }

    private static String shortName(String type) {
        return type.substring(type.lastIndexOf('.') + 1);
    }
}
