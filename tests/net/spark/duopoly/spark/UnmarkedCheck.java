package duopoly.spark;

import org.apache.spark.SparkConf;

/** Which shuffles have no marks, by an application's configuration. Ends with 0 where all is as it should be. */
public final class UnmarkedCheck {
    private static void check(String wanted, String... settings) {
        SparkConf conf = new SparkConf(false);
        for (int i = 0; i < settings.length; i += 2)
            conf.set(settings[i], settings[i + 1]);
        String said = Unmarked.why(conf);
        if (!said.equals(wanted))
            throw new AssertionError(String.join(" ", settings) + ": \"" + said + "\"");
    }

    public static void main(String[] words) {
        check("");
        check("", "spark.shuffle.manager", "SORT");
        check("", "spark.shuffle.manager", "org.apache.spark.shuffle.sort.SortShuffleManager");
        check("unmarked: the shuffles of spark.shuffle.manager RssShuffleManager", "spark.shuffle.manager", "org.remote.RssShuffleManager");
        check("unmarked: the shuffles of spark.shuffle.sort.io.plugin.class Store", "spark.shuffle.sort.io.plugin.class", "org.remote.Store");
        check("", "spark.shuffle.push.enabled", "true", "spark.shuffle.service.enabled", "true", "spark.master", "spark://m:7077");
        check("unmarked: what spark.shuffle.push.enabled merges", "spark.shuffle.push.enabled", "true", "spark.shuffle.service.enabled", "true",
              "spark.serializer", "org.apache.spark.serializer.KryoSerializer", "spark.master", "yarn");
    }
}
