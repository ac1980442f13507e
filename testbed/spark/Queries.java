import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * Jobs over tables of TPC-H's shape, none of its own queries: joins, aggregations and sorts in SQL, a sort, a word count and a page rank on
 * RDDs. Its result is a number that all rows have a part in.
 *     Queries JOBS SEED SECONDS FOLDER       that they arrive in (Arrivals), and where the tables are, one Parquet folder each
 */
public final class Queries implements Arrivals.Job, Serializable {
    private static final String[] TABLES = {"customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"};
    private static final int PARTITIONS = 8, ROUNDS = 3;
    private static final long UNIT = 1_000_000; /* of rank */

    private static final String[] SQL = {
        "select l_shipmode, l_linestatus, count(*), sum(l_quantity), avg(l_discount) from lineitem group by 1, 2 order by 1, 2",
        "select o_orderpriority, year(o_orderdate), count(*), max(o_totalprice) from orders group by 1, 2 order by 1, 2",
        "select c_mktsegment, count(distinct o_custkey), sum(o_totalprice) from orders join customer on o_custkey = c_custkey group by 1 order by 1",
        "select n_name, sum(l_extendedprice * (1 - l_discount)) as sold from lineitem join supplier on l_suppkey = s_suppkey "
            + "join nation on s_nationkey = n_nationkey group by 1 order by sold desc",
        "select p_brand, p_container, sum(l_quantity) as q from lineitem join part on l_partkey = p_partkey group by 1, 2 order by q desc, 1, 2 limit 50",
        "select l_orderkey, sum(l_quantity) as q from lineitem group by 1 having sum(l_quantity) > 200 order by q desc, 1 limit 200",
        "select o_clerk, count(*) as n, sum(l_extendedprice) from orders join lineitem on o_orderkey = l_orderkey "
            + "where l_receiptdate > l_commitdate group by 1 order by n desc, 1 limit 100",
        "select r_name, n_name, count(*), sum(s_acctbal) from supplier join nation on s_nationkey = n_nationkey "
            + "join region on n_regionkey = r_regionkey group by 1, 2 order by 1, 2",
        "select ps_partkey, min(ps_supplycost) as least, sum(ps_availqty) from partsupp group by 1 order by least desc, 1 limit 500",
        "select c_custkey, c_name, sum(o_totalprice) as spent from customer left join orders on c_custkey = o_custkey group by 1, 2 "
            + "order by spent desc nulls last, 1 limit 300",
        "select distinct l_partkey, l_suppkey from lineitem where l_returnflag = 'R' order by 1, 2 limit 1000",
        "select month(l_shipdate), l_returnflag, sum(l_extendedprice), count(distinct l_orderkey) from lineitem group by 1, 2 order by 1, 2",
        "select o_orderkey, o_totalprice, row_number() over (partition by o_custkey order by o_totalprice desc, o_orderkey) as place from orders "
            + "order by o_totalprice desc, o_orderkey limit 1000",
        "select s_name, sum(ps_supplycost * ps_availqty) as worth from supplier join partsupp on s_suppkey = ps_suppkey "
            + "join part on ps_partkey = p_partkey where p_size > 20 group by 1 order by worth desc, 1 limit 100",
        "select a.l_suppkey, count(*) from lineitem a join lineitem b on a.l_orderkey = b.l_orderkey "
            + "where a.l_suppkey < b.l_suppkey group by 1 order by 2 desc, 1 limit 100",
        "select o_orderpriority, l_shipmode, count(*), avg(l_tax) from orders join lineitem on o_orderkey = l_orderkey "
            + "join customer on o_custkey = c_custkey where c_acctbal > 0 group by 1, 2 order by 1, 2"};
    private static final String[] OTHERS = {"sort", "words", "ranks"};

    private final transient SparkSession session;
    private final int which;

    private Queries(SparkSession session, int number) {
        this.session = session;
        this.which = number % (SQL.length + OTHERS.length);
    }

    @Override
    public String name() {
        return which < SQL.length ? "query" + which : OTHERS[which - SQL.length];
    }

    @Override
    public String run(JavaSparkContext spark) {
        switch (which - SQL.length) {
        case 0:
            return sort();
        case 1:
            return words();
        case 2:
            return ranks();
        default:
            return digest(session.sql(SQL[which]).collectAsList());
        }
    }

    private static String digest(List<?> rows) {
        long digest = rows.size();
        for (Object row : rows)
            digest = digest * 31 + row.toString().hashCode();
        return Long.toHexString(digest);
    }

    private JavaRDD<Row> rows(String sql) {
        return session.sql(sql).toJavaRDD();
    }

    private String sort() {
        return Long.toHexString(rows("select l_comment, l_orderkey, l_linenumber from lineitem")
                                    .mapToPair(row -> new Tuple2<>(row.getString(0) + row.get(1) + row.get(2), row.get(1).toString()))
                                    .sortByKey(true, PARTITIONS).mapPartitions(all -> List.of(ordered(all)).iterator()).reduce(Long::sum));
    }

    /* Where partitions are cut is no part of the result. */
    private static long ordered(Iterator<Tuple2<String, String>> all) {
        long digest = 0;
        String before = "";
        while (all.hasNext()) {
            String key = all.next()._1();
            if (key.compareTo(before) < 0)
                throw new IllegalStateException(key + " after " + before);
            digest += key.hashCode();
            before = key;
        }
        return digest;
    }

    private String words() {
        List<Tuple2<Integer, String>> most = new ArrayList<>(
            rows("select l_comment from lineitem").flatMap(row -> Arrays.asList(row.getString(0).split(" ")).iterator())
                .mapToPair(word -> new Tuple2<>(word, 1)).reduceByKey(Integer::sum, PARTITIONS).map(one -> new Tuple2<>(one._2(), one._1())).collect());
        Collections.sort(most, (a, b) -> a._1().equals(b._1()) ? a._2().compareTo(b._2()) : b._1() - a._1());
        return digest(most);
    }

    /* Of parts and suppliers that supply them; whole numbers, so that their order counts for nothing. */
    private String ranks() {
        JavaPairRDD<Long, Iterable<Long>> links =
            rows("select ps_partkey, ps_suppkey from partsupp").flatMapToPair(row -> {
                long part = 2 * ((Number) row.get(0)).longValue();
                long supplier = 2 * ((Number) row.get(1)).longValue() + 1;
                return List.of(new Tuple2<>(part, supplier), new Tuple2<>(supplier, part)).iterator();
            }).groupByKey(PARTITIONS).cache();
        JavaPairRDD<Long, Long> ranks = links.mapValues(all -> UNIT);
        for (int round = 0; round < ROUNDS; round++)
            ranks = links.join(ranks).values().flatMapToPair(one -> {
                List<Tuple2<Long, Long>> shares = new ArrayList<>();
                long n = 0;
                for (Long to : one._1())
                    n++;
                for (Long to : one._1())
                    shares.add(new Tuple2<>(to, one._2() / n));
                return shares.iterator();
            }).reduceByKey(Long::sum, PARTITIONS).mapValues(rank -> UNIT * 15 / 100 + rank * 85 / 100);
        List<Tuple2<Long, Long>> all = new ArrayList<>(ranks.top(100, new ByRank()));
        links.unpersist();
        return digest(all);
    }

    private static final class ByRank implements java.util.Comparator<Tuple2<Long, Long>>, Serializable {
        @Override
        public int compare(Tuple2<Long, Long> a, Tuple2<Long, Long> b) {
            int order = Long.compare(a._2(), b._2());
            return order != 0 ? order : Long.compare(a._1(), b._1());
        }
    }

    public static void main(String[] words) throws IOException, InterruptedException {
        Random random = new Random(Long.parseLong(words[1]));
        try (SparkSession session = SparkSession.builder().config(new SparkConf()).getOrCreate()) {
            for (String table : TABLES)
                session.read().parquet(words[3] + "/" + table).createOrReplaceTempView(table);
            List<Queries> jobs = new ArrayList<>();
            for (int i = 0; i < Integer.parseInt(words[0]); i++)
                jobs.add(new Queries(session, i));
            Collections.shuffle(jobs, random);
            JavaSparkContext spark = JavaSparkContext.fromSparkContext(session.sparkContext());
            Arrivals.run(spark, new Queries(session, 3), jobs, random, Double.parseDouble(words[2]));
        }
    }
}
