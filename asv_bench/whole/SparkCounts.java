// The count of spark_real_time.py in Spark's own transformWithState, for the same broker, sender and
// reader; its timers are on processing time, which is what Spark has in this mode.
//
//     spark-submit --class SparkCounts ... BROKER ROWS RESULTS EVERY CHECKPOINT TRIGGER

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.sql.streaming.ValueState;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

public final class SparkCounts {
    private static final long TIMER_MS = 3_600_000;

    /** Counts the rows of a key and moves its timer. */
    static final class Counts extends StatefulProcessor<String, Row, String> {
        private final int every;
        private transient ValueState<Long> count;
        private transient ValueState<Long> timer;

        Counts(int every) {
            this.every = every;
        }

        @Override
        public void init(OutputMode mode, TimeMode time) {
            count = getHandle().getValueState("count", Encoders.LONG(), TTLConfig.NONE());
            timer = getHandle().getValueState("timer", Encoders.LONG(), TTLConfig.NONE());
        }

        @Override
        public Iterator<String> handleInputRows(
            String key, Iterator<Row> rows, TimerValues times
        ) {
            List<String> out = new ArrayList<>();
            while (rows.hasNext()) {
                Row row = rows.next();
                long counted = (count.exists() ? count.get() : 0L) + 1;
                count.update(counted);
                if (timer.exists()) getHandle().deleteTimer(timer.get());
                long later = times.getCurrentProcessingTimeInMs() + TIMER_MS;
                getHandle().registerTimer(later);
                timer.update(later);
                if (counted % every == 0) out.add(row.getLong(1) + " " + counted);
            }
            return CollectionConverters.asScala(out.iterator());
        }
    }

    public static void main(String[] args) throws Exception {
        SparkSession spark = SparkSession.builder().getOrCreate();
        spark.sparkContext().setLogLevel("ERROR");
        Dataset<Row> rows =
            spark.readStream()
                .format("kafka")
                .option("kafka.bootstrap.servers", args[0])
                .option("subscribe", args[1])
                .option("startingOffsets", "earliest")
                .load()
                .selectExpr("cast(key as string)", "cast(cast(value as string) as bigint) as sent");
        rows.groupByKey((MapFunction<Row, String>) row -> row.getString(0), Encoders.STRING())
            .transformWithState(
                new Counts(Integer.parseInt(args[3])),
                TimeMode.ProcessingTime(),
                OutputMode.Update(),
                Encoders.STRING())
            .toDF("value")
            .writeStream()
            .format("kafka")
            .option("kafka.bootstrap.servers", args[0])
            .option("topic", args[2])
            .option("checkpointLocation", args[4])
            .outputMode("update")
            .trigger(Trigger.RealTime(args[5]))
            .start()
            .awaitTermination();
    }
}
