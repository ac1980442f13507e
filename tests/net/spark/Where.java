import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;

/**
 * A job whose maps have their input on hosts.
 *     Where PLACES      a letter for each map, which is its host's name
 */
public final class Where {
    private Where() {}

    public static void main(String[] words) {
        List<Tuple2<String, Seq<String>>> blocks = new ArrayList<>();
        for (String host : words[0].split(""))
            blocks.add(new Tuple2<>(host, CollectionConverters.asScala(List.of(host)).toSeq()));
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf())) {
            long hosts = context.sc().makeRDD(CollectionConverters.asScala(blocks).toSeq(), ClassTag.<String>apply(String.class)).toJavaRDD()
                             .mapToPair(host -> new Tuple2<>(host, 1)).reduceByKey(Integer::sum, 2).count();
            System.out.println("hosts " + hosts);
        }
    }
}
